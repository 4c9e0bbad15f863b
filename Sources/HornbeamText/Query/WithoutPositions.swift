// SPDX-License-Identifier: Apache-2.0
// Queries for an index without positions. Most forms are answered completely. For phrases, words near each other and
// words in a field, the index only tells which documents hold the words; the caller must check the texts that are
// found.

extension TextQuery {
    /// Whether positions are needed to find and score the matches.
    package func needsPositions(_ analyzer: Analyzer) -> Bool {
        if case .words = self { return false }
        return resolved(analyzer, hasPositions: false).readsPositions(analyzer)
    }

    private func readsPositions(_ analyzer: Analyzer) -> Bool {
        switch self {
        case .words, .fuzzy, .wildcard, .everything: false
        // A single word is found wherever it stands.
        case .phrase(let text, _): analyzer.phraseTokens(of: text).count != 1
        case .near, .field: true
        case .prefix(let text): analyzer.phraseTokens(of: text).count > 1
        case .any(let parts), .all(let parts): parts.contains { $0.readsPositions(analyzer) }
        case .without(let first, let second): first.readsPositions(analyzer) || second.readsPositions(analyzer)
        case .boost(_, let part): part.readsPositions(analyzer)
        }
    }

    /// Returns a query that needs no positions and matches at least the documents that this one matches. Returns nil if
    /// only all documents would do.
    package func withoutPositions(_ analyzer: Analyzer) -> TextQuery? {
        let resolved = resolved(analyzer, hasPositions: false)
        return resolved.readsPositions(analyzer) ? resolved.wider(analyzer, isInField: false) : self
    }

    /// - Parameter isInField: whether the query is restricted to a field. Then a match in another field excludes
    ///   nothing.
    private func wider(_ analyzer: Analyzer, isInField: Bool) -> TextQuery? {
        func wider(_ part: TextQuery) -> TextQuery? { part.wider(analyzer, isInField: isInField) }
        switch self {
        case .words, .fuzzy, .wildcard, .everything: return self
        case .any(let parts):
            let all = parts.compactMap(wider)
            return all.count == parts.count ? .any(all) : nil
        case .all(let parts), .near(let parts, _): return Self.conjunction(parts.compactMap(wider))
        case .without(let first, let second):
            guard let first = wider(first) else { return nil }
            return isInField || second.readsPositions(analyzer) ? first : .without(first, second)
        case .phrase(let text, _):
            return Self.conjunction(analyzer.texts(of: analyzer.phraseTokens(of: text)).map { .words($0) })
        case .prefix(let text):
            let tokens = analyzer.phraseTokens(of: text)
            var parts = analyzer.texts(of: tokens.dropLast()).map { TextQuery.words($0) }
            if let last = tokens.last {
                let text = String(decoding: last, as: UTF8.self)
                if analyzer.phraseTokens(of: text) == [last] { parts.append(.prefix(text)) }
            }
            return Self.conjunction(parts)
        case .field(_, let part): return part.wider(analyzer, isInField: true)
        case .boost(_, let part): return wider(part)
        }
    }

    private static func conjunction(_ parts: [TextQuery]) -> TextQuery? {
        parts.count > 1 ? .all(parts) : parts.first
    }
}
