// SPDX-License-Identifier: Apache-2.0
// An index with its stored and pending data, for retrieval. Without pending data it reads the stored parts directly.

import HornbeamPages
import HornbeamTree

/// One state of an index in a transaction.
final class StoredView: IndexView {
    private let snapshot: TextSnapshot
    private let index: TextIndex
    private let trees: TextTrees
    private let transaction: Transaction
    private let map: DocumentMap
    private let documentLengths: DocumentLengths
    /// The chunk of rows that was used last.
    private var chunk: (number: UInt32, rows: RowChunk)?
    private let rowTable: RowTable
    /// Whether any document has sections. Nil if unknown.
    private var hasSections: Bool?
    /// The sections that were used last.
    private let sectionTable: SectionTable
    private let sectionChunk = SectionChunk()
    /// Whether the rows of ascending documents ascend. Nil if unknown.
    private var knownRowsAscend: Bool?

    init(_ snapshot: TextSnapshot) throws(StorageError) {
        self.snapshot = snapshot
        let (statistics, transaction) = (snapshot.statistics, snapshot.transaction)
        (index, trees, self.transaction) = (snapshot.index, snapshot.trees, transaction)
        map = DocumentMap(index, trees, statistics, in: transaction)
        documentLengths = DocumentLengths(transaction: transaction, tree: trees.documents, index: index)
        sectionTable = SectionTable(transaction: transaction, tree: trees.documents, index: index)
        rowTable = RowTable(docnoLimit: snapshot.storedDocnoLimit)
        super.init(
            documentCount: statistics.documentCount, totalLength: statistics.totalLength,
            docnoLimit: statistics.nextDocno)
    }

    /// Forgets addresses that may have become invalid. Called when the transaction was suspended and sees the same
    /// state again.
    func letGoOfMovable() {
        chunk = nil
        sectionChunk.forget()
        lengthTable.forgetMovable()
    }

    override func postings(of term: [UInt8]) throws(StorageError) -> PostingSource? {
        guard !term.isEmpty else { return nil }
        return try term.withBytes { (bytes) throws(StorageError) -> PostingSource? in
            guard let found = try source(bytes) else { return nil }
            try check(documentFrequency: found.documentFrequency)
            return found
        }
    }

    private func source(_ term: Bytes) throws(StorageError) -> PostingSource? {
        let entry = try snapshot.entry(of: term)
        guard let added = snapshot.added(to: term) else {
            guard let entry else { return nil }
            return StoredSource(try snapshot.stored(entry))
        }
        return try snapshot.postings(entry, added).map { PendingSource($0) }
    }

    private func decodeInline(_ entry: TermEntry, _ buffer: inout PostingsBuffer) throws(StorageError) {
        guard entry.decodeInline(storesPositions: index.storesPositions, to: &buffer) else {
            throw index.unreadableEntry()
        }
    }

    /// Throws `.corrupt` if no list of an index with this many documents and tokens can have this frequency.
    private func check(documentFrequency: UInt32) throws(StorageError) {
        guard UInt64(documentFrequency) <= documentCount else {
            throw index.corrupt(index.statisticsName, "a term is in more documents than the index has")
        }
        guard totalLength > 0 else {
            throw index.corrupt(index.statisticsName, "the index has terms but no tokens")
        }
    }

    override func addPostings(
        _ prefix: [UInt8], to union: inout PostingUnion, accepts: (_ term: Bytes) -> Bool
    ) throws(StorageError) -> (terms: Int, first: [UInt8]) {
        let orderedPart = Array(prefix.prefix(TermDictionary.plainLimit))
        var buffer = PostingsBuffer()
        var (count, first): (Int, [UInt8]) = (0, [])
        var walk = try snapshot.terms(from: orderedPart)
        while try walk.next() {
            guard walk.withTerm({ $0.begins(with: orderedPart) }) else { break }
            guard walk.withTerm({ $0.begins(with: prefix) && accepts($0) }) else { continue }
            if count == 0 { first = walk.withTerm { [UInt8]($0) } }
            count += 1
            if !walk.isPlain {
                guard let postings = try walk.postings() else { continue }
                try check(documentFrequency: postings.documentFrequency)
                try union.add(PendingSource(postings), self)
            } else if let entry = try walk.entry() {
                try add(entry, to: &union, &buffer)
            }
        }
        return (count, first)
    }

    private func add(
        _ entry: TermEntry, to union: inout PostingUnion, _ buffer: inout PostingsBuffer
    ) throws(StorageError) {
        try check(documentFrequency: entry.documentFrequency)
        guard entry.listNumber == 0 else {
            return try union.add(StoredSource(try snapshot.stored(entry)), self)
        }
        buffer.removeAll()
        try decodeInline(entry, &buffer)
        try union.add(buffer, self)
    }

    override func forEachTerm(
        from start: [UInt8], _ body: (_ term: Bytes) throws(StorageError) -> Step
    ) throws(StorageError) {
        var walk = try snapshot.terms(from: start)
        var isThere = try walk.next()
        while isThere {
            switch try walk.withTerm(body) {
            case .next: isThere = try walk.next()
            case .seek(let target): isThere = try walk.seek(target)
            case .stop: return
            }
        }
    }

