// SPDX-License-Identifier: Apache-2.0
// Sums of decimals without error. A decimal is a mantissa of 128 bits times a power of ten from 10^-128 to 10^127, so
// sums of mantissas are kept by their powers, and put together and rounded once at the end.

public import FoundationEssentials

/// A sum of decimals. The order in which they are added doesn't change it.
public struct DecimalSummation: NumberSummation {
    /// The sum of mantissas of one power of ten: `low` + `high` · 2^64. Each half has room for the sum of 2^63
    /// mantissas.
    private struct Term {
        let exponent: Int
        var low: Int128 = 0
        var high: Int128 = 0
    }

    private var terms: [Term] = []
    private var isNaN = false
    /// The sum of numbers that `Decimal` itself adds without error: multiples of 10^`unit`, whose sums have no more
    /// than the 38 digits that every mantissa can hold. Nearly all numbers are among these.
    private var near = Decimal(0)
    private var unit = Int.max
    /// A bound of 10^37 units. A number is added to `near` if both are below it.
    private var bound = Decimal(0)

    public init() {}

    public mutating func add(_ number: Decimal) {
        if number.isNaN {
            isNaN = true
            return
        }
        let exponent = number.exponent
        if exponent >= unit, number.magnitude < bound, near.magnitude < bound {
            near += number
            return
        }
        put(near)
        near = 0
        if exponent < unit {
            unit = exponent
            bound = Decimal(sign: .plus, exponent: min(unit + 37, 127), significand: 1)
        }
        if number.magnitude < bound { near = number } else { put(number) }
    }

    public mutating func add(_ number: Decimal, times count: Int) {
        if count == 1 || number.isNaN && count > 0 { return add(number) }
        // `count` mantissas fit: see `Term`.
        if count > 0 { put(number, times: Int128(count)) }
    }

    private mutating func put(_ number: Decimal, times count: Int128 = 1) {
        guard number != 0, let (mantissa, exponent) = number.magnitude.parts else { return }
        let place = terms.firstIndex { $0.exponent == exponent } ?? terms.count
        if place == terms.count { terms.append(Term(exponent: exponent)) }
        let low = Int128(UInt64(truncatingIfNeeded: mantissa)) * count
        let high = Int128(mantissa >> 64) * count
        terms[place].low += number.sign == .minus ? -low : low
        terms[place].high += number.sign == .minus ? -high : high
    }

    public func total() throws(HornbeamError) -> Decimal {
        guard let total = rounded(dividedBy: 1) else {
            throw HornbeamError(
                .invalid,
                "the sum of the decimals exceeds \(Decimal.greatestFiniteMagnitude), the greatest decimal: sum the "
                    + "property as Double")
        }
        return total
    }

    /// The sum divided by a number greater than 0, rounded once. It is never greater than the greatest number that was
    /// added.
    package func mean(of count: Int) -> Decimal { rounded(dividedBy: UInt128(count)) ?? .nan }

    /// The sum divided by a number, rounded half away from zero, as `Decimal` does. Returns nil if it is greater than
    /// any `Decimal`.
    private func rounded(dividedBy divisor: UInt128) -> Decimal? {
        if isNaN { return .nan }
        var all = self
        all.put(near)
        guard let lowest = all.terms.map(\.exponent).min() else { return 0 }
        let (digits, isNegative) = all.digits(from: lowest)
        // Long division, from the highest digit on, continued after the lowest one.
        var (mantissa, rest): (UInt128, UInt128) = (0, 0)
        var place = digits.count
        var roundsUp = false
        while place > 0 || rest > 0 {
            let dividend = rest * 10 + (place > 0 ? UInt128(digits[place - 1]) : 0)
            let (digit, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
            let (tens, isTooLarge) = mantissa.multipliedReportingOverflow(by: 10)
            let (next, isOneTooLarge) = tens.addingReportingOverflow(digit)
            if isTooLarge || isOneTooLarge || lowest + place - 1 < -128 {
                roundsUp = digit >= 5
                break
            }
            (mantissa, rest) = (next, remainder)
            place -= 1
        }
        var exponent = lowest + place
        if roundsUp {
            if mantissa == .max {
                mantissa /= 10
                exponent += 1
            }
            mantissa += 1
        }
        guard exponent <= 127, let significand = Decimal(string: mantissa.description) else { return nil }
        let magnitude = Decimal(sign: .plus, exponent: exponent, significand: significand)
        if magnitude.isNaN { return nil }
        return isNegative ? -magnitude : magnitude
    }

    /// The digits of the sum in units of 10^`lowest`, from the lowest on.
    private func digits(from lowest: Int) -> (digits: [Int], isNegative: Bool) {
        // 2^64.
        let great = [6, 1, 6, 1, 5, 5, 9, 0, 7, 3, 7, 0, 4, 4, 7, 6, 4, 4, 8, 1]
        let highest = terms.map(\.exponent).max() ?? lowest
        // Each half of a term has 39 digits at most. A few more are for the carry.
        var digits = [Int](repeating: 0, count: highest - lowest + 39 + great.count + 6)
        for term in terms {
            var (low, high, place) = (term.low, term.high, term.exponent - lowest)
            while low != 0 || high != 0 {
                digits[place] += Int(low % 10)
                let digit = Int(high % 10)
                for (offset, factor) in great.enumerated() where digit != 0 { digits[place + offset] += digit * factor }
                (low, high, place) = (low / 10, high / 10, place + 1)
            }
        }
        if Self.carry(&digits) >= 0 { return (digits, false) }
        for place in digits.indices { digits[place] = -digits[place] }
        digits[digits.count - 1] += 10
        _ = Self.carry(&digits)
        return (digits, true)
    }

    /// Brings each digit into 0 to 9. Returns the carry above the highest digit, which is -1 for a negative number.
    private static func carry(_ digits: inout [Int]) -> Int {
        var carried = 0
        for place in digits.indices {
            let number = digits[place] + carried
            carried = (number >= 0 ? number : number - 9) / 10
            digits[place] = number - carried * 10
        }
        return carried
    }
}

extension Decimal {
    /// Mantissa and exponent of a number that isn't negative: mantissa · 10^exponent. Returns nil for NaN.
    var parts: (mantissa: UInt128, exponent: Int)? {
        UInt128(significand.description).map { ($0, exponent) }
    }
}
