// SPDX-License-Identifier: Apache-2.0
// One key of an order: a column if the key path names one, otherwise a value computed from the decoded entity. If the
// stored form of this value has its order, an index may contain it; otherwise Swift values are compared.

/// The sort term that `sorted(by:)` makes of a key path.
struct SortKey<Entity: EntityModelProtocol>: Sendable {
    let term: SortTerm

    init(term: SortTerm) {
        self.term = term
    }

    init<Property: Comparable & Sendable>(_ keyPath: KeyPath<Entity, Property>) {
        self.init(keyPath, Property.self, { ValueOrder.precedes($0, $1) ? -1 : ValueOrder.precedes($1, $0) ? 1 : 0 })
    }

    /// Sorts by an optional property. Nil comes first.
    init<Property: Comparable & Sendable>(optional keyPath: KeyPath<Entity, Property?>) {
        self.init(
            keyPath, Property.self,
            { left, right in
                guard let left, let right else { return left == nil ? (right == nil ? 0 : -1) : 1 }
                return ValueOrder.precedes(left, right) ? -1 : ValueOrder.precedes(right, left) ? 1 : 0
            })
    }

    /// `order` is only called if no column can be sorted by, so most queries make no closure.
    /// - Parameter ordered: the type whose order the stored values must have to sort by a column: `Property` or the
    ///   type that it wraps.
    private init<Property: Sendable, Ordered>(
        _ keyPath: KeyPath<Entity, Property>, _ ordered: Ordered.Type,
        _ order: @autoclosure () -> @Sendable (Property, Property) -> Int
    ) {
        // Looked up once: a generic type searches for its shape at each mention.
        let shape = Entity.entityShape
        if let place = shape.orders.place(of: keyPath) {
            term = .column(place.number, descending: place.descending)
            return
        }
        if Self.isOrderedAsStored(ordered), let place = shape.column(keyPath) {
            term = .column(place.number, descending: place.descending)
            shape.orders.insert(keyPath, place)
            return
        }
        if let place = shape.linkedIDColumn(keyPath) {
            term = .column(place.number, descending: place.descending)
            return
        }
        if let count = shape.linkCount(keyPath) {
            term = SortTerm(.linkCount(count.relation), descending: count.descending)
            return
        }
        if let refusal = shape.refusal(ofSortBy: keyPath) {
            term = SortTerm(.refused(refusal))
            return
        }
        if Self.isOrderedAsStored(ordered), let derived = ComputedComponent.part(keyPath, ofSort: true) {
            term = SortTerm(.derived(derived.component), descending: derived.descending)
            return
        }
        let order = order()
        let (label, keyPath) = (keyPath.label, keyPath.shared)
        term = SortTerm(
            .opaque(
                label: label,
                key: { row in
                    let entity = try Entity(row: row)
                    return try RelationReads.refusing(label, Entity.self) { entity[keyPath: keyPath] }
                },
                order: { left, right in
                    guard let left = left as? Property, let right = right as? Property else { return 0 }
                    return order(left, right)
                }))
    }

    /// Only `IndexKey` promises that stored values have the order of the Swift type.
    private static func isOrderedAsStored<Property>(_ type: Property.Type) -> Bool {
        // For the first two types no conformance need be looked up.
        type == Int.self || type == String.self || type is any IndexKey.Type
            || (type as? any OrderingType.Type)?.isOrderedAsStored ?? false
    }
}

extension ComputedComponent {
    /// Returns a property that isn't stored as a part of an order, with or without `.desc`, so that an index over it
    /// can serve a sort by it. Returns nil if its values have no stored form.
    /// - Parameter ofSort: whether it is a key of a sort. A sort by the number that orders a Boolean can use an index
    ///   over the Boolean, but an index over the number can't answer comparisons of the Boolean.
    static func part<Entity: EntityModelProtocol, Property: Sendable>(
        _ keyPath: KeyPath<Entity, Property>, ofSort: Bool = false
    ) -> (component: ComputedComponent, descending: Bool)? {
        let ordering = Property.self as? any OrderingType.Type
        guard let type = ordering?.storedType ?? Self.type(of: Property.self) else { return nil }
        var steps: [AnyKeyPath] = ordering?.steps ?? []
        if let comparable = Property.self as? any (Comparable & Sendable).Type { steps.append(ascending(comparable)) }
        if ofSort, Property.self == UInt8.self { steps.append(\Bool.asc) }
        if ofSort, Property.self == Descending<UInt8>.self { steps.append(\Bool.desc) }
        let component = ComputedComponent(
            ComputedSubject(keyPath, behind: steps), keyPath, as: type,
            literal: { value in (value as? any OrderingType)?.literal ?? Hornbeam.literal(value) })
        return (component, ordering?.isDescending ?? false)
    }

    private static func ascending<Property: Comparable & Sendable>(_: Property.Type) -> AnyKeyPath { \Property.asc }
}

/// The types `Descending` and `NilFirst`, which give an order to the type that they wrap.
private protocol OrderingType {
    static var isOrderedAsStored: Bool { get }
    static var isDescending: Bool { get }
    /// The column type of the wrapped value, which may be optional. Nil if the stored form has no order.
    static var storedType: ColumnType? { get }
    /// The key path steps from a value to this ordering of it.
    static var steps: [AnyKeyPath] { get }
    /// The value in its stored form.
    var literal: Value? { get }
}

/// An order over values that may be nil.
private protocol NilOrderingType: OrderingType {
    static var descendingSteps: [AnyKeyPath] { get }
}

extension Descending: OrderingType {
    static var isOrderedAsStored: Bool {
        Wrapped.self is any IndexKey.Type || (Wrapped.self as? any OrderingType.Type)?.isOrderedAsStored ?? false
    }
    static var isDescending: Bool { true }
    static var storedType: ColumnType? {
        if let ordering = Wrapped.self as? any OrderingType.Type { return ordering.storedType }
        return ComputedComponent.type(of: Wrapped.self)
    }
    static var steps: [AnyKeyPath] {
        if let ordering = Wrapped.self as? any NilOrderingType.Type { return ordering.descendingSteps }
        return [\Wrapped.desc]
    }
    var literal: Value? { (value as? any OrderingType)?.literal ?? Hornbeam.literal(value) }
}

extension NilFirst: NilOrderingType {
    static var isOrderedAsStored: Bool { Wrapped.self is any IndexKey.Type }
    static var isDescending: Bool { false }
    static var storedType: ColumnType? { ComputedComponent.type(of: Wrapped.self) }
    static var steps: [AnyKeyPath] { [\Wrapped?.asc] }
    static var descendingSteps: [AnyKeyPath] { [\Wrapped?.desc] }
    var literal: Value? { value.map { Hornbeam.literal($0) } ?? .null }
}
