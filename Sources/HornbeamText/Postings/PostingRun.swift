// SPDX-License-Identifier: Apache-2.0
// Up to eight blocks of 128 postings of one term under one key: a directory, by which blocks are found and skipped,
// then the blocks. The number of the run's first document is in the key.
//
//   varint  (postings − 1) · 2, + 1 if RunFields follow the blocks; all blocks but the last have 128
//   directory, for each block:
//     varint  its last document − the last one of the block before (of the first block: − the run's first document)
//     varint  size of the block in bytes
//     bounds  varint (frequency − 1) · 2, + 1 if a second pair follows · varint length;
//             the second pair: varint decrease of the frequency · varint decrease of the length
//   blocks, each:
//     ids     PackedIntegers of the documents' distances less 1, the first one's from the block before; or 0x3F and a
//             bit set: bit i is the i-th document behind the block before, up to the block's last
//     frequencies  PackedIntegers of the frequencies less 1; absent if all are 1
//   RunFields, if the first varint says so
//
// In the first block the distance of the first document is taken as 1. The first pair's frequency is exact.

import HornbeamPages

/// The limits of a run.
enum PostingRun {
    static let blockCapacity = PackedIntegers.capacity
    static let blockLimit = 8
    static let capacity = blockCapacity * blockLimit
    /// Maximum number of pairs that bound a block.
    static let boundLimit = 2

    fileprivate static let bitSetMark: UInt8 = 0x3F

    /// Returns the number of blocks that `postings` postings take.
    static func blocks(_ postings: Int) -> Int { (postings + blockCapacity - 1) / blockCapacity }

    /// Returns the blocks per run when `blocks` blocks are spread evenly over as few runs of at most `most` blocks as
    /// possible.
    static func even(_ blocks: Int, most: Int) -> Int {
        let runs = max((blocks + most - 1) / most, 1)
        return max((blocks + runs - 1) / runs, 1)
    }
}

/// The positions and bounds of a run's blocks. Owns its memory and reuses it for run after run.
struct RunDirectory: ~Copyable {
    /// Number of blocks.
    private(set) var count = 0
    private(set) var postings = 0
    private(set) var first: UInt32 = 0
    /// Offset of the fields part in the run's bytes. Nil if there is none.
    private(set) var fieldsStart: Int?
    private let memory: UnsafeMutableRawPointer
    private let lasts: UnsafeMutablePointer<UInt32>
    /// The offset of the first block in the run's bytes, then the offset at which each block ends.
    private let ends: UnsafeMutablePointer<Int>
    /// Two pairs for each block. The second one has frequency 0 if the block has only one.
    private let pairs: UnsafeMutablePointer<Bound>

    init() {
        let (blocks, word) = (PostingRun.blockLimit, MemoryLayout<Int>.stride)
        let pairsStart = word * (blocks + 1)
        let lastsStart = pairsStart + MemoryLayout<Bound>.stride * 2 * blocks
        memory = .allocate(byteCount: lastsStart + 4 * blocks, alignment: word)
        ends = memory.bindMemory(to: Int.self, capacity: blocks + 1)
        pairs = (memory + pairsStart).bindMemory(to: Bound.self, capacity: 2 * blocks)
        lasts = (memory + lastsStart).bindMemory(to: UInt32.self, capacity: blocks)
    }

    deinit { memory.deallocate() }

    mutating func removeAll() { (count, postings, fieldsStart) = (0, 0, nil) }

    /// The last document of a block.
    @inline(__always)
    func last(_ block: Int) -> UInt32 { lasts[block] }

    /// A lower bound of the block's documents. Exact for the first block.
    @inline(__always)
    func base(_ block: Int) -> UInt32 { block == 0 ? first : lasts[block &- 1] &+ 1 }

    @inline(__always)
    func size(_ block: Int) -> Int {
        block == count &- 1 ? postings &- block &* PostingRun.blockCapacity : PostingRun.blockCapacity
    }

    /// The range of the block's bytes in the run.
    @inline(__always)
    func range(_ block: Int) -> Range<Int> { ends[block]..<ends[block &+ 1] }

