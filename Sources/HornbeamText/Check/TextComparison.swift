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
    private var buffer = ChangeBuffer()
    private var documentCount: UInt64 = 0
    private var postingCount: UInt64 = 0

    init(_ index: TextIndex, _ trees: TextTrees, in transaction: Transaction) {
        self.index = index
        self.trees = trees
        self.transaction = transaction
    }

    /// Bytes that texts not yet compared take.
    var size: Int { buffer.size }

    mutating func add(_ docno: UInt64, _ text: String, _ problems: inout TextProblems) {
        guard buffer.place(of: docno) == nil else {
            problems.add("document \(docno) was given twice to the check")
            return
        }
        documentCount += 1
        var tokenizer = Tokenizer(index.analyzer)
        let place = buffer.addDocument(docno)
        var text = text
        let length = text.withUTF8 { buffer.count(Bytes($0), document: place, difference: 1, &tokenizer) }
        buffer.setNewLength(length, at: place)
    }

    /// Compares what was added since the last time.
    mutating func compare(_ problems: inout TextProblems) throws(StorageError) {
        try compareLengths(&problems)
        let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            let changes = buffer.collect(term)
            postingCount += UInt64(changes.count)
            if problems.isFull { continue }
            let bytes = buffer.withTerm(term) { [UInt8]($0) }
            try problems.collect { () throws(StorageError) in
                let entry = try bytes.withBytes { (bytes) throws(StorageError) in try dictionary.find(bytes) }
                guard let entry else {
                    throw corrupt("\(TextWalk.name(bytes)) of document \(changes[0].docno) is missing")
                }
                try compare(TextWalk.name(bytes), entry, changes)
            }
        }
        buffer.removeAll()
    }

    private func compare(
        _ name: String, _ entry: TermEntry, _ changes: [PostingChange]
    ) throws(StorageError) {
        let postings = try PostingIterator(entry, index: index, trees: trees, in: transaction)
        for change in changes {
            try postings.advance(to: change.docno)
            let found = postings.current == change.docno ? Int64(postings.frequency) : 0
            guard found == change.difference else {
                throw corrupt(
                    "\(name) stands \(change.difference) times in document \(change.docno), not \(found) times")
            }
            guard Int64(postings.shortestLength) <= change.length else {
                throw corrupt("\(name) has a block that takes document \(change.docno) for longer than it is")
            }
        }
    }

    private func compareLengths(_ problems: inout TextProblems) throws(StorageError) {
        let reader = FieldLengths(transaction: transaction, tree: trees.lengths, index: index)
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: Int(FieldLengths.chunkCapacity))
        defer { places.deallocate() }
        var loaded: UInt64?
        for document in buffer.documents.sorted() where !problems.isFull {
            if loaded != document.docno >> 8 {
                loaded = document.docno >> 8
                try problems.collect { () throws(StorageError) in
                    try reader.load(chunk: document.docno >> 8, to: places)
                }
            }
            let stored = Int64(places[Int(document.docno & 255)]) - 1
            if stored != document.newLength {
                let what = stored < 0 ? "is missing" : "has \(stored) tokens"
                problems.add("document \(document.docno) \(what), its text has \(document.newLength) tokens")
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
