// SPDX-License-Identifier: Apache-2.0
// Resolves the texts of a query with an analyzer, before terms are looked up. This defines the meaning of a word with
// several tokens, and of texts without tokens. The resolved query is used by evaluation with an index, evaluation of
// texts without an index, highlights, and queries of indexes without positions.
//
// A *written word* is a text between white space. If it is required or excluded, it means its tokens in order, as a
// phrase: “wi-fi” isn't “fi”. Otherwise any of its tokens counts, as for all words.

import HornbeamPages

extension TextQuery {
    /// Returns the query without parts that ask for nothing, and with phrases for text that is meaningful only as a
    /// whole. This applies to written words of several tokens that are required or excluded (in `all`, in the second
    /// part of `without`, in `near`), and everywhere to three or more letters of a script without spaces, whose tokens
    /// are pairs of letters. Resolving a resolved query changes nothing.
    /// - Parameter hasPositions: without positions, such words become a conjunction of their tokens instead of a
    ///   phrase.
    package func resolved(_ analyzer: Analyzer, hasPositions: Bool = true) -> TextQuery {
        if PlainTexts(analyzer).holds(self, .wanted, levels: Self.maximumDepth) { return self }
        // Deeper queries are refused when they are used.
        guard isWithin(Self.maximumDepth) else { return self }
        return QueryResolver(analyzer: analyzer, hasPositions: hasPositions).remainder(self, .wanted).query
            ?? .words("")
    }
}

/// The role of a part in its query.
private enum PartRole {
    /// It counts, but isn't required.
    case wanted
    /// It is required or excluded.
    case demanded
    /// Like demanded, with a position.
    case neighbour
}

/// Recognises, without analysis, queries that are already resolved, as most are.
private struct PlainTexts {
    /// Whether adjacent ASCII letters and digits are one token.
    private let cutsWords: Bool
    /// Whether tokens may be pairs of letters.
    private let cutsPairs: Bool

    init(_ analyzer: Analyzer) {
        switch analyzer.rules {
        case .words: (cutsWords, cutsPairs) = (true, false)
        case .unicode: (cutsWords, cutsPairs) = (true, true)
        case .trigrams, .custom, .unknown: (cutsWords, cutsPairs) = (false, false)
        }
    }

    func holds(_ query: TextQuery, _ role: PartRole, levels: Int) -> Bool {
        guard levels > 0 else { return true }
        switch query {
        case .words(let text), .fuzzy(let text, _, _):
            guard role == .wanted else { return cutsWords && areWords(text) }
            return !cutsPairs || text.utf8.allSatisfy { $0 < 0x80 }
        case .phrase(let text, _), .prefix(let text):
            return role == .wanted || cutsWords && text.utf8.contains(where: Self.isLetter)
        case .wildcard, .everything: return true
        case .any(let parts):
            let role = role == .demanded && query.alternatives != nil ? .wanted : role
            return parts.allSatisfy { holds($0, role, levels: levels - 1) }
        // A list with a single part is resolved to that part.
        case .all(let parts):
            return parts.count != 1 && parts.allSatisfy { holds($0, .demanded, levels: levels - 1) }
        case .near(let parts, _): return parts.allSatisfy { holds($0, .neighbour, levels: levels - 1) }
        case .without(let wanted, let unwanted):
            return holds(wanted, role, levels: levels - 1) && holds(unwanted, .demanded, levels: levels - 1)
        case .field(_, let part), .boost(_, let part): return holds(part, role, levels: levels - 1)
        }
    }

