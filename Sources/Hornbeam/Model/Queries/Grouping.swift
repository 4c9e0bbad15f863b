// SPDX-License-Identifier: Apache-2.0
// Groups of entities with equal values of some properties, and aggregates of each group.

import HornbeamKeys
import HornbeamPages

/// The state of one group. Only its subclasses know the number of aggregates.
class GroupState<Entity: EntityModelProtocol, Values> {
    func add(_ row: inout AggregatedRow<Entity>) throws {}
    /// Adds several rows that are equal in all values that are read.
    func add(_ row: inout AggregatedRow<Entity>, times: Int) throws {}
    func add(rows: Int) {}
    func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool { false }
    /// Whether it knows all results.
    var isKnown: Bool { true }
    /// Gives each aggregate whose result isn't known the first row of an order. Returns false if one of them needs all
    /// rows.
    /// - Parameter first: calls its closure with that row, or with nil if there is none.
    func regain(_ first: (SortTerm, (inout AggregatedRow<Entity>?) throws -> Void) throws -> Void) throws -> Bool {
        true
    }
    func results() throws -> Values { throw HornbeamError(.invalid, "a group has no aggregates") }
}

/// The aggregates of one group while its rows are added.
final class Accumulators<Entity: EntityModelProtocol, each Result: Sendable>: GroupState<Entity, (repeat each Result)> {
    private let accumulators: (repeat any Accumulator<Entity, each Result>)

    init(_ aggregates: repeat Aggregate<Entity, each Result>) {
        accumulators = (repeat (each aggregates).accumulator())
    }

    override func add(_ row: inout AggregatedRow<Entity>) throws {
        for accumulator in repeat each accumulators { try accumulator.add(&row) }
    }

    override func add(_ row: inout AggregatedRow<Entity>, times: Int) throws {
        if times == 1 { return try add(&row) }
        for accumulator in repeat each accumulators { try accumulator.add(&row, times: times) }
    }

    override func add(rows: Int) {
        for accumulator in repeat each accumulators { accumulator.add(rows: rows) }
    }

    override func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool {
        for accumulator in repeat each accumulators {
            if try !accumulator.remove(&row) { return false }
        }
        return true
    }

    override var isKnown: Bool {
        for accumulator in repeat each accumulators {
            if !accumulator.isKnown { return false }
        }
        return true
    }

    override func regain(
        _ first: (SortTerm, (inout AggregatedRow<Entity>?) throws -> Void) throws -> Void
    ) throws -> Bool {
        for accumulator in repeat each accumulators {
            if accumulator.isKnown { continue }
            guard let order = accumulator.missing else { return false }
            try first(order) { try accumulator.regain(&$0) }
        }
        return true
    }

    override func results() throws -> (repeat each Result) {
        (repeat try (each accumulators).result())
    }
}

/// Makes the state of each group.
protocol GroupMaker<Entity, Values>: Sendable {
    associatedtype Entity: EntityModelProtocol
    associatedtype Values
    func begin() -> GroupState<Entity, Values>
    /// Whether its aggregates need only the number of rows.
    var isCount: Bool { get }
    /// The parts of rows that its aggregates need, or nil if they need whole entities.
    var needs: RowNeeds? { get }
    /// Whether the order of the rows doesn't matter for any result.
    var isOrderFree: Bool { get }
    /// Whether one of them depends on the targets of relations.
    var readsLinks: Bool { get }
    /// Whether rows with equal values count as one.
    var isOfDistinct: Bool { get }
    /// Whether the values are equal. Returns false if their types can't be compared.
    func areSame(_ left: Values, _ right: Values) -> Bool
}

struct AggregateMaker<Entity: EntityModelProtocol, each Result: Sendable>: GroupMaker {
    private let aggregates: (repeat Aggregate<Entity, each Result>)

    init(_ aggregates: repeat Aggregate<Entity, each Result>) {
        self.aggregates = (repeat each aggregates)
    }

    func begin() -> GroupState<Entity, (repeat each Result)> {
        Accumulators(repeat each aggregates)
    }

    var isCount: Bool {
        for aggregate in repeat each aggregates {
            if !aggregate.isCount { return false }
        }
        return true
    }

    var needs: RowNeeds? {
        var all = RowNeeds()
        for aggregate in repeat each aggregates {
            guard let needs = aggregate.needs else { return nil }
            all = all.union(needs)
        }
        return all
    }

    var isOrderFree: Bool {
        for aggregate in repeat each aggregates {
            if !aggregate.isOrderFree { return false }
        }
        return true
    }

