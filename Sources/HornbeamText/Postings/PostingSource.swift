// SPDX-License-Identifier: Apache-2.0
// The postings of one term, read forward one block at a time. The bounds of a block are known before its postings are
// decoded, so a search can skip a block by its bounds alone. Contract: blocks ascend and don't overlap. While `isAtEnd`
// is false, the current block has at least one posting. After `decode`, documents ascend strictly from `blockFirst` to
// `blockLast` and every frequency is at least 1, whatever the file holds.

import HornbeamPages

/// One term's postings. Abstract: a subclass moves from block to block. Belongs to one search, so its properties are
/// exempt from checks of exclusive access.
class PostingSource {
    /// Number of documents that hold the term, exact.
    final let documentFrequency: UInt32
    /// Bounds of all postings: for each posting there is a pair with the same or a higher frequency and the same or a
    /// shorter length.
    final let bounds: [Bound]

    @exclusivity(unchecked) final var isAtEnd = false
    @exclusivity(unchecked) final var blockFirst: UInt32 = 0
    @exclusivity(unchecked) final var blockLast: UInt32 = 0
    /// Two bounds of the current block's postings. Each posting is covered by at least one of them.
    @exclusivity(unchecked) final var blockBound: Bound
    @exclusivity(unchecked) final var secondBlockBound: Bound
    /// Whether the current block is decoded.
    @exclusivity(unchecked) final var isDecoded = false
    /// The current block's postings. Valid once the block is decoded, until the source moves on. Before that, the block
    /// may have fewer postings than `count`.
    @exclusivity(unchecked) final var count = 0
    @exclusivity(unchecked) final var docnos: UnsafePointer<UInt32>
    @exclusivity(unchecked) final var frequencies: UnsafePointer<UInt32>
    /// Index of the search in the decoded block. All postings before it are below every document that is asked for.
    @exclusivity(unchecked) private final var place = 0

    /// - Parameter bounds: at least one.
    init(documentFrequency: UInt32, bounds: [Bound], _ nothing: UnsafePointer<UInt32>) {
        self.documentFrequency = documentFrequency
        self.bounds = bounds
        blockBound = bounds.first ?? Bound(frequency: .max, length: 0)
        secondBlockBound = blockBound
        (docnos, frequencies) = (nothing, nothing)
    }

    /// Some of the best of all postings. Empty if they aren't known.
    var leaders: Leaders { Leaders() }

    /// Moves to the first block behind the current one whose last document is not below `target`. Overridden by
    /// subclasses.
    func moveToBlock(_ target: UInt32) throws(StorageError) { isAtEnd = true }

    /// Fills `docnos`, `frequencies` and `count`. Overridden by subclasses.
    func decodeBlock() throws(StorageError) {}

    /// The last document of the blocks, from the current one on, whose bounds are known without further reading. A
    /// subclass may know the bounds of more than one block.
    var knownLast: UInt32 { blockLast }

    /// Calls `body` with the bounds of each known block from the current one through the block that holds `last`.
    func forEachKnownBound(through last: UInt32, _ body: (Bound) -> Void) {
        body(blockBound)
        if secondBlockBound != blockBound { body(secondBlockBound) }
    }

    /// Writes the current block's documents to `docnos`, which has room for `count` of them. Afterwards `count` is
    /// exact.
    func decodeDocuments(to docnos: UnsafeMutablePointer<UInt32>) throws(StorageError) {
        if !isDecoded {
            try decodeBlock()
            isDecoded = true
        }
        docnos.update(from: self.docnos, count: count)
    }

    /// Writes the current block's documents and frequencies to the given memory, which has room for `count` of them.
    /// Afterwards `count` is exact.
    func decodeBlock(
        to docnos: UnsafeMutablePointer<UInt32>, _ frequencies: UnsafeMutablePointer<UInt32>
    ) throws(StorageError) {
        if !isDecoded {
            try decodeBlock()
            isDecoded = true
        }
        docnos.update(from: self.docnos, count: count)
        frequencies.update(from: self.frequencies, count: count)
    }

    /// Sets `positions` to the term's positions, ascending, in the document of posting `place` of the decoded block.
    /// Overridden by subclasses.
    func readPositions(_ place: Int, _ positions: inout [UInt32]) throws(StorageError) { positions.removeAll() }

    /// Sets `list` to the term's positions, ascending, in the document of posting `place` of the decoded block. Reuses
    /// the list's memory.
    func readPositions(_ place: Int, into list: PositionList) throws(StorageError) {
        var positions: [UInt32] = []
        try readPositions(place, &positions)
        list.assign(positions)
    }

    /// Whether the source has per-field counts of its postings. Otherwise they follow from the positions.
    var knowsFields: Bool { false }

