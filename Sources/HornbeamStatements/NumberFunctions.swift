// SPDX-License-Identifier: Apache-2.0
// Number functions. Integers and decimals are rounded and divided exactly. Roots, logarithms and angles are doubles.

import FoundationEssentials
import Glibc

enum NumberFunctions {
    static let all: [ScalarFunction] = [
        ScalarFunction("abs", 1...1) { arguments, _ in
            if let integer = whole(arguments[0]) { return try Arithmetic.item(Int128(integer.magnitude), "abs") }
            if case .value(.decimal(let number)) = arguments[0] { return .value(.decimal(number.magnitude)) }
            return arguments[0].number.map { .double(abs($0)) } ?? .null
        },
        ScalarFunction("sign", 1...1) { arguments, _ in
            guard let number = arguments[0].number, !number.isNaN else { return .null }
            return .int(number < 0 ? -1 : number > 0 ? 1 : 0)
        },
        rounding("ceil", .up),
        rounding("floor", .down),
        digits("round", .toNearestOrAwayFromZero),
        digits("round_even", .toNearestOrEven),
        digits("trunc", .towardZero),
        number("sqrt") { $0 < 0 ? nil : $0.squareRoot() },
        number("exp") { Glibc.exp($0) },
        number("ln") { $0 <= 0 ? nil : Glibc.log($0) },
        number("log") { $0 <= 0 ? nil : Glibc.log10($0) },
        number("sin") { Glibc.sin($0) },
        number("cos") { Glibc.cos($0) },
        number("tan") { Glibc.tan($0) },
        number("asin") { abs($0) > 1 ? nil : Glibc.asin($0) },
        number("acos") { abs($0) > 1 ? nil : Glibc.acos($0) },
        number("atan") { Glibc.atan($0) },
        number("degrees") { $0 * 180 / .pi },
        number("radians") { $0 * .pi / 180 },
        ScalarFunction("pi", 0...0) { _, _ in .double(.pi) },
        ScalarFunction("e", 0...0) { _, _ in .double(Glibc.exp(1)) },
        ScalarFunction("power", 2...2) { arguments, _ in
            if case .value(.decimal(let base)) = arguments[0], let exponent = arguments[1].integer,
                let power = power(base, exponent)
            {
                return power
            }
            guard let base = arguments[0].number, let exponent = arguments[1].number else { return .null }
            return .double(Glibc.pow(base, exponent))
        },
        ScalarFunction("atan2", 2...2) { arguments, _ in
            guard let y = arguments[0].number, let x = arguments[1].number else { return .null }
            return .double(Glibc.atan2(y, x))
        },
        ScalarFunction("div", 2...2) { arguments, _ in
            if let (left, right) = decimals(arguments) {
                return try Arithmetic.compute(.divide, .value(.decimal(left)), .value(.decimal(right)))
            }
            guard let left = arguments[0].number, let right = arguments[1].number, right != 0 else { return .null }
            return .double(left / right)
        },
        ScalarFunction("idiv", 2...2) { arguments, _ in
            if let (left, right) = decimals(arguments) {
                if right == 0 { return .null }
                // The remainder is subtracted first, so that the quotient is exact.
                let whole = left - Arithmetic.remainder(left, right)
                let quotient = try Arithmetic.compute(.divide, .value(.decimal(whole)), .value(.decimal(right)))
                return try rounded(quotient, 0, .towardZero) ?? .null
            }
            guard let left = whole(arguments[0]), let right = whole(arguments[1]), right != 0 else { return .null }
            return try Arithmetic.item(left / right, "idiv")
        },
    ]

    /// An integer of an integer type.
    private static func whole(_ item: StatementValue) -> Int128? {
        switch item {
        case .value(.int), .value(.uint): item.integer
        default: nil
        }
    }

    /// Both numbers as decimals, if at least one of them is a decimal and the other one can be.
    private static func decimals(_ items: [StatementValue]) -> (Decimal, Decimal)? {
        guard case .value(let left) = items[0], case .value(let right) = items[1],
            Arithmetic.isDecimal(left) || Arithmetic.isDecimal(right), let left = StatementValue.decimal(left),
            let right = StatementValue.decimal(right)
        else { return nil }
        return (left, right)
    }

    /// Returns nil if the power is beyond the decimals, or if the exponent is beyond ±1000.
    private static func power(_ base: Decimal, _ exponent: Int128) -> StatementValue? {
        guard exponent.magnitude <= 1000 else { return nil }
        if base == 0, exponent < 0 { return .null }
        var (power, factor, left) = (Decimal(1), base, exponent.magnitude)
        while left > 0 {
            if left % 2 == 1 { power *= factor }
            left /= 2
            if left > 0 { factor *= factor }
        }
        if exponent < 0 { power = power == 0 ? .nan : 1 / power }
        return power.isNaN ? nil : .value(.decimal(power))
    }

    private static func number(_ name: String, _ body: @escaping @Sendable (Double) -> Double?) -> ScalarFunction {
        ScalarFunction(name, 1...1) { arguments, _ in
            guard let number = arguments[0].number, let result = body(number) else { return .null }
            return .double(result)
        }
    }

    // MARK: Rounding

    private static func rounding(_ name: String, _ rule: FloatingPointRoundingRule) -> ScalarFunction {
        ScalarFunction(name, 1...1) { arguments, _ in try rounded(arguments[0], 0, rule) ?? .null }
    }

    /// A function that rounds to a number of digits after the point, none if no number is given.
    private static func digits(_ name: String, _ rule: FloatingPointRoundingRule) -> ScalarFunction {
        ScalarFunction(name, 1...2) { arguments, _ in
            guard arguments.count == 2 else { return try rounded(arguments[0], 0, rule) ?? .null }
            guard let digits = arguments[1].integer else { return .null }
            // No number has more digits than this on either side of the point.
            return try rounded(arguments[0], Int(min(max(digits, -1000), 1000)), rule) ?? .null
        }
    }

    /// The number with at most `digits` digits after the point. It keeps its type, but a double without digits there
    /// becomes an integer if that fits 64 bits. Returns nil if the item is no number.
    static func rounded(_ item: StatementValue, _ digits: Int, _ rule: FloatingPointRoundingRule) throws(HornbeamError)
        -> StatementValue?
    {
        guard case .value(let value) = item else { return nil }
        switch value {
        case .int, .uint:
            guard digits < 0, let number = item.integer else { return item }
            return try Arithmetic.item(DecimalParts(number).rounded(digits, rule).integer ?? .max, "the rounded number")
        case .decimal(let number):
            guard let parts = DecimalParts(number)?.rounded(digits, rule) else { return item }
            guard let rounded = parts.decimal else { throw Arithmetic.beyondDecimals("the rounded number") }
            return .value(.decimal(rounded))
        case .double(let number):
            if digits == 0 { return result(number.rounded(rule)) }
            guard let rounded = DecimalParts(written: number)?.rounded(digits, rule).double else { return item }
            return digits < 0 ? result(rounded) : .double(rounded)
        default: return nil
        }
    }

    /// An integer if the number is one of 64 bits, else a double.
    private static func result(_ number: Double) -> StatementValue {
        Int64(exactly: number).map { .value(.int($0)) } ?? .double(number)
    }
}