    var readsLinks: Bool {
        for aggregate in repeat each aggregates {
            if aggregate.readsLinks { return true }
        }
        return false
    }

    func areSame(_ left: (repeat each Result), _ right: (repeat each Result)) -> Bool {
        for (one, other) in repeat (each left, each right) {
            guard let value = one as? any Equatable, value.isSame(as: other) else { return false }
        }
        return true
    }

    var isOfDistinct: Bool {
        for aggregate in repeat each aggregates {
            if !aggregate.isOfDistinct { return false }
        }
        return true
    }
}

// One aggregate is a maker by itself, because the compiler doesn't treat a pack of one, a tuple of one element, as the
// element.

extension Aggregate: GroupMaker {
    func begin() -> GroupState<Entity, Result> { SoleAccumulator(self) }

    func areSame(_ left: Result, _ right: Result) -> Bool {
        (left as? any Equatable)?.isSame(as: right) ?? false
    }
}

private final class SoleAccumulator<Entity: EntityModelProtocol, Result: Sendable>: GroupState<Entity, Result> {
    private let accumulator: any Accumulator<Entity, Result>

    init(_ aggregate: Aggregate<Entity, Result>) {
        accumulator = aggregate.accumulator()
    }

    override func add(_ row: inout AggregatedRow<Entity>) throws { try accumulator.add(&row) }

    override func add(_ row: inout AggregatedRow<Entity>, times: Int) throws {
        if times == 1 { try accumulator.add(&row) } else { try accumulator.add(&row, times: times) }
    }

    override func add(rows: Int) { accumulator.add(rows: rows) }
    override func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool { try accumulator.remove(&row) }
    override var isKnown: Bool { accumulator.isKnown }

    override func regain(
        _ first: (SortTerm, (inout AggregatedRow<Entity>?) throws -> Void) throws -> Void
    ) throws -> Bool {
        if accumulator.isKnown { return true }
        guard let order = accumulator.missing else { return false }
        try first(order) { try accumulator.regain(&$0) }
        return true
    }

    override func results() throws -> Result { try accumulator.result() }
}

extension Equatable {
    /// Whether both are equal, or both aren't equal to themselves, like NaN.
    fileprivate func isSame(as other: Any) -> Bool {
        guard let other = other as? Self else { return false }
        return self == other || self != self && other != other
    }
}

/// Reads the keys of groups.
protocol GroupKeys<Entity, Key>: Sendable {
    associatedtype Entity: EntityModelProtocol
    associatedtype Key
    func append(_ row: inout AggregatedRow<Entity>, to key: inout KeyWriter, _ unordered: inout UnorderedKeys) throws
    /// The columns of the keys, or nil if one of them is no column.
    var columns: [Int]? { get }
    /// Whether reading them needs only their columns. An enum that is no `ColumnValue` is read from its entity.
    var readsColumns: Bool { get }
    /// Whether the bytes of a key don't depend on the keys before it.
    var isOrdered: Bool { get }
    /// Whether one of them depends on the target of a relation.
    var readsLinks: Bool { get }
    func read(_ row: inout AggregatedRow<Entity>) throws -> Key
}

struct GroupProperties<Entity: EntityModelProtocol, each Property: Hashable & Sendable>: GroupKeys {
    private let keys: (repeat GroupKey<Entity, each Property>)

    init(_ keyPaths: repeat KeyPath<Entity, each Property>) {
        keys = (repeat GroupKey<Entity, each Property>(each keyPaths))
    }

    func append(
        _ row: inout AggregatedRow<Entity>, to key: inout KeyWriter, _ unordered: inout UnorderedKeys
    ) throws {
        for one in repeat each keys { try one.append(&row, to: &key, &unordered) }
    }

    var columns: [Int]? {
        var columns: [Int] = []
        for key in repeat each keys {
            guard let column = key.column else { return nil }
            columns.append(column)
        }
        return columns
    }

    var readsColumns: Bool {
        for key in repeat each keys {
            if !key.readsColumns { return false }
        }
        return true
    }

    var isOrdered: Bool {
        for key in repeat each keys {
            if !key.isOrdered { return false }
        }
        return true
    }

    var readsLinks: Bool {
        for key in repeat each keys {
            if key.property.readsLinks { return true }
        }
        return false
    }

    func read(_ row: inout AggregatedRow<Entity>) throws -> (repeat each Property) {
        (repeat try (each keys).property.read(&row))
    }
}

