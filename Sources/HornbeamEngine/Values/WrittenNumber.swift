// SPDX-License-Identifier: Apache-2.0
// Numbers as text, and their values in the types of columns. A number that a type can't hold is refused: no digit is
// lost, and no number becomes infinite, without notice.

import FoundationEssentials

/// A decimal number of any length as its text has it: sign, digits, and the power of ten of the last digit.
struct WrittenNumber: Equatable {
    /// False for zero.
    let isNegative: Bool
    /// Without zeros at either end; empty for zero.
    let digits: [UInt8]
    /// The power of ten of the last digit; zero for the number zero. Exponents in the text are cut to ±10¹², which no
    /// type holds.
    let exponent: Int
    /// Whether the text has neither a point nor an exponent, like an integer.
    let isPlain: Bool

    /// Parses a number. Returns nil if the text is anything but `[±]digits[.digits][e[±]digits]`. The digits before the
    /// point or those after it may be missing.
    init?(_ text: String) {
        var bytes = text.utf8[...]
        let sign = bytes.first
        if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { bytes.removeFirst() }
        var digits: [UInt8] = []
        let whole = bytes.prefix { Self.isDigit($0) }
        digits += whole
        bytes = bytes[whole.endIndex...]
        var exponent = 0
        var isPlain = true
        if bytes.first == UInt8(ascii: ".") {
            let fraction = bytes.dropFirst().prefix { Self.isDigit($0) }
            digits += fraction
            exponent -= fraction.count
            bytes = bytes[fraction.endIndex...]
            isPlain = false
        }
        guard !digits.isEmpty else { return nil }
        if let mark = bytes.first, mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E") {
            guard let power = Self.power(bytes.dropFirst()) else { return nil }
            exponent += power
            isPlain = false
        } else if !bytes.isEmpty {
            return nil
        }
        let zero = UInt8(ascii: "0")
        while digits.last == zero {
            digits.removeLast()
            exponent += 1
        }
        self.digits = Array(digits.drop { $0 == zero })
        self.exponent = self.digits.isEmpty ? 0 : exponent
        self.isPlain = isPlain
        isNegative = sign == UInt8(ascii: "-") && !self.digits.isEmpty
    }

    static func == (left: WrittenNumber, right: WrittenNumber) -> Bool {
        left.isNegative == right.isNegative && left.digits == right.digits && left.exponent == right.exponent
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func power(_ text: Substring.UTF8View) -> Int? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative || text.first == UInt8(ascii: "+") ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy(isDigit) else { return nil }
        var power = 0
        for digit in digits { power = min(power * 10 + Int(digit - 0x30), 1_000_000_000_000) }
        return isNegative ? -power : power
    }

    /// The number without its sign, if it is whole and no greater than any `UInt64`.
    private var magnitude: UInt64? {
        guard exponent >= 0, digits.count + exponent <= 20 else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: exponent))
            ?? (digits.isEmpty ? 0 : nil)
    }

    var isWhole: Bool { exponent >= 0 }

    // MARK: Values

    /// Parses an integer; `1`, `1.0` and `10e-1` are the same. Returns nil if the number isn't whole or doesn't fit.
    static func int64(_ text: String) -> Int64? {
        if let number = Int64(text) { return number }
        guard let number = WrittenNumber(text), let magnitude = number.magnitude else { return nil }
        if !number.isNegative { return Int64(exactly: magnitude) }
        return magnitude <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
    }

    static func uint64(_ text: String) -> UInt64? {
        if let number = UInt64(text) { return number }
        guard let number = WrittenNumber(text), !number.isNegative else { return nil }
        return number.magnitude
    }

    /// Returns the nearest value. Returns nil if that is infinite, or if it is zero and the number is not. Returns nil
    /// too if an integer of at most 64 bits would become another integer.
    static func double(_ text: String) -> Double? { floating(text, Double.self) { Double(exactly: $0) } }

    static func float(_ text: String) -> Float? { floating(text, Float.self) { Float(exactly: $0) } }

    private static func floating<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ text: String, _: Number.Type, exactly: (UInt64) -> Number?
    ) -> Number? {
        guard let written = WrittenNumber(text), let value = Number(text), value.isFinite,
            value != 0 || written.digits.isEmpty
        else { return nil }
        // The shortest text of a large value may end in zeros that its exact value doesn't have. Such text is accepted.
        if written.isPlain, let magnitude = written.magnitude, exactly(magnitude) == nil,
            WrittenNumber(value.description) != written
        {
            return nil
        }
        return value
    }

    /// Parses a decimal. Returns nil if the text is no number, or has more digits than a `Decimal` holds.
    static func decimal(_ text: String) -> Decimal? {
        if text == JSONSpecial.nan { return .nan }
        guard let written = WrittenNumber(text), let value = Decimal(string: text.lowercased()),
            WrittenNumber(value.description) == written
        else { return nil }
        return value
    }
}
