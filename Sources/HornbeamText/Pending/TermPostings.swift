// SPDX-License-Identifier: Apache-2.0
// A term's postings in a snapshot: the stored postings, without those of documents that pending records change, and the
// postings of the records. Read block by block like `StoredPostings`, and as lazily:
//
// - A stored block without pending changes is used as it is.
// - Pending postings between stored blocks are blocks of their own.
// - Otherwise the block ends at the end of the stored one, and its bounds are known from both. They are merged only
//   when postings are asked for.
//
// The bounds of stored postings also hold for a part of them. Most changed documents hold a word as often as before. If
// there are no other changes, the stored block is used with wider bounds.

import HornbeamPages

/// Reads a term's stored and pending postings. Belongs to one search.
final class TermPostings {
    /// Number of documents that hold the term.
    let documentFrequency: UInt32
    /// Number of occurrences in all documents.
    let collectionFrequency: UInt64
    /// Bounds of the whole list: one to four pairs, the most frequent first.
    let bounds: [Bound]

    /// Whether the last block was passed. Then the properties below have no meaning.
    @exclusivity(unchecked) private(set) var isAtEnd = false
    /// A lower bound of the current block's documents. Exact once the block is decoded.
    @exclusivity(unchecked) private(set) var blockFirst: UInt32 = 0
    /// The last document of the current block.
    @exclusivity(unchecked) private(set) var blockLast: UInt32 = 0
    @exclusivity(unchecked) private(set) var blockBound = Bound(frequency: 0, length: 0)
    @exclusivity(unchecked) private(set) var secondBlockBound = Bound(frequency: 0, length: 0)
    /// Number of postings of the current block, at least one. Until the block is decoded, an upper bound.
    @exclusivity(unchecked) private(set) var count = 0
    /// The postings of the current block, once it is decoded.
    @exclusivity(unchecked) private(set) var docnos: UnsafePointer<UInt32>
    @exclusivity(unchecked) private(set) var frequencies: UnsafePointer<UInt32>

    /// The kind of the current block.
    private enum Kind {
        case stored
        /// Stored postings. Some documents have changed but hold the term as often as before.
        case same
        case pending
        /// Stored and pending postings, not merged yet.
        case both
        /// Stored and pending postings, merged in `memory`.
        case merged
    }

    private let stored: StoredPostings
    private let added: PendingPostings
    /// Average number of tokens of a document.
    private let averageLength: Double
    private let storesPositions: Bool
    @exclusivity(unchecked) private var kind = Kind.stored
    /// Index of the first pending posting that isn't before the current block, and of the first one behind the block.
    @exclusivity(unchecked) private var place = 0
    @exclusivity(unchecked) private var placeEnd = 0
    /// Index of the first change that isn't before the current block, and of the first one behind the block.
    @exclusivity(unchecked) private var change = 0
    @exclusivity(unchecked) private var changeEnd = 0
    /// Memory for merged blocks: `capacity` documents and as many frequencies.
    @exclusivity(unchecked) private var memory: UnsafeMutablePointer<UInt32>?
    @exclusivity(unchecked) private var capacity = 0
    /// Scratch memory for the fields of stored postings in merged blocks.
    @exclusivity(unchecked) private var storedColumns: FieldColumns?
    private static let smallestCapacity = 256

    /// Merges a term's stored and pending postings. Returns nil if no document holds the term. Throws `.corrupt` if the
    /// records remove more than is stored. (An initializer that throws and does all this makes the optimizer of Swift
    /// 6.3 crash.)
    static func merging(
        _ stored: StoredPostings, _ added: PendingPostings, _ averageLength: Double, _ index: TextIndex
    ) throws(StorageError) -> TermPostings? {
        let storedCount = Int(stored.documentFrequency)
        let storedOccurrences = stored.collectionFrequency
        guard storedCount >= added.removedCount, storedOccurrences >= added.removedOccurrences else {
            throw index.corrupt(index.pendingName, "pending records remove more postings than are stored")
        }
        let documents = storedCount - added.removedCount + added.count
        guard documents > 0 else { return nil }
        let postings = TermPostings(
            stored, added, averageLength, documents: UInt32(clamping: documents),
            occurrences: storedOccurrences - added.removedOccurrences + added.occurrences,
            storesPositions: index.storesPositions)
        try postings.settle()
        return postings
    }

    private init(
        _ stored: StoredPostings, _ added: PendingPostings, _ averageLength: Double, documents: UInt32,
        occurrences: UInt64, storesPositions: Bool
    ) {
        documentFrequency = documents
        collectionFrequency = occurrences
        bounds = Self.bounds(stored, added)
        self.stored = stored
        self.added = added
        (self.averageLength, self.storesPositions) = (averageLength, storesPositions)
        (docnos, frequencies) = (added.docnos, added.frequencies)
    }

