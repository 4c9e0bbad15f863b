// SPDX-License-Identifier: Apache-2.0
// One key of an order: a column where the key path is one, otherwise a key taken from the decoded entity.

/// What `sorted(by:)` makes of a key path.
struct SortKey<Entity: EntityModelProtocol>: Sendable {
    let term: SortTerm

    init(term: SortTerm) {
        self.term = term
    }

    init<Property: Comparable & Sendable>(_ keyPath: any KeyPath<Entity, Property> & Sendable) {
        if let place = Entity.entityShape.orders.place(of: keyPath) {
            self.init(term: .column(place.number, descending: place.descending))
            return
        }
        let isOrdered = Self.isOrderedAsStored(Property.self)
        self.init(keyPath, isOrdered, { $0 < $1 ? -1 : ($1 < $0 ? 1 : 0) })
    }

    /// Nil comes first.
    init<Property: Comparable & Sendable>(optional keyPath: any KeyPath<Entity, Property?> & Sendable) {
        let isOrdered = Self.isOrderedAsStored(Property.self)
        self.init(
            keyPath, isOrdered,
            { left, right in
                guard let left, let right else { return left == nil ? (right == nil ? 0 : -1) : 1 }
                return left < right ? -1 : (right < left ? 1 : 0)
            })
    }

    /// `order` is asked for only where no column can be sorted by: most queries make no closure.
    private init<Property: Sendable>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, _ isOrderedAsStored: Bool,
        _ order: @autoclosure () -> @Sendable (Property, Property) -> Int
    ) {
        let shape = Entity.entityShape
        if isOrderedAsStored, let place = shape.column(keyPath) {
            term = .column(place.number, descending: place.descending)
            shape.orders.insert(keyPath, place)
            return
        }
        if let count = shape.linkCount(keyPath) {
            term = SortTerm(.linkCount(count.relation), descending: count.descending)
            return
        }
        let order = order()
        let label = keyPath.label
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
        // Known without a look at tables of conformances.
        type == Int.self || type == String.self || type is any IndexKey.Type
            || (type as? any OrderingType.Type)?.isOrderedAsStored ?? false
    }
}

/// Looks through `Descending` and `NilFirst` at the type they are around.
private protocol OrderingType {
    static var isOrderedAsStored: Bool { get }
}

extension Descending: OrderingType {
    static var isOrderedAsStored: Bool {
        Wrapped.self is any IndexKey.Type || (Wrapped.self as? any OrderingType.Type)?.isOrderedAsStored ?? false
    }
}

extension NilFirst: OrderingType {
    static var isOrderedAsStored: Bool { Wrapped.self is any IndexKey.Type }
}