    /// The pair with the largest frequency.
    @inline(__always)
    func bound(_ block: Int) -> Bound { pairs[2 &* block] }

    /// The other pair. Its frequency is 0 if there is none.
    @inline(__always)
    func secondBound(_ block: Int) -> Bound { pairs[2 &* block &+ 1] }

    /// Reads the directory of a run. Returns false, and has no blocks, if the bytes are damaged.
    mutating func read(_ bytes: Bytes, first: UInt32) -> Bool {
        removeAll()
        var reader = ByteReader(bytes)
        guard let code = reader.varint(), code < 2 * UInt64(PostingRun.capacity) else { return false }
        let postings = Int(code >> 1) + 1
        let blocks = PostingRun.blocks(postings)
        var (last, size) = (first, 0)
        for block in 0..<blocks {
            guard let span = reader.varint32(), let blockSize = reader.varint32() else { return false }
            let (sum, overflows) = last.addingReportingOverflow(span)
            let inBlock = block == blocks - 1 ? postings - block * PostingRun.blockCapacity : PostingRun.blockCapacity
            // The first block begins with `last` itself.
            guard !overflows, Int(span) + (block == 0 ? 1 : 0) >= inBlock, blockSize > 0 else { return false }
            last = sum
            lasts[block] = sum
            size += Int(blockSize)
            ends[block + 1] = size
            guard readBounds(&reader, block) else { return false }
        }
        let end = reader.offset + size
        if code & 1 == 1 { fieldsStart = end }
        guard code & 1 == 1 ? bytes.count > end : bytes.count == end else { return false }
        ends[0] = reader.offset
        // Not `+=`: Swift 6.3 compiles it for the thread sanitizer to a broken module.
        for block in 0..<blocks { ends[block + 1] = ends[block + 1] + reader.offset }
        (count, self.postings, self.first) = (blocks, postings, first)
        return true
    }

    @inline(__always)
    private func readBounds(_ reader: inout ByteReader, _ block: Int) -> Bool {
        guard let code = reader.varint(), let length = reader.varint32(), code >> 1 < UInt64(UInt32.max) else {
            return false
        }
        let pair = Bound(frequency: UInt32(truncatingIfNeeded: code >> 1) + 1, length: length)
        pairs[2 * block] = pair
        pairs[2 * block + 1] = Bound(frequency: 0, length: .max)
        guard code & 1 == 1 else { return true }
        guard let less = reader.varint32(), let shorter = reader.varint32(), less > 0, less < pair.frequency,
            shorter > 0, shorter <= length
        else { return false }
        pairs[2 * block + 1] = Bound(frequency: pair.frequency - less, length: length - shorter)
        return true
    }
}

// Decoding a block.
extension RunDirectory {
    /// Decodes a block of the run. Each target has room for `size(block)` postings; nothing is written behind them.
    /// Returns false if the block is damaged; then the targets have no meaning. If it returns true, the documents
    /// ascend strictly from the block's base to its last one, and each frequency is at least 1 and at most that of the
    /// first bound.
    func decode(
        _ block: Int, of run: Bytes, docnos: UnsafeMutablePointer<UInt32>, frequencies: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        var reader = ByteReader(Bytes(rebasing: run[range(block)]))
        guard decodeDocuments(&reader, block, docnos) else { return false }
        let size = size(block)
        let largest = bound(block).frequency
        guard largest > 1 else {
            frequencies.update(repeating: 1, count: size)
            return reader.isAtEnd
        }
        guard let bits = PackedIntegers.decode(&reader, count: size, to: frequencies), reader.isAtEnd else {
            return false
        }
        return Self.raise(frequencies, size, bits) == largest - 1
    }

    /// Decodes the documents only. The bytes behind them aren't checked.
    func decodeDocuments(_ block: Int, of run: Bytes, to docnos: UnsafeMutablePointer<UInt32>) -> Bool {
        var reader = ByteReader(Bytes(rebasing: run[range(block)]))
        return decodeDocuments(&reader, block, docnos)
    }

