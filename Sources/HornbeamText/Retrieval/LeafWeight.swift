// SPDX-License-Identifier: Apache-2.0
// What a leaf weighs in a score, with the numbers that it was made of: whoever explains a score can work it out again.

/// The weight of a word, of words that are searched as one, or of a phrase.
struct LeafWeight {
    /// How many documents hold a word, or any of those that are searched as one.
    struct Rarity {
        var word = Word.leaf
        let documents: UInt32
    }

    /// What is rare.
    enum Word {
        /// What the leaf looks for.
        case leaf
        case term([UInt8])
        /// Any of the words that are spelled nearly so.
        case similar
    }

    let value: Double
    /// One, or those of a phrase's distinct words, which are added up.
    private let rarities: [Rarity]
    private let edits: Int
    private let boost: Double

    /// - Parameter edits: how far the word is from the one that was asked for.
    init(_ rarities: [Rarity], _ context: ScoreContext, edits: Int = 0, boost: Double) {
        (self.rarities, self.edits, self.boost) = (rarities, edits, boost)
        var sum = 0.0
        for rarity in rarities { sum += context.weight(documentFrequency: rarity.documents) }
        value = sum / Double(1 + edits) * boost
    }

    /// As a tree.
    /// - Parameter title: of the leaf.
    func explained(_ title: String, documentCount: UInt64) -> TextScoreExplanation {
        var parts = rarities.map { rarity in
            let word =
                switch rarity.word {
                case .leaf: title
                case .term(let term): "“\(String(decoding: term, as: UTF8.self))”"
                case .similar: "any of the words that are spelled nearly so"
                }
            return TextScoreExplanation(
                BM25.weight(documentCount: documentCount, documentFrequency: UInt64(rarity.documents)),
                "rarity of \(word): ln(1 + (N − n + 0.5) / (n + 0.5))",
                [
                    TextScoreExplanation(Double(documentCount), "N: documents"),
                    TextScoreExplanation(Double(rarity.documents), "n: documents that hold it"),
                ])
        }
        if edits > 0 { parts.append(TextScoreExplanation(Double(1 + edits), "divided by: edits + 1")) }
        if boost != 1 { parts.append(TextScoreExplanation(boost, "boost")) }
        let sum = rarities.count > 1 ? "the sum of its words' rarities" : "its rarity"
        let divided = edits > 0 ? ", divided by edits + 1" : ""
        return TextScoreExplanation(value, "weight: \(sum)\(divided)\(boost != 1 ? ", times boosts" : "")", parts)
    }
}
