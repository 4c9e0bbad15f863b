// SPDX-License-Identifier: Apache-2.0
// Leaving words out of a query that say little: "the", "of". They stay in the index, so that phrases have all of their
// words and whoever means them finds them. This is a change to the query's tree alone: what is asked afterwards means
// the same to every index, and to a pass through the texts without one.

import HornbeamPages

extension TextQuery {
    /// Returns the query without its words that are in `list`. A word is compared folded, as `StopWordList` folds it.
    /// It is left out only where another one of the parts beside it remains. Phrases, words that must be near each
    /// other, prefixes, patterns, fuzzy words and parts that must not be found stay as they are. Linear in the query's
    /// length times its depth.
    package func leavingOut(_ list: StopWordList) -> TextQuery { remainder(list, isDemanded: false).query ?? self }

    /// - Parameter isDemanded: whether nothing is found without it. Then of what stands between white space it is all
    ///   or nothing that is left out: what remains of it would be found elsewhere too.
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
            // What asks for nothing excludes nothing.
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

/// Words that are left out. Case doesn't count in them; accents do.
package struct StopWordList: Hashable, Sendable {
    private let words: Set<[UInt8]>

    /// Words as a person writes them; of what is more than one word, each.
    package init(_ words: some Sequence<String>) {
        self.words = words.reduce(into: []) { $0.formUnion(Self.folding.tokens(of: $1)) }
    }

    /// Whatever analyzer an index has: a stem or a run of three letters says no more which word it was.
    fileprivate static let folding = Analyzer(.unicode(keepsAccents: true, stemming: nil))

    /// The text without them; nil if nothing but them is in it. One without any word stays as it is.
    /// - Parameter keepsWritten: whether what stands between white space stays whole if it has others too.
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
                // Pairs of letters of scripts without spaces overlap, and are in no list.
                guard words.contains([UInt8](token)), place.lowerBound >= start else {
                    hasOthers = true
                    return
                }
                hasAny = true
                kept.append(contentsOf: utf8[start..<place.lowerBound])
                // What stood on both sides of it is no word now.
                kept.append(UInt8(ascii: " "))
                start = place.upperBound
            }
            kept.append(contentsOf: utf8[start...])
        }
        if !hasAny { return text }
        return hasOthers ? String(decoding: kept, as: UTF8.self) : nil
    }
}
