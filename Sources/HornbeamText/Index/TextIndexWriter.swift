// SPDX-License-Identifier: Apache-2.0
// Keeps an index in step with the texts of a write transaction. Changes gather in memory and are written in term order
// by `flush`: before the commit, before a search in the same transaction, and when they outgrow the budget. Whoever
// writes must flush before committing; a writer that has thrown must not be committed (it goes on throwing the same
// error).

package import HornbeamPages
package import HornbeamTree

/// The one writer of an index in its write transaction. One thread at a time, as the transaction.
package final class TextIndexWriter {
    package let index: TextIndex
    private let transaction: Transaction
    private let budget: Int
    private var trees: TextTrees?
    private var statistics: TextStatistics
    private var buffer = ChangeBuffer()
    private var tokenizer: Tokenizer
    private var failure: StorageError?

    /// No text may be larger; keeps every count of tokens in bounds.
    package static let textSizeLimit = 1 << 30

    /// Opens the index, which need not exist yet. `budget` is the size in bytes of unwritten changes that leads to a
    /// flush. Throws `.invalid` if the index was made by another analyzer or Unicode version.
    package init(_ index: TextIndex, in transaction: Transaction, budget: Int = 64 << 20) throws(StorageError) {
        guard transaction.isWritable else { throw .readOnly("a writer of the text index “\(index.prefix)”") }
        self.index = index
        self.transaction = transaction
        self.budget = budget
        tokenizer = Tokenizer(index.analyzer)
        statistics = TextStatistics(index.analyzer)
        if let opened = try index.open(in: transaction) {
            trees = opened.trees
            statistics = opened.statistics
        }
    }

    /// Whether there is something for `flush` to write.
    package var hasChanges: Bool { !buffer.isEmpty }

    /// Adds a document. Throws `.invalid` if this transaction's unwritten changes have it already; if the index itself
    /// has it, `flush` throws.
    package func insert(_ docno: UInt64, text: String) throws(StorageError) {
        try check(text)
        try require(docno, length: -1)
        let place = buffer.place(of: docno) ?? buffer.addDocument(docno)
        buffer.setNewLength(Self.count(text, 1, place, &tokenizer, &buffer), at: place)
        try flushIfLarge()
    }

    /// Removes a document, given the text it was added or last changed with.
    package func remove(_ docno: UInt64, text: String) throws(StorageError) {
        try change(docno, from: text, to: nil)
    }

    /// Changes a document's text, given the text it was added or last changed with.
    package func update(_ docno: UInt64, from oldText: String, to newText: String) throws(StorageError) {
        // Not `==`: canonically equivalent texts have different tokens.
        guard !oldText.utf8.elementsEqual(newText.utf8) else { return }
        try change(docno, from: oldText, to: newText)
    }

    private func change(_ docno: UInt64, from oldText: String, to newText: String?) throws(StorageError) {
        try check(oldText)
        if let newText { try check(newText) }
        let known = buffer.place(of: docno)
        let place = known ?? buffer.addDocument(docno)
        let removed = Self.count(oldText, -1, place, &tokenizer, &buffer)
        if known != nil {
            do { try require(docno, length: removed) } catch { throw fail(error) }
        } else {
            buffer.setOldLength(removed, at: place)
        }
        let added = newText.map { Self.count($0, 1, place, &tokenizer, &buffer) }
        buffer.setNewLength(added ?? -1, at: place)
        try flushIfLarge()
    }

    /// Writes all changes. The index then is what the changed texts make it.
    package func flush() throws(StorageError) {
        if let failure { throw failure }
        guard hasChanges else { return }
        do { try write() } catch { throw fail(error) }
        buffer.removeAll()
    }

    private func flushIfLarge() throws(StorageError) {
        if buffer.size > budget { try flush() }
    }

    private func fail(_ error: StorageError) -> StorageError {
        failure = error
        return error
    }

    /// Throws what a change from or to this text would throw, whatever the document: nothing is changed yet.
    package func check(_ text: String) throws(StorageError) {
        if let failure { throw failure }
        guard text.utf8.count <= Self.textSizeLimit else {
            throw .tooLarge(what: "text to index", size: text.utf8.count, limit: Self.textSizeLimit)
        }
    }

    private func require(_ docno: UInt64, length: Int64) throws(StorageError) {
        guard let change = buffer.document(docno), change.newLength != length else { return }
        throw .invalid(
            length < 0
                ? "document \(docno) is in the text index “\(index.prefix)” already"
                : "the old text given for document \(docno) is not the one that the text index “\(index.prefix)” holds"
        )
    }

    /// Counts the text's tokens into the buffer, as so many more or fewer; how many there are.
    private static func count(
        _ text: String, _ difference: Int32, _ place: UInt32, _ tokenizer: inout Tokenizer, _ buffer: inout ChangeBuffer
    ) -> Int64 {
        var count: Int64 = 0
        tokenizer.forEachToken(in: text) { token in
            buffer.add(token, document: place, difference: difference)
            count += 1
        }
        return count
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

    private func write() throws(StorageError) {
        let trees = try openedTrees()
        let documents = buffer.documents.sorted { $0.docno < $1.docno }
        try FieldLengths(transaction: transaction, tree: trees.lengths, index: index).apply(documents)
        try count(documents)
        let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        var editor = try PostingListEditor(
            dictionary, postings: trees.postings, nextListNumber: statistics.nextListNumber)
        var changes: [PostingChange] = []
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            buffer.collect(term, to: &changes)
            guard !changes.isEmpty else { continue }
            try buffer.withTerm(term) { (bytes) throws(StorageError) in try editor.apply(changes, to: bytes) }
        }
        statistics.nextListNumber = editor.nextListNumber
        try transaction.put(trees.statistics, TextStatistics.key, statistics.encoded())
    }

    private func count(_ documents: [DocumentChange]) throws(StorageError) {
        var count = Int64(clamping: statistics.documentCount)
        var length = Int64(clamping: statistics.totalLength)
        for change in documents {
            count += (change.newLength < 0 ? 0 : 1) - (change.oldLength < 0 ? 0 : 1)
            let difference = max(change.newLength, 0) - max(change.oldLength, 0)
            let (sum, overflows) = length.addingReportingOverflow(difference)
            guard !overflows else { throw statisticsDisagree() }
            length = sum
        }
        guard count >= 0, length >= 0 else { throw statisticsDisagree() }
        (statistics.documentCount, statistics.totalLength) = (UInt64(count), UInt64(length))
    }

    private func statisticsDisagree() -> StorageError {
        index.corrupt(index.statisticsName, "the statistics don't agree with the documents of the index")
    }
}
