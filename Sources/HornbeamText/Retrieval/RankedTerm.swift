// SPDX-License-Identifier: Apache-2.0
// One term of a ranking: its current position in its postings, and the decoded postings that are still needed.
//
// The queue holds the decoded postings; `head` is the first one that no search has passed. The source is at the block
// behind the queue, or, if `isTaken`, at the queue's last block.

import HornbeamPages

/// A term, with the position of a ranking in its postings. Lies in memory of the ranking; owns its queue.
struct RankedTerm {
    /// Kept alive by the ranking.
    private let source: UnownedPostings
    /// The inverse document frequency, times the boost.
    let weight: Double
    /// Number of times that it occurs in the query.
    let multiplicity: Double
    let documentFrequency: Int
    /// Upper bound of its contribution to any document's score.
    let bound: Double
    /// Upper bound of its contribution in the window of the last `boundWindow`.
    var windowBound = 0.0
    /// The frequency in the document that is being scored.
    var frequency: UInt32 = 0

    /// Postings are read four at a time, so there is room behind the last one.
    private(set) var docnos: UnsafeMutablePointer<UInt32>
    private(set) var frequencies: UnsafeMutablePointer<UInt32>
    private var capacity: Int
    private(set) var head = 0
    private(set) var tail = 0
    /// Upper bounds of the contributions of the queue's postings, and of those of its last block.
    private var queueBound = 0.0
    private var lastBound = 0.0
    /// Upper bound of the contributions of the source's block, if that block ends with `knownLast`.
    private var knownBound = 0.0
    private var knownLast: UInt32?
    private var isTaken = false
    /// The window's postings: the index of the first in the queue, and of the first that `frequencyInWindow` hasn't
    /// passed.
    private(set) var start = 0
    private var found = 0

    private let averageLength: Double

    private static let firstCapacity = 128

    init(_ source: PostingSource, weight: Double, multiplicity: Int, averageLength: Double) {
        self.source = UnownedPostings(source)
        self.weight = weight
        self.multiplicity = Double(multiplicity)
        self.averageLength = averageLength
        documentFrequency = Int(source.documentFrequency)
        var best = 0.0
        for bound in source.bounds { best = max(best, Self.score(bound, weight, averageLength)) }
        bound = best * Double(multiplicity)
        capacity = Self.firstCapacity
        docnos = .allocate(capacity: 2 * capacity + 4)
        frequencies = docnos + capacity
    }

    /// Frees its memory.
    mutating func end() { docnos.deallocate() }

    @inline(__always)
    private static func score(_ bound: Bound, _ weight: Double, _ averageLength: Double) -> Double {
        BM25.score(
            weight: weight, frequency: Double(bound.frequency), length: Double(bound.length),
            averageLength: averageLength)
    }

    // MARK: Blocks

    /// Moves the source behind the block that is in the queue.
    @inline(__always)
    private mutating func leaveTaken() throws(StorageError) {
        guard isTaken else { return }
        isTaken = false
        try source.nextBlock()
    }

    /// Returns an upper bound of the contributions in the source's block.
    @inline(__always)
    private mutating func blockBound() -> Double {
        if knownLast == source.blockLast { return knownBound }
        var best = Self.score(source.blockBound, weight, averageLength)
        if source.secondBlockBound != source.blockBound {
            best = max(best, Self.score(source.secondBlockBound, weight, averageLength))
        }
        (knownBound, knownLast) = (best * multiplicity, source.blockLast)
        return knownBound
    }

    /// Appends the source's block to the queue.
    private mutating func take() throws(StorageError) {
        if tail + source.count > capacity { grow(source.count) }
        try source.decodeBlock(to: docnos + tail, frequencies + tail)
        lastBound = blockBound()
        queueBound = head == tail ? lastBound : max(queueBound, lastBound)
        tail += source.count
        isTaken = true
    }

    /// Makes room for `count` more postings.
    @inline(never)
    private mutating func grow(_ count: Int) {
        let larger = max(2 * capacity, tail + count)
        let memory = UnsafeMutablePointer<UInt32>.allocate(capacity: 2 * larger + 4)
        memory.update(from: docnos, count: tail)
        (memory + larger).update(from: frequencies, count: tail)
        docnos.deallocate()
        (docnos, frequencies, capacity) = (memory, memory + larger, larger)
    }

    // MARK: Single documents

    /// Whether the queue reaches a document that isn't below `target`. If so, moves `head` to it.
    @inline(__always)
    private mutating func isInQueue(_ target: UInt32) -> Bool {
        guard head < tail, docnos[tail &- 1] >= target else { return false }
        head = PostingSource.gallop(docnos, from: head, count: tail, to: target)
        return true
    }

