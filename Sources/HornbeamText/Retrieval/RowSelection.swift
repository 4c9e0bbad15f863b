// SPDX-License-Identifier: Apache-2.0
// Rows that a search is restricted to. To find the documents that have them takes longer than most searches, so whoever
// asks about the same rows again keeps them: they know their documents.

import HornbeamPages

/// Rows, ascending strictly. One thread at a time, as the searchers that it is used with.
package final class RowSelection {
    package let rows: [UInt64]
    /// Of the view that was asked last.
    private var known: (view: IndexView, documents: PostingArrays)?
    /// The known documents as a set, once one was asked for.
    private var knownSet: DocumentSet?
    /// What searches would have gone through that were not worth finding the documents.
    private var doneWithout = 0

    package init(_ rows: [UInt64]) { self.rows = rows }

    /// Lets go of the view that was asked last, and of what it said.
    package func forgetDocuments() { (known, knownSet) = (nil, nil) }

    /// Whether a search should go by the documents: they are known, or it and those before it go through more postings
    /// than there are rows.
    func isWorthwhile(_ cost: Int, _ view: IndexView) -> Bool {
        if let known, known.view === view { return true }
        doneWithout = doneWithout > .max - max(cost, 1) ? .max : doneWithout + max(cost, 1)
        return rows.count <= doneWithout
    }

    /// The documents of these rows as postings that don't score.
    func documents(_ view: IndexView) throws(StorageError) -> PostingArrays {
        if let known, known.view === view { return known.documents }
        forgetDocuments()
        let documents = PostingArrays(try view.documents(of: rows))
        known = (view, documents)
        return documents
    }

    /// The same as a set; nil if they are too few for one.
    func set(_ view: IndexView) throws(StorageError) -> DocumentSet? {
        guard DocumentSet.isWorthwhile(rows.count, of: view.docnoLimit) else { return nil }
        let documents = try documents(view)
        if let knownSet { return knownSet }
        let made = DocumentSet(documents, docnoLimit: view.docnoLimit)
        knownSet = made
        return made
    }
}

extension TextFilter {
    /// - Parameter rows: ascending strictly.
    package static func documents(_ rows: [UInt64], passing test: Test? = nil) -> Self {
        .selection(RowSelection(rows), passing: test)
    }
}
