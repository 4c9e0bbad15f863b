// SPDX-License-Identifier: Apache-2.0
// From the texts of a document to its record: the terms of both are counted by their numbers, sorted, and written with
// the positions of each. A document's record is most of what a small commit computes for an index: so its memory stays
// with the store, from one transaction to the next.

import HornbeamPages

/// Makes records of texts. Keeps its memory from one to the next.
struct PendingRecordMaker: ~Copyable {
    /// Of a term.
    private struct Counts: BitwiseCopyable {
        /// How often it stood in the old text and stands in the new one.
        var old: UInt32 = 0
        var new: UInt32 = 0
        /// Where its positions end, once they are sorted.
        var end: UInt32 = 0
    }

    private var table = PendingTermTable()
    private var counts = GrowingMemory<Counts>(capacity: 128)
    /// The term of each token of the new text.
    private var tokens = GrowingMemory<UInt32>(capacity: 256)
    private var positions = GrowingMemory<UInt32>(capacity: 256)
    private var writer = PendingRecordWriter()
    private var isOverflown = false

    /// Bytes of memory that it has.
    var byteCount: Int {
        table.byteCount + counts.byteCount + tokens.byteCount + positions.byteCount + writer.byteCount
    }

    /// The record's header without totals, and its terms, which `write` adds to a record. Nil if there is no room.
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

    /// The number of a term, whose counts are there.
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

    /// The whole record, behind one of identity `previous`, until the next one is made; its own identity.
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

    /// Fills `positions`, term by term; each term's `end` is where its own end.
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

/// A maker that a store keeps for the next writer of an index: whoever took it has it alone.
final class KeptRecordMaker: @unchecked Sendable {
    // Sendable: `PendingIndex` hands it to one thread at a time.
    @exclusivity(unchecked) var maker = PendingRecordMaker()

    /// More memory than this is not kept: a text was very long.
    static let keptBound = 1 << 20
}
