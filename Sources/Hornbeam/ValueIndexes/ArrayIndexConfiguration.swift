// SPDX-License-Identifier: Apache-2.0
// Array indexes whose paths are written as text: `contacts[].phones`. The names are those of Swift properties, so such
// an index equals one by key paths.

/// An array index by the names of properties:
/// `ArrayIndexConfiguration(path: "contacts[].phones", expressions: ["type"])`.
public struct ArrayIndexConfiguration: IndexConfiguration {
    /// The path of the array: `contacts[].phones`.
    public var path: String
    /// The properties of an element that queries compare. Nil for the element itself.
    public var expressions: [String]?

    /// - Parameters:
    ///   - path: the path of the array, with `[]` after each array that contains the next one, and optionally after the
    ///     last.
    ///   - expressions: properties of its elements, with a dot before a nested property. Nil if the elements are
    ///     scalars. An empty list, or an empty name in it, is an error when the index is registered.
    public init(path: String, expressions: [String]? = nil) {
        self.path = path
        self.expressions = expressions
    }

    public func index<Entity: EntityModelProtocol>(_ name: String, of _: Entity.Type) -> any RegisteredIndex {
        NamedArrayIndex(registration: registration(name, "1", Entity.self))
    }

    func registration(_ name: String, _ version: String, _ model: any EntityModelProtocol.Type) -> IndexRegistration {
        func open<Entity: EntityModelProtocol>(_: Entity.Type) -> IndexRegistration {
            do throws(Flaw) {
                let names = try NamedArray<Entity>(self)
                let layout = ArrayIndexLayout(
                    steps: names.steps.map(\.subject), path: names.steps.map(\.label).joined(separator: "[]."),
                    components: names.components, isComputed: false)
                return layout.registration(name, version: version) { (entity: Entity) in names.values(of: entity) }
            } catch {
                let layout = ArrayIndexLayout(steps: [], path: path, components: [], isComputed: false)
                return layout.registration(name, version: version, flaw: error.text) { (_: Entity) in [] }
            }
        }
        return open(model)
    }

    /// The reason why the index is impossible.
    fileprivate struct Flaw: Error {
        let text: String
    }
}

private struct NamedArrayIndex: RegisteredIndex {
    let registration: IndexRegistration
}

/// A path of stored properties, with dots between their names.
///
/// `@unchecked Sendable`: its key path is of a stored property and captures nothing.
private struct NamedProperty: @unchecked Sendable {
    let label: String
    let type: any Any.Type
    let subject: ComputedSubject
    /// The entity's property at its beginning, or nil if it begins at an element.
    private let column: AnyKeyPath?
    private let names: [String]

    /// - Parameter path: the whole path, for errors.
    init<Entity: EntityModelProtocol>(
        _ label: String, of root: any Any.Type, in path: String, _: Entity.Type
    ) throws(ArrayIndexConfiguration.Flaw) {
        var names = label.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var type = root
        var column: AnyKeyPath?
        if root == Entity.self, let first = names.first {
            let properties = Entity.entityShape.properties
            guard let found = properties.first(where: { $0.name == first }) else {
                throw Self.unknown(first, of: root, among: properties.map(\.name), in: path)
            }
            column = found.keyPath
            type = Swift.type(of: found.keyPath).valueType
            names.removeFirst()
        }
        for name in names {
            let known = PropertyNames.all(of: type)
            guard let found = known.first(where: { $0.name == name }) else {
                throw Self.unknown(name, of: type, among: known.map(\.name), in: path)
            }
            type = found.type
        }
        self.label = label
        self.type = type
        self.column = column
        self.names = names
        subject =
            if let column, names.isEmpty { ComputedSubject(stored: column) } else { ComputedSubject(label, of: root) }
    }

    private static func unknown(
        _ name: String, of type: any Any.Type, among known: [String], in path: String
    ) -> ArrayIndexConfiguration.Flaw {
        if let array = type as? any ArrayType.Type,
            PropertyNames.all(of: array.elementType).contains(where: { $0.name == name })
        {
            return .init(text: "“\(name)” in “\(path)” is a property of elements: write [] after their array")
        }
        let nearest = NearestName.hint(name, among: known).map { " (\($0))" } ?? ""
        return .init(
            text: "“\(path)”: \(type) has no stored property “\(name)”\(nearest); it has "
                + (known.isEmpty ? "none that is known by its name: use key paths" : known.joined(separator: ", ")))
    }

