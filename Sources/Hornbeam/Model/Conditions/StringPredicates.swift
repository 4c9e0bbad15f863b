// SPDX-License-Identifier: Apache-2.0
// Conditions on parts of strings. Several properties mean any of them. The negated forms mean none of them.

import FoundationEssentials

extension Predicate {
    // Conditions that ignore case compare case-folded texts, as `TextCollation.caseInsensitive` does, so "ss" finds
    // "ß". Conditions that ignore diacritics remove accents first, so "e" finds "é". Properties may be `String`,
    // `String?` or both; nil contains nothing, and begins and ends with nothing.

    /// Selects entities with `text` somewhere in one of the properties.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, contains text: String,
        caseSensitive: Bool = false, diacriticSensitive: Bool = true
    ) -> Self {
        let properties = TextProperty<Entity>.list(repeat each keyPaths)
        return testing(properties, .contains, text, caseSensitive, diacriticSensitive)
    }

    /// Selects entities with a property that begins with `text`.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, hasPrefix text: String,
        caseSensitive: Bool = false, diacriticSensitive: Bool = true
    ) -> Self {
        let properties = TextProperty<Entity>.list(repeat each keyPaths)
        return testing(properties, .hasPrefix, text, caseSensitive, diacriticSensitive)
    }

    /// Selects entities with a property that ends with `text`.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, hasSuffix text: String,
        caseSensitive: Bool = false, diacriticSensitive: Bool = true
    ) -> Self {
        let properties = TextProperty<Entity>.list(repeat each keyPaths)
        return testing(properties, .hasSuffix, text, caseSensitive, diacriticSensitive)
    }

    /// Selects entities with `text` in none of the properties.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, notContaining text: String,
        caseSensitive: Bool = false, diacriticSensitive: Bool = true
    ) -> Self {
        let properties = TextProperty<Entity>.list(repeat each keyPaths)
        return testing(properties, .contains, text, caseSensitive, diacriticSensitive, isNegated: true)
    }

    /// Selects entities with no property that begins with `text`.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, notHavingPrefix text: String,
        caseSensitive: Bool = false, diacriticSensitive: Bool = true
    ) -> Self {
        let properties = TextProperty<Entity>.list(repeat each keyPaths)
        return testing(properties, .hasPrefix, text, caseSensitive, diacriticSensitive, isNegated: true)
    }

    /// Selects entities with no property that ends with `text`.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, notHavingSuffix text: String,
        caseSensitive: Bool = false, diacriticSensitive: Bool = true
    ) -> Self {
        let properties = TextProperty<Entity>.list(repeat each keyPaths)
        return testing(properties, .hasSuffix, text, caseSensitive, diacriticSensitive, isNegated: true)
    }

    private static func testing(
        _ properties: [TextProperty<Entity>], _ kind: StringTest.Kind, _ text: String, _ isCaseSensitive: Bool,
        _ isDiacriticSensitive: Bool, isNegated: Bool = false
    ) -> Self {
        let columns = properties.compactMap { $0.column }
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
