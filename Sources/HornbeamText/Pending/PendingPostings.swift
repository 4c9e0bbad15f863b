// SPDX-License-Identifier: Apache-2.0
// The changes of one term by pending records, prepared for searches. They are made once for each view and each term
// that is asked for, then shared by any number of searches.

import HornbeamPages
import Synchronization

/// A term's postings from pending records, and the stored postings that they remove. Unchecked: the memory is written
/// before it is shared and never changed afterwards.
final class PendingPostings: @unchecked Sendable {
    let count: Int
    /// Ascending. Followed by `PostingSource.stepSize` values of `.max`.
    let docnos: UnsafePointer<UInt32>
    let frequencies: UnsafePointer<UInt32>
    /// Number of tokens of each posting's document.
    let lengths: UnsafePointer<UInt32>
    /// Bounds of each 128 postings, of each 16, and of all. Pending documents are far apart: 128 of them span many
    /// windows of documents, and each window has only a few of them.
    let blockBounds: [BoundPair]
    let partBounds: [BoundPair]
    let bounds: [Bound]
    /// Number of occurrences in all these documents.
    let occurrences: UInt64
    /// The stored documents that held the term and were changed or removed: their count, numbers, former frequencies
    /// and former lengths.
    let removedCount: Int
    let removedDocnos: UnsafePointer<UInt32>
    let removedFrequencies: UnsafePointer<UInt32>
    let removedLengths: UnsafePointer<UInt32>
    let removedOccurrences: UInt64
    /// The changes of stored documents and frequencies, ascending: a document and its new frequency, 0 if it no longer
    /// holds the term. Documents with the same frequency as before are not included: only their lengths and positions
    /// may differ. Followed by `PostingSource.stepSize` values of `.max`.
    let changeCount: Int
    let changedDocnos: UnsafePointer<UInt32>
    let changedFrequencies: UnsafePointer<UInt32>
    private let memory: UnsafeMutablePointer<UInt32>
    private let sources: [UInt64]
    private let segments: [PendingSegment]
    /// The most recent result of `leaders`, with its argument.
    private let made = Mutex<(stored: Leaders, leaders: Leaders)?>(nil)
    /// Made when first asked for.
    private let madeFields = Mutex<PendingFields?>(nil)

    static let blockSize = 128
    static let partSize = 16
    static let none = PendingPostings(GatheredPostings(), [])

    init(_ gathered: GatheredPostings, _ segments: [PendingSegment]) {
        let parts = [
            gathered.docnos, gathered.frequencies, gathered.lengths, gathered.removedDocnos,
            gathered.removedFrequencies, gathered.removedLengths,
        ]
        let (added, removed) = (gathered.docnos.count, gathered.removedDocnos.count)
        let step = PostingSource.stepSize
        memory = .allocate(capacity: 5 * (added + removed) + 2 * step)
        var place = memory
        for (number, part) in parts.enumerated() {
            place.initialize(from: part, count: part.count)
            place += part.count
            guard number == 0 else { continue }
            place.initialize(repeating: .max, count: step)
            place += step
        }
        let former = memory + 3 * added + step
        (count, removedCount) = (added, removed)
        docnos = UnsafePointer(memory)
        (frequencies, lengths) = (docnos + added + step, docnos + 2 * added + step)
        removedDocnos = UnsafePointer(former)
        (removedFrequencies, removedLengths) = (removedDocnos + removed, removedDocnos + 2 * removed)
        blockBounds = Self.bounds(gathered, ofEach: Self.blockSize)
        partBounds = Self.bounds(gathered, ofEach: Self.partSize)
        bounds = Self.bounds(blockBounds)
        occurrences = Self.sum(gathered.frequencies)
        removedOccurrences = Self.sum(gathered.removedFrequencies)
        let changed = former + 3 * removed
        let changedCounts = changed + added + removed + step
        changeCount = Self.writeChanges(gathered, to: changed, changedCounts)
        (changedDocnos, changedFrequencies) = (UnsafePointer(changed), UnsafePointer(changedCounts))
        sources = gathered.sources
        self.segments = segments
    }

