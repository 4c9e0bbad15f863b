// SPDX-License-Identifier: Apache-2.0
// A term's stored postings, read forward, block by block. The current block need not be decoded: the directory of its
// run gives a lower bound of its first document, its last document and its bounds. So skipping a block needs no
// decoding, and skipping a run no reading. Contract: blocks always ascend, whatever the file holds. Everything is
// checked when it is decoded; a failed check throws `.corrupt`.

import HornbeamPages
import HornbeamTree

/// Reads one posting list. Owns the memory it decodes into. Belongs to one search, and is valid only for the state of
/// the transaction in which it was made.
final class StoredPostings {
    /// Number of documents that hold the term.
    let documentFrequency: UInt32
    /// Number of occurrences in all documents.
    let collectionFrequency: UInt64
    /// Bounds of the whole list: one to four pairs, the most frequent first.
    let bounds: [Bound]
    /// Some of the list's best postings, if many documents hold the term.
    var leaders: Leaders { entry.leaders }

    /// Whether the last block was passed. Then the properties below have no meaning.
    @exclusivity(unchecked) private(set) var isAtEnd = false
    /// A lower bound of the current block's documents. Exact once the block is decoded.
    @exclusivity(unchecked) private(set) var blockFirst: UInt32 = 0
    /// The last document of the current block.
    @exclusivity(unchecked) private(set) var blockLast: UInt32 = 0
    /// The pair of the current block with the largest frequency.
    @exclusivity(unchecked) private(set) var blockBound = Bound(frequency: 0, length: 0)
    /// The other pair. Equal to the first if there is only one.
    @exclusivity(unchecked) private(set) var secondBlockBound = Bound(frequency: 0, length: 0)
    /// Number of postings of the current block.
    @exclusivity(unchecked) private(set) var count = 0
    /// Whether the current block is decoded.
    @exclusivity(unchecked) private(set) var isDecoded = false

    /// The documents of the current block, once it is decoded. Has room for a full block.
    let docnos: UnsafeMutablePointer<UInt32>
    let frequencies: UnsafeMutablePointer<UInt32>

    private let index: TextIndex
    private let transaction: Transaction
    private let trees: TextTrees
    /// The list's number, 0 for a list in the dictionary.
    private let list: UInt32
    /// The cursor over the list's runs, nil for a list in the dictionary.
    @exclusivity(unchecked) private var cursor: Cursor?
    @exclusivity(unchecked) private var directory = RunDirectory()
    @exclusivity(unchecked) private var run = Bytes(start: nil, count: 0)
    /// Number of the current block in its run.
    @exclusivity(unchecked) private var block = 0
    @exclusivity(unchecked) private var positions: PositionReader?
    /// The fields of the current run if `fieldsAreRead`. Made when first asked for.
    @exclusivity(unchecked) private var runFields: RunFields?
    @exclusivity(unchecked) private var fieldsAreRead = false
    private let entry: TermEntry
    /// Scratch memory of `appendPositions`. Nil until its first call.
    @exclusivity(unchecked) private var appended: PositionList?
    /// All positions of a list in the dictionary, once they were asked for.
    @exclusivity(unchecked) private var inlinePositions: [UInt32]?

    /// Number of runs read so far.
    @exclusivity(unchecked) private(set) var runCount: UInt64 = 0