    deinit { memory?.deallocate() }

    private static func bounds(_ stored: StoredPostings, _ added: PendingPostings) -> [Bound] {
        guard added.count > 0 else { return stored.bounds }
        if stored.bounds.isEmpty { return added.bounds }
        // Usually the bounds of stored postings also cover the pending ones.
        if added.bounds.allSatisfy({ bound in stored.bounds.contains { $0.covers(bound) } }) { return stored.bounds }
        var frontier = BoundFrontier()
        for bound in stored.bounds { frontier.add(bound) }
        for bound in added.bounds { frontier.add(bound) }
        frontier.reduce(to: TermEntry.boundLimit)
        return frontier.descending
    }

    /// Some of the best of all postings, if they are known.
    var leaders: Leaders { added.leaders(stored.leaders, averageLength: averageLength) }

    // MARK: Blocks

    /// Moves forward to the first block whose last document is not below `target`. Doesn't move if the current block is
    /// one. Returns false, and is at the end, if there is no such block.
    @inline(__always)
    func seekBlock(_ target: UInt32) throws(StorageError) -> Bool {
        if isAtEnd { return false }
        if blockLast >= target { return true }
        return try seekBlockSlowly(target)
    }

    private func seekBlockSlowly(_ target: UInt32) throws(StorageError) -> Bool {
        _ = try stored.seekBlock(target)
        place = PostingSource.gallop(
            added.docnos, from: kind == .stored ? place : placeEnd, count: added.count, to: target)
        try settle()
        // Without its removed postings a block may end before the target.
        while !isAtEnd, blockLast < target { _ = try nextBlock() }
        return !isAtEnd
    }

    /// Moves to the next block. Returns false, and is at the end, if there is none.
    func nextBlock() throws(StorageError) -> Bool {
        if isAtEnd { return false }
        if kind != .stored { place = placeEnd }
        if kind != .pending { _ = try stored.nextBlock() }
        try settle()
        return !isAtEnd
    }

    /// Makes the current block from the next stored block and the next pending postings.
    private func settle() throws(StorageError) {
        while true {
            let hasAdded = place < added.count
            if stored.isAtEnd {
                if hasAdded { return standOnPending(before: nil) }
                (isAtEnd, count) = (true, 0)
                return
            }
            if hasAdded, added.docnos[place] < stored.blockFirst { return standOnPending(before: stored.blockFirst) }
            change = PostingSource.step(
                added.changedDocnos, from: change, count: added.changeCount, to: stored.blockFirst)
            // The last change is followed by `.max`.
            let changes = added.changedDocnos[change] <= stored.blockLast && change < added.changeCount
            guard changes || hasAdded && added.docnos[place] <= stored.blockLast else { return standOnStored() }
            if try standOnBoth() { return }
            place = placeEnd
            _ = try stored.nextBlock()
        }
    }

    private func standOnStored() {
        kind = .stored
        (blockFirst, blockLast, count) = (stored.blockFirst, stored.blockLast, stored.count)
        (blockBound, secondBlockBound) = (stored.blockBound, stored.secondBlockBound)
        (docnos, frequencies) = (UnsafePointer(stored.docnos), UnsafePointer(stored.frequencies))
    }

    /// Makes the current block from the pending postings up to the end of their block of 128, or up to `limit`.
    private func standOnPending(before limit: UInt32?) {
        kind = .pending
        let block = place / PendingPostings.blockSize
        placeEnd = min((block + 1) * PendingPostings.blockSize, added.count)
        if let limit {
            placeEnd = min(placeEnd, PostingSource.step(added.docnos, from: place, count: added.count, to: limit))
        }
        count = placeEnd - place
        (blockFirst, blockLast) = (added.docnos[place], added.docnos[placeEnd - 1])
        (blockBound, secondBlockBound) = (added.blockBounds[block].first, added.blockBounds[block].second)
        (docnos, frequencies) = (added.docnos + place, added.frequencies + place)
    }

