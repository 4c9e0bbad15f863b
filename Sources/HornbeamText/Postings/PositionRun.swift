// SPDX-License-Identifier: Apache-2.0
// The token positions of a run's postings. They stand under the same key in a tree of their own, so that ranking never
// reads them. The frequencies of a block tell how many positions it has.
//
//   directory  for each block of the run: varint size in bytes
//   blocks, each:
//     u8 for each group of 32 first positions, one a posting (the last group may be smaller): bits of an integer
//     u8 for each group of 32 distances from a position of a posting to the next one, less 1
//     the groups, packed as PackedIntegers does fewer than 128, without exceptions
//
// First positions are stored apart from the others. Most postings have only one position, and it is found without
// adding up the postings before. Groups are small because one long document makes its whole group wide: groups of 32
// take a twelfth less space than groups of 128.
//
// A block has at most 2^30 positions. A group of 32 adjacent positions takes one byte, so without this limit a few
// bytes could claim any amount of memory.

import HornbeamPages

/// Encodes the positions of runs. Owns and reuses the memory for this.
struct PositionRunEncoder: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: PositionBlock.groupCapacity)
    private var data = ByteSink()
    private var block = ByteSink()
    /// For each block, the size of the run if it ended with that block.
    private(set) var sizes = InlineArray<8, Int>(repeating: 0)

    deinit { values.deallocate() }

    /// Appends the run of the postings in `range` to `target`. Their positions begin at index `start` of the buffer's
    /// positions. Returns the index at which they end.
    mutating func encode(
        _ postings: borrowing PostingsBuffer, _ range: Range<Int>, positionsFrom start: Int, to target: inout ByteSink
    ) -> Int {
        data.removeAll()
        let targetStart = target.count
        var place = range.lowerBound
        var position = start
        while place < range.upperBound {
            let end = min(place + PostingRun.blockCapacity, range.upperBound)
            let before = data.count
            position = encodeBlock(postings, place..<end, positionsFrom: position)
            target.append(varint: UInt64(data.count - before))
            sizes[(place - range.lowerBound) / PostingRun.blockCapacity] = target.count - targetStart + data.count
            place = end
        }
        target.append(data.bytes)
        return position
    }

    private mutating func encodeBlock(
        _ postings: borrowing PostingsBuffer, _ range: Range<Int>, positionsFrom start: Int
    ) -> Int {
        block.removeAll()
        var (position, count) = (start, 0)
        for place in range {
            add(postings.positions[position], &count)
            position &+= Int(postings.frequencies[place])
        }
        encodeGroup(&count)
        position = start
        for place in range {
            let end = position &+ Int(postings.frequencies[place])
            position &+= 1
            while position < end {
                add(postings.positions[position] &- postings.positions[position &- 1] &- 1, &count)
                position &+= 1
            }
        }
        encodeGroup(&count)
        data.append(block.bytes)
        return position
    }

    @inline(__always)
    private mutating func add(_ value: UInt32, _ count: inout Int) {
        values[count] = value
        count &+= 1
        if count == PositionBlock.groupCapacity { encodeGroup(&count) }
    }

    /// Writes the group unless it is empty.
    private mutating func encodeGroup(_ count: inout Int) {
        guard count > 0 else { return }
        var all: UInt32 = 0
        for place in 0..<count { all |= values[place] }
        let bits = 32 - all.leadingZeroBitCount
        data.append(byte: UInt8(truncatingIfNeeded: bits))
        let end = block.end(reserving: PackedIntegers.sizeLimit)
        PackedIntegers.pack(values, count: count, bits: bits, to: end)
        block.finish(at: end + PackedIntegers.payloadSize(count: count, bits: bits))
        count = 0
    }
}

/// Positions of a posting. Reuses its memory for one posting after the other. Belongs to one search.
final class PositionList {
    @exclusivity(unchecked) private(set) var values = UnsafeMutablePointer<UInt32>.allocate(capacity: 64)
    @exclusivity(unchecked) var count = 0
    @exclusivity(unchecked) private var capacity = 64

    deinit { values.deallocate() }

    /// Empties the list and makes room for `size` positions.
    @inline(__always)
    func removeAll(reserving size: Int) {
        count = 0
        if size > capacity { grow(size) }
    }

