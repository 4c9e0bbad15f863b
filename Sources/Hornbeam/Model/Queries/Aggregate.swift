// SPDX-License-Identifier: Apache-2.0
// Aggregates: one value of many entities. A nil property doesn't count, as in SQL. Sums of integers and of
// floating-point numbers are exact and rounded once at the end, so they don't depend on the order of the entities.
//
// Statements and secondary indexes have aggregates of their own, for values whose types are known only at run time. The
// aggregates in this file return the property's own type, accept computed properties, and can remove a row again for
// live queries.

import FoundationEssentials

/// An aggregate of the entities of a query or of a group: `.count`, `.sum(\.size)`, `.average(\.age)`.
public struct Aggregate<Entity: EntityModelProtocol, Result: Sendable>: Sendable {
    /// Makes the accumulator for one result.
    let accumulator: @Sendable () -> any Accumulator<Entity, Result>
    /// Whether it needs only the number of rows.
    let isCount: Bool
    /// The parts of a row that it reads, nil if it reads whole entities.
    let needs: RowNeeds?
    /// Whether rows with equal values count as one.
    let isOfDistinct: Bool
    /// Whether the order of the rows doesn't matter for the result.
    let isOrderFree: Bool
    /// Whether it depends on the targets of relations, whose changes aren't seen in changed rows.
    let readsLinks: Bool
    /// Whether it needs only the sum and the number of the property's values.
    var isOfSum = false

    init<Property>(
        _ property: AggregatedProperty<Entity, Property>, isOfDistinct: Bool = false, isOfSum: Bool = false,
        _ accumulator: @escaping @Sendable () -> any Accumulator<Entity, Result>
    ) {
        self.init(property.needs, isOfDistinct: isOfDistinct, readsLinks: property.readsLinks, accumulator)
        self.isOfSum = isOfSum
    }

    init(
        isCount: Bool = false, _ needs: RowNeeds?, isOfDistinct: Bool = false, isOrderFree: Bool = true,
        readsLinks: Bool = false, _ accumulator: @escaping @Sendable () -> any Accumulator<Entity, Result>
    ) {
        self.accumulator = accumulator
        self.isCount = isCount
        var needs = needs
        needs?.isOrderFree = isOrderFree
        self.needs = needs
        self.isOfDistinct = isOfDistinct
        self.isOrderFree = isOrderFree
        self.readsLinks = readsLinks
    }
}

/// Computes one aggregate of one group.
protocol Accumulator<Entity, Result>: AnyObject {
    associatedtype Entity: EntityModelProtocol
    associatedtype Result
    func add(_ row: inout AggregatedRow<Entity>) throws
    /// Adds several rows that are equal in everything that it reads.
    func add(_ row: inout AggregatedRow<Entity>, times: Int) throws
    /// Adds several rows, if only their number counts.
    func add(rows: Int)
    /// Removes a row that was added. Returns false if all remaining rows must be added anew.
    func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool
    /// Whether it knows the result without reading other rows. Asked after all changes of a commit were removed and
    /// added.
    var isKnown: Bool { get }
    /// The order whose first row it must read if its result isn't known, or nil if it must read all rows.
    var missing: SortTerm? { get }
    /// Gets that row, or nil if there is none.
    func regain(_ row: inout AggregatedRow<Entity>?) throws
    func result() throws -> Result
}

extension Accumulator {
    // An aggregate that counts equal values as one needs only one of the rows.
    func add(_ row: inout AggregatedRow<Entity>, times: Int) throws { try add(&row) }
    func add(rows: Int) {}
    func remove(_: inout AggregatedRow<Entity>) throws -> Bool { false }
    var isKnown: Bool { true }
    var missing: SortTerm? { nil }
    func regain(_: inout AggregatedRow<Entity>?) {}
}

/// A row that several aggregates read. The entity is decoded at most once, and only if an aggregate needs it.
struct AggregatedRow<Entity: EntityModelProtocol> {
    let row: RowReader
    /// The transaction that reads the row. Nil for a former version of a row, whose links aren't known. Unowned, so
    /// that copies of the row need no reference counting.
    private unowned(unsafe) let session: TypedTransaction?
    private var decoded: Entity?

    init(_ row: RowReader, in session: TypedTransaction?) {
        self.row = row
        self.session = session
    }

    /// Returns the id of the stored entity that a to-one relation leads to, or null if there is none.
    func linkedID(_ relation: DeclaredRelation<Entity>) throws -> Value {
        guard let session else {
            throw HornbeamError(.invalid, "the links of a \(Entity.entityName) before its change aren't known")
        }
        let side = try session.side(relation)
        guard let source = try session.store(Entity.self).rowID(ofAny: try row.value(0)),
            let target = try session.core.edges.target(side, of: source),
            let row = try session.core.store(side.target).row(target)
        else { return .null }
        return try row.value(0)
    }

