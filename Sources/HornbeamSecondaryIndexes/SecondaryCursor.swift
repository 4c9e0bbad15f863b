// SPDX-License-Identifier: Apache-2.0
// Iterates the results of a query of a secondary index: by a closure that can stop, or one by one on request. In a
// read, rows are passed on as they are found. In a write, all of them are collected first, so that changes by the
// closure don't affect them.

import HornbeamPages
import HornbeamTree

extension SecondaryQuery {
    /// Calls `body` with the ids, in the query's order, until it sets `stop` or throws. In a write it may change
    /// entities: all ids are collected before the first call.
    public func forEachID(in context: Context, _ body: (_ id: Entity.ID, _ stop: inout Bool) throws -> Void) throws {
        var stop = false
        if try context.session.isWritable {
            for id in try ids(in: context) where !stop { try body(id, &stop) }
            return
        }
        try context.session.run { session in
            let table = try OpenTable(self, session, mayStop: true)
            try table.forEachRowID { rowID in
                for id: Entity.ID in try session.ids(of: [rowID], table.store) { try body(id, &stop) }
                return !stop
            }
        }
    }

    /// Calls `body` with the columns of each row. Doesn't read the entities.
    public func forEachRow(
        in context: Context, _ body: (_ row: SecondaryRow<Entity>, _ stop: inout Bool) throws -> Void
    ) throws {
        var stop = false
        if try context.session.isWritable {
            for row in try rows(in: context) where !stop { try body(row, &stop) }
            return
        }
        try context.session.run { session in
            try OpenTable(self, session, mayStop: true).run { _, row in
                try body(try SecondaryRow(row, index.table), &stop)
                return !stop
            }
        }
    }

    /// Calls `body` with each id and its entity. In a write all entities are read before the first call.
    public func forEach(
        in context: Context, _ body: (_ id: Entity.ID, _ entity: Entity, _ stop: inout Bool) throws -> Void
    ) throws {
        var stop = false
        if try context.session.isWritable {
            for entity in try resolve(in: context) where !stop { try body(entity.id, entity, &stop) }
            return
        }
        try context.session.run { session in
            try OpenTable(self, session, mayStop: true).run { rowID, _ in
                guard let entity = try session.entity(at: rowID, Entity.self) else {
                    throw StorageError.corrupt(
                        Corruption(
                            tree: "index “\(index.registration.name)”", reason: "it names \(rowID), which doesn't exist"
                        )
                    )
                }
                try body(entity.id, entity, &stop)
                return !stop
            }
        }
    }

    /// Returns a cursor that reads the rows one by one, on request.
    public func cursor(in context: Context) throws -> SecondaryCursor<Entity> {
        try SecondaryCursor(self, context)
    }
}

/// The rows of a query, one by one: `while let row = try cursor.next() { … }`. It belongs to the context's transaction.
/// In a write it returns the rows of the moment when it was made.
public struct SecondaryCursor<Entity: EntityModelProtocol> {
    private let query: SecondaryQuery<Entity>
    private let context: Context
    /// Rows that were read and not returned yet, the next one last.
    private var waiting: [SecondaryRow<Entity>]
    /// The position of the last row that was read. Nil before the first.
    private var position: QueryPosition?
    private var left: Int
    private var offset: Int
    private var isAtEnd = false
    /// Number of rows to read next time. Small at first, because most callers read few rows.
    private var size = 8
    private static var mostAtOnce: Int { 256 }

    init(_ query: SecondaryQuery<Entity>, _ context: Context) throws {
        self.query = query
        self.context = context
        left = query.limit ?? .max
        offset = query.offset
        waiting = []
        // A position doesn't tell which rows are the first of their groups, so all are read at once.
        guard try context.session.isWritable || !query.groups.isEmpty else { return }
        waiting = try query.rows(in: context).reversed()
        isAtEnd = true
    }

    /// Returns the next row, or nil after the last one.
    public mutating func next() throws -> SecondaryRow<Entity>? {
        if waiting.isEmpty, !isAtEnd { try read() }
        return waiting.popLast()
    }

    private mutating func read() throws {
        let wanted = Swift.min(size, left)
        let former = position
        var part = query.limit(wanted).offset(offset)
        if let former { part.after = former }
        offset = 0
        var rows: [SecondaryRow<Entity>] = []
        try context.session.run { session in
            let table = try OpenTable(part, session)
            let executor = try Executor(table.query, table.store)
            try executor.forEach { _, row, _ in
                rows.append(try SecondaryRow(row, query.index.table))
                position = QueryPosition(id: try row.value(0), row: Array(row.bytes))
                return true
            }
            // Sorting all rows anew for every few rows would take quadratic time.
            size = executor.sortsInMemory ? size * 16 : Swift.min(size * 2, Self.mostAtOnce)
        }
        left -= rows.count
        isAtEnd = rows.count < wanted || left == 0
        waiting = rows.reversed()
    }
}