    private func grow(_ size: Int) {
        values.deallocate()
        capacity = max(2 * capacity, size)
        values = .allocate(capacity: capacity)
    }

    func assign(_ other: some Collection<UInt32>) {
        removeAll(reserving: other.count)
        for value in other {
            values[count] = value
            count &+= 1
        }
    }
}

/// Reads positions of one block after the other. The positions of a single posting are taken out of the packed integers
/// one by one, as few postings of a block are wanted. Groups are unpacked when all postings are wanted. Owns the memory
/// for unpacking.
struct PositionBlock: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: Self.groupCapacity)
    private let list = PositionList()
    private var bytes = Bytes(start: nil, count: 0)
    private var frequencies: UnsafePointer<UInt32>
    private var firsts = PackedStream()
    private var distances = PackedStream()
    /// A posting of the block, and the number of positions before its own.
    private var place = 0
    private var start = 0

    init() { frequencies = UnsafePointer(values) }

    deinit { values.deallocate() }

    /// Maximum number of positions in a block.
    static let positionLimit = 1 << 30
    static let groupCapacity = 32

    /// Returns the bytes of block `number` of a run with `blocks` blocks. Returns nil if there is no such block or the
    /// directory is damaged.
    static func find(_ number: Int, of blocks: Int, in run: Bytes) -> Bytes? {
        var reader = ByteReader(run)
        var (before, size, all) = (0, 0, 0)
        for block in 0..<blocks {
            guard let next = reader.varint32() else { return nil }
            if block < number { before += Int(next) }
            if block == number { size = Int(next) }
            all += Int(next)
        }
        guard run.count - reader.offset == all else { return nil }
        let start = reader.offset + before
        return Bytes(rebasing: run[start..<start + size])
    }

    /// Opens the block with these bytes and frequencies. Both must stay unchanged while it is open. Returns false if
    /// they don't belong together.
    mutating func open(_ bytes: Bytes, frequencies: UnsafePointer<UInt32>, count: Int) -> Bool {
        (self.firsts, self.distances) = (PackedStream(), PackedStream())
        var sum: UInt64 = 0
        for place in 0..<count { sum &+= UInt64(frequencies[place]) }
        guard sum >= UInt64(count), sum <= UInt64(Self.positionLimit) else { return false }
        var firsts = PackedStream(count: count, heads: 0)
        var distances = PackedStream(count: Int(sum) - count, heads: firsts.groups)
        let groups = firsts.groups + distances.groups
        guard groups <= bytes.count, let middle = firsts.place(at: groups, in: bytes),
            distances.place(at: middle, in: bytes) == bytes.count
        else { return false }
        (self.bytes, self.firsts, self.distances, self.frequencies) = (bytes, firsts, distances, frequencies)
        (place, start) = (0, 0)
        return true
    }

    /// Moves `place` to the wanted posting and `start` to the number of positions before its own.
    @inline(__always)
    private mutating func seek(_ wanted: Int) {
        if wanted < place { (place, start) = (0, 0) }
        var sum: UInt64 = 0
        for before in place..<wanted { sum &+= UInt64(frequencies[before]) }
        start &+= Int(truncatingIfNeeded: sum)
        place = wanted
    }

    /// Reads the positions of a posting of the block. Returns false if they are damaged.
    @inline(__always)
    mutating func read(_ wanted: Int, into list: PositionList) -> Bool {
        guard wanted < firsts.count else { return false }
        let frequency = Int(frequencies[wanted])
        list.removeAll(reserving: frequency)
        list.values[0] = firsts.value(wanted, in: bytes)
        list.count = 1
        return frequency == 1 || readFurther(wanted, frequency, into: list)
    }

    private mutating func readFurther(_ wanted: Int, _ frequency: Int, into list: PositionList) -> Bool {
        seek(wanted)
        // Each posting before has a first position, which isn't among the distances.
        let first = start &- wanted
        guard frequency > 0, first &+ frequency &- 1 <= distances.count else { return false }
        let target = list.values
        var next = UInt64(target[0]) &+ 1
        for place in 1..<frequency {
            next &+= UInt64(distances.value(first &+ place &- 1, in: bytes))
            guard next <= UInt64(UInt32.max) else { return false }
            target[place] = UInt32(truncatingIfNeeded: next)
            next &+= 1
        }
        list.count = frequency
        return true
    }

    /// Appends the positions of a posting to `target`. Returns false if they are damaged.
    mutating func append(_ place: Int, to target: inout [UInt32]) -> Bool {
        guard read(place, into: list) else { return false }
        target.append(contentsOf: UnsafeBufferPointer(start: list.values, count: list.count))
        return true
    }

    /// Appends the positions of all postings of the block. Returns false if they are damaged.
    mutating func appendAll(_ count: Int, to target: inout PostingsBuffer) -> Bool {
        guard count == firsts.count else { return false }
        target.reserve(positions: firsts.count + distances.count)
        var index = 0
        for place in 0..<count {
            var next = UInt64(firsts.value(place, in: bytes))
            target.append(position: UInt32(truncatingIfNeeded: next))
            for _ in 1..<max(frequencies[place], 1) {
                let isNew = index % Self.groupCapacity == 0
                if isNew, !distances.unpack(index / Self.groupCapacity, in: bytes, to: values) { return false }
                next += 1 + UInt64(values[index % Self.groupCapacity])
                guard next <= UInt64(UInt32.max) else { return false }
                target.append(position: UInt32(truncatingIfNeeded: next))
                index &+= 1
            }
        }
        return true
    }
}

