// SPDX-License-Identifier: Apache-2.0
// The second part of a check: each document's text against the index. The postings of each text are looked up. The
// numbers of postings and documents prove that there are no others.
// there are no others follows from the numbers of postings and documents.

import HornbeamPages
import HornbeamTree

/// Compares batches of texts with an index.
struct TextComparison: ~Copyable {
    private let snapshot: TextSnapshot
    private var buffer = ChangeBuffer()
    private var changes = TermChanges()
    private var tokenizer: Tokenizer
    private var positions: [UInt32] = []
    /// The documents that were given, as a bit set in words of 64. A dictionary, because the numbers in a damaged file
    /// may be anything.
    private var given: [UInt32: UInt64] = [:]
    private var documentCount: UInt64 = 0
    private var postingCount: UInt64 = 0

    init(_ snapshot: TextSnapshot) {
        self.snapshot = snapshot
        tokenizer = Tokenizer(snapshot.index.analyzer)
    }

    private var index: TextIndex { snapshot.index }

    /// Memory for texts not yet compared, in bytes.
    var size: Int { buffer.size }

    mutating func add(_ row: UInt64, _ text: DocumentText, _ problems: inout TextProblems) throws(StorageError) {
        var found: UInt32?
        try problems.collect { () throws(StorageError) in found = try snapshot.docno(of: row) }
        guard let docno = found else { return problems.add("document \(row) is missing") }
        guard note(docno) else { return problems.add("document \(row) was given twice to the check") }
        documentCount += 1
        let place = buffer.addDocument(row, docno)
        let made = text.add(to: &buffer, at: place, &tokenizer)
        try problems.collect { () throws(StorageError) in
            let found = try snapshot.row(of: docno)
            guard found == row else { throw corrupt("document \(row) has the number of document \(found)") }
            let stored = try snapshot.length(of: docno)
            guard stored == UInt32(truncatingIfNeeded: made.length) else {
                throw corrupt(
                    "document \(row) has \(stored.map { "\($0)" } ?? "no") tokens, its text has \(made.length)")
            }
            guard try snapshot.fingerprint(of: docno) == text.fingerprint else {
                throw corrupt("the fingerprint of document \(row) is not that of its text")
            }
            guard try snapshot.sections(of: docno, length: stored ?? 0) == made else {
                throw corrupt("the fields of document \(row) have other numbers of tokens than its texts")
            }
        }
    }

    /// Notes a document. Returns false if it was noted before.
    private mutating func note(_ docno: UInt32) -> Bool {
        let bit: UInt64 = 1 << UInt64(docno & 63)
        let others = given[docno >> 6, default: 0]
        given[docno >> 6] = others | bit
        return others & bit == 0
    }

    /// Compares the texts that were added since the last call.
    mutating func compare(_ problems: inout TextProblems) throws(StorageError) {
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            _ = buffer.collect(term, to: &changes)
            postingCount += UInt64(changes.count)
            if problems.isFull { continue }
            let bytes = buffer.withTerm(term) { [UInt8]($0) }
            do throws(StorageError) {
                let postings = try bytes.withBytes { (bytes) throws(StorageError) in try snapshot.postings(of: bytes) }
                guard let postings else {
                    let row = try snapshot.row(of: changes.postings.docnos[0])
                    throw corrupt("\(TextWalk.name(bytes)) of document \(row) is missing")
                }
                try compare(TextWalk.name(bytes), try PostingIterator(postings))
            } catch {
                try problems.collect { () throws(StorageError) in throw error }
            }
        }
        buffer.removeAll()
    }

    private mutating func compare(_ name: String, _ postings: PostingIterator) throws(StorageError) {
        var position = 0
        for place in 0..<changes.count {
            let (docno, frequency) = (changes.postings.docnos[place], changes.postings.frequencies[place])
            try postings.advance(to: docno)
            let found = postings.current == docno ? postings.frequency : 0
            guard found == frequency else {
                throw corrupt("\(name) stands \(frequency) times in document \(docno), not \(found) times")
            }
            guard index.storesPositions else { continue }
            positions.removeAll(keepingCapacity: true)
            try postings.appendPositions(to: &positions)
            guard positions.count == Int(frequency) else {
                throw corrupt("\(name) has \(positions.count) positions in document \(docno), not \(frequency)")
            }
            for found in positions {
                guard found == changes.postings.positions[position] else {
                    throw corrupt("the positions of \(name) in document \(docno) are not those in its text")
                }
                position += 1
            }
        }
    }

    func compareTotals(_ problems: inout TextProblems) throws(StorageError) {
        if snapshot.statistics.documentCount != documentCount {
            problems.add("the index has \(snapshot.statistics.documentCount) documents, there are \(documentCount)")
        }
        var stored: UInt64 = 0
        try problems.collect { () throws(StorageError) in
            try snapshot.forEachTerm(from: []) { (_, documents, _) throws(StorageError) in
                stored += documents
                return true
            }
        }
        if stored != postingCount {
            problems.add("the index has \(stored) postings, the texts make \(postingCount)")
        }
    }

    private func corrupt(_ reason: String) -> StorageError { index.corrupt(index.postingsName, reason) }
}
