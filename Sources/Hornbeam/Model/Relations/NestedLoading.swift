// SPDX-License-Identifier: Apache-2.0
// Makes entities of the lists of a level of a nested query. Rows that several lists share are read, with their
// relations, only once.

/// The lists of entities or ids for the entities of a level.
struct LoadedLists<Element> {
    var lists: [[Element]]
    /// The index of each entity's list in the level, -1 for none. Nil if lists and entities are in the same order.
    var places: [Int]?

    /// Returns the entities of the level with links to entities that aren't stored, so that their lists are shorter
    /// than their links. Returns nil if there are none.
    func lacking(_ links: LinkLists) -> Set<Int>? {
        var lacking: Set<Int>?
        var start = 0
        for (number, end) in links.ends.enumerated() {
            let place = places.map { $0[number] } ?? number
            let found = place < 0 ? 0 : lists[place].count
            if found < end - start {
                if lacking == nil { lacking = [] }
                lacking?.insert(number)
            }
            start = end
        }
        return lacking
    }
}

extension QueryList {
    /// Loads nested relations into entities with their row ids.
    func completed(_ entities: consuming [Entity], _ rows: [RowID], _ session: TypedTransaction) throws -> [Entity] {
        var lists = [entities]
        try loadNested(&lists, rows, session)
        return lists[0]
    }

    private func loadNested(_ entities: inout [[Entity]], _ rows: [RowID], _ session: TypedTransaction) throws {
        guard !rows.isEmpty, let nested else { return }
        for step in nested.steps { try step.load(&entities, rows, session) }
    }

    /// Returns the linked rows of each source within the query's limit, and removes the limit from the query, so that
    /// only a page of a large relation is read. Returns nil if the limit applies after a filter or an order.
    mutating func takeLimit(of sources: [RowID], _ side: EdgeSide, _ session: TypedTransaction) throws -> LinkLists? {
        guard case .all = source, case .all = filter, order.isEmpty, parts.after == nil, let limit else { return nil }
        let links = try session.core.edges.storedLinks(side, ofEach: sources, offset: offset, limit: limit)
        parts.limit = nil
        parts.offset = 0
        return links
    }

    /// Returns the query's result for each list of linked rows.
    func load(eachOf lists: [[RowID]], _ session: TypedTransaction) throws -> [[Entity]] {
        let found = try self.lists(ofEach: LinkLists(lists), isUnshared: false, isToMany: true, session)
        return found.places.map { $0.map { found.lists[$0] } } ?? found.lists
    }

    /// Returns the query's result for each list of linked rows. If the query neither selects nor orders, it reads each
    /// row once for all lists.
    /// - Parameter isUnshared: whether no row is known to be in two of them.
    /// - Parameter isToMany: whether a list may have more than one row.
    func lists(
        ofEach links: LinkLists, isUnshared: Bool, isToMany: Bool, _ session: TypedTransaction
    ) throws -> LoadedLists<Entity> {
        if parts.ignoresLinks {
            let all: [Entity] = try parts.load(Entity.self, session)
            return LoadedLists(lists: [all], places: Array(repeating: 0, count: links.count))
        }
        guard case .all = source, isWhole else {
            let level = NestedLevel(Entity.self)
            let lists = try (0..<links.count).map { number in
                level.linked = Array(links.list(number))
                return try decode(try rows(session, in: level), session)
            }
            return LoadedLists(lists: lists)
        }
        let distinct = isUnshared ? nil : DistinctRows(links.targets)
        if let distinct, distinct.hasRepeats { return try shared(distinct, links.ends, isToMany: isToMany, session) }
        // Without repeats no entity is copied from one list to another.
        var stored: [RowID]? = nested == nil ? nil : []
        var lists: [[Entity]] = try session.entities(of: links, stored: &stored)
        if let stored { try loadNested(&lists, stored, session) }
        return LoadedLists(lists: lists)
    }

    /// Returns lists with common entities. To-one relations to one entity share its list, so each costs only a
    /// reference count.
    private func shared(
        _ rows: DistinctRows, _ ends: [Int], isToMany: Bool, _ session: TypedTransaction
    ) throws -> LoadedLists<Entity> {
        var rows = rows
        var stored: [RowID]? = []
        let entities = try completed(session.entities(at: rows.rows, stored: &stored), stored ?? [], session)
        rows.keep(stored ?? [])
        if isToMany {
            let (places, ends) = rows.storedPlaces(ends)
            return LoadedLists(lists: Entity._lists(entities, at: places, ends: ends))
        }
        let each = Array(entities.indices)
        return LoadedLists(
            lists: Entity._lists(entities, at: each, ends: each.map { $0 + 1 }), places: rows.firstPlaces(ends))
    }
}

extension DistinctRows {
    /// Returns the indices and ends of the lists without rows that aren't stored.
    func storedPlaces(_ ends: [Int]) -> (places: [Int], ends: [Int]) {
        guard places.contains(-1) else { return (places, ends) }
        var kept: [Int] = []
        var start = 0
        let keptEnds = ends.map { end in
            for place in places[start..<end] where place >= 0 { kept.append(place) }
            start = end
            return kept.count
        }
        return (kept, keptEnds)
    }

    /// Returns the index of each list's first row, -1 where there is none.
    func firstPlaces(_ ends: [Int]) -> [Int] {
        var start = 0
        return ends.map { end in
            defer { start = end }
            return start < end ? places[start] : -1
        }
    }
}
