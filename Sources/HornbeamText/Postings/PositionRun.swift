// SPDX-License-Identifier: Apache-2.0
// The token positions of a run's postings, under the same key in a tree of their own, so that ranking never reads them.
// How many positions a block has follows from its frequencies.
//
//   directory  for each block of the run: varint size in bytes
//   blocks, each:
//     u8 for each group of 128 positions (the last one may be smaller): bits of an integer
//     the groups, packed as PackedIntegers does, without exceptions
//
// A block has at most 2^30 positions: what neighbours need no bits for takes a byte for 128 of them, so that few bytes
// could claim any amount of memory.
//
// The integers are, for each posting in turn, its first position and then the distances to the next one, less 1.

import HornbeamPages

/// Encodes the positions of runs. Owns the memory in which they are put together.
struct PositionRunEncoder: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: PackedIntegers.capacity)
    private var data = ByteSink()
    private var block = ByteSink()

    deinit { values.deallocate() }

    /// Appends the run of the postings in `range` to `target`. Their positions begin at `start` of the buffer's; where
    /// they end.
    mutating func encode(
        _ postings: borrowing PostingsBuffer, _ range: Range<Int>, positionsFrom start: Int, to target: inout ByteSink
    ) -> Int {
        data.removeAll()
        var place = range.lowerBound
        var position = start
        while place < range.upperBound {
            let end = min(place + PostingRun.blockCapacity, range.upperBound)
            let before = data.count
            position = encodeBlock(postings, place..<end, positionsFrom: position)
            target.append(varint: UInt64(data.count - before))
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
            var next: UInt32 = 0
            for _ in 0..<postings.frequencies[place] {
                values[count] = postings.positions[position] &- next
                next = postings.positions[position] &+ 1
                position &+= 1
                count &+= 1
                if count == PackedIntegers.capacity {
                    encodeGroup(count)
                    count = 0
                }
            }
        }
        if count > 0 { encodeGroup(count) }
        data.append(block.bytes)
        return position
    }

    private mutating func encodeGroup(_ count: Int) {
        var all: UInt32 = 0
        for place in 0..<count { all |= values[place] }
        let bits = 32 - all.leadingZeroBitCount
        data.append(byte: UInt8(truncatingIfNeeded: bits))
        let end = block.end(reserving: PackedIntegers.sizeLimit)
        PackedIntegers.pack(values, count: count, bits: bits, to: end)
        block.finish(at: end + PackedIntegers.payloadSize(count: count, bits: bits))
    }
}

/// Positions of a posting, read over and over into the same memory. Belongs to one search.
final class PositionList {
    @exclusivity(unchecked) private(set) var values = UnsafeMutablePointer<UInt32>.allocate(capacity: 64)
    @exclusivity(unchecked) var count = 0
    @exclusivity(unchecked) private var capacity = 64

    deinit { values.deallocate() }

