// SPDX-License-Identifier: Apache-2.0
// Value indexes: indexes like those of `@Index`, but made at run time, optionally for some entities only and over
// computed values. Docs/indexes.md has the rules.

import FoundationEssentials
import HornbeamKeys

/// An index of entities by one or more properties, each ascending or `.desc`. Queries use it like the indexes that the
/// model declares.
///
///     try database.register(ValueIndex("TypeName", \Hotel.type, \.name))
///     try database.register(ValueIndex("open", \Order.due, where: \Order.isOpen == true))
///
/// With `where` it has entries only for the entities that meet the condition. A query uses it if its filter has the
/// same condition, or one that clearly implies it (`age > 30` implies `age > 18`, and `age != nil`). The condition must
/// be on stored properties: comparisons, lists of values, parts of strings, elements of arrays, and `&&`, `||` and `!`
/// of these.
///
/// A property that isn't stored (computed, or nested in a stored one) is computed for each entity when it is saved. It
/// must always give one value for equal entities, and `version` must change when its code does. Comparisons of this
/// property, and sorts by it, use the index. If it is `.desc` in the index, a sort by its `.asc` doesn't use the index.
///
/// With `collation` the index compares texts by this collation. Only comparisons and sorts with an equal collation use
/// it.
///
/// The file describes the index. If it has no computed properties, every program that opens the file keeps it up to
/// date, even one that doesn't register it, until `deleteIndex(withName:)` drops it.
///
/// An entry takes the bytes of its properties and 8 more. A save that changes one of them removes an entry and writes
/// another.
public struct ValueIndex<Entity: EntityModelProtocol>: RegisteredIndex {
    public let registration: IndexRegistration

    /// - Parameters:
    ///   - name: the name of the index, 1 to 200 bytes. No other registered index of the database may have it.
    ///   - keyPaths: properties whose types have an order, stored or computed, with `.desc` for the reverse order.
    ///   - collation: the order of stored texts. Any but `.binary` needs at least one such text among the properties.
    ///   - condition: the condition on the entities that have an entry. Nil for all entities.
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
            flaws.append("its collation \(collation) is for texts, and none of its properties is stored as a text")
        }
        let stored = condition.map { StoredCondition($0.filter, Entity.entityShape.description) }
        if let condition, case .some(.none) = stored {
            flaws.append(
                "its condition “\(condition.filter.text(Entity.entityShape.description))” can't be stored: "
                    + "compare only stored properties with values")
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
