// SPDX-License-Identifier: Apache-2.0
// A query's text as tokens. Scripts without spaces are indexed as overlapping pairs, and a letter alone only where a
// run ends: a letter that stands alone in a query is meant wherever it stands, so it is the beginning of pairs.

import HornbeamPages

/// A token of a query.
package struct QueryToken: Hashable {
    package var term: [UInt8]
    /// Whether it stands for all terms that begin with it. Each place of such a letter is that of one such term.
    package var isOpen = false
}

extension Analyzer {
    /// The tokens that words are looked for by. Of a run without spaces these are its pairs; the letter that stands at
    /// its end for that end is part of the last one.
    package func queryTokens(of text: String) -> [QueryToken] {
        guard mayBePaired(text) else { return tokens(of: text).map { QueryToken(term: $0) } }
        return placedTokens(of: text).filter { !$0.isRepeated }.map(\.token)
    }

    /// The tokens that a phrase is made of. A letter that stands at its end for the end of a run without spaces, and is
    /// part of the pair before it, isn't one: it doesn't stand there in a longer run. Only the last one may be open:
    /// before another word a letter alone is the end of its run.
    func phraseParts(of text: String) -> [QueryToken] {
        guard mayBePaired(text) else { return tokens(of: text).map { QueryToken(term: $0) } }
        var placed = placedTokens(of: text)
        if placed.count > 1, placed[placed.count - 1].isRepeated { placed.removeLast() }
        var tokens = placed.map(\.token)
        for place in tokens.indices.dropLast() { tokens[place].isOpen = false }
        return tokens
    }

    /// The terms of `phraseParts`.
    package func phraseTokens(of text: String) -> [[UInt8]] { phraseParts(of: text).map(\.term) }

    /// Where runs of three letters or more of scripts without spaces stand, in bytes.
    func pairedRuns(of text: String) -> [Range<Int>] {
        guard mayBePaired(text) else { return [] }
        let placed = placedTokens(of: text)
        var runs: [Range<Int>] = []
        var first = 0
        while first < placed.count {
            var last = first
            while last + 1 < placed.count, placed[last + 1].place.lowerBound < placed[last].place.upperBound {
                last += 1
            }
            // Each pair but the last one begins with a letter, and the last letter is a token of its own.
            if last - first >= 2 { runs.append(placed[first].place.lowerBound..<placed[last].place.upperBound) }
            first = last + 1
        }
        return runs
    }

    private func mayBePaired(_ text: String) -> Bool {
        guard case .unicode = rules else { return false }
        return !text.utf8.allSatisfy { $0 < 0x80 }
    }

    /// A token of a query in its text.
    private struct PlacedToken {
        var token: QueryToken
        let place: Range<Int>
        /// Whether it ends where the token before it does, so that it is part of that.
        let isRepeated: Bool
    }

    private func placedTokens(of text: String) -> [PlacedToken] {
        let facts = FoldingRules.shared
        var tokens: [PlacedToken] = []
        var tokenizer = Tokenizer(self)
        var end = 0
        var text = text
        text.withUTF8 { utf8 in
            tokenizer.forEachSourceToken(in: Bytes(utf8)) { bytes, place in
                let term = [UInt8](bytes)
                var next = 0
                let first = term.withUnsafeBufferPointer { UTF8Scalars.decode($0, at: &next) }
                var token = QueryToken(term: term)
                token.isOpen = facts.facts(first).part == .unspaced && place.lowerBound >= end
                // What the next one overlaps is a pair.
                if place.lowerBound < end, !tokens.isEmpty { tokens[tokens.count - 1].token.isOpen = false }
                let isRepeated = !tokens.isEmpty && place.upperBound == end
                tokens.append(PlacedToken(token: token, place: place, isRepeated: isRepeated))
                end = place.upperBound
            }
        }
        return tokens
    }
}
