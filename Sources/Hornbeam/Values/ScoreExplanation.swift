// SPDX-License-Identifier: Apache-2.0
// The explanation of a hit's score.

import HornbeamText

/// A number in a score, and the numbers that it was made of.
public struct ScoreExplanation: Sendable, Hashable, CustomStringConvertible {
    public let value: Double
    /// The meaning of the number, in words.
    public let text: String
    /// The numbers that it was made of.
    public let parts: [ScoreExplanation]

    init(_ explanation: TextScoreExplanation) {
        value = explanation.value
        text = explanation.text
        parts = explanation.parts.map { Self($0) }
    }

    /// One line for each number, indented under the number that it is part of.
    public var description: String { lines("").joined(separator: "\n") }

    private func lines(_ indent: String) -> [String] {
        ["\(indent)\(value)  \(text)"] + parts.flatMap { $0.lines(indent + "  ") }
    }
}
