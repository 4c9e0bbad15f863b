// SPDX-License-Identifier: Apache-2.0
// Live queries of map indexes: rows, groups and reductions, now and after each commit that changes them. The rows that
// changed entities emit show whether a query can have changed; only then it is run again.

import HornbeamPages
import HornbeamTree

/// Rows of a map index as they are now.
public struct LiveRows<Entity: EntityModelProtocol, Value: ColumnValue>: Sendable {
    /// The whole result.
    public let rows: [MapRow<Entity, Value>]
    /// The changes since the previous element. Nil in the first element. Rows are identified by their entities, so a
    /// row that is emitted under another key has moved.
    public let changes: ListChanges?
}

/// Groups of a map index as they are now.
public struct LiveMapGroups<Result: Sendable>: Sendable {
    /// The whole result.
    public let groups: [MapGroup<Result>]
    /// The changes since the previous element. Nil in the first element. Groups are identified by their keys.
    public let changes: ListChanges?
}

extension Database {
    /// Observes the rows of a map index's query: gives one element now and one after each commit that changes the rows.
    /// Reads only entities that a commit changed. Runs the query again, O(its rows), if one of them has or had a row in
    /// its range. Throws `.indexNotReady` when the index is dropped or built with another version.
    public func observe<Entity, Value, Reduce>(
        _ query: MapQuery<Entity, Value, Reduce>
    ) -> LiveQuery<LiveRows<Entity, Value>> {
        LiveQuery(self) { MapRowsResult(query) }
    }

    /// Observes the groups of a map index's query: gives one element now and one after each commit that changes a
    /// group.
    public func observe<Entity, Value, Reduce>(
        _ groups: MapGroups<Entity, Value, Reduce>
    ) -> LiveQuery<LiveMapGroups<Reduce.Result>> where Reduce.Result: Equatable & Sendable {
        LiveQuery(self) { MapGroupsResult(groups) }
    }

    /// Observes the reduction of a map index's query: gives one element now and one after each commit that changes it.
    public func observe<Entity, Value, Reduce>(
        _ reduction: MapReduction<Entity, Value, Reduce>
    ) -> LiveQuery<Reduce.Result> where Reduce.Result: Equatable & Sendable {
        LiveQuery(self) { MapReductionResult(reduction) }
    }
}

extension MapQuery {
    /// Whether commits may have changed the query's rows: whether a changed entity emits or emitted a row in its
    /// ranges. True if the changes aren't known.
    fileprivate func isTouched(_ view: LiveView, by commits: [CommitChanges]?) throws -> Bool {
        let scan = try MapScan(self, view.session)
        let store = try view.session.store(Entity.self)
        let maintained = try MaintainedIndex(index.registration, IndexTrees(first: scan.tree), store.type)
        let follower = index.registration.emitter.follower(of: [maintained])
        var isTouched = false
        let isKnown = try view.forEachChange(commits, store, ignoring: nil) { row, old, new in
            if isTouched { return }
            isTouched = try follower.changes(row, from: old, to: new).contains { change in
                change.isFormerUnknown || change.removed.contains(where: scan.holds)
                    || change.put.contains { scan.holds($0.key) }
            }
        }
        return !isKnown || isTouched
    }
}

extension MapScan {
    /// Whether an entry's key is in one of the query's ranges. A cut key counts as in range if its kept part may be.
    fileprivate func holds(_ key: [UInt8]) -> Bool {
        let isLong = key.withBytes { LongKeys.isLong($0) }
        let kept = key.prefix(MapEntryKey.keptSize)
        return ranges.contains { range in
            if isLong {
                return !kept.lexicographicallyPrecedes(range.from.prefix(MapEntryKey.keptSize))
                    && (range.to.isEmpty || kept.lexicographicallyPrecedes(range.to))
            }
            return !key.lexicographicallyPrecedes(range.from)
                && (range.to.isEmpty || key.lexicographicallyPrecedes(range.to))
        }
    }
}

