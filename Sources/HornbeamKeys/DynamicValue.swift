// SPDX-License-Identifier: Apache-2.0
// Values whose type is known only at run time: the keys of map/reduce views. They are equal by value, whatever their
// case: 1, 1 unsigned and 1.0 are one number. Their order is the order of their bytes, see DynamicKeys.

private import Glibc  // for libm, which the conversions between Double and Int128 call

/// A value of any JSON type.
package enum DynamicValue: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string(String)
    case array([DynamicValue])
    case dictionary([String: DynamicValue])

    /// Maximum depth of nested arrays and dictionaries in a key.
    package static let depthLimit = 128
}

extension DynamicValue: Equatable {
    package static func == (left: DynamicValue, right: DynamicValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left == right
        default:
            if let left = DynamicNumber(left), let right = DynamicNumber(right) { left == right } else { false }
        }
    }
}

/// A number of any of the three kinds, without loss: the greatest double that is not above it, and the difference from
/// that. Ordered by the double, then by the difference.
struct DynamicNumber: Equatable {
    /// The double's `OrderedBits`.
    let floor: UInt64
    /// Zero for each number that a double represents. Below 2 048, the largest gap between doubles up to 2^64.
    let residue: UInt16

    init(_ value: Double) {
        self.init(uncheckedFloor: OrderedBits.of(value), residue: 0)
    }

    init<Integer: FixedWidthInteger>(_ value: Integer) {
        var nearest = Double(value)
        guard nearest.magnitude >= DynamicNumber.exactLimit else {
            self.init(nearest)
            return
        }
        let exact = Int128(value)
        if Int128(nearest) > exact { nearest = nearest.nextDown }
        let residue = UInt16(truncatingIfNeeded: exact - Int128(nearest))
        self.init(uncheckedFloor: OrderedBits.of(nearest), residue: residue)
    }

    /// Returns nil if the value is no number.
    init?(_ value: DynamicValue) {
        switch value {
        case .int(let value): self.init(value)
        case .uint(let value): self.init(value)
        case .double(let value): self.init(value)
        default: return nil
        }
    }

    /// Makes a number that was read from bytes. Returns nil if no number has these parts.
    init?(floor: UInt64, residue: UInt16) {
        guard let value = OrderedBits.double(floor) else { return nil }
        if residue != 0 {
            guard DynamicNumber.hasResidue(value), Double(residue) < value.nextUp - value else { return nil }
        }
        self.init(uncheckedFloor: floor, residue: residue)
    }

    private init(uncheckedFloor floor: UInt64, residue: UInt16) {
        self.floor = floor
        self.residue = residue
    }

    /// The number as an integer if it is one of 64 bits (signed if possible), otherwise as a double.
    var value: DynamicValue {
        let double = OrderedBits.double(floor) ?? .nan
        guard double >= -0x1p63, double < 0x1p64, double == double.rounded(.towardZero) else {
            return .double(double)
        }
        let exact = Int128(double) + Int128(residue)
        if let signed = Int64(exactly: exact) { return .int(signed) }
        return .uint(UInt64(truncatingIfNeeded: exact))
    }

    /// Each integer up to this is a double.
    private static let exactLimit = 0x1p53

    /// Whether there are integers of 64 bits between this double and the next.
    static func hasResidue(_ floor: Double) -> Bool {
        floor.magnitude >= exactLimit && floor >= -0x1p63 && floor < 0x1p64
    }
}
