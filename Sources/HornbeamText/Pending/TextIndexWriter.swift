// SPDX-License-Identifier: Apache-2.0
// Keeps an index in step with the texts of a write transaction. Changes are gathered in memory and written in term
// order by `flush`: before the commit and before a search in the same transaction. When they exceed the budget, changes
// of new documents are put aside until the flush (`PostingSpills`), and other changes are written. The caller must
// flush before committing. A transaction whose writer has thrown must not be committed (the writer keeps throwing the
// same error).

package import HornbeamPages
package import HornbeamTree

/// The only writer of an index in its write transaction. Used by one thread at a time, like the transaction.
package final class TextIndexWriter {
    package let index: TextIndex
    let transaction: Transaction
    private let budget: Int
    let limits: PendingLimits
    private(set) var trees: TextTrees?
    /// The stored statistics. While records are pending, their statistics of the whole index count instead.
    var statistics: TextStatistics
    // No checks of exclusive access: there is one thread, and nothing called here calls back.
    @exclusivity(unchecked) private var buffer = ChangeBuffer()
    @exclusivity(unchecked) var changes = TermChanges()
    @exclusivity(unchecked) private var spills: PostingSpills
    /// Approximate maximum of a term's postings and positions in memory when spills are merged.
    var mostMergedValues = 1 << 21
    /// The changes while they are few.
    var gathered = PendingChanges()
    /// Whether the changes may still be few. False once they have gone to the buffer.
    var gathers = false
    /// Weight of the records that this transaction has written.
    var recordedWeight: UInt64 = 0
    /// The pending state before the gathered changes. Nil until it is needed, and after it has changed.
    var knownState: PendingState?
    /// The documents before the gathered changes. Nil until they are needed.
    var former: FormerDocuments?
    /// The number of the next document. Documents not yet written count.
    var nextDocno: UInt32 = 0
    /// The largest row that was ever added. Nil if there is none.
    var largest: UInt64?
    @exclusivity(unchecked) var tokenizer: Tokenizer
    @exclusivity(unchecked) private var failure: StorageError?

    /// The largest size of a text, in bytes. It keeps every count of tokens in bounds.
    package static let textSizeLimit = 1 << 30

    /// Opens the index, which need not exist yet. `budget` is the size in bytes of changes that are kept in memory.
    /// Throws `.invalid` if the index was made by another analyzer or Unicode version.
    package init(
        _ index: TextIndex, in transaction: Transaction, budget: Int = 64 << 20, limits: PendingLimits = .standard
    ) throws(StorageError) {
        guard transaction.isWritable else {
            throw .readOnly("changing the text index “\(index.prefix)” needs a write transaction")
        }
        self.index = index
        self.transaction = transaction
        self.budget = budget
        self.limits = limits
        tokenizer = Tokenizer(index.analyzer)
        spills = PostingSpills(index, in: transaction)
        statistics = TextStatistics(index)
        if let opened = try index.open(in: transaction) {
            trees = opened.trees
            statistics = opened.statistics
            let state = try PendingState(index, opened.trees, statistics, in: transaction)
            knownState = state
            (nextDocno, largest) = (state.statistics.nextDocno, state.largestRow)
            // An index without documents and records is usually about to be filled, so its changes aren't gathered. An
            // index with records of removed documents gathers changes until their amount is known: folding the records
            // isn't worth its cost for a few changes.
            gathers = keepsRecords && (state.statistics.documentCount > 0 || !state.isEmpty)
            if !gathers { try foldAll() }
        }
    }

    /// Whether there are changes for `flush` to write.
    package var hasChanges: Bool { !buffer.isEmpty || !gathered.isEmpty || !spills.isEmpty }

    /// Adds a document. Throws `.invalid` if the index already has a document of this row.
    package func insert(_ row: UInt64, text: String) throws(StorageError) {
        try insert(row, DocumentText(text))
    }

    /// Adds a document with a text in UTF-8, which is copied only if the change is gathered. Throws `.invalid` if the
    /// index already has a document of this row.
    package func insert(_ row: UInt64, utf8 text: Bytes) throws(StorageError) {
        try check(size: text.count)
        if gathers, try gatherNew(row, .plain([UInt8](text))) { return }
        let place = try addNew(row)
        let length = buffer.add(text, document: place, from: 0, &tokenizer)
        buffer.setNewLength(Int64(length), at: place)
        buffer.setFingerprint(TextFingerprint.of(text), at: place)
        try flushIfLarge()
    }

    /// Adds a document of several texts. Throws `.invalid` if the index already has a document of this row.
    package func insert(_ row: UInt64, _ text: DocumentText) throws(StorageError) {
        try check(text)
        if try gatherNew(row, .texts(text)) { return }
        let place = try addNew(row)
        _ = text.add(to: &buffer, at: place, &tokenizer)
        try flushIfLarge()
    }

    /// Removes a document, given the text it was added or last changed with.
    package func remove(_ row: UInt64, text: String) throws(StorageError) {
        try change(row, from: DocumentText(text), to: nil)
    }

    package func remove(_ row: UInt64, _ text: DocumentText) throws(StorageError) {
        try change(row, from: text, to: nil)
    }

    /// Changes a document's text, given the text it was added or last changed with.
    package func update(_ row: UInt64, from oldText: String, to newText: String) throws(StorageError) {
        try update(row, from: DocumentText(oldText), to: DocumentText(newText))
    }

    package func update(
        _ row: UInt64, from oldText: DocumentText, to newText: DocumentText
    ) throws(StorageError) {
        if oldText.isIdentical(to: newText) { return }
        try change(row, from: oldText, to: newText)
    }

    /// Adds a document that the index doesn't have. Returns its index in the buffer.
    private func addNew(_ row: UInt64) throws(StorageError) -> UInt32 {
        if let known = buffer.place(of: row) {
            guard buffer.documents[known].hasLeft else { throw isThereAlready(row) }
        } else if try isStored(row) {
            throw isThereAlready(row)
        }
        guard nextDocno < UInt32.max - 1 else { throw fail(docnosUsedUp()) }
        let place = buffer.addDocument(row, nextDocno)
        nextDocno += 1
        largest = max(largest ?? row, row)
        return place
    }

    func docnosUsedUp() -> StorageError {
        .invalid("the text index “\(index.prefix)” has used up its document numbers: rebuild it")
    }

    func isThereAlready(_ row: UInt64) -> StorageError {
        .invalid("document \(row) is in the text index “\(index.prefix)” already")
    }

    /// Whether the index has the row before the gathered changes. A read error makes the writer fail, because otherwise
    /// a commit would leave out a document whose row is stored.
    func isStored(_ row: UInt64) throws(StorageError) -> Bool {
        // A row above all earlier ones need not be looked up.
        guard let largest, row <= largest else { return false }
        do { return try storedDocno(of: row) != nil } catch { throw fail(error) }
    }

    /// Returns the document of a row in the index before the gathered changes.
    func storedDocno(of row: UInt64) throws(StorageError) -> UInt32? { try openedFormer()?.docno(of: row) }

    private func change(
        _ row: UInt64, from oldText: DocumentText, to newText: DocumentText?
    ) throws(StorageError) {
        try check(oldText)
        if let newText { try check(newText) }
        if try gatherChange(row, from: oldText, to: newText) { return }
        let known = buffer.place(of: row)
        let place: UInt32
        if let known {
            place = known
        } else {
            let docno: UInt32?
            do { docno = try storedDocno(of: row) } catch { throw fail(error) }
            guard let docno else { throw fail(isMissing(row)) }
            place = buffer.addDocument(row, docno)
        }
        var removed: Int64 = 0
        oldText.forEachText { text in
            removed += Int64(buffer.remove(text, document: place, &tokenizer))
        }
        if known != nil {
            guard buffer.documents[place].newLength == removed else { throw fail(oldTextDisagrees(row)) }
        } else {
            buffer.setOldLength(removed, at: place)
        }
        buffer.setNewLength(-1, at: place)
        buffer.setSections(nil, at: place)
        if let newText { _ = newText.add(to: &buffer, at: place, &tokenizer) }
        try flushIfLarge()
    }

    func isMissing(_ row: UInt64) -> StorageError {
        index.corrupt(
            index.documentsName, "document \(row) has no entry in the index, but should have one by its text")
    }

    func oldTextDisagrees(_ row: UInt64) -> StorageError {
        .invalid(
            "the old text given for document \(row) is not the one that the text index “\(index.prefix)” holds")
    }

    /// Writes all changes. Afterwards the index agrees with the changed texts.
    package func flush() throws(StorageError) {
        if let failure { throw failure }
        guard hasChanges else { return }
        let isLittle = spills.isEmpty && buffer.documents.count <= PendingChanges.documentLimit
        do {
            if gathers { try writeRecords() } else { try writeAll() }
        } catch {
            throw fail(error)
        }
        former = nil
        gathered.removeAll()
        buffer.removeAll()
        // A caller that flushes after few changes will probably do so again. Nothing is pending here.
        if isLittle, !gathers { gathers = keepsRecords && statistics.documentCount > 0 }
    }

    /// Whether few changes become records, to be folded later.
    private var keepsRecords: Bool {
        limits.pending > 0 && budget >= PendingChanges.sizeLimit && trees?.pending != nil
    }

    private func flushIfLarge() throws(StorageError) {
        guard buffer.size > budget || buffer.isFull else { return }
        if buffer.changesOlder { return try flush() }
        do { try putAside() } catch { throw fail(error) }
    }

    func fail(_ error: StorageError) -> StorageError {
        failure = error
        return error
    }

    /// Throws the errors of a change from or to this text that don't depend on the document. Changes nothing.
    package func check(_ text: DocumentText) throws(StorageError) { try check(size: text.size) }

    /// Throws the errors of a change from or to a text of `size` bytes that don't depend on the document. Changes
    /// nothing.
    package func check(size: Int) throws(StorageError) {
        if let failure { throw failure }
        guard size <= Self.textSizeLimit else {
            throw .tooLarge(what: "text to index", size: size, limit: Self.textSizeLimit)
        }
    }
}

