// SPDX-License-Identifier: Apache-2.0
// Rows to which a search is restricted. Finding their documents takes longer than most searches, so a caller that uses
// the same rows again should keep the selection, which caches them.

import Glibc
import HornbeamPages

/// Rows, ascending strictly. Used by one thread at a time, like the searchers it is used with.
package final class RowSelection {
    package let rows: [UInt64]
    /// The documents in the view of the last request.
    private var known: (view: IndexView, documents: PostingArrays)?
    /// The known documents as a set, once it was asked for.
    private var knownSet: DocumentSet?
    /// Number of rows that were tested one by one in the current view, without its documents.
    private var questions = 0
    private var questioned: ObjectIdentifier?

    /// Number of rows whose documents are found in the time of a single test, which looks up a document's row and
    /// searches for it in the selection.
    private static let rowsOfQuestion = 48.0

    package init(_ rows: [UInt64]) { self.rows = rows }

    /// Forgets the view of the last request, and everything derived from it.
    package func forgetDocuments() { (known, knownSet, questioned, questions) = (nil, nil, nil, 0) }

    /// Whether the selection contains a row.
    func has(_ row: UInt64) -> Bool {
        questions &+= 1
        return rows.holds(row)
    }

    /// Whether a search should use the documents of the rows: if they are known, or if finding them costs less than the
    /// single tests of this search and of earlier ones.
    /// - Parameters:
    ///   - cost: approximate number of documents that the search reads.
    ///   - limit: number of documents that are wanted.
    func isWorthwhile(_ cost: Int, limit: Int, _ view: IndexView) -> Bool {
        if let known, known.view === view { return true }
        if questioned != ObjectIdentifier(view) { (questioned, questions) = (ObjectIdentifier(view), 0) }
        // If few matches have these rows, nearly all matches are tested.
        if rows.count <= cost { return true }
        let expected = expectedQuestions(cost, limit: limit, view)
        return Double(rows.count) <= (Double(questions) + expected) * Self.rowsOfQuestion
    }

    private func expectedQuestions(_ cost: Int, limit: Int, _ view: IndexView) -> Double {
        let share = min(Double(max(rows.count, 1)) / Double(max(view.documentCount, 1)), 1)
        return Self.expectedQuestions(Double(max(cost, 1)), share: share, limit: Double(limit))
    }

    /// Returns the approximate number of `matches` that a ranked search tests, one after the other, if `share` of all
    /// rows pass. It tests matches that would be among the best of those that passed: all at first, then fewer and
    /// fewer. Assumes that rows and matches are independent.
    /// - Parameter share: above 0, at most 1.
    package static func expectedQuestions(_ matches: Double, share: Double, limit: Double) -> Double {
        let limit = max(limit, 1)
        return min(matches, limit / share * (1 + log(max(1, matches * share / limit))))
    }

    /// Returns the documents of these rows as postings that don't score.
    func documents(_ view: IndexView) throws(StorageError) -> PostingArrays {
        if let known, known.view === view { return known.documents }
        forgetDocuments()
        let documents = PostingArrays(try view.documents(of: rows))
        known = (view, documents)
        return documents
    }

    /// Returns the documents of these rows as a set, or nil if they are too few for one.
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
