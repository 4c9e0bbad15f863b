// SPDX-License-Identifier: Apache-2.0
// The rules for saving an entity whose unique key another entity holds.

/// The rule of a unique index for entities that want the same key.
public struct CollisionResolver<Entity: EntityModelProtocol>: Sendable {
    /// Handles a collision. It gets the id that holds the key, the entity to be saved, and the index's name.
    public typealias Handler = @Sendable (Entity.ID, Entity, String, inout Context) throws -> Void

    @usableFromInline
    enum Rule: Sendable {
        case `throw`
        case replace
        case update
        case custom(Handler)
    }

    @usableFromInline let rule: Rule

    @inlinable
    init(rule: Rule) {
        self.rule = rule
    }

    /// Calls `handler` before the entity is saved. If it doesn't change the other entity, both entities then hold the
    /// key.
    public init(resolveCollisionHandler handler: @escaping Handler) {
        rule = .custom(handler)
    }

    /// Calls `handler` with the ids of both entities.
    @_disfavoredOverload
    public init(
        _ handler:
            @escaping @Sendable (
                _ existingId: Entity.ID, _ newId: Entity.ID, _ indexName: String, _ context: inout Context
            ) throws -> Void
    ) {
        rule = .custom { existing, entity, index, context in try handler(existing, entity.id, index, &context) }
    }

    /// Makes the save throw `.uniqueViolation` and undoes it. This is the default.
    @inlinable
    public static var `throw`: Self { Self(rule: .throw) }

    /// Saves the entity in place of the one that has the key, under the id of that one. Nothing is deleted: the stored
    /// entity keeps its links, and the options of the save say how the two are merged. The value that `save` was called
    /// on keeps its own id; `didSave` gets the stored one. Throws `.uniqueViolation` if the entity is already stored
    /// under its own id, because two stored entities can't become one. Also called "insert or update".
    @inlinable
    public static var update: Self { Self(rule: .update) }

    /// Deletes the other entity before the save. Its delete rules apply and its hooks run, as in any deletion.
    @inlinable
    public static var replace: Self { Self(rule: .replace) }

    /// Another name of `replace`. Other stores call `update` an upsert.
    @inlinable
    public static var upsert: Self { replace }
}

extension CollisionResolver {
    /// A collision with the ids of the type. Custom resolvers can throw it, and programs can switch over it.
    public enum Errors: Error, Equatable {
        /// The entity `new` wants the key that `existing` has.
        case uniqueValueIndexViolation(existing: Entity.ID, new: Entity.ID, indexName: String)

        /// Makes a typed collision of the error of a refused save. Returns nil for any other error. The library throws
        /// `HornbeamError`s: `catch { if let collision = CollisionResolver<User>.Errors(error) { … } }`.
        public init?(_ error: any Error) {
            if let error = error as? Self {
                self = error
                return
            }
            guard let violation = (error as? HornbeamError)?.violation,
                violation.entityName == Entity.entityName,
                let existing = Entity.ID(columnValue: violation.existing),
                let new = Entity.ID(columnValue: violation.new)
            else { return nil }
            self = .uniqueValueIndexViolation(
                existing: existing, new: new, indexName: violation.indexName)
        }
    }
}
