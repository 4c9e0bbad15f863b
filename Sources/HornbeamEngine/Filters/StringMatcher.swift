// SPDX-License-Identifier: Apache-2.0
// Tests strings in their stored form. The meaning is that of Swift's `contains`, `hasPrefix` and `hasSuffix`. Texts are
// folded if case doesn't matter (`CaseFolding`), and accents removed if these don't. An ASCII needle is searched for in
// the bytes. In a text of pure ASCII that is the answer. In other texts the needle may also match one of the few signs
// that fold to ASCII letters or that Unicode treats as ASCII.

import HornbeamKeys
import HornbeamPages

/// A string test that is prepared for many rows.
struct StringMatcher {
    let test: StringTest
    private let needle: String
    /// The needle for a search by bytes, if it is ASCII and not empty.
    private let plain: PlainNeedle?
    /// The signs beyond ASCII whose folded text may hold the needle or one end of it.
    private let twins: Twins

    init(_ test: StringTest) {
        self.test = test
        needle = test.folded(test.text)
        plain = PlainNeedle(needle, ignoresCase: !test.isCaseSensitive)
        twins = Twins(of: needle, test.letterCase)
    }

    func accepts(_ row: RowReader) throws(HornbeamError) -> Bool {
        for column in test.columns {
            guard let utf8 = try row.stringBytes(column) else { continue }
            let isFound = try matches(utf8) { () throws(HornbeamError) in try row.string(column) }
            if isFound { return !test.isNegated }
        }
        return test.isNegated
    }

    /// - Parameter text: the same text as a string, for the cases that bytes don't decide.
    func matches(_ utf8: Bytes, text: () throws(HornbeamError) -> String?) throws(HornbeamError) -> Bool {
        if let plain {
            let isAmong = isAmong(utf8, plain)
            // Removing accents may turn other letters into the needle.
            let isAbsent = !isAmong && test.isDiacriticSensitive
            if isAbsent, twins.isEmpty { return false }
            if PlainNeedle.isPlain(utf8) { return isAmong }
            if isAbsent, !twins.isAny(in: utf8) { return false }
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
}

/// Signs beyond ASCII in which an ASCII needle may be found.
private struct Twins {
    /// The signs in UTF-8.
    private var signs: [[UInt8]] = []
    /// For each byte, whether a sign begins with it.
    private var leads: [Bool] = []

    /// Signs that Unicode treats as ASCII: the Kelvin sign is K, the Greek question mark a semicolon, a lone grave
    /// accent a backtick.
    private static let equals: [(sign: Unicode.Scalar, text: String)] = [
        ("\u{212A}", "k"), ("\u{37E}", ";"), ("\u{1FEF}", "`"),
    ]

    /// Signs whose folded text has ASCII letters in it, with that text. Letters with marks are missing: with its mark a
    /// letter is another character.
    private static let folding: [(sign: Unicode.Scalar, text: String)] = [
        ("ß", "ss"), ("ŉ", "\u{2BC}n"), ("ſ", "s"), ("ẚ", "a\u{2BE}"), ("ẞ", "ss"), ("ﬀ", "ff"), ("ﬁ", "fi"),
        ("ﬂ", "fl"), ("ﬃ", "ffi"), ("ﬄ", "ffl"), ("ﬅ", "st"), ("ﬆ", "st"),
    ]

    /// - Parameter needle: in the form in which the test compares. Twins are looked for only if it is ASCII.
    init(of needle: String, _ letterCase: StringTest.LetterCase) {
        let needle = Array((letterCase == .exact ? needle.lowercased() : needle).utf8)
        var known = Self.equals
        if case .folded = letterCase { known += Self.folding }
        for (sign, text) in known where Self.overlap(needle, Array(text.utf8)) {
            if leads.isEmpty { leads = Array(repeating: false, count: 256) }
            signs.append(Array(UTF8.encode(sign) ?? UTF8.encodedReplacementCharacter))
            leads[Int(signs[signs.count - 1][0])] = true
        }
    }

    /// Whether one is in the other, or an end of one is a beginning of the other.
    private static func overlap(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        // Tries each offset at which at least one byte of `right` meets one of `left`.
        (1 - right.count..<left.count).contains { start in
            (max(0, start)..<min(left.count, start + right.count)).allSatisfy { left[$0] == right[$0 - start] }
        }
    }

    var isEmpty: Bool { signs.isEmpty }

    func isAny(in utf8: Bytes) -> Bool {
        utf8.indices.contains { place in
            leads[Int(utf8[place])] && signs.contains { utf8[place...].starts(with: $0) }
        }
    }
}

extension StringTest {
    /// The text in the form in which this test compares.
    package func folded(_ text: String) -> String {
        switch letterCase {
        case .folded: return CaseFolding.folded(text, removingAccents: !isDiacriticSensitive)
        case .exact: return isDiacriticSensitive ? text : Accents.removed(from: text)
        case .lowered:
            return (isDiacriticSensitive ? text : Accents.removed(from: text)).lowercased()
        }
    }
}

extension StringTest.Kind {
    package func holds(_ text: String, _ part: String) -> Bool {
        switch self {
        case .contains: part.isEmpty || text.contains(part)
        case .hasPrefix: text.hasPrefix(part)
        case .hasSuffix: text.hasSuffix(part)
        }
    }
}
