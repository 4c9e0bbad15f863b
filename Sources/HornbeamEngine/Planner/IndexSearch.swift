// SPDX-License-Identifier: Apache-2.0
// A full-text condition in its index, with the values that the planner and the executor need.

package import HornbeamText
import HornbeamTree

/// One search in the state of a transaction, including changes that are still pending in it.
package struct IndexSearch {
    package let searcher: TextSearcher
    private let match: TextMatch

    package init(_ index: EntityTextIndex, _ match: TextMatch, _ store: EntityStore) throws {
        searcher = try store.searcher(index)
        self.match = match
    }

    /// Estimated upper bound of the number of rows found.
    func estimate() throws -> Int {
        let index = searcher.index
        return Int(entries: try estimate(match.query.resolved(index.analyzer, hasPositions: index.storesPositions)))
    }

    // The recursive cases have functions of their own, so that a level takes little stack.

    private func estimate(_ query: TextQuery) throws -> UInt64 {
        switch query {
        case .any(let parts): return try estimate(parts, isSum: true)
        case .all(let parts), .near(let parts, _): return try estimate(parts, isSum: false)
        case .without(let part, _), .field(_, let part), .boost(_, let part): return try estimate(part)
        default: return try estimateOne(query)
        }
    }

    private func estimate(_ parts: [TextQuery], isSum: Bool) throws -> UInt64 {
        guard !parts.isEmpty else { return 0 }
        var found: UInt64 = isSum ? 0 : .max
        for part in parts {
            let count = try estimate(part)
            found = isSum ? min(searcher.statistics.documentCount, found + count) : min(found, count)
        }
        return found
    }

    private func estimateOne(_ query: TextQuery) throws -> UInt64 {
        switch query {
        case .words(let text):
            var sum: UInt64 = 0
            for token in Set(searcher.index.analyzer.tokens(of: text)) { sum += try frequency(of: token) }
            return sum
        case .phrase(let text, _):
            return try searcher.index.analyzer.phraseTokens(of: text).map { try frequency(of: $0) }.min() ?? 0
        case .any, .all, .near, .without, .field, .boost: return try estimate(query)
        case .prefix(let text):
            let tokens = searcher.index.analyzer.phraseTokens(of: text)
            guard let last = tokens.last else { return 0 }
            let before = try tokens.dropLast().map { try frequency(of: $0) }.min() ?? .max
            return min(before, try frequency(ofPrefix: last))
        // Counting these would take a look-up of the matching terms.
        case .wildcard, .fuzzy: return searcher.statistics.documentCount / 8
        case .everything: return searcher.statistics.documentCount
        }
    }

    private func frequency(of token: [UInt8]) throws -> UInt64 {
        try searcher.documentFrequency(of: String(decoding: token, as: UTF8.self))
    }

    /// The sum of the frequencies of all terms with a prefix. If there are many terms, it is a guess.
    private func frequency(ofPrefix prefix: [UInt8]) throws -> UInt64 {
        var (sum, terms): (UInt64, Int) = (0, 0)
        try searcher.forEachTerm(from: prefix) { term, documents, _ in
            guard term.utf8.starts(with: prefix) else { return false }
            sum += documents
            terms += 1
            return terms < Self.countedTerms
        }
        let all = searcher.statistics.documentCount
        return terms < Self.countedTerms ? min(sum, all) : max(min(sum, all), all / 8)
    }

    /// Maximum number of a prefix's terms that are looked up for an estimate.
    private static let countedTerms = 64

    private var weights: [Double]? { match.weights.isEmpty ? nil : match.weights }

    /// All matching row ids, ascending, restricted to `rows` if given.
    func matches(among rows: RowSelection? = nil) throws -> [UInt64] {
        try searcher.matches(match.query, filter: rows.map { .selection($0) } ?? .all)
    }

    /// Returns the number of rows found.
    package func count() throws -> Int { Int(entries: try searcher.count(match.query)) }

    /// The hits with the best scores, best first.
    func search(
        limit: Int, after: TextHit? = nil, filter: TextFilter = .all, tieBreak: TextTieBreak? = nil
    ) throws -> [TextHit] {
        try searcher.search(
            match.query, limit: limit, filter: filter, after: after, weights: weights, tieBreak: tieBreak)
    }

    /// Explains the score of a row. Returns nil if the row isn't found.
    package func explain(_ rowID: RowID) throws -> TextScoreExplanation? {
        try searcher.explain(match.query, row: rowID.rawValue, weights: weights)
    }
}

extension TextSearcher {
    /// The weight of a query's word in the choice of a passage. The rarer the word, the greater its weight.
    package func weight(of term: [UInt8]) throws(HornbeamError) -> Double {
        do {
            return weight(ofFrequency: try documentFrequency(of: String(decoding: term, as: UTF8.self)))
        } catch {
            throw HornbeamError(error)
        }
    }
}
