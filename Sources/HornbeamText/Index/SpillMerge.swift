// SPDX-License-Identifier: Apache-2.0
// Merges the spills of a load, term by term, in the order in which entries are appended to the dictionary.

import HornbeamPages
import HornbeamTree

/// All spills side by side. `next` moves to the next term, or to the rest of a term with too many postings for one
/// step.
struct SpillMerge: ~Copyable {
    private let mostValues: Int
    /// The term whose postings were read last.
    private(set) var term: [UInt8] = []
    /// Whether the previous step had the same term.
    private(set) var isSame = false
    /// A heap. The first reader in the order of terms and spills is on top.
    private var readers: [SpillReader] = []
    private var lengths: LengthCache
    private var fields: FieldEndCache
    /// Whether a document has tokens outside its first field, and postings store fields.
    private let hasFields: Bool

    init(
        _ spills: [SpillReader], _ index: TextIndex, _ trees: TextTrees, _ statistics: TextStatistics,
        _ mostValues: Int, in transaction: Transaction
    ) throws(StorageError) {
        self.mostValues = mostValues
        lengths = LengthCache(DocumentLengths(transaction: transaction, tree: trees.documents, index: index))
        // Each common term reads the field ends of all documents, so the cache must have room for all documents of a
        // load.
        fields = FieldEndCache(
            SectionTable(transaction: transaction, tree: trees.documents, index: index), mostChunks: 1 << 16)
        hasFields = index.storesPositions && statistics.fieldTotals.tokens.count > 1
        for spill in spills where try spill.advance() { readers.append(spill) }
        for place in stride(from: readers.count / 2, through: 0, by: -1) { sink(from: place) }
    }

    /// Collects the next term's postings into `changes`. Returns false at the end.
    mutating func next(_ changes: inout TermChanges) throws(StorageError) -> Bool {
        changes.removeAll()
        guard let first = readers.first else { return false }
        isSame = first.isAt(term)
        term.removeAll(keepingCapacity: true)
        term.append(contentsOf: first.term)
        if hasFields { changes.postings.makeFields() }
        while let reader = readers.first, reader.isAt(term),
            changes.count + changes.postings.positionCount < mostValues
        {
            let start = changes.count
            let position = changes.postings.positionCount
            try reader.read(into: &changes.postings, &lengths)
            if hasFields { try countFields(of: &changes.postings, from: start, position) }
            if try !reader.advance() {
                readers.swapAt(0, readers.count - 1)
                readers.removeLast()
            }
            sink(from: 0)
        }
        return true
    }

    private mutating func countFields(
        of postings: inout PostingsBuffer, from start: Int, _ positionStart: Int
    ) throws(StorageError) {
        var position = positionStart
        for place in start..<postings.count {
            let ends = try fields.ends(of: postings.docnos[place])
            let count = Int(postings.frequencies[place])
            postings.setFields(
                place, ends.counts(UnsafeBufferPointer(start: postings.positions + position, count: count)))
            position += count
        }
    }

    /// Moves the reader at index `place` down the heap until no reader below comes before it.
    private mutating func sink(from place: Int) {
        var place = place
        while true {
            var first = place
            for below in 2 * place + 1...2 * place + 2 where below < readers.count {
                if readers[below].precedes(readers[first]) { first = below }
            }
            guard first != place else { return }
            readers.swapAt(place, first)
            place = first
        }
    }
}

/// The read position in one spill, before the postings of a record.
final class SpillReader {
    private let spill: UInt32
    private let tree: TreeID
    private let index: TextIndex
    private let transaction: Transaction
    /// A copy, because the writes of the merge move pages.
    private var chunk = ByteSink()
    private var nextChunk: UInt32 = 0
    private var offset = 0
    private var termRange = 0..<0
    /// The first eight bytes of the term, in byte order. They nearly always decide a comparison of two terms.
    private var head: UInt64 = 0

    init(_ spill: UInt32, _ tree: TreeID, _ index: TextIndex, in transaction: Transaction) {
        (self.spill, self.tree, self.index, self.transaction) = (spill, tree, index, transaction)
    }

    var term: Bytes { Bytes(rebasing: chunk.bytes[termRange]) }

    func isAt(_ other: [UInt8]) -> Bool {
        termRange.count == other.count && other.withBytes { term.order($0) == 0 }
    }

    /// Whether this record comes first in the order of the dictionary. Records of one term are in the order of the
    /// spills, which is the order of the documents.
    func precedes(_ other: SpillReader) -> Bool {
        let isLong = termRange.count > TermDictionary.plainLimit
        let isOtherLong = other.termRange.count > TermDictionary.plainLimit
        if isLong != isOtherLong { return isOtherLong }
        if head != other.head { return head < other.head }
        let order = term.order(other.term)
        return order != 0 ? order < 0 : spill < other.spill
    }

    /// Moves to the next record, whose postings are to be read. Returns false at the end of the spill.
    func advance() throws(StorageError) -> Bool {
        if offset == chunk.count, try !loadChunk() { return false }
        var reader = ByteReader(rest)
        guard let size = reader.varint(), let term = reader.slice(size), size > 0 else { throw unreadable() }
        let end = offset + reader.offset
        termRange = end - term.count..<end
        offset = end
        head = 0
        for place in 0..<8 { head = head << 8 | (place < term.count ? UInt64(term[place]) : 0) }
        return true
    }

    private var rest: Bytes { Bytes(rebasing: chunk.bytes[offset...]) }

    /// Loads the next chunk and deletes it from the tree, so that its pages can be reused.
    private func loadChunk() throws(StorageError) -> Bool {
        let key = PostingSpills.key(spill, nextChunk)
        chunk.removeAll()
        offset = 0
        guard let bytes = try transaction.get(tree, key) else { return false }
        chunk.append(bytes)
        guard chunk.count > 0 else { throw unreadable() }
        _ = try transaction.delete(tree, key)
        nextChunk += 1
        return true
    }

    /// Appends the record's postings.
    func read(into postings: inout PostingsBuffer, _ lengths: inout LengthCache) throws(StorageError) {
        var reader = ByteReader(rest)
        var before = UInt32.max
        while true {
            guard let code = reader.varint() else { throw unreadable() }
            if code == 0 { break }
            var frequency: UInt32 = 1
            if code & 1 == 1 {
                guard let more = reader.varint32(), more > 1 else { throw unreadable() }
                frequency = more
            }
            // Each position takes at least a byte.
            guard let distance = UInt32(exactly: code >> 1), distance > 0,
                before == .max || distance < UInt32.max - before,
                !index.storesPositions || Int(frequency) <= reader.rest.count
            else { throw unreadable() }
            let docno = before &+ distance
            before = docno
            postings.append(docno, frequency: frequency, length: try lengths.length(of: docno))
            guard index.storesPositions else { continue }
            postings.reserve(positions: Int(frequency))
            var position = UInt32.max
            for _ in 0..<frequency {
                guard let distance = reader.varint32() else { throw unreadable() }
                position = position &+ distance
                postings.append(position: position)
            }
        }
        guard before != .max else { throw unreadable() }
        offset += reader.offset
    }

    private func unreadable() -> StorageError {
        index.corrupt("spill:" + index.prefix, "postings that the load has put aside are not readable")
    }
}
