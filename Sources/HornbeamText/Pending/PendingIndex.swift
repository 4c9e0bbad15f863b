// SPDX-License-Identifier: Apache-2.0
// The pending records of one index in memory, shared by all transactions of an opened store. Nothing in it is needed:
// what is missing is read from the records again. A view is found by its bounds, and bounds hold the identity of the
// last record, which stands for all records before it; so a view made from records that were then given up (their
// transaction aborted, their commit lost) is never taken for another history's. A view of more records is made of one
// of fewer and the segment of the rest; segments are merged while the one before is at most twice as large as those
// behind it, so that there are few, and a record is copied a few times at most.

import HornbeamPages
import HornbeamTree
import Synchronization

/// Views of one index's pending records, the ones used last.
final class PendingIndex: Sendable {
    private struct Recent {
        var views: [PendingView] = []
        let limit: Int

        mutating func note(_ view: PendingView) {
            views.removeAll { $0.bounds == view.bounds }
            if views.count == limit { views.removeFirst() }
            views.append(view)
        }
    }

    private struct State {
        /// Of committed states.
        var shared = Recent(limit: 4)
        /// Of a write transaction, which may be given up.
        var written = Recent(limit: 2)
    }

    private let state = Mutex(State())

    /// The one of an index with this tree of pending records.
    static func of(_ tree: TreeID, in transaction: Transaction) -> PendingIndex {
        transaction.derived(of: tree) { PendingIndex() }
    }

    /// The view of these bounds, which are those of `tree` in the transaction.
    func view(
        _ bounds: PendingBounds, _ tree: TreeID, _ index: TextIndex, in transaction: Transaction
    ) throws(StorageError) -> PendingView {
        if bounds.isEmpty { return .empty }
        let (found, candidates) = state.withLock { (state) in find(bounds, &state) }
        if let found { return found }
        let reader = PendingTreeReader(tree: tree, index: index, transaction: transaction)
        var segments: [PendingSegment] = []
        var (next, identity) = (bounds.start, bounds.startIdentity)
        for candidate in candidates {
            // The same history up to its end?
            let end = candidate.bounds.end
            let last = end == bounds.end ? bounds.identity : try reader.identity(of: end - 1)
            guard last == candidate.bounds.identity else { continue }
            segments = candidate.whole.segments.filter { $0.start >= bounds.start }
            (next, identity) = (end, candidate.bounds.identity)
            break
        }
        if let foldEnd = bounds.foldEnd, next < foldEnd {
            segments.append(try reader.segment(from: next, to: foldEnd, after: &identity))
            segments = compacted(segments, from: bounds.start)
            next = foldEnd
        }
        if next < bounds.end { segments.append(try reader.segment(from: next, to: bounds.end, after: &identity)) }
        guard identity == bounds.identity else { throw reader.damaged(bounds.end - 1) }
        segments = compacted(segments, from: bounds.foldEnd ?? bounds.start)
        let view = PendingView(bounds, segments)
        state.withLock { (state) in
            if transaction.isWritable { state.written.note(view) } else { state.shared.note(view) }
        }
        return view
    }

    /// The view of exactly these bounds, else those that one of them can be made of, the longest first.
    private func find(_ bounds: PendingBounds, _ state: inout State) -> (PendingView?, [PendingView]) {
        var candidates: [PendingView] = []
        for view in state.shared.views + state.written.views {
            if view.bounds == bounds {
                // It stays when others go.
                if state.shared.views.contains(where: { $0 === view }) { state.shared.note(view) }
                return (view, [])
            }
            guard view.bounds.start <= bounds.start, view.bounds.end > bounds.start, view.bounds.end <= bounds.end
            else { continue }
            guard view.whole.hasEdge(at: bounds.start) else { continue }
            if let end = bounds.foldEnd, view.bounds.end > end, !view.whole.hasEdge(at: end) { continue }
            candidates.append(view)
        }
        candidates.sort { $0.bounds.end > $1.bounds.end }
        return (nil, candidates)
    }

    /// Merges the last segments, as far as they begin at `start` or behind it.
    private func compacted(_ segments: [PendingSegment], from start: UInt64) -> [PendingSegment] {
        guard let last = segments.last, last.start >= start else { return segments }
        var first = segments.count - 1
        var weight = last.weight
        while first > 0, segments[first - 1].start >= start, segments[first - 1].weight <= 2 * weight {
            first -= 1
            weight += segments[first].weight
        }
        guard first < segments.count - 1, let merged = PendingSegment.merging(Array(segments[first...])) else {
            return segments
        }
        return segments[..<first] + [merged]
    }
}

extension PendingPart {
    /// Whether no segment has sequences on both sides of `sequence`.
    func hasEdge(at sequence: UInt64) -> Bool {
        segments.allSatisfy { $0.end <= sequence || $0.start >= sequence }
    }
}

/// Reads the records of the pending tree.
struct PendingTreeReader {
    let tree: TreeID
    let index: TextIndex
    let transaction: Transaction

    static func key(_ sequence: UInt64) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(8)
        key.appendBigEndian(sequence)
        return key
    }

    /// The last record's sequence, header and identity; nil if there is none.
    func last() throws(StorageError) -> (sequence: UInt64, header: PendingHeader, identity: UInt64)? {
        guard try transaction.count(tree) > 0 else { return nil }
        var cursor = try transaction.cursor(tree)
        guard try cursor.last(), cursor.key.count == 8, let sequence = cursor.key.bigEndian(at: 0, as: UInt64.self),
            sequence < FoldState.sequenceLimit, let record = PendingRecord(cursor.value)
        else { throw index.corrupt(index.pendingName, "the last of the pending records is not readable") }
        return (sequence, record.header, record.identity)
    }

    func identity(of sequence: UInt64) throws(StorageError) -> UInt64? {
        guard let bytes = try transaction.get(tree, Self.key(sequence)) else { return nil }
        return PendingRecord(bytes)?.identity
    }

    /// The segment of the records `start`..<`end`.
    /// - Parameter identity: that of the record before, then that of the last one.
    func segment(
        from start: UInt64, to end: UInt64, after identity: inout UInt64
    ) throws(StorageError) -> PendingSegment {
        var builder = PendingSegmentBuilder()
        var cursor = try transaction.cursor(tree)
        var isThere = try cursor.seek(Self.key(start))
        var sequence = start
        while sequence < end {
            guard isThere, cursor.key.bigEndian(at: 0, as: UInt64.self) == sequence, cursor.key.count == 8,
                PendingRecord.follows(cursor.value, after: identity), let record = PendingRecord(cursor.value),
                // Folding copies as many positions as a word has occurrences, if the index keeps any.
                record.header.hasPositions == index.storesPositions, builder.add(record)
            else { throw damaged(sequence) }
            identity = record.identity
            sequence += 1
            isThere = try cursor.next()
        }
        guard let segment = builder.finish(start: start, end: end) else {
            throw index.corrupt(
                index.pendingName, "the pending records from \(start) to \(end - 1) contradict each other")
        }
        return segment
    }

    func damaged(_ sequence: UInt64) -> StorageError {
        index.corrupt(index.pendingName, "the pending record \(sequence) is missing or not readable")
    }
}
