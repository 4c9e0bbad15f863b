// SPDX-License-Identifier: Apache-2.0
// What is wrong with the text of a query, and where.

/// A text that is no query.
package struct QuerySyntaxError: Error, Hashable, CustomStringConvertible {
    /// The whole text.
    package let text: String
    /// The character that it begins to go wrong with, from 0.
    package let offset: Int
    /// What is wrong there.
    package let problem: String
    /// What to write instead.
    package let advice: String
    /// The character that a lenient reading leaves out.
    let culprit: Int

    /// What and where, then the text with a caret under the place, on a line each.
    package var description: String {
        let shown = text.map { $0.isNewline ? " " : String($0) }.joined()
        return "\(problem), at character \(offset + 1): \(advice)\n  \(shown)\n  "
            + String(repeating: " ", count: offset) + "^"
    }
}
