// SPDX-License-Identifier: Apache-2.0
// Makes the record of a document from its texts: the terms of both texts are numbered and counted, sorted, and written
// with their positions. This is most of the work of a small commit for an index. So the maker's memory is kept with the
// store, from one transaction to the next.

import HornbeamPages

/// Makes records of texts. Reuses its memory.
struct PendingRecordMaker: ~Copyable {
    /// The counts of a term.
    private struct Counts: BitwiseCopyable {
        /// Number of occurrences in the old and in the new text.
        var old: UInt32 = 0
        var new: UInt32 = 0
        /// The end of its positions, once they are sorted.
        var end: UInt32 = 0
    }

    private var table = PendingTermTable()
    private var counts = GrowingMemory<Counts>(capacity: 128)
    /// The term of each token of the new text.
    private var tokens = GrowingMemory<UInt32>(capacity: 256)
    private var positions = GrowingMemory<UInt32>(capacity: 256)
    private var writer = PendingRecordWriter()
    private var isOverflown = false

    /// Size of its memory in bytes.
    var byteCount: Int {
        table.byteCount + counts.byteCount + tokens.byteCount + positions.byteCount + writer.byteCount
    }

    /// Reads the texts. Returns the record's header without totals, and its number of terms, which `write` adds.
    /// Returns nil if the texts are too large.
    mutating func read(
        _ document: GatheredDocument, docno: UInt32, _ index: TextIndex, _ tokenizer: inout Tokenizer
    ) -> (header: PendingHeader, termCount: Int)? {
        table.removeAll()
        counts.removeAll()
        tokens.removeAll()
        isOverflown = false
        var header = PendingHeader(row: document.row, docno: docno, oldLength: -1, newLength: -1)
        header.hasPositions = index.storesPositions
        if let old = document.old {
            var length: Int64 = 0
            old.forEachText { text in
                tokenizer.forEachToken(in: text) { token in
                    let number = number(of: token)
                    counts.start[number].old &+= 1
                    length &+= 1
                }
            }
            header.oldLength = length
        }
        if let new = document.new {
            let sections = new.divide { text, _ in
                let before = tokens.count
                tokenizer.forEachToken(in: text) { token in
                    let number = number(of: token)
                    counts.start[number].new &+= 1
                    tokens.append(UInt32(truncatingIfNeeded: number))
                }
                return UInt32(truncatingIfNeeded: tokens.count &- before)
            }
            header.newLength = Int64(tokens.count)
            header.fingerprint = new.fingerprint
            if !sections.isPlain { sections.encode(to: &header.sections) }
        }
        return isOverflown ? nil : (header, table.count)
    }

    /// Returns the number of a term, and adds its counts if it is new.
    @inline(__always)
    private mutating func number(of token: Bytes) -> Int {
        guard let found = table.number(of: token) else {
            isOverflown = true
            if counts.count == 0 { counts.append(Counts()) }
            return 0
        }
        let number = Int(found)
        if number == counts.count { counts.append(Counts()) }
        return number
    }

    /// Returns the whole record, which follows one with identity `previous`, and its own identity. The bytes are valid
    /// until the next record is made.
    mutating func write(_ header: PendingHeader, after previous: UInt64) -> (bytes: Bytes, identity: UInt64) {
        writer.begin(header, termCount: table.count)
        if header.hasPositions { sortPositions() }
        for place in table.sorted() {
            let count = counts[place.number]
            let start = header.hasPositions ? Int(count.end &- count.new) : 0
            writer.add(
                table.text(place.number), oldFrequency: count.old, newFrequency: count.new,
                positions: UnsafeBufferPointer(
                    start: positions.start + start, count: header.hasPositions ? Int(count.new) : 0))
        }
        return writer.finish(after: previous)
    }

    /// Fills `positions`, term by term. Sets each term's `end` to the end of its positions.
    private mutating func sortPositions() {
        var sum: UInt32 = 0
        for number in 0..<counts.count {
            counts.start[number].end = sum
            sum &+= counts[number].new
        }
        positions.removeAll()
        let sorted = positions.room(for: tokens.count)
        for position in 0..<tokens.count {
            let number = Int(tokens[position])
            sorted[Int(counts[number].end)] = UInt32(truncatingIfNeeded: position)
            counts.start[number].end &+= 1
        }
        positions.setEnd(sorted + tokens.count)
    }
}

/// A record maker that a store keeps for the next writer of an index. Its taker has exclusive use of it.
final class KeptRecordMaker: @unchecked Sendable {
    // Sendable: `PendingIndex` hands it to one thread at a time.
    @exclusivity(unchecked) var maker = PendingRecordMaker()

    /// Maximum size in bytes of a maker that is kept. A larger one has read a very long text.
    static let keptBound = 1 << 20
}
