// SPDX-License-Identifier: Apache-2.0
// The first part of a check: the index by itself. It reads every entry, decodes every block with its positions, and
// compares everything that is stored twice: frequencies with postings, bounds with the values they bound, statistics
// with lengths, rows with documents, runs with the lists that own them.

import HornbeamPages
import HornbeamTree

/// Walks through all trees of an index and sums up their contents.
struct TextWalk {
    private var documentCount: UInt64 = 0
    private var totalLength: UInt64 = 0
    private var fieldTotals = FieldTotals()
    private var occurrences: UInt64 = 0
    private var runCount: UInt64 = 0

    private let index: TextIndex
    private let trees: TextTrees
    private let transaction: Transaction
    private let dictionary: TermDictionary
    private let pending: PendingWalk

    init(_ index: TextIndex, _ trees: TextTrees, _ pending: PendingWalk, in transaction: Transaction) {
        self.pending = pending
        self.index = index
        self.trees = trees
        self.transaction = transaction
        dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
    }

    mutating func run(_ statistics: TextStatistics, _ problems: inout TextProblems) throws(StorageError) {
        try walkTerms(statistics, &problems)
        try walkDocuments(statistics, &problems)
        try compareRuns(&problems)
        if documentCount != statistics.documentCount {
            problems.add("the statistics count \(statistics.documentCount) documents, there are \(documentCount)")
        }
        if totalLength != statistics.totalLength {
            problems.add("the statistics count \(statistics.totalLength) tokens, the documents have \(totalLength)")
        }
        if fieldTotals != statistics.fieldTotals {
            problems.add(
                "the statistics count \(statistics.fieldTotals.tokens) tokens in the fields, the documents have "
                    + "\(fieldTotals.tokens)")
        }
        // Terms behind the watermark lack occurrences of documents that are already folded.
        let expected = Int64(clamping: totalLength) &- pending.missingOccurrences()
        if Int64(clamping: occurrences) != expected {
            problems.add("the postings count \(occurrences) tokens, the documents have \(expected)")
        }
    }

    private func compareRuns(_ problems: inout TextProblems) throws(StorageError) {
        let stored = try transaction.count(trees.postings)
        if stored != runCount {
            problems.add("tree “\(index.postingsName)” has \(stored) runs, the terms own \(runCount)")
        }
        let positions = try transaction.count(trees.positions)
        if positions != (index.storesPositions ? runCount : 0) {
            problems.add("tree “\(index.positionsName)” has \(positions) runs, the terms own \(runCount)")
        }
    }

    private mutating func walkTerms(
        _ statistics: TextStatistics, _ problems: inout TextProblems
    ) throws(StorageError) {
        var lengths = LengthCache(DocumentLengths(transaction: transaction, tree: trees.documents, index: index))
        var ends = FieldEndCache(SectionTable(transaction: transaction, tree: trees.documents, index: index))
        var cursor = try transaction.cursor(trees.terms)
        while try cursor.next(), !problems.isFull {
            do {
                let (term, entry) = try dictionary.read(cursor)
                try walkTerm(term, entry, &lengths, &ends, &problems)
                if entry.listNumber >= statistics.nextListNumber {
                    problems.add(
                        "\(Self.name(term)) has posting list \(entry.listNumber), a number that was never used")
                }
                // A term must be found under its key.
                if TermDictionary.isLong(cursor.key) {
                    let found = try term.withBytes { (bytes) throws(StorageError) in
                        try dictionary.findLong(bytes).key
                    }
                    if !cursor.key.elementsEqual(found) {
                        problems.add("\(Self.name(term)) has a wrong key in tree “\(index.termsName)”")
                    }
                } else if term.count > TermDictionary.plainLimit {
                    problems.add("tree “\(index.termsName)” has the wrong kind of key for \(Self.name(term))")
                }
            } catch {
                try problems.collect { () throws(StorageError) in throw error }
            }
        }
    }

