// SPDX-License-Identifier: Apache-2.0
// Aggregates that follow rows, of a whole query and of groups: what a changed row gave is taken out, what it gives now
// is added. A least or greatest value of the whole query that goes without one as good is looked up at the other end,
// in an index if there is one. Where nothing helps (such a value of a group, texts that are joined in an order), the
// query is asked anew.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// Groups and their aggregates as they are now.
public struct LiveGroups<Key: Sendable, Values: Sendable>: Sendable {
    /// The whole result, as `GroupedQuery.resolve` gives it.
    public let rows: [(key: Key, values: Values)]
    /// What has changed since the element before, groups being told apart by their keys; nil in the first one.
    public let changes: ListChanges?
}

/// What is gathered of groups, in the hands of one observation.
///
/// `@unchecked Sendable`: an observation's result is looked at on the hub's queue alone, and what is gathered is nobody
/// else's.
private final class GatheredGroups<Entity: EntityModelProtocol, Key, Values>: @unchecked Sendable {
    typealias Query = GroupedQuery<Entity, Key, Values>

    private final class Group {
        let whole: Query.Group
        var rows = 0

        init(_ whole: Query.Group) { self.whole = whole }
    }

    private let query: Query
    private var groups: [[UInt8]: Group] = [:]
    /// None: only keys that have an order are followed.
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
            group = Group((bytes, try query.keys.read(&row), query.maker.begin()))
            groups[bytes] = group
        }
        try group.whole.state.add(&row, times: times)
        group.rows += times
    }

    /// False if what is gathered isn't right any more.
    func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool {
        let bytes = try bytes(&row)
        guard let group = groups[bytes] else { return false }
        group.rows -= 1
        if group.rows > 0 { return try group.whole.state.remove(&row) }
        groups[bytes] = nil
        return true
    }

    var all: [Query.Group] { groups.values.map(\.whole) }

    /// Whether all is known after rows were taken out and added; of a sole group what isn't is asked for.
    func isKnown(_ view: LiveView) throws -> Bool {
        guard let group = groups.values.first(where: { !$0.whole.state.isKnown }) else { return true }
        // Groups would be asked for one by one.
        guard query.keys.columns?.isEmpty ?? false else { return false }
        return try group.whole.state.regain { order, take in
            view.figures.noteQuery()
            var found = false
            if let list = query.list.extreme(SortTerm(order.key), isGreatest: order.descending) {
                try list.forEachRow(in: Context(view.session), needs: query.maker.needs) { row, _ in
                    found = true
                    var row: AggregatedRow<Entity>? = row
                    try take(&row)
                }
            }
            var none: AggregatedRow<Entity>?
            if !found { try take(&none) }
        }
    }
}

/// Groups that follow rows.
private struct FollowedGroups<Entity: EntityModelProtocol, Key, Values>: Sendable {
    let query: GroupedQuery<Entity, Key, Values>
    /// Nil if more than rows decides, or their order matters.
    private let rule: RowRule?
    private(set) var trees: Set<TreeID> = []
    private var gathered: GatheredGroups<Entity, Key, Values>?

    init(_ query: GroupedQuery<Entity, Key, Values>) {
        var query = query
        query.list = QueryList(query.list.observed)
        self.query = query
        let isFollowed = query.list.isSelection && query.maker.isOrderFree && query.keys.isOrdered
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

    /// Nil if nothing can have changed.
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
                var row = AggregatedRow<Entity>(old)
                isRight = try gathered.remove(&row)
            }
            if isRight, let new, try probe.accepts(row, new) {
                isTouched = true
                var row = AggregatedRow<Entity>(new)
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
        // What is the same as before has the same print.
        let items = found.map { group in
            let isSame = former[group.bytes].map { maker.areSame($0, group.row.values) } ?? false
            return ListItem(id: group.bytes, print: isSame ? 0 : 1)
        }
        let changes = ListDifference.changes(from: shown.map { ListItem(id: $0.bytes, print: 0) }, to: items)
        shown = found.map { ($0.bytes, $0.row.values) }
        return changes.isEmpty ? nil : LiveGroups(rows: found.map(\.row), changes: changes)
    }
}

/// Aggregates of a whole query: of one group, which is there also without rows.
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
    var isOrdered: Bool { true }
    func read(_: inout AggregatedRow<Entity>) {}
}

extension Database {
    /// Groups and their aggregates, now and after each commit that changes what is shown of them:
    /// `database.observe(Sale.query().grouped(by: \.region).aggregate(.count, .sum(\.price)))`.
    ///
    /// Where the query is a filter over the entity's own properties, changed rows are read, and the groups made into
    /// the result, in O(g log g) for g groups, which have an order. It is asked anew when a least or greatest value of
    /// a group goes without one as good in the same commit, for `countDistinct`, sums of decimals, and where texts are
    /// joined. One of the whole query is read at the end of an index, as by `min` and `max`.
    public func observe<Entity, Key: Sendable, Values: Sendable>(
        _ query: GroupedQuery<Entity, Key, Values>
    ) -> LiveQuery<LiveGroups<Key, Values>> {
        LiveQuery(self) { GroupedResult(query) }
    }

    /// Aggregates of a query, now and whenever one of them is another:
    /// `for try await (count, total) in database.observe(Sale.query(), aggregating: .count, .sum(\.price))`. What it
    /// costs is said at groups.
    public func observe<Entity, each Result: Sendable>(
        _ query: QueryList<Entity>, aggregating aggregates: repeat Aggregate<Entity, each Result>
    ) -> LiveQuery<(repeat each Result)> {
        let maker = AggregateMaker<Entity, repeat each Result>(repeat each aggregates)
        return LiveQuery(self) { AggregateResult(query, maker) }
    }
}
