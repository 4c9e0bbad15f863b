// SPDX-License-Identifier: Apache-2.0
// What happens when an entity is saved whose unique key another entity holds.

/// The rule of a unique index for entities that want the same key.
public struct CollisionResolver<Entity: EntityModelProtocol>: Sendable {
    /// The id that holds the key, the entity to be saved, the index's name.
    public typealias Handler = @Sendable (Entity.ID, Entity, String, inout Context) throws -> Void

    @usableFromInline
    enum Rule: Sendable {
        case `throw`
        case upsert
        case custom(Handler)
    }

    @usableFromInline let rule: Rule

    @inlinable
    init(rule: Rule) {
        self.rule = rule
    }

    /// Calls `handler` before the entity is saved. What it leaves as it is stays: both entities then hold the key.
    public init(resolveCollisionHandler handler: @escaping Handler) {
        rule = .custom(handler)
    }

    /// The same with the ids of both entities.
    @_disfavoredOverload
    public init(
        _ handler:
            @escaping @Sendable (
                _ existingId: Entity.ID, _ newId: Entity.ID, _ indexName: String, _ context: inout Context
            ) throws -> Void
    ) {
        rule = .custom { existing, entity, index, context in try handler(existing, entity.id, index, &context) }
    }

    /// The save fails with `.uniqueViolation`; nothing of it is left behind.
    @inlinable
    public static var `throw`: Self { Self(rule: .throw) }

    /// The other entity is deleted, by the rules and with the hooks of a deletion.
    @inlinable
    public static var upsert: Self { Self(rule: .upsert) }
}
