// SPDX-License-Identifier: Apache-2.0
// An index in one state of a transaction: stored and pending data read as one. Searches use a snapshot and need not
// know what is already folded.

package import HornbeamPages
package import HornbeamTree

/// An opened index. A value; used by one thread at a time, like its transaction.
struct TextSnapshot {
    let index: TextIndex
    let transaction: Transaction
    let trees: TextTrees
    /// The statistics of the whole index, including the pending changes.
    let statistics: TextStatistics
    /// The pending changes, both for terms that lack the batch that is being folded and for terms that have it.
    let pending: PendingView
    /// Documents from this one on exist only in the pending records.
    let storedDocnoLimit: UInt32
    private let watermark: [UInt8]
    /// The first document that may lack the batch that is being folded. Nil if none does.
    private let foldedDocuments: UInt32?
    private let map: DocumentMap
    private let lengths: DocumentLengths
    private let dictionary: TermDictionary

    /// Returns nil if nothing was ever written to the index. Throws the errors of `TextIndex.open`.
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
        storedDocnoLimit = state.storedDocnoLimit
        self.transaction = transaction
        self.pending = pending
        watermark = state.fold.batch?.watermark ?? []
        foldedDocuments = state.fold.batch?.documents
        map = DocumentMap(index, trees, state.statistics, in: transaction)
        lengths = DocumentLengths(transaction: transaction, tree: trees.documents, index: index)
        dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
    }

    /// The pending changes of documents' data besides postings. While the batch is being written to that data, they
    /// include the batch: its states are valid for documents that already have it, too.
    var documents: PendingPart { foldedDocuments == nil ? pending.later : pending.whole }

    /// Whether the rows of all documents ascend with their numbers.
    var rowsAscend: Bool {
        map.statistics.exceptionCount == 0
            && documents.addsAscendingRows(after: map.statistics.largestRow, from: foldedDocuments ?? 0)
    }

    /// Returns the pending part that applies to a term.
    func part(_ term: Bytes) -> PendingPart {
        if pending.later === pending.whole { return pending.whole }
        return lacksBatch(term) ? pending.whole : pending.later
    }

    /// Whether a batch is being folded that the stored postings of the term don't have yet.
    func lacksBatch(_ term: Bytes) -> Bool {
        pending.later !== pending.whole && watermark.withBytes { term.order($0) > 0 }
    }

    // MARK: Terms

    /// Returns how many documents hold the term, and how often it occurs in them.
    func frequencies(of term: Bytes) throws(StorageError) -> (documents: UInt64, occurrences: UInt64) {
        try Self.frequencies(try entry(of: term), added(to: term) ?? .none, index)
    }

    static func frequencies(
        _ entry: TermEntry?, _ added: PendingPostings, _ index: TextIndex
    ) throws(StorageError) -> (documents: UInt64, occurrences: UInt64) {
        let (documents, occurrences) = (UInt64(entry?.documentFrequency ?? 0), entry?.collectionFrequency ?? 0)
        guard documents >= UInt64(added.removedCount), occurrences >= added.removedOccurrences else {
            throw index.corrupt(index.pendingName, "pending records remove more postings than are stored")
        }
        return (
            documents - UInt64(added.removedCount) + UInt64(added.count),
            occurrences - added.removedOccurrences + added.occurrences
        )
    }

    /// Returns the stored entry of the term.
    func entry(of term: Bytes) throws(StorageError) -> TermEntry? {
        term.isEmpty ? nil : try dictionary.find(term)
    }

    /// Returns the pending changes of the term, or nil if there are none and the stored postings are complete. A record
    /// names every term of its document's former and new text, so a term that no record names has lost no postings
    /// either.
    func added(to term: Bytes) -> PendingPostings? {
        part(term).postings(of: term)
    }

    /// Returns the term's postings, or nil if no document holds it.
    func postings(of term: Bytes) throws(StorageError) -> TermPostings? {
        try postings(try entry(of: term), added(to: term) ?? .none)
    }

    /// Returns a term's postings, made from its entry and its pending changes. Returns nil if no document holds the
    /// term.
    func postings(_ entry: TermEntry?, _ added: PendingPostings) throws(StorageError) -> TermPostings? {
        let averageLength = Double(statistics.totalLength) / Double(max(statistics.documentCount, 1))
        return try TermPostings.merging(try stored(entry ?? .none), added, averageLength, index)
    }

    /// Returns the stored postings of an entry.
    func stored(_ entry: TermEntry) throws(StorageError) -> StoredPostings {
        try StoredPostings(entry, index: index, trees: trees, in: transaction)
    }

    /// Returns a walk through the terms from `start` on that a document holds.
    func terms(from start: [UInt8]) throws(StorageError) -> TermWalk { try TermWalk(self, from: start) }

    /// Calls `body` with each term from `start` on that a document holds, with the numbers of its documents and
    /// occurrences. Stops when `body` returns false.
    func forEachTerm(
        from start: [UInt8],
        _ body: (_ term: Bytes, _ documents: UInt64, _ occurrences: UInt64) throws(StorageError) -> Bool
    ) throws(StorageError) {
        var walk = try terms(from: start)
        while try walk.next() {
            let found = try walk.frequencies()
            let goesOn = try walk.withTerm { (term) throws(StorageError) in
                try body(term, found.documents, found.occurrences)
            }
            if !goesOn { return }
        }
    }

    /// Returns the number of terms.
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

    /// Returns the length of a document, or nil if there is no such document.
    func length(of docno: UInt32) throws(StorageError) -> UInt32? {
        if let document = documents.document(docno) {
            return document.isThere ? UInt32(truncatingIfNeeded: document.newLength) : nil
        }
        return try lengths.length(of: docno)
    }

    /// Returns the sections of a document of `length` tokens.
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

    /// Returns a document's sections as `DocumentSections` encodes them. Empty if there is a single section.
    func encodedSections(of docno: UInt32) throws(StorageError) -> [UInt8] {
        if let document = documents.document(docno) { return document.sections }
        return try SectionTable(transaction: transaction, tree: trees.documents, index: index).encoded(of: docno)
    }

    /// Returns the fingerprint of an existing document's text.
    func fingerprint(of docno: UInt32) throws(StorageError) -> UInt32? {
        if let document = documents.document(docno) { return document.fingerprint }
        return try DocumentFingerprints(transaction: transaction, tree: trees.documents, index: index)
            .fingerprint(of: docno)
    }

    /// Returns the row of a document of the index. The caller must know that the document exists.
    func row(of docno: UInt32) throws(StorageError) -> UInt64 {
        // A document keeps its row even after it is removed.
        if docno >= storedDocnoLimit, let document = documents.document(docno) { return document.row }
        return try map.row(of: docno)
    }

    /// Returns the document of a row, or nil if the index has none.
    func docno(of row: UInt64) throws(StorageError) -> UInt32? {
        if let document = documents.document(ofRow: row) { return document.isThere ? document.docno : nil }
        return try map.docno(of: row)
    }
}

