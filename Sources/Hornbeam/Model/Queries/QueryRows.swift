// SPDX-License-Identifier: Apache-2.0
// Finding the rows of a list and turning them into entities. The planner finds and orders rows. The code here follows
// lists of rows that have an order of their own, and loads relations level by level.

extension ListParts {
    /// The planner's query. Inlined, so that the parts need no copy.
    @inline(__always)
    func query(_ type: String) -> EntityQuery {
        var query = EntityQuery(type: type, filter: filter, sort: sort, limit: limit, offset: offset)
        query.after = after
        query.ignoresTies = ignoresTies
        query.requiresIndex = requiresIndex
        return query
    }

    var sort: [SortTerm] {
        isRanked ? [.bestScore] : order
    }

    /// Whether the list is only a filter, of a form that may find at most one entity.
    private var isFilterAlone: Bool {
        guard order.isEmpty, !isRanked, offset == 0, after == nil else { return false }
        if let limit, limit <= 0 { return false }
        switch filter {
        case .compare(_, .equal, _), .and: return true
        default: return false
        }
    }

    /// Returns the entities with the relations that the list loads. A function of the parts, because generic code would
    /// look up the type of a list.
    func load<Entity: EntityModelProtocol>(_: Entity.Type, _ session: TypedTransaction) throws -> [Entity] {
        guard case .all = source else { return try QueryList<Entity>(self).loadRows(session) }
        // Done before a query is made: copying it would be a fifth of the time.
        if isFilterAlone, let sole = try session.store(Entity.self).soleRow(filter) {
            guard case .row(let rowID, let row) = sole else { return [] }
            let entities = try Entity._entities(1) { try $0(row) }
            return nested == nil ? entities : try QueryList<Entity>(self).completed(entities, [rowID], session)
        }
        var rows: [RowID]? = nested == nil ? nil : []
        let entities: [Entity] = try session.entities(query(Entity.entityName), rows: &rows)
        // A loop instead of `map`, which looks its types up in generic code.
        guard let rows else { return entities }
        return try QueryList<Entity>(self).completed(entities, rows, session)
    }
}

/// The source of a query's list of rows. Rows may occur several times, and need not be stored.
final class RowListSource: Sendable {
    let list: @Sendable (TypedTransaction) throws -> any RowList
    /// The ids whose rows they are, or nil if the rows don't come from ids.
    let ids: [Value]?

    init(ids: [Value]? = nil, list: @escaping @Sendable (TypedTransaction) throws -> any RowList) {
        self.ids = ids
        self.list = list
    }

    convenience init(ids: [Value]? = nil, _ load: @escaping @Sendable (TypedTransaction) throws -> [RowID]) {
        self.init(ids: ids) { RowArray(try load($0)) }
    }

    func load(_ session: TypedTransaction) throws -> [RowID] {
        let list = try list(session)
        if let list = list as? RowArray { return list.rows }
        var rows: [RowID] = []
        try list.forEach(from: 0) { row in
            rows.append(row)
            return true
        }
        return rows
    }
}

/// The rows that a nested list selects from: the linked rows of one entity after the other.
package final class NestedLevel {
    private let type: any EntityModelProtocol.Type
    /// The linked rows of the entity whose list is made, each once.
    var linked: [RowID] = []
    /// Lists other than the linked rows. They are loaded once for all entities.
    private var own: [ObjectIdentifier: any RowList] = [:]

    /// - Parameter type: the type that the links lead to.
    init(_ type: any EntityModelProtocol.Type) {
        self.type = type
    }

    /// Whether lists of a type select from it. Lists of other types do only along relations.
    func isOf(_ type: any EntityModelProtocol.Type) -> Bool { ObjectIdentifier(self.type) == ObjectIdentifier(type) }

    /// Returns the linked rows among `rows`, or all of them if they are of another type.
    func linked(among rows: [RowID], of type: any EntityModelProtocol.Type) -> [RowID] {
        guard isOf(type) else { return rows }
        let linked = Set(linked)
        return rows.filter(linked.contains)
    }

    /// Returns the linked rows in the order of another source.
    func linked(of source: RowListSource, _ session: TypedTransaction) throws -> [RowID] {
        let key = ObjectIdentifier(source)
        let list = try own[key] ?? source.list(session)
        own[key] = list
        var found: [(place: Int, row: RowID)] = []
        for row in linked { found += try list.indices(of: row, limit: .max).map { ($0, row) } }
        return found.sorted { $0.place < $1.place }.map(\.row)
    }
}

