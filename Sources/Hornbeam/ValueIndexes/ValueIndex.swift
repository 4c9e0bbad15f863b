// SPDX-License-Identifier: Apache-2.0
// Value indexes: indexes like those of `@Index`, made at run time under a name, optionally over some entities only and
// over computed values. Docs/indexes.md has the rules.

import FoundationEssentials
import HornbeamKeys

/// An index of the entities of a type by one property or several, each ascending or `.desc`, that queries use just as
/// those which the model declares.
///
///     try database.register(ValueIndex("TypeName", \Hotel.type, \.name))
///     try database.register(ValueIndex("open", \Order.due, where: \Order.isOpen == true))
///
/// With `where` it has entries for the entities alone that the condition holds for, and queries use it that ask for no
/// others: those with the same condition, or with one that is seen to imply it (`age > 30` implies `age > 18`, and
/// `age != nil`). The condition is on stored properties, by comparisons, lists of values, parts of strings, elements of
/// arrays, and `&&`, `||` and `!` of these.
///
/// A property that isn't stored (computed, or nested in a stored one) is worked out for each entity when it is saved.
/// It must give the same for the same entity, always; `version` has to change when its code does. Queries that compare
/// just this property use the index, and sorts by it. It may be `.desc`; a sort by its `.asc` doesn't
/// recognise it then.
///
/// With `collation` texts among its properties are in its order, and equal as it says; comparisons and sorts that name
/// the same collation use the index, others don't.
///
/// The file knows what the index is: but for computed properties it is kept by all programs, also by those that never
/// heard of it, from one opening to the next, until it is dropped by `deleteIndex(withName:)`.
///
/// An entry takes the bytes of its properties and 8 more. Each save that changes one of them writes two entries.
public struct ValueIndex<Entity: EntityModelProtocol>: RegisteredIndex {
    public let registration: IndexRegistration

    /// - Parameters:
    ///   - name: the name of the index, 1 to 200 bytes. No other registered index of the database may have it.
    ///   - keyPaths: stored properties of types with an order, `.desc` for the reverse one, or computed ones.
    ///   - collation: the order of stored texts. Any but `.binary` needs at least one such text among the properties.
    ///   - condition: holds for the entities that have an entry; nil for all.
    ///   - version: the version of computed properties.
    public init<each Property: Sendable>(
        _ name: String, _ keyPaths: repeat KeyPath<Entity, each Property>,
        collation: TextCollation = .binary, where condition: Predicate<Entity>? = nil, version: String = "1"
    ) {
        var components: [ValueIndexDefinition.Component] = []
        var flaws: [String] = []
        for keyPath in repeat each keyPaths {
            if let component = Self.component(keyPath) {
                components.append(component)
            } else {
                flaws.append("\(keyPath.label) has no order: take a part of it that has one")
            }
        }
        let collated = ValueIndexDefinition.collated(components, by: collation, Entity.entityShape.description)
        if collated == nil {
            flaws.append("its collation \(collation) is one of texts, and none of its properties is stored as one")
        }
        let stored = condition.map { StoredCondition($0.filter, Entity.entityShape.description) }
        if let condition, case .some(.none) = stored {
            flaws.append(
                "its condition “\(condition.filter.text(Entity.entityShape.description))” is not one on stored "
                    + "properties alone: a file could not keep it")
        }
        self.init(name, collated ?? components, stored.flatMap { $0 }, version: version, flaws: flaws)
    }

    init(
        _ name: String, _ components: [ValueIndexDefinition.Component], _ condition: StoredCondition?,
        version: String = "1", flaws: [String] = []
    ) {
        let type = Entity.entityShape.description
        let definition = ValueIndexDefinition(components, condition: condition)
        registration = definition.registration(
            name, version: version, Entity.entityName, model: ObjectIdentifier(Entity.self),
            flaw: flaws.first ?? definition.flaw(for: type))
    }

    /// Returns the component for a property, or nil if it can't be one.
    private static func component<Property: Sendable>(
        _ keyPath: KeyPath<Entity, Property>
    ) -> ValueIndexDefinition.Component? {
        let shape = Entity.entityShape
        if let place = shape.column(keyPath) {
            return .property(shape.description.columns[place.number].name, descending: place.descending)
        }
        return ComputedComponent.part(keyPath).map { .computed($0.component, descending: $0.descending) }
    }
}
