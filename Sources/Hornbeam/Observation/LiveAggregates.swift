// SPDX-License-Identifier: Apache-2.0
// Aggregates that follow rows, of a whole query and of groups. The values of a changed row's former state are removed,
// and those of its new state added. If a least or greatest value is removed and no equal one added, it is looked up at
// the end of its group's order, in an index if there is one. If more of a group is unknown (different values, sums of
// decimals), only this group is read again, if an index has its rows together. Otherwise (texts that are joined in an
// order) the query is run again.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// The present groups and their aggregates.
public struct LiveGroups<Key: Sendable, Values: Sendable>: Sendable {
    /// The whole result, like that of `GroupedQuery.resolve`.
    public let rows: [(key: Key, values: Values)]
    /// The changes since the element before, with groups identified by their keys. Nil in the first element.
    public let changes: ListChanges?
}

/// The accumulated groups of one observation.
///
/// `@unchecked Sendable`: an observation's result is used only on the hub's queue, and only it has the groups.
private final class GatheredGroups<Entity: EntityModelProtocol, Key, Values>: @unchecked Sendable {
    typealias Query = GroupedQuery<Entity, Key, Values>

    private final class Group {
        let bytes: [UInt8]
        let key: Key
        var state: GroupState<Entity, Values>
        var rows = 0
        /// Whether its accumulated values are invalid.
        var isStale = false
        /// The values of its rows in the columns of the keys. Set only for a group that must be read again.
        var values: [Value] = []

        init(_ bytes: [UInt8], _ key: Key, _ state: GroupState<Entity, Values>) {
            self.bytes = bytes
            self.key = key
            self.state = state
        }

        var isKnown: Bool { !isStale && state.isKnown }
    }

    private let query: Query
    private var groups: [[UInt8]: Group] = [:]
    /// Groups with unknown values after rows were removed.
    private var unknown: [[UInt8]: Group] = [:]
    /// Always empty, because only keys with an order are followed.
    private var unordered = UnorderedKeys()

    init(_ query: Query) { self.query = query }

    private func bytes(_ row: inout AggregatedRow<Entity>) throws -> [UInt8] {
        var writer = KeyWriter(capacity: 32)
        try query.keys.append(&row, to: &writer, &unordered)
        return writer.bytes
    }

    func add(_ row: inout AggregatedRow<Entity>, times: Int = 1) throws {
        let bytes = try bytes(&row)
        let group: Group
        if let known = groups[bytes] {
            group = known
        } else {
            group = Group(bytes, try query.keys.read(&row), query.maker.begin())
            groups[bytes] = group
        }
        if !group.isStale { try group.state.add(&row, times: times) }
        group.rows += times
    }

    /// Removes a row. Returns false if the accumulated values are no longer right.
    func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool {
        let bytes = try bytes(&row)
        guard let group = groups[bytes] else { return false }
        group.rows -= 1
        guard group.rows > 0 else {
            groups[bytes] = nil
            unknown[bytes] = nil
            return true
        }
        if !group.isStale, try !group.state.remove(&row) { group.isStale = true }
        if !group.isKnown, unknown[bytes] == nil {
            // Keys that are not columns are in no index.
            guard let columns = query.keys.columns else { return false }
            group.values = try columns.map { try row.row.value($0) }
            unknown[bytes] = group
        }
        return true
    }

    var all: [Query.Group] { groups.values.map { ($0.bytes, $0.key, $0.state) } }

    /// Whether all values are known after rows were removed and added. Unknown values are read again, group by group,
    /// if that costs less than reading all groups.
    func isKnown(_ view: LiveView) throws -> Bool {
        defer { unknown = [:] }
        let asked = unknown.values.filter { !$0.isKnown }
        if asked.isEmpty { return true }
        let isSole = query.keys.columns?.isEmpty ?? true
        var left = try view.session.store(Entity.self).count()
        for group in asked {
            if isSole, group.isStale { return false }
            // Reading the end of the order of all rows is always cheap.
            guard try isSole || takes(group, from: &left, view), try regain(group, view) else { return false }
        }
        return true
    }

    /// Returns the rows of a group.
    private func list(of group: Group) -> QueryList<Entity> {
        var list = query.list
        for (column, value) in zip(query.keys.columns ?? [], group.values) {
            let test = value == .null ? Filter.isNull(column: column) : .compare(column: column, .equal, value)
            list.parts.add(test, isRanked: false)
        }
        return list
    }

