// SPDX-License-Identifier: Apache-2.0
// What is kept of each kind of live query: lists, changes alone, one entity, counts, lists of lists.

import HornbeamPages
import HornbeamTree

extension QueryList {
    /// What is observed: a query holds no context then, and one for a single id is a condition on the id.
    fileprivate var observed: ListParts {
        var parts = parts
        parts.context = nil
        if let id = singleID, isWhole {
            parts.source = .all
            parts.filter = .ids([id])
        }
        return parts
    }
}

struct ListResult<Entity: EntityModelProtocol>: LiveResult {
    // One of the two. Not cases of an enum: what is in a case can't be changed in its place.
    private var incremental: IncrementalList<Entity>?
    private var repeated: RepeatedList<Entity>
    private var entities: [Entity] = []

    init(_ query: QueryList<Entity>) {
        incremental = IncrementalList(query.observed)
        repeated = RepeatedList(query.observed)
    }

    var trees: Set<TreeID> { incremental?.trees ?? repeated.trees }

    mutating func begin(_ view: LiveView) throws -> LiveList<Entity> {
        entities = try incremental?.begin(view, wantsEntities: true) ?? repeated.begin(view)
        return LiveList(entities: entities, changes: nil)
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveList<Entity>? {
        if incremental == nil {
            guard let (changes, found) = try repeated.advance(view, commits) else { return nil }
            return LiveList(entities: found, changes: changes)
        }
        guard let delta = try incremental?.advance(view, commits) else { return nil }
        entities = delta.applied(to: entities)
        return LiveList(entities: entities, changes: delta.changes)
    }
}

struct ChangesResult<Entity: EntityModelProtocol>: LiveResult {
    private var incremental: IncrementalList<Entity>?
    private var repeated: RepeatedList<Entity>

    init(_ query: QueryList<Entity>) {
        incremental = IncrementalList(query.observed)
        repeated = RepeatedList(query.observed)
    }

    var trees: Set<TreeID> { incremental?.trees ?? repeated.trees }

    mutating func begin(_ view: LiveView) throws -> LiveChanges<Entity> {
        let count: Int
        if incremental != nil {
            _ = try incremental?.begin(view, wantsEntities: false)
            count = incremental?.count ?? 0
        } else {
            count = try repeated.begin(view).count
        }
        return LiveChanges(count: count, changes: nil, inserted: [], updated: [])
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveChanges<Entity>? {
        if incremental == nil {
            guard let (changes, found) = try repeated.advance(view, commits) else { return nil }
            return LiveChanges(
                count: found.count, changes: changes, inserted: changes.insertions.map { found[$0] },
                updated: changes.updates.map { found[$0] })
        }
        return try incremental?.advance(view, commits).map { delta in
            LiveChanges(
                count: delta.count, changes: delta.changes, inserted: delta.inserted, updated: delta.updated)
        }
    }
}

struct EntityResult<Entity: EntityModelProtocol>: LiveResult {
    private var list: RepeatedList<Entity>
    private var last: Entity?

    init(_ query: Query<Entity>) { list = RepeatedList(query.list.observed) }

    var trees: Set<TreeID> { list.trees }

    mutating func begin(_ view: LiveView) throws -> LiveEntity<Entity> {
        last = try list.begin(view).first
        return LiveEntity(entity: last, isLive: last != nil)
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveEntity<Entity>? {
        let former = list.items.first
        guard let (_, found) = try list.advance(view, commits) else { return nil }
        let now = list.items.first
        // Only the first one counts.
        if former?.id == now?.id, former?.print == now?.print { return nil }
        if let entity = found.first { last = entity }
        return LiveEntity(entity: last, isLive: !found.isEmpty)
    }
}

struct CountResult<Entity: EntityModelProtocol>: LiveResult {
    private let query: QueryList<Entity>
    private let own: OwnColumns?
    private(set) var trees: Set<TreeID> = []
    private var count = 0
    /// Without limit and offset; of a query that looks at its own rows alone.
    private var total = 0

    init(_ query: QueryList<Entity>) {
        self.query = QueryList(query.observed)
        own = OwnColumns(query.observed, ignoresOrder: true)
    }

    mutating func begin(_ view: LiveView) throws -> Int {
        view.figures.noteQuery()
        guard own != nil else {
            count = try query.count(view.session)
            trees = view.trees
            return count
        }
        var whole = query.coreQuery
        whole.limit = nil
        whole.offset = 0
        total = try view.session.count(whole, of: Entity.self)
        trees = [try view.session.store(Entity.self).type.rows]
        count = cut
        return count
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Int? {
        let former = count
        if try !follow(view, commits) { _ = try begin(view) }
        return count == former ? nil : count
    }

    /// False if the query must be asked anew.
    private mutating func follow(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Bool {
        guard let own else { return false }
        let store = try view.session.store(Entity.self)
        let probe = try own.probe(store)
        var change = 0
        let isKnown = try view.forEachChange(commits, store, ignoring: probe.ignored) { row, old, new in
            if let old, try probe.accepts(row, old) { change -= 1 }
            if let new, try probe.accepts(row, new) { change += 1 }
        }
        guard isKnown else { return false }
        total += change
        count = cut
        return true
    }

    /// What limit and offset leave of the total.
    private var cut: Int { min(max(0, total - query.offset), max(0, query.limit ?? .max)) }
}

struct GroupResult<Entity: EntityModelProtocol>: LiveResult {
    private struct Section: Sendable {
        /// The row of the entity whose section it is, or its place where that isn't known.
        let owner: UInt64
        let items: [ListItem<Entity.ID>]
    }

    private let query: QueryGroup<Entity>
    private(set) var trees: Set<TreeID> = []
    private var sections: [Section] = []

    init(_ query: QueryGroup<Entity>) { self.query = query }

    mutating func begin(_ view: LiveView) throws -> LiveGroup<Entity> {
        LiveGroup(sections: try load(view), changes: nil)
    }

    private mutating func load(_ view: LiveView) throws -> [[Entity]] {
        view.figures.noteQuery()
        let found = try query.members.load(eachOf: try query.groups(view.session), view.session)
        let owners = try query.owners?(view.session) ?? []
        sections = try found.enumerated().map { place, entities in
            let items = try entities.map { ListItem(id: $0.id, print: try Fingerprint.of($0, view.session)) }
            let isOwned = owners.count == found.count
            return Section(owner: isOwned ? owners[place].rawValue : UInt64(place), items: items)
        }
        trees = view.trees
        return found
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveGroup<Entity>? {
        let old = sections
        let found = try load(view)
        let changes = difference(from: old)
        return changes.isEmpty ? nil : LiveGroup(sections: found, changes: changes)
    }

    private func difference(from old: [Section]) -> GroupChanges {
        let places = ListDifference.changes(
            from: old.map { ListItem(id: $0.owner, print: 0) }, to: sections.map { ListItem(id: $0.owner, print: 0) })
        // Where each section was.
        let origins = places.applied(to: old.indices.map { $0 as Int? }) { _ in nil }
        var changed: [GroupChanges.Section] = []
        for (position, origin) in origins.enumerated() {
            guard let origin else { continue }
            let changes = ListDifference.changes(from: old[origin].items, to: sections[position].items)
            if !changes.isEmpty { changed.append(GroupChanges.Section(position: position, changes: changes)) }
        }
        return GroupChanges(
            deletions: places.deletions, insertions: places.insertions, moves: places.moves, sections: changed)
    }
}
