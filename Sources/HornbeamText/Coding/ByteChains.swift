// SPDX-License-Identifier: Apache-2.0
// Many growing sequences of bytes in one piece of memory. Each is a chain of slices. Each slice is twice as large as
// the one before, up to 1 KiB, so that a short sequence wastes little and a long one has few links.
//
//   slice   bytes of the sequence … · number of the next slice u32 (written once there is one)
//
// Slice sizes are multiples of 16 bytes. A slice's number is its offset in units of 16 bytes, so 32 bits cover 64 GB.

import HornbeamPages

/// The memory of all chains. The owner of a chain keeps its `End`.
struct ByteChains: ~Copyable {
    /// The position at which a chain's next byte is written.
    struct End {
        /// The first slice. Has no meaning before the first byte.
        fileprivate(set) var first: UInt32 = 0
        /// Bytes left in the last slice.
        fileprivate var room: UInt16 = 0
        /// Size of the last slice: 16 bytes shifted by `level` − 1. 0 before the first byte.
        fileprivate var level: UInt8 = 0
        fileprivate var offset = 0
    }

    static let unit = 16
    private static let linkSize = 4
    fileprivate static let largestLevel: UInt8 = 7

    private var memory = UnsafeMutableRawPointer.allocate(byteCount: unit, alignment: unit)
    private var capacity = unit
    /// Size of all slices in bytes.
    private(set) var used = 0

    deinit { memory.deallocate() }

    /// Forgets all chains; keeps the memory.
    mutating func removeAll() { used = 0 }

    fileprivate static func room(_ level: UInt8) -> Int { unit << (Int(level) - 1) - linkSize }

    @inline(__always)
    mutating func append(_ byte: UInt8, to end: inout End) {
        if end.room == 0 { extend(&end) }
        memory.storeBytes(of: byte, toByteOffset: end.offset, as: UInt8.self)
        end.offset &+= 1
        end.room &-= 1
    }

    /// Appends a varint: seven bits a byte, least significant first, as in the index's values.
    @inline(__always)
    mutating func append(varint: UInt64, to end: inout End) {
        var rest = varint
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80, to: &end)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest), to: &end)
    }

    /// Appends two varints. If both are small, as usual, there is no loop and no branch that depends on their sizes.
    @inline(__always)
    mutating func append(varint first: UInt64, varint second: UInt64, to end: inout End) {
        guard end.room >= 4, (first | second) < 1 << 14 else {
            append(varint: first, to: &end)
            return append(varint: second, to: &end)
        }
        let start = end.offset
        let firstSize = Self.store(first, memory + start)
        let size = firstSize &+ Self.store(second, memory + start + firstSize)
        end.offset = start &+ size
        end.room &-= UInt16(truncatingIfNeeded: size)
    }

    /// Writes a varint below 2¹⁴ as two bytes. Returns how many of them belong to it, one or two.
    @inline(__always)
    private static func store(_ varint: UInt64, _ target: UnsafeMutableRawPointer) -> Int {
        let isLong = varint >= 0x80
        let both = isLong ? (varint & 0x7F | 0x80) | (varint &>> 7) &<< 8 : varint
        target.storeBytes(of: UInt16(truncatingIfNeeded: both).littleEndian, as: UInt16.self)
        return isLong ? 2 : 1
    }

    /// Prefetches the memory of the chain's next byte.
    @inline(__always)
    func prefetch(_ end: End) { UnsafeRawPointer(memory + end.offset).prefetch() }

    /// Links a new slice behind the full one.
    @inline(never)
    private mutating func extend(_ end: inout End) {
        let level = min(end.level + 1, Self.largestLevel)
        let start = used
        used += Self.unit << (Int(level) - 1)
        if used > capacity { grow() }
        let number = UInt32(start / Self.unit)
        if end.level == 0 {
            end.first = number
        } else {
            memory.storeBytes(of: number, toByteOffset: end.offset, as: UInt32.self)
        }
        (end.offset, end.level, end.room) = (start, level, UInt16(Self.room(level)))
    }

    private mutating func grow() {
        let larger = UnsafeMutableRawPointer.allocate(byteCount: max(2 * used, 4096), alignment: Self.unit)
        larger.copyMemory(from: memory, byteCount: capacity)
        memory.deallocate()
        memory = larger
        capacity = max(2 * used, 4096)
    }

    /// Returns a reader at the beginning of a chain, valid until the next change. The caller must not read more bytes
    /// than were appended.
    func reader(_ end: End) -> ChainReader {
        ChainReader(memory: UnsafeRawPointer(memory), offset: Int(end.first) * Self.unit)
    }
}

/// Reads the bytes of a chain. The caller must know how many there are.
struct ChainReader {
    private let memory: UnsafeRawPointer
    private var offset: Int
    private var room: Int
    private var level: UInt8 = 1

    fileprivate init(memory: UnsafeRawPointer, offset: Int) {
        (self.memory, self.offset) = (memory, offset)
        room = ByteChains.room(1)
    }

    @inline(__always)
    mutating func byte() -> UInt8 {
        if room == 0 { follow() }
        let byte = memory.load(fromByteOffset: offset, as: UInt8.self)
        offset &+= 1
        room &-= 1
        return byte
    }

    /// Reads a varint. If it has one or two bytes, as usual, there is no branch that depends on its size.
    @inline(__always)
    mutating func varint() -> UInt64 {
        if room >= 2 {
            let both = UInt64(UInt16(littleEndian: memory.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
            if both & 0x8080 != 0x8080 {
                let isLong = both & 0x80 != 0
                let size = isLong ? 2 : 1
                offset &+= size
                room &-= size
                return isLong ? both & 0x7F | (both &>> 8) &<< 7 : both & 0x7F
            }
        }
        return longVarint()
    }

    @inline(never)
    private mutating func longVarint() -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = byte()
            value |= UInt64(byte & 0x7F) &<< shift
            if byte < 0x80 { return value }
            shift &+= 7
        }
    }

    @inline(never)
    private mutating func follow() {
        offset = Int(memory.load(fromByteOffset: offset, as: UInt32.self)) * ByteChains.unit
        level = min(level + 1, ByteChains.largestLevel)
        room = ByteChains.room(level)
    }
}
