// SPDX-License-Identifier: Apache-2.0
// Collations: the equal texts, the order of the others, and the version that decides both.

import HornbeamTestSupport
import Testing

@testable import HornbeamKeys

@Suite("Collation")
struct CollationTests {
    private static let all: [Collation] = [
        .binary, .caseInsensitive, .caseAndDiacriticInsensitive, .unicode(locale: nil), .unicode(locale: "sv"),
    ]

    private func bytes(_ text: String, _ collator: Collator) throws -> [UInt8] {
        try key { try $0.append(text, collator: collator) }
    }

    private func sorted(_ texts: [String], _ collation: Collation) throws -> [String] {
        let collator = try Collator(collation)
        return try texts.map { (text: $0, key: try bytes($0, collator)) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .map(\.text)
    }

    @Test("Canonically equivalent texts are equal under every collation", .seeded, arguments: all)
    func canonicalEquivalence(collation: Collation) throws {
        let collator = try Collator(collation)
        var generator = SeededGenerator()
        let texts = Samples.texts + (0..<300).map { _ in Samples.text(&generator) }
        for text in texts {
            let decomposed = Normalisation.string(of: Normalisation.decomposed(text))
            let composed = Normalisation.string(of: Normalisation.composed(text))
            let expected = try bytes(text, collator)
            #expect(
                try bytes(decomposed, collator) == expected && bytes(composed, collator) == expected,
                "\(text.debugDescription)")
        }
    }

    @Test("The root order is that of the Unicode collation algorithm, symbols and all")
    func rootOrder() throws {
        let expected = [
            "", "_", "~", "😀", "0", "10", "9", "a", "A", "á", "Á", "ä", "aa", "AA", "b", "é", "i", "I", "İ", "ı", "n",
            "ñ", "ss", "ß", "z", "Z", "Zurich", "Zürich", "あ", "日",
        ]
        #expect(try sorted(expected.reversed(), .unicode(locale: nil)) == expected)
    }

    @Test("A locale has rules of its own")
    func localeOrder() throws {
        #expect(try sorted(["z", "ö", "o"], .unicode(locale: nil)) == ["o", "ö", "z"])
        #expect(try sorted(["z", "ö", "o"], .unicode(locale: "sv")) == ["o", "z", "ö"])
        #expect(try sorted(["Afz", "Ä", "Ad"], .unicode(locale: "de-u-co-phonebk")) == ["Ad", "Ä", "Afz"])
    }

    @Test("Punctuation counts, also in locales that would ignore it")
    func punctuation() throws {
        let collator = try Collator(.unicode(locale: "th"))
        #expect(try bytes("a-b", collator) != bytes("ab", collator))
        #expect(try bytes("a😀", collator) != bytes("a😃", collator))
    }

    @Test(
        "Without case, texts are equal if they fold to the same text",
        arguments: [
            ("STRASSE", "Straße", true), ("É", "e\u{301}", true), ("ΣΊΣΥΦΟΣ", "σίσυφος", true), ("ﬁ", "FI", true),
            ("İ", "i\u{307}", true), ("i", "I", true), ("ı", "i", false), ("e", "é", false), ("a", "b", false),
            ("\u{1F80}", "\u{1F88}", true), ("Ǆ", "ǆ", true), ("\u{13A0}", "\u{AB70}", true),
        ])
    func caseInsensitive(left: String, right: String, areEqual: Bool) throws {
        let collator = try Collator(.caseInsensitive)
        #expect(try (bytes(left, collator) == bytes(right, collator)) == areEqual)
    }

    @Test(
        "Without case and accents, letters that differ only in marks are equal",
        arguments: [
            ("Émile", "emile", true), ("İstanbul", "istanbul", true), ("Ångström", "ANGSTROM", true), ("ñ", "N", true),
            ("\u{1EB9}\u{301}", "e", true), ("ᾳ", "α", true), ("שָׁלוֹם", "שלום", true), ("ø", "o", false),
            ("が", "か", false),
            ("कि", "क", false), ("\u{915}\u{94D}", "\u{915}", false), ("e", "f", false),
        ])
    func caseAndDiacriticInsensitive(left: String, right: String, areEqual: Bool) throws {
        let collator = try Collator(.caseAndDiacriticInsensitive)
        #expect(try (bytes(left, collator) == bytes(right, collator)) == areEqual)
    }

    @Test("Case is the last tie-break of the Unicode collation, not equality")
    func caseTieBreak() throws {
        #expect(try sorted(["aa", "A", "a"], .unicode(locale: nil)) == ["a", "A", "aa"])
    }

    @Test("ASCII folds by the rules of all text")
    func asciiFolding() throws {
        let ascii = String(String.UnicodeScalarView((0..<128).compactMap { Unicode.Scalar($0) }))
        #expect(CaseFolding.folded(ascii) == ascii.lowercased())
        let beyond = CaseFolding.folded(ascii + "É")
        #expect(beyond == ascii.lowercased() + "é")
    }

