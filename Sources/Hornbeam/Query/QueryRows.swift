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
    func load<Entity: EntityModelProtocol>(_: Entity.Type, _ session: Session) throws -> [Entity] {
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

extension QueryList {
    var coreQuery: EntityQuery { parts.query(Entity.entityName) }

    /// The stored rows in order.
    func rows(_ session: Session) throws -> [RowID] {
        switch source {
        case .all: try session.rows(coreQuery, of: Entity.self)
        case .rows(let source): try rows(among: try source(session), session)
        }
    }

    /// The rows of `base` that the query selects: in the order of `base`, repeats included, unless it is sorted.
    func rows(among base: [RowID], _ session: Session) throws -> [RowID] {
        if limit == 0 || base.isEmpty { return [] }
        let base = order.isEmpty ? try behindPosition(base, session) : base
        if case .all = filter, order.isEmpty { return try stored(base, session) }
        let found = try session.rows(try query(among: base, session), of: Entity.self)
        if order.isEmpty {
            let wanted = Set(found)
            return cut(base.filter(wanted.contains))
        }
        let times = Dictionary(base.map { ($0, 1) }, uniquingKeysWith: +)
        return cut(found.flatMap { repeatElement($0, count: times[$0] ?? 1) })
    }

    /// What the planner gets to select and order rows of a list. The list is cut afterwards, repeats counting.
    private func query(among base: [RowID], _ session: Session) throws -> EntityQuery {
        var seen: Set<RowID> = []
        let ids = try base.filter { seen.insert($0).inserted }.compactMap { try session.idValue(of: $0, Entity.self) }
        var query = EntityQuery(type: Entity.entityName, filter: .and([.ids(ids), filter]), sort: parts.sort)
        if !order.isEmpty { query.after = parts.after }
        return query
    }

    /// What comes behind the list's position in a list that has an order of its own.
    private func behindPosition(_ base: [RowID], _ session: Session) throws -> [RowID] {
        guard let after = parts.after else { return base }
        let store = try session.store(Entity.self)
        let position = try PlannedPosition(try after(store), store)
        guard let row = position.rowID, let place = base.firstIndex(of: row) else { throw position.missing(store.type) }
        return Array(base[(place + 1)...])
    }

    /// The stored ones of a list, cut; those behind the limit are not looked at.
    private func stored(_ base: [RowID], _ session: Session) throws -> [RowID] {
        var found: [RowID] = []
        var skip = offset
        for row in base where try session.isStored(row, Entity.self) {
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
    func plan(_ session: Session) throws -> Plan {
        guard case .rows(let source) = source else { return try session.plan(coreQuery, of: Entity.self) }
        var query = try query(among: try source(session), session)
        if limit == 0 { query.limit = 0 }
        var plan = try session.plan(query, of: Entity.self)
        plan.limit = limit
        plan.offset = offset
        return plan
    }

    private func cut(_ rows: [RowID]) -> [RowID] {
        Array(rows.dropFirst(offset).prefix(limit ?? Int.max))
    }

    /// The entities of a list of rows, with all that is nested in them.
    fileprivate func loadRows(_ session: Session) throws -> [Entity] {
        // Reading skips what isn't stored by itself, so whole lists of rows need no test.
        if case .rows(let source) = source, isWhole { return try decode(try source(session), session) }
        return try decode(try rows(session), session)
    }

    /// The stored ones among `rows` as entities.
    func decode(_ rows: [RowID], _ session: Session) throws -> [Entity] {
        var stored: [RowID]? = nested == nil ? nil : []
        let entities: [Entity] = try session.entities(at: rows, stored: &stored)
        guard let stored else { return entities }
        return try completed(entities, stored, session)
    }
}
