// SPDX-License-Identifier: Apache-2.0
// Comparisons of two properties of one entity: `\.played < \.length`. No index answers them, so they are tested on
// rows. If both are columns, only these two are read.
//
// They are disfavoured, so that the compiler explains a wrong value by the operators that take a value.

// MARK: - Equality. Nil equals nil.

@_disfavoredOverload
public func == <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .equating(left, .equal, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func == <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .equating(left, .equal, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func == <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .equating(left, .equal, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func == <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .equating(left, .equal, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func != <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .equating(left, .notEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func != <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .equating(left, .notEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func != <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .equating(left, .notEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func != <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .equating(left, .notEqual, right, { $0 }, { $0 })
}

// MARK: - Order. A nil property is neither less nor greater than anything.

@_disfavoredOverload
public func < <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .less, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func < <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .less, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func < <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .less, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func < <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .less, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func <= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .lessOrEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func <= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .lessOrEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func <= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .lessOrEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func <= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .lessOrEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func > <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .greater, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func > <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .greater, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func > <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .greater, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func > <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .greater, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func >= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .greaterOrEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func >= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .greaterOrEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func >= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property?>, right: KeyPath<Entity, Property>
) -> Predicate<Entity> {
    .ordering(left, .greaterOrEqual, right, { $0 }, { $0 })
}

@_disfavoredOverload
public func >= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    left: KeyPath<Entity, Property>, right: KeyPath<Entity, Property?>
) -> Predicate<Entity> {
    .ordering(left, .greaterOrEqual, right, { $0 }, { $0 })
}

extension Predicate {
    fileprivate static func equating<Left: Sendable, Right: Sendable, Property: Equatable & Sendable>(
        _ left: KeyPath<Entity, Left>, _ comparison: Comparison,
        _ right: KeyPath<Entity, Right>, _ first: @escaping @Sendable (Left) -> Property?,
        _ second: @escaping @Sendable (Right) -> Property?
    ) -> Self {
        // By the stored forms, as in comparisons with values.
        if let first = column(left, comparison, Property.self), let second = column(right, comparison, Property.self) {
            return Self(
                .opaque(label: label(left, comparison, right)) { row in
                    let isEqual = try row.value(first).comparable == row.value(second).comparable
                    return isEqual == (comparison == .equal)
                })
        }
        let areEqual = equality(of: Property.self)
        return comparing(left, comparison, right) { left, right in
            let isEqual =
                switch (first(left), second(right)) {
                case (let left?, let right?): areEqual(left, right)
                case (nil, nil): true
                default: false
                }
            return isEqual == (comparison == .equal)
        }
    }

    fileprivate static func ordering<Left: Sendable, Right: Sendable, Property: Comparable & Sendable>(
        _ left: KeyPath<Entity, Left>, _ comparison: Comparison,
        _ right: KeyPath<Entity, Right>, _ first: @escaping @Sendable (Left) -> Property?,
        _ second: @escaping @Sendable (Right) -> Property?
    ) -> Self {
        comparing(left, comparison, right) { left, right in
            guard let left = first(left), let right = second(right) else { return false }
            return comparison.holds(
                ValueOrder.precedes(left, right) ? -1 : ValueOrder.precedes(right, left) ? 1 : 0)
        }
    }

    private static func comparing<Left: Sendable, Right: Sendable>(
        _ left: KeyPath<Entity, Left>, _ comparison: Comparison,
        _ right: KeyPath<Entity, Right>, _ test: @escaping @Sendable (Left, Right) -> Bool
    ) -> Self {
        let shape = Entity.entityShape
        let (first, second) = (AggregatedProperty(left), AggregatedProperty(right))
        if let relation = first.relation ?? second.relation {
            return Self(
                .refused(
                    HornbeamError(
                        .invalid,
                        "the id of \(Entity.entityName).\(relation.description.name) can't be compared with a "
                            + "property, only with a value: test it on the entities that are found")))
        }
        if let refusal = shape.refusal(of: left) ?? shape.refusal(of: right) { return Self(.refused(refusal)) }
        return Self(
            .opaque(label: label(left, comparison, right)) { row in
                var row = AggregatedRow<Entity>(row, in: nil)
                return test(try first.read(&row), try second.read(&row))
            })
    }

    private static func label<Left, Right>(
        _ left: KeyPath<Entity, Left>, _ comparison: Comparison, _ right: KeyPath<Entity, Right>
    ) -> String { "\(left.label) \(comparison.rawValue) \(right.label)" }

    /// Returns the equality of stored values: raw values are compared, and NaN equals NaN.
    private static func equality<Property: Equatable & Sendable>(
        of _: Property.Type
    ) -> @Sendable (Property, Property) -> Bool {
        if Property.self is any RawRepresentable.Type {
            return { left, right in
                guard let left = literal(left), let right = literal(right) else { return left == right }
                return left == right
            }
        }
        guard StoredOrder<Property>() != nil else { return { $0 == $1 } }
        return { literal($0)?.comparable == literal($1)?.comparable }
    }
}