struct MapRowsResult<Entity: EntityModelProtocol, Value, Reduce: Reducer>: LiveResult where Reduce.Value == Value {
    private let query: MapQuery<Entity, Value, Reduce>
    private(set) var trees: Set<TreeID> = []
    private var items: [ListItem<RowID>] = []

    init(_ query: MapQuery<Entity, Value, Reduce>) { self.query = query }

    mutating func begin(_ view: LiveView) throws -> LiveRows<Entity, Value> {
        LiveRows(rows: try load(view), changes: nil)
    }

    private mutating func load(_ view: LiveView) throws -> [MapRow<Entity, Value>] {
        view.figures.noteQuery()
        let scan = try MapScan(query, view.session)
        var rows: [MapRow<Entity, Value>] = []
        var items: [ListItem<RowID>] = []
        try scan.forEachEntry { key, value in
            guard let rowID = MapEntryKey.rowID(key) else { throw scan.corrupt }
            rows.append(try scan.row(key, value))
            var hasher = Hasher()
            hasher.combine(bytes: key)
            hasher.combine(bytes: value)
            items.append(ListItem(id: rowID, fingerprint: hasher.finalize()))
            return true
        }
        trees = view.trees
        self.items = items
        return rows
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveRows<Entity, Value>? {
        guard try query.isTouched(view, by: commits) else { return nil }
        let former = items
        let rows = try load(view)
        let changes = ListDifference.changes(from: former, to: items)
        return changes.isEmpty ? nil : LiveRows(rows: rows, changes: changes)
    }
}

struct MapGroupsResult<Entity: EntityModelProtocol, Value, Reduce: Reducer>: LiveResult
where Reduce.Value == Value, Reduce.Result: Equatable & Sendable {
    private let query: MapGroups<Entity, Value, Reduce>
    private(set) var trees: Set<TreeID> = []
    private var groups: [MapGroup<Reduce.Result>] = []

    init(_ query: MapGroups<Entity, Value, Reduce>) { self.query = query }

    mutating func begin(_ view: LiveView) throws -> LiveMapGroups<Reduce.Result> {
        try load(view)
        return LiveMapGroups(groups: groups, changes: nil)
    }

    private mutating func load(_ view: LiveView) throws {
        view.figures.noteQuery()
        groups = try query.resolve(view.session)
        trees = view.trees
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveMapGroups<Reduce.Result>? {
        guard try query.query.isTouched(view, by: commits) else { return nil }
        let former = groups
        try load(view)
        let changes = Self.difference(from: former, to: groups)
        return changes.isEmpty ? nil : LiveMapGroups(groups: groups, changes: changes)
    }

    /// Returns the changes of a list of groups. Each key belongs to one group, and the order of the keys is fixed.
    private static func difference(
        from old: [MapGroup<Reduce.Result>], to new: [MapGroup<Reduce.Result>]
    ) -> ListChanges {
        var changes = ListDifference.changes(
            from: old.map { ListItem(id: $0.key, fingerprint: 0) }, to: new.map { ListItem(id: $0.key, fingerprint: 0) }
        )
        let former = Dictionary(old.map { ($0.key, $0.value) }) { first, _ in first }
        changes.updates = new.indices.filter { place in
            former[new[place].key].map { $0 != new[place].value } ?? false
        }
        return changes
    }
}

struct MapReductionResult<Entity: EntityModelProtocol, Value, Reduce: Reducer>: LiveResult
where Reduce.Value == Value, Reduce.Result: Equatable & Sendable {
    private let reduction: MapReduction<Entity, Value, Reduce>
    private(set) var trees: Set<TreeID> = []
    private var last: Reduce.Result?

    init(_ reduction: MapReduction<Entity, Value, Reduce>) { self.reduction = reduction }

    mutating func begin(_ view: LiveView) throws -> Reduce.Result {
        view.figures.noteQuery()
        let result = try reduction.resolve(view.session).result
        last = result
        trees = view.trees
        return result
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Reduce.Result? {
        guard try reduction.query.isTouched(view, by: commits) else { return nil }
        let former = last
        let result = try begin(view)
        return result == former ? nil : result
    }
}