    private mutating func walkTerm(
        _ term: [UInt8], _ entry: TermEntry, _ lengths: inout LengthCache, _ ends: inout FieldEndCache,
        _ problems: inout TextProblems
    ) throws(StorageError) {
        let columns = FieldColumns()
        let postings = try StoredPostings(entry, index: index, trees: trees, in: transaction)
        var documents: UInt64 = 0
        var frequencies: UInt64 = 0
        var positions: [UInt32] = []
        var candidates: [Bound] = []
        let superseded = pending.superseded(for: term)
        while !postings.isAtEnd {
            try postings.decode()
            documents += UInt64(postings.count)
            let fields = postings.knowsFields ? try postings.blockFields() : FieldBounds()
            if postings.knowsFields { try postings.readFields(.all, into: columns) }
            for place in 0..<postings.count {
                let docno = postings.docnos[place]
                if superseded.contains(docno) {
                    frequencies += UInt64(postings.frequencies[place])
                    continue
                }
                let bound = Bound(frequency: postings.frequencies[place], length: try lengths.length(of: docno))
                frequencies += UInt64(bound.frequency)
                if entry.leaders.pairs.contains(where: { $0.frequency == bound.frequency }) { candidates.append(bound) }
                let isBound = postings.blockBound.covers(bound) || postings.secondBlockBound.covers(bound)
                if !isBound || !postings.bounds.contains(where: { $0.covers(bound) }) {
                    problems.add("\(Self.name(term)) has a posting that its bounds don't cover, in document \(docno)")
                }
                guard index.storesPositions else { continue }
                positions.removeAll(keepingCapacity: true)
                try postings.appendPositions(of: place, to: &positions)
                if let last = positions.last, last >= bound.length {
                    problems.add("\(Self.name(term)) has a position after the end of document \(docno)")
                }
                guard postings.knowsFields else { continue }
                let counts = columns.counts(place, fields.places)
                if try ends.ends(of: docno).counts(positions) != counts {
                    problems.add("the recorded fields of \(Self.name(term)) in document \(docno) are wrong")
                }
                if !fields.covers(counts, length: bound.length) || !postings.fields.covers(counts, length: bound.length)
                {
                    problems.add(
                        "\(Self.name(term)) has a posting that the bounds of fields don't cover, in document \(docno)")
                }
            }
            _ = try postings.nextBlock()
        }
        if superseded.isEmpty, !entry.leaders.areAmong(candidates) {
            problems.add("the bounds of \(Self.name(term)) promise better postings than it has")
        }
        occurrences += frequencies
        runCount += postings.runCount
        if documents != UInt64(entry.documentFrequency) || frequencies != entry.collectionFrequency {
            problems.add(
                "\(Self.name(term)) should be \(entry.collectionFrequency) times in \(entry.documentFrequency) "
                    + "documents, its postings have it \(frequencies) times in \(documents)")
        }
    }

    static func name(_ term: [UInt8]) -> String { "term “\(String(decoding: term.prefix(100), as: UTF8.self))”" }
}

// The documents tree.
extension TextWalk {
    private mutating func walkDocuments(
        _ statistics: TextStatistics, _ problems: inout TextProblems
    ) throws(StorageError) {
        var documents = DocumentWalk(index, trees, statistics, in: transaction)
        try documents.run(&problems)
        (documentCount, totalLength) = (documents.count, documents.totalLength)
        fieldTotals = documents.fieldTotals
    }
}

/// Walks through the documents tree: lengths, sections, rows.
private struct DocumentWalk {
    var count: UInt64 = 0
    var totalLength: UInt64 = 0
    var fieldTotals = FieldTotals()
    private var longLengths: Int64 = 0
    private var exceptions: Int64 = 0
    private var largestRow: UInt64?

    private let index: TextIndex
    private let statistics: TextStatistics
    private let trees: TextTrees
    private let transaction: Transaction
    private let lengths: DocumentLengths
    private let map: DocumentMap

    init(_ index: TextIndex, _ trees: TextTrees, _ statistics: TextStatistics, in transaction: Transaction) {
        self.index = index
        self.trees = trees
        self.statistics = statistics
        self.transaction = transaction
        lengths = DocumentLengths(transaction: transaction, tree: trees.documents, index: index)
        map = DocumentMap(index, trees, statistics, in: transaction)
    }

