// SPDX-License-Identifier: Apache-2.0
// Tests strings as they lie in rows. The meaning is that of Swift's `contains`, `hasPrefix` and `hasSuffix`, on the
// lower-cased texts if case doesn't matter, without accents if these don't. An ASCII text is looked for in the bytes:
// where it isn't among them, no characters are it, but for three signs that Unicode takes for ASCII; and in pure ASCII
// there is nothing else to be asked.

import HornbeamKeys
import HornbeamPages

/// A string test made ready for many rows.
struct StringMatcher {
    let test: StringTest
    private let needle: String
    /// The same if it is ASCII and not empty.
    private let plain: PlainNeedle?
    /// Of signs that are equal to ASCII characters those that are in the needle: the Kelvin sign is K, the Greek
    /// question mark is a semicolon, a lone grave accent is a backtick.
    private let twins: [[UInt8]]

    init(_ test: StringTest) {
        self.test = test
        needle = test.folded(test.text)
        plain = PlainNeedle(needle, ignoresCase: !test.isCaseSensitive)
        var twins: [[UInt8]] = []
        if plain?.contains(UInt8(ascii: "k"), UInt8(ascii: "K")) == true { twins.append([0xE2, 0x84, 0xAA]) }
        if plain?.contains(UInt8(ascii: ";")) == true { twins.append([0xCD, 0xBE]) }
        if plain?.contains(UInt8(ascii: "`")) == true { twins.append([0xE1, 0xBF, 0xAF]) }
        self.twins = twins
    }

    func accepts(_ row: RowReader) throws(HornbeamError) -> Bool {
        for column in test.columns {
            guard let utf8 = try row.stringBytes(column) else { continue }
            let isFound = try matches(utf8) { () throws(HornbeamError) in try row.string(column) }
            if isFound { return !test.isNegated }
        }
        return test.isNegated
    }

    /// - Parameter text: the same text, for what bytes don't tell.
    func matches(_ utf8: Bytes, text: () throws(HornbeamError) -> String?) throws(HornbeamError) -> Bool {
        if let plain {
            let isAmong = isAmong(utf8, plain)
            // Taking accents away may make it of other letters.
            let isAbsent = !isAmong && test.isDiacriticSensitive
            if isAbsent, twins.isEmpty { return false }
            if PlainNeedle.isPlain(utf8) { return isAmong }
            if isAbsent, !hasTwins(utf8) { return false }
        }
        guard let stored = try text() else { return false }
        return test.kind.holds(test.folded(stored), needle)
    }

    private func isAmong(_ utf8: Bytes, _ needle: PlainNeedle) -> Bool {
        switch test.kind {
        case .contains: needle.isIn(utf8)
        case .hasPrefix: needle.isIn(utf8, at: 0)
        case .hasSuffix: needle.isIn(utf8, at: utf8.count - needle.count)
        }
    }

    private func hasTwins(_ utf8: Bytes) -> Bool {
        twins.contains { twin in
            utf8.indices.contains { utf8[$0] == twin[0] && utf8[$0...].starts(with: twin) }
        }
    }
}

extension StringTest {
    /// The text in the form in which this test compares.
    func folded(_ text: String) -> String {
        let plain = isDiacriticSensitive ? text : Accents.removed(from: text)
        return isCaseSensitive ? plain : plain.lowercased()
    }
}

extension StringTest.Kind {
    func holds(_ text: String, _ part: String) -> Bool {
        switch self {
        case .contains: part.isEmpty || text.contains(part)
        case .hasPrefix: text.hasPrefix(part)
        case .hasSuffix: text.hasSuffix(part)
        }
    }
}
