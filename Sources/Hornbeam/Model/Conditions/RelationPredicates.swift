// SPDX-License-Identifier: Apache-2.0
// Conditions on the entities that a relation leads to. Links to entities that aren't stored don't count. Where few
// related entities pass, the planner comes from them along the relation's other side.

extension Predicate {
    /// At least one related entity passes: `.any(\.$messages, where: \.text == "hello")`.
    public static func any<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, where predicate: Predicate<Target>
    ) -> Self { testing(.any, keyPath, predicate) }

    /// There is a related entity.
    public static func any<Target, D, C, K>(_ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>) -> Self {
        testing(.any, keyPath, Predicate<Target>(.all))
    }

    /// Every related entity passes. True where there are none.
    public static func all<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, where predicate: Predicate<Target>
    ) -> Self { testing(.all, keyPath, predicate) }

    /// No related entity passes. True where there are none.
    public static func none<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, where predicate: Predicate<Target>
    ) -> Self { testing(.none, keyPath, predicate) }

    /// There is no related entity.
    public static func none<Target, D, C, K>(_ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>) -> Self {
        testing(.none, keyPath, Predicate<Target>(.all))
    }

    /// The one related entity passes; false where there is none: `.has(\.$author, \.name == "Bob")`.
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

extension DeclaredRelation {
    /// A test of the stored entities that it leads to.
    func linkTest(_ quantifier: LinkTest.Quantifier, _ filter: Filter) -> Filter {
        .links(LinkTest(quantifier, description.name, of: access.target(), filter))
    }
}