    /// Starts at the first block. `entry` must come from the dictionary in the same state of the transaction, or be
    /// `none` for a term that isn't there.
    init(_ entry: TermEntry, index: TextIndex, trees: TextTrees, in transaction: Transaction) throws(StorageError) {
        self.index = index
        self.transaction = transaction
        self.trees = trees
        self.entry = entry
        documentFrequency = entry.documentFrequency
        collectionFrequency = entry.collectionFrequency
        list = entry.listNumber
        docnos = .allocate(capacity: 2 * PostingRun.blockCapacity)
        frequencies = docnos + PostingRun.blockCapacity
        guard documentFrequency > 0 else {
            (bounds, isAtEnd) = ([], true)
            return
        }
        guard list == 0 else {
            bounds = entry.bounds
            cursor = try transaction.cursor(trees.postings)
            let isThere = try PostingKey(list: list, first: 0).withBytes { (key) throws(StorageError) in
                try cursor?.seek(key) ?? false
            }
            guard try load(isThere, behind: nil) else { throw unreadable("posting list \(list) has no runs") }
            return
        }
        let isRead = entry.decodeInline(
            storesPositions: index.storesPositions, docnos: docnos, frequencies: frequencies)
        count = Int(documentFrequency)
        var most: UInt32 = 1
        if isRead {
            for place in 0..<count { most = max(most, frequencies[place]) }
        }
        let bound = Bound(frequency: most, length: entry.shortest)
        bounds = [bound]
        guard isRead else {
            throw index.unreadableEntry()
        }
        (blockFirst, blockLast, isDecoded) = (docnos[0], docnos[count - 1], true)
        (blockBound, secondBlockBound) = (bound, bound)
    }

    deinit { docnos.deallocate() }

    /// Moves forward to the first block whose last document is not below `target`. Doesn't move if the current block is
    /// one. Returns false, and is at the end, if there is no such block.
    @inline(__always)
    func seekBlock(_ target: UInt32) throws(StorageError) -> Bool {
        if isAtEnd { return false }
        if blockLast >= target { return true }
        return try seekBlockSlowly(target)
    }

    @inline(never)
    private func seekBlockSlowly(_ target: UInt32) throws(StorageError) -> Bool {
        guard list != 0 else { return end() }
        if directory.last(directory.count - 1) < target {
            guard try seekRun(target) else { return false }
        }
        var next = block
        while next < directory.count, directory.last(next) < target { next += 1 }
        guard next < directory.count else { throw unreadable("runs of posting list \(list) are out of order") }
        stand(on: next)
        return true
    }

    /// Moves to the next block. Returns false, and is at the end, if there is none.
    func nextBlock() throws(StorageError) -> Bool {
        if isAtEnd { return false }
        if block + 1 < directory.count {
            stand(on: block + 1)
            return true
        }
        guard list != 0 else { return end() }
        return try load(moveOn(), behind: blockLast)
    }

    /// Decodes the current block into `docnos` and `frequencies`, unless it is decoded.
    @inline(__always)
    func decode() throws(StorageError) {
        if !isDecoded { try decodeBlock() }
    }

    @inline(never)
    private func decodeBlock() throws(StorageError) {
        guard !isAtEnd else { return }
        try transaction.checkGoesOn()
        guard directory.decode(block, of: run, docnos: docnos, frequencies: frequencies) else {
            throw unreadableRun()
        }
        blockFirst = docnos[0]
        isDecoded = true
    }

    /// The last document of the blocks whose bounds are known.
    @inline(__always)
    var knownLast: UInt32 { list == 0 ? blockLast : directory.last(directory.count &- 1) }

    /// Calls `body` with the bounds of each known block from the current one through the block that holds `last`.
    @inline(__always)
    func forEachKnownBound(through last: UInt32, _ body: (Bound) -> Void) {
        guard list != 0 else { return body(blockBound) }
        var next = block
        while next < directory.count {
            body(directory.bound(next))
            let second = directory.secondBound(next)
            if second.frequency > 0 { body(second) }
            guard directory.last(next) < last else { return }
            next &+= 1
        }
    }

    /// Decodes only the documents of the current block into `docnos`, which has room for `count`.
    func decodeDocuments(to docnos: UnsafeMutablePointer<UInt32>) throws(StorageError) {
        guard !isAtEnd else { return }
        if isDecoded { return docnos.update(from: self.docnos, count: count) }
        guard directory.decodeDocuments(block, of: run, to: docnos) else {
            throw unreadableRun()
        }
    }

    /// Decodes the current block into the given memory, which has room for `count` postings.
    func decode(
        to docnos: UnsafeMutablePointer<UInt32>, _ frequencies: UnsafeMutablePointer<UInt32>
    ) throws(StorageError) {
        guard !isAtEnd else { return }
        if isDecoded {
            docnos.update(from: self.docnos, count: count)
            frequencies.update(from: self.frequencies, count: count)
            return
        }
        guard directory.decode(block, of: run, docnos: docnos, frequencies: frequencies) else {
            throw unreadableRun()
        }
    }

