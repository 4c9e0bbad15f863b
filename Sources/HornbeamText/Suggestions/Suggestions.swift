// SPDX-License-Identifier: Apache-2.0
// Suggestions for search: completions and corrections of words, and queries for similar texts. All are made from the
// index's own terms, in the state of its snapshot.

package import HornbeamPages
import HornbeamTree

/// A suggested term of the index.
package struct SuggestedTerm: Hashable, Sendable {
    package let term: String
    package let documentFrequency: UInt64
    /// Edit distance from the word that was asked for.
    package let distance: Int
}

extension TextSearcher {
    // MARK: Completion

    /// Returns terms that begin with the last word of `text`, in descending order of document frequency, then in byte
    /// order. Reads all such terms.
    package func completions(of text: String, limit: Int) throws(StorageError) -> [SuggestedTerm] {
        guard limit > 0, let head = index.analyzer.phraseTokens(of: text).last else { return [] }
        // Longer terms come in any order behind their first 200 bytes.
        let orderedPart = head.prefix(TermDictionary.plainLimit)
        var best = BestTerms(limit: limit)
        try forEachTerm(from: head) { (term, frequency, _) throws(StorageError) in
            guard term.utf8.starts(with: orderedPart) else { return false }
            guard term.utf8.starts(with: head) else { return true }
            best.add(SuggestedTerm(term: term, documentFrequency: frequency, distance: 0))
            return true
        }
        return best.finish()
    }

    // MARK: Correction

    /// Returns the terms that are nearest to a token, without the token itself, ordered by distance, then by descending
    /// document frequency. Considers terms with the same first letter, or all terms if none of these is near. Terms
    /// that can't match are skipped by seeking.
    package func corrections(of token: [UInt8], limit: Int) throws(StorageError) -> [SuggestedTerm] {
        let length = String(decoding: token, as: UTF8.self).unicodeScalars.count
        guard limit > 0, length > 1, let expansion = try expansion() else { return [] }
        let distance = max(1, TermExpansion.distance(scalars: length))
        for prefixLength in [1, 0] {
            let terms = try expansion.fuzzy(token, distance: distance, prefixLength: prefixLength)
            var best = BestTerms(limit: limit)
            for found in terms where found.term != token {
                let term = String(decoding: found.term, as: UTF8.self)
                let frequency = try documentFrequency(of: term)
                best.add(SuggestedTerm(term: term, documentFrequency: frequency, distance: found.distance))
            }
            let found = best.finish()
            if !found.isEmpty { return found }
        }
        return []
    }

    /// Returns the query with replacements for each word that no document holds and each prefix that no term begins
    /// with. They are replaced by the nearest existing terms. Returns nil if there is nothing to replace or no
    /// replacement. Patterns and fuzzy words stay as they are.
    package func corrected(_ query: TextQuery) throws(StorageError) -> TextQuery? {
        let changed = try query.mapWords { (text, isBeginning) throws(StorageError) in
            try self.corrected(text, isBeginning: isBeginning)
        }
        return changed == query ? nil : changed
    }

    /// - Parameter isBeginning: whether the last word is a prefix.
    private func corrected(_ text: String, isBeginning: Bool) throws(StorageError) -> String {
        var corrected: [UInt8] = []
        var end = 0
        let utf8 = Array(text.utf8)
        let tokens = index.analyzer.sourceTokens(of: text)
        for (number, (token, place)) in tokens.enumerated() where !place.isEmpty && place.lowerBound >= end {
            let term = String(decoding: token, as: UTF8.self)
            let mayGoOn = isBeginning && number == tokens.count - 1
            let isKnown = try mayGoOn ? hasTerm(beginningWith: token) : documentFrequency(of: term) > 0
            guard !isKnown, let best = try corrections(of: token, limit: 1).first else { continue }
            corrected += utf8[end..<place.lowerBound]
            corrected += Array(best.term.utf8)
            end = place.upperBound
        }
        return String(decoding: corrected + utf8[end...], as: UTF8.self)
    }

    /// Whether any term begins with `head`.
    private func hasTerm(beginningWith head: [UInt8]) throws(StorageError) -> Bool {
        // Longer terms come in any order behind their first 200 bytes.
        let orderedPart = head.prefix(TermDictionary.plainLimit)
        var isFound = false
        try forEachTerm(from: head) { (term, _, _) throws(StorageError) in
            guard term.utf8.starts(with: orderedPart) else { return false }
            isFound = term.utf8.starts(with: head)
            return !isFound
        }
        return isFound
    }

    // MARK: More of the same

