// SPDX-License-Identifier: Apache-2.0
// Finds equal parts of `near`: a word that is written twice must occur at two positions.

extension TextQuery {
    /// Returns the distinct parts of `near`, and how often each occurs. Two parts are equal if they ask for the same
    /// tokens in the same way.
    static func counted(_ parts: [TextQuery], _ analyzer: Analyzer) -> [(query: TextQuery, count: Int)] {
        var counted: [(query: TextQuery, count: Int)] = []
        var places: [TextQuery: Int] = [:]
        for part in parts {
            let tokens = part.tokens(analyzer)
            if let place = places[tokens] {
                counted[place].count += 1
            } else {
                places[tokens] = counted.count
                counted.append((part, 1))
            }
        }
        return counted
    }

    /// Returns the query with tokens instead of texts, and without boosts, which have no effect in `near`.
    private func tokens(_ analyzer: Analyzer) -> TextQuery {
        func joined(_ tokens: some Sequence<[UInt8]>) -> String {
            tokens.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\0")
        }
        switch self {
        case .words(let text):
            return .words(joined(Set(analyzer.queryTokens(of: text).map(\.key)).sorted(by: Self.order)))
        case .fuzzy(let text, let distance, let letters):
            let terms = Set(analyzer.queryTokens(of: text).map(\.term)).sorted(by: Self.order)
            return .fuzzy(joined(terms), distance: distance, prefixLength: letters)
        case .phrase(let text, let slop):
            let parts = analyzer.phraseParts(of: text)
            // A phrase of one word is the same as that word.
            return parts.count == 1 ? .words(joined(parts.map(\.key))) : .phrase(joined(parts.map(\.key)), slop: slop)
        case .prefix(let text): return .prefix(joined(analyzer.phraseTokens(of: text)))
        case .any(let parts): return .any(parts.map { $0.tokens(analyzer) })
        case .boost(_, let part): return part.tokens(analyzer)
        case .all, .near, .without, .field, .wildcard, .everything: return self
        }
    }

    private static func order(_ left: [UInt8], _ right: [UInt8]) -> Bool { left.lexicographicallyPrecedes(right) }
}

extension QueryToken {
    /// The token's bytes. An open token has different bytes than the token itself.
    fileprivate var key: [UInt8] { isOpen ? term + [0x2A] : term }
}
