// SPDX-License-Identifier: Apache-2.0
// The first part of a check: the index by itself. Every entry is read, every block decoded, and all that is stored
// twice is compared: frequencies with postings, statistics with lengths, blocks with the lists that own them.

import HornbeamPages
import HornbeamTree

/// Walks through all trees of an index and sums up what they hold.
struct TextWalk {
    private(set) var documentCount: UInt64 = 0
    private(set) var postingCount: UInt64 = 0
    private var totalLength: UInt64 = 0
    private var occurrences: UInt64 = 0
    private var blockCount: UInt64 = 0

    private let index: TextIndex
    private let trees: TextTrees
    private let transaction: Transaction
    private let dictionary: TermDictionary

    init(_ index: TextIndex, _ trees: TextTrees, in transaction: Transaction) {
        self.index = index
        self.trees = trees
        self.transaction = transaction
        dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
    }

    mutating func run(_ statistics: TextStatistics, _ problems: inout TextProblems) throws(StorageError) {
        try walkTerms(statistics, &problems)
        try walkLengths(&problems)
        let stored = try transaction.count(trees.postings)
        if stored != blockCount {
            problems.add("tree “\(index.postingsName)” has \(stored) blocks, the terms own \(blockCount)")
        }
        if documentCount != statistics.documentCount {
            problems.add("the statistics count \(statistics.documentCount) documents, there are \(documentCount)")
        }
        if totalLength != statistics.totalLength {
            problems.add("the statistics count \(statistics.totalLength) tokens, the documents have \(totalLength)")
        }
        if occurrences != totalLength {
            problems.add("the postings count \(occurrences) tokens, the documents have \(totalLength)")
        }
    }

    private mutating func walkTerms(
        _ statistics: TextStatistics, _ problems: inout TextProblems
    ) throws(StorageError) {
        var cursor = try transaction.cursor(trees.terms)
        while try cursor.next(), !problems.isFull {
            do {
                let (term, entry) = try dictionary.read(cursor)
                try walkTerm(term, entry, &problems)
                if entry.listNumber >= statistics.nextListNumber {
                    problems.add("\(Self.name(term)) has list \(entry.listNumber), which was not given out yet")
                }
                // A term must be found where it stands.
                if TermDictionary.isLong(cursor.key) {
                    let found = try term.withBytes { (bytes) throws(StorageError) in try dictionary.findLong(bytes).key
                    }
                    if !cursor.key.elementsEqual(found) {
                        problems.add("\(Self.name(term)) stands under a wrong key of tree “\(index.termsName)”")
                    }
                } else if term.count > TermDictionary.plainLimit {
                    problems.add("tree “\(index.termsName)” has a key that no term has: \(Self.name(term))")
                }
            } catch {
                try problems.collect { () throws(StorageError) in throw error }
            }
        }
    }

    private mutating func walkTerm(
        _ term: [UInt8], _ entry: TermEntry, _ problems: inout TextProblems
    ) throws(StorageError) {
        let postings = try PostingIterator(entry, index: index, trees: trees, in: transaction)
        var documents: UInt64 = 0
        var frequencies: UInt64 = 0
        while postings.current != nil {
            documents += 1
            frequencies += UInt64(postings.frequency)
            try postings.next()
        }
        postingCount += documents
        occurrences += frequencies
        blockCount += postings.blockCount
        if documents != entry.documentFrequency || frequencies != entry.collectionFrequency {
            problems.add(
                "\(Self.name(term)) is said to stand \(entry.collectionFrequency) times in \(entry.documentFrequency) "
                    + "documents, its postings say \(frequencies) times in \(documents)")
        }
    }

    private mutating func walkLengths(_ problems: inout TextProblems) throws(StorageError) {
        let lengths = FieldLengths(transaction: transaction, tree: trees.lengths, index: index)
        let capacity = Int(FieldLengths.chunkCapacity)
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
        defer { places.deallocate() }
        var escapes: Int64 = 0
        var cursor = try transaction.cursor(trees.lengths)
        while try cursor.next(), !problems.isFull {
            let key = cursor.key
            if key.count == 9, key.first == 1 {
                escapes -= 1
            } else if key.count == 8, key.first == 0, let chunk = key.bigEndian(at: 0, as: UInt64.self) {
                try problems.collect { () throws(StorageError) in try lengths.load(chunk: chunk, to: places) }
                for place in 0..<capacity where places[place] > 0 {
                    documentCount += 1
                    totalLength += UInt64(places[place] - 1)
                    if places[place] >= UInt32(FieldLengths.escape) { escapes += 1 }
                }
            } else {
                problems.add("tree “\(index.lengthsName)” has a key that is no document's")
            }
        }
        if escapes != 0 { problems.add("tree “\(index.lengthsName)” has large lengths of documents that have none") }
    }

    static func name(_ term: [UInt8]) -> String { "term “\(String(decoding: term.prefix(100), as: UTF8.self))”" }
}
