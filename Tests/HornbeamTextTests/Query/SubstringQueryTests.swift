// SPDX-License-Identifier: Apache-2.0
// The index query for a part of a text: every text with the part must match, in any spelling, and the query must be
// as narrow as the tokens allow.

import Foundation
import HornbeamKeys
import HornbeamTestSupport
import HornbeamText
import Testing

private let analyzers: [Analyzer] = [
    .words, Analyzer(.unicode(keepsAccents: false, stemming: nil)),
    Analyzer(.unicode(keepsAccents: true, stemming: nil)),
    Analyzer(.trigrams(keepsAccents: false)), Analyzer(.trigrams(keepsAccents: true)),
]

/// Returns the result of the test that the query narrows.
private func holds(_ text: String, _ part: String, _ place: PartPlace, ignoringCase: Bool) -> Bool {
    let text = ignoringCase ? CaseFolding.folded(text) : text
    let part = ignoringCase ? CaseFolding.folded(part) : part
    switch place {
    case .anywhere: return part.isEmpty || text.contains(part)
    case .beginning: return text.hasPrefix(part)
    case .end: return text.hasSuffix(part)
    }
}

private func query(_ analyzer: Analyzer, _ part: String, _ place: PartPlace, ignoringCase: Bool) -> TextQuery? {
    analyzer.query(forPart: ignoringCase ? CaseFolding.folded(part) : part, at: place, isFolded: ignoringCase)
}

private func matches(_ query: TextQuery, _ text: String, _ analyzer: Analyzer) -> Bool {
    QueryMatcher(query, analyzer).matches([TextSection(field: 0, text: text)])
}

private func spelled(_ text: String) -> String {
    text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
}

