// SPDX-License-Identifier: Apache-2.0
// Conditions by Foundation's regular expressions, for programs that have them. In a module of its own, because all of
// Foundation is a large library that Hornbeam itself does without.

public import Foundation
public import Hornbeam

extension Hornbeam.Predicate {
    /// `expression` matches somewhere in the text of one of the properties; nil has no text. Never by an index.
    /// - Parameter options: with `.anchored`, only a match at the beginning counts.
    @_disfavoredOverload
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, matches expression: NSRegularExpression,
        options: NSRegularExpression.MatchingOptions = []
    ) -> Self {
        .string(repeat each keyPaths, passes: "matches a regular expression") { text in
            // In units of UTF-16, which are more than the characters.
            expression.firstMatch(in: text, options: options, range: NSRange(text.startIndex..., in: text)) != nil
        }
    }

    /// `expression` matches nowhere in the text of any of the properties.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, notMatching expression: NSRegularExpression,
        options: NSRegularExpression.MatchingOptions = []
    ) -> Self {
        !Self.string(repeat each keyPaths, matches: expression, options: options)
    }
}
