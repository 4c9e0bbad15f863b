// SPDX-License-Identifier: Apache-2.0
// How a list finds its rows and turns them into entities. The planner finds and orders rows; what is here follows
// lists of rows that have an order of their own, and loads relations level by level.

extension ListParts {
    /// What the planner gets. Inlined, so that the parts go over without a copy.
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

    /// Whether nothing but the filter chooses among entities, of which it may find one.
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
        // Not by `map`, which in generic code looks its types up.
        guard let rows else { return entities }
        return try QueryList<Entity>(self).completed(entities, rows, session)
    }
}

/// Rows in an order of their own, possibly with repeats or rows that aren't stored.
final class RowListSource: Sendable {
    let load: @Sendable (TypedTransaction) throws -> [RowID]
    /// Finds the rows place by place; nil if they can only be had as a whole.
    let list: (@Sendable (TypedTransaction) throws -> any RowList)?

    init(_ load: @escaping @Sendable (TypedTransaction) throws -> [RowID]) {
        self.load = load
        list = nil
    }

    init(list: @escaping @Sendable (TypedTransaction) throws -> any RowList) {
        self.list = list
        load = { session in
            var rows: [RowID] = []
            try list(session).forEach(from: 0) { row in
                rows.append(row)
                return true
            }
            return rows
        }
    }
}

/// What a list that is nested in a query chooses from: the rows that links lead to, of one entity after the other.
package final class NestedLevel {
    private let type: any EntityModelProtocol.Type
    /// Those of the entity whose list is made, each once.
    var linked: [RowID] = []
    /// Rows that are not the links', and where each of them stands; loaded once for all entities.
    private var own: [ObjectIdentifier: (rows: [RowID], places: [RowID: [Int]])] = [:]

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

    /// What is linked of rows that are not the links', in their order.
    func linked(of source: RowListSource, _ session: TypedTransaction) throws -> [RowID] {
        let key = ObjectIdentifier(source)
        if own[key] == nil {
            let rows = try source.load(session)
            var places: [RowID: [Int]] = [:]
            for (place, row) in rows.enumerated() { places[row, default: []].append(place) }
            own[key] = (rows, places)
        }
        guard let (rows, places) = own[key] else { return [] }
        return linked.flatMap { places[$0] ?? [] }.sorted().map { rows[$0] }
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

    /// The query for a list that tells its places; nil for any other, and for one by the scores of a search.
    func listed(_ session: TypedTransaction, in level: NestedLevel? = nil) throws -> ListedRows? {
        guard level == nil, case .own(let own) = source, let makeList = own.list,
            !order.contains(where: { if case .score = $0.key { true } else { false } })
        else { return nil }
        return ListedRows(parts: parts, list: try makeList(session), store: try session.store(Entity.self))
    }

    /// The stored rows in order; of a level of a nested query those among the linked ones.
    package func rows(_ session: TypedTransaction, in level: NestedLevel? = nil) throws -> [RowID] {
        if case .own = source, let listed = try listed(session, in: level) { return try listed.rows() }
        guard let base = try parts.base(session, in: level, of: Entity.self) else {
            return try session.core(for: Entity.self).rowIDs(coreQuery)
        }
        return try rows(among: base, session)
    }

    /// The rows of `base` that the query selects: in the order of `base`, repeats included, unless it is sorted.
    private func rows(among base: [RowID], _ session: TypedTransaction) throws -> [RowID] {
        if limit == 0 || base.isEmpty { return [] }
        let base = order.isEmpty ? try behindPosition(base, session) : base
        if case .all = filter, order.isEmpty { return try stored(base, session) }
        let found = try session.core(for: Entity.self).rowIDs(try query(among: base, session))
        if order.isEmpty {
            let wanted = Set(found)
            return cut(base.filter(wanted.contains))
        }
        let times = Dictionary(base.map { ($0, 1) }, uniquingKeysWith: +)
        return cut(found.flatMap { repeatElement($0, count: times[$0] ?? 1) })
    }

    /// What the planner gets to select and order rows of a list. The list is cut afterwards, repeats counting.
    private func query(among base: [RowID], _ session: TypedTransaction) throws -> EntityQuery {
        var seen: Set<RowID> = []
        let ids = try base.filter { seen.insert($0).inserted }.compactMap { try session.store(Entity.self).id(of: $0) }
        var query = EntityQuery(type: Entity.entityName, filter: .and([.ids(ids), filter]), sort: parts.sort)
        if !order.isEmpty { query.after = parts.after }
        return query
    }

    /// What comes behind the list's position in a list that has an order of its own.
    private func behindPosition(_ base: [RowID], _ session: TypedTransaction) throws -> [RowID] {
        guard let after = parts.after else { return base }
        let store = try session.store(Entity.self)
        let position = try PlannedPosition(try after(store), store)
        try position.requireOrder([], store.type)
        guard let row = position.rowID, let place = base.firstIndex(of: row) else { throw position.missing(store.type) }
        return Array(base[(place + 1)...])
    }

    /// The stored ones of a list, cut; those behind the limit are not looked at.
    private func stored(_ base: [RowID], _ session: TypedTransaction) throws -> [RowID] {
        var found: [RowID] = []
        var skip = offset
        let store = try session.store(Entity.self)
        for row in base where try store.isSaved(row) {
            if skip > 0 {
                skip -= 1
                continue
            }
            found.append(row)
            if found.count == limit { break }
        }
        return found
    }

    /// How the query would be answered. A list of rows is made for this, so that its plan tells how many they are.
    func plan(_ session: TypedTransaction) throws -> Plan {
        if let listed = try listed(session) { return try listed.plan() }
        guard let base = try parts.base(session, in: nil, of: Entity.self) else {
            return try session.plan(coreQuery, of: Entity.self)
        }
        return cut(try session.plan(try planned(among: base, session), of: Entity.self))
    }

    /// Runs the query, and returns its plan with actual counts.
    func analysis(_ session: TypedTransaction) throws -> PlanRun {
        if let listed = try listed(session) { return try listed.analysis() }
        guard let base = try parts.base(session, in: nil, of: Entity.self) else {
            return try session.core(for: Entity.self).analysis(coreQuery)
        }
        var run = try session.core(for: Entity.self).analysis(try planned(among: base, session))
        run.plan = cut(run.plan)
        // Repeats count, and those before an offset don't.
        run.results = try rows(among: base, session).count
        return run
    }

    private func planned(among base: [RowID], _ session: TypedTransaction) throws -> EntityQuery {
        var query = try query(among: base, session)
        if limit == 0 { query.limit = 0 }
        return query
    }

    /// A plan of all rows of a list as that of the part.
    private func cut(_ plan: Plan) -> Plan {
        var plan = plan
        plan.limit = limit
        plan.offset = offset
        return plan
    }

    private func cut(_ rows: [RowID]) -> [RowID] {
        Array(rows.dropFirst(offset).prefix(limit ?? Int.max))
    }

    /// The entities of a list of rows, with all that is nested in them.
    fileprivate func loadRows(_ session: TypedTransaction) throws -> [Entity] {
        // Reading skips what isn't stored by itself, so whole lists of rows need no test.
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
