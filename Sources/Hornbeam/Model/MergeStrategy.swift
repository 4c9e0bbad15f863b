// SPDX-License-Identifier: Apache-2.0
// The rules for merging a saved entity with the one stored under its id.

/// A function from the stored entity and the new one to the entity to store. It must have no side effects: a save may
/// call it more than once, in any thread.
///
/// `@unchecked Sendable`: such a function holds nothing that changes. With `@Sendable` closures the compiler would
/// refuse key paths that come as plain parameters, although key paths are immutable.
public struct MergeStrategy<T>: @unchecked Sendable {
    /// The parameter has another name, so that a strategy of one's own may be generic over an `Entity`.
    public typealias Entity = T

    /// Merges the stored entity and the new one; nil if the new one wins as it is, so that the stored one need not be
    /// read.
    private let combine: ((_ old: Entity, _ new: Entity) -> Entity)?

    private init() {
        combine = nil
    }

    public init(merge: @escaping (_ old: Entity, _ new: Entity) -> Entity) {
        combine = merge
    }

    /// All of them, one after the other; each sees the same stored entity.
    public init(_ strategies: MergeStrategy<Entity>...) {
        self.init(strategies)
    }

    public init(_ strategies: [MergeStrategy<Entity>]) {
        self.init { old, new in strategies.reduce(new) { $1.merge(old, new: $0) } }
    }

    public func merge(_ existing: Entity, new: Entity) -> Entity {
        combine?(existing, new) ?? new
    }

    var replaces: Bool { combine == nil }

    /// The new entity as it is.
    public static var replace: Self { Self() }

    /// Keeps the stored value where the new one has none.
    public static func patch<Value>(_ keyPath: WritableKeyPath<Entity, Value?>) -> Self {
        Self { old, new in
            guard new[keyPath: keyPath] == nil else { return new }
            var new = new
            new[keyPath: keyPath] = old[keyPath: keyPath]
            return new
        }
    }

    /// The stored elements, then the new ones.
    public static func append<Element>(_ keyPath: WritableKeyPath<Entity, [Element]>) -> Self {
        Self { old, new in
            var new = new
            new[keyPath: keyPath] = old[keyPath: keyPath] + new[keyPath: keyPath]
            return new
        }
    }

    /// Appends to an optional array; no elements at all are nil.
    public static func append<Element>(_ keyPath: WritableKeyPath<Entity, [Element]?>) -> Self {
        Self { old, new in
            var new = new
            let all = (old[keyPath: keyPath] ?? []) + (new[keyPath: keyPath] ?? [])
            new[keyPath: keyPath] = all.isEmpty ? nil : all
            return new
        }
    }

    /// The entity with the greater value wins, the stored one if both are equal; `strategies` then fold the loser in.
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
    public static func lastWriteWins(_ strategies: MergeStrategy<Entity>...) -> Self { lastWriteWins(strategies) }

    public static func lastWriteWins(_ strategies: [MergeStrategy<Entity>]) -> Self {
        lastWriteWins(strategies, isOlder: <)
    }
}

extension MergeStrategy {
    /// For an optional: the new value, or the old one if there is none.
    public static func patch<Wrapped>() -> Self where T == Wrapped? {
        Self { old, new in new ?? old }
    }
}

extension MergeStrategy where T: EntityModelProtocol {
    /// The type's own strategy for whole entities.
    public static var `default`: Self { Entity.defaultMergeStrategy }
    /// The type's own strategy for incomplete entities.
    public static var fragment: Self { Entity.fragmentMergeStrategy }
}
