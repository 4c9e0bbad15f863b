// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers: the IEEE bits with the sign flipped, and all bits of negative numbers inverted. −0.0 is
// written as 0.0, which equals it, and every NaN as one quiet NaN, which sorts after +infinity and equals itself.

extension KeyWriter {
    @inlinable @inline(__always)
    package mutating func append(_ value: Double) {
        append(OrderedBits.of(value))
    }

    @inlinable @inline(__always)
    package mutating func append(_ value: Float) {
        append(OrderedBits.of(value))
    }
}

extension KeyReader {
    package mutating func readDouble() throws(KeyError) -> Double {
        let start = offset
        guard let value = OrderedBits.double(try read(UInt64.self)) else {
            throw .malformed(offset: start, reason: "these bits are never written for a Double")
        }
        return value
    }

    package mutating func readFloat() throws(KeyError) -> Float {
        let start = offset
        guard let value = OrderedBits.float(try read(UInt32.self)) else {
            throw .malformed(offset: start, reason: "these bits are never written for a Float")
        }
        return value
    }
}

/// Floating-point numbers as unsigned integers with their order and equality.
@usableFromInline
package enum OrderedBits {
    // Adding zero turns −0.0 into 0.0 and leaves every other number as it is.

    @inlinable @inline(__always)
    package static func of(_ value: Double) -> UInt64 {
        guard !value.isNaN else { return 0xFFF8_0000_0000_0000 }
        let bits = (value + 0.0).bitPattern
        return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    }

    @inlinable @inline(__always)
    package static func of(_ value: Float) -> UInt32 {
        guard !value.isNaN else { return 0xFFC0_0000 }
        let bits = (value + 0.0).bitPattern
        return bits >> 31 == 0 ? bits | 1 << 31 : ~bits
    }

    /// Returns the number, or nil if `of` makes no such bits (−0.0, other NaNs).
    package static func double(_ ordered: UInt64) -> Double? {
        let value = Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
        return of(value) == ordered ? value : nil
    }

    /// Returns the number, or nil if `of` makes no such bits (−0.0, other NaNs).
    package static func float(_ ordered: UInt32) -> Float? {
        let value = Float(bitPattern: ordered >> 31 == 1 ? ordered & ~(1 << 31) : ~ordered)
        return of(value) == ordered ? value : nil
    }
}