    /// Appends the positions of posting `place` of the current block, which must be decoded, to `target`: as many as
    /// its frequency, ascending. Throws `.invalid` if the index keeps no positions.
    func appendPositions(of place: Int, to target: inout [UInt32]) throws(StorageError) {
        let list = appended ?? PositionList()
        appended = list
        try readPositions(of: place, into: list)
        target.append(contentsOf: UnsafeBufferPointer(start: list.values, count: list.count))
    }

    /// Replaces the contents of `target` by the positions of posting `place` of the current block, which must be
    /// decoded: as many as its frequency, ascending. Throws `.invalid` if the index keeps no positions.
    func readPositions(of place: Int, into target: PositionList) throws(StorageError) {
        precondition(isDecoded && place >= 0 && place < count)
        guard index.storesPositions else {
            throw .invalid("the text index “\(index.prefix)” keeps no positions: phrases need them")
        }
        guard list != 0 else {
            var start = 0
            for before in 0..<place { start += Int(frequencies[before]) }
            let positions = try allInlinePositions()
            return target.assign(positions[start..<start + Int(frequencies[place])])
        }
        if positions == nil { positions = try PositionReader(list, index, trees, transaction) }
        let key = PostingKey(list: list, first: directory.first)
        try positions?.open(key, block: block, of: directory.count, frequencies, count)
        guard positions?.read(place, into: target) ?? false else {
            throw index.corrupt(index.positionsName, PostingKey.unreadable(key))
        }
    }

    // MARK: Fields

    /// Whether per-field counts are known without reading positions.
    var knowsFields: Bool { list != 0 && index.storesPositions }

    /// Bounds of all postings in each field. Has a meaning only if `knowsFields`.
    var fields: FieldBounds { entry.fields }

    /// Returns the bounds of the current block's postings in each field.
    func blockFields() throws(StorageError) -> FieldBounds {
        guard directory.fieldsStart != nil else {
            let shortest = min(blockBound.length, secondBlockBound.length)
            return FieldBounds(Bound(frequency: blockBound.frequency, length: shortest), in: 0)
        }
        try readRunFields()
        return runFields?.bound(block) ?? FieldBounds()
    }

    private func readRunFields() throws(StorageError) {
        guard !fieldsAreRead, let start = directory.fieldsStart else { return }
        if runFields == nil { runFields = RunFields() }
        guard runFields?.read(Bytes(rebasing: run[start...]), of: directory) ?? false else {
            throw unreadableRun()
        }
        fieldsAreRead = true
    }

    /// Fills the columns of the wanted slots in which any posting of the current block occurs. The block must be
    /// decoded.
    func readFields(_ wanted: FieldPlaces, into columns: FieldColumns) throws(StorageError) {
        precondition(isDecoded)
        columns.reserve(count)
        guard directory.fieldsStart != nil else {
            return columns[0].update(from: frequencies, count: count)
        }
        try readRunFields()
        guard runFields?.decode(block, wanted, frequencies: frequencies, count: count, to: columns) ?? false else {
            throw unreadableRun()
        }
    }

    private func allInlinePositions() throws(StorageError) -> [UInt32] {
        if let inlinePositions { return inlinePositions }
        var postings = PostingsBuffer()
        guard entry.decodeInline(storesPositions: true, to: &postings), postings.count == count else {
            throw index.unreadableEntry()
        }
        let positions = Array(UnsafeBufferPointer(start: postings.positions, count: postings.positionCount))
        inlinePositions = positions
        return positions
    }

    private func end() -> Bool {
        isAtEnd = true
        count = 0
        return false
    }

    @inline(__always)
    private func stand(on next: Int) {
        block = next
        blockFirst = directory.base(next)
        blockLast = directory.last(next)
        blockBound = directory.bound(next)
        let second = directory.secondBound(next)
        secondBlockBound = second.frequency == 0 ? blockBound : second
        count = directory.size(next)
        isDecoded = false
    }

