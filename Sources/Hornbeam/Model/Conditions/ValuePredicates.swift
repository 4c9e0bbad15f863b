// SPDX-License-Identifier: Apache-2.0
// Conditions on a property that stand for several comparisons: lists of values, ranges, nil, elements of arrays. The
// indexes that answer the operators answer them too.

extension Predicate {
    // MARK: - One of several values

    /// Selects entities whose property is one of `values`: `.value(\.age, in: [18, 21])`.
    public static func value<Property: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in values: [Property]
    ) -> Self {
        // Looked up once: a generic type searches for its shape at each mention.
        let shape = Entity.entityShape
        if let column = column(keyPath, .equal, Property.self) {
            let literals = values.compactMap { shape.literal($0, column) }
            if literals.count == values.count { return Self(.within(column: column, literals)) }
        }
        if let relation = shape.linkID(keyPath) {
            let literals = values.compactMap { Hornbeam.literal($0) }
            if literals.count == values.count { return Self(relation.linkTest(.any, .within(column: 0, literals))) }
        }
        return testing(keyPath, label: "\(keyPath.label) in \(String(shown: values))", membership(values))
    }

    /// Selects entities whose optional property is one of `values`. A nil among the values stands for nil.
    public static func value<Property: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in values: [Property?]
    ) -> Self {
        let shape = Entity.entityShape
        if let column = column(keyPath, .equal, Property.self) {
            let literals = values.compactMap { $0.map { shape.literal($0, column) } ?? .some(.null) }
            if literals.count == values.count { return Self(.within(column: column, literals)) }
        }
        let literals = values.compactMap { $0.map { Hornbeam.literal($0) } ?? .some(.null) }
        if let relation = shape.linkID(keyPath), literals.count == values.count {
            let ids = literals.filter { $0 != .null }
            let isOne = Self(relation.linkTest(.any, .within(column: 0, ids)))
            return ids.count == literals.count ? isOne : isOne || Self(relation.linkTest(.none, .all))
        }
        return testing(keyPath, label: "\(keyPath.label) in \(String(shown: values))", membership(values))
    }

    /// Selects entities whose property is none of `values`: `.value(\.age, notIn: [18, 21])`.
    public static func value<Property: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, notIn values: [Property]
    ) -> Self { !value(keyPath, in: values) }

    /// Selects entities whose optional property is none of `values`. Like with `!=`, a property that is nil passes,
    /// unless nil is among the values.
    public static func value<Property: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, notIn values: [Property?]
    ) -> Self { !value(keyPath, in: values) }

    // MARK: - Ranges

    /// Selects entities whose property is in a range: `.value(\.age, in: 18...30)`.
    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in range: ClosedRange<Property>
    ) -> Self { keyPath >= range.lowerBound && keyPath <= range.upperBound }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in range: Range<Property>
    ) -> Self { keyPath >= range.lowerBound && keyPath < range.upperBound }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in range: PartialRangeFrom<Property>
    ) -> Self { keyPath >= range.lowerBound }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in range: PartialRangeThrough<Property>
    ) -> Self { keyPath <= range.upperBound }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in range: PartialRangeUpTo<Property>
    ) -> Self { keyPath < range.upperBound }

    /// Selects entities whose property is between both bounds, which are included. If the lower bound is the greater
    /// one, nothing matches.
    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, between low: Property, and high: Property
    ) -> Self { keyPath >= low && keyPath <= high }

    // Optional properties: no range contains nil.

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in range: ClosedRange<Property>
    ) -> Self { keyPath >= range.lowerBound && keyPath <= range.upperBound }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in range: Range<Property>
    ) -> Self { keyPath >= range.lowerBound && keyPath < range.upperBound }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in range: PartialRangeFrom<Property>
    ) -> Self {
        keyPath >= range.lowerBound
    }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in range: PartialRangeThrough<Property>
    ) -> Self {
        keyPath <= range.upperBound
    }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in range: PartialRangeUpTo<Property>
    ) -> Self {
        keyPath < range.upperBound
    }

    public static func value<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, between low: Property, and high: Property
    ) -> Self { keyPath >= low && keyPath <= high }

    // MARK: - Nil

    /// Selects entities whose property is nil.
    public static func isNil<Property: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>
    ) -> Self { keyPath == nil }

    /// Selects entities whose property isn't nil.
    public static func isNotNil<Property: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>
    ) -> Self { keyPath != nil }

    // MARK: - Arrays

    /// Selects entities whose array has this element.
    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>, contains element: Element
    ) -> Self { array(keyPath, containsAny: [element]) }

    /// Selects entities whose array has at least one of these elements.
    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>, containsAny elements: [Element]
    ) -> Self {
        if let test = elementTest(keyPath, elements, wantsAll: false) { return Self(.elements(test)) }
        return testing(keyPath, label: "\(keyPath.label) contains any of \(String(shown: elements))") {
            [isWanted = membership(elements)] array in
            array.contains(where: isWanted)
        }
    }

    /// Selects entities whose array has all of these elements, in any order.
    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>, containsAll elements: [Element]
    ) -> Self {
        if let test = elementTest(keyPath, elements, wantsAll: true) { return Self(.elements(test)) }
        return testing(keyPath, label: "\(keyPath.label) contains all of \(String(shown: elements))") {
            [tests = elements.map { membership([$0]) }] array in
            tests.allSatisfy { array.contains(where: $0) }
        }
    }

    /// Selects entities whose array has none of these elements.
    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>, containsNone elements: [Element]
    ) -> Self { !array(keyPath, containsAny: elements) }

    // Optional arrays: nil has no elements.

    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>, contains element: Element
    ) -> Self { array(keyPath, containsAny: [element]) }

    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>, containsAny elements: [Element]
    ) -> Self {
        if let test = elementTest(keyPath, elements, wantsAll: false) { return Self(.elements(test)) }
        return testing(keyPath, label: "\(keyPath.label) contains any of \(String(shown: elements))") {
            [isWanted = membership(elements)] array in
            array?.contains(where: isWanted) ?? false
        }
    }

    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>, containsAll elements: [Element]
    ) -> Self {
        if let test = elementTest(keyPath, elements, wantsAll: true) { return Self(.elements(test)) }
        return testing(keyPath, label: "\(keyPath.label) contains all of \(String(shown: elements))") {
            [tests = elements.map { membership([$0]) }] array in
            tests.allSatisfy { array?.contains(where: $0) ?? false }
        }
    }

    public static func array<Element: Equatable & Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>, containsNone elements: [Element]
    ) -> Self { !array(keyPath, containsAny: elements) }

    /// Returns the test of the array's elements. Returns nil if the property is no column that is stored as an array,
    /// or if one of `elements` has no stored form.
    private static func elementTest<Property, Element>(
        _ keyPath: KeyPath<Entity, Property>, _ elements: [Element], wantsAll: Bool
    ) -> ElementTest? {
        let shape = Entity.entityShape
        guard let place = shape.column(keyPath),
            case .array = shape.description.columns[place.number].type.unwrapped
        else { return nil }
        let values = elements.compactMap { Hornbeam.literal($0) }
        guard values.count == elements.count else { return nil }
        return ElementTest(column: place.number, values: values, wantsAll: wantsAll)
    }
}
