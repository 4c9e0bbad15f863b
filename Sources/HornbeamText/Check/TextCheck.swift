// SPDX-License-Identifier: Apache-2.0
// Proves that an index matches the texts of its documents. First it checks that every part is readable and agrees with
// the rest, then that each text's postings are there, then, by their number, that there are no others. Memory is
// bounded: the texts are taken in batches, and each batch is compared in term order. The check never changes anything.
// bounded: the texts are taken in batches, and each batch is compared in term order. The check never changes anything.

package import HornbeamPages
package import HornbeamTree

/// A check of one index in one state of a transaction.
package struct TextCheck {
    private let index: TextIndex
    private let transaction: Transaction
    private let batchSize: Int

    /// `batchSize` bounds the memory for texts not yet compared, in bytes.
    package init(_ index: TextIndex, in transaction: Transaction, batchSize: Int = 64 << 20) {
        self.index = index
        self.transaction = transaction
        self.batchSize = batchSize
    }

    /// Runs the check. Calls `documents` once, which must call its argument with each document that the index should
    /// hold and its text. Returns descriptions of the first hundred problems, with their locations; empty if there are
    /// none. Throws the errors of `documents`, and read errors other than corruption.
    package func run(
        documents: (_ body: (_ row: UInt64, _ text: DocumentText) throws(StorageError) -> Void) throws(StorageError) ->
            Void
    ) throws(StorageError) -> [String] {
        var problems = TextProblems()
        var opened: (trees: TextTrees, statistics: TextStatistics)?
        try problems.collect { () throws(StorageError) in opened = try index.open(in: transaction) }
        guard let opened else {
            guard problems.isEmpty else { return problems.texts }
            try documents { (row, _) throws(StorageError) in
                problems.add("document \(row) is missing: nothing is indexed under “\(index.prefix)”")
            }
            return problems.texts
        }
        var entries: UInt64 = 1
        try problems.collect { () throws(StorageError) in entries = try transaction.count(opened.trees.statistics) }
        if entries != 1 { problems.add("the tree of the statistics has \(entries) entries, not one") }
        var parts: (pending: PendingWalk, snapshot: TextSnapshot)?
        try problems.collect { () throws(StorageError) in
            let state = try PendingState(index, opened.trees, opened.statistics, in: transaction)
            let pending = try PendingWalk.reading(state, opened.statistics, in: transaction)
            parts = (pending, try TextSnapshot(index, opened.trees, opened.statistics, in: transaction))
        }
        guard let (pending, snapshot) = parts else { return problems.texts }
        try pending.run(&problems)
        var walk = TextWalk(index, opened.trees, pending, in: transaction)
        try walk.run(opened.statistics, &problems)
        var comparison = TextComparison(snapshot)
        try documents { (row, text) throws(StorageError) in
            try comparison.add(row, text, &problems)
            if comparison.size > batchSize { try comparison.compare(&problems) }
        }
        try comparison.compare(&problems)
        try comparison.compareTotals(&problems)
        return problems.texts
    }
}

/// The first problems of a check.
struct TextProblems {
    private static let limit = 100
    private(set) var texts: [String] = []

    var isEmpty: Bool { texts.isEmpty }
    var isFull: Bool { texts.count >= Self.limit }

    mutating func add(_ text: @autoclosure () -> String) {
        if !isFull { texts.append(text()) }
    }

    /// Calls `body` and turns some of its errors into problems: corruption, an index that must be rebuilt, and an index
    /// that needs a newer version. Rethrows other errors.
    mutating func collect(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        do { try body() } catch {
            switch error {
            case .corrupt(let what): add(what.description)
            case .invalid(let what), .unsupported(let what): add(what)
            default: throw error
            }
        }
    }
}