extension ListParts {
    /// Returns the rows that the list selects from, or nil if it selects from all rows of the type.
    func base(
        _ session: TypedTransaction, in level: NestedLevel?, of type: any EntityModelProtocol.Type
    ) throws -> [RowID]? {
        let own = level.flatMap { $0.isOf(type) ? $0 : nil }
        switch source {
        case .all: return own?.linked
        case .own(let rows): return try own?.linked(of: rows, session) ?? rows.load(session)
        case .steps(let rows): return try rows(session, level)
        }
    }
}

extension QueryList {
    var coreQuery: EntityQuery { parts.query(Entity.entityName) }

    /// Returns the query over the rows that the list selects from, or nil if it selects from all rows of the type.
    func listed(_ session: TypedTransaction, in level: NestedLevel? = nil) throws -> ListedRows? {
        let list: any RowList
        if level == nil, case .own(let own) = source {
            list = try own.list(session)
        } else if let base = try parts.base(session, in: level, of: Entity.self) {
            list = RowArray(base)
        } else {
            return nil
        }
        return ListedRows(parts: parts, list: list, store: try session.store(Entity.self))
    }

    /// Returns the stored rows in order, in a level of a nested query only the linked ones.
    package func rows(_ session: TypedTransaction, in level: NestedLevel? = nil) throws -> [RowID] {
        if let listed = try listed(session, in: level) { return try listed.rows() }
        return try session.core(for: Entity.self).rowIDs(coreQuery)
    }

    /// Returns the plan of the query. Finds the rows of a list for it, because the plan has its length.
    func plan(_ session: TypedTransaction) throws -> Plan {
        try listed(session)?.plan() ?? session.plan(coreQuery, of: Entity.self)
    }

    /// Runs the query, and returns its plan with actual counts.
    func analysis(_ session: TypedTransaction) throws -> PlanRun {
        try listed(session)?.analysis() ?? session.core(for: Entity.self).analysis(coreQuery)
    }

    /// Returns the entities of a list of rows, with the relations that the list loads.
    fileprivate func loadRows(_ session: TypedTransaction) throws -> [Entity] {
        // Reading skips rows that aren't stored, so a whole list needs no test of its rows.
        if isWhole, let base = try parts.base(session, in: nil, of: Entity.self) { return try decode(base, session) }
        return try decode(try rows(session), session)
    }

    /// Returns the stored entities among `rows`.
    func decode(_ rows: [RowID], _ session: TypedTransaction) throws -> [Entity] {
        var stored: [RowID]? = nested == nil ? nil : []
        let entities: [Entity] = try session.entities(at: rows, stored: &stored)
        guard let stored else { return entities }
        return try completed(entities, stored, session)
    }
}

extension QueryList {
    /// Calls `body` with each entity of the list, in order, without keeping all of them in memory. It needs memory for
    /// a thousand entities, and eight bytes for each entity that the query finds. An error of `body` ends it.
    ///
    /// The query runs first, so `body` may write. Entities are read a thousand at a time: those that are read later
    /// show the changes, and deleted ones are left out.
    /// - Parameters:
    ///   - context: the transaction to read in. If omitted, the context that the query began with.
    ///   - body: called once for each entity.
    public func forEach(in context: Context? = nil, _ body: (Entity) throws -> Void) throws {
        let session = try (context ?? boundContext()).session
        let rows: [RowID] = try session.run { try self.rows($0) }
        for start in stride(from: 0, to: rows.count, by: 1_000) {
            let part = Array(rows[start..<Swift.min(start + 1_000, rows.count)])
            let entities: [Entity] = try session.run { try decode(part, $0) }
            for entity in entities { try body(entity) }
        }
    }
}
