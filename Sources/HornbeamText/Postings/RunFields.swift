// SPDX-License-Identifier: Apache-2.0
// What a run tells of the fields in which its postings stand, behind its blocks, so that who doesn't ask never reads
// it. A run whose postings all stand in the first field alone has nothing of this.
//
//   directory, for each block:
//     u8      the places of fields in which any posting stands, a bit for each: the first three fields, and all others;
//             · 16 the number of the main place, in which most stand
//     then, if there are more than one:
//     varint  size of the block's groups in bytes
//     varints of each of these places: how often a posting stands there at most − 1, the shortest of the documents that
//             have one there
//   groups, for each block and each of its places but the main one:
//     PackedIntegers of how often each posting stands there; what is left of its frequency is in the main place

import HornbeamPages

/// The fields of a run's blocks. Memory of its own, used for one run after the other.
struct RunFields: ~Copyable {
    private let heads: UnsafeMutablePointer<UInt8>
    private let bounds: UnsafeMutablePointer<FieldBounds>
    /// The largest frequency in each block.
    private let mosts: UnsafeMutablePointer<UInt32>
    /// Where each block's groups end; one more before, where the first one's begin.
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

    /// The places in which any posting of a block stands.
    @inline(__always)
    func places(_ block: Int) -> FieldPlaces { FieldPlaces(bits: heads[block] & 0x0F) }

    @inline(__always)
    private func main(_ block: Int) -> Int { Int(heads[block] &>> 4) }

    @inline(__always)
    func bound(_ block: Int) -> FieldBounds { bounds[block] }

    /// Reads the part of a run that tells of fields; it must live as long as this is asked. False if it can't be one.
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

    /// Fills the columns of the wanted places in which any posting of a block stands, whose `count` frequencies are
    /// these. False if that can't be: then the columns are of no meaning. When true, no posting stands anywhere more
    /// often than is told.
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

    /// False if there is less somewhere.
    private static func subtract(
        _ column: UnsafeMutablePointer<UInt32>, from rest: UnsafeMutablePointer<UInt32>, _ count: Int
    ) -> Bool {
        // Without a branch, so that several are looked at in one step.
        var less: UInt32 = 0
        for posting in 0..<count {
            let (before, taken) = (rest[posting], column[posting])
            less |= before < taken ? 1 : 0
            rest[posting] = before &- taken
        }
        return less == 0
    }
}

/// Puts together what a run tells of fields. Owns the memory in which it does.
struct RunFieldsEncoder: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: PackedIntegers.capacity)
    private var directory = ByteSink()
    private var groups = ByteSink()
    private var block = ByteSink()
    /// Whether any posting stands elsewhere than in the first field.
    private(set) var isNeeded = false

    deinit { values.deallocate() }

    /// Bytes of all blocks so far.
    var size: Int { isNeeded ? directory.count + groups.count : 0 }

    mutating func removeAll() {
        directory.removeAll()
        groups.removeAll()
        isNeeded = false
    }

    /// Adds a block, and its bounds to `list`.
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