    mutating func entity() throws -> Entity {
        if let decoded { return decoded }
        let entity = try Entity(row: row)
        decoded = entity
        return entity
    }
}

/// Reads a property's value from a row: from its column if the column's type is that of the property, otherwise from
/// the decoded entity.
struct AggregatedProperty<Entity: EntityModelProtocol, Property: Sendable>: Sendable {
    /// The column, nil if the property is not a column.
    let column: Int?
    /// The to-one relation, if the property is the id of its entity.
    let relation: DeclaredRelation<Entity>?
    let read: @Sendable (inout AggregatedRow<Entity>) throws -> Property

    /// The parts of a row that reading the property needs.
    var needs: RowNeeds? { column.map { RowNeeds(columns: [$0]) } }
    var readsLinks: Bool { relation != nil }

    init(_ keyPath: KeyPath<Entity, Property>) {
        if let type = Property.self as? any ColumnValue.Type, let place = Entity.entityShape.column(keyPath),
            !place.descending
        {
            column = place.number
            relation = nil
            read = Self.reader(type, place.number)
        } else if let type = Property.self as? any ColumnValue.Type, let linked = Entity.entityShape.linkID(keyPath) {
            column = nil
            relation = linked
            read = Self.reader(type, linked)
        } else {
            column = nil
            relation = nil
            let (label, keyPath) = (keyPath.label, keyPath.shared)
            read = { row in
                let entity = try row.entity()
                return try RelationReads.refusing(label, Entity.self) { entity[keyPath: keyPath] }
            }
        }
    }

    /// The needs of an aggregate whose result depends on the exact spelling of texts.
    var textNeeds: RowNeeds? { column.map { RowNeeds(columns: [$0], wantsExactText: true) } }

    /// The needs of a reader that returns the property's values, with the exact spelling of texts.
    var exactNeeds: RowNeeds? {
        guard let column else { return nil }
        return Entity.entityShape.description.columns[column].type.isText ? textNeeds : needs
    }

    private static func reader<Column: ColumnValue>(
        _: Column.Type, _ relation: DeclaredRelation<Entity>
    ) -> @Sendable (inout AggregatedRow<Entity>) throws -> Property {
        { row in
            let id = try row.linkedID(relation)
            guard let value = Column(columnValue: id) as? Property else {
                let name = relation.description.name
                throw HornbeamError(
                    .invalid,
                    "\(Entity.entityName).\(name) has no entity for \(try row.row.value(0).text): write "
                        + "\\.$\(name).id, which is nil then")
            }
            return value
        }
    }

    private static func reader<Column: ColumnValue>(
        _: Column.Type, _ number: Int
    ) -> @Sendable (inout AggregatedRow<Entity>) throws -> Property {
        { row in
            guard let value = try Column.read(from: row.row, column: number) as? Property else {
                let name = Entity.entityShape.description.columns[number].name
                throw HornbeamError(
                    .invalid,
                    "\(Entity.entityName).\(name) isn't stored as \(String(describing: Property.self).withArticle): "
                        + "aggregate it by the property's own type")
            }
            return value
        }
    }
}

// MARK: - Counting

extension Aggregate where Result == Int {
    /// Counts the entities.
    public static var count: Self { Self(isCount: true, RowNeeds()) { CountAccumulator() } }

    /// Counts the different values of the property. Nil doesn't count.
    public static func countDistinct<Property: Hashable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>
    ) -> Self {
        let property = AggregatedProperty(keyPath)
        return Self(property, isOfDistinct: true) { DistinctCount(property) }
    }

    public static func countDistinct<Property: Hashable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>
    ) -> Self {
        let property = AggregatedProperty(keyPath)
        return Self(property, isOfDistinct: true) { DistinctOptionalCount(property) }
    }
}

private final class CountAccumulator<Entity: EntityModelProtocol>: Accumulator {
    private var count = 0
    func add(_ row: inout AggregatedRow<Entity>) { count += 1 }
    func add(_ row: inout AggregatedRow<Entity>, times: Int) { count += times }
    func add(rows: Int) { count += rows }
    func remove(_ row: inout AggregatedRow<Entity>) -> Bool {
        count -= 1
        return true
    }
    func result() -> Int { count }
}

/// An optional whose type is known only at run time. Generic code reaches the overloads for properties that aren't
/// optional even with optionals.
protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    var isNil: Bool {
        guard let value = self else { return true }
        return (value as? any OptionalValue)?.isNil ?? false
    }
}

