// SPDX-License-Identifier: Apache-2.0
// An index as one state of a transaction has it: what is stored and what is pending, read as one. Whoever searches asks
// here and need not know what is folded already.

import HornbeamPages
import HornbeamTree

/// An opened index. A value; one thread at a time, as its transaction.
struct TextSnapshot {
    let index: TextIndex
    let transaction: Transaction
    let trees: TextTrees
    /// Of the whole index, what is pending included.
    let statistics: TextStatistics
    /// What is pending for terms that lack the batch that is being folded, and for those that have it.
    private let pending: PendingView
    private let watermark: [UInt8]
    private let map: DocumentMap
    private let lengths: DocumentLengths
    private let dictionary: TermDictionary

    /// Nil if nothing was ever written to the index. Throws what `TextIndex.open` throws.
    init?(_ index: TextIndex, in transaction: Transaction) throws(StorageError) {
        guard let opened = try index.open(in: transaction) else { return nil }
        try self.init(index, opened.trees, opened.statistics, in: transaction)
    }

    init(
        _ index: TextIndex, _ trees: TextTrees, _ stored: TextStatistics, in transaction: Transaction
    ) throws(StorageError) {
        let state = try PendingState(index, trees, stored, in: transaction)
        self.init(state, try state.view(in: transaction), in: transaction)
    }

    /// - Parameter pending: of the state, or of some of its records.
    init(_ state: PendingState, _ pending: PendingView, in transaction: Transaction) {
        (index, trees, statistics) = (state.index, state.trees, state.statistics)
        self.transaction = transaction
        self.pending = pending
        watermark = state.fold.batch?.watermark ?? []
        map = DocumentMap(index, trees, state.statistics, in: transaction)
        lengths = DocumentLengths(transaction: transaction, tree: trees.documents, index: index)
        dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
    }

    /// What is pending beside the postings: that has all of a batch that is being folded.
    var documents: PendingPart { pending.later }

    /// What is pending for a term.
    private func part(_ term: Bytes) -> PendingPart {
        if pending.later === pending.whole { return pending.whole }
        return lacksBatch(term) ? pending.whole : pending.later
    }

    /// Whether a batch is being folded that the stored postings of the term don't have yet.
    func lacksBatch(_ term: Bytes) -> Bool {
        pending.later !== pending.whole && watermark.withBytes { term.order($0) > 0 }
    }

    /// What is pending of a document, for terms that have that batch and for those that lack it.
    func newestSegments(about docno: UInt32) -> (later: PendingSegment?, whole: PendingSegment?) {
        (pending.later.newestSegment(about: docno), pending.whole.newestSegment(about: docno))
    }

    // MARK: Terms

    /// How many documents hold the term, and how often they do.
    func frequencies(of term: Bytes) throws(StorageError) -> (documents: UInt64, occurrences: UInt64) {
        let entry = term.isEmpty ? nil : try dictionary.find(term)
        let added = part(term).postings(of: term)
        return try Self.frequencies(entry, added, index)
    }

    private static func frequencies(
        _ entry: TermEntry?, _ added: PendingPostings, _ index: TextIndex
    ) throws(StorageError) -> (documents: UInt64, occurrences: UInt64) {
        let (documents, occurrences) = (UInt64(entry?.documentFrequency ?? 0), entry?.collectionFrequency ?? 0)
        guard documents >= added.removedDocuments, occurrences >= added.removedOccurrences else {
            throw index.corrupt(index.pendingName, "pending records take more postings away than are stored")
        }
        return (
            documents - added.removedDocuments + UInt64(added.docnos.count),
            occurrences - added.removedOccurrences + added.occurrences
        )
    }

    /// The term's postings, nil if no document holds it.
    func postings(of term: Bytes) throws(StorageError) -> TermPostings? {
        let stored = try storedPostings(of: term)
        let part = part(term)
        return try TermPostings.merging(
            stored, part.postings(of: term), superseded: part.superseded, index: index)
    }

    /// Whether anything is pending for any term.
    var hasPending: Bool { !pending.whole.isEmpty }

    /// Whether nothing pending bears on the term, so that its stored postings are all.
    func isPlain(_ term: Bytes) -> Bool { !hasPending || part(term).isEmpty }

