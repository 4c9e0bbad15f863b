// SPDX-License-Identifier: Apache-2.0
// The state of each kind of live query: lists, changes without the list, one entity, counts.

import HornbeamPages
import HornbeamTree

extension QueryList {
    /// The observed query. It has no context, and a query for a single id becomes a condition on the id.
    var observed: ListParts {
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
    // One of the two is used. They aren't cases of an enum, because a value in a case can't be changed in place.
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
        guard let (changes, found) = try list.advance(view, commits) else { return nil }
        let now = list.items.first
        // Only the first entity counts.
        if former?.id == now?.id, former?.fingerprint == now?.fingerprint, changes.updates.first != 0 { return nil }
        if let entity = found.first { last = entity }
        return LiveEntity(entity: last, isLive: !found.isEmpty)
    }
}

struct CountResult<Entity: EntityModelProtocol>: LiveResult {
    private let query: QueryList<Entity>
    /// The rule that tests single rows, or nil if rows can't be tested one by one.
    private let rule: RowRule?
    /// The counted rows, kept if their former values aren't enough to find whether they were counted.
    private var followed: FollowedRows?
    private(set) var trees: Set<TreeID> = []
    private var count = 0
    /// The count without limit and offset, for a query whose rows can be tested one by one.
    private var total = 0

    init(_ query: QueryList<Entity>) {
        let observed = query.observed
        self.query = QueryList(observed)
        var whole = observed
        whole.limit = nil
        whole.offset = 0
        // An entity's links are counted without reading rows.
        rule = RowRule(observed, ignoresOrder: true).flatMap { $0.isLinksAlone ? nil : $0 }
        if let rule, !rule.isAlone { followed = FollowedRows(whole, ignoresOrder: true) }
    }

    mutating func begin(_ view: LiveView) throws -> Int {
        let store = try view.session.store(Entity.self)
        if followed != nil {
            try followed?.begin(view, store)
            total = followed?.count ?? 0
            trees = followed?.trees ?? []
            count = cut
            return count
        }
        view.figures.noteQuery()
        guard rule != nil else {
            count = try query.count(view.session)
            trees = view.trees
            return count
        }
        var whole = query.coreQuery
        whole.limit = nil
        whole.offset = 0
        total = try view.core.count(whole)
        trees = [store.type.rows]
        count = cut
        return count
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Int? {
        let former = count
        if try !follow(view, commits) { _ = try begin(view) }
        return count == former ? nil : count
    }

    /// Applies commits. Returns false if the query must be run again.
    private mutating func follow(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Bool {
        guard let rule else { return false }
        let store = try view.session.store(Entity.self)
        if followed != nil {
            guard try followed?.advance(view, store, commits) != nil else { return false }
            total = followed?.count ?? 0
            count = cut
            return true
        }
        let probe = try rule.probe(store)
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

    /// The part of the total within limit and offset.
    private var cut: Int { min(max(0, total - query.offset), max(0, query.limit ?? .max)) }
}
