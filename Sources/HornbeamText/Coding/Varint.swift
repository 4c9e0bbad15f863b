// SPDX-License-Identifier: Apache-2.0
// The integers of the index's values: seven bits a byte, least significant first; the high bit says that more follow.
// Reading checks every bound. It returns nil for bytes that this code can't have written, and never traps.

package import HornbeamPages

/// Reads a value from its beginning. Borrows the bytes: use it only while they are valid.
package struct ByteReader {
    private let bytes: Bytes
    private(set) var offset = 0

    package init(_ bytes: Bytes) { self.bytes = bytes }

    package var isAtEnd: Bool { offset == bytes.count }
    package var rest: Bytes { Bytes(rebasing: bytes[offset...]) }

    @inline(__always)
    package mutating func byte() -> UInt8? {
        guard offset < bytes.count else { return nil }
        defer { offset &+= 1 }
        return bytes[offset]
    }

    @inline(__always)
    mutating func varint() -> UInt64? {
        guard offset < bytes.count else { return nil }
        let first = bytes[offset]
        offset &+= 1
        return first < 0x80 ? UInt64(first) : longVarint(UInt64(first & 0x7F))
    }

    private mutating func longVarint(_ low: UInt64) -> UInt64? {
        var value = low
        var shift: UInt64 = 7
        while offset < bytes.count {
            let byte = bytes[offset]
            offset &+= 1
            // The tenth byte has room for one bit.
            if shift == 63 && byte > 1 { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
            if shift > 63 { return nil }
        }
        return nil
    }

    mutating func varint32() -> UInt32? { varint().flatMap { UInt32(exactly: $0) } }

    /// Reads a number of its type's width, little-endian. Returns nil if there are too few bytes.
    package mutating func fixed<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        slice(UInt64(MemoryLayout<Number>.size)).map { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
    }

    /// Returns the next `count` bytes, or nil if there are too few.
    package mutating func slice(_ count: UInt64) -> Bytes? {
        guard count <= UInt64(bytes.count - offset) else { return nil }
        let end = offset + Int(count)
        defer { offset = end }
        return Bytes(rebasing: bytes[offset..<end])
    }
}

extension [UInt8] {
    @inline(__always)
    mutating func appendVarint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        append(UInt8(truncatingIfNeeded: value))
    }

    mutating func appendFixed16(_ value: UInt16) {
        append(UInt8(truncatingIfNeeded: value))
        append(UInt8(truncatingIfNeeded: value >> 8))
    }

    /// Appends a number for use in a key: the order of the bytes is the order of the numbers.
    mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value) {
        for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> Value(shift)))
        }
    }
}

extension UnsafeMutableRawPointer {
    /// Stores a varint of up to ten bytes. Returns the address of its end.
    @inline(__always)
    func storeVarint(_ value: UInt64) -> UnsafeMutableRawPointer {
        var target = self
        var rest = value
        while rest >= 0x80 {
            target.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, as: UInt8.self)
            target += 1
            rest >>= 7
        }
        target.storeBytes(of: UInt8(truncatingIfNeeded: rest), as: UInt8.self)
        return target + 1
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the big-endian number at `offset`, or nil if it doesn't lie within the bytes.
    func bigEndian<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Value.Type) -> Value? {
        guard offset >= 0, count - offset >= MemoryLayout<Value>.size else { return nil }
        return Value(bigEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
