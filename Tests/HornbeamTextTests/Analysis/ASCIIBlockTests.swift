// SPDX-License-Identifier: Apache-2.0
// Blocks of ASCII with every byte, and tokens at the ends of blocks, of ASCII and of texts.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Blocks of ASCII")
struct ASCIIBlockTests {
    @Test("Every byte in every place is lower-cased and classified correctly")
    func everyByte() {
        let ascii = (UInt8(0)..<0x80).map { Unicode.Scalar($0) }
        let lower = ascii.map { scalar in
            UInt8(truncatingIfNeeded: scalar.properties.lowercaseMapping.unicodeScalars.first?.value ?? 0)
        }
        let isWord = ascii.map { $0.properties.isAlphabetic || ("0"..."9").contains($0) }
        for byte in ascii.indices {
            for place in 0..<ASCIIBlock.size {
                // Neighbouring bytes must not affect each other.
                for neighbour in [0, 0x7A, 0x7F] {
                    var source = [UInt8](repeating: UInt8(neighbour), count: ASCIIBlock.size)
                    source[place] = UInt8(byte)
                    var expected = [UInt8](repeating: lower[neighbour], count: ASCIIBlock.size)
                    expected[place] = lower[byte]
                    var words: UInt64 = isWord[neighbour] ? .max : 0
                    words = isWord[byte] ? words | 1 << UInt64(place) : words & ~(1 << UInt64(place))
                    var target = [UInt8](repeating: 0xEE, count: ASCIIBlock.size)
                    let found = source.withUnsafeBytes { source in
                        target.withUnsafeMutableBytes { ASCIIBlock.lower(source.baseAddress!, to: $0.baseAddress!) }
                    }
                    let isRight = found == words && target == expected
                    #expect(isRight, "byte \(byte) at \(place) beside \(neighbour)")
                }
            }
        }
    }

    @Test("A byte beyond ASCII is recognised at every position")
    func beyond() {
        for place in 0..<ASCIIBlock.size {
            var source = [UInt8](repeating: UInt8(ascii: "a"), count: ASCIIBlock.size)
            #expect(source.withUnsafeBytes { ASCIIBlock.isASCII($0.baseAddress!) })
            source[place] = 0x80
            #expect(!source.withUnsafeBytes { ASCIIBlock.isASCII($0.baseAddress!) })
        }
    }

    /// Returns the tokens of `words`, computed in the simplest way.
    private static func tokens(_ text: String) -> [String] {
        text.lowercased().unicodeScalars.split { scalar in
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
                .letterNumber, .otherNumber:
                false
            default: true
            }
        }.map { String(String.UnicodeScalarView($0)) }
    }

    @Test("Tokens don't depend on where blocks end", arguments: SeededGenerator.seeds(4))
    func boundaries(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let letters = Array("abcXYZ019")
        let beyond = Array("éÜßд京Ж")
        for round in 0..<600 {
            // Long and short words, few and many, with few or many scalars beyond ASCII.
            let longest = [1, 3, 8, 70, 200].randomElement(using: &random)!
            let share = [0, 0, 1, 10, 60].randomElement(using: &random)!
            let size = round == 0 ? 40_000 : Int.random(in: 0...400, using: &random)
            var text = ""
            while text.utf8.count < size {
                for _ in 0..<Int.random(in: 1...longest, using: &random) {
                    let isBeyond = Int.random(in: 0..<100, using: &random) < share
                    text.append((isBeyond ? beyond : letters).randomElement(using: &random)!)
                }
                for _ in 0..<Int.random(in: 0...3, using: &random) { text.append([" ", ".", "\n", "—"][round % 4]) }
            }
            let tokens = Analyzer.words.tokens(of: text).map { String(decoding: $0, as: UTF8.self) }
            #expect(tokens == Self.tokens(text), "\(text.prefix(500)), HORNBEAM_SEED=\(seed)")
        }
    }

    @Test("A text of very many short words has all of them, in order")
    func manyWords() {
        let words = (0..<20_000).map { String($0, radix: 36) }
        for separator in [" ", "é "] {
            let tokens = Analyzer.words.tokens(of: words.joined(separator: separator))
            let expected = words.enumerated().map { place, word in
                separator == " " || place == words.count - 1 ? word : word + "é"
            }
            #expect(tokens.map { String(decoding: $0, as: UTF8.self) } == expected)
        }
        // A word that is longer than any block, between others.
        let long = String(repeating: "Long", count: 10_000)
        let tokens = Analyzer.words.tokens(of: "a " + long + " b").map { String(decoding: $0, as: UTF8.self) }
        #expect(tokens == ["a", long.lowercased(), "b"])
    }
}
