// SPDX-License-Identifier: Apache-2.0
// The pending records of one index in memory, shared by all transactions of an opened store. It is a cache: missing
// parts are read from the records again. A view is found by its bounds. Bounds include the identity of the last record,
// which depends on all records before it. So a view of records that were rolled back (their transaction aborted, their
// commit lost) is never used for another history. A view of more records is made from a view of fewer and a segment of
// the rest. Segments are merged while the one before is at most twice as large as those behind it. So there are few
// segments, and a record is copied only a few times.

import HornbeamPages
import HornbeamTree
import Synchronization

/// The most recently used views of one index's pending records.
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
        /// Views of committed states.
        var shared = Recent(limit: 4)
        /// Views of a write transaction, which may be rolled back.
        var written = Recent(limit: 2)
        var last = LastRecords()
        /// The record maker that the last writer returned, for the next one.
        var maker: KeptRecordMaker?
    }

    private let state = Mutex(State())

    /// Returns the cache for the index with this tree of pending records.
    static func of(_ tree: TreeID, in transaction: Transaction) -> PendingIndex {
        transaction.derived(of: tree) { PendingIndex() }
    }

    /// Returns the view of these bounds, which must be those of `tree` in the transaction.
    /// - Parameter limit: a view of the same history that lacks fewer than `limit` of the last records may be returned.
    func view(
        _ bounds: PendingBounds, _ tree: TreeID, _ index: TextIndex, lacking limit: UInt64 = 0,
        in transaction: Transaction
    ) throws(StorageError) -> PendingView {
        if bounds.isEmpty { return .empty }
        let (found, candidates) = state.withLock { (state) in find(bounds, &state) }
        if let found { return found }
        let reader = PendingTreeReader(tree: tree, index: index, transaction: transaction)
        let former = try nearest(candidates, bounds, reader)
        if let former, former.bounds.differsInEnd(from: bounds), bounds.end - former.bounds.end < limit {
            return former
        }
        let view = try extended(former, to: bounds, reader)
        note(view, in: transaction)
        return view
    }

    /// Extends the latest view if many records were added since, but by a bounded number of records. So no search has
    /// to read many records, and neither has a commit.
    func keepUp(
        _ bounds: PendingBounds, _ tree: TreeID, _ index: TextIndex, in transaction: Transaction
    ) throws(StorageError) {
        let (found, candidates) = state.withLock { (state) in find(bounds, &state) }
        guard found == nil, candidates.first.map({ bounds.end - $0.bounds.end >= Self.unreadLimit }) ?? true else {
            return
        }
        let reader = PendingTreeReader(tree: tree, index: index, transaction: transaction)
        let former = try nearest(candidates, bounds, reader)
        let start = former?.bounds.end ?? bounds.start
        guard bounds.end - start >= Self.unreadLimit else { return }
        var part = bounds
        if bounds.end - start > Self.readingLimit { part.end = start + Self.readingLimit }
        if let end = bounds.foldEnd, start < end, part.end >= end { part.end = end }
        if part.end < bounds.end {
            if let end = bounds.foldEnd, part.end <= end { part.foldEnd = nil }
            guard let identity = try reader.identity(of: part.end - 1) else { throw reader.damaged(part.end - 1) }
            part.identity = identity
        }
        note(try extended(former, to: part, reader), in: transaction)
    }

    /// Returns the documents' states in the records behind a view, from the cache or else by reading them.
    func records(
        behind view: PendingView, _ bounds: PendingBounds, _ reader: PendingTreeReader
    ) throws(StorageError) -> [LastRecords.Record] {
        let start = view.bounds.end
        let known = state.withLock { $0.last.records(from: start, to: bounds.end, bounds.identity) }
        if let known { return known }
        var records: [LastRecords.Record] = []
        var identity = view.bounds.identity
        try reader.forEach(from: start, to: bounds.end, after: &identity) { sequence, record in
            records.append(LastRecords.Record(sequence: sequence, identity: record.identity, record.header))
            return true
        }
        guard identity == bounds.identity else { throw reader.damaged(bounds.end - 1) }
        state.withLock { (state) in
            var previous = view.bounds.identity
            for record in records {
                state.last.append(record, after: previous)
                previous = record.identity
            }
        }
        return records
    }

    /// Takes the record maker. Return it with `giveBack`, unless an error was thrown.
    func takeMaker() -> KeptRecordMaker { state.withLock { $0.maker.take() } ?? KeptRecordMaker() }

    func giveBack(_ made: KeptRecordMaker) {
        guard made.maker.byteCount <= KeptRecordMaker.keptBound else { return }
        state.withLock { $0.maker = made }
    }

    /// Adds a record that was written after one with identity `previous`.
    func note(_ record: LastRecords.Record, after previous: UInt64) {
        state.withLock { $0.last.append(record, after: previous) }
    }

    /// Maximum number of records that a writer may leave unread.
    static let unreadLimit: UInt64 = 64
    /// Maximum number of records that one commit reads.
    private static let readingLimit: UInt64 = 256

    private func note(_ view: PendingView, in transaction: Transaction) {
        state.withLock { (state) in
            if transaction.isWritable { state.written.note(view) } else { state.shared.note(view) }
        }
    }

    /// Returns the candidate that has most of these records.
    private func nearest(
        _ candidates: [PendingView], _ bounds: PendingBounds, _ reader: PendingTreeReader
    ) throws(StorageError) -> PendingView? {
        for candidate in candidates {
            // Whether its history is the same up to its end.
            let end = candidate.bounds.end
            let last = end == bounds.end ? bounds.identity : try reader.identity(of: end - 1)
            if last == candidate.bounds.identity { return candidate }
        }
        return nil
    }

    /// Returns the view of `bounds`, made from `former` and the records behind it.
    private func extended(
        _ former: PendingView?, to bounds: PendingBounds, _ reader: PendingTreeReader
    ) throws(StorageError) -> PendingView {
        var (next, identity) = (bounds.start, bounds.startIdentity)
        if let former { (next, identity) = (former.bounds.end, former.bounds.identity) }
        if let former, former.bounds.differsInEnd(from: bounds) {
            let segments = try reader.segments(from: next, to: bounds.end, after: &identity)
            guard identity == bounds.identity else { throw reader.damaged(bounds.end - 1) }
            return segments.reduce(former) { $0.appending($1, bounds) }
        }
        var segments = former?.whole.segments.filter { $0.start >= bounds.start } ?? []
        if let foldEnd = bounds.foldEnd, next < foldEnd {
            segments += try reader.segments(from: next, to: foldEnd, after: &identity)
            next = foldEnd
        }
        segments += try reader.segments(from: next, to: bounds.end, after: &identity)
        guard identity == bounds.identity else { throw reader.damaged(bounds.end - 1) }
        return PendingView(bounds, segments)
    }

    /// Returns the view of exactly these bounds, or else the views from which it can be made, the longest first.
    private func find(_ bounds: PendingBounds, _ state: inout State) -> (PendingView?, [PendingView]) {
        var candidates: [PendingView] = []
        for view in state.shared.views + state.written.views {
            if view.bounds == bounds {
                // Refreshes its use, so that other views are dropped first.
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
}

/// The documents' states in the last records, the oldest first. A record's identity depends on the identity of the one
/// before. So if the last record belongs to a history, all of them do.
struct LastRecords {
    struct Record {
        let sequence: UInt64
        let identity: UInt64
        let row: UInt64
        let docno: UInt32
        /// −1 if the document was removed.
        let length: Int64
        /// Its sections as `DocumentSections` encodes them. Empty if there is a single section.
        let sections: [UInt8]
        let fingerprint: UInt32

        init(sequence: UInt64, identity: UInt64, _ header: PendingHeader) {
            (self.sequence, self.identity, fingerprint) = (sequence, identity, header.fingerprint)
            (row, docno, length, sections) = (header.row, header.docno, header.newLength, header.sections)
        }
    }

    private var records: [Record] = []
    /// Larger than the unread limit, so that removing the first records rarely moves the others.
    private static let limit = 4 * Int(PendingIndex.unreadLimit)

    /// Adds a record that follows one with identity `previous`. Removes records of another history.
    mutating func append(_ record: Record, after previous: UInt64) {
        while let last = records.last, last.sequence >= record.sequence { records.removeLast() }
        if let last = records.last, last.sequence + 1 != record.sequence || last.identity != previous {
            records.removeAll(keepingCapacity: true)
        }
        if records.count == Self.limit { records.removeFirst(Self.limit / 2) }
        records.append(record)
    }

    /// Returns the records of sequences `start`..<`end` if the last one has this identity. Returns nil if some of them
    /// are missing.
    func records(from start: UInt64, to end: UInt64, _ identity: UInt64) -> [Record]? {
        guard start < end else { return [] }
        guard let first = records.first?.sequence, first <= start, end - first <= UInt64(records.count) else {
            return nil
        }
        let found = records[Int(start - first)..<Int(end - first)]
        return found.last?.identity == identity ? Array(found) : nil
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
    /// Maximum size in bytes of the records of a segment with several records.
    var segmentSize = 64 << 20

    static func key(_ sequence: UInt64) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(8)
        key.appendBigEndian(sequence)
        return key
    }

    /// Returns the last record's sequence, header and identity, or nil if there are no records.
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

    /// Returns segments of the records `start`..<`end`, each of at most 2,048 records and, unless it has a single one,
    /// at most `segmentSize` bytes. So the data of a segment under construction stays in the processor's cache and
    /// bounded.
    /// - Parameter identity: the identity of the record before; on return, of the last record.
    func segments(
        from start: UInt64, to end: UInt64, after identity: inout UInt64
    ) throws(StorageError) -> [PendingSegment] {
        var builder = PendingSegmentBuilder()
        var segments: [PendingSegment] = []
        var first = start
        func finish(_ last: UInt64) throws(StorageError) {
            guard first < last else { return }
            guard let segment = builder.finish(start: first, end: last) else {
                throw index.corrupt(
                    index.pendingName, "the pending records from \(first) to \(last - 1) contradict each other")
            }
            segments.append(segment)
            first = last
        }
        try forEach(from: start, to: end, after: &identity) { (sequence, record) throws(StorageError) in
            let isFull = sequence - first == 2048 || builder.size + record.bytes.count > segmentSize
            if isFull { try finish(sequence) }
            return builder.add(record)
        }
        try finish(end)
        return segments
    }

    /// Calls `body` with each of the records `start`..<`end`. A record for which it returns false is reported as
    /// damaged.
    /// - Parameter identity: the identity of the record before; on return, of the last record.
    func forEach(
        from start: UInt64, to end: UInt64, after identity: inout UInt64,
        _ body: (UInt64, PendingRecord) throws(StorageError) -> Bool
    ) throws(StorageError) {
        guard start < end else { return }
        var cursor = try transaction.cursor(tree)
        var isThere = try cursor.seek(Self.key(start))
        var sequence = start
        while sequence < end {
            guard isThere, cursor.key.bigEndian(at: 0, as: UInt64.self) == sequence, cursor.key.count == 8,
                PendingRecord.follows(cursor.value, after: identity), let record = PendingRecord(cursor.value),
                // Folding copies a word's positions by the number of its occurrences, so the record must have them if
                // the index does.
                record.header.hasPositions == index.storesPositions, try body(sequence, record)
            else { throw damaged(sequence) }
            identity = record.identity
            sequence += 1
            isThere = try cursor.next()
        }
    }

    func damaged(_ sequence: UInt64) -> StorageError {
        index.corrupt(index.pendingName, "the pending record \(sequence) is missing or not readable")
    }
}
