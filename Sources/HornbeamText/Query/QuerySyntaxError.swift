// SPDX-License-Identifier: Apache-2.0
// Describes the error in the text of a query, and its position.

/// A text that is not a valid query.
package struct QuerySyntaxError: Error, Hashable, CustomStringConvertible {
    /// The whole text.
    package let text: String
    /// The offset in characters of the first wrong character.
    package let offset: Int
    /// A description of the error.
    package let problem: String
    /// A correction.
    package let advice: String
    /// The offset in scalars of the character that a lenient parse treats as an ordinary one.
    let culprit: Int

    /// The problem with its position, then the text with a caret under that position, on a line each.
    package var description: String {
        let shown = text.map { $0.isNewline ? " " : String($0) }.joined()
        return "\(problem), at character \(offset + 1): \(advice)\n  \(shown)\n  "
            + String(repeating: " ", count: offset) + "^"
    }
}