/// Integers of a block, in groups of different bit widths, read one by one.
private struct PackedStream {
    let count: Int
    let groups: Int
    /// Offset of the groups' bit widths in the block's bytes, and offset of the groups.
    private let heads: Int
    private var first = 0
    /// A group, and its offset.
    private var group = 0
    private var offset = 0

    init() { self.init(count: 0, heads: 0) }

    init(count: Int, heads: Int) {
        (self.count, self.heads) = (count, heads)
        groups = (count &+ PositionBlock.groupCapacity &- 1) / PositionBlock.groupCapacity
    }

    @inline(__always)
    private func size(_ group: Int) -> Int {
        min(PositionBlock.groupCapacity, count &- group &* PositionBlock.groupCapacity)
    }

    /// Sets the offset of the groups in the bytes, which hold all bit widths. Returns the offset of their end, or nil
    /// if a width is above 32.
    mutating func place(at start: Int, in bytes: Bytes) -> Int? {
        (first, group, offset) = (start, 0, start)
        var end = start
        for group in 0..<groups {
            let bits = bytes[heads + group]
            guard bits <= 32 else { return nil }
            end += PackedIntegers.payloadSize(count: size(group), bits: Int(bits))
        }
        return end
    }

    @inline(__always)
    private mutating func seek(_ wanted: Int, in bytes: Bytes) {
        if wanted < group { (group, offset) = (0, first) }
        while group < wanted {
            offset &+= PackedIntegers.payloadSize(count: PositionBlock.groupCapacity, bits: Int(bytes[heads &+ group]))
            group &+= 1
        }
    }

    @inline(__always)
    mutating func value(_ index: Int, in bytes: Bytes) -> UInt32 {
        // Division of unsigned integers is a shift.
        let number = Int(UInt(bitPattern: index) / UInt(PositionBlock.groupCapacity))
        seek(number, in: bytes)
        let (size, bits) = (size(number), Int(bytes[heads &+ number]))
        let payload = Bytes(rebasing: bytes[offset..<offset &+ PackedIntegers.payloadSize(count: size, bits: bits)])
        return PackedIntegers.value(
            index &- number &* PositionBlock.groupCapacity, of: payload, count: size, bits: bits)
    }

    /// Unpacks a group. Returns false if there are bits behind the last integer.
    mutating func unpack(_ number: Int, in bytes: Bytes, to target: UnsafeMutablePointer<UInt32>) -> Bool {
        seek(number, in: bytes)
        let (size, bits) = (size(number), Int(bytes[heads &+ number]))
        let payload = Bytes(rebasing: bytes[offset..<offset &+ PackedIntegers.payloadSize(count: size, bits: bits)])
        return PackedIntegers.unpack(payload, count: size, bits: bits, to: target)
    }
}
