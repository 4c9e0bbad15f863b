// SPDX-License-Identifier: Apache-2.0
// The value of one relation in an entity. The type parameters are the kind of the relation and determine its possible
// values: a value that makes no sense doesn't compile. A relation never reads the store by itself.

/// Whether a relation has another side.
public protocol DirectionalityProtocol: Sendable {}

/// Whether a relation has one target or many.
public protocol CardinalityProtocol: Sendable {
    associatedtype Entity
    /// The property's type without its optionality.
    associatedtype Value
    static var isToMany: Bool { get }
    static func value(of entities: [Entity]) -> Value?
}

/// Whether a relation may be set to null.
public protocol ConstraintsProtocol: Sendable {
    static var isRequired: Bool { get }
}

/// The parts of a relation's kind.
public enum Relations {
    /// The target has no property for the other side.
    public enum OneWay: DirectionalityProtocol {}
    /// The target has the other side as a property. Both sides always agree.
    public enum Mutual: DirectionalityProtocol {}

    /// The relation leads to at most one entity.
    public enum ToOne<Entity>: CardinalityProtocol {
        public static var isToMany: Bool { false }
        public static func value(of entities: [Entity]) -> Entity? { entities.first }
    }

    /// The relation leads to any number of entities.
    public enum ToMany<Entity>: CardinalityProtocol {
        public static var isToMany: Bool { true }
        public static func value(of entities: [Entity]) -> [Entity]? { entities }
    }

    /// The relation may be set to null.
    public struct Optional: ConstraintsProtocol {
        public static var isRequired: Bool { false }
    }

    /// The relation can't be set to null. These are to-one relations that are declared as required, and all to-many
    /// relations, which are empty instead.
    public struct Required: ConstraintsProtocol {
        public static var isRequired: Bool { true }
    }

    /// The effect of deleting an entity on the entities related to it.
    public typealias DeleteRule = RelationDescription.DeleteRule
}

// The arguments of `@Relationship(.required)`.

extension ConstraintsProtocol where Self == Relations.Required {
    public static var required: Self { Self() }
}

extension ConstraintsProtocol where Self == Relations.Optional {
    /// The constraint of a to-one relation that declares none.
    public static var optional: Self { Self() }
}

public typealias OneWayRelation<E: EntityModelProtocol, C: CardinalityProtocol, K: ConstraintsProtocol> =
    Relation<E, Relations.OneWay, C, K>
public typealias MutualRelation<E: EntityModelProtocol, C: CardinalityProtocol, K: ConstraintsProtocol> =
    Relation<E, Relations.Mutual, C, K>
public typealias ToOneRelation<E: EntityModelProtocol, D: DirectionalityProtocol, K: ConstraintsProtocol> =
    Relation<E, D, Relations.ToOne<E>, K>
public typealias ToManyRelation<E: EntityModelProtocol, D: DirectionalityProtocol, K: ConstraintsProtocol> =
    Relation<E, D, Relations.ToMany<E>, K>

// Relations by their kind, for signatures: `init(id: Int, podcast: RequiredToOne<Podcast>)`. Names without `OneWay` are
// mutual relations.

/// `@Relationship(inverse: \.episodes) var podcast: Podcast?`
public typealias ToOne<E: EntityModelProtocol> = Relation<E, Relations.Mutual, Relations.ToOne<E>, Relations.Optional>
/// `@Relationship(.required, inverse: \.episodes) var podcast: Podcast?`
public typealias RequiredToOne<E: EntityModelProtocol> =
    Relation<E, Relations.Mutual, Relations.ToOne<E>, Relations.Required>
/// `@Relationship(inverse: \.podcast) var episodes: [Episode]?`
public typealias ToMany<E: EntityModelProtocol> = Relation<E, Relations.Mutual, Relations.ToMany<E>, Relations.Required>
/// `@Relationship() var cover: Image?`
public typealias OneWayToOne<E: EntityModelProtocol> =
    Relation<E, Relations.OneWay, Relations.ToOne<E>, Relations.Optional>
/// `@Relationship(.required) var cover: Image?`
public typealias OneWayRequiredToOne<E: EntityModelProtocol> =
    Relation<E, Relations.OneWay, Relations.ToOne<E>, Relations.Required>
/// `@Relationship() var images: [Image]?`
public typealias OneWayToMany<E: EntityModelProtocol> =
    Relation<E, Relations.OneWay, Relations.ToMany<E>, Relations.Required>

