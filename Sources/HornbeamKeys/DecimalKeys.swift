// SPDX-License-Identifier: Apache-2.0
// Decimal numbers: a class byte, the exponent of the leading digit, then the digits in pairs. Numbers of equal value
// have equal bytes: trailing zeros of the mantissa never get into the key (1.0 and 1.00 are one key).

/// A decimal number in lowest terms: ± mantissa × 10^exponent, or the single "not a number".
package struct KeyDecimal: Equatable, Sendable {
    package let isNaN: Bool
    package let isNegative: Bool
    /// Zero, or not divisible by ten.
    package let mantissa: UInt128
    /// Zero if the mantissa is.
    package let exponent: Int

    /// The largest magnitude of an exponent, in lowest terms.
    package static let exponentLimit = 32_000

    package static let zero = KeyDecimal(isNaN: false, isNegative: false, mantissa: 0, exponent: 0)

    package static let nan = KeyDecimal(isNaN: true, isNegative: false, mantissa: 0, exponent: 0)

    /// Makes a number in lowest terms. Zero has no sign and no exponent. Returns nil if the exponent is then beyond
    /// `exponentLimit`.
    package init?(isNegative: Bool, mantissa: UInt128, exponent: Int) {
        guard mantissa != 0 else {
            self = .zero
            return
        }
        var digits = mantissa
        var dropped = 0
        while digits.isMultiple(of: 10) {
            digits /= 10
            dropped += 1
        }
        let (lowest, overflow) = exponent.addingReportingOverflow(dropped)
        guard !overflow, lowest.magnitude <= UInt(KeyDecimal.exponentLimit) else { return nil }
        self.init(isNaN: false, isNegative: isNegative, mantissa: digits, exponent: lowest)
    }

    private init(isNaN: Bool, isNegative: Bool, mantissa: UInt128, exponent: Int) {
        self.isNaN = isNaN
        self.isNegative = isNegative
        self.mantissa = mantissa
        self.exponent = exponent
    }
}

/// The first byte of a decimal.
private enum DecimalClass {
    static let negative: UInt8 = 1
    static let zero: UInt8 = 2
    static let positive: UInt8 = 3
    static let nan: UInt8 = 4
}

extension KeyWriter {
    package mutating func append(_ value: KeyDecimal) {
        if value.isNaN {
            bytes.append(DecimalClass.nan)
        } else if value.mantissa == 0 {
            bytes.append(DecimalClass.zero)
        } else if value.isNegative {
            bytes.append(DecimalClass.negative)
            descending { $0.append(magnitudeOf: value) }
        } else {
            bytes.append(DecimalClass.positive)
            append(magnitudeOf: value)
        }
    }

    /// Appends the number as 0.d₁d₂… × 10^n: n as an Int16 (the limit of exponents ensures that it fits), then the
    /// pairs of digits plus one, then a zero byte.
    private mutating func append(magnitudeOf value: KeyDecimal) {
        var digits: [UInt8] = []
        digits.reserveCapacity(40)
        var rest = value.mantissa
        while rest != 0 {
            digits.append(UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        append(Int16(truncatingIfNeeded: value.exponent + digits.count))
        digits.reverse()
        for index in stride(from: 0, to: digits.count, by: 2) {
            let low = index + 1 < digits.count ? digits[index + 1] : 0
            bytes.append(digits[index] * 10 + low + 1)
        }
        bytes.append(0)
    }
}

extension KeyReader {
    package mutating func readDecimal() throws(KeyError) -> KeyDecimal {
        let start = offset
        switch try readByte() {
        case DecimalClass.nan:
            return .nan
        case DecimalClass.zero:
            return .zero
        case DecimalClass.positive:
            return try readDecimalMagnitude(isNegative: false, start: start)
        case DecimalClass.negative:
            return try descending { (reader) throws(KeyError) in
                try reader.readDecimalMagnitude(isNegative: true, start: start)
            }
        case let byte:
            throw .malformed(offset: start, reason: "no decimal begins with \(byte)")
        }
    }

    private mutating func readDecimalMagnitude(isNegative: Bool, start: Int) throws(KeyError) -> KeyDecimal {
        let leading = Int(try read(Int16.self))
        let malformed = KeyError.malformed(offset: start, reason: "these digits are never written for a decimal")
        var mantissa: UInt128 = 0
        var digitCount = 0
        var next = try readByte()
        guard next > 10 else { throw malformed }
        while next != 0 {
            guard next <= 100 else { throw malformed }
            let pair = next - 1
            next = try readByte()
            // The last pair is a single digit if its second digit is zero.
            let isSingle = next == 0 && pair.isMultiple(of: 10)
            let scaled = mantissa.multipliedReportingOverflow(by: isSingle ? 10 : 100)
            let sum = scaled.partialValue.addingReportingOverflow(UInt128(isSingle ? pair / 10 : pair))
            guard !scaled.overflow, !sum.overflow else { throw malformed }
            mantissa = sum.partialValue
            digitCount += isSingle ? 1 : 2
        }
        // The initialiser leaves a mantissa in lowest terms unchanged.
        guard let value = KeyDecimal(isNegative: isNegative, mantissa: mantissa, exponent: leading - digitCount),
            value.mantissa == mantissa
        else { throw malformed }
        return value
    }
}
