// SPDX-License-Identifier: Apache-2.0
// The tokens of `words`: an example for each rule, and random texts compared with the naive analyzer.

import HornbeamTestSupport
import HornbeamText
import Testing

@Suite("Tokens")
struct TokenizerTests {
    private func tokens(_ text: String) -> [String] {
        Analyzer.words.tokens(of: text).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Compares by bytes: canonically equivalent strings are equal but not the same tokens.
    private func expect(_ text: String, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(
            tokens(text).map { Array($0.utf8) } == expected.map { Array($0.utf8) }, sourceLocation: sourceLocation)
    }

    @Test("ASCII letters are lower-cased, digits kept, everything else separates")
    func ascii() {
        expect("Don't PANIC, it's 42_000.5!", ["don", "t", "panic", "it", "s", "42", "000", "5"])
        expect("", [])
        expect(" \n\t-\u{0}", [])
        expect("x", ["x"])
        expect("a\u{0}b\u{7F}c", ["a", "b", "c"])
    }

    @Test("Composed letters belong to the token, combining marks separate")
    func marks() {
        expect("na\u{EF}ve", ["na\u{EF}ve"])
        expect("nai\u{308}ve", ["nai", "ve"])
        expect("हिन्दी", ["ह", "न", "द"])
    }

    @Test("Lower case is Unicode's full mapping")
    func lowerCase() {
        expect("İstanbul", ["i", "stanbul"])
        expect("STRASSE Straße ẞ", ["strasse", "straße", "ß"])
        expect("ﬁSH", ["ﬁsh"])
        expect("ÀÉÎ ЁЖ ԱԲ", ["àéî", "ёж", "աբ"])
        expect("ǅ Ⅷ", ["ǆ", "ⅷ"])
        expect("\u{212A} \u{212B} \u{2126}", ["k", "\u{E5}", "\u{3C9}"])
        expect("\u{10400}x", ["\u{10428}x"])
    }

    @Test("A capital sigma at the end of a word becomes a final one")
    func finalSigma() {
        expect("ΟΔΟΣ", ["οδος"])
        expect("ΟΔΟΣ ΣΟΦΟΣ", ["οδος", "σοφος"])
        expect("Σ", ["σ"])
        expect("ΑΣ.", ["ας"])
        expect("ΑΣ'Α", ["ασ", "α"])
        expect("Α\u{301}Σ", ["α", "ς"])
        expect("1Σ", ["1σ"])
        expect("ΑΣ1", ["ας1"])
        expect("ΑΣΣ", ["ασς"])
    }

    @Test("Letters and numbers of all scripts make tokens, symbols and emoji separate")
    func scripts() {
        expect("中文，テスト한국어", ["中文", "テスト한국어"])
        expect("x² ½ ٣٤", ["x²", "½", "٣٤"])
        expect("a😀b👩‍👩‍👧c€d", ["a", "b", "c", "d"])
        expect("Ⓐ circled", ["circled"])
        expect("𝒳𠀀", ["𝒳𠀀"])
    }

    @Test("A long token is kept whole")
    func longToken() {
        let word = String(repeating: "aȺ", count: 50_000)
        expect("x \(word) y", ["x", String(repeating: "aⱥ", count: 50_000), "y"])
    }

    @Test("Random texts give the tokens of the naive analyzer", arguments: SeededGenerator.seeds(4))
    func random(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let plain = Array("aZ9 -.'\n".unicodeScalars)
        let odd: [Unicode.Scalar] = [
            "İ", "ß", "Σ", "ς", "\u{301}", "\u{345}", "\u{2B0}", "中", "Ⅷ", "😀", "\u{200D}", "Ǆ", "Ⱥ", "\u{AD}", "²",
        ]
        for _ in 0..<1500 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<24, using: &random) {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5: text.append(plain[Int.random(in: 0..<plain.count, using: &random)])
                case 5..<9: text.append(odd[Int.random(in: 0..<odd.count, using: &random)])
                default:
                    let value = UInt32.random(in: 0..<0x3_0000, using: &random)
                    text.append(Unicode.Scalar(value) ?? "?")
                }
            }
            let found = tokens(String(text)).map { Array($0.utf8) }
            let expected = NaiveIndex.tokens(of: String(text)).map { Array($0.utf8) }
            #expect(found == expected, "text \(Array(text)), HORNBEAM_SEED=\(seed)")
        }
    }
}
