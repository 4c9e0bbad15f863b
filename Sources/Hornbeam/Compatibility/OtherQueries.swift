// SPDX-License-Identifier: Apache-2.0
// Second spellings of queries, for programs that were written for other stores.

/// A function that adds steps to the nested query of a to-one relation: `with(\.$author, nested: modifier)`.
public typealias QueryModifier<Entity: EntityModelProtocol> = (Query<Entity>) -> Query<Entity>
/// A function that adds steps, filters and sorts to the nested query of a to-many relation.
public typealias QueryListModifier<Entity: EntityModelProtocol> = (QueryList<Entity>) -> QueryList<Entity>

// Conditions without an entity type. They are disfavoured, so that a plain `.updated(within:)` is a `Predicate`.

extension QueryList {
    @_disfavoredOverload
    public static func filter(_ predicate: MetadataPredicate) -> Self { filter(predicate.predicate(for: Entity.self)) }

    @_disfavoredOverload
    public static func filter(_ predicate: MetadataPredicate, in context: Context) -> Self {
        filter(predicate.predicate(for: Entity.self), in: context)
    }

    @_disfavoredOverload
    public consuming func filter(_ predicate: MetadataPredicate) -> Self {
        filter(predicate.predicate(for: Entity.self))
    }

    @_disfavoredOverload
    public func and(_ predicate: MetadataPredicate) -> Self { and(predicate.predicate(for: Entity.self)) }

    @_disfavoredOverload
    public func or(_ predicate: MetadataPredicate) -> Self { or(predicate.predicate(for: Entity.self)) }
}

extension EntityModelProtocol {
    @_disfavoredOverload
    public static func filter(_ predicate: MetadataPredicate) -> QueryList<Self> { .filter(predicate) }

    @_disfavoredOverload
    public static func filter(_ predicate: MetadataPredicate, in context: Context) -> QueryList<Self> {
        .filter(predicate, in: context)
    }
}

// The types of queries have the static functions of the entity type.

extension QueryList {
    /// Returns all entities of the type in the order of their last saves.
    public static func schemaQuery() -> Self { Entity.schemaQuery() }
    public static func schemaQuery(in context: Context) -> Self { Self(context: context).schemaQuery() }
}

extension Query {
    public static func filter(_ predicate: Predicate<Entity>) -> QueryList<Entity> { .filter(predicate) }
    public static func filter(_ predicate: Predicate<Entity>, in context: Context) -> QueryList<Entity> {
        .filter(predicate, in: context)
    }

    @_disfavoredOverload
    public static func filter(_ predicate: MetadataPredicate) -> QueryList<Entity> { .filter(predicate) }

    @_disfavoredOverload
    public static func filter(_ predicate: MetadataPredicate, in context: Context) -> QueryList<Entity> {
        .filter(predicate, in: context)
    }

    @_disfavoredOverload
    public func filter(_ predicate: MetadataPredicate) -> Self { filter(predicate.predicate(for: Entity.self)) }

    /// Finds nothing: all entities of a type don't fit a query for one.
    public static func schemaQuery() -> Self { Self(QueryList().limit(0)) }
    public static func schemaQuery(in context: Context) -> Self { Self(QueryList(context: context).limit(0)) }
}

// Levels as a list.

extension EntityModelProtocol {
    public static func queryAll(with nested: [Nested]) -> QueryList<Self> { QueryList().with(nested) }
    public static func queryAll(with nested: [Nested], in context: Context) -> QueryList<Self> {
        QueryList(context: context).with(nested)
    }
}

extension Query {
    public func with(_ nested: [Nested]) -> Self { Self(list.with(nested)) }
}
