// SPDX-License-Identifier: Apache-2.0
// Decimal numbers as digits and an exponent, for rounding and remainders without error. A double counts as its shortest
// decimal text, as it does in the order of numbers.

package import FoundationEssentials

/// ± mantissa · 10^exponent.
package struct DecimalParts {
    var isNegative: Bool
    var mantissa: UInt128
    var exponent: Int

    package init(_ number: Int128) {
        self.init(isNegative: number < 0, mantissa: number.magnitude, exponent: 0)
    }

    /// Returns nil for NaN.
    package init?(_ number: Decimal) {
        guard !number.isNaN, let (mantissa, exponent) = number.magnitude.parts else { return nil }
        self.init(isNegative: number.sign == .minus, mantissa: mantissa, exponent: exponent)
    }

    /// Reads the shortest text of a double, such as `-1.5e-07`. Returns nil if the double isn't finite.
    package init?(written number: Double) {
        guard number.isFinite else { return nil }
        let text = number.description
        let parts = text.split(separator: "e")
        let digits = parts[0].drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
        let fraction = digits.count > 1 ? digits[1] : ""
        guard let mantissa = UInt128(digits[0] + fraction), let exponent = parts.count > 1 ? Int(parts[1]) : 0 else {
            return nil
        }
        self.init(isNegative: text.hasPrefix("-"), mantissa: mantissa, exponent: exponent - fraction.count)
    }

    private init(isNegative: Bool, mantissa: UInt128, exponent: Int) {
        self.isNegative = isNegative
        self.mantissa = mantissa
        self.exponent = exponent
    }

    // MARK: Values

    /// The number as a `Decimal`; nil if no `Decimal` is that large or that small.
    package var decimal: Decimal? {
        if mantissa == 0 { return 0 }
        var (mantissa, exponent) = (mantissa, exponent)
        while exponent > 127 {
            let (more, isTooLarge) = mantissa.multipliedReportingOverflow(by: 10)
            if isTooLarge { return nil }
            (mantissa, exponent) = (more, exponent - 1)
        }
        guard exponent >= -128, let significand = Decimal(string: mantissa.description) else { return nil }
        let magnitude = Decimal(sign: .plus, exponent: exponent, significand: significand)
        return magnitude.isNaN ? nil : isNegative ? -magnitude : magnitude
    }

    /// The nearest double.
    package var double: Double { Double("\(isNegative ? "-" : "")\(mantissa)e\(exponent)") ?? .nan }

    /// The number as an integer; nil if it has a fraction, or more than 127 bits.
    package var integer: Int128? {
        if mantissa == 0 { return 0 }
        guard (0...38).contains(exponent) else { return nil }
        let (magnitude, isTooLarge) = mantissa.multipliedReportingOverflow(by: Self.power(exponent))
        guard !isTooLarge, let number = Int128(exactly: magnitude) else { return nil }
        return isNegative ? -number : number
    }

    /// 10^`exponent`.
    /// - Parameter exponent: 0 to 38.
    private static func power(_ exponent: Int) -> UInt128 {
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }

    // MARK: Rounding

    /// The number with at most `digits` digits after the point. If `digits` is negative, that many of the last digits
    /// before the point become zeros.
    package func rounded(_ digits: Int, _ rule: FloatingPointRoundingRule) -> DecimalParts {
        let dropped = -digits - exponent
        guard dropped > 0, mantissa != 0 else { return self }
        // If more than 38 digits are dropped, the whole mantissa is dropped. It is less than half a unit: 2^128 < 10^39
        // / 2.
        let power: UInt128? = dropped <= 38 ? Self.power(dropped) : nil
        let (kept, rest) = power.map { mantissa.quotientAndRemainder(dividingBy: $0) } ?? (0, mantissa)
        let isHalf = power.map { rest == $0 / 2 } ?? false
        let isMore = power.map { rest > $0 / 2 } ?? false
        let isAway =
            switch rule {
            case .up: !isNegative && rest > 0
            case .down: isNegative && rest > 0
            case .towardZero: false
            case .awayFromZero: rest > 0
            case .toNearestOrEven: isMore || isHalf && !kept.isMultiple(of: 2)
            default: isMore || isHalf
            }
        return DecimalParts(isNegative: isNegative, mantissa: kept + (isAway ? 1 : 0), exponent: -digits)
    }

    // MARK: Division

    /// The remainder of a division with a whole quotient. It has the sign of this number.
    /// - Parameter other: not zero.
    package func remainder(dividingBy other: DecimalParts) -> DecimalParts {
        if exponent < other.exponent {
            var divisor = other.mantissa
            for _ in exponent..<other.exponent {
                let (more, isTooLarge) = divisor.multipliedReportingOverflow(by: 10)
                // The divisor is greater than this number.
                if isTooLarge { return self }
                divisor = more
            }
            return DecimalParts(isNegative: isNegative, mantissa: mantissa % divisor, exponent: exponent)
        }
        var rest = mantissa % other.mantissa
        for _ in other.exponent..<exponent where rest != 0 { rest = Self.tenfold(rest, modulo: other.mantissa) }
        return DecimalParts(isNegative: isNegative, mantissa: rest, exponent: other.exponent)
    }

    /// 10 · `number`, modulo `modulus`.
    /// - Parameter number: less than the modulus.
    private static func tenfold(_ number: UInt128, modulo modulus: UInt128) -> UInt128 {
        let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
        if !isTooLarge { return product % modulus }
        var sum: UInt128 = 0
        for _ in 0..<10 { sum = sum >= modulus - number ? sum - (modulus - number) : sum + number }
        return sum
    }
}
