// SPDX-License-Identifier: Apache-2.0
// A term's postings as a snapshot has them: the stored ones, but for those of documents that pending records change,
// and those of the records. Read as `StoredPostings` are, block by block. A stored block that no pending document
// falls into is passed on as it is, undecoded; pending postings between stored blocks are blocks of their own; only
// where both meet they are merged.

import HornbeamPages

/// Walks both; belongs to one search.
final class TermPostings {
    /// Documents that hold the term.
    let documentFrequency: UInt32
    /// Occurrences in all of them.
    let collectionFrequency: UInt64
    /// Of the whole list: one to four pairs, the most frequent first.
    let bounds: [Bound]

    /// Whether it is behind the last block: then nothing below is of meaning.
    @exclusivity(unchecked) private(set) var isAtEnd = false
    /// No document of the current block is less. Exact once it is decoded.
    @exclusivity(unchecked) private(set) var blockFirst: UInt32 = 0
    /// The last document of the current block.
    @exclusivity(unchecked) private(set) var blockLast: UInt32 = 0
    @exclusivity(unchecked) private(set) var blockBound = Bound(frequency: 0, length: 0)
    @exclusivity(unchecked) private(set) var secondBlockBound = Bound(frequency: 0, length: 0)
    /// Postings of the current block, at least one.
    @exclusivity(unchecked) private(set) var count = 0
    /// The postings of the current block, once it is decoded.
    @exclusivity(unchecked) private(set) var docnos: UnsafePointer<UInt32>
    @exclusivity(unchecked) private(set) var frequencies: UnsafePointer<UInt32>

    /// What the current block is.
    private enum Kind {
        case stored
        case pending
        case merged
    }

    private let stored: StoredPostings?
    private let added: PendingPostings
    /// Documents whose stored postings count no more, ascending.
    private let superseded: [UInt32]
    @exclusivity(unchecked) private var kind = Kind.stored
    /// The first pending posting that is not behind, and the first behind the current block.
    @exclusivity(unchecked) private var place = 0
    @exclusivity(unchecked) private var placeEnd = 0
    /// The first superseded document that is not behind.
    @exclusivity(unchecked) private var supersededPlace = 0
    /// The pending postings' documents and frequencies; where they are merged, behind them, those of the block.
    private let addedDocnos: UnsafeMutablePointer<UInt32>
    private let addedFrequencies: UnsafeMutablePointer<UInt32>
    /// A merged block: `capacity` documents, as many frequencies, and as many sources. Of each posting that is its
    /// place · 2 in the stored block, or among the pending ones and 1.
    @exclusivity(unchecked) private var memory: UnsafeMutablePointer<UInt32>
    @exclusivity(unchecked) private var capacity = TermPostings.smallestCapacity
    private static let smallestCapacity = 256

    /// Nil if no document holds the term. (An initializer that throws and does all this makes the optimizer of Swift
    /// 6.3 crash.)
    static func merging(
        _ stored: StoredPostings?, _ added: PendingPostings, superseded: [UInt32], index: TextIndex
    ) throws(StorageError) -> TermPostings? {
        let storedCount = UInt64(stored?.documentFrequency ?? 0)
        let storedOccurrences = stored?.collectionFrequency ?? 0
        guard storedCount >= added.removedDocuments, storedOccurrences >= added.removedOccurrences else {
            throw index.corrupt(index.pendingName, "pending records take more postings away than are stored")
        }
        let documents = storedCount - added.removedDocuments + UInt64(added.docnos.count)
        guard documents > 0 else { return nil }
        let postings = TermPostings(
            stored, added, superseded: stored == nil ? [] : superseded, documents: UInt32(clamping: documents),
            occurrences: storedOccurrences - added.removedOccurrences + added.occurrences,
            bounds: bounds(stored, added))
        try postings.settle()
        return postings
    }

