// SPDX-License-Identifier: Apache-2.0
// An index as it is stored, for retrieval.

import HornbeamPages
import HornbeamTree

/// One state of an index in a transaction.
final class StoredView: IndexView {
    private let index: TextIndex
    private let trees: TextTrees
    private let transaction: Transaction
    private let map: DocumentMap
    private let documentLengths: DocumentLengths
    private let dictionary: TermDictionary
    /// The rows that were last asked for.
    private var chunk: (number: UInt32, rows: RowChunk)?
    /// Whether any document has sections; nil if nobody looked.
    private var hasSections: Bool?
    @exclusivity(unchecked) private var lengthsCursor: Cursor
    /// The chunk of lengths that was last asked for, and whether the cursor is on an entry.
    private var lengthsChunk: UInt32?
    private var isAtLengths = false

    init(
        _ index: TextIndex, _ trees: TextTrees, _ statistics: TextStatistics, in transaction: Transaction
    ) throws(StorageError) {
        (self.index, self.trees, self.transaction) = (index, trees, transaction)
        map = DocumentMap(index, trees, statistics, in: transaction)
        documentLengths = DocumentLengths(transaction: transaction, tree: trees.documents, index: index)
        dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        lengthsCursor = try transaction.cursor(trees.documents)
        super.init(
            documentCount: statistics.documentCount, totalLength: statistics.totalLength,
            docnoLimit: statistics.nextDocno)
    }

    override func postings(of term: [UInt8]) throws(StorageError) -> PostingSource? {
        guard !term.isEmpty else { return nil }
        return try term.withBytes { (bytes) throws(StorageError) -> PostingSource? in
            guard let entry = try dictionary.find(bytes) else { return nil }
            guard UInt64(entry.documentFrequency) <= documentCount else {
                throw index.corrupt(index.statisticsName, "a term is in more documents than the index has")
            }
            guard totalLength > 0 else {
                throw index.corrupt(index.statisticsName, "the index has terms but no tokens")
            }
            return StoredSource(try StoredPostings(entry, index: index, trees: trees, in: transaction))
        }
    }

    override func forEachTerm(
        from start: [UInt8], _ body: (_ term: [UInt8]) throws(StorageError) -> Step
    ) throws(StorageError) {
        var cursor = try transaction.cursor(trees.terms)
        var isThere = try cursor.seek(start)
        while isThere {
            let isLong = TermDictionary.isLong(cursor.key)
            let term = isLong ? try dictionary.read(cursor).term : [UInt8](cursor.key)
            switch try body(term) {
            case .next: isThere = try cursor.next()
            case .seek(let target): isThere = try cursor.seek(target)
            case .stop: return
            }
        }
    }

    override func loadLengths(chunk: UInt32, _ target: UnsafeMutablePointer<UInt16>) throws(StorageError) {
        let capacity = DocumentLengths.chunkCapacity
        guard let stored = try storedLengths(chunk) else { return target.update(repeating: 0, count: capacity) }
        guard stored.count % 2 == 0, stored.count <= 2 * capacity else {
            throw index.corrupt(index.documentsName, "an entry of document lengths has \(stored.count) bytes")
        }
        // Little-endian, as the machine is.
        UnsafeMutableRawBufferPointer(start: target, count: stored.count).copyMemory(from: stored)
        (target + stored.count / 2).update(repeating: 0, count: capacity - stored.count / 2)
    }

    /// Chunks mostly ascend: the next one is next in the tree.
    private func storedLengths(_ chunk: UInt32) throws(StorageError) -> Bytes? {
        if lengthsChunk.map({ $0 >= chunk }) ?? true {
            isAtLengths = try lengthsCursor.seek(DocumentLengths.key(chunk: chunk))
        }
        lengthsChunk = chunk
        while isAtLengths, let found = lengthsKey, found < chunk {
            isAtLengths =
                chunk - found <= 2
                ? try lengthsCursor.next() : try lengthsCursor.seek(DocumentLengths.key(chunk: chunk))
        }
        return isAtLengths && lengthsKey == chunk ? lengthsCursor.value : nil
    }

    private var lengthsKey: UInt32? {
        let key = lengthsCursor.key
        guard key.count == 5, key.first == DocumentKey.lengths else { return nil }
        return key.bigEndian(at: 1, as: UInt32.self)
    }

