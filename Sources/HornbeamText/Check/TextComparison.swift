// SPDX-License-Identifier: Apache-2.0
// The second part of a check: each document's text against the index. What the text makes is looked for; that nothing
// else is there follows from the numbers of postings and documents.

import HornbeamPages
import HornbeamTree

/// Compares batches of texts with an index.
struct TextComparison: ~Copyable {
    private let index: TextIndex
    private let trees: TextTrees
    private let transaction: Transaction
    private let map: DocumentMap
    private let lengths: DocumentLengths
    private let sections: SectionTable
    private var buffer = ChangeBuffer()
    private var changes = TermChanges()
    private var tokenizer: Tokenizer
    private var positions: [UInt32] = []
    /// Documents that were given, by number: a bit each.
    private var given: [UInt64] = []
    private var documentCount: UInt64 = 0
    private var postingCount: UInt64 = 0

    init(_ index: TextIndex, _ trees: TextTrees, _ statistics: TextStatistics, in transaction: Transaction) {
        self.index = index
        self.trees = trees
        self.transaction = transaction
        map = DocumentMap(index, trees, statistics, in: transaction)
        lengths = DocumentLengths(transaction: transaction, tree: trees.documents, index: index)
        sections = SectionTable(transaction: transaction, tree: trees.documents, index: index)
        tokenizer = Tokenizer(index.analyzer)
    }

    /// Bytes that texts not yet compared take.
    var size: Int { buffer.size }

    mutating func add(_ row: UInt64, _ text: DocumentText, _ problems: inout TextProblems) throws(StorageError) {
        var found: UInt32?
        try problems.collect { () throws(StorageError) in found = try map.docno(of: row) }
        guard let docno = found else { return problems.add("document \(row) is missing") }
        guard note(docno) else { return problems.add("document \(row) was given twice to the check") }
        documentCount += 1
        let place = buffer.addDocument(row, docno)
        let made = text.add(to: &buffer, at: place, index.analyzer, &tokenizer)
        try problems.collect { () throws(StorageError) in
            let stored = try lengths.length(of: docno)
            guard stored == UInt32(truncatingIfNeeded: made.length) else {
                throw corrupt(
                    "document \(row) has \(stored.map { "\($0)" } ?? "no") tokens, its text has \(made.length)")
            }
            guard try sections.sections(of: docno, length: stored ?? 0) == made else {
                throw corrupt("the tokens of document \(row) are divided otherwise than its texts")
            }
        }
    }

    /// False if the document was noted before.
    private mutating func note(_ docno: UInt32) -> Bool {
        let word = Int(docno >> 6)
        if word >= given.count { given += Array(repeating: 0, count: max(word + 1 - given.count, given.count)) }
        let bit: UInt64 = 1 << UInt64(docno & 63)
        defer { given[word] |= bit }
        return given[word] & bit == 0
    }

    /// Compares what was added since the last time.
    mutating func compare(_ problems: inout TextProblems) throws(StorageError) {
        let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            _ = buffer.collect(term, to: &changes)
            postingCount += UInt64(changes.count)
            if problems.isFull { continue }
            let bytes = buffer.withTerm(term) { [UInt8]($0) }
            do throws(StorageError) {
                let entry = try bytes.withBytes { (bytes) throws(StorageError) in try dictionary.find(bytes) }
                guard let entry else {
                    let row = try map.row(of: changes.postings.docnos[0])
                    throw corrupt("\(TextWalk.name(bytes)) of document \(row) is missing")
                }
                try compare(TextWalk.name(bytes), entry)
            } catch {
                try problems.collect { () throws(StorageError) in throw error }
            }
        }
        buffer.removeAll()
    }

    private mutating func compare(_ name: String, _ entry: TermEntry) throws(StorageError) {
        let postings = try PostingIterator(entry, index: index, trees: trees, in: transaction)
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
            for found in positions {
                guard found == changes.postings.positions[position] else {
                    throw corrupt("\(name) is not where it is said to stand in document \(docno)")
                }
                position += 1
            }
        }
    }

    func compareTotals(_ walk: TextWalk, _ problems: inout TextProblems) {
        if walk.documentCount != documentCount {
            problems.add("the index has \(walk.documentCount) documents, there are \(documentCount)")
        }
        if walk.postingCount != postingCount {
            problems.add("the index has \(walk.postingCount) postings, the texts make \(postingCount)")
        }
    }

    private func corrupt(_ reason: String) -> StorageError { index.corrupt(index.postingsName, reason) }
}
