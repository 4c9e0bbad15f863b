// SPDX-License-Identifier: Apache-2.0
// Array indexes: an entry for each element of an array, or of arrays within arrays, by the element or by its
// properties. Equal elements of one entity have numbered entries, so the index counts elements, and removing one of two
// equal elements removes one entry.

import HornbeamPages
import HornbeamTree

/// An index of the elements of an array of entities, to any depth.
///
///     try database.register(ArrayIndex("likes", \Person.likes))
///     try database.register(ArrayIndex("phones", \Person.contacts, each: \.phones, \.type))
///     try database.register(ArrayIndex("deep", ArrayPath(\Person.contacts).each(\.phones).each(\.calls), \.minutes))
///
/// Conditions on any element (`.any(\.likes) { $0 == "travel" }`, `.array(\.likes, contains: "travel")`) and queries
/// over elements (`Person.query().unnest(\.contacts).unnest(\.phones).filter { $0.type == "mobile" }`) use it
/// automatically, like a value index: for equality with its first expressions, and for a range of the next one.
///
/// An array without elements, or nil, has no entry. A computed expression must always give one value for equal
/// elements, and `version` must change when its code does. The file describes indexes without computed expressions, so
/// that each later opening continues them.
public struct ArrayIndex<Entity: EntityModelProtocol>: RegisteredIndex {
    public let registration: IndexRegistration

    /// - Parameters:
    ///   - name: the name of the index, 1 to 200 bytes. No other registered index of the database may have it.
    ///   - path: the path from the entity to the array.
    ///   - expressions: the properties of an element that queries compare. None means the element itself.
    ///   - version: the version of computed expressions.
    public init<Element: Sendable, each Property: Sendable>(
        _ name: String, _ path: ArrayPath<Entity, Element>,
        _ expressions: repeat KeyPath<Element, each Property>, version: String = "1"
    ) {
        var found: [ElementExpression<Element>] = []
        var flaw: String?
        for expression in repeat each expressions {
            guard let made = ElementExpression(expression) else {
                flaw = "“\(expression.path)” of its elements has no order: take a part of it that has one"
                continue
            }
            found.append(made)
        }
        if found.isEmpty, flaw == nil {
            if let itself = ElementExpression<Element>.itself {
                found = [itself]
            } else {
                flaw =
                    "elements of type \(Element.self) have no order: name the properties of them that queries compare"
            }
        }
        self.init(name, path, found, version: version, flaw: flaw)
    }

    private init<Element: Sendable>(
        _ name: String, _ path: ArrayPath<Entity, Element>, _ expressions: [ElementExpression<Element>],
        version: String, flaw: String?
    ) {
        let layout = ArrayIndexLayout(
            steps: path.steps, path: path.label, components: expressions.map(\.component),
            isComputed: !path.isNamed || !expressions.allSatisfy(\.isNamed))
        let elements = path.elements
        registration = layout.registration(name, version: version, flaw: flaw) { (entity: Entity) in
            try elements(entity).map { element in try expressions.map { try $0.value(element) } }
        }
    }

    /// Makes an index of an array of the entity.
    public init<Element: Sendable, each Property: Sendable>(
        _ name: String, _ array: KeyPath<Entity, [Element]>,
        _ expressions: repeat KeyPath<Element, each Property>, version: String = "1"
    ) {
        self.init(name, ArrayPath(array), repeat each expressions, version: version)
    }

    public init<Element: Sendable, each Property: Sendable>(
        _ name: String, _ array: KeyPath<Entity, [Element]?>,
        _ expressions: repeat KeyPath<Element, each Property>, version: String = "1"
    ) {
        self.init(name, ArrayPath(array), repeat each expressions, version: version)
    }

    /// Makes an index of an array in each element of an array.
    public init<Middle: Sendable, Element: Sendable, each Property: Sendable>(
        _ name: String, _ array: KeyPath<Entity, [Middle]>,
        each nested: KeyPath<Middle, [Element]>,
        _ expressions: repeat KeyPath<Element, each Property>, version: String = "1"
    ) {
        self.init(name, ArrayPath(array).each(nested), repeat each expressions, version: version)
    }
}

extension ArrayPath {
    fileprivate var isNamed: Bool { steps.allSatisfy(\.isNamed) }
}

/// An expression of an element.
private struct ElementExpression<Element: Sendable>: Sendable {
    let component: ElementIndex.Component
    let isNamed: Bool
    let value: @Sendable (Element) throws -> Value

    /// Indexes a property of the elements. Returns nil if the property's values have no order.
    init?<Property: Sendable>(_ keyPath: KeyPath<Element, Property>) {
        guard let type = ComputedComponent.type(of: Property.self) else { return nil }
        component = ElementIndex.Component(subject: ComputedSubject(keyPath), label: keyPath.path, type: type)
        isNamed = keyPath.isNamed
        value = { [keyPath = keyPath.shared] in literal($0[keyPath: keyPath]) ?? .null }
    }

    private init(itself type: ColumnType) {
        component = ElementIndex.Component(subject: nil, label: "", type: type)
        isNamed = true
        value = { literal($0) ?? .null }
    }

    static var itself: Self? { ComputedComponent.type(of: Element.self).map { Self(itself: $0) } }
}

extension ArrayIndexLayout {
    /// Returns the configuration in the settings of a registered index, or nil if the index needs code.
    static func configuration(_ settings: [String: String]) -> ArrayIndexConfiguration? {
        guard let path = settings[Setting.path], settings[Setting.computed] == nil else { return nil }
        return ArrayIndexConfiguration(
            path: path, expressions: settings[Setting.expressions].map { $0.split(separator: ", ").map(String.init) })
    }

    /// - Parameter elements: returns the elements of an entity, each with the values of its components.
    func registration<Entity: EntityModelProtocol>(
        _ name: String, version: String, flaw: String? = nil,
        elements: @escaping @Sendable (Entity) throws -> [[Value]]
    ) -> IndexRegistration {
        let column = steps.first?.keyPath.flatMap { Entity.entityShape.column(of: $0) }
        return IndexRegistration(
            name: name, version: version, kind: Self.kind, settings: settings, reduction: nil, flaw: flaw,
            plannable: .elements { tree in
                ElementIndex(name, tree, self, column: column) { try elements(try Entity(row: $0)) }
            }
        ) { (entity: Entity, _) in
            try elements(entity).map { values in IndexEntry(key: try key(values, name), value: []) }
        }
    }
}
