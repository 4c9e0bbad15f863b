// SPDX-License-Identifier: Apache-2.0
// From records to a segment: every term's bytes are looked up once a document, then all postings are put in order by
// counting, term by term. A later record of a document counts instead of an earlier one.

import HornbeamPages

/// Gathers the records of ascending sequences and makes a segment of them. Memory is bounded by whoever bounds the
/// records.
struct PendingSegmentBuilder: ~Copyable {
    /// One term in one record.
    private struct Entry {
        let term: UInt32
        /// Place of its record.
        let record: UInt32
        let oldFrequency: UInt32
        let newFrequency: UInt32
        /// Where its positions stand in `positions`.
        let start: UInt32
        let size: UInt32
    }

    private var records: [PendingHeader] = []
    private var entries: [Entry] = []
    private var positions: [UInt8] = []
    private var table = PendingTermTable()
    private var term = TermBytes()

    /// Adds the next record. False if it is damaged, or more than memory is made for.
    mutating func add(_ record: PendingRecord) -> Bool {
        var record = record
        let place = UInt32(truncatingIfNeeded: records.count)
        term.removeAll()
        while let change = record.next(into: &term) {
            guard positions.count + change.positions.count < Int(Int32.max), entries.count < Int(Int32.max),
                let number = table.number(of: term.bytes)
            else { return false }
            entries.append(
                Entry(
                    term: number, record: place, oldFrequency: change.oldFrequency, newFrequency: change.newFrequency,
                    start: UInt32(positions.count), size: UInt32(change.positions.count)))
            positions.append(contentsOf: change.positions)
        }
        guard record.isWhole else { return false }
        records.append(record.header)
        return true
    }

    /// The segment of sequences `start`..<`end`, as many as there were records. Nil if records contradict each other.
    consuming func finish(start: UInt64, end: UInt64) -> PendingSegment? {
        guard let (documents, ranks) = documents() else { return nil }
        guard let lists = lists(documents, ranks) else { return nil }
        return PendingSegment(start: start, end: end, documents: documents, lists: lists)
    }

    /// The documents in order, and of each record the place of its document.
    private func documents() -> (documents: [PendingDocument], ranks: [UInt32])? {
        let order = records.indices.sorted { left, right in
            (records[left].docno, left) < (records[right].docno, right)
        }
        var documents: [PendingDocument] = []
        documents.reserveCapacity(records.count)
        var ranks = [UInt32](repeating: 0, count: records.count)
        for place in order {
            let record = records[place]
            if let last = documents.last, last.docno == record.docno {
                // One history: the row stays, and what was there after one record is there before the next.
                guard last.row == record.row, last.newLength == record.oldLength else { return nil }
                documents[documents.count - 1].newLength = record.newLength
                documents[documents.count - 1].sections = record.sections
            } else {
                documents.append(
                    PendingDocument(
                        docno: record.docno, row: record.row, oldLength: record.oldLength,
                        newLength: record.newLength, sections: record.sections))
            }
            ranks[place] = UInt32(documents.count - 1)
        }
        return (documents, ranks)
    }

    private func lists(_ documents: [PendingDocument], _ ranks: [UInt32]) -> PendingLists? {
        let terms = table.sorted()
        var lists = PendingLists()
        lists.terms.reserve(terms.count, textSize: table.textSize)
        lists.addedEnds.reserveCapacity(terms.count)
        lists.removedEnds.reserveCapacity(terms.count)
        lists.addedDocnos.reserveCapacity(entries.count)
        lists.addedFrequencies.reserveCapacity(entries.count)
        lists.addedLengths.reserveCapacity(entries.count)
        lists.positionStarts.reserveCapacity(entries.count)
        lists.positions.reserveCapacity(positions.count)
        let (ends, order) = entriesByTerm()
        var group: [Int] = []
        for number in terms {
            let range = (number == 0 ? 0 : Int(ends[number - 1]))..<Int(ends[number])
            group.removeAll(keepingCapacity: true)
            var ascends = true
            for place in range {
                let entry = Int(order[place])
                if let last = group.last, ranks[Int(entries[last].record)] >= ranks[Int(entries[entry].record)] {
                    ascends = false
                }
                group.append(entry)
            }
            if !ascends {
                group.sort { left, right in
                    let (first, second) = (ranks[Int(entries[left].record)], ranks[Int(entries[right].record)])
                    return first != second ? first < second : left < right
                }
            }
            guard append(number, group, documents, ranks, to: &lists) else { return nil }
        }
        return lists
    }

    /// The entries in the order of their terms' numbers, those of a term as they came; where each term's end.
    private func entriesByTerm() -> (ends: [UInt32], order: [UInt32]) {
        var starts = [UInt32](repeating: 0, count: table.count + 1)
        for entry in entries { starts[Int(entry.term) + 1] += 1 }
        for number in 0..<table.count { starts[number + 1] += starts[number] }
        var order = [UInt32](repeating: 0, count: entries.count)
        for (place, entry) in entries.enumerated() {
            order[Int(starts[Int(entry.term)])] = UInt32(place)
            starts[Int(entry.term)] += 1
        }
        return (starts, order)
    }

