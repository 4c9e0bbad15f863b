// SPDX-License-Identifier: Apache-2.0
// A single order of all numbers, whatever their types. −0 equals 0. NaN equals itself and follows all other numbers. A
// double with a fraction, or of 2^100 and more, counts as the shortest decimal that is read back as the double, so that
// 0.1 is 0.1. Other numbers count exactly. So no other double is nearer to a double's number.

import FoundationEssentials
package import HornbeamKeys
import HornbeamPages

package enum NumberOrder {
    /// Compares two numbers. Returns a negative number, zero or a positive number. A value that is no number counts as
    /// zero.
    package static func order(_ left: Value, _ right: Value) -> Int {
        if let first = stored(left), let second = stored(right) {
            return first < second ? -1 : first > second ? 1 : 0
        }
        if case .double(let left) = left, case .double(let right) = right { return order(left, right) }
        let (first, second) = (Parts(left), Parts(right))
        if first.range != second.range { return first.range - second.range }
        var (one, other) = (KeyWriter(), KeyWriter())
        one.append(first.decimal)
        other.append(second.decimal)
        return one.bytes.withUnsafeBytes { one in other.bytes.withUnsafeBytes { one.order($0) } }
    }

    package static func order(_ left: Double, _ right: Double) -> Int {
        if left.isNaN || right.isNaN { return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0) }
        return left < right ? -1 : left > right ? 1 : 0
    }

    /// A number as an integer. Returns nil if it has a fraction or, as a double or decimal, a magnitude of 2^100 or
    /// more.
    package static func integer(_ value: Value) -> Int128? {
        switch value {
        case .int(let number): Int128(number)
        case .uint(let number): Int128(number)
        case .double(let number): abs(number) < 0x1p100 ? Int128(exactly: number) : nil
        case .decimal(let number): Int128(number.description).flatMap { $0.magnitude < 1 << 100 ? $0 : nil }
        default: nil
        }
    }

    /// Returns the number of a value that is an integer by its type, as most are. Returns nil for other types.
    private static func stored(_ value: Value) -> Int128? {
        switch value {
        case .int(let number): Int128(number)
        case .uint(let number): Int128(number)
        default: nil
        }
    }

    /// A number in the form in which it is compared.
    package struct Parts {
        /// 0 for finite numbers, −1 and 1 for the infinite ones, 2 for NaN.
        package private(set) var range = 0
        package private(set) var decimal = KeyDecimal.zero

        package init(_ value: Value) {
            if let integer = NumberOrder.integer(value) {
                decimal = KeyDecimal(isNegative: integer < 0, mantissa: integer.magnitude, exponent: 0) ?? .zero
                return
            }
            switch value {
            case .double(let number) where number.isNaN: range = 2
            case .double(let number) where number.isInfinite: range = number < 0 ? -1 : 1
            case .double(let number): decimal = KeyDecimal(written: number) ?? .zero
            case .decimal(let number) where number.isNaN: range = 2
            case .decimal(let number):
                let magnitude = number.magnitude
                decimal =
                    UInt128(magnitude.significand.description).flatMap {
                        KeyDecimal(isNegative: number.sign == .minus, mantissa: $0, exponent: magnitude.exponent)
                    } ?? .zero
            default: break
            }
        }
    }
}

extension KeyDecimal {
    /// Reads the shortest text of a finite double, such as `-1.5e-07`.
    init?(written number: Double) {
        guard let parts = DecimalParts(written: number) else { return nil }
        self.init(isNegative: parts.isNegative, mantissa: parts.mantissa, exponent: parts.exponent)
    }
}