@Suite("A query for a part of a text")
struct SubstringQueryTests {
    @Test("Every scalar that has another case or form is found by each of its forms")
    func everyScalar() {
        for value in UInt32(0x80)..<0x3_0000 where !(0xAC00...0xD7A3).contains(value) || value % 97 == 0 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let letter = String(scalar)
            let forms = Set(
                [
                    letter, letter.lowercased(), letter.uppercased(), letter.decomposedStringWithCanonicalMapping,
                    letter.precomposedStringWithCanonicalMapping,
                    letter.uppercased().decomposedStringWithCanonicalMapping, CaseFolding.folded(letter),
                ].map(Spelling.init))
            guard forms.count > 1 else { continue }
            for text in forms {
                for part in forms {
                    check(text: "on a\(text.text)b \(text.text) of\(text.text)", part: "a\(part.text)b \(part.text) o")
                }
            }
        }
    }

    @Test("A part that begins or ends within the folding of a letter is found")
    func insideLetters() {
        for value in UInt32(0x80)..<0x2_0000 {
            guard let scalar = Unicode.Scalar(value), case let folded = CaseFolding.folded(String(scalar)),
                folded.count > 1 || folded.utf8.contains(where: { $0 < 0x80 })
            else { continue }
            let text = "on aaa\(scalar)b of"
            for cut in 0...folded.count {
                check(text: text, part: "on aaa" + folded.prefix(cut))
                check(text: text, part: folded.suffix(cut) + "b of")
                check(text: "\(scalar)aaa of", part: folded.suffix(cut) + "aaa ")
            }
        }
    }

    @Test("With the unfolded terms of `words`, only letters that no other letter folds to are matched without case")
    func wordsWithoutCase() {
        func query(_ part: String) -> TextQuery? { Analyzer.words.query(forPart: part, at: .anywhere, isFolded: true) }
        #expect(query("quick brown dog") == .prefix("brown dog"))
        #expect(query("quick brown fox ") == .phrase("brown", slop: 0))
        #expect(query("a panda") == .prefix("pand"))
        #expect(query(" strasse ") == nil && query(" οδος ") == nil)
        let unicode = Analyzer(.unicode(keepsAccents: true, stemming: nil))
        #expect(unicode.query(forPart: " strasse ", at: .anywhere, isFolded: true) == .phrase("strasse", slop: 0))
    }

    /// A string that is compared by its scalars.
    private struct Spelling: Hashable {
        let text: String

        static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
        func hash(into hasher: inout Hasher) { hasher.combine(Array(text.utf8)) }
    }

    private func check(text: String, part: String) {
        for ignoringCase in [true, false] where holds(text, part, .anywhere, ignoringCase: ignoringCase) {
            for analyzer in analyzers {
                guard let query = query(analyzer, part, .anywhere, ignoringCase: ignoringCase) else { continue }
                #expect(
                    matches(query, text, analyzer), "\(spelled(part)) in \(spelled(text)) by \(analyzer.specification)")
            }
        }
    }

    private static let pieces = [
        "a", "A", "b", "c", "the", "Word", "ß", "ẞ", "é", "e\u{301}", "E\u{301}", "É", "İ", "i", "ı", "I", "Σ", "σ",
        "ς",
        "ο", "Δ", "漢", "字", "東", "\u{F900}", "か", "が", "か\u{3099}", "カ", "ﾊﾟ", "한", "\u{1112}\u{1161}\u{11AB}", "글",
        " ", " ", " ", " ", "\n", ".", ",", "'", "’", "_", "-", "\u{AD}", "\u{200D}", "\u{200B}", "\u{212A}", "K", "k",
        "\u{212B}", "å", "\u{2126}", "1", "2", "½", "😀", "\u{300}", "\u{951}", "\r\n", "\r", "ก", "ำ", "า", "ﬁ", "Ǆ",
        "\u{340}", "ᾳ", "\u{345}", "ё", "й", "\u{FF21}", "‑", "\u{37E}", ";", "\u{1FEF}", "`", "s", "ſ", "ẚ", "ŉ",
    ]

    @Test("Random parts of random texts are found, wherever they are cut", .seeded)
    func randomTexts() {
        var random = SeededGenerator()
        func piece() -> String { Self.pieces.randomElement(using: &random) ?? "" }
        var asked = Array(repeating: 0, count: analyzers.count)
        for _ in 0..<6_000 {
            let text = (0..<Int.random(in: 0...14, using: &random)).map { _ in piece() }.joined()
            let (place, part) = Self.part(of: text, &random)
            for ignoringCase in [true, false] where holds(text, part, place, ignoringCase: ignoringCase) {
                for (number, analyzer) in analyzers.enumerated() {
                    guard let query = query(analyzer, part, place, ignoringCase: ignoringCase) else { continue }
                    asked[number] += 1
                    #expect(
                        matches(query, text, analyzer),
                        "\(place) \(spelled(part)) in \(spelled(text)) by \(analyzer.specification): \(query)")
                }
            }
        }
        // Otherwise the test proves nothing.
        #expect(asked.allSatisfy { $0 > 200 }, "\(asked)")
    }

    /// Returns a part of the text, sometimes in another case.
    private static func part(of text: String, _ random: inout SeededGenerator) -> (PartPlace, String) {
        let scalars = Array(text.unicodeScalars)
        let place = [PartPlace.anywhere, .beginning, .end].randomElement(using: &random) ?? .anywhere
        let cuts = [
            Int.random(in: 0...scalars.count, using: &random), Int.random(in: 0...scalars.count, using: &random),
        ]
        var range = min(cuts[0], cuts[1])..<max(cuts[0], cuts[1])
        if place == .beginning { range = 0..<range.upperBound }
        if place == .end { range = range.lowerBound..<scalars.count }
        var part = ""
        part.unicodeScalars.append(contentsOf: scalars[range])
        switch Int.random(in: 0..<4, using: &random) {
        case 0: part = part.uppercased()
        case 1: part = part.lowercased()
        case 2: part = part.decomposedStringWithCanonicalMapping
        default: break
        }
        return (place, part)
    }

    @Test(
        "It requires the whole words, and the beginning of an unfinished one",
        arguments: [
            ("quick brown fox", PartPlace.anywhere, TextQuery.prefix("brown fox")),
            ("quick brown fox ", .anywhere, .phrase("brown fox", slop: 0)),
            ("quick brown fox", .beginning, .prefix("quick brown fox")),
            ("quick brown fox", .end, .phrase("brown fox", slop: 0)),
            (" brown, fox", .end, .phrase("brown fox", slop: 0)),
            ("the é brown fo", .anywhere, .phrase("brown", slop: 0)),
            ("quick", .beginning, .prefix("quick")),
        ])
    func words(part: String, place: PartPlace, expected: TextQuery) {
        #expect(Analyzer.words.query(forPart: part, at: place, isFolded: false) == expected)
    }

    @Test("Trigrams come from the known characters of the part, pairs from the run")
    func runs() {
        let trigrams = Analyzer(.trigrams(keepsAccents: false))
        #expect(trigrams.query(forPart: "gine", at: .anywhere, isFolded: true) == .phrase("gine", slop: 0))
        #expect(
            trigrams.query(forPart: "abc\u{AD}défg", at: .anywhere, isFolded: true)
                == .all([.phrase("abc", slop: 0), .phrase("défg", slop: 0)]))
        let unicode = Analyzer(.unicode(keepsAccents: false, stemming: nil))
        #expect(unicode.query(forPart: "東京都", at: .anywhere, isFolded: true) == .phrase("東京都", slop: 0))
    }

    @Test("An unknown part requires no terms")
    func nothing() {
        for analyzer in analyzers {
            for part in ["", " ", "ab", "é", "\u{301}", "\r\n", "😀😀😀", "字"] {
                let query = analyzer.query(forPart: part, at: .anywhere, isFolded: true)
                #expect(query == nil, "\(part) by \(analyzer.specification)")
            }
        }
        #expect(Analyzer.words.query(forPart: "quick", at: .anywhere, isFolded: true) == nil)
        #expect(Analyzer.words.query(forPart: "qu", at: .beginning, isFolded: true) == nil)
        let stems = Analyzer(.unicode(keepsAccents: false, stemming: .english))
        #expect(stems.query(forPart: " running ", at: .anywhere, isFolded: true) == nil)
    }

    @Test("A long part is searched by only some of its terms")
    func longPart() {
        let part = Array(repeating: "word", count: 1_000).joined(separator: " ")
        #expect(
            Analyzer.words.query(forPart: part + " ", at: .anywhere, isFolded: true)
                == .phrase(Array(repeating: "word", count: 24).joined(separator: " "), slop: 0))
    }
}
