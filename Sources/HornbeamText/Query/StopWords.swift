// SPDX-License-Identifier: Apache-2.0
// Leaving words out of a query that say little: "the", "of". They stay in the index, so that phrases have all of their
// words and whoever means them finds them. This is a change to the query's tree alone: what is asked afterwards means
// the same to every index, and to a pass through the texts without one.

import HornbeamPages

extension TextQuery {
    /// The same query without those of its words that are in `list`, folded as `StopWordList` does, wherever another
    /// one of what stands beside them remains. Phrases, words that must be near each other, prefixes, patterns, fuzzy
    /// words and what must not be found stay as they are. Linear in the query's length times its depth.
    package func leavingOut(_ list: StopWordList) -> TextQuery {
        if case .kept(let query) = remainder(list) { return query }
        return self
    }

    /// What is left of a part of a query.
    fileprivate enum Remainder {
        case kept(TextQuery)
        /// Nothing to find, and what must not be found all the same, if anything.
        case gone(unless: TextQuery?)
    }

    private func remainder(_ list: StopWordList) -> Remainder {
        switch self {
        case .words(let text): return list.rest(of: text).map { .kept(.words($0)) } ?? .gone(unless: nil)
        case .any(let parts): return Self.anyOf(parts, list)
        case .all(let parts): return Self.allOf(parts, list)
        case .without(let first, let second):
            switch first.remainder(list) {
            case .kept(let query): return .kept(.without(query, second))
            case .gone(let other):
                // What asks for nothing excludes nothing.
                let second = second.isVoid(StopWordList.folding) ? nil : second
                return .gone(unless: Self.either([other, second].compactMap(\.self)))
            }
        case .field(let fields, let part): return part.remainder(list).map { .field(fields, $0) }
        case .boost(let factor, let part): return part.remainder(list).map { .boost(factor, $0) }
        case .phrase, .near, .prefix, .wildcard, .fuzzy, .everything: return .kept(self)
        }
    }

    /// What must not be found beside a part that is gone must not be found beside the others either.
    private static func allOf(_ parts: [TextQuery], _ list: StopWordList) -> Remainder {
        let found = parts.map { $0.remainder(list) }
        guard found.isAnswer else { return .gone(unless: either(found.compactMap(\.excluded))) }
        return .kept(.all(found.compactMap { $0.query ?? $0.excluded.map { .without(.everything, $0) } }))
    }

    /// Where any of the parts is enough, only what excludes a document from all of them excludes it.
    private static func anyOf(_ parts: [TextQuery], _ list: StopWordList) -> Remainder {
        let found = parts.map { $0.remainder(list) }
        if found.isAnswer { return .kept(.any(found.compactMap(\.query))) }
        let gone = found.filter { $0.query == nil }
        let excluded = gone.compactMap(\.excluded)
        guard excluded.count == gone.count else { return .gone(unless: nil) }
        return .gone(unless: excluded.count > 1 ? .all(excluded) : excluded.first)
    }

    private static func either(_ parts: [TextQuery]) -> TextQuery? {
        // One in another would make the query deeper than it was.
        let parts = parts.flatMap { part in
            if case .any(let parts) = part, !parts.isEmpty { return parts }
            return [part]
        }
        return parts.count > 1 ? .any(parts) : parts.first
    }
}

extension TextQuery.Remainder {
    fileprivate var query: TextQuery? { if case .kept(let query) = self { query } else { nil } }
    fileprivate var excluded: TextQuery? { if case .gone(let excluded) = self { excluded } else { nil } }

    fileprivate func map(_ body: (TextQuery) -> TextQuery) -> Self {
        switch self {
        case .kept(let query): .kept(body(query))
        case .gone(let other): .gone(unless: other.map(body))
        }
    }
}

extension [TextQuery.Remainder] {
    /// Whether they are all there, or of those that are some asks for anything: what asks for nothing is nothing that
    /// remains.
    fileprivate var isAnswer: Bool {
        allSatisfy { $0.query != nil } || contains { $0.query?.isVoid(StopWordList.folding) == false }
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
    fileprivate static let folding = Analyzer(.unicode(keepsAccents: true, stemming: nil))

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