    /// Returns the words that characterise a document, as they are written in it: those with the greatest product of
    /// frequency and weight in the index, in descending order. Leaves out words of no other document, and words that
    /// can't be searched by themselves.
    package func characteristicWords(of texts: [String], limit: Int) throws(StorageError) -> [String] {
        var counts: [[UInt8]: (count: Int, word: String)] = [:]
        for text in texts {
            let utf8 = Array(text.utf8)
            for (token, place) in index.analyzer.sourceTokens(of: text) where !place.isEmpty {
                let word = { String(decoding: utf8[place], as: UTF8.self) }
                counts[token, default: (0, word())].count += 1
            }
        }
        var words: [(word: String, weight: Double, token: [UInt8])] = []
        for (token, entry) in counts {
            let frequency = try documentFrequency(of: String(decoding: token, as: UTF8.self))
            guard frequency > 1 else { continue }
            words.append((entry.word, Double(entry.count) * weight(ofFrequency: frequency), token))
        }
        words.sort { left, right in
            left.weight != right.weight
                ? left.weight > right.weight : left.token.lexicographicallyPrecedes(right.token)
        }
        var found: [String] = []
        for (word, _, token) in words where found.count < limit {
            if let word = index.analyzer.text(of: token, writtenAs: word) { found.append(word) }
        }
        return found
    }

    /// Returns a query for the characteristic words only.
    package func query(like texts: [String], limit: Int) throws(StorageError) -> TextQuery {
        let words = try characteristicWords(of: texts, limit: limit)
        let text = words.joined(separator: " ")
        // Joined by spaces they may have other tokens than they have separately.
        let tokens = words.flatMap { index.analyzer.queryTokens(of: $0) }
        return index.analyzer.queryTokens(of: text) == tokens ? .words(text) : .any(words.map { .words($0) })
    }

    /// Returns the weight in a score of a term that is in `frequency` documents.
    package func weight(ofFrequency frequency: UInt64) -> Double {
        BM25.weight(documentCount: statistics.documentCount, documentFrequency: frequency)
    }
}

/// The best of many terms. Collects about twice the limit and then keeps the better half.
private struct BestTerms {
    private let limit: Int
    private var terms: [SuggestedTerm] = []
    /// Only better terms than this one are added, since there are enough of them.
    private var last: SuggestedTerm?
    /// Number of terms beyond the limit that are collected at least. Sorting them is cheap.
    private static let slack = 64

    init(limit: Int) { self.limit = limit }

    mutating func add(_ new: SuggestedTerm) {
        if let last, !new.precedes(last) { return }
        terms.append(new)
        guard terms.count - Self.slack > limit, terms.count / 2 > limit else { return }
        prune()
        last = terms.last
    }

    private mutating func prune() {
        terms.sort { $0.precedes($1) }
        if terms.count > limit { terms.removeSubrange(limit...) }
    }

    /// Returns the best terms in order.
    consuming func finish() -> [SuggestedTerm] {
        prune()
        return terms
    }
}

extension SuggestedTerm {
    fileprivate func precedes(_ other: SuggestedTerm) -> Bool {
        if distance != other.distance { return distance < other.distance }
        if documentFrequency != other.documentFrequency { return documentFrequency > other.documentFrequency }
        return term.utf8.lexicographicallyPrecedes(other.term.utf8)
    }
}

extension Analyzer {
    /// Returns a text that finds a token and no other: the word as it is written, or else the token itself. Returns nil
    /// if there is none.
    fileprivate func text(of token: [UInt8], writtenAs word: String) -> String? {
        [word, String(decoding: token, as: UTF8.self)].first { queryTokens(of: $0) == [QueryToken(term: token)] }
    }

    /// Returns the tokens of a text with their byte ranges. Like `tokens`, convenient, but not fast.
    package func sourceTokens(of text: String) -> [(token: [UInt8], place: Range<Int>)] {
        var tokens: [(token: [UInt8], place: Range<Int>)] = []
        var tokenizer = Tokenizer(self)
        var text = text
        text.withUTF8 { utf8 in
            tokenizer.forEachSourceToken(in: Bytes(utf8)) { tokens.append(([UInt8]($0), $1)) }
        }
        return tokens
    }
}

extension TextQuery {
    /// Returns the tree with the texts of words, phrases and prefixes replaced. The last word of a prefix is a
    /// beginning. Excluded parts stay as they are.
    func mapWords<Failure: Error>(
        _ transform: (_ text: String, _ isBeginning: Bool) throws(Failure) -> String
    ) throws(Failure) -> TextQuery {
        func one(_ part: TextQuery) throws(Failure) -> TextQuery {
            try part.mapWords(transform)
        }
        func all(_ parts: [TextQuery]) throws(Failure) -> [TextQuery] {
            var mapped: [TextQuery] = []
            for part in parts { mapped.append(try one(part)) }
            return mapped
        }
        switch self {
        case .words(let text): return .words(try transform(text, false))
        case .phrase(let text, let slop): return .phrase(try transform(text, false), slop: slop)
        case .prefix(let text): return .prefix(try transform(text, true))
        case .wildcard, .fuzzy, .everything: return self
        case .any(let parts): return .any(try all(parts))
        case .all(let parts): return .all(try all(parts))
        case .near(let parts, let distance): return .near(try all(parts), within: distance)
        case .without(let wanted, let unwanted): return .without(try one(wanted), unwanted)
        case .field(let fields, let part): return .field(fields, try one(part))
        case .boost(let factor, let part): return .boost(factor, try one(part))
        }
    }
}
