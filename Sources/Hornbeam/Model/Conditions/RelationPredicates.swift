// SPDX-License-Identifier: Apache-2.0
// Conditions on the entities that a relation leads to. Links to entities that aren't stored don't count. If few related
// entities pass, the planner starts at them and follows the relation's other side.

extension Predicate {
    /// Selects entities with at least one related entity that passes: `.any(\.$messages, where: \.text == "hello")`.
    public static func any<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, where predicate: Predicate<Target>
    ) -> Self { testing(.any, keyPath, predicate) }

    /// Selects entities that have a related entity.
    public static func any<Target, D, C, K>(_ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>) -> Self {
        testing(.any, keyPath, Predicate<Target>(.all))
    }

    /// Selects entities whose related entities all pass, including those that have none.
    public static func all<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, where predicate: Predicate<Target>
    ) -> Self { testing(.all, keyPath, predicate) }

    /// Selects entities with no related entity that passes, including those that have none.
    public static func none<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, where predicate: Predicate<Target>
    ) -> Self { testing(.none, keyPath, predicate) }

    /// Selects entities without a related entity.
    public static func none<Target, D, C, K>(_ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>) -> Self {
        testing(.none, keyPath, Predicate<Target>(.all))
    }

    /// Selects entities whose one related entity passes: `.has(\.$author, \.name == "Bob")`. False if there is none.
    public static func has<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToOneRelation<Target, D, K>>, _ predicate: Predicate<Target>
    ) -> Self { testing(.any, keyPath, predicate) }

    private static func testing<Target, D, C, K>(
        _ quantifier: LinkTest.Quantifier, _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>,
        _ predicate: Predicate<Target>
    ) -> Self {
        do {
            return Self(try Entity.entityShape.relation(keyPath).linkTest(quantifier, predicate.filter.asLinked))
        } catch {
            return Self(.opaque(label: "\(keyPath)") { _ in throw error })
        }
    }
}

// MARK: - The one entity itself

// Entities are compared by their ids: other properties don't count. The operators for Equatable entities exist because
// the compiler would otherwise choose none: those of optional properties fit equally well.

/// Selects entities whose relation leads to the entity with this one's id, or to none if it is nil: `\.author == bob`.
/// A link to an entity that isn't stored counts as none.
public func == <Entity: EntityModelProtocol, Target: EntityModelProtocol>(
    keyPath: KeyPath<Entity, Target?>, entity: Target
) -> Predicate<Entity> {
    .comparing(shown: keyPath, .equal, entity)
}

public func == <Entity: EntityModelProtocol, Target: EntityModelProtocol>(
    keyPath: KeyPath<Entity, Target?>, entity: Target?
) -> Predicate<Entity> {
    .comparing(shown: keyPath, .equal, entity)
}

public func == <Entity: EntityModelProtocol, Target: EntityModelProtocol & Equatable>(
    keyPath: KeyPath<Entity, Target?>, entity: Target?
) -> Predicate<Entity> {
    .comparing(shown: keyPath, .equal, entity)
}

public func != <Entity: EntityModelProtocol, Target: EntityModelProtocol>(
    keyPath: KeyPath<Entity, Target?>, entity: Target
) -> Predicate<Entity> {
    .comparing(shown: keyPath, .notEqual, entity)
}

public func != <Entity: EntityModelProtocol, Target: EntityModelProtocol>(
    keyPath: KeyPath<Entity, Target?>, entity: Target?
) -> Predicate<Entity> {
    .comparing(shown: keyPath, .notEqual, entity)
}

public func != <Entity: EntityModelProtocol, Target: EntityModelProtocol & Equatable>(
    keyPath: KeyPath<Entity, Target?>, entity: Target?
) -> Predicate<Entity> {
    .comparing(shown: keyPath, .notEqual, entity)
}

/// Selects entities whose relation leads to this entity: `\.$author == bob`.
public func == <Entity: EntityModelProtocol, Target, D, K>(
    keyPath: KeyPath<Entity, ToOneRelation<Target, D, K>>, entity: Target
) -> Predicate<Entity> {
    .comparing(value: keyPath, .equal, entity.id.columnValue)
}

public func != <Entity: EntityModelProtocol, Target, D, K>(
    keyPath: KeyPath<Entity, ToOneRelation<Target, D, K>>, entity: Target
) -> Predicate<Entity> {
    .comparing(value: keyPath, .notEqual, entity.id.columnValue)
}

/// Selects entities whose relation leads to the entity with this id, or to none if it is nil: `\.$author == "bob"`,
/// `\.$author == bob.id`.
public func == <Entity: EntityModelProtocol, Target, D, K>(
    keyPath: KeyPath<Entity, ToOneRelation<Target, D, K>>, id: Target.ID?
) -> Predicate<Entity> {
    .comparing(value: keyPath, .equal, id?.columnValue)
}

public func != <Entity: EntityModelProtocol, Target, D, K>(
    keyPath: KeyPath<Entity, ToOneRelation<Target, D, K>>, id: Target.ID?
) -> Predicate<Entity> {
    .comparing(value: keyPath, .notEqual, id?.columnValue)
}

/// Selects entities whose relation leads to the target of this value. Only ids count: `\.$author == .id("bob")`,
/// `\.$author == .null`.
public func == <Entity: EntityModelProtocol, Target, D, K>(
    keyPath: KeyPath<Entity, ToOneRelation<Target, D, K>>, value: ToOneRelation<Target, D, K>
) -> Predicate<Entity> {
    .comparing(value: keyPath, .equal, value.id?.columnValue)
}

public func != <Entity: EntityModelProtocol, Target, D, K>(
    keyPath: KeyPath<Entity, ToOneRelation<Target, D, K>>, value: ToOneRelation<Target, D, K>
) -> Predicate<Entity> {
    .comparing(value: keyPath, .notEqual, value.id?.columnValue)
}

extension Predicate {
    /// - Parameter keyPath: the key path of a to-one relation.
    fileprivate static func comparing(value keyPath: AnyKeyPath, _ comparison: Comparison, _ id: Value?) -> Self {
        do throws(HornbeamError) {
            return comparing(idOf: try Entity.entityShape.relation(keyPath), comparison, id)
        } catch {
            return Self(.refused(error))
        }
    }

    fileprivate static func comparing<Target: EntityModelProtocol>(
        shown keyPath: KeyPath<Entity, Target?>, _ comparison: Comparison, _ entity: Target?
    ) -> Self {
        if let relation = Entity.entityShape.shownRelation(keyPath) {
            return comparing(idOf: relation, comparison, entity?.id.columnValue)
        }
        let id = entity?.id
        return testing(keyPath, label: "\(keyPath.label) \(comparison.rawValue) \(id.map { "\($0)" } ?? "nil")") {
            ($0?.id == id) == (comparison == .equal)
        }
    }
}

extension DeclaredRelation {
    /// Returns a test of the stored entities that the relation leads to.
    func linkTest(_ quantifier: LinkTest.Quantifier, _ filter: Filter) -> Filter {
        .links(LinkTest(quantifier, description.name, of: access.target(), filter))
    }
}
