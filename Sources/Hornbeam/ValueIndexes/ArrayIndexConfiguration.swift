// SPDX-License-Identifier: Apache-2.0
// Array indexes whose paths are written as text: `contacts[].phones`. The names are those of Swift's properties, so
// such an index is the same as one by key paths, and the same queries use it.

/// An array index by the names of properties: `ArrayIndexConfiguration(path: "contacts[].phones", expressions: ["type"])`.
public struct ArrayIndexConfiguration: IndexConfiguration {
    public var path: String
    public var expressions: [String]?

    /// - Parameters:
    ///   - path: of the array, with `[]` behind each array that the next one is in; behind the last one it may stand too.
    ///   - expressions: properties of its elements, with a dot before what is nested in one; nil where the elements
    ///     are scalars. Neither an empty list nor an empty name is an expression.
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
                    steps: names.steps.map { ComputedSubject(stored: $0) }, path: names.label,
                    components: names.expressions, isComputed: false)
                return layout.registration(name, version: version) { (entity: Entity) in names.values(of: entity) }
            } catch {
                let layout = ArrayIndexLayout(steps: [], path: path, components: [], isComputed: false)
                return layout.registration(name, version: version, flaw: error.text) { (_: Entity) in [] }
            }
        }
        return open(model)
    }

    /// Why there can't be such an index.
    fileprivate struct Flaw: Error {
        let text: String
    }
}

private struct NamedArrayIndex: RegisteredIndex {
    let registration: IndexRegistration
}

/// A path by names, and what is taken of its elements, as properties of Swift's types.
///
/// `@unchecked Sendable`: its key paths are of stored properties, which hold nothing.
private struct NamedArray<Entity: EntityModelProtocol>: @unchecked Sendable {
    typealias Flaw = ArrayIndexConfiguration.Flaw
    /// The arrays, each from the element of the one before.
    let steps: [AnyKeyPath]
    let expressions: [ElementIndex.Component]

    init(_ configuration: ArrayIndexConfiguration) throws(Flaw) {
        let path = configuration.path
        guard !path.isEmpty else { throw Flaw(text: "its path is empty: name the property that is an array") }
        var names = path.split(separator: "[]", omittingEmptySubsequences: false).map(String.init)
        if names.count > 1, names.last == "" { names.removeLast() }
        var steps: [AnyKeyPath] = []
        var type: any Any.Type = Entity.self
        for (place, name) in names.enumerated() {
            let step = place == 0 ? name : String(name.dropFirst())
            guard !step.isEmpty, place == 0 || name.hasPrefix(".") else {
                throw Flaw(text: "its path “\(path)” is none: write contacts[].phones")
            }
            let (keyPath, found) = try Self.property(step, of: type, in: path)
            guard let array = found as? any ArrayType.Type else {
                throw Flaw(text: "“\(step)” in “\(path)” is no array but \(found)")
            }
            steps.append(keyPath)
            type = array.elementType
        }
        self.steps = steps
        expressions = try Self.expressions(configuration, of: type)
    }

    /// As the key paths say it.
    var label: String { steps.map(\.path).joined(separator: "[].") }

    private static func expressions(
        _ configuration: ArrayIndexConfiguration, of element: any Any.Type
    ) throws(Flaw) -> [ElementIndex.Component] {
        let scalar = columnType(element)
        guard let names = configuration.expressions else {
            guard let scalar else {
                let known = PropertyNames.all(of: element).map(\.name).joined(separator: ", ")
                throw Flaw(
                    text: "the elements of “\(configuration.path)” are no scalars: name the properties of \(element) "
                        + "that queries compare, of \(known)")
            }
            return [ElementIndex.Component(subject: nil, label: "", type: scalar)]
        }
        guard !names.isEmpty, names.allSatisfy({ !$0.isEmpty }) else {
            throw Flaw(text: "its expressions \(names) say nothing: name properties, or give nil for scalars")
        }
        guard scalar == nil else {
            throw Flaw(
                text: "the elements of “\(configuration.path)” are scalars, which have no “\(names[0])”: give no "
                    + "expressions")
        }
        var components: [ElementIndex.Component] = []
        for name in names {
            let (keyPath, type) = try property(name, of: element, in: name)
            guard let column = columnType(type) else {
                throw Flaw(text: "“\(name)”, a \(type), has no order: take a part of it that has one")
            }
            let subject = ComputedSubject(stored: keyPath)
            components.append(ElementIndex.Component(subject: subject, label: keyPath.path, type: column))
        }
        return components
    }

    private static func columnType(_ type: any Any.Type) -> ColumnType? {
        func open<Property>(_: Property.Type) -> ColumnType? { ComputedComponent.type(of: Property.self) }
        return _openExistential(type, do: open)
    }

    /// The property that names with dots between them lead to, and its type.
    private static func property(
        _ names: String, of type: any Any.Type, in path: String
    ) throws(Flaw) -> (AnyKeyPath, any Any.Type) {
        var found: AnyKeyPath?
        var type = type
        for name in names.split(separator: ".", omittingEmptySubsequences: false) {
            let known: [(name: String, keyPath: AnyKeyPath, type: any Any.Type)] =
                type == Entity.self
                ? Entity.entityShape.properties.map { ($0.name, $0.keyPath, Swift.type(of: $0.keyPath).valueType) }
                : PropertyNames.all(of: type)
            if let next = known.first(where: { $0.name == name }) {
                found = found.flatMap { $0.appending(path: next.keyPath) } ?? next.keyPath
                type = next.type
                continue
            }
            if let array = type as? any ArrayType.Type,
                PropertyNames.all(of: array.elementType).contains(where: { $0.name == name })
            {
                throw Flaw(text: "“\(name)” in “\(path)” is a property of elements: write [] behind their array")
            }
            let names = known.map(\.name)
            let nearest = NearestName.hint(String(name), among: names).map { " (\($0))" } ?? ""
            throw Flaw(
                text: "“\(path)”: \(type) has no stored property “\(name)”\(nearest); it has "
                    + (names.isEmpty ? "none" : names.joined(separator: ", ")))
        }
        guard let found else { throw Flaw(text: "“\(path)” names no property") }
        return (found, type)
    }

    /// What the elements of an entity have, each in the order of the expressions.
    func values(of entity: Entity) -> [[Value]] {
        var elements: [Any] = [entity]
        for step in steps {
            elements = elements.flatMap { element -> [Any] in
                guard let array = element[keyPath: step] as? any ArrayType else { return [] }
                return array.anyElements
            }
        }
        return elements.map { element in
            expressions.map { expression in
                guard let keyPath = expression.subject?.keyPath else { return Self.value(element) }
                return element[keyPath: keyPath].map { Self.value($0) } ?? .null
            }
        }
    }

    private static func value(_ value: Any) -> Value {
        func open<Property>(_ value: Property) -> Value { literal(value) ?? .null }
        return _openExistential(value, do: open)
    }
}
