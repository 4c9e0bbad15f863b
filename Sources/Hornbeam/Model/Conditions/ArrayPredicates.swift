// SPDX-License-Identifier: Apache-2.0
// Conditions on the elements of an entity's array: on any of them, on every one, or both.
//
//                       any     every   anyAndEvery
//     no elements       false   true    false
//     some pass         true    false   false
//     all pass          true    true    true

extension Predicate {
    /// Selects entities in which at least one element passes: `.any(\.contacts) { $0.type == "primary" }`,
    /// `.any(\.likes) { $0 == "travel" }`. An array index over the compared values answers it.
    public static func any<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>,
        _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self { any(ArrayPath(keyPath), condition) }

    /// Selects entities in which at least one element of an optional array passes. Nil has no elements.
    public static func any<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>,
        _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self { any(ArrayPath(keyPath), condition) }

    /// Selects entities in which at least one element of arrays within arrays passes:
    /// `.any(ArrayPath(\.contacts).each(\.phones)) { $0.type == "mobile" }`.
    public static func any<Element>(
        _ path: ArrayPath<Entity, Element>, _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self {
        having(path, condition(ElementProxy()))
    }

    /// Selects entities in which no element fails: all pass, or there is none.
    public static func every<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>,
        _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self { every(ArrayPath(keyPath), condition) }

    /// Selects entities in which no element of an optional array fails. Nil has no elements.
    public static func every<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>,
        _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self { every(ArrayPath(keyPath), condition) }

    /// Selects entities in which no element of arrays within arrays fails.
    public static func every<Element>(
        _ path: ArrayPath<Entity, Element>, _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self {
        !having(path, !condition(ElementProxy()))
    }

    private static func having<Element>(
        _ path: ArrayPath<Entity, Element>, _ condition: ElementPredicate<Element>
    ) -> Self {
        Self(condition.isTooDeep ? .tooDeep : .anyElement(AnyElementTest(path, condition)))
    }

    /// Selects entities that have elements, all of which pass. An array index finds the entities in which one passes,
    /// and the query tests these.
    public static func anyAndEvery<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>,
        _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self { anyAndEvery(ArrayPath(keyPath), condition) }

    /// Selects entities that have elements in an optional array, all of which pass.
    public static func anyAndEvery<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>,
        _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self { anyAndEvery(ArrayPath(keyPath), condition) }

    /// Selects entities that have elements of arrays within arrays, all of which pass.
    public static func anyAndEvery<Element>(
        _ path: ArrayPath<Entity, Element>, _ condition: (ElementProxy<Element>) -> ElementPredicate<Element>
    ) -> Self { any(path, condition) && every(path, condition) }
}
