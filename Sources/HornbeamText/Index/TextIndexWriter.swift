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
    // Without checks of exclusive access: one thread, and nothing that is called here comes back.
    @exclusivity(unchecked) private var buffer = ChangeBuffer()
    @exclusivity(unchecked) private var tokenizer: Tokenizer
    @exclusivity(unchecked) private var failure: StorageError?

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
        try Self.withUTF8(text) { (text) throws(StorageError) in try insert(docno, utf8: text) }
    }

    /// The same with a text in UTF-8, which is not copied.
    package func insert(_ docno: UInt64, utf8 text: Bytes) throws(StorageError) {
        try check(size: text.count)
        let known = buffer.place(of: docno)
        if let known { try require(known, length: -1) }
        let place = known ?? buffer.addDocument(docno)
        let length = buffer.count(text, document: place, difference: 1, &tokenizer)
        buffer.setNewLength(length, at: place)
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
        let removed = count(oldText, -1, place)
        if known != nil {
            do { try require(place, length: removed) } catch { throw fail(error) }
        } else {
            buffer.setOldLength(removed, at: place)
        }
        let added = newText.map { count($0, 1, place) }
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
        try check(size: text.utf8.count)
    }

    /// The same of a text of so many bytes.
    package func check(size: Int) throws(StorageError) {
        if let failure { throw failure }
        guard size <= Self.textSizeLimit else {
            throw .tooLarge(what: "text to index", size: size, limit: Self.textSizeLimit)
        }
    }

    private func require(_ place: UInt32, length: Int64) throws(StorageError) {
        let change = buffer.documents[place]
        guard change.newLength != length else { return }
        let docno = change.docno
        throw .invalid(
            length < 0
                ? "document \(docno) is in the text index “\(index.prefix)” already"
                : "the old text given for document \(docno) is not the one that the text index “\(index.prefix)” holds"
        )
    }

    private func count(_ text: String, _ difference: Int32, _ place: UInt32) -> Int64 {
        var text = text
        return text.withUTF8 { buffer.count(Bytes($0), document: place, difference: difference, &tokenizer) }
    }

    /// The text's bytes for the length of `body`. (The standard library's `withUTF8` does not carry typed errors.)
    private static func withUTF8(
        _ text: String, _ body: (Bytes) throws(StorageError) -> Void
    ) throws(StorageError) {
        var text = text
        let result = text.withUTF8 { utf8 in
            Result { () throws(StorageError) in try body(Bytes(utf8)) }
        }
        try result.get()
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
        let documents = buffer.documents.sorted()
        try FieldLengths(transaction: transaction, tree: trees.lengths, index: index).apply(documents)
        try count(documents)
        let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        var editor = try PostingListEditor(
            dictionary, postings: trees.postings, nextListNumber: statistics.nextListNumber)
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            let changes = buffer.collect(term)
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