    @Test("Folded text folds to itself, and no accent is left or comes back")
    func folding() throws {
        for value in UInt32(0)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value), scalar.properties.changesWhenCaseFolded else { continue }
            for removingAccents in [false, true] {
                let folded = CaseFolding.folded(String(scalar) + "\u{301}", removingAccents: removingAccents)
                #expect(CaseFolding.folded(folded, removingAccents: removingAccents) == folded)
            }
        }
    }

    @Test("After equal collated texts the next component decides", .seeded, arguments: all)
    func inTuples(collation: Collation) throws {
        let collator = try Collator(collation)
        var generator = SeededGenerator()
        let texts = ["", "a", "A", "a\0", "á", "ab", "aB", "-", "日"] + (0..<40).map { _ in Samples.text(&generator) }
        let tuples = texts.map { (text: $0, number: Int8(generator.below(3)) - 1) }
        let single = try Dictionary(texts.map { ($0, try bytes($0, collator)) }) { $1 }
        try expectSameOrder(
            of: tuples,
            model: { left, right in
                let found = order(single[left.text] ?? [], single[right.text] ?? [])
                return found == 0 ? order(left.number, right.number) : found
            },
            encode: { key, tuple in
                try key.append(tuple.text, collator: collator)
                key.append(tuple.number)
            })
        for tuple in tuples {
            let whole = try key {
                try $0.append(tuple.text, collator: collator)
                $0.append(tuple.number)
            }
            try whole.withUnsafeBytes { bytes in
                var reader = KeyReader(bytes)
                try reader.skip(.terminated)
                #expect(try reader.read(Int8.self) == tuple.number)
                try reader.expectEnd()
            }
        }
    }

    @Test(
        "The key of every text with a prefix begins with the prefix's bytes", .seeded,
        arguments: all + [.unicode(locale: "cs")])
    func prefixes(collation: Collation) throws {
        let collator = try Collator(collation)
        var generator = SeededGenerator()
        let texts =
            ["", "c", "ch", "chleba", "cz", "เ", "เก", "ก", "fo", "foo", "Föhn", "日本", "日"]
            + (0..<150).map { _ in Samples.text(&generator) }
        let keys = try texts.map { try bytes($0, collator) }
        for prefix in texts {
            let prefixBytes = try key { try $0.append(prefix: prefix, collator: collator) }
            for (text, textKey) in zip(texts, keys) where text.hasPrefix(prefix) {
                #expect(
                    textKey.starts(with: prefixBytes),
                    "\(prefix.debugDescription) \(text.debugDescription)")
            }
        }
        // The bound is tight: it excludes other texts.
        let bound = try key { try $0.append(prefix: "fo", collator: collator) }
        #expect(try !bytes("fa", collator).starts(with: bound))
    }

    @Test("Long texts are collated whole, also those that expand")
    func longTexts() throws {
        for collation in CollationTests.all {
            let collator = try Collator(collation)
            // U+FDFA is weighed as eighteen letters.
            for long in [String(repeating: "Grüße 日本 😀 ", count: 8000), String(repeating: "\u{FDFA}", count: 100)] {
                #expect(try bytes(long + "a", collator).lexicographicallyPrecedes(bytes(long + "b", collator)))
            }
        }
    }

    @Test("A collation is stored under its name", arguments: all)
    func names(collation: Collation) {
        #expect(Collation(name: collation.name) == collation)
    }

    @Test("Other names are no collation", arguments: ["", "Binary", "unicode:", "unicodex"])
    func otherNames(name: String) {
        #expect(Collation(name: name) == nil)
    }

    @Test("Each collator has a version, which doesn't change")
    func versions() throws {
        for collation in CollationTests.all {
            let version = try Collator(collation).version
            #expect(!version.isEmpty)
            #expect(try Collator(collation).version == version)
        }
        #expect(try Collator(.unicode(locale: nil)).version != Collator(.binary).version)
        #expect(try Collator(.caseInsensitive).version.hasPrefix("fold-1 unicode-"))
    }

    @Test("A locale without a known language is refused", arguments: ["xx-nonsense", "", "de\0", "…"])
    func unknownLocales(locale: String) {
        #expect(throws: KeyError.unknownLocale(locale)) { try Collator(.unicode(locale: locale)) }
    }

    @Test("A collator serves many threads at once")
    func threads() async throws {
        let collator = try Collator(.unicode(locale: "de"))
        let texts = Samples.texts
        let expected = try texts.map { try bytes($0, collator) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<20).allSatisfy { _ in
                        (try? texts.map { text in try key { try $0.append(text, collator: collator) } }) == expected
                    }
                }
            }
            for await isSame in group { #expect(isSame) }
        }
    }
}