    func value(in root: Any) -> Any? {
        var value: Any? = column.map { root[keyPath: $0] } ?? root
        for name in names { value = value.flatMap { PropertyNames.value(name, of: $0) } }
        return value
    }
}

/// A path by names, and the expressions of its elements.
private struct NamedArray<Entity: EntityModelProtocol>: Sendable {
    typealias Flaw = ArrayIndexConfiguration.Flaw
    /// The arrays, each as a property of the element of the one before.
    let steps: [NamedProperty]
    let components: [ElementIndex.Component]
    /// The expressions. Empty for the elements themselves.
    private let expressions: [NamedProperty]

    init(_ configuration: ArrayIndexConfiguration) throws(Flaw) {
        let path = configuration.path
        guard !path.isEmpty else { throw Flaw(text: "its path is empty: name the property that is an array") }
        var names = path.split(separator: "[]", omittingEmptySubsequences: false).map(String.init)
        if names.count > 1, names.last == "" { names.removeLast() }
        var steps: [NamedProperty] = []
        var type: any Any.Type = Entity.self
        for (place, name) in names.enumerated() {
            let step = place == 0 ? name : String(name.dropFirst())
            guard !step.isEmpty, place == 0 || name.hasPrefix(".") else {
                throw Flaw(text: "its path “\(path)” is not valid: write one such as contacts[].phones")
            }
            let property = try NamedProperty(step, of: type, in: path, Entity.self)
            guard let array = property.type as? any ArrayType.Type else {
                throw Flaw(text: "“\(step)” in “\(path)” is no array but \(property.type)")
            }
            steps.append(property)
            type = array.elementType
        }
        self.steps = steps
        guard let names = configuration.expressions else {
            components = [try Self.itself(type, path)]
            expressions = []
            return
        }
        expressions = try Self.expressions(names, of: type, path)
        var components: [ElementIndex.Component] = []
        for expression in expressions {
            guard let column = Self.columnType(expression.type) else {
                throw Flaw(
                    text: "“\(expression.label)”, \("\(expression.type)".withArticle), has no order: take a part of it")
            }
            components.append(
                ElementIndex.Component(subject: expression.subject, label: expression.label, type: column))
        }
        self.components = components
    }

    private static func itself(_ element: any Any.Type, _ path: String) throws(Flaw) -> ElementIndex.Component {
        guard let scalar = columnType(element) else {
            let known = PropertyNames.all(of: element).map(\.name).joined(separator: ", ")
            throw Flaw(
                text: "the elements of “\(path)” are no scalars: name the properties of \(element) that queries "
                    + "compare; it has \(known)")
        }
        return ElementIndex.Component(subject: nil, label: "", type: scalar)
    }

    private static func expressions(
        _ names: [String], of element: any Any.Type, _ path: String
    ) throws(Flaw) -> [NamedProperty] {
        guard !names.isEmpty, names.allSatisfy({ !$0.isEmpty }) else {
            throw Flaw(text: "its expressions \(names) are empty: name properties, or give nil for scalars")
        }
        guard columnType(element) == nil else {
            throw Flaw(
                text: "the elements of “\(path)” are scalars, which have no “\(names[0])”: give no expressions")
        }
        var properties: [NamedProperty] = []
        for name in names { properties.append(try NamedProperty(name, of: element, in: name, Entity.self)) }
        return properties
    }

    private static func columnType(_ type: any Any.Type) -> ColumnType? {
        func open<Property>(_: Property.Type) -> ColumnType? { ComputedComponent.type(of: Property.self) }
        return _openExistential(type, do: open)
    }

    /// Returns the values of an entity's elements, each in the order of the expressions.
    func values(of entity: Entity) -> [[Value]] {
        var elements: [Any] = [entity]
        for step in steps {
            elements = elements.flatMap { (step.value(in: $0) as? any ArrayType)?.anyElements ?? [] }
        }
        return elements.map { element in
            if expressions.isEmpty { return [Self.value(element)] }
            return expressions.map { $0.value(in: element).map(Self.value) ?? .null }
        }
    }

    private static func value(_ value: Any) -> Value {
        func open<Property>(_ value: Property) -> Value { literal(value) ?? .null }
        return _openExistential(value, do: open)
    }
}
