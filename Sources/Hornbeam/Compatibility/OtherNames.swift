// SPDX-License-Identifier: Apache-2.0
// Second names, for programs that were written for other stores.

/// A condition by `==` or `!=`.
public typealias EqualityPredicate<Entity: EntityModelProtocol, Value> = Predicate<Entity>
/// A condition on texts.
public typealias StringPredicate<Entity: EntityModelProtocol> = Predicate<Entity>
/// A condition by a regular expression.
public typealias RegexPredicate<Entity: EntityModelProtocol> = Predicate<Entity>

// Mutual relations, named by the number of entities on either side.

public typealias OneToOneRelation<E: EntityModelProtocol, K: ConstraintsProtocol> =
    MutualRelation<E, Relations.ToOne<E>, K>
public typealias ManyToOneRelation<E: EntityModelProtocol, K: ConstraintsProtocol> =
    MutualRelation<E, Relations.ToOne<E>, K>
public typealias OneToManyRelation<E: EntityModelProtocol, K: ConstraintsProtocol> =
    MutualRelation<E, Relations.ToMany<E>, K>
public typealias ManyToManyRelation<E: EntityModelProtocol, K: ConstraintsProtocol> =
    MutualRelation<E, Relations.ToMany<E>, K>

extension RelationEncodingStrategy {
    /// Another name for `keyedContainer`.
    public static var exact: Self { .keyedContainer }
}

extension RelationDecodingStrategy {
    /// Another name for `keyedContainer`.
    public static let exact = keyedContainer
}

extension EntityModelProtocol {
    /// Another name for `touch`, applied to the entity that is stored under this id.
    public func saveMetadata(to context: inout Context) throws { try Self.touch(id, in: &context) }

    /// Another name for `deleteMetadata`.
    public func removeMetadata(from context: inout Context) throws { try deleteMetadata(from: &context) }

    /// Returns a query for one entity with the levels of `nested` loaded, like `query.with(.entities, .ids)`.
    public static func nestedQueryModifier(_ query: Query<Self>, nested: [Nested]) -> Query<Self> {
        Query(query.list.with(nested))
    }

    /// Returns the modified query for code that passes a context. The query keeps its own context.
    public static func nestedQueryModifier(
        _ query: Query<Self>, in context: Context, nested: [Nested]
    ) -> Query<Self> {
        nestedQueryModifier(query, nested: nested)
    }
}
