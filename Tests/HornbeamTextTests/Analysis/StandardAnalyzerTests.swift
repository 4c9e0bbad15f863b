// SPDX-License-Identifier: Apache-2.0
// The default analyzer: its words are the words that people see, canonically equivalent texts have equal words, and
// reading ASCII by blocks gives the tokens of reading it scalar by scalar.

import Foundation
import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("The default analyzer")
struct StandardAnalyzerTests {
    private func tokens(_ text: String) -> [String] {
        Analyzer.standard.tokens(of: text).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The tokens, read scalar by scalar.
    private func slowTokens(_ text: String) -> [[UInt8]] {
        var (tokens, text): ([[UInt8]], String) = ([], text)
        var tokenizer = Tokenizer(.standard)
        text.withUTF8 { tokenizer.forEachSourceToken(in: Bytes($0)) { token, _ in tokens.append([UInt8](token)) } }
        return tokens
    }

    @Test("Words are whole in all scripts")
    func words() {
        #expect(tokens("İstanbul") == ["i\u{307}stanbul"])
        #expect(tokens("हिन्दी में") == ["हिन्दी", "में"])
        #expect(
            tokens("Don't pay 3.14 or 1,000; see example.com, a_b.") == [
                "don't", "pay", "3.14", "or", "1,000", "see", "example.com", "a_b",
            ])
        #expect(tokens("Zürich Zu\u{308}rich") == ["zürich", "zürich"])
        #expect(tokens("__ _a 'b' c' .5 x.1 1.x") == ["_a", "b", "c", "5", "x", "1", "1", "x"])
    }

    @Test("Canonically equivalent texts have the same tokens, scalar by scalar")
    func equivalence() {
        for value in UInt32(0x80)..<0x3_0000 where !(0xAC00...0xD7A3).contains(value) || value % 97 == 0 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(scalar)b \(scalar)"
            let decomposed = text.decomposedStringWithCanonicalMapping
            guard !decomposed.utf8.elementsEqual(text.utf8) else { continue }
            let expected = Analyzer.standard.tokens(of: text)
            #expect(Analyzer.standard.tokens(of: decomposed) == expected, "\(String(value, radix: 16))")
            let composed = text.precomposedStringWithCanonicalMapping
            #expect(Analyzer.standard.tokens(of: composed) == expected, "\(String(value, radix: 16))")
        }
    }

    @Test("Letters have equal tokens exactly if they are equal without case")
    func letterCase() {
        for value in UInt32(0x80)..<0x1_F000 {
            guard let scalar = Unicode.Scalar(value), scalar.properties.isAlphabetic,
                scalar.properties.changesWhenCaseFolded
            else { continue }
            let folded = CaseFolding.folded(String(scalar))
            #expect(tokens("a\(scalar)b") == tokens("a\(folded)b"), "\(scalar)")
        }
        #expect(tokens("ı") != tokens("i") && tokens("İ") != tokens("i") && tokens("I") == tokens("i"))
        let folding = Analyzer(.unicode(keepsAccents: false, stemming: nil))
        #expect(folding.tokens(of: "ısı") == folding.tokens(of: "isi"))
    }

    @Test("Blocks of ASCII give the tokens of single scalars, wherever they are cut", .seeded)
    func blocks() {
        var random = SeededGenerator()
        let plain = ["a", "B", "7", "word", "Words", "12", " ", " ", " ", ".", ",", ";", "'", "_", "-", "\n", "é"]
        let odd = ["\u{301}", "\u{AD}", "’", "東京", "ß", "½", "\u{200D}", "İ", "한", "·", "\u{345}"]
        for round in 0..<4_000 {
            var text = ""
            for _ in 0..<random.below(round % 4 == 0 ? 400 : 60) {
                let pieces = random.oneIn(round % 3 == 0 ? 100 : 8) ? odd : plain
                // Two rounds of three have no é, so that they have more blocks of ASCII.
                let piece = pieces[random.below(pieces.count)]
                text += piece == "é" && round % 3 != 0 ? "e" : piece
            }
            let found = Analyzer.standard.tokens(of: text)
            #expect(found == slowTokens(text), "\(text.debugDescription)")
        }
        for size in 50..<80 {
            for middle in [".", "'", ",", ";", "_", "-", " "] {
                for (left, right) in [("a", "b"), ("1", "2"), ("a", "1"), ("1", "b"), ("a", "é"), ("a", "\u{301}")] {
                    let text =
                        String(repeating: "x ", count: size / 2) + (size % 2 == 0 ? "" : "y") + left + middle + right
                    #expect(Analyzer.standard.tokens(of: text) == slowTokens(text), "\(text)")
                }
            }
        }
    }

    @Test("Batches have the tokens of single texts")
    func batches() {
        var text = String(repeating: "It's 3.14 times snake_case and Zürich's café; 東京都 too. ", count: 300)
        var (single, batched): ([[UInt8]], [[UInt8]]) = ([], [])
        var tokenizer = Tokenizer(.standard)
        text.withUTF8 { utf8 in
            tokenizer.forEachToken(in: Bytes(utf8)) { single.append([UInt8]($0)) }
            tokenizer.forEachBatch(in: Bytes(utf8)) { batch in
                for place in 0..<batch.count { batched.append([UInt8](batch[place])) }
            }
        }
        #expect(single == batched && single.count == 300 * 11)
    }
}
