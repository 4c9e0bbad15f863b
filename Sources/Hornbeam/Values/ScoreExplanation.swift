// SPDX-License-Identifier: Apache-2.0
// Why a hit has its score.

import HornbeamText

/// A number of a score, and those that it was made of.
public struct ScoreExplanation: Sendable, Hashable, CustomStringConvertible {
    public let value: Double
    /// What it is, in words.
    public let text: String
    public let parts: [ScoreExplanation]

    init(_ explanation: TextScoreExplanation) {
        value = explanation.value
        text = explanation.text
        parts = explanation.parts.map { Self($0) }
    }

    /// A line for each number, indented under what it is part of.
    public var description: String { lines("").joined(separator: "\n") }

    private func lines(_ indent: String) -> [String] {
        ["\(indent)\(value)  \(text)"] + parts.flatMap { $0.lines(indent + "  ") }
    }
}
