// SPDX-License-Identifier: Apache-2.0
// Conditions on text. Several properties mean any of them; the negated forms mean none of them.

import FoundationEssentials

extension Predicate {
    public typealias StringKeyPath = any KeyPath<Entity, String> & Sendable
    public typealias OptionalStringKeyPath = any KeyPath<Entity, String?> & Sendable

    public static func string(_ keyPaths: StringKeyPath..., contains text: String, caseSensitive: Bool = false) -> Self
    {
        testing(keyPaths.map(TextProperty.init), .contains, text, caseSensitive)
    }

    public static func string(_ keyPaths: StringKeyPath..., hasPrefix text: String, caseSensitive: Bool = false) -> Self
    {
        testing(keyPaths.map(TextProperty.init), .hasPrefix, text, caseSensitive)
    }

    public static func string(_ keyPaths: StringKeyPath..., hasSuffix text: String, caseSensitive: Bool = false) -> Self
    {
        testing(keyPaths.map(TextProperty.init), .hasSuffix, text, caseSensitive)
    }

    public static func string(
        _ keyPaths: StringKeyPath..., notHavingPrefix text: String, caseSensitive: Bool = false
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasPrefix, text, caseSensitive, isNegated: true)
    }

    public static func string(
        _ keyPaths: StringKeyPath..., notHavingSuffix text: String, caseSensitive: Bool = false
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasSuffix, text, caseSensitive, isNegated: true)
    }

    /// Any word of `text`, by the full-text index over exactly these properties, or read through without one. At the
    /// head of a query the hits come best first.
    public static func string(_ keyPaths: StringKeyPath..., matches text: String) -> Self {
        matching(keyPaths.map(TextProperty.init), text)
    }

    // The same for optional properties; nil contains, begins with and matches nothing.

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., contains text: String, caseSensitive: Bool = false
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .contains, text, caseSensitive)
    }

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., hasPrefix text: String, caseSensitive: Bool = false
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasPrefix, text, caseSensitive)
    }

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., hasSuffix text: String, caseSensitive: Bool = false
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasSuffix, text, caseSensitive)
    }

    public static func string(_ keyPaths: OptionalStringKeyPath..., matches text: String) -> Self {
        matching(keyPaths.map(TextProperty.init), text)
    }

    /// A property of text: its column if it is stored as a string, and how to read it from an entity.
    private struct TextProperty: Sendable {
        let column: Int?
        let label: String
        let read: @Sendable (Entity) -> String?

        init(_ keyPath: StringKeyPath) {
            column = Self.column(keyPath)
            label = keyPath.label
            read = { $0[keyPath: keyPath] }
        }

        init(_ keyPath: OptionalStringKeyPath) {
            column = Self.column(keyPath)
            label = keyPath.label
            read = { $0[keyPath: keyPath] }
        }

        private static func column<Property>(_ keyPath: KeyPath<Entity, Property>) -> Int? {
            let shape = Entity.entityShape
            guard let place = shape.column(keyPath), shape.description.columns[place.number].type.unwrapped == .string
            else { return nil }
            return place.number
        }
    }

    private static func testing(
        _ properties: [TextProperty], _ kind: StringTest.Kind, _ text: String, _ isCaseSensitive: Bool,
        isNegated: Bool = false
    ) -> Self {
        let columns = properties.compactMap(\.column)
        if columns.count == properties.count {
            return Self(
                .string(
                    StringTest(kind, columns: columns, text, caseSensitive: isCaseSensitive, negated: isNegated)))
        }
        let label = properties.map(\.label).joined(separator: ", ") + " \(kind.rawValue) \"\(text)\""
        return Self(
            .opaque(label: label) { row in
                let entity = try Entity(row: row)
                let passes = properties.contains { property in
                    property.read(entity).map { kind.passes($0, text, isCaseSensitive) } ?? false
                }
                return passes != isNegated
            })
    }

    private static func matching(_ properties: [TextProperty], _ text: String) -> Self {
        let columns = properties.compactMap(\.column)
        if columns.count == properties.count { return Self(.matches(columns: columns, text: text)) }
        return Self(
            .opaque(label: "matches") { _ in
                throw HornbeamError(
                    .invalid, "full-text search needs stored String properties of \(Entity.entityName)")
            })
    }
}

extension StringTest.Kind {
    fileprivate func passes(_ text: String, _ part: String, _ isCaseSensitive: Bool) -> Bool {
        let text = isCaseSensitive ? text : text.lowercased()
        let part = isCaseSensitive ? part : part.lowercased()
        switch self {
        case .contains: return part.isEmpty || text.contains(part)
        case .hasPrefix: return text.hasPrefix(part)
        case .hasSuffix: return text.hasSuffix(part)
        }
    }
}