extension QueryList {
    /// Groups the entities by one or more properties, stored or computed:
    /// `Employee.query().grouped(by: \.department).aggregate(.count, .average(\.salary)).resolve(in: context)`.
    public func grouped<each Key: Hashable & Sendable>(
        by keyPaths: repeat KeyPath<Entity, each Key>
    ) -> Grouping<Entity, (repeat each Key)> {
        let keys = GroupProperties<Entity, repeat each Key>(repeat each keyPaths)
        var list = self
        for path in repeat each keyPaths { list.refuse(path) }
        return Grouping(list: list, keys: keys)
    }

    /// Groups the entities by one property, whose values are the keys.
    public func grouped<Key: Hashable & Sendable>(
        by keyPath: KeyPath<Entity, Key>
    ) -> Grouping<Entity, Key> {
        var list = self
        list.refuse(keyPath)
        return Grouping(list: list, keys: GroupKey(keyPath))
    }

    /// Makes the query throw if the property can't be read from stored entities.
    private mutating func refuse<Key>(_ keyPath: KeyPath<Entity, Key>) {
        let shape = Entity.entityShape
        guard shape.linkID(keyPath) == nil, let refusal = shape.refusal(of: keyPath) else { return }
        parts.add(.refused(refusal), isRanked: false)
    }
}

/// A query whose entities are grouped. Call `aggregate` to choose the values of each group.
public struct Grouping<Entity: EntityModelProtocol, Key>: Sendable {
    let list: QueryList<Entity>
    let keys: any GroupKeys<Entity, Key>

    /// Adds aggregates of each group. Without any, the result has only the keys.
    public func aggregate<each Result: Sendable>(
        _ aggregates: repeat Aggregate<Entity, each Result>
    ) -> GroupedQuery<Entity, Key, (repeat each Result)> {
        let maker = AggregateMaker<Entity, repeat each Result>(repeat each aggregates)
        return GroupedQuery(list: list, keys: keys, maker: maker)
    }

    /// Adds one aggregate of each group.
    public func aggregate<Result: Sendable>(
        _ aggregate: Aggregate<Entity, Result>
    ) -> GroupedQuery<Entity, Key, Result> {
        GroupedQuery(list: list, keys: keys, maker: aggregate)
    }
}

/// Groups and their aggregates, ready to be read.
public struct GroupedQuery<Entity: EntityModelProtocol, Key, Values>: Sendable {
    /// One group: its key, and its aggregates in the order of the call to `aggregate`.
    public typealias Row = (key: Key, values: Values)

    var list: QueryList<Entity>
    let keys: any GroupKeys<Entity, Key>
    let maker: any GroupMaker<Entity, Values>
    private var conditions: [@Sendable (Values) -> Bool] = []
    private var order: (@Sendable (Row, Row) -> Bool)?
    private var limit: Int?
    private var offset = 0

    init(list: QueryList<Entity>, keys: any GroupKeys<Entity, Key>, maker: any GroupMaker<Entity, Values>) {
        self.list = list
        self.keys = keys
        self.maker = maker
    }

    /// Keeps only groups whose values pass the condition: `.having { count, average in count > 3 }`.
    public func having(_ condition: @escaping @Sendable (Values) -> Bool) -> Self {
        var query = self
        query.conditions.append(condition)
        return query
    }

    /// Limits the number of groups, after skipping `offset` of them. There are none if one of the two is negative.
    public func limit(_ limit: Int, offset: Int = 0) -> Self {
        var query = self
        query.limit = offset < 0 ? 0 : Swift.max(0, limit)
        query.offset = Swift.max(0, offset)
        return query
    }

    /// Sorts the groups by keys and aggregates: `.sorted { $0.values.1 > $1.values.1 }`. Groups that are equal in this
    /// order stay in the order of their keys. Limits apply after sorting.
    public func sorted(by areInIncreasingOrder: @escaping @Sendable (Row, Row) -> Bool) -> Self {
        var query = self
        query.order = areInIncreasingOrder
        return query
    }

    /// Returns the groups in the order of their keys, unless they are sorted. Keys have the order of stored values, nil
    /// first; keys of types without such an order come in the order in which they are found. All groups are kept in
    /// memory.
    ///
    /// If an index covers the keys and the aggregated properties (after the properties that the filter fixes), the cost
    /// depends on the number of different values, not of entities.
    public func resolve(in context: Context? = nil) throws -> [Row] {
        try selected(try groups(in: context)).map(\.row)
    }