    /// Makes room for so many; what was there is forgotten.
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

/// Reads positions of one block after the other. Those of one posting are taken out of the packed integers one by one,
/// as few are wanted of a block; groups are unpacked where all are. Owns what it unpacks.
struct PositionBlock: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: PackedIntegers.capacity)
    private let list = PositionList()
    private var bytes = Bytes(start: nil, count: 0)
    private var frequencies: UnsafePointer<UInt32>
    /// Positions in all, and the groups that they are packed in.
    private var total = 0
    private var groups = 0
    /// A posting and where its positions begin; a group and where it begins among the bytes.
    private var place = 0
    private var start = 0
    private var group = 0
    private var offset = 0

    init() { frequencies = UnsafePointer(values) }

    deinit { values.deallocate() }

    /// No block has more positions.
    static let positionLimit = 1 << 30

    /// The bytes of block `number` of the run, nil if it isn't one of `blocks` blocks.
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

    /// Makes it the block of these bytes and these frequencies, which must stay as they are while it is; false if they
    /// don't belong together.
    mutating func open(_ bytes: Bytes, frequencies: UnsafePointer<UInt32>, count: Int) -> Bool {
        (groups, total) = (0, 0)
        var sum: UInt64 = 0
        for place in 0..<count { sum &+= UInt64(frequencies[place]) }
        let total = Int(sum)
        let groups = (total + PackedIntegers.capacity - 1) / PackedIntegers.capacity
        guard total <= Self.positionLimit, groups <= bytes.count else { return false }
        var size = groups
        for group in 0..<groups {
            guard bytes[group] <= 32 else { return false }
            size += PackedIntegers.payloadSize(count: Self.groupSize(group, total), bits: Int(bytes[group]))
        }
        guard size == bytes.count else { return false }
        (self.bytes, self.groups, self.total, self.frequencies) = (bytes, groups, total, frequencies)
        (place, start, group, offset) = (0, 0, 0, groups)
        return true
    }

    @inline(__always)
    private static func groupSize(_ group: Int, _ all: Int) -> Int {
        min(PackedIntegers.capacity, all &- group &* PackedIntegers.capacity)
    }

    /// Where the positions of a posting of the block begin among the block's.
    @inline(__always)
    private mutating func seek(_ wanted: Int) {
        if wanted < place { (place, start) = (0, 0) }
        var sum: UInt64 = 0
        for before in place..<wanted { sum &+= UInt64(frequencies[before]) }
        start &+= Int(truncatingIfNeeded: sum)
        place = wanted
    }

    /// Finds where a group of the block begins.
    @inline(__always)
    private mutating func seek(group wanted: Int) {
        if wanted < group { (group, offset) = (0, groups) }
        while group < wanted {
            offset &+= PackedIntegers.payloadSize(count: PackedIntegers.capacity, bits: Int(bytes[group]))
            group &+= 1
        }
    }

    /// Reads the positions of a posting of the block; false if they aren't positions.
    mutating func read(_ wanted: Int, into list: PositionList) -> Bool {
        seek(wanted)
        let end = start &+ Int(frequencies[wanted])
        guard end <= total else { return false }
        list.removeAll(reserving: end &- start)
        let target = list.values
        var (index, done) = (start, 0)
        var next: UInt64 = 0
        while index < end {
            let number = index &>> 7
            seek(group: number)
            let (size, bits) = (Self.groupSize(number, total), Int(bytes[number]))
            let payload = Bytes(
                rebasing: bytes[offset..<offset &+ PackedIntegers.payloadSize(count: size, bits: bits)])
            let stop = min(end, (number &+ 1) &<< 7)
            while index < stop {
                next &+= UInt64(PackedIntegers.value(index & 127, of: payload, count: size, bits: bits))
                guard next <= UInt64(UInt32.max) else { return false }
                target[done] = UInt32(truncatingIfNeeded: next)
                next &+= 1
                done &+= 1
                index &+= 1
            }
        }
        list.count = done
        return true
    }

    /// Appends the positions of a posting to `target`; false if they aren't positions.
    mutating func append(_ place: Int, to target: inout [UInt32]) -> Bool {
        guard read(place, into: list) else { return false }
        target.append(contentsOf: UnsafeBufferPointer(start: list.values, count: list.count))
        return true
    }

    /// Appends those of all postings of the block.
    mutating func appendAll(_ count: Int, to target: inout PostingsBuffer) -> Bool {
        target.reserve(positions: total)
        var index = 0
        for place in 0..<count {
            var next: UInt64 = 0
            for _ in 0..<frequencies[place] {
                if index & 127 == 0, !unpack(index &>> 7) { return false }
                next += UInt64(values[index & 127])
                guard next <= UInt64(UInt32.max) else { return false }
                target.append(position: UInt32(truncatingIfNeeded: next))
                next += 1
                index &+= 1
            }
        }
        return true
    }

    @inline(never)
    private mutating func unpack(_ number: Int) -> Bool {
        seek(group: number)
        let (size, bits) = (Self.groupSize(number, total), Int(bytes[number]))
        let payload = Bytes(rebasing: bytes[offset..<offset + PackedIntegers.payloadSize(count: size, bits: bits)])
        return PackedIntegers.unpack(payload, count: size, bits: bits, to: values)
    }
}
