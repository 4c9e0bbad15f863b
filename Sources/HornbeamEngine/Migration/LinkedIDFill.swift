// SPDX-License-Identifier: Apache-2.0
// Fills the id columns of a type's to-one relations, if an index over these columns is new or the links have been
// migrated.

import HornbeamPages
import HornbeamTree

struct LinkedIDFill {
    let schema: Schema
    let transaction: Transaction

    /// The types to fill, each with the names of its indexes over such ids. An existing column is filled again if an
    /// index over it is new or relations were renamed, because an older program may not have maintained it.
    static func types(
        _ schema: Schema, _ work: [SchemaChange], _ plan: MigrationPlan, movesLinks: Bool
    ) -> [(type: EntityType, indexes: Set<String>)] {
        schema.types.values.filter { !$0.linkedIDs.isEmpty }.sorted { $0.name < $1.name }.compactMap { type in
            let change = work.first { $0.stored.name == type.name }
            let isNew = change.map { $0.added.contains { $0.linkedRelation != nil } } ?? false
            let former = plan.types[type.name]?.relations ?? []
            let isChanged = change.map { Set($0.stored.relations) != Set(former) } ?? false
            let columns = Set(type.linkedIDs.map(\.column))
            let indexes = Set(
                type.indexes.filter { !columns.isDisjoint(with: $0.columns) }.map(\.description.name))
            let isBuilt = change.map { !$0.built.isDisjoint(with: indexes) } ?? false
            guard isNew || isChanged || isBuilt || movesLinks || plan.renamesRelations(of: type.name) else {
                return nil
            }
            return (type, indexes)
        }
    }

    /// Writes the ids into the rows, and empties the indexes, which must be built afterwards.
    func run(_ type: EntityType, indexes: Set<String>) throws {
        // The core owns the store.
        let core = StoreTransaction(transaction, schema: schema)
        defer { withExtendedLifetime(core) {} }
        let store = try core.store(type.name)
        var next: RowID? = RowID(rawValue: 0)
        while let start = next { next = try fillSome(store, from: start) }
        for index in type.indexes where indexes.contains(index.description.name) {
            _ = try transaction.deleteRange(index.tree, from: [], to: [])
        }
    }

    /// Fills a part of the rows, from `start` on: as many as are held in memory at a time.
    /// - Returns: the row to continue with; nil at the end.
    private func fillSome(_ store: EntityStore, from start: RowID) throws -> RowID? {
        var rows: [(rowID: RowID, row: [UInt8])] = []
        var (next, size) = (nil as RowID?, 0)
        try store.forEachRow(from: start.key, to: []) { rowID, row in
            if size >= 1 << 20 {
                next = rowID
                return false
            }
            size += row.bytes.count + 64
            rows.append((rowID, Array(row.bytes)))
            return true
        }
        for (rowID, row) in rows {
            let filled = try store.filledWithLinkedIDs(row, rowID)
            if filled != row { try transaction.put(store.type.rows, rowID.key, filled) }
        }
        return next
    }
}

extension EntityStore {
    /// A row with the ids of the entities that its links lead to.
    fileprivate func filledWithLinkedIDs(_ row: [UInt8], _ rowID: RowID) throws -> [UInt8] {
        try row.withUnsafeBytes { bytes in
            try type.rewriting(
                try RowReader(bytes, of: type),
                then: { writer in
                    for linked in type.linkedIDs { writer.set(try idByLinks(linked, of: rowID), linked.column) }
                })
        }
    }
}
