// SPDX-License-Identifier: Apache-2.0
// Tests of strings on their bytes agree with Swift's tests of the strings.

import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Tests of strings in rows")
struct StringMatcherTests {
    private func matches(_ test: StringTest, _ text: String) throws -> Bool {
        let matcher = StringMatcher(test)
        return try Array(text.utf8).withUnsafeBytes { bytes in
            try matcher.matches(bytes) { () throws(HornbeamError) in text }
        }
    }

    /// Returns Swift's answer.
    private func holds(_ test: StringTest, _ text: String) -> Bool {
        test.kind.holds(test.folded(text), test.folded(test.text))
    }

    /// Letters with other forms, signs of two scalars, and parts of characters.
    private let letters: [String] = [
        "a", "A", "b", "k", "K", "\u{212A}", ";", "\u{37E}", "`", "\u{1FEF}", "e", "é", "e\u{301}", "\u{301}", "i",
        "I", "İ", "ı", "\n", "\r\n", "\r", "ß", "@", "[", "{", "\u{7F}", "中", "“", " ", "s", "S", "ſ", "ẞ", "f", "ﬁ",
        "ﬆ", "t", "n", "ŉ", "\u{2BC}", "ẚ", "\u{2BE}", "σ", "ς", "Σ",
    ]

    @Test("A part is found, or not, as in the strings themselves, with any letters", .seeded)
    func random() throws {
        var random = SeededGenerator()
        var found = 0
        for round in 0..<12_000 {
            // Mostly ASCII, because otherwise the test would find nothing.
            let few = round % 3 == 0 ? letters : ["a", "A", "b", "K", "k", ";"]
            func text(_ count: Int) -> String { (0..<count).map { _ in few[random.below(few.count)] }.joined() }
            var test = StringTest(
                [.contains, .hasPrefix, .hasSuffix][random.below(3)], columns: [0], text(random.below(4)))
            test.letterCase = [.exact, .folded, .lowered][random.below(3)]
            test.isDiacriticSensitive = !random.oneIn(4)
            let stored = text(random.below(70)) + (random.oneIn(3) ? letters[random.below(letters.count)] : "")
            let expected = holds(test, stored)
            if expected { found += 1 }
            #expect(try matches(test, stored) == expected, "\(test.describe("")) in \(stored.debugDescription)")
        }
        #expect(found > 2_000)
    }

    @Test("A part is found at each position of texts of each length", arguments: 1...20)
    func places(size: Int) throws {
        let part = String("needle of twenty bytes".prefix(size))
        for count in 0..<50 {
            for place in 0...count {
                let text =
                    String(repeating: "N", count: place) + part.uppercased()
                    + String(repeating: "z", count: count - place)
                #expect(try matches(StringTest(.contains, columns: [0], part), text))
                #expect(try !matches(StringTest(.contains, columns: [0], part + "!"), text))
            }
        }
        #expect(try !matches(StringTest(.contains, columns: [0], part), String(part.dropLast())))
    }

    @Test("Every sign whose folded text contains ASCII is found by that ASCII, and no other sign is")
    func foldedSigns() throws {
        var signs = 0
        for value in UInt32(0x80)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let folded = CaseFolding.folded(String(scalar))
            guard folded.utf8.contains(where: { $0 < 0x80 }) else { continue }
            signs += 1
            let (stored, whole) = ("x\(scalar)y", Array("x\(folded)y"))
            for first in whole.indices {
                for end in first + 1...whole.count {
                    for part in [String(whole[first..<end]), String(whole[first..<end]).uppercased()] {
                        for kind in [StringTest.Kind.contains, .hasPrefix, .hasSuffix] {
                            let test = StringTest(kind, columns: [0], part)
                            #expect(try matches(test, stored) == holds(test, stored), "\(part) in \(stored)")
                        }
                    }
                }
            }
        }
        #expect(signs > 15)
    }

    @Test("Signs that Unicode equates with ASCII are found by it")
    func twins() throws {
        for (text, part) in [("300 \u{212A}", "k"), ("300 \u{212A}", "K"), ("τι\u{37E}", ";"), ("\u{1FEF} x", "` ")] {
            #expect(
                try matches(StringTest(.contains, columns: [0], part), text)
                    == text.lowercased().contains(part.lowercased()))
            #expect(try matches(StringTest(.contains, columns: [0], part), text))
        }
        #expect(try !matches(StringTest(.contains, columns: [0], "\n"), "a\r\nb"))
        #expect(try !matches(StringTest(.contains, columns: [0], "e"), "caf\u{65}\u{301}"))
        #expect(try matches(StringTest(.contains, columns: [0], ""), ""))
    }
}
