// SPDX-License-Identifier: Apache-2.0
// A relation of an entity type, with the related type erased to closures for deletion and nested queries, which don't
// know it. `mutual` takes the key paths of both sides, so the compiler checks that they fit.

/// A relation as declared. Made by the macro.
///
/// `@unchecked Sendable`: nothing in it ever changes, and its key path is a literal of a plain property.
public struct DeclaredRelation<Entity: EntityModelProtocol>: @unchecked Sendable {
    package let description: RelationDescription
    let keyPath: PartialKeyPath<Entity>
    /// The key paths to its number of entities: plain, with `.asc` and with `.desc`.
    let count: (ascending: AnyKeyPath, explicit: AnyKeyPath, descending: AnyKeyPath)
    /// The key paths to the id of the related entity, or nil for a to-many relation.
    let id: (plain: AnyKeyPath, ascending: AnyKeyPath?, descending: AnyKeyPath?)?
    let target: any EntityModelProtocol.Type
    /// The relation's operations that need no related type.
    let access: RelationAccess<Entity>

    public static func oneWay<Target, C, K>(
        _ name: String, _ keyPath: WritableKeyPath<Entity, Relation<Target, Relations.OneWay, C, K>>,
        deleteRule: Relations.DeleteRule = .nullify
    ) -> Self {
        Self(name, keyPath, inverse: nil, deleteRule)
    }

    public static func mutual<Target, C, K, InverseC, InverseK>(
        _ name: String, _ keyPath: WritableKeyPath<Entity, Relation<Target, Relations.Mutual, C, K>>,
        inverse: String, _: WritableKeyPath<Target, Relation<Entity, Relations.Mutual, InverseC, InverseK>>,
        deleteRule: Relations.DeleteRule = .nullify
    ) -> Self {
        Self(name, keyPath, inverse: inverse, deleteRule)
    }

    // Pairs that don't fit. They exist for their messages: without them the compiler's errors only name types.

    @available(*, unavailable, message: "the other side is one-way: give it an 'inverse:' too, or this one none")
    public static func mutual<Target, C, K, InverseC, InverseK>(
        _ name: String, _ keyPath: WritableKeyPath<Entity, Relation<Target, Relations.Mutual, C, K>>,
        inverse: String, _: WritableKeyPath<Target, Relation<Entity, Relations.OneWay, InverseC, InverseK>>,
        deleteRule: Relations.DeleteRule = .nullify
    ) -> Self {
        Self(name, keyPath, inverse: inverse, deleteRule)
    }

    @_disfavoredOverload
    @available(*, unavailable, message: "the other side leads to another type: name the relation that leads back here")
    public static func mutual<Target, C, K, Other, InverseD, InverseC, InverseK>(
        _ name: String, _ keyPath: WritableKeyPath<Entity, Relation<Target, Relations.Mutual, C, K>>,
        inverse: String, _: WritableKeyPath<Target, Relation<Other, InverseD, InverseC, InverseK>>,
        deleteRule: Relations.DeleteRule = .nullify
    ) -> Self {
        Self(name, keyPath, inverse: inverse, deleteRule)
    }

    /// Returns the key paths of an id followed by `.asc` and by `.desc`.
    private static func ordered<ID: IndexKey & Comparable>(_ id: AnyKeyPath, _: ID.Type) -> (AnyKeyPath, AnyKeyPath)? {
        (id as? KeyPath<Entity, ID?>).map { ($0.appending(path: \ID?.asc), $0.appending(path: \ID?.desc)) }
    }

    private init<Target, D, C, K>(
        _ name: String, _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, inverse: String?,
        _ deleteRule: Relations.DeleteRule
    ) {
        // The store checks required links. A to-many relation may be empty.
        description = RelationDescription(
            name: name, target: Target.entityName, toMany: C.isToMany, required: K.isRequired && !C.isToMany,
            inverse: inverse, deleteRule: deleteRule)
        self.keyPath = keyPath
        let count = keyPath.appending(path: \Relation<Target, D, C, K>.count)
        self.count = (count, count.appending(path: \Int.asc), count.appending(path: \Int.desc))
        // Cast through `AnyKeyPath`, because the compiler doesn't know that the two types may be equal.
        let toOne = (keyPath as AnyKeyPath) as? WritableKeyPath<Entity, ToOneRelation<Target, D, K>>
        id = toOne.map { path in
            let id = path.appending(path: \ToOneRelation<Target, D, K>.id)
            let ordered = (Target.ID.self as? any (IndexKey & Comparable).Type).flatMap { Self.ordered(id, $0) }
            return (id, ordered?.0, ordered?.1)
        }
        target = Target.self
        access = RelationAccess(RelationPath(keyPath))
    }
}

/// A relation's key path that may cross threads.
///
/// `@unchecked Sendable`: `\.$property` captures nothing; key paths themselves never change.
struct RelationPath<Entity, Target, D, C, K>: @unchecked Sendable
where
    Entity: EntityModelProtocol, Target: EntityModelProtocol, D: DirectionalityProtocol, C: CardinalityProtocol,
    K: ConstraintsProtocol
{
    let keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>

    init(_ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>) {
        self.keyPath = keyPath
    }

    /// The relation's name, or nil if the entity doesn't declare the relation.
    var name: String? { try? Entity.entityShape.relation(keyPath).description.name }
}
