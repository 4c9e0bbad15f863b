// SPDX-License-Identifier: Apache-2.0
// The interface of an index for retrieval, in one state: terms with their postings, lengths, and the row of a document.
// Documents have dense numbers here, assigned when they were first added. Callers name them by rows.

import HornbeamPages

/// An index in one state. Abstract; belongs to one search at a time.
class IndexView {
    /// Number of all documents, including empty ones.
    final let documentCount: UInt64
    /// Number of tokens of all documents.
    final let totalLength: UInt64
    /// All document numbers are below this.
    final let docnoLimit: UInt32
    /// A cache of the lengths that were asked for.
    final let lengthTable: LengthTable

    init(documentCount: UInt64, totalLength: UInt64, docnoLimit: UInt32) {
        self.documentCount = documentCount
        self.totalLength = totalLength
        self.docnoLimit = docnoLimit
        lengthTable = LengthTable(docnoLimit: docnoLimit)
    }

    /// The next step of a walk through the vocabulary.
    enum Step {
        case next
        /// Continues at the first term that isn't below this one, which must be above the current term.
        case seek([UInt8])
        case stop
    }

    /// Returns the postings of a term, or nil if no document holds it.
    func postings(of term: [UInt8]) throws(StorageError) -> PostingSource? { nil }

    /// Calls `body` with each term from `start` on. Its bytes are valid during the call. Terms with the same first 200
    /// bytes may come in any order.
    func forEachTerm(
        from start: [UInt8], _ body: (_ term: Bytes) throws(StorageError) -> Step
    ) throws(StorageError) {}

    /// Calls `body` with each term that begins with `prefix`.
    final func forEachTerm(
        beginningWith prefix: [UInt8], _ body: (_ term: Bytes) throws(StorageError) -> Void
    ) throws(StorageError) {
        // Longer terms come in any order behind their first 200 bytes.
        let orderedPart = Array(prefix.prefix(TermDictionary.plainLimit))
        try forEachTerm(from: orderedPart) { (term) throws(StorageError) in
            guard term.begins(with: orderedPart) else { return .stop }
            if term.begins(with: prefix) { try body(term) }
            return .next
        }
    }

    /// Adds the postings of all terms that begin with `prefix` and that `accepts` takes. Returns how many terms there
    /// are, and the first of them.
    func addPostings(
        _ prefix: [UInt8], to union: inout PostingUnion, accepts: (_ term: Bytes) -> Bool
    ) throws(StorageError) -> (terms: Int, first: [UInt8]) {
        var found: [[UInt8]] = []
        try forEachTerm(beginningWith: prefix) { (term) throws(StorageError) in
            if accepts(term) { found.append([UInt8](term)) }
        }
        for term in found {
            if let source = try postings(of: term) { try union.add(source, self) }
        }
        return (found.count, found.first ?? [])
    }

    /// Binary logarithm of the number of documents whose lengths are loaded together.
    static let lengthsShift: UInt32 = DocumentLengths.chunkShift

    /// Returns the length + 1 of each document of a chunk as unaligned u16: 0 if there is no such document, 65,535 if
    /// the length is at least 65,534. Valid as long as the view is used. Called at most once for each chunk.
    func findLengths(chunk: UInt32) throws(StorageError) -> UnsafeRawPointer {
        let memory = lengthTable.makeRoom()
        memory.initialize(repeating: 0, count: DocumentLengths.chunkCapacity)
        return UnsafeRawPointer(memory)
    }

    /// Returns the lengths that `findLengths` finds for a chunk. They are found once and then cached.
    @inline(__always)
    final func lengths(chunk: UInt32) throws(StorageError) -> UnsafeRawPointer {
        guard Int(chunk) < lengthTable.chunkCount else { throw unknownDocument() }
        if let known = lengthTable[Int(chunk)] { return known }
        return try lengthsSlowly(chunk)
    }

    @inline(never)
    private final func lengthsSlowly(_ chunk: UInt32) throws(StorageError) -> UnsafeRawPointer {
        let found = try findLengths(chunk: chunk)
        lengthTable.keep(Int(chunk), found)
        return found
    }

