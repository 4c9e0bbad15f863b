// SPDX-License-Identifier: Apache-2.0
// Leaves stop words, such as “the” and “of”, out of a query. They stay in the index, so that phrases are complete and
// the words can be searched on purpose. Only the query's tree is changed. The result means the same to every index, and
// to a search of texts without one.

import HornbeamPages

extension TextQuery {
    /// Returns the query without its words that are in `list`. Words are compared in the folded form of `StopWordList`.
    /// A word is left out only if another part beside it remains. Phrases, words near each other, prefixes, patterns,
    /// fuzzy words and excluded parts stay as they are. Takes time proportional to the query's length times its depth.
    package func leavingOut(_ list: StopWordList) -> TextQuery { remainder(list, isDemanded: false).query ?? self }

    /// - Parameter isDemanded: whether the part is required. Then a written word is left out only as a whole, because a
    ///   part of it would match elsewhere, too.
    private func remainder(_ list: StopWordList, isDemanded: Bool) -> QueryRemainder {
        switch self {
        case .words(let text):
            return list.rest(of: text, keepsWritten: isDemanded).map { .kept(.words($0)) } ?? .gone(unless: nil)
        case .any(let parts):
            let isDemanded = isDemanded && alternatives == nil
            return QueryRemainder.any(
                parts.map { $0.remainder(list, isDemanded: isDemanded) }, asks: Self.asksForWords)
        case .all(let parts):
            return QueryRemainder.all(parts, asks: Self.asksForWords) { $0.remainder(list, isDemanded: true) }
        case .without(let first, let second):
            switch first.remainder(list, isDemanded: isDemanded) {
            case .kept(let query): return .kept(.without(query, second))
            // A part that asks for nothing excludes nothing.
            case let gone: return gone.without(Self.asksForWords(second) ? second : nil)
            }
        case .field(let fields, let part):
            return part.remainder(list, isDemanded: isDemanded).map { .field(fields, $0) }
        case .boost(let factor, let part):
            return part.remainder(list, isDemanded: isDemanded).map { .boost(factor, $0) }
        case .phrase, .near, .prefix, .wildcard, .fuzzy, .everything: return .kept(self)
        }
    }

    private static func asksForWords(_ query: TextQuery) -> Bool { !query.isVoid(StopWordList.folding) }
}

/// A list of stop words. Case doesn't matter; accents do.
package struct StopWordList: Hashable, Sendable {
    private let words: Set<[UInt8]>

    /// Makes a list from words as people write them. Each word of a longer text is added.
    package init(_ words: some Sequence<String>) {
        self.words = words.reduce(into: []) { $0.formUnion(Self.folding.tokens(of: $1)) }
    }

    /// Independent of the index's analyzer: stems and trigrams don't identify a word.
    fileprivate static let folding = Analyzer(.unicode(keepsAccents: true, stemming: nil))

    /// Returns the text without stop words, or nil if it has no other words. A text without any word stays as it is.
    /// - Parameter keepsWritten: whether a written word stays whole if it has other words, too.
    func rest(of text: String, keepsWritten: Bool) -> String? {
        guard keepsWritten else { return rest(of: text) }
        let places = text.unicodeScalars
        var (kept, start) = ("", places.startIndex)
        var (hasOthers, hasAny) = (false, false)
        for word in places.split(whereSeparator: \.properties.isWhitespace) {
            kept += String(places[start..<word.startIndex])
            start = word.endIndex
            if rest(of: String(word)) == nil {
                hasAny = true
                kept += " "
            } else {
                hasOthers = hasOthers || !Self.folding.tokens(of: String(word)).isEmpty
                kept += String(word)
            }
        }
        if !hasAny { return text }
        return hasOthers ? kept + String(places[start...]) : nil
    }

    private func rest(of text: String) -> String? {
        var kept: [UInt8] = []
        var hasOthers = false
        var hasAny = false
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            var tokenizer = Tokenizer(Self.folding)
            tokenizer.forEachSourceToken(in: Bytes(utf8)) { token, place in
                // Pairs of letters in scripts without spaces overlap and are in no list.
                guard words.contains([UInt8](token)), place.lowerBound >= start else {
                    hasOthers = true
                    return
                }
                hasAny = true
                kept.append(contentsOf: utf8[start..<place.lowerBound])
                // The texts on both sides of it must not become one word.
                kept.append(UInt8(ascii: " "))
                start = place.upperBound
            }
            kept.append(contentsOf: utf8[start...])
        }
        if !hasAny { return text }
        return hasOthers ? String(decoding: kept, as: UTF8.self) : nil
    }
}
