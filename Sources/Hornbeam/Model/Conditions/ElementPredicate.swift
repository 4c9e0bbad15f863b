// SPDX-License-Identifier: Apache-2.0
// Conditions on the elements of arrays. Comparisons that an index may answer are data: `{ $0.type == "mobile" }`.

/// An element of an array in a condition: `$0.type` is its property, `$0` the element itself.
@dynamicMemberLookup
public struct ElementProxy<Element: Sendable>: Sendable {
    public subscript<Property: Sendable>(
        dynamicMember keyPath: KeyPath<Element, Property>
    ) -> ElementProperty<Element, Property> {
        ElementProperty(subject: ComputedSubject(keyPath), label: keyPath.path) { [keyPath = keyPath.shared] in
            $0[keyPath: keyPath]
        }
    }

    var itself: ElementProperty<Element, Element> { ElementProperty(subject: nil, label: "element") { $0 } }
}

/// A property of an element in a condition.
@dynamicMemberLookup
public struct ElementProperty<Element: Sendable, Property: Sendable>: Sendable {
    /// The path from the element to the property, nil for the element itself.
    let subject: ComputedSubject?
    let label: String
    let value: @Sendable (Element) -> Property

    /// A property of the property: `$0.address.city`.
    public subscript<Next: Sendable>(
        dynamicMember keyPath: KeyPath<Property, Next>
    ) -> ElementProperty<Element, Next> {
        let (value, keyPath) = (value, keyPath.shared)
        return ElementProperty<Element, Next>(
            subject: subject?.appending(keyPath), label: "\(label).\(keyPath.path)"
        ) { value($0)[keyPath: keyPath] }
    }

    fileprivate func compared<Other>(
        _ comparison: Comparison, _ other: Other, _ test: @escaping @Sendable (Property) -> Bool
    ) -> ElementPredicate<Element> {
        let (value, subject) = (value, subject)
        let literal = literal(other)
        // A type with an order of its own is compared by that order, whatever its stored form.
        let isStoredOrder = comparison.holdsForColumns(of: Property.self)
        // Only the test answers a comparison without an index order, or one for which an index would have to skip
        // entries.
        let isTold = isStoredOrder && comparison != .notEqual
        let term = isTold ? literal.map { ElementTerm(subject: subject, .compare(comparison, $0)) } : nil
        let order = isStoredOrder ? StoredOrder<Property>() : nil
        let test = order?.test(comparison, literal ?? .null) ?? test
        return ElementPredicate(
            label: "\(label) \(comparison.rawValue) \(String(shown: other))", terms: term.map { [$0] } ?? [],
            isComplete: term != nil
        ) { test(value($0)) }
    }
}

extension ElementProperty where Property: StringProtocol {
    /// Tests whether the text begins with `text`, like Swift's `hasPrefix`. No index answers it.
    public func hasPrefix(_ text: String) -> ElementPredicate<Element> {
        let value = value
        return ElementPredicate(label: "\(label) hasPrefix \(text)", terms: [], isComplete: false) {
            value($0).hasPrefix(text)
        }
    }
}

/// A condition on an element of an array.
public struct ElementPredicate<Element: Sendable>: Sendable {
    let label: String
    /// The terms of the condition that an index can test.
    let terms: [ElementTerm]
    /// Whether the terms are the whole condition.
    let isComplete: Bool
    let test: @Sendable (Element) -> Bool
    /// The conditions that one operator joins. They are tested in a loop, so a long chain takes no more stack.
    private let joined: (tests: [@Sendable (Element) -> Bool], isEither: Bool)?
    /// The number of levels of conditions within it.
    private let depth: Int

    init(label: String, terms: [ElementTerm], isComplete: Bool, test: @escaping @Sendable (Element) -> Bool) {
        self.label = label
        self.terms = terms
        self.isComplete = isComplete
        self.test = test
        joined = nil
        depth = 0
    }

    /// A condition that contains others. If it is nested too deep, these are released.
    private init(
        label: String, terms: [ElementTerm], isComplete: Bool, depth: Int,
        joined: (tests: [@Sendable (Element) -> Bool], isEither: Bool)?, test: @escaping @Sendable (Element) -> Bool
    ) {
        let isTooDeep = depth > Filter.maximumDepth
        let never: @Sendable (Element) -> Bool = { _ in false }
        self.label = isTooDeep ? "(…)" : label
        self.terms = isTooDeep ? [] : terms
        self.isComplete = !isTooDeep && isComplete
        self.test = isTooDeep ? never : test
        self.joined = isTooDeep ? nil : joined
        self.depth = depth
    }

    /// Whether it is nested too deep. A query with it fails.
    var isTooDeep: Bool { depth > Filter.maximumDepth }

