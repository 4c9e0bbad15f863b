// SPDX-License-Identifier: Apache-2.0
// Conditions on parts of strings. Several properties mean any of them; the negated forms mean none of them.

import FoundationEssentials

extension Predicate {
    public typealias StringKeyPath = any KeyPath<Entity, String> & Sendable
    public typealias OptionalStringKeyPath = any KeyPath<Entity, String?> & Sendable

    // Without regard to case: by the lower-cased texts. Without regard to diacritics: accents are taken away before, so
    // that "e" finds "é".

    public static func string(
        _ keyPaths: StringKeyPath..., contains text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .contains, text, caseSensitive, diacriticSensitive)
    }

    public static func string(
        _ keyPaths: StringKeyPath..., hasPrefix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasPrefix, text, caseSensitive, diacriticSensitive)
    }

    public static func string(
        _ keyPaths: StringKeyPath..., hasSuffix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasSuffix, text, caseSensitive, diacriticSensitive)
    }

    public static func string(
        _ keyPaths: StringKeyPath..., notHavingPrefix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasPrefix, text, caseSensitive, diacriticSensitive, isNegated: true)
    }

    public static func string(
        _ keyPaths: StringKeyPath..., notHavingSuffix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasSuffix, text, caseSensitive, diacriticSensitive, isNegated: true)
    }

    // The same for optional properties; nil contains and begins with nothing.

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., contains text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .contains, text, caseSensitive, diacriticSensitive)
    }

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., hasPrefix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasPrefix, text, caseSensitive, diacriticSensitive)
    }

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., hasSuffix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasSuffix, text, caseSensitive, diacriticSensitive)
    }

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., notHavingPrefix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasPrefix, text, caseSensitive, diacriticSensitive, isNegated: true)
    }

    public static func string(
        _ keyPaths: OptionalStringKeyPath..., notHavingSuffix text: String, caseSensitive: Bool = false,
        diacriticSensitive: Bool = true
    ) -> Self {
        testing(keyPaths.map(TextProperty.init), .hasSuffix, text, caseSensitive, diacriticSensitive, isNegated: true)
    }

    private static func testing(
        _ properties: [TextProperty<Entity>], _ kind: StringTest.Kind, _ text: String, _ isCaseSensitive: Bool,
        _ isDiacriticSensitive: Bool, isNegated: Bool = false
    ) -> Self {
        let columns = properties.compactMap(\.column)
        let test = StringTest(
            kind, columns: columns, text, caseSensitive: isCaseSensitive, diacriticSensitive: isDiacriticSensitive,
            negated: isNegated)
        if columns.count == properties.count { return Self(.string(test)) }
        let part = test.folded(text)
        return passing(
            properties, label: test.describe(properties.map(\.label).joined(separator: ", ")), isNegated: isNegated
        ) {
            kind.holds(test.folded($0), part)
        }
    }
}
