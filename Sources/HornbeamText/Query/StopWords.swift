// SPDX-License-Identifier: Apache-2.0
// Leaving words out of a query that say little: "the", "of". They stay in the index, so that phrases have all of their
// words and whoever means them finds them. This is a change to the query's tree alone: what is asked afterwards means
// the same to every index, and to a pass through the texts without one.

import HornbeamPages

extension TextQuery {
    /// The same query without those of its words that are in `list`, folded as `StopWordList` does, wherever another
    /// one of what stands beside them remains. Phrases, words that must be near each other, prefixes, patterns, fuzzy
    /// words and what must not be found stay as they are. Linear in the query's length.
    package func leavingOut(_ list: StopWordList) -> TextQuery { reduced(list) ?? self }

    /// Nil if nothing would remain.
    private func reduced(_ list: StopWordList) -> TextQuery? {
        switch self {
        case .words(let text): return list.rest(of: text).map { .words($0) }
        case .any(let parts): return Self.reduced(parts, list).map { .any($0) }
        case .all(let parts): return Self.reduced(parts, list).map { .all($0) }
        case .without(let first, let second): return first.reduced(list).map { .without($0, second) }
        case .field(let fields, let part): return part.reduced(list).map { .field(fields, $0) }
        case .boost(let factor, let part): return part.reduced(list).map { .boost(factor, $0) }
        case .phrase, .near, .prefix, .wildcard, .fuzzy, .everything: return self
        }
    }

    private static func reduced(_ parts: [TextQuery], _ list: StopWordList) -> [TextQuery]? {
        let rest = parts.compactMap { $0.reduced(list) }
        return rest.isEmpty && !parts.isEmpty ? nil : rest
    }
}

/// Words that are left out. Case doesn't count in them; accents do.
package struct StopWordList: Hashable, Sendable {
    private let words: Set<[UInt8]>

    /// Words as a person writes them; of what is more than one word, each.
    package init(_ words: some Sequence<String>) {
        self.words = words.reduce(into: []) { $0.formUnion(Self.folding.tokens(of: $1)) }
    }

    /// Whatever analyzer an index has: a stem or a run of three letters says no more which word it was.
    private static let folding = Analyzer(.unicode(keepsAccents: true, stemming: nil))

    /// The text without them; nil if nothing but them is in it. One without any word stays as it is.
    func rest(of text: String) -> String? {
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
