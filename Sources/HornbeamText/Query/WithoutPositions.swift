// SPDX-License-Identifier: Apache-2.0
// What an index without positions can say of a query: most of all forms everything, of phrases and of what stands near
// each other or in a field only which documents hold the words. Who asks so looks at the texts of what is found.

extension TextQuery {
    /// Whether it takes positions to tell what matches and how well.
    package func needsPositions(_ analyzer: Analyzer) -> Bool {
        switch self {
        case .words, .fuzzy, .wildcard, .everything: false
        // A word alone is found as such, wherever it stands.
        case .phrase(let text, _): analyzer.phraseTokens(of: text).count != 1
        case .near, .field: true
        case .prefix(let text): analyzer.phraseTokens(of: text).count > 1
        case .any(let parts), .all(let parts): parts.contains { $0.needsPositions(analyzer) }
        case .without(let first, let second): first.needsPositions(analyzer) || second.needsPositions(analyzer)
        case .boost(_, let part): part.needsPositions(analyzer)
        }
    }

    /// A query that needs none and matches every document that this one matches, and maybe others. Nil if there is none
    /// but all documents.
    package func withoutPositions(_ analyzer: Analyzer) -> TextQuery? {
        needsPositions(analyzer) ? wider(analyzer, isInField: false) : self
    }

    /// - Parameter isInField: whether it is asked about a field: then what stands in another one takes nothing away.
    private func wider(_ analyzer: Analyzer, isInField: Bool) -> TextQuery? {
        func wider(_ part: TextQuery) -> TextQuery? { part.wider(analyzer, isInField: isInField) }
        switch self {
        case .words, .fuzzy, .wildcard, .everything: return self
        case .any(let parts):
            let all = parts.compactMap(wider)
            return all.count == parts.count ? .any(all) : nil
        case .all(let parts), .near(let parts, _):
            // What has no words isn't asked for among others.
            return Self.conjunction(parts.filter { !$0.isVoid(analyzer) }.compactMap(wider))
        case .without(let first, let second):
            guard let first = wider(first) else { return nil }
            return isInField || second.needsPositions(analyzer) ? first : .without(first, second)
        case .phrase(let text, _): return Self.conjunction(Self.queries(analyzer.phraseTokens(of: text), analyzer))
        case .prefix(let text):
            let tokens = analyzer.phraseTokens(of: text)
            var parts = Self.queries(tokens.dropLast(), analyzer)
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

    /// Queries for the tokens, as far as their texts lead to them again.
    private static func queries(_ tokens: some Sequence<[UInt8]>, _ analyzer: Analyzer) -> [TextQuery] {
        tokens.compactMap { token in
            let text = String(decoding: token, as: UTF8.self)
            return analyzer.queryTokens(of: text).contains { $0.term == token } ? .words(text) : nil
        }
    }
}