    /// Adds 1 to each frequency. Returns the largest value before that, so that an overflow is noticed. `bits` is the
    /// union of the bits of all values.
    @inline(__always)
    private static func raise(_ frequencies: UnsafeMutablePointer<UInt32>, _ count: Int, _ bits: UInt32) -> UInt32 {
        let memory = UnsafeMutableRawPointer(frequencies)
        if count == PackedIntegers.capacity, bits <= UInt32(Int16.max) {
            // These values compare as integers of 16 bits, which even baseline processors do in one instruction.
            var most = SIMD8<Int16>()
            for row in 0..<32 {
                let value = memory.loadUnaligned(fromByteOffset: 16 &* row, as: SIMD4<UInt32>.self)
                most = pointwiseMax(most, unsafeBitCast(value, to: SIMD8<Int16>.self))
                memory.storeBytes(of: value &+ 1, toByteOffset: 16 &* row, as: SIMD4<UInt32>.self)
            }
            return unsafeBitCast(most, to: SIMD4<UInt32>.self).max()
        }
        var largest: UInt32 = 0
        for place in 0..<count {
            largest = max(largest, frequencies[place])
            frequencies[place] &+= 1
        }
        return largest
    }

    @inline(__always)
    private func decodeDocuments(
        _ reader: inout ByteReader, _ block: Int, _ docnos: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        let (base, last, count) = (base(block), last(block), size(block))
        if reader.rest.first == PostingRun.bitSetMark {
            return Self.decodeBitSet(&reader, base, last, count, docnos) && (block > 0 || docnos[0] == base)
        }
        guard let largest = PackedIntegers.decode(&reader, count: count, to: docnos) else { return false }
        guard block > 0 || docnos[0] == 0 else { return false }
        // The sum of 128 distances below 2²⁴ doesn't overflow. It is compared below.
        if largest >= 1 << 24 { return Self.sumCarefully(docnos, count, base: base) && docnos[count - 1] == last }
        if count == PackedIntegers.capacity {
            Self.sumLanes(docnos, base: base)
        } else {
            var docno = base &- 1
            for place in 0..<count {
                docno = docno &+ docnos[place] &+ 1
                docnos[place] = docno
            }
        }
        return docnos[count &- 1] == last
    }

    @inline(__always)
    private static func sumLanes(_ docnos: UnsafeMutablePointer<UInt32>, base: UInt32) {
        let memory = UnsafeMutableRawPointer(docnos)
        let upper = SIMD4<UInt32>(0, 0, .max, .max)
        var before = SIMD4<UInt32>(repeating: base &- 1)
        for row in 0..<32 {
            let value = memory.loadUnaligned(fromByteOffset: 16 &* row, as: SIMD4<UInt32>.self) &+ 1
            // Sums of neighbours, then of the row. Only the last addition depends on the row before.
            let shifted = unsafeBitCast(value, to: SIMD2<UInt64>.self) &<< 32
            let pairs = value &+ unsafeBitCast(shifted, to: SIMD4<UInt32>.self)
            let sums = pairs &+ (SIMD4(repeating: pairs[1]) & upper)
            memory.storeBytes(of: sums &+ before, toByteOffset: 16 &* row, as: SIMD4<UInt32>.self)
            before = before &+ SIMD4(repeating: sums[3])
        }
    }

    @inline(never)
    private static func sumCarefully(_ docnos: UnsafeMutablePointer<UInt32>, _ count: Int, base: UInt32) -> Bool {
        var next = UInt64(base)
        for place in 0..<count {
            next += UInt64(docnos[place])
            guard next <= UInt64(UInt32.max) else { return false }
            docnos[place] = UInt32(truncatingIfNeeded: next)
            next += 1
        }
        return true
    }

