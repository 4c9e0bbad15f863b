// SPDX-License-Identifier: Apache-2.0
// Booleans, integers of all widths, and UUIDs: fixed width, big-endian, with the sign bit flipped so that negative
// numbers sort first. Integers of different widths never compare with each other: a component never changes its type.

extension KeyWriter {
    @inlinable @inline(__always)
    package mutating func append(_ value: Bool) {
        bytes.append(value ? 1 : 0)
    }

    /// Appends as many bytes as the type has. (`min` is the sign bit of a signed type and zero of an unsigned one.)
    @inlinable @inline(__always)
    package mutating func append<Integer: FixedWidthInteger & BitwiseCopyable>(_ value: Integer) {
        let stored = (value ^ Integer.min).bigEndian
        withUnsafeBytes(of: stored) { bytes.append(contentsOf: $0) }
    }

    /// Appends sixteen bytes unchanged, in the order of a UUID's text.
    package mutating func append(uuid: UUIDBytes) {
        withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
    }
}

extension KeyReader {
    package mutating func readBool() throws(KeyError) -> Bool {
        let start = offset
        let byte = try readByte()
        guard byte <= 1 else { throw .malformed(offset: start, reason: "\(byte) is no Boolean") }
        return byte == 1
    }

    @inlinable @inline(__always)
    package mutating func read<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type
    ) throws(KeyError) -> Integer {
        let size = MemoryLayout<Integer>.size
        guard size <= remaining else { throw .truncated(offset: offset) }
        let stored = Integer(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self))
        offset += size
        return (mask == 0 ? stored : ~stored) ^ Integer.min
    }

    package mutating func readUUID() throws(KeyError) -> UUIDBytes {
        let number = try read(UInt128.self).bigEndian
        return withUnsafeBytes(of: number) { $0.loadUnaligned(as: UUIDBytes.self) }
    }
}

/// The sixteen bytes of a UUID, with the layout of Foundation's `uuid_t`.
package typealias UUIDBytes = (
    UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8,
    UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
)
