// SPDX-License-Identifier: Apache-2.0
// Numbers in expressions. Integers stay integers if the result is one, and a result that doesn't fit 64 bits is an
// error. With a decimal operand the result is a decimal, with a double a double. An operand that is no number gives
// null, and so does a division by zero.

import FoundationEssentials

enum Arithmetic {
    static func compute(_ sign: BinaryOperator, _ left: StatementValue, _ right: StatementValue) throws(HornbeamError)
        -> StatementValue
    {
        if left == .missing || right == .missing { return .missing }
        guard case .value(let first) = left, case .value(let second) = right, isNumber(first), isNumber(second) else {
            return .null
        }
        if let first = integer(first), let second = integer(second) {
            return try compute(sign, first, second) { "\(left.node.text) \(sign.rawValue) \(right.node.text)" }
        }
        if isDecimal(first) || isDecimal(second), let first = StatementValue.decimal(first),
            let second = StatementValue.decimal(second)
        {
            let result = compute(sign, first, second)
            guard case .value(.decimal(let number)) = result, number.isNaN, !first.isNaN, !second.isNaN else {
                return result
            }
            throw beyondDecimals("\(left.node.text) \(sign.rawValue) \(right.node.text)")
        }
        return compute(sign, left.number ?? .nan, right.number ?? .nan)
    }

    static func negation(_ item: StatementValue) throws(HornbeamError) -> StatementValue {
        if case .value(.double(let number)) = item { return .double(-number) }
        return try compute(.subtract, .int(0), item)
    }

    /// The integer as an `Int64` or, if it is too large for that, a `UInt64`. Throws `.invalid` if it fits neither.
    static func item(_ number: Int128, _ what: @autoclosure () -> String) throws(HornbeamError) -> StatementValue {
        if let number = Int64(exactly: number) { return .value(.int(number)) }
        if let number = UInt64(exactly: number) { return .value(.uint(number)) }
        throw HornbeamError(
            .invalid, "\(what()) is \(number), which is beyond the integers of 64 bits: compute with doubles (1.0 * …)")
    }

    static func beyondDecimals(_ what: String) -> HornbeamError {
        HornbeamError(.invalid, "\(what) is beyond the decimals, which have 38 digits and 10^-128 to 10^127")
    }

    static func isNumber(_ value: Value) -> Bool {
        switch value {
        case .int, .uint, .double, .decimal: true
        default: false
        }
    }

    static func isDecimal(_ value: Value) -> Bool { if case .decimal = value { true } else { false } }

    private static func integer(_ value: Value) -> Int128? {
        switch value {
        case .int(let number): Int128(number)
        case .uint(let number): Int128(number)
        default: nil
        }
    }

    /// The operands have 64 bits each, so only a product can overflow.
    private static func compute(
        _ sign: BinaryOperator, _ left: Int128, _ right: Int128, _ what: () -> String
    ) throws(HornbeamError) -> StatementValue {
        switch sign {
        case .add: return try item(left + right, what())
        case .subtract: return try item(left - right, what())
        case .multiply:
            let (product, overflow) = left.multipliedReportingOverflow(by: right)
            if overflow { throw HornbeamError(.invalid, "\(what()) is beyond the integers of 64 bits") }
            return try item(product, what())
        case .divide:
            if right == 0 { return .null }
            return left % right == 0 ? try item(left / right, what()) : .double(Double(left) / Double(right))
        default: return right == 0 ? .null : try item(left % right, what())
        }
    }

    private static func compute(_ sign: BinaryOperator, _ left: Decimal, _ right: Decimal) -> StatementValue {
        switch sign {
        case .add: .value(.decimal(left + right))
        case .subtract: .value(.decimal(left - right))
        case .multiply: .value(.decimal(left * right))
        case .divide: right == 0 ? .null : .value(.decimal(left / right))
        default: right == 0 ? .null : .value(.decimal(remainder(left, right)))
        }
    }

    static func remainder(_ left: Decimal, _ right: Decimal) -> Decimal {
        guard let left = DecimalParts(left), let right = DecimalParts(right) else { return .nan }
        return left.remainder(dividingBy: right).decimal ?? .nan
    }

    private static func compute(_ sign: BinaryOperator, _ left: Double, _ right: Double) -> StatementValue {
        switch sign {
        case .add: .double(left + right)
        case .subtract: .double(left - right)
        case .multiply: .double(left * right)
        case .divide: right == 0 ? .null : .double(left / right)
        default: right == 0 ? .null : .double(left.truncatingRemainder(dividingBy: right))
        }
    }
}
