// SPDX-License-Identifier: Apache-2.0
// Conditions in the words of Swift's own collections: a Bool property by itself, `contains` of a list or a range.

// MARK: - A Bool property by itself

extension EntityModelProtocol {
    /// Finds the entities whose property is true: `Note.filter(\.isPinned)`. `filter(!\.isPinned)` finds the others.
    public static func filter(_ keyPath: KeyPath<Self, Bool>) -> QueryList<Self> {
        filter(keyPath == true)
    }
}

extension QueryList {
    /// Keeps the entities whose property is true: `.filter(\.isPinned)`. `filter(!\.isPinned)` keeps the others.
    public consuming func filter(_ keyPath: KeyPath<Entity, Bool>) -> Self { filter(keyPath == true) }
}

/// Selects entities whose property is false.
public prefix func ! <Entity: EntityModelProtocol>(
    keyPath: KeyPath<Entity, Bool>
) -> Predicate<Entity> { keyPath == false }

// MARK: - Lists and ranges

extension Sequence where Element: Equatable & Sendable {
    /// Selects entities whose property is one of these: `["a", "b"].contains(\.sku)`, which is
    /// `.value(\.sku, in: ["a", "b"])`.
    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, Element>
    ) -> Predicate<Entity> { .value(keyPath, in: Array(self)) }

    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, Element?>
    ) -> Predicate<Entity> { .value(keyPath, in: Array(self)) }
}

extension ClosedRange where Bound: Sendable {
    /// Selects entities whose property is in the range: `(1...5).contains(\.stock)`, which is
    /// `.value(\.stock, in: 1...5)`.
    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, Bound>
    ) -> Predicate<Entity> { .value(keyPath, in: self) }

    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, Bound?>
    ) -> Predicate<Entity> { .value(keyPath, in: self) }
}

extension Range where Bound: Sendable {
    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, Bound>
    ) -> Predicate<Entity> { .value(keyPath, in: self) }

    @_disfavoredOverload
    public func contains<Entity: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, Bound?>
    ) -> Predicate<Entity> { .value(keyPath, in: self) }
}
