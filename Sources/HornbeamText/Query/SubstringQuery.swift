// SPDX-License-Identifier: Apache-2.0
// Makes a query for a substring test: every text that contains the substring matches it, and others may match, too. The
// query uses only characters whose tokens don't depend on their spelling or on the characters beside them. The
// remaining condition is tested on the texts.
//
// The test compares canonically equivalent characters (grapheme clusters), on folded texts if case doesn't matter
// (`CaseFolding`). So the folded text contains the part's characters. The terms of all analyzers except `words` come
// from folded text, too. `words` only lower-cases: ß stays, and ſ isn't s.

/// The required position of the part in a text.
package enum PartPlace: Sendable {
    case anywhere, beginning, end
}

extension Analyzer {
    /// Returns a query that finds every document with a field that has the part in this position. Returns nil if there
    /// is no such query.
    /// - Parameters:
    ///   - part: the part, folded if the test compares folded texts.
    ///   - isFolded: whether the test compares folded texts.
    package func query(forPart part: String, at place: PartPlace, isFolded: Bool) -> TextQuery? {
        guard let roles = CharacterRoles(rules, isFolded: isFolded) else { return nil }
        var parts = PartQuery(self, isFolded: isFolded)
        var run: [(character: Character, role: CharacterRole)] = []
        // Whether the run begins at the beginning of the text or behind a character that ends words.
        var isBounded = place == .beginning
        for character in part {
            if let role = roles.role(of: character) {
                run.append((character, role))
                continue
            }
            parts.add(run, startsWord: isBounded, endsWord: false)
            run.removeAll()
            isBounded = false
        }
        parts.add(run, startsWord: isBounded, endsWord: place == .end)
        return parts.query
    }
}

/// The effect of a known character on the tokens around it.
private enum CharacterRole {
    /// Belongs to a word that ends at separators.
    case word
    /// Belongs to a run whose letters are taken in pairs.
    case pair
    case separator
    /// Is taken with its two neighbours, whatever they are.
    case any
}

/// Finds the role of each character, if it is known.
private struct CharacterRoles {
    private let rules: Analyzer.Rules
    private let isFolded: Bool
    private let folding = FoldingRules.shared

    /// Returns nil for rules whose tokens may depend on more than the characters.
    init?(_ rules: Analyzer.Rules, isFolded: Bool) {
        self.isFolded = isFolded
        switch rules {
        case .words, .trigrams, .unicode(_, stemming: nil): self.rules = rules
        case .unicode, .custom, .unknown: return nil
        }
    }

    /// Returns the role of a character, or nil if it isn't known: if a text may have it in another form with different
    /// tokens, or if its tokens may depend on the characters beside it.
    func role(of character: Character) -> CharacterRole? {
        let scalars = character.unicodeScalars
        guard let scalar = scalars.first?.value, scalars.count == 1, Self.isPlain(scalar) else { return nil }
        let part = folding.facts(scalar).part
        switch rules {
        case .words: return word(scalar)
        case .trigrams: return part == .mark || part == .format ? nil : .any
        case .unicode:
            switch part {
            case .letter, .number: return .word
            case .unspaced: return .pair
            case .separator: return .separator
            // They join or separate depending on the characters beside them.
            case .joiner, .midLetter, .midNumber, .midBoth, .apostrophe, .mark, .format: return nil
            }
        case .custom, .unknown: return nil
        }
    }

    /// The role for `words`, which distinguishes a composed letter from the same letter in two scalars.
    private func word(_ scalar: UInt32) -> CharacterRole? {
        let lower = ScalarTables.shared.lower(scalar)
        guard folding.parts(of: lower) == nil else { return nil }
        guard ScalarTables.shared.isWord(lower) else { return .separator }
        if isFolded, !Self.isOnlyLowered(lower) { return nil }
        // The form of a sigma depends on its position in a word. Iota, some letters with marks, ideographs and Hangul
        // syllables occur in Unicode more than once.
        switch lower {
        case 0x1F0, 0x2B9, 0x390, 0x3B0, 0x3B9, 0x3C2...0x3C3, 0x1100...: return nil
        default: return .word
        }
    }

