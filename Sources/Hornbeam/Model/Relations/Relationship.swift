// SPDX-License-Identifier: Apache-2.0
// The property wrapper that declares a relation. The property shows the loaded entities and can't be set; the relation
// is set through `$property`. The initialiser determines the kind of the relation. Initialisers are inlinable, because
// reading an entity calls them: inlined, the key paths in their arguments aren't made.

/// Declares a relation of an entity: `@Relationship(inverse: \.messages) var chat: Chat?`.
@propertyWrapper
public struct Relationship<
    Value, Entity: EntityModelProtocol, Directionality: DirectionalityProtocol, Cardinality: CardinalityProtocol,
    Constraints: ConstraintsProtocol
>: Sendable where Cardinality.Entity == Entity, Cardinality.Value == Value {
    /// The relation as set or loaded.
    public var projectedValue: Relation<Entity, Directionality, Cardinality, Constraints>

    @inlinable @inline(__always)
    init(_ relation: Relation<Entity, Directionality, Cardinality, Constraints>) {
        projectedValue = relation
    }

    /// The related entities, if they were loaded or set.
    public var wrappedValue: Value? {
        get { projectedValue.entities.flatMap { Cardinality.value(of: $0) } }
        @available(
            *, unavailable,
            message: "set a relation by its '$' form: 'book.$author = .relation(author)', 'author.$books = .ids([1])'"
        )
        set {}
    }
}

// A value after `=` is a new entity's relation: entities, or a relation such as `.ids(["1"])`. Reading an entity
// ignores it. The compiler tries all initialisers with a `wrappedValue`; `.none` could be of either type, so those that
// take entities are disfavoured.

// One way.

extension Relationship
where
    Value == Entity, Directionality == Relations.OneWay, Cardinality == Relations.ToOne<Entity>,
    Constraints == Relations.Optional
{
    @inlinable @inline(__always)
    public init(
        wrappedValue: Relation<Entity, Directionality, Cardinality, Constraints> = .none,
        deleteRule: Relations.DeleteRule = .nullify
    ) {
        self.init(wrappedValue)
    }

    @_disfavoredOverload
    public init(wrappedValue: Value?, deleteRule: Relations.DeleteRule = .nullify) {
        self.init(wrappedValue.map { .relation($0) } ?? .none)
    }
}

extension Relationship
where Value == Entity, Directionality == Relations.OneWay, Cardinality == Relations.ToOne<Entity> {
    @inlinable @inline(__always)
    public init(
        wrappedValue: Relation<Entity, Directionality, Cardinality, Constraints> = .none, _ constraint: Constraints,
        deleteRule: Relations.DeleteRule = .nullify
    ) {
        self.init(wrappedValue)
    }

    @_disfavoredOverload
    public init(wrappedValue: Value?, _ constraint: Constraints, deleteRule: Relations.DeleteRule = .nullify) {
        self.init(wrappedValue.map { .relation($0) } ?? .none)
    }
}

extension Relationship
where
    Value == [Entity], Directionality == Relations.OneWay, Cardinality == Relations.ToMany<Entity>,
    Constraints == Relations.Required
{
    @inlinable @inline(__always)
    public init(
        wrappedValue: Relation<Entity, Directionality, Cardinality, Constraints> = .none,
        deleteRule: Relations.DeleteRule = .nullify
    ) {
        self.init(wrappedValue)
    }

    @_disfavoredOverload
    public init(wrappedValue: Value?, deleteRule: Relations.DeleteRule = .nullify) {
        self.init(wrappedValue.map { .relation($0) } ?? .none)
    }
}

// Mutual. The inverse names the other side, to-one or to-many. The macro's code checks that the inverse is a relation
// that names this side. It can't be checked here, where the target may not be known as an entity yet.

