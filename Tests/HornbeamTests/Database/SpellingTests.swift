// SPDX-License-Identifier: Apache-2.0
// The exact text of numbers, sizes, times, nouns and reports.

import Hornbeam
import Testing

@Suite("Spelling")
struct SpellingTests {
    @Test("numbers are grouped", arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567")])
    func grouped(number: Int, text: String) {
        #expect(Spelling.grouped(number) == text)
    }

    @Test("nouns follow their number")
    func counted() {
        #expect(Spelling.counted(1, "row") == "1 row")
        #expect(Spelling.counted(2_000, "row") == "2,000 rows")
        #expect(Spelling.counted(0, "entity", "entities") == "0 entities")
    }

    @Test("signs are escaped together with their accents")
    func escaping() {
        let text = "a'\u{301}b\"'"
        #expect(text.escaping("'\"", with: UInt8(ascii: "\\")) == "a\\'\u{301}b\\\"\\'")
        #expect(text.escaping("x", with: UInt8(ascii: "\\")) == text)
    }

    @Test(
        "sizes have three digits",
        arguments: [
            (UInt64(1), "1 byte"), (999, "999 bytes"), (1_000, "1.00 kB"), (9_994, "9.99 kB"), (9_996, "10.0 kB"),
            (42_123_264, "42.1 MB"), (999_499, "999 kB"), (999_500, "1.00 MB"), (UInt64.max, "18.4 EB"),
        ])
    func bytes(size: UInt64, text: String) {
        #expect(Spelling.bytes(size) == text)
    }

    @Test(
        "times have a unit",
        arguments: [
            (Duration.microseconds(250), "250 µs"), (.microseconds(4_120), "4.1 ms"), (.milliseconds(250), "250 ms"),
            (.milliseconds(3_214), "3.21 s"), (.milliseconds(32_140), "32.1 s"), (.seconds(125), "2:05 min"),
            (.seconds(3_725), "1:02:05 min"),
        ])
    func time(duration: Duration, text: String) {
        #expect(Spelling.time(duration) == text)
    }

    @Test("decimals are rounded and keep their zeros")
    func fixed() {
        #expect(Spelling.fixed(3.0049, 3) == "3.005")
        #expect(Spelling.fixed(0.05, 2) == "0.05")
        #expect(Spelling.fixed(-1.25, 1) == "-1.3")
        #expect(Spelling.fixed(1e300, 2) == "1e+300")
    }

    @Test(
        "a name has the article that is spoken with it",
        arguments: [
            ("int64", "an int64"), ("uint8?", "a uint8?"), ("uuid", "a uuid"), ("url", "a url"), ("array", "an array"),
            ("[int32]", "an [int32]"), ("[string?]?", "a [string?]?"), ("Author", "an Author"), ("User", "a User"),
            ("Umbrella", "an Umbrella"), ("Book", "a Book"), ("", "a "),
        ])
    func article(name: String, text: String) {
        #expect(name.withArticle == text)
    }

    @Test("the lines of a report have their values in a column")
    func report() {
        #expect(Spelling.report([("a", "1"), ("long", "2 bytes")]) == "a     1\nlong  2 bytes")
        #expect(Spelling.report([]) == "")
    }
}