/// The pending records of one state of an index, with its statistics.
struct PendingState {
    let index: TextIndex
    let trees: TextTrees
    /// The last record's statistics of the whole index, or the stored ones if there is no record.
    private(set) var statistics: TextStatistics
    let fold: FoldState
    /// Documents from this one on exist only in the records.
    let storedDocnoLimit: UInt32
    /// The position of the next record.
    private(set) var next: FoldState.Mark
    /// The largest row that was ever added.
    private(set) var largestRow: UInt64?

    init(
        _ index: TextIndex, _ trees: TextTrees, _ stored: TextStatistics, in transaction: Transaction
    ) throws(StorageError) {
        guard let fold = FoldState(stored.foldState) else {
            throw index.corrupt(index.statisticsName, "the state of folding is not readable")
        }
        self.index = index
        self.trees = trees
        self.fold = fold
        statistics = stored
        storedDocnoLimit = stored.nextDocno
        next = fold.start
        largestRow = stored.largestRow
        guard let pending = trees.pending else {
            guard fold.batch == nil, fold.leftover == 0 else {
                throw index.corrupt(index.pendingName, "the pending records are missing")
            }
            return
        }
        let reader = PendingTreeReader(tree: pending, index: index, transaction: transaction)
        guard let last = try reader.last(), last.sequence + 1 != fold.start.sequence else {
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

    /// Updates the state after a record was appended.
    mutating func note(_ totals: PendingHeader.Totals, _ next: FoldState.Mark) {
        statistics.documentCount = totals.documentCount
        statistics.totalLength = totals.totalLength
        statistics.fieldTotals = totals.fieldTotals
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

    /// The pending weight. A batch that is being folded counts as a whole.
    var weight: UInt64 { next.weight - fold.start.weight }

    func view(in transaction: Transaction) throws(StorageError) -> PendingView {
        guard let tree = trees.pending, !isEmpty else { return .empty }
        return try PendingIndex.of(tree, in: transaction).view(bounds, tree, index, in: transaction)
    }
}

extension PendingPart {
    /// Whether the records change a document in a range.
    func isAbout(_ range: ClosedRange<UInt32>) -> Bool {
        segments.contains { (segment) in
            let place = segment.place(of: range.lowerBound)
            return place < segment.documents.count && segment.documents[place].docno <= range.upperBound
        }
    }

    /// Calls `body` with the state of each document in a range that the records change. A document that several
    /// segments change is passed several times, the last time with its last state.
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

extension TextIndex {
    /// Returns the number of documents, whatever analyzer made the terms. In an index of a former layout, pending
    /// changes aren't counted.
    package func documentCount(in transaction: Transaction) throws(StorageError) -> UInt64 {
        guard let tree = try transaction.tree(statisticsName) else { return 0 }
        let statistics = try TextStatistics.read(tree, of: self, in: transaction)
        // Former layouts have other records.
        guard statistics.layout == TextStatistics.currentLayout, let fold = FoldState(statistics.foldState),
            let pending = try transaction.tree(pendingName),
            let last = try PendingTreeReader(tree: pending, index: self, transaction: transaction).last(),
            last.sequence >= fold.start.sequence
        else { return statistics.documentCount }
        return last.header.totals.documentCount
    }
}
