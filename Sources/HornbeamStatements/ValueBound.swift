// SPDX-License-Identifier: Apache-2.0
// The position of a value among those of a column that may not be able to hold it: an integer column has no 1.5, a
// column of doubles no 9,007,199,254,740,993, a column of decimals no 1e300. A comparison with such a number is still
// true or false. Statements and queries of secondary indexes make their filters from such positions. A double and a
// decimal fraction are seldom the same number: a double equals the decimal with the same text.

import FoundationEssentials
import HornbeamKeys

/// The position of a value relative to the values of a column.
package enum ValueBound: Equatable {
    /// The column can hold the value.
    case at(Value)
    /// Between this value and the next greater one. If there is none, only NaN is greater.
    case behind(Value)
    case aboveAll
    case belowAll

    /// The treatment of doubles in a column of floats.
    package enum Floats {
        /// 0.1 is the float that is written as 0.1.
        case asWritten
        /// 0.1 is no float.
        case asStored
    }

    /// The position of a number. Returns nil if the value is no number, or if the column has neither numbers nor dates.
    package init?(number value: Value, in type: ColumnType, _ floats: Floats) {
        switch value {
        case .int, .uint, .double, .decimal: break
        default: return nil
        }
        if let range = type.integers {
            self = Self.integer(value, range)
            return
        }
        let place: Self? =
            switch type {
            case .double: Self.double(value)
            case .float: Self.double(value)?.map { Self.float($0, floats) }
            case .date: Self.double(value)?.map { .at(.date($0)) }
            case .decimal: Self.decimal(value)
            default: nil
            }
        guard let place else { return nil }
        self = place
    }

    /// The filter for a comparison of the column with the value.
    package func filter(_ column: Int, _ comparison: Comparison) -> Filter {
        switch (comparison, self) {
        case (_, .at(let value)): .compare(column: column, comparison, value)
        case (.equal, _): .none
        case (.notEqual, _): .all
        case (.less, .aboveAll), (.lessOrEqual, .aboveAll), (.greater, .belowAll), (.greaterOrEqual, .belowAll):
            .not(.isNull(column: column))
        case (_, .aboveAll), (_, .belowAll): .none
        case (.less, .behind(let value)), (.lessOrEqual, .behind(let value)):
            .compare(column: column, .lessOrEqual, value)
        case (.greater, .behind(let value)), (.greaterOrEqual, .behind(let value)):
            .compare(column: column, .greater, value)
        }
    }

    // MARK: Integers

    private static func integer(_ value: Value, _ range: ClosedRange<Int128>) -> Self {
        // NaN is above all numbers.
        guard let (floor, isWhole) = floor(value) else { return .aboveAll }
        if floor > range.upperBound { return .aboveAll }
        if floor < range.lowerBound { return .belowAll }
        let value: Value = range.lowerBound < 0 ? .int(Int64(floor)) : .uint(UInt64(floor))
        return isWhole ? .at(value) : .behind(value)
    }

    /// The greatest integer that isn't above a number; nil for NaN. For a number outside the range of all integer
    /// columns, it may be any integer outside that range on the same side.
    private static func floor(_ value: Value) -> (Int128, isWhole: Bool)? {
        switch value {
        case .int(let number): return (Int128(number), true)
        case .uint(let number): return (Int128(number), true)
        case .double(let number):
            if number.isNaN { return nil }
            let floor = number.rounded(.down)
            return (Int128(max(-0x1p100, min(0x1p100, floor))), floor == number)
        case .decimal(let number):
            if number.isNaN { return nil }
            let parts = number.description.split(separator: ".")
            let isNegative = number.sign == .minus
            guard let first = parts.first, let whole = Int128(first), whole.magnitude < 1 << 100 else {
                return (isNegative ? -1 << 100 : 1 << 100, false)
            }
            let isWhole = parts.count == 1
            return (isNegative && !isWhole ? whole - 1 : whole, isWhole)
        default: return nil
        }
    }

    // MARK: Fractions

    /// The position of a number among doubles.
    private static func double(_ value: Value) -> Self? {
        switch value {
        case .double(let number): return .at(.double(number))
        case .int(let number): return double(Int128(number))
        case .uint(let number): return double(Int128(number))
        case .decimal(let number):
            if number.isNaN { return .at(.double(.nan)) }
            if let (whole, isWhole) = floor(value), isWhole { return double(whole) }
            guard let near = Double(number.description) else { return nil }
            return nearest(near) { NumberOrder.order(.double($0), value) }
        default: return nil
        }
    }

    private static func double(_ number: Int128) -> Self {
        nearest(Double(number)) { order(Int128($0), number) }
    }

    /// The position of a number among doubles.
    /// - Parameter order: compares a double with the number.
    private static func nearest(_ near: Double, _ order: (Double) -> Int) -> Self {
        let order = order(near)
        return order == 0 ? .at(.double(near)) : .behind(.double(order < 0 ? near : near.nextDown))
    }

    /// The position of a double among floats.
    private static func float(_ number: Double, _ floats: Floats) -> Self {
        let near = Float(number)
        func value(_ float: Float) -> Value { .double(Double(float)) }
        if Double(near) == number || number.isNaN { return .at(value(near)) }
        guard near.isFinite else { return .behind(value(near > 0 ? .greatestFiniteMagnitude : -.infinity)) }
        if floats == .asWritten, Double("\(near)") == number { return .at(value(near)) }
        return .behind(value(Double(near) < number ? near : near.nextDown))
    }

    /// The position of a number among decimals.
    private static func decimal(_ value: Value) -> Self? {
        switch value {
        case .decimal: return .at(value)
        case .int(let number): return .at(.decimal(Decimal(number)))
        case .uint(let number): return .at(.decimal(Decimal(number)))
        case .double(let number):
            if number.isNaN { return .at(.decimal(.nan)) }
            if number.isInfinite { return number < 0 ? .belowAll : .behind(.decimal(.greatestFiniteMagnitude)) }
            return decimal(NumberOrder.Parts(value).decimal)
        default: return nil
        }
    }

    /// The position among decimals, which are integers of 128 bits times 10^-128 to 10^127.
    private static func decimal(_ number: KeyDecimal) -> Self? {
        var (mantissa, exponent) = (number.mantissa, number.exponent)
        while exponent > Int(Int8.max) {
            let (tenfold, overflow) = mantissa.multipliedReportingOverflow(by: 10)
            if overflow { return number.isNegative ? .belowAll : .behind(.decimal(.greatestFiniteMagnitude)) }
            (mantissa, exponent) = (tenfold, exponent - 1)
        }
        var isWhole = true
        while exponent < Int(Int8.min) {
            isWhole = isWhole && mantissa.isMultiple(of: 10)
            (mantissa, exponent) = (mantissa / 10, exponent + 1)
        }
        // Among negative numbers the lesser is farther from zero.
        if !isWhole, number.isNegative { mantissa += 1 }
        // Made from text, which keeps trailing zeros: an initializer would turn them into an exponent out of range.
        guard let found = Decimal(string: "\(number.isNegative ? "-" : "")\(mantissa)e\(exponent)") else { return nil }
        return isWhole ? .at(.decimal(found)) : .behind(.decimal(found))
    }

    private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }

    /// Maps the position of a double by `body`. A position between two doubles stays between their images.
    private func map(_ body: (Double) -> Self) -> Self {
        switch self {
        case .at(.double(let number)): return body(number)
        case .behind(.double(let number)):
            // No value of less precision lies between two neighbouring doubles.
            switch body(number) {
            case .at(let value), .behind(let value): return .behind(value)
            case let place: return place
            }
        default: return self
        }
    }
}

extension ColumnType {
    /// The range that a column of integers can hold.
    fileprivate var integers: ClosedRange<Int128>? {
        switch self {
        case .int8: Int128(Int8.min)...Int128(Int8.max)
        case .int16: Int128(Int16.min)...Int128(Int16.max)
        case .int32: Int128(Int32.min)...Int128(Int32.max)
        case .int64: Int128(Int64.min)...Int128(Int64.max)
        case .uint8: 0...Int128(UInt8.max)
        case .uint16: 0...Int128(UInt16.max)
        case .uint32: 0...Int128(UInt32.max)
        case .uint64: 0...Int128(UInt64.max)
        default: nil
        }
    }
}