    @inline(never)
    private static func decodeBitSet(
        _ reader: inout ByteReader, _ base: UInt32, _ last: UInt32, _ count: Int,
        _ docnos: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        _ = reader.byte()
        guard let bits = reader.slice(bitSetSize(base, last)) else { return false }
        var found = 0
        let places = BitPlaces.ofBytes
        for offset in 0..<bits.count {
            let byte = bits[offset]
            let start = base &+ UInt32(truncatingIfNeeded: 8 &* offset)
            let (next, size) = (docnos + found, places.count(byte))
            guard found &+ size <= count else { return false }
            if found &+ 8 <= count {
                places.store(byte, start, to: next)
            } else {
                var rest = byte
                for place in 0..<size {
                    next[place] = start &+ UInt32(truncatingIfNeeded: rest.trailingZeroBitCount)
                    rest &= rest &- 1
                }
            }
            found &+= size
        }
        return found == count && docnos[count &- 1] == last
    }

    /// Returns the size in bytes of a block's bit set.
    @inline(__always)
    fileprivate static func bitSetSize(_ base: UInt32, _ last: UInt32) -> UInt64 { UInt64(last &- base) / 8 + 1 }
}

/// The numbers of the bits that are set in a byte, for each byte.
private struct BitPlaces: Sendable {
    static let ofBytes = BitPlaces()
    /// For each byte, the numbers of its bits that are set, and how many there are. Never freed.
    nonisolated(unsafe) private let places: UnsafeMutablePointer<SIMD8<UInt8>>
    nonisolated(unsafe) private let counts: UnsafeMutablePointer<UInt8>

    private init() {
        places = .allocate(capacity: 256)
        counts = .allocate(capacity: 256)
        for byte in 0..<256 {
            var (value, found) = (SIMD8<UInt8>(), 0)
            for bit in 0..<8 where byte >> bit & 1 == 1 {
                value[found] = UInt8(bit)
                found += 1
            }
            (places + byte).initialize(to: value)
            (counts + byte).initialize(to: UInt8(found))
        }
    }

    @inline(__always)
    func count(_ byte: UInt8) -> Int { Int(counts[Int(byte)]) }

    /// Writes eight integers. Only the first `count(byte)` of them have a meaning.
    @inline(__always)
    func store(_ byte: UInt8, _ start: UInt32, to target: UnsafeMutablePointer<UInt32>) {
        let places = SIMD8<UInt32>(truncatingIfNeeded: places[Int(byte)])
        UnsafeMutableRawPointer(target).storeBytes(of: places &+ start, as: SIMD8<UInt32>.self)
    }
}

/// Encodes runs. Owns and reuses the memory for this.
struct RunEncoder: ~Copyable {
    private let values = UnsafeMutablePointer<UInt32>.allocate(capacity: PackedIntegers.capacity)
    private var data = ByteSink()
    private var block = BoundFrontier()
    private var fields = RunFieldsEncoder()
    /// Whether per-field counts are written.
    private let tellsFields: Bool
    /// For each block, the size of the run if it ended with that block, or a byte less.
    private(set) var sizes = InlineArray<8, Int>(repeating: 0)

    init(tellsFields: Bool = true) { self.tellsFields = tellsFields }

    deinit { values.deallocate() }

    var averageLength: Double {
        get { block.averageLength }
        set { block.averageLength = newValue }
    }

    /// Appends the run of the postings in `range`, 1 to 1,024 of them, to `target`, and adds its bounds to `list` and
    /// `listFields`.
    mutating func encode(
        _ postings: borrowing PostingsBuffer, _ range: Range<Int>, to target: inout ByteSink,
        bounds list: inout BoundFrontier, fields listFields: inout FieldBounds
    ) {
        precondition(!range.isEmpty && range.count <= PostingRun.capacity)
        data.removeAll()
        let targetStart = target.count
        let knowsFields = tellsFields && postings.hasFields
        let fieldSizes = knowsFields ? encodeFields(postings, range, &listFields) : InlineArray(repeating: 0)
        if !knowsFields { fields.removeAll() }
        target.append(varint: UInt64(range.count - 1) << 1 | (fields.isNeeded ? 1 : 0))
        var start = range.lowerBound
        var last = postings.docnos[start]
        while start < range.upperBound {
            let end = min(start + PostingRun.blockCapacity, range.upperBound)
            let dataStart = data.count
            let base = start == range.lowerBound ? last : last + 1
            encodeDocuments(postings.docnos + start, end - start, base: base)
            encodeFrequencies(postings, start..<end)
            let blockLast = postings.docnos[end - 1]
            target.append(varint: UInt64(blockLast - last))
            target.append(varint: UInt64(data.count - dataStart))
            encodeBounds(to: &target, &list)
            if !knowsFields { addFirstField(&listFields) }
            let number = (start - range.lowerBound) / PostingRun.blockCapacity
            sizes[number] = target.count - targetStart + data.count + fieldSizes[number]
            (start, last) = (end, blockLast)
        }
        target.append(data.bytes)
        fields.write(to: &target)
    }