    /// Joins two conditions: by `||` if `isEither` is true, otherwise by `&&`.
    fileprivate static func join(
        _ left: Self, _ right: Self, isEither: Bool, _ terms: [ElementTerm], isComplete: Bool
    ) -> Self {
        var tests: [@Sendable (Element) -> Bool] = []
        var depth = 0
        for side in [left, right] {
            let chain = side.joined.flatMap { $0.isEither == isEither ? $0.tests : nil }
            tests += chain ?? [side.test]
            depth = max(depth, chain == nil ? side.depth + 1 : side.depth)
        }
        let all = tests
        return Self(
            label: "(\(left.label) \(isEither ? "||" : "&&") \(right.label))", terms: terms, isComplete: isComplete,
            depth: depth, joined: (all, isEither)
        ) { element in
            for test in all where test(element) == isEither { return isEither }
            return !isEither
        }
    }

    fileprivate var negated: Self {
        let test = test
        return Self(label: "!(\(label))", terms: [], isComplete: false, depth: depth + 1, joined: nil) { !test($0) }
    }

    /// Tests the element with a closure. No index answers it.
    public static func passes(_ test: @escaping @Sendable (Element) -> Bool) -> Self {
        Self(label: "passes a closure", terms: [], isComplete: false, test: test)
    }
}

extension AnyElementTest {
    convenience init<Entity, Element>(_ path: ArrayPath<Entity, Element>, _ predicate: ElementPredicate<Element>) {
        let label = "any of \(path.label): \(predicate.label)"
        let (elements, test) = (path.elements, predicate.test)
        self.init(steps: path.steps, predicate.terms, isComplete: predicate.isComplete, label: label) { row in
            let entity = try Entity(row: row)
            return try RelationReads.refusing(label, Entity.self) { elements(entity).contains(where: test) }
        }
    }
}

// MARK: - Operators

public func && <Element>(
    left: ElementPredicate<Element>, right: ElementPredicate<Element>
) -> ElementPredicate<Element> {
    .join(
        left, right, isEither: false, left.terms + right.terms, isComplete: left.isComplete && right.isComplete)
}

public func || <Element>(
    left: ElementPredicate<Element>, right: ElementPredicate<Element>
) -> ElementPredicate<Element> {
    var either: ElementTerm?
    if left.isComplete, right.isComplete, left.terms.count == 1, right.terms.count == 1 {
        either = left.terms[0].or(right.terms[0])
    }
    return .join(left, right, isEither: true, either.map { [$0] } ?? [], isComplete: either != nil)
}

public prefix func ! <Element>(predicate: ElementPredicate<Element>) -> ElementPredicate<Element> {
    predicate.negated
}

public func == <Element, Property: Equatable & Sendable>(
    left: ElementProperty<Element, Property>, right: Property
) -> ElementPredicate<Element> { left.compared(.equal, right) { $0 == right } }

public func != <Element, Property: Equatable & Sendable>(
    left: ElementProperty<Element, Property>, right: Property
) -> ElementPredicate<Element> { left.compared(.notEqual, right) { $0 != right } }

public func < <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property>, right: Property
) -> ElementPredicate<Element> { left.compared(.less, right) { $0 < right } }

public func <= <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property>, right: Property
) -> ElementPredicate<Element> { left.compared(.lessOrEqual, right) { $0 <= right } }

public func > <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property>, right: Property
) -> ElementPredicate<Element> { left.compared(.greater, right) { $0 > right } }

public func >= <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property>, right: Property
) -> ElementPredicate<Element> { left.compared(.greaterOrEqual, right) { $0 >= right } }

// A nil property is neither less nor greater than anything.

public func < <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property?>, right: Property
) -> ElementPredicate<Element> { left.compared(.less, right) { $0.map { $0 < right } ?? false } }

public func <= <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property?>, right: Property
) -> ElementPredicate<Element> { left.compared(.lessOrEqual, right) { $0.map { $0 <= right } ?? false } }

public func > <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property?>, right: Property
) -> ElementPredicate<Element> { left.compared(.greater, right) { $0.map { $0 > right } ?? false } }

public func >= <Element, Property: Comparable & Sendable>(
    left: ElementProperty<Element, Property?>, right: Property
) -> ElementPredicate<Element> {
    left.compared(.greaterOrEqual, right) { $0.map { $0 >= right } ?? false }
}

// The element itself.

public func == <Element: Equatable>(left: ElementProxy<Element>, right: Element) -> ElementPredicate<Element> {
    left.itself == right
}

public func != <Element: Equatable>(left: ElementProxy<Element>, right: Element) -> ElementPredicate<Element> {
    left.itself != right
}

public func < <Element: Comparable>(left: ElementProxy<Element>, right: Element) -> ElementPredicate<Element> {
    left.itself < right
}

public func <= <Element: Comparable>(left: ElementProxy<Element>, right: Element) -> ElementPredicate<Element> {
    left.itself <= right
}

public func > <Element: Comparable>(left: ElementProxy<Element>, right: Element) -> ElementPredicate<Element> {
    left.itself > right
}

public func >= <Element: Comparable>(left: ElementProxy<Element>, right: Element) -> ElementPredicate<Element> {
    left.itself >= right
}