    /// Makes the current block from the stored block, without removed postings, and the pending postings up to its end.
    /// Returns false if it is empty.
    private func standOnBoth() throws(StorageError) -> Bool {
        let last = stored.blockLast
        placeEnd = Self.behind(last, added.docnos, from: place, added.count)
        changeEnd = Self.behind(last, added.changedDocnos, from: change, added.changeCount)
        var bound = BoundPair(stored.blockBound, stored.secondBlockBound)
        added.addBounds(of: place..<placeEnd, to: &bound)
        standOnStored()
        (blockBound, secondBlockBound) = (bound.first, bound.second)
        guard changeEnd > change else {
            kind = .same
            return true
        }
        kind = .both
        count = stored.count + changeEnd - change
        // If the last document was removed, the end of the block is known only after merging.
        guard added.changedDocnos[changeEnd - 1] == last, added.changedFrequencies[changeEnd - 1] == 0 else {
            return true
        }
        try merge()
        guard count > 0 else { return false }
        blockLast = docnos[count - 1]
        return true
    }

    /// Returns the first index from `start` on whose document is above `last`.
    @inline(__always)
    private static func behind(
        _ last: UInt32, _ documents: UnsafePointer<UInt32>, from start: Int, _ count: Int
    ) -> Int {
        last < .max ? PostingSource.step(documents, from: start, count: count, to: last + 1) : count
    }

    // MARK: Fields

    /// Whether the per-field counts of all postings are known.
    var knowsFields: Bool { storesPositions && (stored.documentFrequency == 0 || stored.knowsFields) }

    /// Bounds of all postings in each field.
    var fields: FieldBounds {
        var fields = stored.fields
        if added.count > 0 { fields.formUnion(added.fields.bounds) }
        return fields
    }

    /// Returns bounds of the current block's postings in each field.
    func blockFields() throws(StorageError) -> FieldBounds {
        var bounds = FieldBounds()
        if kind != .pending { bounds = try stored.blockFields() }
        guard kind != .stored, place < placeEnd else { return bounds }
        let blocks = added.fields.blockBounds
        for block in place / PendingPostings.blockSize...(placeEnd - 1) / PendingPostings.blockSize {
            bounds.formUnion(blocks[block])
        }
        return bounds
    }

    /// Fills the columns of the wanted slots for the current block's postings, which must be decoded by `decode()`.
    /// Columns without occurrences may be left unchanged.
    func readFields(_ wanted: FieldPlaces, into columns: FieldColumns) throws(StorageError) {
        precondition(kind != .both)
        if kind == .stored { return try stored.readFields(wanted, into: columns) }
        columns.reserve(count)
        let pending = added.fields
        if kind == .pending {
            for posting in 0..<count { columns.set(posting, pending[place + posting], wanted) }
            return
        }
        guard count > 0 else { return }
        let storedPlaces = try stored.blockFields().places
        let storedColumns = storedColumns ?? FieldColumns()
        self.storedColumns = storedColumns
        try stored.readFields(wanted, into: storedColumns)
        // From the beginning of the block: a search that started in its middle has passed some of the pending postings.
        var next = PostingSource.gallop(added.docnos, from: 0, count: placeEnd, to: docnos[0])
        var read = 0
        for posting in 0..<count {
            let docno = docnos[posting]
            while next < placeEnd, added.docnos[next] < docno { next &+= 1 }
            if next < placeEnd, added.docnos[next] == docno {
                columns.set(posting, pending[next], wanted)
                continue
            }
            while read < stored.count, stored.docnos[read] < docno { read &+= 1 }
            columns.set(posting, storedColumns.counts(read, storedPlaces, wanted), wanted)
        }
    }

    // MARK: Bounds beyond the current block

    /// The last document of the blocks whose bounds are known.
    @inline(__always)
    var knownLast: UInt32 {
        if !stored.isAtEnd { return max(stored.knownLast, blockLast) }
        return added.count > 0 ? max(added.docnos[added.count - 1], blockLast) : blockLast
    }

    /// Calls `body` with the bounds of each known block from the current one through the block that holds `last`.
    @inline(__always)
    func forEachKnownBound(through last: UInt32, _ body: (Bound) -> Void) {
        if !stored.isAtEnd, stored.blockFirst <= last { stored.forEachKnownBound(through: last, body) }
        let end = Self.behind(last, added.docnos, from: place, added.count)
        guard place < end else { return }
        let isLong = end - place > 4 * PendingPostings.blockSize
        let size = isLong ? PendingPostings.blockSize : PendingPostings.partSize
        for part in place / size...(end - 1) / size {
            let pair = isLong ? added.blockBounds[part] : added.partBounds[part]
            body(pair.first)
            if pair.second != pair.first { body(pair.second) }
        }
    }

    // MARK: Postings

    /// Decodes the current block, unless it is decoded.
    @inline(__always)
    func decode() throws(StorageError) {
        guard kind != .pending, kind != .merged else { return }
        if kind == .both { return try merge() }
        try stored.decode()
        blockFirst = stored.blockFirst
    }