    func storedPostings(of term: Bytes) throws(StorageError) -> StoredPostings? {
        guard !term.isEmpty, let entry = try dictionary.find(term) else { return nil }
        return try StoredPostings(entry, index: index, trees: trees, in: transaction)
    }

    /// Calls `body` with each term from `start` on that a document holds, with how many hold it and how often; until it
    /// returns false.
    func forEachTerm(
        from start: [UInt8],
        _ body: (_ term: Bytes, _ documents: UInt64, _ occurrences: UInt64) throws(StorageError) -> Bool
    ) throws(StorageError) {
        try walkTerms(from: start) { (term, entry, added) throws(StorageError) in
            let found = try Self.frequencies(entry, added, index)
            let goesOn = try term.withBytes { (bytes) throws(StorageError) in
                try body(bytes, found.documents, found.occurrences)
            }
            return goesOn ? .next : .stop
        }
    }

    /// Calls `body` with each term from `start` on that a document holds, with its stored entry and what is pending of
    /// it. Those that agree in their first 200 bytes come in any order.
    func walkTerms(
        from start: [UInt8],
        _ body: (_ term: [UInt8], _ entry: TermEntry?, _ added: PendingPostings) throws(StorageError) -> IndexView.Step
    ) throws(StorageError) {
        var cursor = try transaction.cursor(trees.terms)
        var isThere = try start.isEmpty ? cursor.first() : cursor.seek(start)
        var pending = self.pending.whole.terms()
        start.withBytes { pending.seek($0) }
        var hasPending = pending.advance()
        while isThere || hasPending {
            var (term, entry): ([UInt8], TermEntry?) = ([], nil)
            if isThere { (term, entry) = try dictionary.read(cursor) }
            // A long term stands by its first 200 bytes, before which all others that are less have come.
            let order: Int =
                !isThere ? 1 : !hasPending ? -1 : term.withBytes { term in pending.withText { term.order($0) } }
            if order > 0 { (term, entry) = (pending.withText { [UInt8]($0) }, nil) }
            if order <= 0 { isThere = try cursor.next() }
            if order >= 0 { hasPending = pending.advance() }
            let isLong = term.count > TermDictionary.plainLimit
            // A stored one that stands elsewhere is told when its place comes.
            if isLong, order > 0, try isStored(term) { continue }
            let isPending = order >= 0 || isLong
            let added = isPending ? term.withBytes { part($0).postings(of: $0) } : PendingPostings.none
            if try Self.frequencies(entry, added, index).documents == 0 { continue }
            switch try body(term, entry, added) {
            case .next: continue
            case .seek(let target):
                isThere = try cursor.seek(target)
                // Else a walk of a damaged tree might never end.
                guard !isThere || target.withBytes({ cursor.key.order($0) }) >= 0 else {
                    throw index.corrupt(index.termsName, "terms are out of order")
                }
                target.withBytes { pending.seek($0) }
                hasPending = pending.advance()
            case .stop: return
            }
        }
    }

    private func isStored(_ term: [UInt8]) throws(StorageError) -> Bool {
        try term.withBytes { (bytes) throws(StorageError) in try dictionary.find(bytes) != nil }
    }

    /// How many terms there are.
    func termCount() throws(StorageError) -> UInt64 {
        var count = try transaction.count(trees.terms)
        var added = pending.whole.terms()
        while added.advance() {
            let (isStored, isThere) = try added.withText { (term) throws(StorageError) in
                (try dictionary.find(term) != nil, try frequencies(of: term).documents > 0)
            }
            if isThere, !isStored { count += 1 }
            if !isThere, isStored, count > 0 { count -= 1 }
        }
        return count
    }

    // MARK: Documents

    /// All documents are less.
    var nextDocno: UInt32 { statistics.nextDocno }

    /// The length of a document, nil if it isn't there.
    func length(of docno: UInt32) throws(StorageError) -> UInt32? {
        if let document = documents.document(docno) {
            return document.isThere ? UInt32(truncatingIfNeeded: document.newLength) : nil
        }
        return try lengths.length(of: docno)
    }

    /// How the tokens of a document of `length` tokens are divided.
    func sections(of docno: UInt32, length: UInt32) throws(StorageError) -> DocumentSections {
        guard let document = documents.document(docno) else {
            return try SectionTable(transaction: transaction, tree: trees.documents, index: index)
                .sections(of: docno, length: length)
        }
        if document.sections.isEmpty { return DocumentSections(length: length) }
        guard let sections = document.sections.withBytes({ DocumentSections($0) }), sections.length == UInt64(length)
        else { throw index.corrupt(index.pendingName, "the sections of document \(docno) are not readable") }
        return sections
    }

