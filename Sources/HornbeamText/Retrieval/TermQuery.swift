// SPDX-License-Identifier: Apache-2.0
// Queries that consist only of words, any of which may match. Most queries are of this form. They need none of the
// machinery of other forms and are evaluated by `TermRanking`.

/// A resolved query of words.
struct TermQuery {
    /// Each combination of a word and a boost, once.
    private(set) var terms: [(token: [UInt8], boost: Double)] = []
    /// The words that score, in the order in which a score is summed, as indexes of `terms`.
    private(set) var order: [Int] = []

    /// Longer queries are evaluated like queries of other forms.
    private static let limit = 64

    /// Returns nil if the query is of another form, too long, or invalid.
    init?(_ query: TextQuery, _ analyzer: Analyzer) {
        guard add(query, analyzer, boost: 1, depth: 0) else { return nil }
    }

    private mutating func add(_ query: TextQuery, _ analyzer: Analyzer, boost: Double, depth: Int) -> Bool {
        guard depth < Self.limit else { return false }
        switch query {
        case .words(let text):
            for token in analyzer.queryTokens(of: text) {
                guard order.count < Self.limit, !token.isOpen else { return false }
                if let known = terms.firstIndex(where: { $0.boost == boost && $0.token == token.term }) {
                    order.append(known)
                } else {
                    order.append(terms.count)
                    terms.append((token.term, boost))
                }
            }
            return true
        case .any(let parts):
            for part in parts {
                guard add(part, analyzer, boost: boost, depth: depth + 1) else { return false }
            }
            return true
        case .boost(let factor, let query):
            // A boost of 0 matches and doesn't score.
            guard factor > 0, boost * factor <= TextQuery.maximumBoost else { return false }
            return add(query, analyzer, boost: boost * factor, depth: depth + 1)
        default: return false
        }
    }
}
