// SPDX-License-Identifier: Apache-2.0
// Strings and raw bytes as keys, prefixes and their ends.

import HornbeamTestSupport
import Testing

@testable import HornbeamKeys

@Suite("String keys")
struct StringKeysTests {
    private func texts() -> [String] {
        var generator = SeededGenerator()
        return Samples.texts + (0..<300).map { _ in Samples.text(&generator) }
    }

    @Test("Strings sort and equal each other as Swift's do, in any normal form", .seeded)
    func order() {
        expectSameOrder(of: texts(), model: HornbeamKeysTests.order) { key, text in key.append(text) }
    }

    @Test("The order is transitive where Swift's < is not: composed and decomposed strings may be mixed")
    func mixedForms() {
        let expected = ["e", "é", "éa", "éb", "한", "한z"]
        let mixed = ["e", "e\u{301}", "éa", "e\u{301}b", "\u{1112}\u{1161}\u{11AB}", "한z"]
        let keys = mixed.map { text in key { $0.append(text) } }
        #expect(mixed == expected)
        #expect(keys == expected.map { text in key { $0.append(text) } })
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    }

    @Test("Text appended as plain bytes has the key of its string; other text isn't appended so")
    func plain() {
        for text in ["", "a", "plain text", "\u{7F}", "\u{2}", "a\u{1}", "\u{0}", "é", "abc\u{80}", "e\u{301}"] {
            var expected = KeyWriter()
            expected.append(text)
            var key = KeyWriter()
            let isPlain = Array(text.utf8).withUnsafeBytes { key.append(plain: $0) }
            #expect(isPlain == text.utf8.allSatisfy { $0 > 1 && $0 < 0x80 })
            #expect(key.bytes == (isPlain ? expected.bytes : []))
        }
    }

    @Test("Descending strings sort in reverse", .seeded)
    func descendingOrder() {
        expectSameOrder(of: texts(), model: { HornbeamKeysTests.order($1, $0) }) { key, text in
            key.descending { $0.append(text) }
        }
    }

    @Test("Strings come back equal, composed, ascending and descending", .seeded)
    func roundTrips() throws {
        for text in texts() {
            let back = try roundTrip(text, write: { $0.append($1) }, read: { try $0.readString() })
            #expect(back == text)
            #expect(Array(back.unicodeScalars) == Array(Normalisation.composed(text)))
            let inverted = try roundTrip(
                text, write: { key, text in key.descending { $0.append(text) } },
                read: { try $0.descending { (reader) throws(KeyError) in try reader.readString() } })
            #expect(inverted == text)
        }
    }

    @Test("A string made of a substring has the key of an equal string")
    func substrings() {
        let text = "über\0 alle日本"
        let part = String(text.dropFirst(2).dropLast(1))
        #expect(key { $0.append(part) } == key { $0.append("er\0 alle日") })
    }

    @Test("Raw bytes sort bytewise, a prefix first, and come back", .seeded)
    func rawBytes() throws {
        var generator = SeededGenerator()
        let values = [[], [0], [1], [0, 0], [255], [255, 255]] + (0..<200).map { _ in Samples.bytes(&generator) }
        expectSameOrder(of: values, model: HornbeamKeysTests.order) { key, value in key.append(bytes: value) }
        for value in values {
            #expect(try roundTrip(value, write: { $0.append(bytes: $1) }, read: { try $0.readBytes() }) == value)
            #expect(key { $0.append(bytes: value) } == value.withUnsafeBytes { raw in key { $0.append(bytes: raw) } })
        }
    }

    @Test("The bytes are those of the specification")
    func specifiedBytes() {
        #expect(key { $0.append("ab") } == [0x61, 0x62, 0])
        #expect(key { $0.append("") } == [0])
        #expect(key { $0.append("\0\u{1}\u{2}") } == [1, 1, 1, 2, 2, 0])
        #expect(key { $0.append("e\u{301}") } == [0xC3, 0xA9, 0])
        #expect(key { $0.append(bytes: [0xFF, 0]) } == [0xFF, 1, 1, 0])
    }

    @Test(
        "Invalid UTF-8 and invalid escapes are refused",
        arguments: [
            [0xFF, 0], [0xC3, 0], [0x61], [], [1, 0], [1, 3, 0], [0x61, 1, 1], [0xED, 0xA0, 0x80, 0],
        ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(throws: KeyError.self) { try reading(bytes) { try $0.readString() } }
    }

    @Test("The key of every string with a prefix begins with the prefix's bytes", .seeded)
    func prefixes() {
        let texts = texts()
        for prefix in texts {
            let bytes = key { $0.append(prefix: prefix) }
            for text in texts where text.hasPrefix(prefix) {
                let whole = key { $0.append(text) }
                #expect(whole.starts(with: bytes), "\(prefix.debugDescription) \(text.debugDescription)")
            }
        }
    }

    @Test("The prefix é finds its decomposed form, the prefix e doesn't find é")
    func composedPrefix() {
        let prefix = key { $0.append(prefix: "é") }
        #expect(key { $0.append("e\u{301}tude") }.starts(with: prefix))
        #expect(!key { $0.append("étude") }.starts(with: key { $0.append(prefix: "e") }))
    }

    @Test("The successor of a prefix is above all strings with the prefix and not above the next string", .seeded)
    func successors() throws {
        var generator = SeededGenerator()
        #expect(KeyWriter.successor(ofPrefix: []) == nil)
        #expect(KeyWriter.successor(ofPrefix: [0xFF, 0xFF]) == nil)
        #expect(KeyWriter.successor(ofPrefix: [1, 0xFF]) == [2])
        #expect(KeyWriter.successor(ofPrefix: [0x61]) == [0x62])
        for _ in 0..<2000 {
            let prefix = Samples.bytes(&generator)
            let other = generator.oneIn(2) ? prefix + Samples.bytes(&generator) : Samples.bytes(&generator)
            let isInRange =
                !other.lexicographicallyPrecedes(prefix)
                && KeyWriter.successor(ofPrefix: prefix).map { other.lexicographicallyPrecedes($0) } ?? true
            #expect(isInRange == other.starts(with: prefix), "\(prefix) \(other)")
        }
    }
}

@Suite("Normalisation")
struct NormalisationTests {
    @Test("Scalars that count as inert never change in normalisation, nor change their neighbours")
    func inertScalars() {
        // The scalars that can join an earlier one: all that are second or later in some decomposition.
        var joining: Set<Unicode.Scalar> = []
        var all: [Unicode.Scalar] = []
        for value in 0...UInt32(0x1_FFFF) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            all.append(scalar)
            joining.formUnion(Normalisation.decomposed(String(scalar)).dropFirst())
        }
        let wrong = all.filter { scalar in
            Normalisation.isInert(scalar)
                && (joining.contains(scalar)
                    || scalar.properties.canonicalCombiningClass != .notReordered
                    || Array(Normalisation.composed(String(scalar))) != [scalar])
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(10))")
        #expect(joining.contains("\u{301}"))
    }
}