/// A set of values. NaN isn't equal to itself, but counts as one value, as in an index.
private struct DistinctValues<Value: Hashable> {
    private var values: Set<Value> = []
    private var hasUnequal = false

    var count: Int { values.count + (hasUnequal ? 1 : 0) }

    mutating func insert(_ value: Value) {
        if value == value { values.insert(value) } else { hasUnequal = true }
    }
}

private final class DistinctCount<Entity: EntityModelProtocol, Property: Hashable & Sendable>: Accumulator {
    private let property: AggregatedProperty<Entity, Property>
    private let mayBeNil = Property.self is any OptionalValue.Type
    private var values = DistinctValues<Property>()

    init(_ property: AggregatedProperty<Entity, Property>) {
        self.property = property
    }

    func add(_ row: inout AggregatedRow<Entity>) throws {
        let value = try property.read(&row)
        if mayBeNil, (value as? any OptionalValue)?.isNil ?? false { return }
        values.insert(value)
    }
    func result() -> Int { values.count }
}

private final class DistinctOptionalCount<Entity: EntityModelProtocol, Property: Hashable & Sendable>: Accumulator {
    private let property: AggregatedProperty<Entity, Property?>
    private var values = DistinctValues<Property>()

    init(_ property: AggregatedProperty<Entity, Property?>) {
        self.property = property
    }

    func add(_ row: inout AggregatedRow<Entity>) throws {
        if let value = try property.read(&row) { values.insert(value) }
    }
    func result() -> Int { values.count }
}

// MARK: - Values in order

extension Aggregate {
    /// Finds the least value, nil if there is none. NaN counts as greater than every number.
    public static func min<Property: Comparable & Sendable>(_ keyPath: KeyPath<Entity, Property>) -> Self
    where Result == Property? {
        let property = AggregatedProperty(keyPath)
        let order = SortKey(keyPath).term.ofColumn(descending: false)
        return Self(property, isOfDistinct: true) {
            Extreme(property.read, order) { ValueOrder.precedes($0, $1) }
        }
    }

    public static func min<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>
    ) -> Self where Result == Property? {
        let property = AggregatedProperty(keyPath)
        let order = SortKey(optional: keyPath).term.ofColumn(descending: false)
        return Self(property, isOfDistinct: true) {
            Extreme(property.read, order) { ValueOrder.precedes($0, $1) }
        }
    }

    /// Finds the greatest value, nil if there is none. NaN counts as greater than every number.
    public static func max<Property: Comparable & Sendable>(_ keyPath: KeyPath<Entity, Property>) -> Self
    where Result == Property? {
        let property = AggregatedProperty(keyPath)
        let order = SortKey(keyPath).term.ofColumn(descending: true)
        return Self(property, isOfDistinct: true) {
            Extreme(property.read, order) { ValueOrder.precedes($1, $0) }
        }
    }

    public static func max<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>
    ) -> Self where Result == Property? {
        let property = AggregatedProperty(keyPath)
        let order = SortKey(optional: keyPath).term.ofColumn(descending: true)
        return Self(property, isOfDistinct: true) {
            Extreme(property.read, order) { ValueOrder.precedes($1, $0) }
        }
    }

    /// Joins the texts in the order of the query, "" if there are none. Nil is left out.
    public static func groupConcat(
        _ keyPath: KeyPath<Entity, String>, separator: String = ","
    ) -> Self where Result == String {
        let property = AggregatedProperty(keyPath)
        return Self(property.textNeeds, isOrderFree: false) { Joined(property.read, separator) }
    }

    public static func groupConcat(
        _ keyPath: KeyPath<Entity, String?>, separator: String = ","
    ) -> Self where Result == String {
        let property = AggregatedProperty(keyPath)
        return Self(property.textNeeds, isOrderFree: false) { Joined(property.read, separator) }
    }
}

private final class Extreme<Entity: EntityModelProtocol, Property: Comparable & Sendable>: Accumulator {
    private let read: @Sendable (inout AggregatedRow<Entity>) throws -> Property?
    private let isBetter: (Property, Property) -> Bool
    /// An order in which the best row comes first after the rows without a value, or nil if all rows must be read.
    private let order: SortTerm?
    private var best: Property?
    /// The former best value, if its row was removed. No remaining value is better, but the best one isn't known.
    private var bound: Property?

    init(
        _ read: @escaping @Sendable (inout AggregatedRow<Entity>) throws -> Property?, _ order: SortTerm?,
        _ isBetter: @escaping (Property, Property) -> Bool
    ) {
        self.read = read
        self.order = order
        self.isBetter = isBetter
    }