/// The value of a relation in an entity: unset, explicitly null, ids, or whole entities.
public struct Relation<
    Entity: EntityModelProtocol, Directionality: DirectionalityProtocol, Cardinality: CardinalityProtocol,
    Constraints: ConstraintsProtocol
>: Sendable {
    @usableFromInline
    enum Content: Sendable {
        /// Unset: saving leaves the links unchanged.
        case none
        /// Saving removes the link.
        case null
        case ids([Entity.ID])
        case entities([Entity])
    }

    @usableFromInline let content: Content
    /// Whether saving adds to the links instead of replacing them.
    public let isSlice: Bool
    /// Whether its entities are incomplete: saving merges them by their fragment strategy.
    public let isFragment: Bool

    @inlinable @inline(__always)
    init(_ content: Content, isSlice: Bool = false, isFragment: Bool = false) {
        self.content = content
        self.isSlice = isSlice
        self.isFragment = isFragment
    }

    /// The relation is unset: saving leaves its links unchanged.
    @inlinable @inline(__always)
    public static var none: Self { Self(.none) }

    /// Whether the relation is unset.
    public var isNone: Bool {
        RelationReads.note()
        if case .none = content { return true }
        return false
    }

    /// Whether it has ids without entities.
    public var isId: Bool {
        RelationReads.note()
        if case .ids = content { return true }
        return false
    }

    /// The related entities, or nil if they were neither loaded nor set.
    public var entities: [Entity]? {
        RelationReads.note()
        if case .entities(let entities) = content { return entities }
        return nil
    }

    /// The number of ids or entities in this value. In a filter or a sort, as `\.$messages.count`, it is the number of
    /// stored entities that the relation leads to, in O(log n) if all linked entities are stored.
    public var count: Int { linkedIds?.count ?? 0 }

    /// The ids, or the ids of the entities. Nil if the relation is unset.
    var linkedIds: [Entity.ID]? {
        RelationReads.note()
        return switch content {
        case .none: nil
        case .null: []
        case .ids(let ids): ids
        case .entities(let entities): entities.map { $0.id }
        }
    }

    /// Makes the relation unset.
    public mutating func normalize() {
        self = .none
    }
}

extension Relation where Cardinality == Relations.ToOne<Entity> {
    /// Links to the entity with this id, stored or not.
    @inlinable
    public static func id(_ id: Entity.ID) -> Self { Self(.ids([id])) }
    /// Links to the entity and saves it too.
    public static func relation(_ entity: Entity) -> Self { Self(.entities([entity])) }
    /// Links to the entity and merges its properties into the stored one.
    public static func fragment(_ entity: Entity) -> Self { Self(.entities([entity]), isFragment: true) }

    /// The id of the related entity, or nil if the relation is unset or null.
    public var id: Entity.ID? { linkedIds?.first }
}

extension Relation where Cardinality == Relations.ToOne<Entity>, Constraints == Relations.Optional {
    /// Removes the link.
    public static var null: Self { Self(.null) }
}

extension Relation where Cardinality == Relations.ToMany<Entity> {
    /// Links to exactly the entities with these ids, stored or not.
    public static func ids(_ ids: [Entity.ID]) -> Self { Self(.ids(ids)) }
    /// Links to exactly these entities and saves them too.
    public static func relation(_ entities: [Entity]) -> Self { Self(.entities(entities)) }
    /// Links to exactly these entities and merges their properties into the stored ones.
    public static func fragment(_ entities: [Entity]) -> Self { Self(.entities(entities), isFragment: true) }
    /// Adds links to the entities with these ids, stored or not.
    public static func appending(ids: [Entity.ID]) -> Self { Self(.ids(ids), isSlice: true) }
    /// Adds links to these entities and saves them too.
    public static func appending(relation entities: [Entity]) -> Self { Self(.entities(entities), isSlice: true) }
    /// Adds links to these entities and merges their properties into the stored ones.
    public static func appending(fragment entities: [Entity]) -> Self {
        Self(.entities(entities), isSlice: true, isFragment: true)
    }

    /// The ids of the related entities, or nil if the relation is unset.
    public var ids: [Entity.ID]? { linkedIds }
}

/// Two relations are equal if they link to equal ids. The related entities don't count, and an unset relation equals
/// one without links.
extension Relation: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        (left.linkedIds ?? []) == (right.linkedIds ?? [])
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(linkedIds ?? [])
    }
}