    /// The row of a document of the index. That it is there is for the caller to know.
    func row(of docno: UInt32) throws(StorageError) -> UInt64 {
        if let document = documents.document(docno) { return document.row }
        return try map.row(of: docno)
    }

    /// The document of a row, nil if the index has none.
    func docno(of row: UInt64) throws(StorageError) -> UInt32? {
        if let document = documents.document(ofRow: row) { return document.isThere ? document.docno : nil }
        return try map.docno(of: row)
    }
}

/// What is pending in one state of an index, and the statistics with it.
struct PendingState {
    let index: TextIndex
    let trees: TextTrees
    /// What the last record says of the whole index, if there is one.
    private(set) var statistics: TextStatistics
    let fold: FoldState
    /// Where the next record goes.
    private(set) var next: FoldState.Mark
    /// The largest row that was ever added.
    private(set) var largestRow: UInt64?

    init(
        _ index: TextIndex, _ trees: TextTrees, _ stored: TextStatistics, in transaction: Transaction
    ) throws(StorageError) {
        guard let fold = FoldState(stored.foldState) else {
            throw index.corrupt(index.statisticsName, "how far pending documents are folded is not readable")
        }
        self.index = index
        self.trees = trees
        self.fold = fold
        statistics = stored
        next = fold.start
        largestRow = stored.largestRow
        guard let pending = trees.pending else {
            guard fold.batch == nil else { throw index.corrupt(index.pendingName, "the pending records are missing") }
            return
        }
        let reader = PendingTreeReader(tree: pending, index: index, transaction: transaction)
        guard let last = try reader.last() else {
            guard fold.batch == nil else { throw index.corrupt(index.pendingName, "the pending records are missing") }
            return
        }
        guard last.sequence >= fold.start.sequence, last.sequence + 1 >= fold.batch?.end.sequence ?? 0,
            last.header.totals.weight >= fold.batch?.end.weight ?? fold.start.weight,
            last.header.totals.documentCount <= UInt64(last.header.totals.nextDocno),
            last.header.totals.nextDocno >= stored.nextDocno
        else { throw index.corrupt(index.pendingName, "the last of the pending records contradicts the statistics") }
        note(
            last.header.totals,
            FoldState.Mark(
                sequence: last.sequence + 1, identity: last.identity, weight: last.header.totals.weight))
    }

    /// A record was appended.
    mutating func note(_ totals: PendingHeader.Totals, _ next: FoldState.Mark) {
        statistics.documentCount = totals.documentCount
        statistics.totalLength = totals.totalLength
        statistics.nextDocno = totals.nextDocno
        largestRow = max(largestRow ?? 0, totals.largestRow)
        self.next = next
    }

    var bounds: PendingBounds {
        PendingBounds(
            start: fold.start.sequence, startIdentity: fold.start.identity, foldEnd: fold.batch?.end.sequence,
            end: next.sequence, identity: next.identity)
    }

    var isEmpty: Bool { bounds.isEmpty }

    /// How much is pending. A batch that is being folded counts as a whole.
    var weight: UInt64 { next.weight - fold.start.weight }

    func view(in transaction: Transaction) throws(StorageError) -> PendingView {
        guard let tree = trees.pending, !isEmpty else { return .empty }
        return try PendingIndex.of(tree, in: transaction).view(bounds, tree, index, in: transaction)
    }
}

extension PendingPart {
    /// Whether the records are about any document in a range.
    func isAbout(_ range: ClosedRange<UInt32>) -> Bool {
        segments.contains { (segment) in
            let place = segment.place(of: range.lowerBound)
            return place < segment.documents.count && segment.documents[place].docno <= range.upperBound
        }
    }

    /// Calls `body` with the state of each document in a range that the records are about; of one that several segments
    /// are about, the last time with the last state.
    func forEachDocument(in range: ClosedRange<UInt32>, _ body: (PendingDocument) -> Void) {
        for segment in segments {
            var place = segment.place(of: range.lowerBound)
            while place < segment.documents.count, segment.documents[place].docno <= range.upperBound {
                body(segment.documents[place])
                place += 1
            }
        }
    }
}