    /// Appends a term with its entries, which ascend by document and, within one, by record.
    private func append(
        _ number: Int, _ group: [Int], _ documents: [PendingDocument], _ ranks: [UInt32], to lists: inout PendingLists
    ) -> Bool {
        let former = lists.postingCount
        var place = 0
        while place < group.count {
            let first = entries[group[place]]
            let rank = ranks[Int(first.record)]
            var last = first
            while place + 1 < group.count, ranks[Int(entries[group[place + 1]].record)] == rank {
                place += 1
                let next = entries[group[place]]
                guard next.oldFrequency == last.newFrequency else { return false }
                last = next
            }
            place += 1
            let document = documents[Int(rank)]
            if first.oldFrequency > 0 {
                lists.removedDocnos.append(document.docno)
                lists.removedFrequencies.append(first.oldFrequency)
            }
            guard last.newFrequency > 0 else { continue }
            // A record that doesn't speak of the term any more can't leave it in its document.
            guard Int64(last.newFrequency) <= document.newLength else { return false }
            lists.addedDocnos.append(document.docno)
            lists.addedFrequencies.append(last.newFrequency)
            lists.addedLengths.append(UInt32(truncatingIfNeeded: document.newLength))
            lists.positionStarts.append(UInt32(lists.positions.count))
            lists.positions.append(contentsOf: positions[Int(last.start)..<Int(last.start + last.size)])
        }
        // A term that came and went is none.
        guard lists.postingCount > former else { return true }
        lists.addedEnds.append(UInt32(lists.addedDocnos.count))
        lists.removedEnds.append(UInt32(lists.removedDocnos.count))
        return table.withText(number) { lists.terms.append($0) }
    }
}

/// The terms of the records that are gathered, numbered as they come and found by their bytes.
struct PendingTermTable: ~Copyable {
    private var heads: [UInt64] = []
    private var ends: [UInt32] = []
    private var texts: [UInt8] = []
    /// Half of the hash in the upper half, number of the term + 1 in the lower; 0 is free. At most half full.
    private var slots = [UInt64](repeating: 0, count: 256)
    /// Different in each table, so that nobody can write texts whose words all meet in one slot.
    private let seed = UInt64.random(in: .min ... .max)
    private let factor = UInt64.random(in: .min ... .max) | 1

    var count: Int { heads.count }
    var textSize: Int { texts.count }

    mutating func removeAll() {
        guard count > 0 else { return }
        heads.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        texts.removeAll(keepingCapacity: true)
        // After a text of very many words a table for few again.
        guard slots.count > 4096 else {
            for slot in slots.indices { slots[slot] = 0 }
            return
        }
        slots = [UInt64](repeating: 0, count: 4096)
    }

    /// The number of a term, a new one if it is new. Nil if there is no room for it.
    mutating func number(of term: Bytes) -> UInt32? {
        let head = PendingTerms.head(term)
        var hash = mix(head ^ UInt64(truncatingIfNeeded: term.count))
        var offset = 8
        while offset < term.count {
            let place = min(offset, term.count - 8)
            hash = mix(hash ^ term.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            offset += 8
        }
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while slots[slot] != 0 {
            let found = slots[slot]
            if (found ^ hash) >> 32 == 0 {
                let number = Int(truncatingIfNeeded: found & 0xFFFF_FFFF) - 1
                if heads[number] == head, withText(number, { $0.order(term) == 0 }) { return UInt32(number) }
            }
            slot = (slot + 1) & mask
        }
        guard texts.count + term.count <= Int(UInt32.max), heads.count < Int(Int32.max) else { return nil }
        heads.append(head)
        texts.append(contentsOf: term)
        ends.append(UInt32(texts.count))
        slots[slot] = (hash & ~0xFFFF_FFFF) | UInt64(heads.count)
        if heads.count * 2 > slots.count { grow() }
        return UInt32(heads.count - 1)
    }

    @inline(__always)
    func withText<Result, Failure: Error>(
        _ number: Int, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = number == 0 ? 0 : Int(ends[number - 1])
        let end = Int(ends[number])
        return try texts.withBytes { (bytes) throws(Failure) in try body(Bytes(rebasing: bytes[start..<end])) }
    }

    /// The numbers in the order of the terms' bytes.
    func sorted() -> [Int] {
        var order: [(head: UInt64, number: Int)] = []
        order.reserveCapacity(count)
        for number in 0..<count { order.append((heads[number], number)) }
        order.sort { left, right in
            if left.head != right.head { return left.head < right.head }
            return withText(left.number) { text in withText(right.number) { text.order($0) } } < 0
        }
        return order.map(\.number)
    }

    /// Both halves of the whole product: one bit more or less in the word changes bits all over it.
    @inline(__always)
    private func mix(_ word: UInt64) -> UInt64 {
        let product = (word ^ seed).multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    private mutating func grow() {
        let former = slots
        slots = [UInt64](repeating: 0, count: 2 * former.count)
        for entry in former where entry != 0 {
            var slot = Int(truncatingIfNeeded: entry >> 32) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = entry
        }
    }
}
