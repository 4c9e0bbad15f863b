// SPDX-License-Identifier: Apache-2.0
// Explains a score as a tree, with the numbers that the search adds up.

import HornbeamPages

/// A number, with the numbers it was made of.
package struct TextScoreExplanation: Equatable, Sendable {
    package let value: Double
    /// A description of the number.
    package let text: String
    package let parts: [TextScoreExplanation]

    package init(_ value: Double, _ text: String, _ parts: [TextScoreExplanation] = []) {
        (self.value, self.text, self.parts) = (value, text, parts)
    }

    /// A line for each number, indented under the number it is part of.
    package var description: String {
        var lines: [String] = []
        append(to: &lines, "")
        return lines.joined(separator: "\n")
    }

    private func append(to lines: inout [String], _ indent: String) {
        lines.append("\(indent)\(value)  \(text)")
        for part in parts { part.append(to: &lines, indent + "  ") }
    }
}

extension Leaf {
    /// Returns the contribution to the score of the document at `offset` of the current window, or nil if there is
    /// none.
    func explain(_ offset: Int) throws(StorageError) -> TextScoreExplanation? {
        guard let place = find(offset) else { return nil }
        let frequency = frequencies[place]
        return TextScoreExplanation(
            try contribution(place), "\(name): weight × tf / (tf + k1 × (1 − b + b × length / average))",
            [
                weightOrigin.explained(name, documentCount: context.view.documentCount),
                TextScoreExplanation(frequency, "tf: how often it stands in the document"),
                TextScoreExplanation(try length(place), "length of the document in tokens"),
                TextScoreExplanation(context.averageLength, "average length"),
                TextScoreExplanation(BM25.k1, "k1"), TextScoreExplanation(BM25.b, "b"),
            ])
    }
}