    mutating func run(_ problems: inout TextProblems) throws(StorageError) {
        var cursor = try transaction.cursor(trees.documents)
        while try cursor.next(), !problems.isFull {
            let key = [UInt8](cursor.key)
            let value = [UInt8](cursor.value)
            try problems.collect { () throws(StorageError) in
                try value.withBytes { (value) throws(StorageError) in
                    try key.withBytes { (key) throws(StorageError) in try walk(key, value) }
                }
            }
        }
        guard !problems.isFull else { return }
        if longLengths != 0 {
            problems.add("tree “\(index.documentsName)” doesn't have large lengths for just the long documents")
        }
        if exceptions != Int64(clamping: statistics.exceptionCount) {
            problems.add(
                "the statistics count \(statistics.exceptionCount) rows out of order, there are \(exceptions)")
        }
        if let largestRow, statistics.largestRow.map({ $0 < largestRow }) ?? true {
            problems.add("the largest row of the statistics is below \(largestRow)")
        }
    }

    private mutating func walk(_ key: Bytes, _ value: Bytes) throws(StorageError) {
        switch (key.first, key.count) {
        case (DocumentKey.lengths, 5):
            if let chunk = key.bigEndian(at: 1, as: UInt32.self) { try walkLengths(chunk) }
        case (DocumentKey.longLength, 5): longLengths -= 1
        case (DocumentKey.sections, 5):
            if let chunk = key.bigEndian(at: 1, as: UInt32.self) { try walkSections(chunk, value) }
        case (DocumentKey.rows, 5): try walkRows(value)
        case (DocumentKey.fingerprints, 5):
            guard DocumentFingerprints.isEntry(value) else { throw corrupt("has fingerprints that are not readable") }
        case (DocumentKey.exception, 9):
            if let row = key.bigEndian(at: 1, as: UInt64.self) { try walkException(row) }
        default: throw corrupt("has an unknown key")
        }
    }

    private mutating func walkLengths(_ chunk: UInt32) throws(StorageError) {
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: DocumentLengths.chunkCapacity)
        defer { places.deallocate() }
        try lengths.load(chunk: chunk, to: places)
        for place in 0..<DocumentLengths.chunkCapacity where places[place] > 0 {
            count += 1
            totalLength += UInt64(places[place] - 1)
            // Counted as a document of one field. Corrected when its sections are read, if it has any.
            _ = fieldTotals.add(Int64(places[place] - 1), Bytes(start: nil, count: 0))
            if places[place] >= UInt32(DocumentLengths.escape) { longLengths += 1 }
            let docno = UInt64(chunk) << UInt64(DocumentLengths.chunkShift) + UInt64(place)
            guard docno < UInt64(statistics.nextDocno) else {
                throw corrupt("has documents with numbers that were never used")
            }
            let row = try map.row(of: UInt32(docno))
            guard try map.docno(of: row) == UInt32(docno) else {
                throw corrupt("doesn't lead from row \(row) to its document \(docno)")
            }
        }
    }

    private mutating func walkSections(_ chunk: UInt32, _ value: Bytes) throws(StorageError) {
        let table = SectionTable(transaction: transaction, tree: trees.documents, index: index)
        try table.forEach(value) { (place, bytes) throws(StorageError) in
            let docno = UInt64(chunk) * UInt64(SectionTable.chunkCapacity) + UInt64(place)
            let length = docno < UInt64(statistics.nextDocno) ? try lengths.length(of: UInt32(docno)) : nil
            guard let sections = DocumentSections(bytes), let length, sections.length == UInt64(length) else {
                throw corrupt("has sections of document \(docno) that don't add up to its tokens")
            }
            _ = fieldTotals.remove(Int64(length), Bytes(start: nil, count: 0))
            _ = fieldTotals.add(Int64(length), bytes)
        }
    }

    private mutating func walkRows(_ value: Bytes) throws(StorageError) {
        guard let chunk = RowChunk(value) else { throw corrupt("has an entry of rows that is not readable") }
        if let before = chunk.before, before < largestRow ?? 0 { throw corrupt("has rows that don't ascend") }
        for place in chunk.places where !chunk.isException(place) {
            guard let row = chunk.row(place), chunk.before.map({ $0 < row }) ?? true,
                largestRow.map({ $0 < row }) ?? true
            else { throw corrupt("has rows that don't ascend") }
            largestRow = row
        }
    }

    private mutating func walkException(_ row: UInt64) throws(StorageError) {
        exceptions += 1
        guard let docno = try map.exception(row), try lengths.length(of: docno) != nil, try map.row(of: docno) == row
        else { throw corrupt("lists row \(row) as out of order, but no document has it") }
    }

    private func corrupt(_ reason: String) -> StorageError { index.corrupt(index.documentsName, reason) }
}
