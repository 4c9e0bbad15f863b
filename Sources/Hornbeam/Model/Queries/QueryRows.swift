// SPDX-License-Identifier: Apache-2.0
// Finding the rows of a list and turning them into entities. The planner finds and orders rows. The code here follows
// lists of rows that have an order of their own, and loads relations level by level.

extension ListParts {
    /// The planner's query. Inlined, so that the parts go over without a copy.
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

    /// Whether only the filter, which may find at most one entity, selects the entities.
    private var isFilterAlone: Bool {
        guard order.isEmpty, !isRanked, offset == 0, after == nil else { return false }
        if let limit, limit <= 0 { return false }
        switch filter {
        case .compare(_, .equal, _), .and: return true
        default: return false
        }
    }

    /// The entities, with all that is nested in them. Here, not in the list, whose type would be looked up for it.
    func load<Entity: EntityModelProtocol>(_: Entity.Type, _ session: TypedTransaction) throws -> [Entity] {
        guard case .all = source else { return try QueryList<Entity>(self).loadRows(session) }
        // Before there is a query to copy, which would be a fifth of the time.
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

/// The source of a query's list of rows. The rows may have repeats, and may not be stored.
final class RowListSource: Sendable {
    let list: @Sendable (TypedTransaction) throws -> any RowList
    /// The ids whose rows they are, nil if only the transaction knows these.
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

/// The rows that a list nested in a query chooses from: the rows that links lead to, of one entity after the other.
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

    /// Whether lists of a type choose from it. Lists of other types do only along relations.
    func isOf(_ type: any EntityModelProtocol.Type) -> Bool { ObjectIdentifier(self.type) == ObjectIdentifier(type) }

    /// The linked ones among `rows`; all of them if they are of another type.
    func linked(among rows: [RowID], of type: any EntityModelProtocol.Type) -> [RowID] {
        guard isOf(type) else { return rows }
        let linked = Set(linked)
        return rows.filter(linked.contains)
    }

    /// The linked rows in the order of a source other than the links.
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
    /// The rows that the list selects from; nil for all of the type.
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

    /// The query over the rows that the list selects from; nil if these are all of the type.
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

    /// The stored rows in order; in a level of a nested query only the linked ones.
    package func rows(_ session: TypedTransaction, in level: NestedLevel? = nil) throws -> [RowID] {
        if let listed = try listed(session, in: level) { return try listed.rows() }
        return try session.core(for: Entity.self).rowIDs(coreQuery)
    }

    /// Returns the plan of the query. A list of rows is made for this, so that the plan has its length.
    func plan(_ session: TypedTransaction) throws -> Plan {
        try listed(session)?.plan() ?? session.plan(coreQuery, of: Entity.self)
    }

    /// Runs the query, and returns its plan with actual counts.
    func analysis(_ session: TypedTransaction) throws -> PlanRun {
        try listed(session)?.analysis() ?? session.core(for: Entity.self).analysis(coreQuery)
    }

    /// The entities of a list of rows, with all that is nested in them.
    fileprivate func loadRows(_ session: TypedTransaction) throws -> [Entity] {
        // Reading skips rows that aren't stored, so whole lists of rows need no test.
        if isWhole, let base = try parts.base(session, in: nil, of: Entity.self) { return try decode(base, session) }
        return try decode(try rows(session), session)
    }

    /// The stored ones among `rows` as entities.
    func decode(_ rows: [RowID], _ session: TypedTransaction) throws -> [Entity] {
        var stored: [RowID]? = nested == nil ? nil : []
        let entities: [Entity] = try session.entities(at: rows, stored: &stored)
        guard let stored else { return entities }
        return try completed(entities, stored, session)
    }
}

extension QueryList {
    /// Calls `body` with each entity of `resolve`, in its order, without having all of them in memory. It holds a
    /// thousand entities, and eight bytes for each entity that the query finds. An error of `body` ends it.
    ///
    /// The query runs first, so `body` may write. Its changes are seen in entities that are read later: they are read a
    /// thousand at a time, and those that are deleted by then are left out.
    /// - Parameters:
    ///   - context: the transaction to read in; the query's own if omitted.
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
