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

    /// The entities, with all that is nested in them. Here, not in the list, whose type would be looked up for it.
    func load<Entity: EntityModelProtocol>(_: Entity.Type, _ session: Session) throws -> [Entity] {
        guard case .all = source else { return try QueryList<Entity>(self).loadRows(session) }
        var rows: [RowID]? = nested == nil ? nil : []
        var entities: [Entity] = try session.entities(query(Entity.entityName), rows: &rows)
        if let rows { try QueryList<Entity>(self).loadNested(&entities, rows, session) }
        return entities
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
    private func rows(among base: [RowID], _ session: Session) throws -> [RowID] {
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

    fileprivate func loadNested(_ entities: inout [Entity], _ rows: [RowID], _ session: Session) throws {
        guard !entities.isEmpty, let nested else { return }
        for step in nested.steps { try step.load(&entities, rows, session) }
    }

    /// The stored ones among `rows` as entities.
    private func decode(_ rows: [RowID], _ session: Session) throws -> [Entity] {
        var stored: [RowID]? = nested == nil ? nil : []
        var entities: [Entity] = try session.entities(at: rows, stored: &stored)
        if let stored { try loadNested(&entities, stored, session) }
        return entities
    }

    /// The linked rows of each source within the query's limit, which it then no longer has; nil if the limit counts
    /// after a choice or an order, or if some links may lead nowhere. So a page of a large relation is read alone.
    mutating func takeLimit<Source>(
        of sources: [RowID], _ relation: DeclaredRelation<Source>, _ session: Session
    ) throws -> [[RowID]]? {
        guard case .all = source, case .all = filter, order.isEmpty, parts.after == nil, let limit,
            let rows = try session.linkedRows(ofEach: sources, relation, limit: limit, offset: offset)
        else { return nil }
        parts.limit = nil
        parts.offset = 0
        return rows
    }

    /// For each list of linked rows what the query makes of it. A query that only completes entities reads each row
    /// once for all lists.
    /// - Parameter isUnshared: whether it is known that no row is in two of them.
    func load(eachOf lists: [[RowID]], isUnshared: Bool = false, _ session: Session) throws -> [[Entity]] {
        if parts.ignoresLinks {
            let all: [Entity] = try parts.load(Entity.self, session)
            return lists.map { _ in all }
        }
        guard case .all = source, isWhole else {
            return try lists.map { try decode(try rows(of: $0, session), session) }
        }
        // No entity is copied from one list to another.
        if isUnshared, nested == nil { return try lists.map { try decode($0, session) } }
        // Row ids are put in order, not in a table: of 200 that takes a tenth of the instructions.
        var distinct: [RowID] = []
        distinct.reserveCapacity(lists.reduce(0) { $0 + $1.count })
        for list in lists { distinct += list }
        distinct.sort()
        let hasRepeats = distinct.hasEqualNeighbours
        if !hasRepeats, nested == nil { return try lists.map { try decode($0, session) } }
        if hasRepeats { distinct = distinct.withoutNeighbours() }
        var stored: [RowID]? = []
        var entities: [Entity] = try session.entities(at: distinct, stored: &stored)
        let found = stored ?? []
        try loadNested(&entities, found, session)
        var places: [Int] = []
        places.reserveCapacity(distinct.count)
        let ends = lists.map { list in
            for row in list { if let place = found.place(of: row) { places.append(place) } }
            return places.count
        }
        return Entity._lists(entities, at: places, ends: ends)
    }

    /// The query over linked rows. One that brings a source of its own selects among both.
    private func rows(of linked: [RowID], _ session: Session) throws -> [RowID] {
        guard case .rows = source else { return try rows(among: linked, session) }
        let own = Set(linked)
        return try rows(session).filter(own.contains)
    }
}

// Row ids in ascending order.
extension [RowID] {
    var hasEqualNeighbours: Bool {
        guard count > 1 else { return false }
        for place in 1..<count where self[place] == self[place - 1] { return true }
        return false
    }

    /// Each once.
    fileprivate func withoutNeighbours() -> [RowID] {
        var distinct: [RowID] = []
        distinct.reserveCapacity(count)
        for row in self where row != distinct.last { distinct.append(row) }
        return distinct
    }

    /// Where it is, if it is one of them.
    fileprivate func place(of row: RowID) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < row { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == row ? low : nil
    }
}