    private init(
        _ stored: StoredPostings?, _ added: PendingPostings, superseded: [UInt32], documents: UInt32,
        occurrences: UInt64, bounds: [Bound]
    ) {
        let size = added.docnos.count
        let pendingDocnos = UnsafeMutablePointer<UInt32>.allocate(capacity: max(size, 1))
        let pendingFrequencies = UnsafeMutablePointer<UInt32>.allocate(capacity: max(size, 1))
        pendingDocnos.initialize(from: added.docnos, count: size)
        pendingFrequencies.initialize(from: added.frequencies, count: size)
        let merged = UnsafeMutablePointer<UInt32>.allocate(capacity: 3 * Self.smallestCapacity)
        documentFrequency = documents
        collectionFrequency = occurrences
        self.bounds = bounds
        self.stored = stored
        self.added = added
        self.superseded = superseded
        addedDocnos = pendingDocnos
        addedFrequencies = pendingFrequencies
        memory = merged
        docnos = UnsafePointer(merged)
        frequencies = UnsafePointer(merged)
    }

    deinit {
        addedDocnos.deallocate()
        addedFrequencies.deallocate()
        memory.deallocate()
    }

    private static func bounds(_ stored: StoredPostings?, _ added: PendingPostings) -> [Bound] {
        guard !added.docnos.isEmpty else { return stored?.bounds ?? [] }
        var frontier = BoundFrontier()
        for bound in stored?.bounds ?? [] { frontier.add(bound) }
        for bound in added.blockBounds { frontier.add(Bound(frequency: bound.frequency, length: bound.length)) }
        frontier.reduce(to: TermEntry.boundLimit)
        return frontier.descending
    }

    /// Forward to the first block whose last document is `target` or behind it; stays if it stands on it or behind it.
    /// False, and at the end, if there is none.
    @inline(__always)
    func seekBlock(_ target: UInt32) throws(StorageError) -> Bool {
        if isAtEnd { return false }
        if blockLast >= target { return true }
        return try seekBlockSlowly(target)
    }

    private func seekBlockSlowly(_ target: UInt32) throws(StorageError) -> Bool {
        if let stored { _ = try stored.seekBlock(target) }
        place = lowerBound(target, from: kind == .stored ? place : placeEnd)
        try settle()
        // Without its superseded documents a block may end before the target.
        while !isAtEnd, blockLast < target { _ = try nextBlock() }
        return !isAtEnd
    }

    /// To the next block. False, and at the end, if there is none.
    func nextBlock() throws(StorageError) -> Bool {
        if isAtEnd { return false }
        if kind != .stored { place = placeEnd }
        if kind != .pending, let stored { _ = try stored.nextBlock() }
        try settle()
        return !isAtEnd
    }

    /// Decodes the current block, if it isn't yet.
    @inline(__always)
    func decode() throws(StorageError) {
        guard kind == .stored, let stored else { return }
        try stored.decode()
        blockFirst = stored.blockFirst
    }

    /// Appends the positions of posting `place` of the current block, which must be decoded, to `target`.
    func appendPositions(of posting: Int, to target: inout [UInt32]) throws(StorageError) {
        switch kind {
        case .stored: try stored?.appendPositions(of: posting, to: &target)
        case .pending: added.appendPositions(of: place + posting, to: &target)
        case .merged:
            let source = memory[2 * capacity + posting]
            let place = Int(source >> 1)
            if source & 1 == 1 {
                added.appendPositions(of: place, to: &target)
            } else {
                try stored?.appendPositions(of: place, to: &target)
            }
        }
    }