    /// Whether only the letter itself and its capital are known to fold to it. An s may come from ß or ſ, an f from a
    /// ligature. An “a” may be half of ẚ, which `PartQuery` allows for.
    private static func isOnlyLowered(_ scalar: UInt32) -> Bool {
        scalar < 0x80 && scalar != 0x66 && scalar != 0x73
    }

    /// Whether the scalar is in a block that was checked: `SubstringQueryTests` tests for each scalar of Unicode
    /// whether it counts as one of these and has other tokens. Marks, joining letters, letters of other widths, and
    /// duplicates of other letters are left out.
    private static func isPlain(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x09, 0x0A, 0x20...0x7E: true
        case 0xAD, 0x130, 0x300...0x36F, 0x374, 0x37A...0x37F, 0x387, 0x483...0x489: false
        case 0xA0...0x52F: true
        case 0x531...0x556, 0x561...0x586, 0x5D0...0x5EA, 0x621...0x64A, 0x660...0x669, 0x671...0x6D3: true
        case 0x10A0...0x10C5, 0x10D0...0x10FF, 0x1E00...0x1EFF: true
        case 0x2010...0x2027, 0x2030...0x205E, 0x20A0...0x20BF: true
        case 0x3001...0x3003, 0x3005...0x3011, 0x3041...0x3096, 0x30A1...0x30F6, 0x30FB...0x30FF, 0x3105...0x312F: true
        case 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xAC00...0xD7A3: true
        default: false
        }
    }
}

/// Collects the queries for runs of known characters.
private struct PartQuery {
    private let analyzer: Analyzer
    /// Whether a term may have ẚ where the part ends with an “a”, so that the part ends inside a letter.
    private let mayEndInside: Bool
    private var queries: [TextQuery] = []

    init(_ analyzer: Analyzer, isFolded: Bool) {
        self.analyzer = analyzer
        mayEndInside = if case .words = analyzer.rules { isFolded } else { false }
    }

    /// Minimum number of scalars of a prefix. Shorter prefixes match too many words.
    private static let shortestPrefix = 3
    /// Maximum number of forms, of words in a phrase and of characters in a run. More would hardly narrow the result.
    private static let limit = 24

    var query: TextQuery? { queries.count > 1 ? .all(queries) : queries.first }

    /// Adds a run of known characters.
    /// - Parameters:
    ///   - startsWord: whether no word continues across the beginning of the run.
    ///   - endsWord: whether no word continues across its end.
    mutating func add(_ run: [(character: Character, role: CharacterRole)], startsWord: Bool, endsWord: Bool) {
        var words: [String] = []
        var place = 0
        while place < run.count {
            let role = run[place].role
            let end = run[place...].firstIndex { $0.role != role } ?? run.count
            let text = String(run[place..<end].map(\.character))
            switch role {
            case .separator: break
            case .any: phrase(String(text.prefix(Self.limit)))
            case .pair:
                phrase(of: words)
                words = []
                if end - place > 1 { phrase(String(text.prefix(Self.limit))) }
            case .word:
                // Other characters in the run end words.
                let (hasStart, hasEnd) = (place > 0 || startsWord, end < run.count || endsWord)
                if hasStart, hasEnd {
                    words.append(text)
                } else if hasStart {
                    prefix(text, behind: words)
                    words = []
                }
            }
            place = end
        }
        phrase(of: words)
    }

    private mutating func phrase(of words: [String]) {
        phrase(words.prefix(Self.limit).joined(separator: " "))
    }

    /// Adds a phrase of the tokens of the text.
    private mutating func phrase(_ text: String) {
        // A phrase without tokens would find nothing.
        guard queries.count < Self.limit, !analyzer.phraseTokens(of: text).isEmpty else { return }
        queries.append(.phrase(text, slop: 0))
    }

    private mutating func prefix(_ beginning: String, behind words: [String]) {
        let text = mayEndInside && beginning.hasSuffix("a") ? String(beginning.dropLast()) : beginning
        guard text.unicodeScalars.count >= Self.shortestPrefix, words.count < Self.limit else {
            return phrase(of: words)
        }
        let whole = (words + [text]).joined(separator: " ")
        guard queries.count < Self.limit, !analyzer.phraseTokens(of: whole).isEmpty else { return }
        queries.append(.prefix(whole))
    }
}