    /// Subtracts the cost of reading a group again, in reads of rows. Returns false if it exceeds the rest.
    private func takes(_ group: Group, from left: inout Int, _ view: LiveView) throws -> Bool {
        let list = list(of: group)
        if group.isStale {
            left -= try cost(list, query.needs, view)
        } else {
            let isFound = try group.state.regain { order, _ in
                let end = list.extreme(SortTerm(order.key), isGreatest: order.descending)
                // Without such an order only the whole query gives the value.
                left -= try end.map { try cost($0, query.maker.needs, view) } ?? left + 1
            }
            guard isFound else {
                // Only reading all of its rows gives the value.
                group.isStale = true
                left -= try cost(list, query.needs, view)
                return left >= 0
            }
        }
        return left >= 0
    }

    private func cost(_ list: QueryList<Entity>, _ needs: RowNeeds?, _ view: LiveView) throws -> Int {
        let plan = try list.explain(needs: needs, in: Context(view.session))
        if plan.limit != nil, plan.filter == nil, plan.order == .byAccess { return 8 }
        // Counts of a damaged file may be too large.
        let candidates = min(plan.candidates, 1 << 40)
        return plan.isCovering ? candidates / 2 : candidates * 4
    }

    /// Reads the unknown values of a group again. Returns false if that is impossible, and all groups must be read.
    private func regain(_ group: Group, _ view: LiveView) throws -> Bool {
        let list = list(of: group)
        let context = Context(view.session)
        guard group.isStale else {
            return try group.state.regain { order, take in
                view.figures.noteQuery()
                var found = false
                if let end = list.extreme(SortTerm(order.key), isGreatest: order.descending) {
                    try end.forEachRow(in: context, needs: query.maker.needs) { row, _ in
                        found = true
                        var row: AggregatedRow<Entity>? = row
                        try take(&row)
                    }
                }
                var none: AggregatedRow<Entity>?
                if !found { try take(&none) }
            }
        }
        view.figures.noteQuery()
        let state = query.maker.begin()
        try list.forEachRow(in: context, needs: query.needs) { row, equal in try state.add(&row, times: equal.count) }
        group.state = state
        group.isStale = false
        return true
    }
}

/// Groups that follow rows.
private struct FollowedGroups<Entity: EntityModelProtocol, Key, Values>: Sendable {
    let query: GroupedQuery<Entity, Key, Values>
    /// The rule by which rows are followed, or nil if the result depends on other data or on the order of rows.
    private let rule: RowRule?
    private(set) var trees: Set<TreeID> = []
    private var gathered: GatheredGroups<Entity, Key, Values>?

    init(_ query: GroupedQuery<Entity, Key, Values>) {
        var query = query
        query.list = QueryList(query.list.observed)
        self.query = query
        let isOfRows = !query.maker.readsLinks && !query.keys.readsLinks
        let isFollowed = isOfRows && query.list.isSelection && query.maker.isOrderFree && query.keys.isOrdered
        rule = isFollowed ? RowRule(query.list.parts, ignoresOrder: true).flatMap { $0.isAlone ? $0 : nil } : nil
    }

    mutating func begin(_ view: LiveView) throws -> [GroupedQuery<Entity, Key, Values>.Group] {
        view.figures.noteQuery()
        guard rule != nil else {
            let groups = try query.groups(in: Context(view.session))
            trees = view.trees
            return groups
        }
        trees = [try view.session.store(Entity.self).type.rows]
        let gathered = GatheredGroups(query)
        let needs = query.needs
        try query.list.forEachRow(in: Context(view.session), needs: needs) { row, equal in
            try gathered.add(&row, times: equal.count)
        }
        self.gathered = gathered
        return gathered.all
    }

    /// Returns the groups after these commits, or nil if nothing can have changed.
    mutating func advance(
        _ view: LiveView, _ commits: [CommitChanges]?
    ) throws -> [GroupedQuery<Entity, Key, Values>.Group]? {
        guard let rule, let gathered else { return try begin(view) }
        let store = try view.session.store(Entity.self)
        let probe = try rule.probe(store)
        var isTouched = false
        var isRight = true
        let isKnown = try view.forEachChange(commits, store, ignoring: nil) { row, old, new in
            if isRight, let old, try probe.accepts(row, old) {
                isTouched = true
                var row = AggregatedRow<Entity>(old, in: nil)
                isRight = try gathered.remove(&row)
            }
            if isRight, let new, try probe.accepts(row, new) {
                isTouched = true
                var row = AggregatedRow<Entity>(new, in: nil)
                try gathered.add(&row)
            }
        }
        guard isKnown, isRight, try gathered.isKnown(view) else { return try begin(view) }
        return isTouched ? gathered.all : nil
    }
}

struct GroupedResult<Entity: EntityModelProtocol, Key: Sendable, Values: Sendable>: LiveResult {
    private var groups: FollowedGroups<Entity, Key, Values>
    private var shown: [(bytes: [UInt8], values: Values)] = []

