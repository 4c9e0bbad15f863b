// SPDX-License-Identifier: Apache-2.0
// The weight of a leaf in a score, with the numbers it was made of, so that an explanation can show the computation.

/// The weight of a word, of words that are searched as one, or of a phrase.
struct LeafWeight {
    /// The number of documents that hold a word, or any of several words that are searched as one.
    struct Rarity {
        var word = Word.leaf
        let documents: UInt32
    }

    /// The words that the number is about.
    enum Word {
        /// The leaf's own words.
        case leaf
        case term([UInt8])
        /// Any of the words with a similar spelling.
        case similar
    }

    let value: Double
    /// One rarity, or those of a phrase's distinct words, whose weights are added up.
    private let rarities: [Rarity]
    private let edits: Int
    private let boost: Double

    /// - Parameter edits: edit distance of the word from the word in the query.
    init(_ rarities: [Rarity], _ context: ScoreContext, edits: Int = 0, boost: Double) {
        (self.rarities, self.edits, self.boost) = (rarities, edits, boost)
        var sum = 0.0
        for rarity in rarities { sum += context.weight(documentFrequency: rarity.documents) }
        value = sum / Double(1 + edits) * boost
    }

    /// Returns the computation of the weight as a tree.
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
