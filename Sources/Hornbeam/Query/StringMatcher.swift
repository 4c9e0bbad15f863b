// SPDX-License-Identifier: Apache-2.0
// Tests strings as they lie in rows. The meaning is that of Swift's `contains`, `hasPrefix` and `hasSuffix`, on the
// lower-cased texts if case doesn't matter, without accents if these don't; pure ASCII is tested on the bytes.

import HornbeamKeys
import HornbeamPages

/// A string test made ready for many rows.
struct StringMatcher {
    let test: StringTest
    private let needle: String
    private let needleBytes: [UInt8]
    private let isPlain: Bool

    init(_ test: StringTest) {
        self.test = test
        needle = test.folded(test.text)
        needleBytes = Array(needle.utf8)
        isPlain = needleBytes.allSatisfy { $0 < 0x80 && $0 != 0x0D }
    }

    func accepts(_ row: RowReader) throws(HornbeamError) -> Bool {
        for column in test.columns {
            if let utf8 = try row.stringBytes(column), try matches(utf8, row, column) { return !test.isNegated }
        }
        return test.isNegated
    }

    private func matches(_ utf8: Bytes, _ row: RowReader, _ column: Int) throws(HornbeamError) -> Bool {
        // A carriage return and a line feed are one character: left to the slow path, as everything beyond ASCII is.
        if isPlain, utf8.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) { return matchesPlain(utf8) }
        guard let stored = try row.string(column) else { return false }
        return test.kind.holds(test.folded(stored), needle)
    }

    private func matchesPlain(_ utf8: Bytes) -> Bool {
        let last = utf8.count - needleBytes.count
        guard last >= 0 else { return false }
        switch test.kind {
        case .hasPrefix: return isEqual(utf8, at: 0)
        case .hasSuffix: return isEqual(utf8, at: last)
        case .contains:
            for start in 0...last where isEqual(utf8, at: start) { return true }
            return false
        }
    }

    @inline(__always)
    private func isEqual(_ utf8: Bytes, at start: Int) -> Bool {
        for index in needleBytes.indices {
            var byte = utf8[start + index]
            if !test.isCaseSensitive, byte >= 0x41, byte <= 0x5A { byte |= 0x20 }
            if byte != needleBytes[index] { return false }
        }
        return true
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