    override func findLengths(chunk: UInt32) throws(StorageError) -> UnsafeRawPointer {
        let size = 2 * DocumentLengths.chunkCapacity
        let stored = try documentLengths.stored(chunk)
        let first = chunk << DocumentLengths.chunkShift
        let range = first...(first | UInt32(DocumentLengths.chunkCapacity - 1))
        if stored == nil, !snapshot.documents.isAbout(range) { return LengthTable.empty }
        // Little-endian, like the machine.
        if let start = stored?.baseAddress, stored?.count == size, !snapshot.documents.isAbout(range) {
            if !transaction.stays(start) { lengthTable.noteMovable(Int(chunk)) }
            return start
        }
        let memory = lengthTable.makeRoom()
        let target = UnsafeMutableRawBufferPointer(start: memory, count: size)
        target.initializeMemory(as: UInt8.self, repeating: 0)
        if let stored { target.copyMemory(from: stored) }
        snapshot.documents.forEachDocument(in: range) {
            memory[Int($0.docno - first)] = UInt16(clamping: $0.newLength + 1)
        }
        return UnsafeRawPointer(memory)
    }

    override func length(of docno: UInt32) throws(StorageError) -> UInt32 {
        guard let length = try snapshot.length(of: docno) else {
            throw corrupt("document \(docno) has postings but is not in the index")
        }
        return length
    }

    override func row(of docno: UInt32) throws(StorageError) -> UInt64 {
        if docno >= snapshot.storedDocnoLimit { return try snapshot.row(of: docno) }
        if let row = rowTable[docno] { return row }
        let number = docno >> DocumentMap.chunkShift
        if let chunk, chunk.number == number, let row = chunk.rows.row(Int(docno) % DocumentMap.chunkCapacity) {
            return row
        }
        if let rows = try map.chunk(number) {
            chunk = (number, rows)
            rowTable.note(rows, number: number)
            if let row = rows.row(Int(docno) % DocumentMap.chunkCapacity) { return row }
        }
        return try map.row(of: docno)
    }

    override func docno(of row: UInt64) throws(StorageError) -> UInt32? { try snapshot.docno(of: row) }

    override func documents(of rows: [UInt64]) throws(StorageError) -> [UInt32] {
        try map.documents(of: rows, snapshot.documents)
    }

    override var rowsAscend: Bool {
        if let knownRowsAscend { return knownRowsAscend }
        let ascend = snapshot.rowsAscend
        knownRowsAscend = ascend
        return ascend
    }

    /// Calls `body` with the stored sections of a document, and its length. No bytes mean a single section.
    @inline(__always)
    private func withSections<Result>(
        of docno: UInt32, _ body: (Bytes, UInt32) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let stored = try storedLength(docno)
        let length = stored == DocumentLengths.escape ? try self.length(of: docno) : UInt32(stored) - 1
        guard try mayHaveSections() else { return try body(Bytes(start: nil, count: 0), length) }
        if let document = snapshot.documents.document(docno) {
            return try document.sections.withBytes { (bytes) throws(StorageError) in try body(bytes, length) }
        }
        return try body(try storedSections(docno), length)
    }

    private func storedSections(_ docno: UInt32) throws(StorageError) -> Bytes {
        let number = docno / SectionTable.chunkCapacity
        if sectionChunk.number != number { try sectionTable.load(number, into: sectionChunk) }
        return sectionChunk[docno]
    }

    private func mayHaveSections() throws(StorageError) -> Bool {
        if let hasSections { return hasSections }
        var cursor = try transaction.cursor(trees.documents)
        let isThere = try cursor.seek(DocumentKey.bytes(DocumentKey.sections, UInt32(0)))
        let isStored = isThere && cursor.key.first == DocumentKey.sections
        let found = isStored || snapshot.documents.hasSections
        hasSections = found
        return found
    }

    override func fieldStarts(_ docno: UInt32, _ starts: inout [UInt32]) throws(StorageError) {
        starts.removeAll(keepingCapacity: true)
        starts.append(0)
        try withSections(of: docno) { (sections, length) throws(StorageError) in
            guard !sections.isEmpty else { return starts.append(length) }
            var end: UInt32 = 0
            let fields = DocumentSections.forEach(in: sections) { field, tokens in
                // A field without sections begins where the next one begins.
                while starts.count <= field { starts.append(end) }
                end = end &+ tokens
                if starts.count == field + 1 { starts.append(end) } else { starts[field + 1] = end }
            }
            guard let fields, end == length else { throw sectionTable.unreadable() }
            while starts.count <= fields { starts.append(end) }
        }
    }

    override func findFieldLengths(
        _ chunk: UInt32, _ target: UnsafeMutablePointer<FieldLengthCache.Lengths>
    ) throws(StorageError) {
        guard try mayHaveSections() else {
            return target.update(repeating: FieldLengthCache.plain, count: FieldLengthCache.chunkCapacity)
        }
        let first = chunk * SectionTable.chunkCapacity
        try sectionTable.load(chunk, into: sectionChunk)
        for place in 0..<SectionTable.chunkCapacity {
            FieldLengthCache.note(sectionChunk[first + place], &target[Int(place)])
        }
        snapshot.documents.forEachDocument(in: first...(first | (SectionTable.chunkCapacity - 1))) { (document) in
            document.sections.withBytes { FieldLengthCache.note($0, &target[Int(document.docno - first)]) }
        }
    }