    /// Returns the rows of the groups in order, with the bytes of their keys.
    func selected(_ groups: [Group]) throws -> [(bytes: [UInt8], row: Row)] {
        let sorted = groups.sorted(byKey: { $1.bytes.append(contentsOf: $0.bytes) })
        let all = try sorted.map { (bytes: $0.bytes, row: (key: $0.key, values: try $0.state.results())) }
        var found = all.filter { group in conditions.allSatisfy { $0(group.row.values) } }
        if let order { found.sort { order($0.row, $1.row) } }
        return Array(found.dropFirst(offset).prefix(limit ?? .max))
    }

    typealias Group = (bytes: [UInt8], key: Key, state: GroupState<Entity, Values>)

    /// Returns the plan for finding the groups. A covering plan reads an index alone.
    public func explain(in context: Context) throws -> Plan {
        try list.explain(needs: needs, in: context)
    }

    /// The needed parts of rows. The groups are sorted afterwards, so the order of the rows matters only for keys
    /// without an order.
    var needs: RowNeeds? {
        guard keys.readsColumns, let columns = keys.columns else { return nil }
        var needs = maker.needs?.union(RowNeeds(columns: Set(columns)))
        if maker.isCount { needs?.wantsTextOfOne = true }
        return needs
    }

    /// Returns the groups, made of the entries of an index or of rows.
    func groups(in context: Context?) throws -> [Group] {
        var places: [[UInt8]: Int] = [:]
        var groups: [Group] = []
        var unordered = UnorderedKeys()
        let needs = needs
        // Whether rows that are equal in the needed columns are a group.
        let isKeyed = needs != nil && needs?.columns == keys.columns.map { Set($0) }
        try list.forEachRow(in: context, needs: needs) { row, equal in
            var writer = KeyWriter(capacity: 32)
            try keys.append(&row, to: &writer, &unordered)
            let bytes = writer.bytes
            if !isKeyed || !equal.isAll {
                // In an index the rows of a group are nearly always adjacent.
                if let last = groups.last, last.bytes == bytes { return try last.state.add(&row, times: equal.count) }
                if let place = places[bytes] { return try groups[place].state.add(&row, times: equal.count) }
                places[bytes] = groups.count
            }
            let state = maker.begin()
            try state.add(&row, times: equal.count)
            groups.append((bytes, try keys.read(&row), state))
        }
        return groups
    }
}

/// A property to group by.
struct GroupKey<Entity: EntityModelProtocol, Key: Hashable & Sendable>: GroupKeys {
    let property: AggregatedProperty<Entity, Key>
    /// The column whose stored form has the order and equality of keys, or nil if there is none.
    let column: Int?

    init(_ keyPath: KeyPath<Entity, Key>) {
        property = AggregatedProperty(keyPath)
        let shape = Entity.entityShape
        if let place = shape.column(keyPath), !place.descending,
            shape.description.columns[place.number].type.isOrdered
        {
            column = place.number
        } else {
            column = nil
        }
    }

    var columns: [Int]? { column.map { [$0] } }
    var readsColumns: Bool { property.column != nil }
    var readsLinks: Bool { property.readsLinks }

    /// Whether each value is known to have a key of its own. An optional that is no column isn't.
    var isOrdered: Bool { column != nil || property.readsLinks || Key.self is any IndexKey.Type }

    func append(
        _ row: inout AggregatedRow<Entity>, to key: inout KeyWriter, _ unordered: inout UnorderedKeys
    ) throws {
        if let column {
            try KeyCoding.appendComponent(of: row.row, column: column, descending: false, to: &key)
            return
        }
        if let relation = property.relation {
            let type = ColumnType.optional(relation.access.idType)
            return try KeyCoding.appendComponent(
                try row.linkedID(relation), as: type, descending: false, to: &key)
        }
        let value = try property.read(&row)
        if let type = Key.self as? any IndexKey.Type, let literal = (value as? any ColumnValue)?.columnValue {
            return try KeyCoding.appendComponent(literal, as: type.columnType, descending: false, to: &key)
        }
        key.append(Int64(unordered.place(of: value)))
    }

    func read(_ row: inout AggregatedRow<Entity>) throws -> Key { try property.read(&row) }
}

/// Numbers for values without a key, in the order in which they are found.
struct UnorderedKeys {
    private var places: [AnyHashable: Int] = [:]

    mutating func place(of value: some Hashable) -> Int {
        if let place = places[AnyHashable(value)] { return place }
        places[AnyHashable(value)] = places.count
        return places.count - 1
    }
}