    var isKnown: Bool { bound == nil }
    var missing: SortTerm? { order }

    func regain(_ row: inout AggregatedRow<Entity>?) throws {
        bound = nil
        best = nil
        if var found = row { best = try read(&found) }
    }

    func add(_ row: inout AggregatedRow<Entity>) throws {
        guard let value = try read(&row) else { return }
        if let bound {
            // An edit removes one value and adds another. If the new one is no worse, it is the best.
            if isBetter(bound, value) { return }
            self.bound = nil
        }
        if best.map({ isBetter(value, $0) }) ?? true { best = value }
    }

    func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool {
        guard let value = try read(&row) else { return true }
        if bound != nil { return true }
        guard let best else { return false }
        // The next best isn't known.
        if !isBetter(best, value) { (bound, self.best) = (best, nil) }
        return true
    }

    func result() -> Property? { best }
}

private final class Joined<Entity: EntityModelProtocol>: Accumulator {
    private let read: @Sendable (inout AggregatedRow<Entity>) throws -> String?
    private let separator: String
    private var text = ""
    private var isFirst = true

    init(_ read: @escaping @Sendable (inout AggregatedRow<Entity>) throws -> String?, _ separator: String) {
        self.read = read
        self.separator = separator
    }

    func add(_ row: inout AggregatedRow<Entity>) throws {
        guard let value = try read(&row) else { return }
        if !isFirst { text += separator }
        isFirst = false
        text += value
    }

    func result() -> String { text }
}

// MARK: - Sums and means

extension Aggregate where Result: SummableNumber {
    /// Adds the values, 0 if there are none. The sum is exact, or rounded once if the property's type can't hold it.
    /// Throws `.invalid` if a sum of integers doesn't fit the type, or a sum of decimals exceeds 3.4 · 10^165.
    public static func sum(_ keyPath: KeyPath<Entity, Result>) -> Self {
        let property = AggregatedProperty(keyPath)
        return Self(property, isOfSum: true) { Sum(property.read) }
    }

    public static func sum(_ keyPath: KeyPath<Entity, Result?>) -> Self {
        let property = AggregatedProperty(keyPath)
        return Self(property, isOfSum: true) { Sum(property.read) }
    }
}

extension Aggregate {
    /// Computes the mean, nil if there are no values. It is a `Double`, or a `Decimal` for decimals.
    public static func average<Property: SummableNumber>(_ keyPath: KeyPath<Entity, Property>) -> Self
    where Result == Property.Average? {
        let property = AggregatedProperty(keyPath)
        return Self(property, isOfSum: true) { Mean(property.read) }
    }

    public static func average<Property: SummableNumber>(_ keyPath: KeyPath<Entity, Property?>) -> Self
    where Result == Property.Average? {
        let property = AggregatedProperty(keyPath)
        return Self(property, isOfSum: true) { Mean(property.read) }
    }
}

private final class Sum<Entity: EntityModelProtocol, Property: SummableNumber>: Accumulator {
    private let read: @Sendable (inout AggregatedRow<Entity>) throws -> Property?
    private var sum = Property.Summation()

    init(_ read: @escaping @Sendable (inout AggregatedRow<Entity>) throws -> Property?) {
        self.read = read
    }

    func add(_ row: inout AggregatedRow<Entity>) throws {
        if let value = try read(&row) { sum.add(value) }
    }

    func add(_ row: inout AggregatedRow<Entity>, times: Int) throws {
        if let value = try read(&row) { sum.add(value, times: times) }
    }

    func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool {
        guard let value = try read(&row) else { return true }
        return sum.remove(value)
    }

    func result() throws -> Property { try sum.total() }
}

private final class Mean<Entity: EntityModelProtocol, Property: SummableNumber>: Accumulator {
    private let read: @Sendable (inout AggregatedRow<Entity>) throws -> Property?
    private var sum = Property.Summation()
    private var count = 0

    init(_ read: @escaping @Sendable (inout AggregatedRow<Entity>) throws -> Property?) {
        self.read = read
    }

    func add(_ row: inout AggregatedRow<Entity>) throws {
        guard let value = try read(&row) else { return }
        sum.add(value)
        count += 1
    }

    func add(_ row: inout AggregatedRow<Entity>, times: Int) throws {
        guard let value = try read(&row) else { return }
        sum.add(value, times: times)
        count += times
    }

    func remove(_ row: inout AggregatedRow<Entity>) throws -> Bool {
        guard let value = try read(&row) else { return true }
        guard sum.remove(value) else { return false }
        count -= 1
        return true
    }

    func result() -> Property.Average? { count == 0 ? nil : Property.average(sum, count: count) }
}