    /// Whether the text consists of ASCII letters and digits separated by spaces.
    private func areWords(_ text: String) -> Bool {
        var hasLetter = false
        for byte in text.utf8 {
            if Self.isLetter(byte) { hasLetter = true } else if byte != 0x20 { return false }
        }
        return hasLetter
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

/// Resolves the parts of a query.
private struct QueryResolver {
    let analyzer: Analyzer
    let hasPositions: Bool

    func remainder(_ query: TextQuery, _ role: PartRole) -> QueryRemainder {
        switch query {
        case .words(let text): return Self.remainder(words(text, role) { .words($0) })
        case .fuzzy(let text, let distance, let letters):
            return Self.remainder(
                words(text, role) { .fuzzy($0, distance: distance, prefixLength: letters) })
        case .phrase(let text, _), .prefix(let text):
            return Self.remainder(analyzer.phraseTokens(of: text).isEmpty ? nil : query)
        case .wildcard, .everything: return .kept(query)
        case .any(let parts):
            let role = role == .demanded && query.alternatives != nil ? .wanted : role
            return QueryRemainder.any(parts.map { remainder($0, role) }, asks: { _ in true }).map(\.withoutList)
        case .all(let parts):
            let found = QueryRemainder.all(parts, asks: { _ in true }) { remainder($0, .demanded) }
            return found.map(\.withoutList)
        case .near(let parts, let distance):
            let kept = parts.compactMap { remainder($0, .neighbour).query }
            return Self.remainder(kept.isEmpty && !parts.isEmpty ? nil : .near(kept, within: distance))
        case .without(let wanted, let unwanted):
            return remainder(wanted, role).without(remainder(unwanted, .demanded).query)
        case .field(let fields, let part): return remainder(part, role).map { .field(fields, $0) }
        case .boost(let factor, let part): return remainder(part, role).map { .boost(factor, $0) }
        }
    }

    private static func remainder(_ query: TextQuery?) -> QueryRemainder {
        query.map { .kept($0) } ?? .gone(unless: nil)
    }

    /// Returns a query for any of the words of a text, or nil if it has none.
    /// - Parameter form: makes the query for words of one token each.
    private func words(_ text: String, _ role: PartRole, _ form: (String) -> TextQuery) -> TextQuery? {
        guard !analyzer.queryTokens(of: text).isEmpty else { return nil }
        let pieces = role == .wanted ? analyzer.pieces(of: text) : analyzer.writtenWords(of: text)
        if pieces.allSatisfy({ !$0.isPhrase }), pieces.count == 1 || !analyzer.readsSpaces { return form(text) }
        var parts: [TextQuery] = []
        var loose: [String] = []
        func addLoose() {
            // Joined by spaces they would have more tokens than they have separately.
            parts += analyzer.readsSpaces ? loose.map(form) : loose.isEmpty ? [] : [form(loose.joined(separator: " "))]
            loose = []
        }
        for piece in pieces {
            if piece.isPhrase {
                addLoose()
                parts.append(together(piece.text, role, form))
            } else if !analyzer.queryTokens(of: piece.text).isEmpty {
                loose.append(piece.text)
            }
        }
        addLoose()
        return parts.count > 1 ? .any(parts) : parts.first
    }

    /// Returns a query for several tokens that are meaningful only together.
    private func together(_ text: String, _ role: PartRole, _ form: (String) -> TextQuery) -> TextQuery {
        // Fuzzy words can't form a phrase. Pairs of letters have no fuzzy form.
        if case .fuzzy = form(text), analyzer.pieces(of: text).allSatisfy({ !$0.isPhrase }) {
            return role == .neighbour ? form(text) : all(text, form)
        }
        // A query that needs positions reads the texts if the index has none.
        return hasPositions || role == .neighbour ? .phrase(text, slop: 0) : all(text) { .words($0) }
    }

    private func all(_ text: String, _ form: (String) -> TextQuery) -> TextQuery {
        let parts = analyzer.texts(of: analyzer.phraseTokens(of: text)).map(form)
        return parts.count > 1 ? .all(parts) : parts.first ?? form(text)
    }
}

extension TextQuery {
    /// The part of a list with a single part; otherwise the query itself.
    fileprivate var withoutList: TextQuery {
        switch self {
        case .any(let parts) where parts.count == 1, .all(let parts) where parts.count == 1: parts[0]
        default: self
        }
    }
}

/// A part of a text from which words are searched.
private struct QueryPiece {
    var text: String
    /// Whether its tokens are meaningful only together.
    var isPhrase = false
}

extension Analyzer {
    /// Returns the written words of a text; a word with several tokens is a phrase. If the analyzer finds other tokens
    /// in the whole text than in its words, the text is one word.
    fileprivate func writtenWords(of text: String) -> [QueryPiece] {
        let words = text.writtenWords
        let tokens = words.map { queryTokens(of: $0) }
        let all = queryTokens(of: text)
        let isCut = readsSpaces ? tokens.contains { !$0.isEmpty } : Array(tokens.joined()) == all
        guard isCut else { return [QueryPiece(text: text, isPhrase: all.count > 1)] }
        return zip(words, tokens).filter { !$0.1.isEmpty }.map { QueryPiece(text: $0, isPhrase: $1.count > 1) }
    }

    /// Returns the runs of three or more letters of scripts without spaces, and the text between them.
    fileprivate func pieces(of text: String) -> [QueryPiece] {
        let utf8 = Array(text.utf8)
        func piece(_ range: Range<Int>, isPhrase: Bool) -> QueryPiece {
            QueryPiece(text: String(decoding: utf8[range], as: UTF8.self), isPhrase: isPhrase)
        }
        var pieces: [QueryPiece] = []
        var end = 0
        for run in pairedRuns(of: text) {
            pieces.append(piece(end..<run.lowerBound, isPhrase: false))
            pieces.append(piece(run, isPhrase: true))
            end = run.upperBound
        }
        pieces.append(piece(end..<utf8.count, isPhrase: false))
        return pieces
    }

    /// Whether the white space between two words is part of tokens.
    fileprivate var readsSpaces: Bool { if case .trigrams = rules { true } else { false } }

    /// Returns texts whose analysis gives the tokens again, without tokens for which there is no such text.
    func texts(of tokens: some Sequence<[UInt8]>) -> [String] {
        tokens.compactMap { token in
            let text = String(decoding: token, as: UTF8.self)
            let found = queryTokens(of: text)
            return found.count == 1 && found[0].term == token ? text : nil
        }
    }
}

extension String {
    /// The texts between white space.
    var writtenWords: [String] {
        unicodeScalars.split(whereSeparator: \.properties.isWhitespace).map { String($0) }
    }
}
