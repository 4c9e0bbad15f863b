// SPDX-License-Identifier: Apache-2.0
// Queries of a secondary index. They are values without a context, and are planned anew each time they run.

import HornbeamPages
import HornbeamTree

/// The row of one entity in a secondary index.
public struct SecondaryRow<Entity: EntityModelProtocol>: Sendable {
    public let id: Entity.ID
    /// The values of the columns after the id.
    private let values: [Value]
    private let table: SecondaryTable

    init(_ row: RowReader, _ table: SecondaryTable) throws {
        let stored = try row.value(0)
        guard let id = Entity.ID(columnValue: stored) else {
            throw HornbeamError(
                .undecodable, "the id \(stored.text.shown()) in index “\(table.index)” is no \(Entity.ID.self)")
        }
        self.id = id
        self.table = table
        values = try (1..<table.columns.count).map { try row.value($0) }
    }

    /// Returns the value of the index's column with this column's name. Returns nil if the index has no such column, or
    /// if the value isn't of this column's type.
    public subscript<Property>(column: IndexColumn<Property>) -> Property? {
        self[column.name].flatMap { Property(columnValue: $0) }
    }

    /// Returns the value of a column by its name, or nil if there is no such column.
    public subscript(name: String) -> Value? {
        guard let column = try? table.column(name) else { return nil }
        return column == 0 ? id.columnValue : values[column - 1]
    }
}

/// A query of a secondary index. It is a value without a context. It is planned each time it runs, by the counts of
/// that state.
public struct SecondaryQuery<Entity: EntityModelProtocol>: Sendable {
    let index: SecondaryIndex<Entity>
    var conditions: [ColumnCondition] = []
    /// The conditions of a text, for the index's table.
    var filters: [Filter] = []
    /// The columns whose distinct combinations are requested.
    var groups: [String] = []
    /// The ids of the requested entities. Nil for all.
    var ids: [Value]?
    var order: [IndexOrder] = []
    var limit: Int?
    var offset = 0
    /// Only rows after this position.
    var after: QueryPosition?

    init(index: SecondaryIndex<Entity>) { self.index = index }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var query = self
        change(&query)
        return query
    }

    // MARK: Rows

    /// Keeps only rows for which the condition holds, in addition to earlier conditions.
    public func filter(_ condition: ColumnCondition) -> Self { with { $0.conditions.append(condition) } }
    /// Keeps only rows of these entities, which are looked up one by one. Replaces an earlier list.
    public func ids(_ ids: [Entity.ID]) -> Self { with { $0.ids = ids.map(\.columnValue) } }
    /// Sorts the rows in this order, and by row id where it leaves them equal. Without an order they are sorted by row
    /// id.
    public func sorted(by order: IndexOrder...) -> Self { with { $0.order = order } }
    /// Limits the result to `limit` rows. Nil means all; a negative limit gives none.
    public func limit(_ limit: Int?) -> Self { with { $0.limit = limit.map { Swift.max(0, $0) } } }
    /// Skips the first `offset` rows. A negative offset gives none.
    public func offset(_ offset: Int) -> Self { with { $0.offset = offset < 0 ? .max : offset } }

    // MARK: Answers

    /// Returns the ids. Doesn't read the entities. Like all reads of an index, it throws `.indexNotReady` if the index
    /// isn't registered or is still being built.
    public func ids(in context: Context) throws -> [Entity.ID] {
        try context.session.run { session in
            let table = try OpenTable(self, session)
            return try session.ids(of: try table.rowIDs(), table.store)
        }
    }

    /// Returns the entities.
    public func resolve(in context: Context) throws -> [Entity] {
        try context.session.run { session in
            try session.entities(atDistinct: try OpenTable(self, session).rowIDs())
        }
    }

    /// Returns the rows in the index. Doesn't read the entities.
    public func rows(in context: Context) throws -> [SecondaryRow<Entity>] {
        try context.session.run { session in
            var rows: [SecondaryRow<Entity>] = []
            let table = try OpenTable(self, session)
            try table.run { _, row in
                rows.append(try SecondaryRow(row, index.table))
                return true
            }
            return rows
        }
    }

    /// Returns the first entity, or nil if there is none.
    public func first(in context: Context) throws -> Entity? { try first.resolve(in: context).first }
    /// Returns the id of the first entity, or nil if there is none.
    public func firstID(in context: Context) throws -> Entity.ID? { try first.ids(in: context).first }

    private var first: Self { limit(Swift.min(limit ?? 1, 1)) }

    /// Returns the number of rows. Uses the counts of trees, without reading rows, if the query is for all rows or for
    /// one range of a column.
    public func count(in context: Context) throws -> Int {
        try context.session.run { try OpenTable(self, $0).count() }
    }

    /// Returns the plan by which the query would be answered.
    public func explain(in context: Context) throws -> Plan {
        try context.session.run { session in
            let table = try OpenTable(self, session)
            return try Planner(table.query, table.store).explanation()
        }
    }
}

