// SPDX-License-Identifier: Apache-2.0
// One key of an order: a column where the key path is one, otherwise a key taken from the decoded entity.

/// What `sorted(by:)` makes of a key path.
struct SortKey<Entity: EntityModelProtocol>: Sendable {
    let term: SortTerm

    init(term: SortTerm) {
        self.term = term
    }

    init<Property: Comparable & Sendable>(_ keyPath: any KeyPath<Entity, Property> & Sendable) {
        self.init(keyPath, Property.self, { ValueOrder.precedes($0, $1) ? -1 : ValueOrder.precedes($1, $0) ? 1 : 0 })
    }

    /// Nil comes first.
    init<Property: Comparable & Sendable>(optional keyPath: any KeyPath<Entity, Property?> & Sendable) {
        self.init(
            keyPath, Property.self,
            { left, right in
                guard let left, let right else { return left == nil ? (right == nil ? 0 : -1) : 1 }
                return ValueOrder.precedes(left, right) ? -1 : ValueOrder.precedes(right, left) ? 1 : 0
            })
    }

    /// `order` is asked for only where no column can be sorted by: most queries make no closure.
    /// - Parameter ordered: the type whose order the stored values must have for that, `Property` or what it wraps.
    private init<Property: Sendable, Ordered>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, _ ordered: Ordered.Type,
        _ order: @autoclosure () -> @Sendable (Property, Property) -> Int
    ) {
        // Once: a generic type makes its shape anew at each mention.
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
