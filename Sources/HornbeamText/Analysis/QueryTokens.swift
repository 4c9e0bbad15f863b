// SPDX-License-Identifier: Apache-2.0
// Turns a query's text into tokens. Scripts without spaces are indexed as overlapping pairs of letters, and as a single
// letter only at the end of a run. A single letter in a query should match everywhere, so it stands for all terms that
// begin with it.

import HornbeamPages

/// A token of a query.
package struct QueryToken: Hashable {
    package var term: [UInt8]
    /// Whether it stands for all terms that begin with it. Each position of a single letter is a position of one such
    /// term.
    package var isOpen = false
}

extension Analyzer {
    /// Returns the tokens with which words are searched. For a run without spaces these are its pairs, without the
    /// token of its last letter, which is part of the last pair.
    package func queryTokens(of text: String) -> [QueryToken] {
        guard mayBePaired(text) else { return tokens(of: text).map { QueryToken(term: $0) } }
        return placedTokens(of: text).filter { !$0.isRepeated }.map(\.token)
    }

    /// Returns the tokens of a phrase. The token of the last letter of a final run without spaces is left out: it is
    /// part of the pair before it, and a longer run doesn't have it there. Only the last token may be open: before
    /// another word, a single letter is the end of its run.
    func phraseParts(of text: String) -> [QueryToken] {
        guard mayBePaired(text) else { return tokens(of: text).map { QueryToken(term: $0) } }
        var placed = placedTokens(of: text)
        if placed.count > 1, placed[placed.count - 1].isRepeated { placed.removeLast() }
        var tokens = placed.map(\.token)
        for place in tokens.indices.dropLast() { tokens[place].isOpen = false }
        return tokens
    }

    /// Returns the terms of `phraseParts`.
    package func phraseTokens(of text: String) -> [[UInt8]] { phraseParts(of: text).map(\.term) }

    /// Returns the byte ranges of runs of three or more letters of scripts without spaces.
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

    /// A token of a query, with its range in the text.
    private struct PlacedToken {
        var token: QueryToken
        let place: Range<Int>
        /// Whether it ends with the token before it, so that it is part of that token.
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
                // A token that the next one overlaps is a pair.
                if place.lowerBound < end, !tokens.isEmpty { tokens[tokens.count - 1].token.isOpen = false }
                let isRepeated = !tokens.isEmpty && place.upperBound == end
                tokens.append(PlacedToken(token: token, place: place, isRepeated: isRepeated))
                end = place.upperBound
            }
        }
        return tokens
    }
}