    /// Returns a lower bound of the first document from `target` on; `.max` at the end.
    mutating func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        if isInQueue(target) { return docnos[head] }
        (head, tail) = (0, 0)
        try leaveTaken()
        try source.seekBlock(target)
        return source.isAtEnd ? .max : max(source.blockFirst, target)
    }

    /// Returns the first document from `target` on; `.max` at the end.
    mutating func next(from target: UInt32) throws(StorageError) -> UInt32 {
        if isInQueue(target) { return docnos[head] }
        guard try lowerBound(from: target) < .max else { return .max }
        try take()
        return isInQueue(target) ? docnos[head] : .max
    }

    /// Returns an upper bound of its contribution to a document's score; 0 if the document is known not to hold it.
    /// Documents ascend.
    @inline(__always)
    mutating func bound(at docno: UInt32) throws(StorageError) -> Double {
        if head < tail, docnos[tail &- 1] >= docno { return queueBound }
        return try boundSlowly(docno)
    }

    @inline(never)
    private mutating func boundSlowly(_ docno: UInt32) throws(StorageError) -> Double {
        try lowerBound(from: docno) == docno ? blockBound() : 0
    }

    /// Returns the term's frequency in a document. Documents ascend.
    @inline(__always)
    mutating func frequency(in docno: UInt32) throws(StorageError) -> UInt32 {
        if head < tail, docnos[tail &- 1] >= docno {
            head = PostingSource.gallop(docnos, from: head, count: tail, to: docno)
            return docnos[head] == docno ? frequencies[head] : 0
        }
        return try frequencySlowly(docno)
    }

    @inline(never)
    private mutating func frequencySlowly(_ docno: UInt32) throws(StorageError) -> UInt32 {
        guard try lowerBound(from: docno) == docno else { return 0 }
        try take()
        return isInQueue(docno) && docnos[head] == docno ? frequencies[head] : 0
    }

    // MARK: Windows

    /// Moves to the window that begins at `base`, and reduces its end `last` to the last document whose bounds are
    /// known.
    mutating func enter(_ base: UInt32, _ last: inout UInt32) throws(StorageError) {
        if isInQueue(base) {
            if docnos[tail &- 1] >= last { return }
        } else {
            (head, tail) = (0, 0)
        }
        try leaveTaken()
        try source.seekBlock(base)
        guard !source.isAtEnd, source.blockFirst <= last, source.blockLast < last else { return }
        last = min(last, source.knownLast)
    }

    /// Sets `windowBound` to an upper bound of the contributions to the documents of the window that was entered.
    mutating func boundWindow(_ last: UInt32) {
        var best = 0.0
        if head < tail {
            if docnos[head] <= last { best = queueBound }
            if docnos[tail &- 1] >= last {
                windowBound = best
                return
            }
        }
        if !source.isAtEnd, source.blockFirst <= last {
            if source.blockLast >= last {
                best = max(best, blockBound())
            } else {
                let (weight, averageLength) = (self.weight * multiplicity, self.averageLength)
                source.forEachKnownBound(through: last) { best = max(best, Self.score($0, weight, averageLength)) }
                // The product was rounded in a different order.
                best *= 1 + 1e-12
            }
        }
        windowBound = best
    }

    /// Puts the postings up to `last` into the queue, except for blocks that contribute less than `minimum`. Sets
    /// `head` to the first posting from `base` on.
    mutating func fill(_ base: UInt32, _ last: UInt32, minimum: Double) throws(StorageError) {
        if isInQueue(base) {
            // Moves the rest of the last window to the front.
            if head > 0 {
                docnos.update(from: docnos + head, count: tail - head)
                frequencies.update(from: frequencies + head, count: tail - head)
                (head, tail) = (0, tail - head)
            }
            queueBound = lastBound
            (start, found) = (0, 0)
            if docnos[tail &- 1] >= last { return }
        } else {
            (head, tail, start, found) = (0, 0, 0, 0)
        }
        try leaveTaken()
        try source.seekBlock(base)
        while !source.isAtEnd, source.blockFirst <= last {
            if blockBound() >= minimum {
                try take()
                if docnos[tail &- 1] >= last { break }
                try leaveTaken()
            } else {
                if source.blockLast >= last { break }
                try source.nextBlock()
            }
        }
        if head < tail { head = PostingSource.gallop(docnos, from: head, count: tail, to: base) }
        (start, found) = (head, head)
    }

    /// Returns the index in the queue behind the last document that is not above `last`.
    @inline(__always)
    func end(of last: UInt32) -> Int {
        guard head < tail, docnos[tail &- 1] > last else { return tail }
        return PostingSource.gallop(docnos, from: head, count: tail, to: last &+ 1)
    }

    /// Passes the queue's postings below index `place`.
    @inline(__always)
    mutating func pass(to place: Int) { head = place }

    /// Returns the term's frequency, according to the queue, in a document of the window that was filled. Documents
    /// ascend.
    @inline(__always)
    mutating func frequencyInWindow(_ docno: UInt32) -> UInt32 {
        guard found < tail else { return 0 }
        found = PostingSource.gallop(docnos, from: found, count: tail, to: docno)
        return found < tail && docnos[found] == docno ? frequencies[found] : 0
    }

    // MARK: All postings

    /// Replaces the queue by the next block that may contribute enough, unless the queue still has postings from
    /// `target` on. Sets `head` to the first posting from `target` on. Returns false at the end.
    mutating func takeNext(
        from target: UInt32, _ isEnough: (_ bound: Double) -> Bool
    ) throws(StorageError) -> Bool {
        if isInQueue(target) { return true }
        (head, tail) = (0, 0)
        try leaveTaken()
        try source.seekBlock(target)
        while !source.isAtEnd {
            if isEnough(blockBound()) {
                try take()
                // The block's last document is not below the target.
                return isInQueue(target)
            }
            try source.nextBlock()
        }
        return false
    }
}
