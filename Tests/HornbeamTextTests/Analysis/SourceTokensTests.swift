// SPDX-License-Identifier: Apache-2.0
// Tokens with their positions in the text: they equal the tokens without positions, and come from the text at these
// positions.

import HornbeamTestSupport
import HornbeamText
import Testing

@Suite("Tokens and their places in the text")
struct SourceTokensTests {
    static let analyzers: [Analyzer] = [
        .words, Analyzer(.unicode(keepsAccents: false, stemming: nil)),
        Analyzer(.unicode(keepsAccents: true, stemming: .english)), Analyzer(.trigrams(keepsAccents: false)),
        Analyzer(.trigrams(keepsAccents: true)), Analyzer(.custom(.fixture)),
    ]

    private func words(_ analyzer: Analyzer, _ text: String) -> [String] {
        let utf8 = Array(text.utf8)
        return analyzer.sourceTokens(of: text).map { String(decoding: utf8[$0.place], as: UTF8.self) }
    }

    @Test("The places are those of the words")
    func places() {
        #expect(words(.words, "Ab, c1 İx ΟΔΟΣ e\u{301}t") == ["Ab", "c1", "İ", "x", "ΟΔΟΣ", "e", "t"])
        let unicode = Self.analyzers[1]
        #expect(
            words(unicode, "Can't e\u{301}te\u{301}! 東京都x ガ") == [
                "Can't", "e\u{301}te\u{301}", "東京", "京都", "都", "x", "ガ",
            ])
        #expect(words(Self.analyzers[2], "Running, RUNS_") == ["Running", "RUNS_"])
        #expect(words(Self.analyzers[3], "aße") == ["aß", "ße"])
        #expect(words(Self.analyzers[5], "One two ONE") == ["One", "two", "ONE"])
        #expect(words(.words, "") == [] && words(unicode, " ?! ") == [])
    }

    @Test(
        "Both forms give the same tokens, at ascending places", arguments: analyzers.indices, SeededGenerator.seeds(2)
    )
    func agree(_ number: Int, seed: UInt64) {
        let analyzer = Self.analyzers[number]
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "a", "B", "é", "e\u{301}", "ß", "İ", "Σ", "ﬃ", "東", "京", "カ", "ガ", "한", "국", "ᄒ", "ᅡ", "ก", "ำ", "1", "3.4",
            "'", ".",
            "_", " ", "\n", "\u{200D}", "👩‍👩‍👧", "\u{AD}", "word", "Ünï",
        ]
        for _ in 0..<600 {
            let text = (0..<random.below(14)).map { _ in pieces[random.below(pieces.count)] }.joined()
            let found = analyzer.sourceTokens(of: text)
            #expect(found.map(\.token) == analyzer.tokens(of: text), "\(text)")
            let scalars = Set(text.unicodeScalars.indices.map { $0.utf16Offset(in: text) } + [text.utf16.count])
            for (one, next) in zip(found, found.dropFirst()) {
                #expect(one.place.lowerBound <= next.place.lowerBound && one.place.upperBound <= next.place.upperBound)
            }
            for (_, place) in found {
                let start = text.utf8.index(text.startIndex, offsetBy: place.lowerBound)
                let end = text.utf8.index(text.startIndex, offsetBy: place.upperBound)
                #expect(!place.isEmpty && scalars.contains(start.utf16Offset(in: text)))
                #expect(scalars.contains(end.utf16Offset(in: text)))
            }
        }
    }

    @Test("A custom tokenizer may give the places itself; tokens not in the text have none")
    func custom() {
        let located = CustomTokenizer(name: "test.located", version: 1) { text, emit in
            emit("whole", text.startIndex..<text.endIndex)
        } tokenize: { _, emit in
            emit("whole")
        }
        #expect(Analyzer(.custom(located)).sourceTokens(of: "a b").map(\.place) == [0..<3])
        let invented = CustomTokenizer(name: "test.invented", version: 1) { _, emit in
            for token in ["b", "nowhere", "C", ""] { emit(token) }
        }
        let found = Analyzer(.custom(invented)).sourceTokens(of: "a b c")
        #expect(found.map(\.place) == [2..<3, 3..<3, 4..<5])
    }

    @Test("A phrase leaves out the letter at the end of its run")
    func phrases() {
        let unicode = Self.analyzers[1]
        func tokens(_ text: String) -> [String] {
            unicode.phraseTokens(of: text).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(tokens("東京") == ["東京"] && tokens("京") == ["京"] && tokens("東京 is") == ["東京", "京", "is"])
        #expect(tokens("x 東京都") == ["x", "東京", "京都"] && tokens("") == [])
    }
}

extension CustomTokenizer {
    /// Splits a text at white space, in lower case.
    static let fixture = CustomTokenizer(name: "test.spaces", version: 1) { text, emit in
        for word in text.split(whereSeparator: \.isWhitespace) { emit(word.lowercased()) }
    }
}
