// SPDX-License-Identifier: Apache-2.0
// Conditions in the words of Swift's own collections: a Bool property by itself, `contains` of a list or a range. And
// what programs of other stores write where only Swift could test it: refused, with what to write instead.

// MARK: - A Bool property by itself

extension EntityModelProtocol {
    /// The entities whose property is true: `Note.filter(\.isPinned)`; `filter(!\.isPinned)` are the others.
    public static func filter(_ keyPath: any KeyPath<Self, Bool> & Sendable) -> QueryList<Self> {
        filter(keyPath == true)
    }
}

extension QueryList {
    /// Those whose property is true: `.filter(\.isPinned)`; `filter(!\.isPinned)` are the others.
    public consuming func filter(_ keyPath: any KeyPath<Entity, Bool> & Sendable) -> Self { filter(keyPath == true) }
}

/// The property is false.
public prefix func ! <Entity: EntityModelProtocol>(
    keyPath: any KeyPath<Entity, Bool> & Sendable
) -> Predicate<Entity> { keyPath == false }

// MARK: - Lists and ranges

extension Sequence where Element: Equatable & Sendable {
    /// The property is one of these: `["a", "b"].contains(\.sku)`, which is `.value(\.sku, in: ["a", "b"])`.
    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: any KeyPath<Entity, Element> & Sendable
    ) -> Predicate<Entity> { .value(keyPath, in: Array(self)) }

    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: any KeyPath<Entity, Element?> & Sendable
    ) -> Predicate<Entity> { .value(keyPath, in: Array(self)) }
}

extension ClosedRange where Bound: Sendable {
    /// The property lies in the range: `(1...5).contains(\.stock)`, which is `.value(\.stock, in: 1...5)`.
    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: any KeyPath<Entity, Bound> & Sendable
    ) -> Predicate<Entity> { .value(keyPath, in: self) }

    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: any KeyPath<Entity, Bound?> & Sendable
    ) -> Predicate<Entity> { .value(keyPath, in: self) }
}

extension Range where Bound: Sendable {
    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: any KeyPath<Entity, Bound> & Sendable
    ) -> Predicate<Entity> { .value(keyPath, in: self) }

    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: any KeyPath<Entity, Bound?> & Sendable
    ) -> Predicate<Entity> { .value(keyPath, in: self) }
}

// MARK: - Closures

extension EntityModelProtocol {
    @available(
        *, unavailable,
        message: "write filter(\\.title == \"x\"); what only Swift can test, test on what resolve(in:) gives"
    )
    public static func filter(_ isIncluded: (Self) throws -> Bool) -> QueryList<Self> { QueryList() }
}

extension QueryList {
    @available(
        *, unavailable,
        message: "write filter(\\.title == \"x\"); what only Swift can test, test on what resolve(in:) gives"
    )
    public func filter(_ isIncluded: (Entity) throws -> Bool) -> Self { self }

    @available(
        *, unavailable,
        message: "a query is sorted by key paths: sorted(by: \\.title), sorted(by: \\.year.desc, \\.title)"
    )
    public func sorted(by areInIncreasingOrder: (Entity, Entity) throws -> Bool) -> Self { self }
}