    override func length(of docno: UInt32) throws(StorageError) -> UInt32 {
        guard let length = try documentLengths.length(of: docno) else {
            throw corrupt("document \(docno) has postings but is not in the index")
        }
        return length
    }

    override func row(of docno: UInt32) throws(StorageError) -> UInt64 {
        let number = docno >> DocumentMap.chunkShift
        if let chunk, chunk.number == number, let row = chunk.rows.row(Int(docno) % DocumentMap.chunkCapacity) {
            return row
        }
        if let rows = try map.chunk(number) { chunk = (number, rows) }
        return try map.row(of: docno)
    }

    override func docno(of row: UInt64) throws(StorageError) -> UInt32? { try map.docno(of: row) }

    override var rowsAscend: Bool { map.statistics.exceptionCount == 0 }

    private func sections(_ docno: UInt32) throws(StorageError) -> DocumentSections? {
        if hasSections == nil {
            var cursor = try transaction.cursor(trees.documents)
            let isThere = try cursor.seek(DocumentKey.bytes(DocumentKey.sections, UInt32(0)))
            hasSections = isThere && cursor.key.first == DocumentKey.sections
        }
        guard hasSections == true else { return nil }
        return try SectionTable(transaction: transaction, tree: trees.documents, index: index).sections(
            of: docno, length: try length(of: docno))
    }

    override func fieldStarts(_ docno: UInt32, _ starts: inout [UInt32]) throws(StorageError) {
        starts.removeAll(keepingCapacity: true)
        starts.append(0)
        guard let sections = try sections(docno) else { return starts.append(try length(of: docno)) }
        for length in sections.fieldLengths { starts.append(starts[starts.count - 1] &+ length) }
    }

    override func isOneSection(_ docno: UInt32, _ first: UInt32, _ second: UInt32) throws(StorageError) -> Bool {
        guard first < second, let sections = try sections(docno) else { return true }
        var end: UInt32 = 0
        for tokens in sections.fields.joined() {
            end = end &+ tokens
            if first < end { return second < end }
        }
        return false
    }

    override func fieldTotals() throws(StorageError) -> [UInt64] {
        var totals: [UInt64] = [0]
        let capacity = DocumentLengths.chunkCapacity
        let lengths = UnsafeMutablePointer<UInt16>.allocate(capacity: capacity)
        defer { lengths.deallocate() }
        var starts: [UInt32] = []
        for base in stride(from: 0, to: docnoLimit, by: capacity) {
            try loadLengths(chunk: base >> DocumentLengths.chunkShift, lengths)
            for place in 0..<capacity where lengths[place] > 0 {
                try fieldStarts(base &+ UInt32(place), &starts)
                for field in 0..<starts.count - 1 {
                    if field == totals.count { totals.append(0) }
                    totals[field] += UInt64(starts[field + 1] &- starts[field])
                }
            }
        }
        return totals
    }

    override func corrupt(_ reason: String) -> StorageError { index.corrupt(index.postingsName, reason) }
}

/// A term's stored postings.
final class StoredSource: PostingSource {
    private let stored: StoredPostings

    init(_ stored: StoredPostings) {
        self.stored = stored
        super.init(
            documentFrequency: stored.documentFrequency, bounds: stored.bounds, UnsafePointer(stored.docnos))
        frequencies = UnsafePointer(stored.frequencies)
        stand()
    }

    private func stand() {
        isAtEnd = stored.isAtEnd
        (blockFirst, blockLast, count) = (stored.blockFirst, stored.blockLast, stored.count)
        (blockBound, secondBlockBound, isDecoded) = (stored.blockBound, stored.secondBlockBound, stored.isDecoded)
    }

    override func moveToBlock(_ target: UInt32) throws(StorageError) {
        // The block behind is found without a search.
        _ = target == blockLast &+ 1 ? try stored.nextBlock() : try stored.seekBlock(target)
        stand()
    }

    override func decodeBlock() throws(StorageError) {
        try stored.decode()
        blockFirst = stored.blockFirst
    }

    override func readPositions(_ place: Int, _ positions: inout [UInt32]) throws(StorageError) {
        positions.removeAll(keepingCapacity: true)
        try stored.appendPositions(of: place, to: &positions)
    }
}