    /// The first pending posting from `start` on that is not before `target`.
    private func lowerBound(_ target: UInt32, from start: Int) -> Int {
        var (low, high) = (start, added.docnos.count)
        while low < high {
            let middle = (low + high) / 2
            if addedDocnos[middle] < target { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Makes a block of where the stored and the pending postings stand.
    private func settle() throws(StorageError) {
        while true {
            let hasAdded = place < added.docnos.count
            guard let stored, !stored.isAtEnd else {
                if hasAdded { return standOnPending(before: nil) }
                (isAtEnd, count) = (true, 0)
                return
            }
            if hasAdded, addedDocnos[place] < stored.blockFirst { return standOnPending(before: stored.blockFirst) }
            let last = stored.blockLast
            while supersededPlace < superseded.count, superseded[supersededPlace] < stored.blockFirst {
                supersededPlace += 1
            }
            let loses = supersededPlace < superseded.count && superseded[supersededPlace] <= last
            guard loses || hasAdded && addedDocnos[place] <= last else { return standOnStored(stored) }
            try stored.decode()
            if merge(stored) { return }
            _ = try stored.nextBlock()
        }
    }

    private func standOnStored(_ stored: StoredPostings) {
        kind = .stored
        (blockFirst, blockLast, count) = (stored.blockFirst, stored.blockLast, stored.count)
        (blockBound, secondBlockBound) = (stored.blockBound, stored.secondBlockBound)
        (docnos, frequencies) = (UnsafePointer(stored.docnos), UnsafePointer(stored.frequencies))
    }

    /// The pending postings up to the end of their block of 128, or to where stored ones may come.
    private func standOnPending(before limit: UInt32?) {
        kind = .pending
        let block = place / PendingPostings.blockSize
        placeEnd = min((block + 1) * PendingPostings.blockSize, added.docnos.count)
        if let limit { placeEnd = min(placeEnd, lowerBound(limit, from: place)) }
        count = placeEnd - place
        (blockFirst, blockLast) = (addedDocnos[place], addedDocnos[placeEnd - 1])
        let bound = added.blockBounds[block]
        blockBound = Bound(frequency: bound.frequency, length: bound.length)
        secondBlockBound = blockBound
        (docnos, frequencies) = (UnsafePointer(addedDocnos + place), UnsafePointer(addedFrequencies + place))
    }

    /// The decoded stored block without its superseded documents, and the pending postings up to its end. False if
    /// nothing is left.
    private func merge(_ stored: StoredPostings) -> Bool {
        placeEnd = lowerBound(stored.blockLast == .max ? .max : stored.blockLast + 1, from: place)
        reserve(stored.count + placeEnd - place)
        let most = superseded.withUnsafeBufferPointer { mergeDecoded(stored, without: $0) }
        guard count > 0 else { return false }
        kind = .merged
        var bound = Bound(frequency: most, length: min(stored.blockBound.length, stored.secondBlockBound.length))
        for posting in place..<placeEnd { bound.length = min(bound.length, added.lengths[posting]) }
        (blockFirst, blockLast, blockBound, secondBlockBound) = (memory[0], memory[count - 1], bound, bound)
        (docnos, frequencies) = (UnsafePointer(memory), UnsafePointer(memory + capacity))
        return true
    }

    private func reserve(_ size: Int) {
        guard size > capacity else { return }
        memory.deallocate()
        capacity = 2 * size
        memory = .allocate(capacity: 3 * capacity)
    }

    /// Sets `count` and fills `memory`; the largest frequency. Right after many changes this is most of what a search
    /// does, and of a block's postings nearly all are stored ones that stay.
    private func mergeDecoded(_ stored: StoredPostings, without superseded: UnsafeBufferPointer<UInt32>) -> UInt32 {
        let (docnos, frequencies, sources) = (memory, memory + capacity, memory + 2 * capacity)
        let (storedDocnos, storedFrequencies, size) = (stored.docnos, stored.frequencies, stored.count)
        let (addedDocnos, addedFrequencies, end) = (self.addedDocnos, self.addedFrequencies, placeEnd)
        var (next, gone, count) = (place, supersededPlace, 0)
        var most: UInt32 = 0
        func add(_ docno: UInt32, _ frequency: UInt32, _ source: Int) {
            docnos[count] = docno
            frequencies[count] = frequency
            sources[count] = UInt32(truncatingIfNeeded: source)
            most = max(most, frequency)
            count &+= 1
        }
        // No stored document that is less is superseded, or has a pending one before it.
        var limit: UInt32 = 0
        for posting in 0..<size {
            let docno = storedDocnos[posting]
            if docno >= limit {
                while next < end, addedDocnos[next] < docno {
                    add(addedDocnos[next], addedFrequencies[next], next &<< 1 | 1)
                    next &+= 1
                }
                while gone < superseded.count, superseded[gone] < docno { gone &+= 1 }
                let isGone = gone < superseded.count && superseded[gone] == docno
                limit = min(
                    gone < superseded.count ? superseded[gone] : .max, next < end ? addedDocnos[next] : .max)
                if isGone { continue }
            }
            add(docno, storedFrequencies[posting], posting &<< 1)
        }
        while next < end {
            add(addedDocnos[next], addedFrequencies[next], next &<< 1 | 1)
            next &+= 1
        }
        self.count = count
        return most
    }
}