extension Relationship
where
    Value == Entity, Directionality == Relations.Mutual, Cardinality == Relations.ToOne<Entity>,
    Constraints == Relations.Optional
{
    @inlinable @inline(__always)
    public init<Inverse>(
        wrappedValue: Relation<Entity, Directionality, Cardinality, Constraints> = .none,
        deleteRule: Relations.DeleteRule = .nullify, inverse: KeyPath<Entity, Inverse?>
    ) {
        self.init(wrappedValue)
    }

    @_disfavoredOverload
    public init<Inverse>(
        wrappedValue: Value?, deleteRule: Relations.DeleteRule = .nullify, inverse: KeyPath<Entity, Inverse?>
    ) {
        self.init(wrappedValue.map { .relation($0) } ?? .none)
    }
}

extension Relationship
where Value == Entity, Directionality == Relations.Mutual, Cardinality == Relations.ToOne<Entity> {
    @inlinable @inline(__always)
    public init<Inverse>(
        wrappedValue: Relation<Entity, Directionality, Cardinality, Constraints> = .none, _ constraint: Constraints,
        deleteRule: Relations.DeleteRule = .nullify, inverse: KeyPath<Entity, Inverse?>
    ) {
        self.init(wrappedValue)
    }

    @_disfavoredOverload
    public init<Inverse>(
        wrappedValue: Value?, _ constraint: Constraints, deleteRule: Relations.DeleteRule = .nullify,
        inverse: KeyPath<Entity, Inverse?>
    ) {
        self.init(wrappedValue.map { .relation($0) } ?? .none)
    }
}

extension Relationship
where
    Value == [Entity], Directionality == Relations.Mutual, Cardinality == Relations.ToMany<Entity>,
    Constraints == Relations.Required
{
    @inlinable @inline(__always)
    public init<Inverse>(
        wrappedValue: Relation<Entity, Directionality, Cardinality, Constraints> = .none,
        deleteRule: Relations.DeleteRule = .nullify, inverse: KeyPath<Entity, Inverse?>
    ) {
        self.init(wrappedValue)
    }

    @_disfavoredOverload
    public init<Inverse>(
        wrappedValue: Value?, deleteRule: Relations.DeleteRule = .nullify, inverse: KeyPath<Entity, Inverse?>
    ) {
        self.init(wrappedValue.map { .relation($0) } ?? .none)
    }
}

// The values of relations, for memberwise initialisers, which take the wrapper itself.

extension Relationship {
    /// The relation is unset: saving leaves its links unchanged.
    public static var none: Self { Self(.none) }
}

extension Relationship where Cardinality == Relations.ToOne<Entity>, Value == Entity {
    /// Links to the entity with this id, stored or not.
    @inlinable
    public static func id(_ id: Entity.ID) -> Self { Self(.id(id)) }
    /// Links to the entity and saves it too.
    public static func relation(_ entity: Entity) -> Self { Self(.relation(entity)) }
    /// Links to the entity and merges its properties into the stored one.
    public static func fragment(_ entity: Entity) -> Self { Self(.fragment(entity)) }
}

extension Relationship
where Cardinality == Relations.ToOne<Entity>, Value == Entity, Constraints == Relations.Optional {
    /// Removes the link.
    public static var null: Self { Self(.null) }
}

extension Relationship where Cardinality == Relations.ToMany<Entity>, Value == [Entity] {
    /// Links to exactly the entities with these ids, stored or not.
    public static func ids(_ ids: [Entity.ID]) -> Self { Self(.ids(ids)) }
    /// Links to exactly these entities and saves them too.
    public static func relation(_ entities: [Entity]) -> Self { Self(.relation(entities)) }
    /// Links to exactly these entities and merges their properties into the stored ones.
    public static func fragment(_ entities: [Entity]) -> Self { Self(.fragment(entities)) }
    /// Adds links to the entities with these ids, stored or not.
    public static func appending(ids: [Entity.ID]) -> Self { Self(.appending(ids: ids)) }
    /// Adds links to these entities and saves them too.
    public static func appending(relation entities: [Entity]) -> Self { Self(.appending(relation: entities)) }
    /// Adds links to these entities and merges their properties into the stored ones.
    public static func appending(fragment entities: [Entity]) -> Self { Self(.appending(fragment: entities)) }
}

extension Relationship: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.projectedValue == right.projectedValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(projectedValue) }
}
