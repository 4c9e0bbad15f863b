// SPDX-License-Identifier: Apache-2.0
// Makes a segment from records: each term of a document is looked up once, then all postings are ordered by a counting
// sort over terms. A later record of a document overrides an earlier one.

import HornbeamPages

/// Collects the records of ascending sequences and makes a segment of them. The caller bounds the records, and so the
/// memory.
struct PendingSegmentBuilder: ~Copyable {
    /// One term in one record.
    private struct Entry {
        let term: UInt32
        /// Index of its document, once that is known.
        var document: UInt32
        let oldFrequency: UInt32
        let newFrequency: UInt32
        /// Offset of its positions in `bytes`.
        let start: UInt32
        let size: UInt32
    }

    /// The state of a document that its postings need.
    private struct State {
        let docno: UInt32
        let oldLength: Int64
        let length: Int64
    }

    private var records: [PendingHeader] = []
    /// For each record, the end of its entries.
    private var ends: [Int] = []
    private var entries: [Entry] = []
    private var sorted: [Entry] = []
    private var removedCount = 0
    private var positionSize = 0
    /// The records, one after the other.
    private var bytes: [UInt8] = []
    private var table = PendingTermTable()
    private var term = TermBytes()

    /// Size of the added records in bytes.
    var size: Int { bytes.count }

    /// Adds the next record. Returns false if it is damaged or if it exceeds the memory limits.
    mutating func add(_ record: PendingRecord) -> Bool {
        var record = record
        let start = bytes.count
        guard start + record.bytes.count < Int(Int32.max), entries.count + record.termCount < Int(Int32.max) else {
            return false
        }
        bytes.append(contentsOf: record.bytes)
        term.removeAll()
        while let change = record.next(into: &term) {
            guard let number = table.number(of: term.bytes) else { return false }
            let offset = change.positions.baseAddress.map { record.bytes.baseAddress?.distance(to: $0) ?? 0 } ?? 0
            entries.append(
                Entry(
                    term: number, document: 0, oldFrequency: change.oldFrequency, newFrequency: change.newFrequency,
                    start: UInt32(truncatingIfNeeded: start &+ offset),
                    size: UInt32(truncatingIfNeeded: change.positions.count)))
            positionSize &+= change.positions.count
            if change.oldFrequency > 0 { removedCount &+= 1 }
        }
        guard record.isWhole else { return false }
        records.append(record.header)
        ends.append(entries.count)
        return true
    }

    /// Returns the segment of sequences `start`..<`end`, which must be as many as there were records. Empties the
    /// builder. Returns nil if records contradict each other.
    mutating func finish(start: UInt64, end: UInt64) -> PendingSegment? {
        defer { removeAll() }
        guard let documents = documents(), let lists = lists(documents) else { return nil }
        return PendingSegment(start: start, end: end, documents: documents, lists: lists)
    }

    /// Keeps the memory.
    private mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        table.removeAll()
        (removedCount, positionSize) = (0, 0)
    }

    /// Returns the documents in order. Sorts the entries by term number, then by document, then by record. Then `ends`
    /// are the ends of terms.
    private mutating func documents() -> [PendingDocument]? {
        let order = records.indices.sorted { left, right in
            (records[left].docno, left) < (records[right].docno, right)
        }
        var documents: [PendingDocument] = []
        documents.reserveCapacity(records.count)
        var places = [Int](repeating: 0, count: table.count + 1)
        for entry in entries { places[Int(entry.term) + 1] += 1 }
        for number in 0..<table.count { places[number + 1] += places[number] }
        sorted.removeAll(keepingCapacity: true)
        sorted.append(contentsOf: entries)
        for place in order {
            let record = records[place]
            if let last = documents.last, last.docno == record.docno {
                // One history: the row stays the same, and the state after one record is the state before the next.
                guard last.row == record.row, last.newLength == record.oldLength else { return nil }
                documents[documents.count - 1].newLength = record.newLength
                documents[documents.count - 1].sections = record.sections
                documents[documents.count - 1].fingerprint = record.fingerprint
            } else {
                documents.append(
                    PendingDocument(
                        docno: record.docno, row: record.row, oldLength: record.oldLength,
                        newLength: record.newLength, sections: record.sections, fingerprint: record.fingerprint))
            }
            let document = UInt32(truncatingIfNeeded: documents.count - 1)
            for entry in (place == 0 ? 0 : ends[place - 1])..<ends[place] {
                var moved = entries[entry]
                moved.document = document
                sorted[places[Int(moved.term)]] = moved
                places[Int(moved.term)] += 1
            }
        }
        swap(&entries, &sorted)
        ends = places
        return documents
    }

    private mutating func lists(_ documents: [PendingDocument]) -> PendingLists? {
        var writer = PendingListsWriter(
            PendingLists.Capacity(
                terms: table.count, textSize: table.textSize, added: entries.count, positionSize: positionSize,
                removed: removedCount))
        let states = documents.map { State(docno: $0.docno, oldLength: $0.oldLength, length: $0.newLength) }
        for place in table.sorted() {
            let number = place.number
            let range = (number == 0 ? 0 : ends[number - 1])..<ends[number]
            let isSound = entries.withUnsafeBufferPointer { entries in
                states.withUnsafeBufferPointer { states in
                    bytes.withBytes { bytes in
                        Self.append(UnsafeBufferPointer(rebasing: entries[range]), states, bytes, to: &writer)
                    }
                }
            }
            guard isSound else { return nil }
            // A term that was added and removed again is left out.
            if writer.isEmpty { continue }
            writer.close(table.text(number), head: place.head)
        }
        return writer.finish()
    }

    /// Appends the entries of a term. Returns false if they contradict each other.
    private static func append(
        _ entries: UnsafeBufferPointer<Entry>, _ states: UnsafeBufferPointer<State>, _ bytes: Bytes,
        to writer: inout PendingListsWriter
    ) -> Bool {
        var place = 0
        while place < entries.count {
            let first = entries[place]
            var last = first
            place += 1
            while place < entries.count, entries[place].document == first.document {
                let next = entries[place]
                guard next.oldFrequency == last.newFrequency else { return false }
                last = next
                place += 1
            }
            let state = states[Int(first.document)]
            if first.oldFrequency > 0 {
                writer.addRemoved(
                    state.docno, frequency: first.oldFrequency, length: UInt32(clamping: state.oldLength))
            }
            guard last.newFrequency > 0 else { continue }
            // A later record that no longer names the term can't leave it in its document.
            guard Int64(last.newFrequency) <= state.length else { return false }
            let start = Int(last.start)
            writer.add(
                state.docno, frequency: last.newFrequency, length: UInt32(truncatingIfNeeded: state.length),
                positions: Bytes(rebasing: bytes[start..<start &+ Int(last.size)]))
        }
        return true
    }
}