    private func moveOn() throws(StorageError) -> Bool { try cursor?.next() ?? false }

    /// The key under the cursor, or nil if it belongs to another list.
    private var currentKey: PostingKey? { (cursor?.key).flatMap { PostingKey($0, list: list) } }

    /// Moves to the first run whose last document isn't below `target`, which is behind the current run.
    private func seekRun(_ target: UInt32) throws(StorageError) -> Bool {
        var passed = directory.last(directory.count - 1)
        // The next run is usually next in the leaf. It is tried first if the target isn't far behind this run's end.
        if target - passed <= max(passed - directory.first, 128) {
            guard try load(moveOn(), behind: passed) else { return false }
            passed = directory.last(directory.count - 1)
            if passed >= target { return true }
        }
        let isThere = try PostingKey(list: list, first: target).withBytes { (key) throws(StorageError) in
            try cursor?.seekLast(key) ?? false
        }
        if isThere, let key = currentKey, key.first > passed {
            guard try load(true, behind: passed) else { return false }
            if directory.last(directory.count - 1) >= target { return true }
            return try load(moveOn(), behind: directory.last(directory.count - 1))
        }
        // The target lies between the current run and the next.
        let isBehind = try PostingKey(list: list, first: target).withBytes { (key) throws(StorageError) in
            try cursor?.seek(key) ?? false
        }
        return try load(isBehind, behind: passed)
    }

    /// Reads the directory of the run under the cursor. Ends if `isThere` is false or the run belongs to another list.
    private func load(_ isThere: Bool, behind passed: UInt32?) throws(StorageError) -> Bool {
        guard isThere, let key = currentKey else { return end() }
        if let passed, key.first <= passed { throw unreadable("runs of posting list \(list) overlap") }
        run = cursor?.value ?? run
        fieldsAreRead = false
        guard directory.read(run, first: key.first) else { throw unreadable(PostingKey.unreadable(key)) }
        runCount += 1
        stand(on: 0)
        return true
    }

    private func unreadable(_ reason: String) -> StorageError { index.corrupt(index.postingsName, reason) }

    private func unreadableRun() -> StorageError {
        unreadable(PostingKey.unreadable(PostingKey(list: list, first: directory.first)))
    }
}

/// Finds the positions of a list's blocks. Owns its cursor and the memory it decodes into.
private struct PositionReader: ~Copyable {
    private let index: TextIndex
    private let list: UInt32
    private var cursor: Cursor
    private var block = PositionBlock()
    private var run = Bytes(start: nil, count: 0)
    /// The run and block that are open.
    private var first: UInt32?
    private var number = -1

    init(
        _ list: UInt32, _ index: TextIndex, _ trees: TextTrees, _ transaction: Transaction
    ) throws(StorageError) {
        self.index = index
        self.list = list
        cursor = try transaction.cursor(trees.positions)
    }

    mutating func open(
        _ key: PostingKey, block wanted: Int, of blocks: Int, _ frequencies: UnsafePointer<UInt32>, _ count: Int
    ) throws(StorageError) {
        if first == key.first, number == wanted { return }
        if first != key.first {
            (first, number) = (nil, -1)
            let isThere = try key.withBytes { (bytes) throws(StorageError) in
                try cursor.seek(bytes) && cursor.key.order(bytes) == 0
            }
            guard isThere else { throw unreadable(key) }
            run = cursor.value
            first = key.first
        }
        number = -1
        guard let bytes = PositionBlock.find(wanted, of: blocks, in: run),
            block.open(bytes, frequencies: frequencies, count: count)
        else { throw unreadable(key) }
        number = wanted
    }

    @inline(__always)
    mutating func read(_ place: Int, into target: PositionList) -> Bool { block.read(place, into: target) }

    private func unreadable(_ key: PostingKey) -> StorageError {
        index.corrupt(index.positionsName, "the positions of " + PostingKey.unreadable(key))
    }
}
