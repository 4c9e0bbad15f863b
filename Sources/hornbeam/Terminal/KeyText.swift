// SPDX-License-Identifier: Apache-2.0
// Keys and values of raw trees as text: readable text in quotes, other bytes in hexadecimal after `0x`. Arguments
// accept both forms, so that a printed key can be typed back.

import Hornbeam
import HornbeamPages

enum KeyText {
    /// `"text"` if the bytes are printable UTF-8, else `0x…`.
    static func show(_ bytes: Bytes, hexOnly: Bool = false) -> String {
        if bytes.isEmpty { return "\"\"" }
        if !hexOnly, let text = String(validating: bytes, as: UTF8.self), isPrintable(text) {
            return "\"" + text.escaping("\\\"", with: UInt8(ascii: "\\")) + "\""
        }
        var result = "0x"
        result.reserveCapacity(2 + 2 * bytes.count)
        for byte in bytes {
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
        return result
    }

    /// Reads the bytes of an argument: `0x…`, `"text"` with backslash escapes, or plain text. Returns nil if it is
    /// malformed.
    static func parse(_ text: String) -> [UInt8]? {
        if text.utf8.starts(with: "0x".utf8) { return parseHex(text.utf8.dropFirst(2)) }
        let quote = UInt8(ascii: "\"")
        guard text.utf8.first == quote, text.utf8.last == quote, text.utf8.count >= 2 else { return Array(text.utf8) }
        var result: [UInt8] = []
        var isEscaped = false
        for byte in text.utf8.dropFirst().dropLast() {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
            } else {
                result.append(byte)
                isEscaped = false
            }
        }
        return isEscaped ? nil : result
    }

    private static let digits = Array("0123456789abcdef")

    private static func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }

    private static func parseHex(_ text: Substring.UTF8View) -> [UInt8]? {
        let nibbles = text.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard nibbles.count.isMultiple(of: 2), !nibbles.isEmpty else { return nil }
        var result: [UInt8] = []
        for index in stride(from: 0, to: nibbles.count, by: 2) {
            guard let high = nibbles[index], let low = nibbles[index + 1] else { return nil }
            result.append(UInt8(high << 4 | low))
        }
        return result
    }
}
