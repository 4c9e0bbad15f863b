// SPDX-License-Identifier: Apache-2.0
// Per-field counts of a run's postings. They stand behind its blocks, so that searches that don't need them never read
// them. A run whose postings all occur in the first field only has no such part. A slot is one of the first three
// fields or all other fields (`FieldPlace`).
//
//   directory, for each block:
//     u8      the slots in which any posting occurs, a bit for each; + 16 · the number of the main slot, which has the
//             most occurrences
//     then, if the block has more than one slot:
//     varint  size of the block's groups in bytes
//     varints for each of these slots: the largest count of a posting − 1, the length of the shortest document that has
//             an occurrence there
//   groups, for each block and each of its slots but the main one:
//     PackedIntegers of the postings' counts; the rest of a posting's frequency is in the main slot

import HornbeamPages

/// The fields of a run's blocks. Owns its memory and reuses it for run after run.
struct RunFields: ~Copyable {
    private let heads: UnsafeMutablePointer<UInt8>
    private let bounds: UnsafeMutablePointer<FieldBounds>
    /// The largest frequency in each block.
    private let mosts: UnsafeMutablePointer<UInt32>
    /// The offset of the first block's groups, then the offset at which each block's groups end.
    private let ends: UnsafeMutablePointer<Int>
    private var bytes = Bytes(start: nil, count: 0)

    init() {
        let blocks = PostingRun.blockLimit
        heads = .allocate(capacity: blocks)
        bounds = .allocate(capacity: blocks)
        mosts = .allocate(capacity: blocks)
        ends = .allocate(capacity: blocks + 1)
    }

    deinit {
        heads.deallocate()
        bounds.deallocate()
        mosts.deallocate()
        ends.deallocate()
    }

    /// The field slots in which any posting of a block occurs.
    @inline(__always)
    func places(_ block: Int) -> FieldPlaces { FieldPlaces(bits: heads[block] & 0x0F) }

    @inline(__always)
    private func main(_ block: Int) -> Int { Int(heads[block] &>> 4) }

    @inline(__always)
    func bound(_ block: Int) -> FieldBounds { bounds[block] }

    /// Reads the fields part of a run. The bytes must stay valid as long as this is used. Returns false if they are
    /// damaged.
    mutating func read(_ bytes: Bytes, of directory: borrowing RunDirectory) -> Bool {
        var reader = ByteReader(bytes)
        var size = 0
        for block in 0..<directory.count {
            guard let head = reader.byte(), head < 1 << 6, head & 0x0F != 0 else { return false }
            heads[block] = head
            let (places, most) = (places(block), directory.bound(block).frequency)
            mosts[block] = most
            guard places.contains(main(block)) else { return false }
            if places.count == 1 {
                let shortest = min(directory.bound(block).length, directory.secondBound(block).length)
                bounds[block] = FieldBounds(Bound(frequency: most, length: shortest), in: main(block))
            } else {
                guard let own = reader.varint32(), let told = FieldBounds(places, &reader),
                    told.frequencies.max() <= most
                else { return false }
                size += Int(own)
                bounds[block] = told
            }
            ends[block + 1] = size
        }
        guard bytes.count - reader.offset == size else { return false }
        ends[0] = reader.offset
        for block in 0..<directory.count { ends[block + 1] += reader.offset }
        self.bytes = bytes
        return true
    }

    /// Fills the columns of the wanted slots in which any posting of the block occurs. `frequencies` are the block's
    /// `count` frequencies. Returns false if the data is damaged; then the columns have no meaning. If it returns true,
    /// no count exceeds the stored bounds.
    func decode(
        _ block: Int, _ wanted: FieldPlaces, frequencies: UnsafePointer<UInt32>, count: Int, to columns: FieldColumns
    ) -> Bool {
        columns.reserve(PostingRun.blockCapacity)
        let (places, main, bound) = (places(block), main(block), bounds[block])
        guard !places.isDisjoint(with: wanted) else { return true }
        let rest = columns[main]
        if wanted.contains(main) { rest.update(from: frequencies, count: count) }
        guard places.count > 1 else { return true }
        var reader = ByteReader(Bytes(rebasing: bytes[ends[block]..<ends[block + 1]]))
        for place in 0..<FieldPlace.count where place != main && places.contains(place) {
            let column = columns[place]
            guard let all = PackedIntegers.decode(&reader, count: count, to: column),
                all <= bound.frequencies[place] || Self.largest(column, count) <= bound.frequencies[place]
            else { return false }
            if wanted.contains(main), !Self.subtract(column, from: rest, count) { return false }
        }
        guard reader.isAtEnd, wanted.contains(main), bound.frequencies[main] < mosts[block] else {
            return reader.isAtEnd
        }
        return Self.largest(rest, count) <= bound.frequencies[main]
    }

    private static func largest(_ column: UnsafeMutablePointer<UInt32>, _ count: Int) -> UInt32 {
        var largest: UInt32 = 0
        for posting in 0..<count { largest = max(largest, column[posting]) }
        return largest
    }

    /// Returns false if a difference is negative.
    private static func subtract(
        _ column: UnsafeMutablePointer<UInt32>, from rest: UnsafeMutablePointer<UInt32>, _ count: Int
    ) -> Bool {
        // No branch, so that the loop can be vectorised.
        var less: UInt32 = 0
        for posting in 0..<count {
            let (before, taken) = (rest[posting], column[posting])
            less |= before < taken ? 1 : 0
            rest[posting] = before &- taken
        }
        return less == 0
    }
}

/// Encodes the fields part of a run. Owns and reuses the memory for this.
struct RunFieldsEncoder: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: PackedIntegers.capacity)
    private var directory = ByteSink()
    private var groups = ByteSink()
    private var block = ByteSink()
    /// Whether any posting occurs outside the first field.
    private(set) var isNeeded = false

    deinit { values.deallocate() }

    /// Size in bytes of all blocks so far.
    var size: Int { isNeeded ? directory.count + groups.count : 0 }

    mutating func removeAll() {
        directory.removeAll()
        groups.removeAll()
        isNeeded = false
    }

    /// Adds a block, and adds its bounds to `list`.
    mutating func add(_ postings: borrowing PostingsBuffer, _ range: Range<Int>, _ list: inout FieldBounds) {
        var bound = FieldBounds()
        var sums = SIMD4<UInt64>()
        for place in range {
            let counts = postings.fieldCounts(place)
            bound.add(counts, length: postings.lengths[place])
            sums &+= SIMD4(truncatingIfNeeded: counts)
        }
        list.formUnion(bound)
        let places = bound.places
        if places.bits != 1 { isNeeded = true }
        var main = 0
        for place in 1..<FieldPlace.count where sums[place] > sums[main] { main = place }
        directory.append(byte: places.bits | UInt8(truncatingIfNeeded: main) << 4)
        guard places.count > 1 else { return }
        block.removeAll()
        for place in 0..<FieldPlace.count where place != main && places.contains(place) {
            for posting in range { values[posting - range.lowerBound] = postings.fieldCounts(posting)[place] }
            let plan = PackedIntegers.plan(values, count: range.count)
            let end = block.end(reserving: PackedIntegers.sizeLimit)
            block.finish(at: PackedIntegers.encode(values, count: range.count, plan, to: end))
        }
        directory.append(varint: UInt64(block.count))
        bound.encodeBounds(to: &directory)
        groups.append(block.bytes)
    }

    func write(to target: inout ByteSink) {
        guard isNeeded else { return }
        target.append(directory.bytes)
        target.append(groups.bytes)
    }
}