    override func isOneSection(_ docno: UInt32, _ first: UInt32, _ second: UInt32) throws(StorageError) -> Bool {
        guard first < second, try mayHaveSections() else { return true }
        return try withSections(of: docno) { (sections, length) throws(StorageError) in
            guard !sections.isEmpty else { return true }
            var end: UInt32 = 0
            var last: UInt32?
            let fields = DocumentSections.forEach(in: sections) { _, tokens in
                end = end &+ tokens
                if first < end, last == nil { last = end }
            }
            guard fields != nil, end == length else { throw sectionTable.unreadable() }
            return last.map { second < $0 } ?? false
        }
    }

    override func fieldTotals() throws(StorageError) -> [UInt64] {
        let totals = snapshot.statistics.fieldTotals
        guard totals.isSum(totalLength) else {
            throw index.corrupt(index.statisticsName, "the fields have another number of tokens than the documents")
        }
        return totals.tokens
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
        // The next block is found without a search.
        _ = target == blockLast &+ 1 ? try stored.nextBlock() : try stored.seekBlock(target)
        stand()
    }

    override func decodeBlock() throws(StorageError) {
        try stored.decode()
        blockFirst = stored.blockFirst
    }

    override var leaders: Leaders { stored.leaders }

    override var knownLast: UInt32 { stored.knownLast }

    override func forEachKnownBound(through last: UInt32, _ body: (Bound) -> Void) {
        stored.forEachKnownBound(through: last, body)
    }

    override func decodeDocuments(to docnos: UnsafeMutablePointer<UInt32>) throws(StorageError) {
        try stored.decodeDocuments(to: docnos)
    }

    override func decodeBlock(
        to docnos: UnsafeMutablePointer<UInt32>, _ frequencies: UnsafeMutablePointer<UInt32>
    ) throws(StorageError) {
        try stored.decode(to: docnos, frequencies)
    }

    override func readPositions(_ place: Int, _ positions: inout [UInt32]) throws(StorageError) {
        positions.removeAll(keepingCapacity: true)
        try stored.appendPositions(of: place, to: &positions)
    }

    override func readPositions(_ place: Int, into list: PositionList) throws(StorageError) {
        try stored.readPositions(of: place, into: list)
    }

    override var knowsFields: Bool { stored.knowsFields }
    override var fields: FieldBounds { stored.fields }
    override func blockFields() throws(StorageError) -> FieldBounds { try stored.blockFields() }

    override func readFields(_ wanted: FieldPlaces, into columns: FieldColumns) throws(StorageError) {
        try stored.readFields(wanted, into: columns)
    }
}

/// A term's postings, stored and pending.
final class PendingSource: PostingSource {
    private let postings: TermPostings

    init(_ postings: TermPostings) {
        self.postings = postings
        super.init(documentFrequency: postings.documentFrequency, bounds: postings.bounds, postings.docnos)
        stand()
    }

    private func stand() {
        isAtEnd = postings.isAtEnd
        (blockFirst, blockLast, count) = (postings.blockFirst, postings.blockLast, postings.count)
        (blockBound, secondBlockBound, isDecoded) = (postings.blockBound, postings.secondBlockBound, false)
        (docnos, frequencies) = (postings.docnos, postings.frequencies)
    }

    override func moveToBlock(_ target: UInt32) throws(StorageError) {
        _ = target == blockLast &+ 1 ? try postings.nextBlock() : try postings.seekBlock(target)
        stand()
    }

    override func decodeBlock() throws(StorageError) {
        try postings.decode()
        (blockFirst, count) = (postings.blockFirst, postings.count)
        (docnos, frequencies) = (postings.docnos, postings.frequencies)
    }

    override var leaders: Leaders { postings.leaders }

    override var knownLast: UInt32 { postings.knownLast }

    override func forEachKnownBound(through last: UInt32, _ body: (Bound) -> Void) {
        postings.forEachKnownBound(through: last, body)
    }

    override func decodeBlock(
        to docnos: UnsafeMutablePointer<UInt32>, _ frequencies: UnsafeMutablePointer<UInt32>
    ) throws(StorageError) {
        try postings.decode(to: docnos, frequencies)
        count = postings.count
    }

    override func readPositions(_ place: Int, _ positions: inout [UInt32]) throws(StorageError) {
        positions.removeAll(keepingCapacity: true)
        try postings.appendPositions(of: place, to: &positions)
    }

    override var knowsFields: Bool { postings.knowsFields }
    override var fields: FieldBounds { postings.fields }
    override func blockFields() throws(StorageError) -> FieldBounds { try postings.blockFields() }

    override func readFields(_ wanted: FieldPlaces, into columns: FieldColumns) throws(StorageError) {
        try postings.readFields(wanted, into: columns)
    }
}
