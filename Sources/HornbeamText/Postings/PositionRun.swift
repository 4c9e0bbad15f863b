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

/// Reads positions of one block after the other. Owns what it decodes.
struct PositionBlock: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: PackedIntegers.capacity)
    /// Where each posting's positions begin among the block's; one more for the end.
    private let starts = UnsafeMutablePointer<Int>.allocate(capacity: PostingRun.blockCapacity + 1)
    private var bytes = Bytes(start: nil, count: 0)
    private var groups = 0
    /// The group that is decoded, −1 if none is, and where it ends.
    private var decoded = -1
    private var decodedEnd = 0

    deinit {
        values.deallocate()
        starts.deallocate()
    }

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

    /// Makes it the block of these bytes and these frequencies; false if they don't belong together.
    mutating func open(_ bytes: Bytes, frequencies: UnsafePointer<UInt32>, count: Int) -> Bool {
        (decoded, groups) = (-1, 0)
        var sum = 0
        for place in 0..<count {
            starts[place] = sum
            sum &+= Int(frequencies[place])
        }
        starts[count] = sum
        let groups = (sum + PackedIntegers.capacity - 1) / PackedIntegers.capacity
        guard sum <= Self.positionLimit, groups <= bytes.count else { return false }
        var size = groups
        for group in 0..<groups {
            guard bytes[group] <= 32 else { return false }
            size += PackedIntegers.payloadSize(count: groupSize(group, sum), bits: Int(bytes[group]))
        }
        guard size == bytes.count else { return false }
        (self.bytes, self.groups, decodedEnd) = (bytes, groups, groups)
        return true
    }

    private func groupSize(_ group: Int, _ all: Int) -> Int {
        min(PackedIntegers.capacity, all - group * PackedIntegers.capacity)
    }

    /// Appends the positions of a posting to `target`; false if they aren't positions. `count` is that of the block.
    mutating func append(_ place: Int, of count: Int, to target: inout [UInt32]) -> Bool {
        var next: UInt64 = 0
        for index in starts[place]..<starts[place + 1] {
            guard let value = value(index, of: starts[count]) else { return false }
            next += UInt64(value)
            guard next <= UInt64(UInt32.max) else { return false }
            target.append(UInt32(truncatingIfNeeded: next))
            next += 1
        }
        return true
    }

    /// Appends those of all postings of the block.
    mutating func appendAll(_ count: Int, to target: inout PostingsBuffer) -> Bool {
        target.reserve(positions: starts[count])
        for place in 0..<count {
            var next: UInt64 = 0
            for index in starts[place]..<starts[place + 1] {
                guard let value = value(index, of: starts[count]) else { return false }
                next += UInt64(value)
                guard next <= UInt64(UInt32.max) else { return false }
                target.append(position: UInt32(truncatingIfNeeded: next))
                next += 1
            }
        }
        return true
    }

    @inline(__always)
    private mutating func value(_ index: Int, of all: Int) -> UInt32? {
        let group = index &>> 7
        if group != decoded, !decode(group, all) { return nil }
        return values[index & 127]
    }

    @inline(never)
    private mutating func decode(_ group: Int, _ all: Int) -> Bool {
        // Forward from where it stands: a block of very many groups is read group by group.
        var start = group > decoded ? decodedEnd : groups
        for before in (group > decoded ? decoded + 1 : 0)..<group {
            start += PackedIntegers.payloadSize(count: PackedIntegers.capacity, bits: Int(bytes[before]))
        }
        decoded = -1
        let (count, bits) = (groupSize(group, all), Int(bytes[group]))
        let size = PackedIntegers.payloadSize(count: count, bits: bits)
        let payload = Bytes(rebasing: bytes[start..<start + size])
        decodedEnd = groups
        guard PackedIntegers.unpack(payload, count: count, bits: bits, to: values) else { return false }
        (decoded, decodedEnd) = (group, start + size)
        return true
    }
}