    /// Writes the changes. Returns their number.
    private static func writeChanges(
        _ gathered: GatheredPostings, to docnos: UnsafeMutablePointer<UInt32>,
        _ frequencies: UnsafeMutablePointer<UInt32>
    ) -> Int {
        let (added, removed) = (gathered.docnos, gathered.removedDocnos)
        var (next, left, count) = (0, 0, 0)
        while next < added.count || left < removed.count {
            let docno = min(next < added.count ? added[next] : .max, left < removed.count ? removed[left] : .max)
            var (before, now): (UInt32, UInt32) = (0, 0)
            if next < added.count, added[next] == docno {
                now = gathered.frequencies[next]
                next += 1
            }
            if left < removed.count, removed[left] == docno {
                before = gathered.removedFrequencies[left]
                left += 1
            }
            if before == now { continue }
            (docnos + count).initialize(to: docno)
            (frequencies + count).initialize(to: now)
            count += 1
        }
        (docnos + count).initialize(repeating: .max, count: PostingSource.stepSize)
        return count
    }

    deinit { memory.deallocate() }

    private static func bounds(_ blocks: [BoundPair]) -> [Bound] {
        var frontier = BoundFrontier()
        for pair in blocks {
            frontier.add(pair.first)
            frontier.add(pair.second)
        }
        frontier.reduce(to: TermEntry.boundLimit)
        return frontier.descending
    }

    private static func bounds(_ gathered: GatheredPostings, ofEach size: Int) -> [BoundPair] {
        let count = gathered.docnos.count
        var bounds: [BoundPair] = []
        bounds.reserveCapacity((count + size - 1) / size)
        var frontier = BoundFrontier()
        for start in stride(from: 0, to: count, by: size) {
            frontier.removeAll()
            for place in start..<min(start + size, count) {
                frontier.add(Bound(frequency: gathered.frequencies[place], length: gathered.lengths[place]))
            }
            frontier.reduce(to: 2)
            bounds.append(BoundPair(frontier[frontier.count - 1], frontier[0]))
        }
        return bounds
    }

    private static func sum(_ frequencies: [UInt32]) -> UInt64 {
        var sum: UInt64 = 0
        for frequency in frequencies { sum &+= UInt64(frequency) }
        return sum
    }

    /// Returns leaders of the whole list: the stored leaders that can't belong to removed postings, and the best
    /// pending postings. The last result is cached, since searches ask for the same one.
    func leaders(_ stored: Leaders, averageLength: Double) -> Leaders {
        made.withLock { (made) in
            if let made, made.stored == stored { return made.leaders }
            var left = stored
            for place in 0..<removedCount where !left.pairs.isEmpty {
                left.remove(Bound(frequency: removedFrequencies[place], length: removedLengths[place]))
            }
            var gatherer = LeaderGatherer(averageLength: averageLength)
            gatherer.add(left)
            for place in 0..<count { gatherer.add(Bound(frequency: frequencies[place], length: lengths[place])) }
            made = (stored, gatherer.leaders)
            return gatherer.leaders
        }
    }

    /// The per-field counts of the postings.
    var fields: PendingFields {
        madeFields.withLock { (made) in
            if let made { return made }
            let fields = PendingFields(self, sources, segments)
            made = fields
            return fields
        }
    }

    /// Widens a block's bounds so that they cover these postings, too.
    @inline(__always)
    func addBounds(of postings: Range<Int>, to bound: inout BoundPair) {
        if !isCovered(postings, bound) { addEach(postings, &bound) }
    }

    /// Whether all of the postings are covered for certain. Usually they are, as pending postings are seldom better
    /// than stored ones. Compares up to three more postings, whose memory exists.
    @inline(__always)
    private func isCovered(_ postings: Range<Int>, _ bound: BoundPair) -> Bool {
        let (counts, tokens) = (UnsafeRawPointer(frequencies), UnsafeRawPointer(lengths))
        let (first, second) = (bound.first, bound.second)
        var covered = SIMDMask<SIMD4<Int32>>(repeating: true)
        for posting in stride(from: postings.lowerBound, to: postings.upperBound, by: 4) {
            let frequency = counts.loadUnaligned(fromByteOffset: 4 &* posting, as: SIMD4<UInt32>.self)
            let length = tokens.loadUnaligned(fromByteOffset: 4 &* posting, as: SIMD4<UInt32>.self)
            let byFirst = (frequency .<= first.frequency) .& (length .>= first.length)
            let bySecond = (frequency .<= second.frequency) .& (length .>= second.length)
            covered .&= byFirst .| bySecond
        }
        return all(covered)
    }

    @inline(never)
    private func addEach(_ postings: Range<Int>, _ bound: inout BoundPair) {
        for posting in postings { bound.add(Bound(frequency: frequencies[posting], length: lengths[posting])) }
    }

    /// Appends the positions of the posting at index `place`, ascending.
    func appendPositions(of place: Int, to positions: inout [UInt32]) {
        GatheredPostings.appendPositions(sources[place], segments, to: &positions)
    }
}
