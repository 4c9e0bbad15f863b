// SPDX-License-Identifier: Apache-2.0
// Conditions by Foundation's regular expressions. They are in a module of their own because Foundation is a large
// library that Hornbeam itself doesn't need.

public import Foundation
public import Hornbeam

extension Hornbeam.Predicate {
    /// Selects entities with a match of `expression` somewhere in one of the properties. A property that is nil has no
    /// match. No index answers this condition: each row is read.
    /// - Parameter options: with `.anchored`, only a match at the beginning counts.
    @_disfavoredOverload
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, matches expression: NSRegularExpression,
        options: NSRegularExpression.MatchingOptions = []
    ) -> Self {
        .string(repeat each keyPaths, passes: "matches a regular expression") { text in
            // The range counts UTF-16 units, not characters.
            expression.firstMatch(in: text, options: options, range: NSRange(text.startIndex..., in: text)) != nil
        }
    }

    /// Selects entities without a match of `expression` in any of the properties.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, notMatching expression: NSRegularExpression,
        options: NSRegularExpression.MatchingOptions = []
    ) -> Self {
        !Self.string(repeat each keyPaths, matches: expression, options: options)
    }
}