/// A query with the table that answers it, in one transaction.
struct OpenTable<Entity: EntityModelProtocol> {
    private(set) var query: EntityQuery
    let store: EntityStore
    let table: SecondaryTable
    let wanted: SecondaryQuery<Entity>

    /// Throws `.indexNotReady` unless the transaction's state has the whole index in this version.
    /// - Parameter mayStop: whether the caller may stop before the last row.
    init(_ wanted: SecondaryQuery<Entity>, _ session: TypedTransaction, mayStop: Bool = false) throws {
        self.wanted = wanted
        table = wanted.index.table
        let registration = wanted.index.registration
        let type = try session.store(Entity.self).type
        let core = try session.core
        store = try table.store(try core.trees(of: registration), of: type, core)
        query = try Self.query(wanted, type.name)
        // Groups stop at their limit.
        query.mayStop = mayStop || !wanted.groups.isEmpty && wanted.limit != nil
    }

    private static func query(_ wanted: SecondaryQuery<Entity>, _ type: String) throws -> EntityQuery {
        let table = wanted.index.table
        var parts = wanted.filters
        for condition in wanted.conditions { parts.append(try condition.filter(table)) }
        if let ids = wanted.ids { parts.append(.ids(ids)) }
        var sort = try wanted.order.map {
            SortTerm.column(try table.column($0.column), descending: $0.isDescending)
        }
        // A list of ids would give an order of its own.
        if wanted.ids != nil, sort.isEmpty { sort = [.column(0)] }
        var query = EntityQuery(
            type: type, filter: Filter.conjunction(parts), sort: sort, limit: wanted.limit, offset: wanted.offset)
        if let after = wanted.after { query.after = { _ in after } }
        return query
    }

    func rowIDs() throws -> [RowID] {
        var found: [RowID] = []
        try forEachRowID { rowID in
            found.append(rowID)
            return true
        }
        return found
    }

    /// Calls `body` with the rows' ids in their order until it returns false.
    func forEachRowID(_ body: (RowID) throws -> Bool) throws {
        guard wanted.groups.isEmpty else { return try forEachGroup { rowID, _ in try body(rowID) } }
        var query = query
        query.wanted = .rowIDs
        try Executor(query, store).run(needsRows: false) { rowID, _, _ in try body(rowID) }
    }

    /// Calls `body` with the rows in their order until it returns false.
    func run(_ body: (RowID, RowReader) throws -> Bool) throws {
        guard wanted.groups.isEmpty else { return try forEachGroup(body) }
        try Executor(query, store).forEach { rowID, row, _ in try body(rowID, row) }
    }

    /// Calls `body` with the first row of each group. Limit and offset apply to the groups.
    private func forEachGroup(_ body: (RowID, RowReader) throws -> Bool) throws {
        let columns = try wanted.groups.map { (name) throws(HornbeamError) in try table.column(name) }
        var query = query
        (query.limit, query.offset) = (nil, 0)
        var left = wanted.limit ?? .max
        var offset = wanted.offset
        var keys: Set<[UInt8]> = []
        guard left > 0 else { return }
        try Executor(query, store).forEach { rowID, row, _ in
            guard keys.insert(try key(of: row, columns)).inserted else { return true }
            if offset > 0 {
                offset -= 1
                return true
            }
            left -= 1
            return try body(rowID, row) && left > 0
        }
    }

    func count() throws -> Int {
        guard wanted.groups.isEmpty else { return try rowIDs().count }
        var query = query
        // The order doesn't change the count.
        query.sort = []
        if query.isWhole { query.needs = RowNeeds() }
        query.wanted = .count
        let executor = try Executor(query, store)
        if let known = executor.knownCount { return known }
        var count = 0
        try executor.run(needsRows: false) { _, _, _ in
            count += 1
            return true
        }
        return count
    }
}