    /// Returns the length + 1 of a document that has postings, 65,535 if the length is at least 65,534.
    @inline(__always)
    final func storedLength(_ docno: UInt32) throws(StorageError) -> UInt16 {
        let lengths = try lengths(chunk: docno &>> Self.lengthsShift)
        let place = Int(docno & UInt32(DocumentLengths.chunkCapacity - 1))
        let stored = lengths.loadUnaligned(fromByteOffset: 2 &* place, as: UInt16.self)
        guard stored > 0 else { throw unknownDocument() }
        return stored
    }

    /// Returns the number of tokens of a document with postings.
    @inline(__always)
    final func tokens(of docno: UInt32) throws(StorageError) -> Double {
        let stored = try storedLength(docno)
        return stored == DocumentLengths.escape ? Double(try length(of: docno)) : Double(stored) - 1
    }

    /// Average number of tokens of a document. 1 if there are no tokens, in which case nothing scores.
    final var averageLength: Double {
        let average = Double(totalLength) / Double(documentCount)
        return average > 0 ? average : 1
    }

    @inline(never)
    final func unknownDocument() -> StorageError { corrupt("a document has postings but is not in the index") }

    /// Returns the length of a document, however large.
    func length(of docno: UInt32) throws(StorageError) -> UInt32 { 0 }

    func row(of docno: UInt32) throws(StorageError) -> UInt64 { UInt64(docno) }
    func docno(of row: UInt64) throws(StorageError) -> UInt32? { nil }

    /// Returns the documents of these rows, ascending, possibly with some that have left. `rows` ascend strictly.
    func documents(of rows: [UInt64]) throws(StorageError) -> [UInt32] {
        var docnos: [UInt32] = []
        for row in rows {
            if let docno = try docno(of: row) { docnos.append(docno) }
        }
        return Set(docnos).sorted()
    }

    /// Whether the rows of ascending documents ascend.
    var rowsAscend: Bool { true }

    /// Sets `starts` to the positions where the document's fields begin, followed by their end: one more than fields.
    func fieldStarts(_ docno: UInt32, _ starts: inout [UInt32]) throws(StorageError) { starts = [0, .max] }

    /// A cache of the field lengths that were asked for.
    private final let fieldLengthCache = FieldLengthCache()

    /// Sets the field lengths of 64 documents that can be found together. Before the call, all of them are
    /// `FieldLengthCache.unknown`.
    func findFieldLengths(
        _ chunk: UInt32, _ target: UnsafeMutablePointer<FieldLengthCache.Lengths>
    ) throws(StorageError) {}

    /// Returns the tokens of a document of `length` tokens in each field slot. Returns nil if `fieldStarts` is needed.
    @inline(__always)
    final func fieldLengths(of docno: UInt32, _ length: UInt16) throws(StorageError) -> FieldLengthCache.Lengths? {
        let chunk = try fieldLengthCache.chunk(docno / SectionTable.chunkCapacity) { (target) throws(StorageError) in
            try findFieldLengths(docno / SectionTable.chunkCapacity, target)
        }
        let found = chunk[Int(docno % SectionTable.chunkCapacity)]
        if found == FieldLengthCache.plain { return FieldLengthCache.Lengths(length, 0, 0, 0) }
        // Lengths that don't fit or are damaged are looked up one by one.
        return found != FieldLengthCache.unknown && found.wrappedSum() == length ? found : nil
    }

    /// Whether two positions of a document, the first not behind the second, are in the same section.
    func isOneSection(_ docno: UInt32, _ first: UInt32, _ second: UInt32) throws(StorageError) -> Bool { true }

    /// Returns the tokens of each field in all documents.
    func fieldTotals() throws(StorageError) -> [UInt64] { [totalLength] }

    /// The error for bytes in the index's postings that this library can't have written.
    func corrupt(_ reason: String) -> StorageError { .corrupt(Corruption(tree: "postings", reason: reason)) }
}