// The flush.
extension TextIndexWriter {
    private func openedTrees() throws(StorageError) -> TextTrees {
        if let trees { return trees }
        let created = try index.create(in: transaction)
        trees = created
        return created
    }

    /// Writes the changes put aside, then those in memory, which may change documents that were put aside.
    private func writeAll() throws(StorageError) {
        if !spills.isEmpty {
            if !buffer.isEmpty, !buffer.changesOlder { try putAside() }
            try mergeSpills()
        }
        if !buffer.isEmpty { try write() }
    }

    private func write() throws(StorageError) {
        let trees = try writeDocuments()
        var editor = try editor(trees)
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            guard buffer.collect(term, to: &changes) else { throw leftTermsDisagree() }
            guard changes.count > 0 else { continue }
            try buffer.withTerm(term) { (bytes) throws(StorageError) in try editor.apply(changes, to: bytes) }
        }
        try finish(editor, trees)
    }

    /// Writes the gathered documents without their postings, which are kept for the end of the load.
    private func putAside() throws(StorageError) {
        _ = try writeDocuments()
        guard try spills.add(buffer, &changes) else { throw leftTermsDisagree() }
        former = nil
        buffer.removeAll()
    }

    private func mergeSpills() throws(StorageError) {
        let trees = try openedTrees()
        // A large load has ended, so its memory is freed.
        if buffer.isEmpty { buffer = ChangeBuffer() }
        var editor = try editor(trees)
        var merge = try spills.merge(trees, statistics, mostValues: mostMergedValues)
        while try merge.next(&changes) {
            let isSame = merge.isSame
            try merge.term.withBytes { (term) throws(StorageError) in
                try editor.apply(changes, to: term, isSame: isSame)
            }
        }
        try spills.removeAll()
        try finish(editor, trees)
    }

    private func editor(_ trees: TextTrees) throws(StorageError) -> PostingListEditor {
        let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        return try PostingListEditor(dictionary, trees, statistics)
    }

    private func finish(_ editor: borrowing PostingListEditor, _ trees: TextTrees) throws(StorageError) {
        statistics.nextListNumber = editor.nextListNumber
        try transaction.put(trees.statistics, TextStatistics.key, statistics.encoded())
    }

    private func writeDocuments() throws(StorageError) -> TextTrees {
        let trees = try openedTrees()
        knownState = nil
        let documents = buffer.documents.sorted()
        try count(documents)
        try write(documents, trees, nextDocno: nextDocno) { buffer.sections(of: $0) }
        return trees
    }

    /// Writes the data of documents besides their postings: rows first, since documents may have left already.
    func write(
        _ documents: [DocumentChange], _ trees: TextTrees, nextDocno: UInt32,
        sections: (DocumentChange) -> ArraySlice<UInt8>
    ) throws(StorageError) {
        let map = DocumentMap(index, trees, statistics, in: transaction)
        let firstNew = statistics.nextDocno
        var (rows, isThere): ([UInt64], [Bool]) = ([], [])
        for document in documents {
            if document.docno >= firstNew {
                rows.append(document.row)
                isThere.append(!document.hasLeft)
            } else if document.hasLeft {
                try map.remove(document.docno, row: document.row, &statistics)
            }
        }
        try map.append(from: firstNew, rows: rows, isThere: isThere, &statistics)
        statistics.nextDocno = nextDocno
        try SectionTable(transaction: transaction, tree: trees.documents, index: index)
            .apply(documents, &statistics.fieldTotals, bytes: sections)
        let fingerprints = DocumentFingerprints(transaction: transaction, tree: trees.documents, index: index)
        try fingerprints.apply(documents)
        try DocumentLengths(transaction: transaction, tree: trees.documents, index: index).apply(documents) {
            (chunk) throws(StorageError) in
            try map.removeChunk(chunk)
            try fingerprints.removeChunk(chunk)
        }
    }

    private func leftTermsDisagree() -> StorageError {
        .invalid(
            "the old text given for a document is not the one that the text index “\(index.prefix)” was given before")
    }

    /// Updates the counts in the statistics.
    func count(_ documents: [DocumentChange]) throws(StorageError) {
        var count = Int64(clamping: statistics.documentCount)
        var length = Int64(clamping: statistics.totalLength)
        for change in documents {
            count += (change.newLength < 0 ? 0 : 1) - (change.oldLength < 0 ? 0 : 1)
            let difference = max(change.newLength, 0) - max(change.oldLength, 0)
            let (sum, overflows) = length.addingReportingOverflow(difference)
            guard !overflows else { throw statisticsDisagree() }
            length = sum
        }
        guard count >= 0, length >= 0, length < TextStatistics.lengthLimit else { throw statisticsDisagree() }
        (statistics.documentCount, statistics.totalLength) = (UInt64(count), UInt64(length))
    }

    func statisticsDisagree() -> StorageError {
        index.corrupt(index.statisticsName, "the statistics don't agree with the documents of the index")
    }
}