    /// Bounds of all postings in each field. Overridden by subclasses that know fields.
    var fields: FieldBounds { FieldBounds() }

    /// Returns bounds of the current block's postings in each field. Overridden by subclasses that know fields.
    func blockFields() throws(StorageError) -> FieldBounds { FieldBounds() }

    /// Fills the columns of the wanted slots for the decoded block's postings. Columns of slots without occurrences may
    /// be left unchanged. Overridden by subclasses that know fields.
    func readFields(_ wanted: FieldPlaces, into columns: FieldColumns) throws(StorageError) {}

    /// One pair that covers all postings.
    final var bound: Bound {
        bounds.dropFirst().reduce(bounds.first ?? Bound(frequency: .max, length: 0)) {
            Bound(frequency: max($0.frequency, $1.frequency), length: min($0.length, $1.length))
        }
    }

    /// Moves to the block that holds `target` or, if there is none, the next document behind it. Doesn't move if the
    /// current block is that block.
    @inline(__always)
    final func seekBlock(_ target: UInt32) throws(StorageError) {
        guard !isAtEnd, blockLast < target else { return }
        try leaveBlock(target)
    }

    /// Moves to the next block.
    @inline(__always)
    final func nextBlock() throws(StorageError) {
        guard blockLast < .max else {
            isAtEnd = true
            return
        }
        try leaveBlock(blockLast + 1)
    }

    private final func leaveBlock(_ target: UInt32) throws(StorageError) {
        isDecoded = false
        place = 0
        try moveToBlock(target)
    }

    /// Decodes the current block unless it is decoded. Returns the index of the first document that is not below
    /// `target`.
    @inline(__always)
    final func decode(from target: UInt32) throws(StorageError) -> Int {
        if !isDecoded {
            try decodeBlock()
            isDecoded = true
        }
        guard place < count, docnos[place] < target else { return place }
        place = Self.gallop(docnos, from: place, count: count, to: target)
        return place
    }

    /// Returns the first document from `target` on, or `.max` if there is none. Then its posting is at index `current`.
    final func advance(to target: UInt32) throws(StorageError) -> UInt32 {
        try seekBlock(target)
        guard !isAtEnd else { return .max }
        let found = try decode(from: target)
        // The block's last document is not below the target.
        return docnos[found]
    }

    /// Returns the index of the first posting of the decoded block behind `last`, searching from `start` on.
    @inline(__always)
    final func end(from start: Int, through last: UInt32) -> Int {
        guard blockLast > last else { return count }
        return Self.gallop(docnos, from: start, count: count, to: last &+ 1)
    }

    /// The index in the decoded block of the document that `advance` found.
    final var current: Int { place }

