// SPDX-License-Identifier: Apache-2.0
// Finds properties by their names, for paths that are written as text: `contacts[].phones`. Swift's runtime knows the
// stored properties of each type, so a path by names means the same as one by key paths.

@_spi(Reflection) import Swift

package enum PropertyNames {
    /// The stored properties of a type, in their order; empty for a type with a custom mirror.
    package static func all(of type: any Any.Type) -> [(name: String, type: any Any.Type)] {
        if type is any CustomReflectable.Type { return [] }
        var found: [(name: String, type: any Any.Type)] = []
        // Names instead of key paths, because the runtime's key paths can't be joined.
        _ = _forEachField(of: type) { name, _, type, _ in
            found.append((String(cString: name), type))
            return true
        }
        return found
    }

    /// Returns the content of a stored property of a value.
    package static func value(_ name: String, of value: Any) -> Any? {
        Mirror(reflecting: value).children.first { $0.label == name }?.value
    }
}

extension AnyKeyPath {
    /// The path as names: `address.city`. A property that isn't stored has no name at run time.
    package var path: String {
        let text = "\(self)"
        guard !text.contains("<"), let dot = text.firstIndex(of: "."), text.hasPrefix("\\") else {
            return "computed \(Self.valueType) of \(Self.rootType)"
        }
        let root = "\\\(Self.rootType)."
        return String(text.hasPrefix(root) ? text.dropFirst(root.count) : text[dot...].dropFirst())
    }

    /// Whether the path can be found by its names.
    package var isNamed: Bool { !path.hasPrefix("computed ") }
}

/// The element type of arrays, within any number of optionals.
package protocol ArrayType {
    static var elementType: any Any.Type { get }
    /// The elements; empty for nil.
    var anyElements: [Any] { get }
}

extension Array: ArrayType {
    package static var elementType: any Any.Type { Element.self }
    package var anyElements: [Any] { map { $0 } }
}

extension Optional: ArrayType where Wrapped: ArrayType {
    package static var elementType: any Any.Type { Wrapped.elementType }
    package var anyElements: [Any] { self?.anyElements ?? [] }
}
