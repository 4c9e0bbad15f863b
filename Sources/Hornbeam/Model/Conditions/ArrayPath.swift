// SPDX-License-Identifier: Apache-2.0
// Paths to the elements of arrays within entities: an array property, an array property of its elements, and so on to
// any depth.

/// The elements of an array of entities, or of arrays within arrays:
/// `ArrayPath(\Person.contacts).each(\.phones)` are the phones of all contacts of a person, in their order.
///
/// An optional array that is nil has no elements.
public struct ArrayPath<Entity: EntityModelProtocol, Element: Sendable>: Sendable {
    /// The array of the entity, the array of its elements, and so on.
    let steps: [ComputedSubject]
    /// The path by names: `contacts[].phones`.
    let label: String
    let elements: @Sendable (Entity) -> [Element]

    private init(_ steps: [ComputedSubject], _ label: String, _ elements: @escaping @Sendable (Entity) -> [Element]) {
        self.steps = steps
        self.label = label
        self.elements = elements
    }

    /// Makes the path to the elements of a property.
    public init(_ keyPath: KeyPath<Entity, [Element]>) {
        self.init([ComputedSubject(keyPath)], keyPath.path) { [keyPath = keyPath.shared] in $0[keyPath: keyPath] }
    }

    /// Makes the path to the elements of an optional property.
    public init(_ keyPath: KeyPath<Entity, [Element]?>) {
        self.init([ComputedSubject(keyPath)], keyPath.path) { [keyPath = keyPath.shared] in
            $0[keyPath: keyPath] ?? []
        }
    }

    /// Returns the path to the elements of an array in each element.
    public func each<Next: Sendable>(_ keyPath: KeyPath<Element, [Next]>) -> ArrayPath<Entity, Next> {
        let (elements, keyPath) = (elements, keyPath.shared)
        return ArrayPath<Entity, Next>(steps + [ComputedSubject(keyPath)], "\(label)[].\(keyPath.path)") { entity in
            elements(entity).flatMap { $0[keyPath: keyPath] }
        }
    }

    /// Returns the path to the elements of an optional array in each element.
    public func each<Next: Sendable>(_ keyPath: KeyPath<Element, [Next]?>) -> ArrayPath<Entity, Next> {
        let (elements, keyPath) = (elements, keyPath.shared)
        return ArrayPath<Entity, Next>(steps + [ComputedSubject(keyPath)], "\(label)[].\(keyPath.path)") { entity in
            elements(entity).flatMap { $0[keyPath: keyPath] ?? [] }
        }
    }
}