    /// Returns a lower bound of the first document from `target` on, without decoding; `.max` at the end.
    final func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        try seekBlock(target)
        guard !isAtEnd else { return .max }
        guard isDecoded, blockFirst < target else { return max(blockFirst, target) }
        return docnos[try decode(from: target)]
    }

    /// Returns the index of the first value from `start` on that is not below `target`, by exponential search.
    @inline(__always)
    static func gallop(_ values: UnsafePointer<UInt32>, from start: Int, count: Int, to target: UInt32) -> Int {
        var low = start
        var step = 1
        while low &+ step < count, values[low &+ step] < target {
            low &+= step
            step &*= 2
        }
        var high = min(low &+ step, count)
        while low < high {
            let middle = (low &+ high) / 2
            if values[middle] < target { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
    /// Returns the index of the first value from `start` on that is not below `target`. `stepSize` values of `.max`
    /// must be readable behind the list's last value. Usually few values are passed, so they are counted: the branches
    /// of a search can't be predicted.
    @inline(__always)
    static func step(_ values: UnsafePointer<UInt32>, from start: Int, count: Int, to target: UInt32) -> Int {
        let passed = countBelow(target, values + start)
        guard passed == stepSize else { return start &+ passed }
        return start &+ passed < count ? gallop(values, from: start &+ passed, count: count, to: target) : count
    }

    /// Number of values that are compared at once.
    static let stepSize = 16

    /// Returns how many of 16 values are below `target`.
    @inline(__always)
    static func countBelow(_ target: UInt32, _ values: UnsafePointer<UInt32>) -> Int {
        let (memory, limit) = (UnsafeRawPointer(values), SIMD4<UInt32>(repeating: target))
        var below = SIMD4<UInt32>()
        for row in 0..<stepSize / 4 {
            let four = memory.loadUnaligned(fromByteOffset: 16 &* row, as: SIMD4<UInt32>.self)
            // The comparison gives −1 in each lane that is below.
            below &-= unsafeBitCast(four .< limit, to: SIMD4<UInt32>.self)
        }
        return Int(below.wrappedSum())
    }
}

/// Documents and frequencies in plain memory, shared by any number of sources.
final class PostingArrays {
    static let blockSize = 128
    let count: Int
    let docnos: UnsafePointer<UInt32>
    let frequencies: UnsafePointer<UInt32>
    /// Bounds of each block, and of all postings.
    let blockBounds: [Bound]
    let bound: Bound

    /// - Parameters:
    ///   - docnos: ascending strictly.
    ///   - lengths: of the same documents. Without them every document counts as empty.
    init(_ docnos: [UInt32], _ frequencies: [UInt32], lengths: [UInt32] = []) {
        count = docnos.count
        var bounds: [Bound] = []
        bounds.reserveCapacity(count / Self.blockSize + 1)
        var whole = Bound(frequency: 0, length: lengths.isEmpty ? 0 : .max)
        for start in stride(from: 0, to: count, by: Self.blockSize) {
            var bound = Bound(frequency: 0, length: lengths.isEmpty ? 0 : .max)
            for place in start..<min(start + Self.blockSize, count) {
                bound.frequency = max(bound.frequency, frequencies[place])
                if !lengths.isEmpty { bound.length = min(bound.length, lengths[place]) }
            }
            whole = Bound(
                frequency: max(whole.frequency, bound.frequency), length: min(whole.length, bound.length))
            bounds.append(bound)
        }
        (blockBounds, bound) = (bounds, whole)
        (self.docnos, self.frequencies) = (Self.copy(docnos), Self.copy(frequencies))
    }

    /// Each document has frequency 1.
    convenience init(_ docnos: [UInt32]) { self.init(docnos, [UInt32](repeating: 1, count: docnos.count)) }

    private static func copy(_ numbers: [UInt32]) -> UnsafePointer<UInt32> {
        let memory = UnsafeMutablePointer<UInt32>.allocate(capacity: max(numbers.count, 1))
        memory.initialize(from: numbers, count: numbers.count)
        return UnsafePointer(memory)
    }

    deinit {
        docnos.deallocate()
        frequencies.deallocate()
    }
}

/// Postings in plain arrays, in blocks of 128. Used for postings that a search builds and for postings not yet stored.
final class ArrayPostings: PostingSource {
    private static let blockSize = PostingArrays.blockSize
    private let arrays: PostingArrays
    /// `positions[starts[n]..<starts[n + 1]]` are the positions of posting n. Both are empty without positions.
    private let positions: [UInt32]
    private let starts: [Int]
    private var block = 0

    init(_ arrays: PostingArrays, positions: [UInt32] = [], starts: [Int] = []) {
        self.arrays = arrays
        (self.positions, self.starts) = (positions, starts)
        super.init(documentFrequency: UInt32(clamping: arrays.count), bounds: [arrays.bound], arrays.docnos)
        stand()
    }

    /// A source over `PostingArrays` with these contents.
    convenience init(
        _ docnos: [UInt32], _ frequencies: [UInt32], lengths: [UInt32] = [], positions: [UInt32] = [],
        starts: [Int] = []
    ) {
        self.init(PostingArrays(docnos, frequencies, lengths: lengths), positions: positions, starts: starts)
    }

    private func stand() {
        let start = block * Self.blockSize
        guard start < arrays.count else {
            isAtEnd = true
            return
        }
        count = min(Self.blockSize, arrays.count - start)
        (docnos, frequencies) = (arrays.docnos + start, arrays.frequencies + start)
        (blockFirst, blockLast) = (docnos[0], docnos[count - 1])
        (blockBound, secondBlockBound) = (arrays.blockBounds[block], arrays.blockBounds[block])
    }

    override func moveToBlock(_ target: UInt32) throws(StorageError) {
        block += 1
        let size = arrays.count
        guard block * Self.blockSize < size else {
            isAtEnd = true
            return
        }
        // Exponential search over the last documents of the blocks.
        let all = arrays.docnos
        func last(_ block: Int) -> UInt32 { all[min((block + 1) * Self.blockSize, size) - 1] }
        var step = 1
        let end = arrays.blockBounds.count
        while block + step < end, last(block + step) < target {
            block += step
            step *= 2
        }
        var high = min(block + step, end)
        while block < high {
            let middle = (block + high) / 2
            if last(middle) < target { block = middle + 1 } else { high = middle }
        }
        stand()
    }

    override func readPositions(_ place: Int, _ positions: inout [UInt32]) throws(StorageError) {
        positions.removeAll(keepingCapacity: true)
        let posting = block * Self.blockSize + place
        guard posting + 1 < starts.count else { return }
        positions.append(contentsOf: self.positions[starts[posting]..<starts[posting + 1]])
    }
}
