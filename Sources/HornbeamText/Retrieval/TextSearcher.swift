// SPDX-License-Identifier: Apache-2.0
// Queries of an index: ranked search, matches, counts, vocabulary. A searcher sees the state of its transaction when it
// was made; in a write transaction that is the state of the last flush. Opening an index takes longer than a search for
// a rare word. So searchers are kept with their transaction, and `isCurrent` tells whether one can still be used.

package import HornbeamPages
package import HornbeamTree

/// Restricts the documents that a search may return.
package enum TextFilter {
    package typealias Test = (_ row: UInt64) throws(StorageError) -> Bool

    case all
    /// Documents of these rows that pass the test, if there is one.
    case selection(RowSelection, passing: Test? = nil)
    /// Documents that pass the test, which is called only for documents that would otherwise be in the result.
    case matching(Test)
}

/// Whether the first of two documents of equal score comes before the second.
package typealias TextTieBreak = (_ first: UInt64, _ second: UInt64) throws(StorageError) -> Bool

/// An index in one state of a transaction. Used by one thread at a time, like the transaction.
package final class TextSearcher {
    package let index: TextIndex
    /// The statistics of the whole index, on which all scores depend.
    package let statistics: TextStatistics
    private let transaction: Transaction
    /// The state of the index. Nil if nothing was ever indexed.
    private let snapshot: TextSnapshot?
    /// The view that its searches share. It borrows pages that a write transaction may change, so it is kept only in a
    /// transaction that can't change anything.
    private var madeView: StoredView?
    private var seen: SeenState

    /// Throws `.invalid` if the index was made by another analyzer or Unicode version.
    package convenience init(_ index: TextIndex, in transaction: Transaction) throws(StorageError) {
        self.init(index, try TextSnapshot(index, in: transaction), transaction)
    }

    private init(_ index: TextIndex, _ snapshot: TextSnapshot?, _ transaction: Transaction) {
        self.index = index
        self.snapshot = snapshot
        self.transaction = transaction
        statistics = snapshot?.statistics ?? TextStatistics(index)
        seen = SeenState(transaction, snapshot?.trees)
    }

    /// Whether its state is the state that its transaction sees now. If so, it can still be used, also in a read
    /// transaction that was begun again.
    package func isCurrent() -> Bool {
        // An index that doesn't exist yet has no tree whose changes could be compared.
        if snapshot == nil, transaction.isWritable { return false }
        let now = SeenState(transaction, snapshot?.trees)
        guard now.isSame(as: seen) else { return false }
        if now.beginnings != seen.beginnings { madeView?.letGoOfMovable() }
        seen = now
        return true
    }

    /// Returns the view for a search, or nil if nothing was ever indexed.
    private func view() throws(StorageError) -> StoredView? {
        if let madeView { return madeView }
        guard let snapshot else { return nil }
        let view = try StoredView(snapshot)
        if !transaction.isWritable { madeView = view }
        return view
    }

    /// Returns the best `limit` matching documents, best first. Documents of equal score are in the order of
    /// `tieBreak`, or by row without it. The filter is part of the search: the result is the best of the documents that
    /// pass it, but scores use the statistics of the whole index. Throws `.invalid` for an invalid query.
    /// - Parameters:
    ///   - after: only documents behind this one; its score must be one that this search gave.
    ///   - weights: the weights of the fields, in order, none negative; 1 for other fields. Nil means 1 for all.
    package func search(
        _ query: TextQuery, limit: Int, filter: TextFilter = .all, after: TextHit? = nil, weights: [Double]? = nil,
        tieBreak: TextTieBreak? = nil
    ) throws(StorageError) -> [TextHit] {
        let weights = try Self.checked(weights)
        guard limit > 0, let view = try view() else { return [] }
        let query = resolved(query)
        var best = TopK(limit: limit, tieBreak: tieBreak, after: after)
        if weights == nil {
            if let words = TermQuery(query, index.analyzer),
                let ranking = try TermRanking(words, view, filter: filter, limit: limit)
            {
                try ranking.rank(&best)
                return try best.sorted()
            }
            if try DirectSearch(view, index.analyzer).rank(query, &best, filter) { return try best.sorted() }
        }
        try retrieval(query, filter, view, weights: weights, limit: limit).rank(&best)
        return try best.sorted()
    }

    /// Returns the rows of all matching documents, ascending.
    package func matches(_ query: TextQuery, filter: TextFilter = .all) throws(StorageError) -> [UInt64] {
        guard let view = try view() else { return [] }
        let query = resolved(query)
        var (rows, ascends): ([UInt64], Bool) = ([], true)
        func add(_ row: UInt64) {
            if let last = rows.last, last >= row { ascends = false }
            rows.append(row)
        }
        let isDone = try direct(view).forEach(query, filter) { (row) throws(StorageError) in add(row) }
        if !isDone {
            try retrieval(query, filter, view).forEach { (row) throws(StorageError) in add(row) }
        }
        return ascends ? rows : rows.sorted()
    }

    /// Returns the number of matching documents.
    package func count(_ query: TextQuery, filter: TextFilter = .all) throws(StorageError) -> UInt64 {
        guard let view = try view() else { return 0 }
        let query = resolved(query)
        if case .all = filter, let words = TermQuery(query, index.analyzer) {
            if words.terms.count == 1 {
                return try words.terms[0].token.withBytes { (bytes) throws(StorageError) in
                    try documentFrequency(bytes)
                }
            }
            return try TermUnion(words, view).count
        }
        if let count = try direct(view).count(query, filter) { return count }
        return try retrieval(query, filter, view).count()
    }

    /// Explains the score of a row's document. Returns nil if it doesn't match.
    package func explain(
        _ query: TextQuery, row: UInt64, weights: [Double]? = nil
    ) throws(StorageError) -> TextScoreExplanation? {
        let weights = try Self.checked(weights)
        guard let view = try view() else { return nil }
        return try retrieval(resolved(query), .documents([row]), view, weights: weights, limit: 1).explain(row)
    }

    /// Returns the best `limit` documents that hold any token of `text`.
    package func search(
        _ text: String, limit: Int, filter: TextFilter = .all, tieBreak: TextTieBreak? = nil
    ) throws(StorageError) -> [TextHit] {
        try search(.words(text), limit: limit, filter: filter, tieBreak: tieBreak)
    }

    /// Returns the rows of all documents that hold any token of `text`, ascending.
    package func matches(_ text: String, filter: TextFilter = .all) throws(StorageError) -> [UInt64] {
        try matches(.words(text), filter: filter)
    }

    /// Returns the number of documents that hold any token of `text`.
    package func count(_ text: String, filter: TextFilter = .all) throws(StorageError) -> UInt64 {
        try count(.words(text), filter: filter)
    }

    /// Returns the weights, or nil if all are 1. Throws `.invalid` if one isn't a number from 0 to 1e9.
    private static func checked(_ weights: [Double]?) throws(StorageError) -> [Double]? {
        guard let weights else { return nil }
        guard weights.allSatisfy({ $0 >= 0 && $0 <= TextQuery.maximumBoost }) else {
            throw .invalid("weights of fields must be numbers from 0 to 1e9, not \(weights)")
        }
        return weights.allSatisfy { $0 == 1 } ? nil : weights
    }

    /// - Parameter limit: number of documents to rank; nil to find all without ranking.
    private func retrieval(
        _ query: TextQuery, _ filter: TextFilter, _ view: StoredView, weights: [Double]? = nil, limit: Int? = nil
    ) throws(StorageError) -> Retrieval {
        let context = try ScoreContext(view, weights: weights, scores: limit != nil)
        var compiler = QueryCompiler(index.analyzer, context)
        return try Retrieval(compiler.compile(query), context, filter: filter, limit: limit ?? .max)
    }

    private func resolved(_ query: TextQuery) -> TextQuery {
        query.resolved(index.analyzer, hasPositions: index.storesPositions)
    }

    private func direct(_ view: StoredView) -> DirectSearch { DirectSearch(view, index.analyzer) }

    /// Returns the number of documents that hold `term`, which must be a token of the analyzer.
    package func documentFrequency(of term: String) throws(StorageError) -> UInt64 {
        try Array(term.utf8).withBytes { (bytes) throws(StorageError) in
            try documentFrequency(bytes)
        }
    }

    /// Calls `body` with each term, the number of its documents, and the number of its occurrences in all of them.
    /// Stops when `body` returns false. Terms are in byte order, except that terms with the same first 200 bytes come
    /// in any order.
    /// - Parameter first: only the terms from this one on; it need not be an existing term.
    package func forEachTerm(
        from first: [UInt8] = [],
        _ body: (_ term: String, _ documentFrequency: UInt64, _ collectionFrequency: UInt64) throws(StorageError) ->
            Bool
    ) throws(StorageError) {
        // Terms with the same first 200 bytes are in a different order.
        let start = Array(first.prefix(TermDictionary.plainLimit))
        try snapshot?.forEachTerm(from: start) { (term, documents, occurrences) throws(StorageError) in
            try body(String(decoding: term, as: UTF8.self), documents, occurrences)
        }
    }

    /// Returns the number of terms of the index.
    package func termCount() throws(StorageError) -> UInt64 {
        try snapshot?.termCount() ?? 0
    }

    private func documentFrequency(_ term: Bytes) throws(StorageError) -> UInt64 {
        try snapshot?.frequencies(of: term).documents ?? 0
    }

    /// Returns an expansion over the index's terms, or nil if nothing was ever indexed.
    func expansion() throws(StorageError) -> TermExpansion? {
        guard let view = try view() else { return nil }
        return TermExpansion(view: view)
    }
}

/// Identifies the state of an index that a transaction sees.
private struct SeenState {
    let version: UInt64
    let beginnings: Int
    /// Number of changes of the trees. A write transaction that changes an index changes one of these two trees.
    private let statistics: UInt64?
    private let pending: UInt64?

    init(_ transaction: Transaction, _ trees: TextTrees?) {
        version = transaction.version
        beginnings = transaction.beginnings
        let trees = transaction.isWritable ? trees : nil
        statistics = trees.flatMap { transaction.changes(of: $0.statistics) }
        pending = trees?.pending.flatMap { transaction.changes(of: $0) }
    }

    func isSame(as other: Self) -> Bool {
        version == other.version && statistics == other.statistics && pending == other.pending
    }
}