    /// Decodes the current block into the given memory, which has room for `count` postings. Sets `count` to the actual
    /// number.
    func decode(
        to docnos: UnsafeMutablePointer<UInt32>, _ frequencies: UnsafeMutablePointer<UInt32>
    ) throws(StorageError) {
        switch kind {
        case .stored, .same: try stored.decode(to: docnos, frequencies)
        case .both:
            try stored.decode()
            count = merge(to: docnos, frequencies)
        case .pending, .merged:
            docnos.update(from: self.docnos, count: count)
            frequencies.update(from: self.frequencies, count: count)
        }
    }

    /// Appends the positions of posting `posting` of the current block to `target`. The block must be decoded by
    /// `decode()`.
    func appendPositions(of posting: Int, to target: inout [UInt32]) throws(StorageError) {
        precondition(kind != .both && posting >= 0 && posting < count)
        switch kind {
        case .stored: try stored.appendPositions(of: posting, to: &target)
        case .pending: added.appendPositions(of: place + posting, to: &target)
        case .same, .both, .merged:
            let docno = docnos[posting]
            // A search that started in the middle of the block has passed some of its pending postings.
            let pending = PostingSource.gallop(added.docnos, from: 0, count: placeEnd, to: docno)
            if pending < placeEnd, added.docnos[pending] == docno {
                return added.appendPositions(of: pending, to: &target)
            }
            if kind == .same { return try stored.appendPositions(of: posting, to: &target) }
            let place = PostingSource.gallop(UnsafePointer(stored.docnos), from: 0, count: stored.count, to: docno)
            try stored.appendPositions(of: place, to: &target)
        }
    }

    /// Merges the current block into `memory`.
    private func merge() throws(StorageError) {
        try stored.decode()
        let most = stored.count + changeEnd - change
        if most > capacity {
            memory?.deallocate()
            capacity = max(2 * most, Self.smallestCapacity)
            memory = nil
        }
        let memory = self.memory ?? .allocate(capacity: 2 * capacity)
        self.memory = memory
        count = merge(to: memory, memory + capacity)
        (docnos, frequencies) = (UnsafePointer(memory), UnsafePointer(memory + capacity))
        if count > 0 { blockFirst = memory[0] }
        kind = .merged
    }

    /// Merges the current block, whose stored postings are decoded, into the given memory. Returns the number of
    /// postings. Whatever the file holds, documents ascend and their number is at most `count`.
    private func merge(
        to docnos: UnsafeMutablePointer<UInt32>, _ frequencies: UnsafeMutablePointer<UInt32>
    ) -> Int {
        let (from, counts, size) = (UnsafePointer(stored.docnos), UnsafePointer(stored.frequencies), stored.count)
        let (changed, changedCounts) = (added.changedDocnos, added.changedFrequencies)
        var (read, count) = (0, 0)
        for place in change..<changeEnd {
            let docno = changed[place]
            // Nearly all postings are stored ones that stay. Some of them precede each change; their number can't be
            // predicted. So a whole step is copied, and the smaller documents among it are counted. (Writing stays
            // within the announced room: the write position is never ahead of the read position by more than the
            // changes so far.)
            var passed = PostingSource.stepSize
            while passed == PostingSource.stepSize, read &+ PostingSource.stepSize <= size {
                Self.copyStep(from + read, to: docnos + count)
                Self.copyStep(counts + read, to: frequencies + count)
                passed = PostingSource.countBelow(docno, from + read)
                read &+= passed
                count &+= passed
            }
            while read < size, from[read] < docno {
                docnos[count] = from[read]
                frequencies[count] = counts[read]
                read &+= 1
                count &+= 1
            }
            let isStored = read < size && from[read] == docno
            read &+= isStored ? 1 : 0
            // A removed posting is overwritten by the next one.
            docnos[count] = docno
            frequencies[count] = changedCounts[place]
            count &+= Int(min(changedCounts[place], 1))
        }
        (docnos + count).update(from: from + read, count: size &- read)
        (frequencies + count).update(from: counts + read, count: size &- read)
        return count &+ size &- read
    }

    @inline(__always)
    private static func copyStep(_ source: UnsafePointer<UInt32>, to target: UnsafeMutablePointer<UInt32>) {
        let (source, target) = (UnsafeRawPointer(source), UnsafeMutableRawPointer(target))
        for row in 0..<PostingSource.stepSize / 4 {
            let four = source.loadUnaligned(fromByteOffset: 16 &* row, as: SIMD4<UInt32>.self)
            target.storeBytes(of: four, toByteOffset: 16 &* row, as: SIMD4<UInt32>.self)
        }
    }
}
