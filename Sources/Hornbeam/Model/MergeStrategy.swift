// SPDX-License-Identifier: Apache-2.0
// The rules for merging a saved entity with the one stored under its id.

/// A rule that makes the entity to store of the stored entity and the new one. It must have no side effects: a save may
/// call it more than once, in any thread.
///
/// `@unchecked Sendable`: such a function holds nothing that changes. With `@Sendable` closures the compiler would
/// refuse key paths that come as plain parameters, although key paths are immutable.
public struct MergeStrategy<T>: @unchecked Sendable {
    /// Another name of `T`. The parameter isn't called `Entity`, so that a program's own strategies may be generic over
    /// an `Entity`.
    public typealias Entity = T

    /// Merges the stored entity and the new one. Nil if the new one simply wins: then the stored one need not be read.
    private let combine: ((_ old: Entity, _ new: Entity) -> Entity)?

    private init() {
        combine = nil
    }

    /// Makes a strategy of a function.
    public init(merge: @escaping (_ old: Entity, _ new: Entity) -> Entity) {
        combine = merge
    }

    /// Combines strategies. Each gets the stored entity and the result of the one before.
    public init(_ strategies: MergeStrategy<Entity>...) {
        self.init(strategies)
    }

    /// Combines strategies. Each gets the stored entity and the result of the one before.
    public init(_ strategies: [MergeStrategy<Entity>]) {
        self.init { old, new in strategies.reduce(new) { $1.merge(old, new: $0) } }
    }

    /// Returns the entity to store.
    public func merge(_ existing: Entity, new: Entity) -> Entity {
        combine?(existing, new) ?? new
    }

    var replaces: Bool { combine == nil }

    /// Stores the new entity as it is.
    public static var replace: Self { Self() }

    /// Keeps the stored value of a property if the new one is nil.
    public static func patch<Value>(_ keyPath: WritableKeyPath<Entity, Value?>) -> Self {
        Self { old, new in
            guard new[keyPath: keyPath] == nil else { return new }
            var new = new
            new[keyPath: keyPath] = old[keyPath: keyPath]
            return new
        }
    }

    /// Appends the new elements to the stored ones.
    public static func append<Element>(_ keyPath: WritableKeyPath<Entity, [Element]>) -> Self {
        Self { old, new in
            var new = new
            new[keyPath: keyPath] = old[keyPath: keyPath] + new[keyPath: keyPath]
            return new
        }
    }

    /// Appends the new elements to the stored ones. If there are none at all, the result is nil.
    public static func append<Element>(_ keyPath: WritableKeyPath<Entity, [Element]?>) -> Self {
        Self { old, new in
            var new = new
            let all = (old[keyPath: keyPath] ?? []) + (new[keyPath: keyPath] ?? [])
            new[keyPath: keyPath] = all.isEmpty ? nil : all
            return new
        }
    }

    /// Stores the entity with the greater value, or the stored one if both are equal. `strategies` then merge the other
    /// one into it.
    public static func lastWriteWins<Value: Comparable>(
        _ strategies: MergeStrategy<Entity>..., comparedBy keyPath: KeyPath<Entity, Value>
    ) -> Self {
        lastWriteWins(strategies, comparedBy: keyPath)
    }

    public static func lastWriteWins<Value: Comparable>(
        _ strategies: [MergeStrategy<Entity>], comparedBy keyPath: KeyPath<Entity, Value>
    ) -> Self {
        lastWriteWins(strategies) { $0[keyPath: keyPath] < $1[keyPath: keyPath] }
    }

    fileprivate static func lastWriteWins(
        _ strategies: [MergeStrategy<Entity>], isOlder: @escaping (Entity, Entity) -> Bool
    ) -> Self {
        Self { old, new in
            let (winner, loser) = isOlder(old, new) ? (new, old) : (old, new)
            return strategies.reduce(winner) { $1.merge(loser, new: $0) }
        }
    }
}

extension MergeStrategy where T: Comparable {
    /// Stores the greater entity, or the stored one if both are equal. `strategies` then merge the other one into it.
    public static func lastWriteWins(_ strategies: MergeStrategy<Entity>...) -> Self { lastWriteWins(strategies) }

    public static func lastWriteWins(_ strategies: [MergeStrategy<Entity>]) -> Self {
        lastWriteWins(strategies, isOlder: <)
    }
}

extension MergeStrategy {
    /// Stores the new optional, or keeps the old one if the new one is nil.
    public static func patch<Wrapped>() -> Self where T == Wrapped? {
        Self { old, new in new ?? old }
    }
}

extension MergeStrategy where T: EntityModelProtocol {
    /// The type's strategy for whole entities, `defaultMergeStrategy`.
    public static var `default`: Self { Entity.defaultMergeStrategy }
    /// The type's strategy for incomplete entities, `fragmentMergeStrategy`.
    public static var fragment: Self { Entity.fragmentMergeStrategy }
}