    /// Encodes the fields part of the run. Returns its size after each block.
    private mutating func encodeFields(
        _ postings: borrowing PostingsBuffer, _ range: Range<Int>, _ list: inout FieldBounds
    ) -> InlineArray<8, Int> {
        var sizes = InlineArray<8, Int>(repeating: 0)
        fields.removeAll()
        for number in 0..<PostingRun.blocks(range.count) {
            let start = range.lowerBound + number * PostingRun.blockCapacity
            fields.add(postings, start..<min(start + PostingRun.blockCapacity, range.upperBound), &list)
            sizes[number] = fields.size
        }
        return sizes
    }

    private mutating func encodeDocuments(_ docnos: UnsafePointer<UInt32>, _ count: Int, base: UInt32) {
        var next = base
        for place in 0..<count {
            values[place] = docnos[place] &- next
            next = docnos[place] &+ 1
        }
        let plan = PackedIntegers.plan(values, count: count)
        let last = docnos[count - 1]
        let bitSetSize = RunDirectory.bitSetSize(base, last)
        guard bitSetSize + 1 < UInt64(plan.size) else {
            let end = data.end(reserving: PackedIntegers.sizeLimit)
            return data.finish(at: PackedIntegers.encode(values, count: count, plan, to: end))
        }
        data.append(byte: PostingRun.bitSetMark)
        let bits = data.end(reserving: Int(bitSetSize))
        bits.initializeMemory(as: UInt8.self, repeating: 0, count: Int(bitSetSize))
        for place in 0..<count {
            let offset = Int(docnos[place] &- base)
            let byte = bits.load(fromByteOffset: offset >> 3, as: UInt8.self) | 1 << UInt8(offset & 7)
            bits.storeBytes(of: byte, toByteOffset: offset >> 3, as: UInt8.self)
        }
        data.finish(at: bits + Int(bitSetSize))
    }

    private mutating func encodeFrequencies(_ postings: borrowing PostingsBuffer, _ range: Range<Int>) {
        block.removeAll()
        var largest: UInt32 = 1
        for place in range {
            let frequency = postings.frequencies[place]
            values[place - range.lowerBound] = frequency - 1
            largest = max(largest, frequency)
            block.add(Bound(frequency: frequency, length: postings.lengths[place]))
        }
        guard largest > 1 else { return }
        let plan = PackedIntegers.plan(values, count: range.count)
        let end = data.end(reserving: PackedIntegers.sizeLimit)
        data.finish(at: PackedIntegers.encode(values, count: range.count, plan, to: end))
    }

    /// Adds the bounds of a block whose postings are all in the first field.
    private func addFirstField(_ list: inout FieldBounds) {
        list.formUnion(
            FieldBounds(Bound(frequency: block[block.count - 1].frequency, length: block[0].length), in: 0))
    }

    private mutating func encodeBounds(to target: inout ByteSink, _ list: inout BoundFrontier) {
        for place in 0..<block.count { list.add(block[place]) }
        block.reduce(to: PostingRun.boundLimit)
        let most = block[block.count - 1]
        target.append(varint: UInt64(most.frequency - 1) << 1 | (block.count > 1 ? 1 : 0))
        target.append(varint: UInt64(most.length))
        guard block.count > 1 else { return }
        target.append(varint: UInt64(most.frequency - block[0].frequency))
        target.append(varint: UInt64(most.length - block[0].length))
    }
}