    init(_ query: GroupedQuery<Entity, Key, Values>) { groups = FollowedGroups(query) }

    var trees: Set<TreeID> { groups.trees }

    mutating func begin(_ view: LiveView) throws -> LiveGroups<Key, Values> {
        let found = try groups.query.selected(try groups.begin(view))
        shown = found.map { ($0.bytes, $0.row.values) }
        return LiveGroups(rows: found.map(\.row), changes: nil)
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveGroups<Key, Values>? {
        guard let all = try groups.advance(view, commits) else { return nil }
        let found = try groups.query.selected(all)
        let former = Dictionary(shown.map { ($0.bytes, $0.values) }) { first, _ in first }
        let maker = groups.query.maker
        // Unchanged items have equal fingerprints.
        let items = found.map { group in
            let isSame = former[group.bytes].map { maker.areSame($0, group.row.values) } ?? false
            return ListItem(id: group.bytes, fingerprint: isSame ? 0 : 1)
        }
        let changes = ListDifference.changes(from: shown.map { ListItem(id: $0.bytes, fingerprint: 0) }, to: items)
        shown = found.map { ($0.bytes, $0.row.values) }
        return changes.isEmpty ? nil : LiveGroups(rows: found.map(\.row), changes: changes)
    }
}

/// Aggregates of a whole query, as one group, which exists even without rows.
struct AggregateResult<Entity: EntityModelProtocol, Values: Sendable>: LiveResult {
    private var groups: FollowedGroups<Entity, Void, Values>
    private var shown: Values?

    init(_ query: QueryList<Entity>, _ maker: any GroupMaker<Entity, Values>) {
        groups = FollowedGroups(GroupedQuery(list: query, keys: SoleGroupKey<Entity>(), maker: maker))
    }

    var trees: Set<TreeID> { groups.trees }

    private func values(_ found: [GroupedQuery<Entity, Void, Values>.Group]) throws -> Values {
        try (found.first?.state ?? groups.query.maker.begin()).results()
    }

    mutating func begin(_ view: LiveView) throws -> Values {
        let values = try values(try groups.begin(view))
        shown = values
        return values
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Values? {
        guard let found = try groups.advance(view, commits) else { return nil }
        let values = try values(found)
        if let shown, groups.query.maker.areSame(shown, values) { return nil }
        shown = values
        return values
    }
}

/// The key of all rows.
private struct SoleGroupKey<Entity: EntityModelProtocol>: GroupKeys {
    func append(_: inout AggregatedRow<Entity>, to _: inout KeyWriter, _: inout UnorderedKeys) {}
    var columns: [Int]? { [] }
    var readsColumns: Bool { true }
    var isOrdered: Bool { true }
    var readsLinks: Bool { false }
    func read(_: inout AggregatedRow<Entity>) {}
}

extension Database {
    /// Observes groups and their aggregates. The sequence has their present state, and a new element after each commit
    /// that changes it: `database.observe(Sale.query().grouped(by: \.region).aggregate(.count, .sum(\.price)))`.
    ///
    /// If the query only filters by the entity's own properties, only changed rows are read, and the result is made of
    /// the groups, in O(g log g) for g groups. If a commit removes a least or greatest value and adds none as good, the
    /// new one is read at the end of an index over the groups and the property, like with `min` and `max`. For
    /// `countDistinct` and sums of decimals the changed group is read again by an index over the groups. Without an
    /// index, or if texts are joined, the query is run again.
    public func observe<Entity, Key: Sendable, Values: Sendable>(
        _ query: GroupedQuery<Entity, Key, Values>
    ) -> LiveQuery<LiveGroups<Key, Values>> {
        LiveQuery(self) { GroupedResult(query) }
    }

    /// Observes aggregates of a query. The sequence has their present values, and new ones after each commit that
    /// changes one:
    /// `for try await (count, total) in database.observe(Sale.query(), aggregating: .count, .sum(\.price))`. The cost
    /// is that of observing groups.
    public func observe<Entity, each Result: Sendable>(
        _ query: QueryList<Entity>, aggregating aggregates: repeat Aggregate<Entity, each Result>
    ) -> LiveQuery<(repeat each Result)> {
        let maker = AggregateMaker<Entity, repeat each Result>(repeat each aggregates)
        return LiveQuery(self) { AggregateResult(query, maker) }
    }

    /// Observes one aggregate of a query. The sequence has its present value, and a new one after each commit that
    /// changes it.
    public func observe<Entity, Result: Sendable>(
        _ query: QueryList<Entity>, aggregating aggregate: Aggregate<Entity, Result>
    ) -> LiveQuery<Result> {
        LiveQuery(self) { AggregateResult(query, aggregate) }
    }
}
