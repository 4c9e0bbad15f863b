// SPDX-License-Identifier: Apache-2.0
// Rows that a search is restricted to. To find the documents that have them takes longer than most searches, so whoever
// asks about the same rows again keeps them: they know their documents.

import Glibc
import HornbeamPages

/// Rows, ascending strictly. One thread at a time, as the searchers that it is used with.
package final class RowSelection {
    package let rows: [UInt64]
    /// The documents in the view that was asked last.
    private var known: (view: IndexView, documents: PostingArrays)?
    /// The known documents as a set, once one was asked for.
    private var knownSet: DocumentSet?
    /// How many single rows were asked about in the view that was searched last, without its documents.
    private var questions = 0
    private var questioned: ObjectIdentifier?

    /// The documents of so many rows are found in the time that asking about a single one takes: its row is looked up,
    /// and looked for among these.
    private static let rowsOfQuestion = 48.0

    package init(_ rows: [UInt64]) { self.rows = rows }

    /// Lets go of the view that was asked last, and of all that is known from it.
    package func forgetDocuments() { (known, knownSet, questioned, questions) = (nil, nil, nil, 0) }

    /// Whether it has a row.
    func has(_ row: UInt64) -> Bool {
        questions &+= 1
        return rows.holds(row)
    }

    /// Whether a search should go by the documents: they are known, or finding them takes less than it and those before
    /// it ask without.
    /// - Parameters:
    ///   - cost: about how many documents it goes through.
    ///   - limit: how many it is to find.
    func isWorthwhile(_ cost: Int, limit: Int, _ view: IndexView) -> Bool {
        if let known, known.view === view { return true }
        if questioned != ObjectIdentifier(view) { (questioned, questions) = (ObjectIdentifier(view), 0) }
        // Where documents that match seldom have these rows, nearly all that match are asked about.
        if rows.count <= cost { return true }
        let expected = expectedQuestions(cost, limit: limit, view)
        return Double(rows.count) <= (Double(questions) + expected) * Self.rowsOfQuestion
    }

    private func expectedQuestions(_ cost: Int, limit: Int, _ view: IndexView) -> Double {
        let share = min(Double(max(rows.count, 1)) / Double(max(view.documentCount, 1)), 1)
        return Self.expectedQuestions(Double(max(cost, 1)), share: share, limit: Double(limit))
    }

    /// About how many of `matches` a ranked search asks about, one after the other, where such a share of all rows
    /// passes: what is among the best so far of what passed, first all, then ever less often. This takes it that rows
    /// and matches have nothing to do with each other.
    /// - Parameter share: above 0, at most 1.
    package static func expectedQuestions(_ matches: Double, share: Double, limit: Double) -> Double {
        let limit = max(limit, 1)
        return min(matches, limit / share * (1 + log(max(1, matches * share / limit))))
    }

    /// The documents of these rows as postings that don't score.
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
