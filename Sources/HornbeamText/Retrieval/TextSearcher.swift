// SPDX-License-Identifier: Apache-2.0
// Questions to an index: ranked search, matches, counts, vocabulary. Sees what its transaction saw when it was made; in
// a write transaction that is the state of the last flush. To open an index takes longer than a search for a rare word,
// so whoever keeps a transaction keeps its searchers, and asks each whether it is still current.

package import HornbeamPages
package import HornbeamTree

/// Which documents a search may return.
package enum TextFilter {
    package typealias Test = (_ row: UInt64) throws(StorageError) -> Bool

    case all
    /// Of these rows' documents those that pass the test, if there is one.
    case selection(RowSelection, passing: Test? = nil)
    /// Those that pass the test, which is asked only about documents that would otherwise be in the result.
    case matching(Test)
}

/// Whether the first of two documents of equal score comes before the second.
package typealias TextTieBreak = (_ first: UInt64, _ second: UInt64) throws(StorageError) -> Bool

/// An index in one state of a transaction. One thread at a time, as the transaction.
package final class TextSearcher {
    package let index: TextIndex
    /// The statistics of the whole index, on which all scores depend.
    package let statistics: TextStatistics
    private let transaction: Transaction
    /// The state of the index, nil if nothing was ever indexed.
    private let snapshot: TextSnapshot?
    /// The view that its searches share. It borrows from pages that a write transaction may change, so it is kept only
    /// in a transaction that can't change anything.
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

    /// Whether what it sees is what its transaction sees now; then it may go on being asked, also in a read that was
    /// begun again.
    package func isCurrent() -> Bool {
        // What isn't there yet has no tree that would tell.
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

    /// The best `limit` documents that match, best first; those of equal score in the order that `tieBreak` gives, else
    /// by row. The filter is part of the search: the result is the best of what it lets through, and statistics are
    /// those of the whole index all the same. Throws `.invalid` for what can't be asked.
    /// - Parameters:
    ///   - after: only what comes after it; its score must be one that this search gave.
    ///   - weights: of the fields, in their order, none negative; tokens of the others count 1. Nil: all count alike.
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

    /// The rows of all documents that match, ascending.
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

    /// How many documents match.
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

    /// The best `limit` documents that hold any token of `text`.
    package func search(
        _ text: String, limit: Int, filter: TextFilter = .all, tieBreak: TextTieBreak? = nil
    ) throws(StorageError) -> [TextHit] {
        try search(.words(text), limit: limit, filter: filter, tieBreak: tieBreak)
    }

    /// The rows of all documents that hold any token of `text`, ascending.
    package func matches(_ text: String, filter: TextFilter = .all) throws(StorageError) -> [UInt64] {
        try matches(.words(text), filter: filter)
    }

    /// How many documents hold any token of `text`.
    package func count(_ text: String, filter: TextFilter = .all) throws(StorageError) -> UInt64 {
        try count(.words(text), filter: filter)
    }

    /// Returns the weights, or nil if all count alike. Throws `.invalid` if one isn't a number from 0 to 1e9.
    private static func checked(_ weights: [Double]?) throws(StorageError) -> [Double]? {
        guard let weights else { return nil }
        guard weights.allSatisfy({ $0 >= 0 && $0 <= TextQuery.maximumBoost }) else {
            throw .invalid("weights of fields must be numbers from 0 to 1e9, not \(weights)")
        }
        return weights.allSatisfy { $0 == 1 } ? nil : weights
    }

    /// - Parameter limit: how many documents are to be ranked; nil if none, but all found.
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

    /// How many documents hold `term`, a token as the analyzer makes it.
    package func documentFrequency(of term: String) throws(StorageError) -> UInt64 {
        try Array(term.utf8).withBytes { (bytes) throws(StorageError) in
            try documentFrequency(bytes)
        }
    }

    /// Calls `body` with each term, the number of documents that hold it, and how often it occurs in all of them; until
    /// it returns false. In byte order, except that terms of more than 200 bytes that begin alike come in any order.
    /// - Parameter first: only the terms from this one on; it need not be one.
    package func forEachTerm(
        from first: [UInt8] = [],
        _ body: (_ term: String, _ documentFrequency: UInt64, _ collectionFrequency: UInt64) throws(StorageError) ->
            Bool
    ) throws(StorageError) {
        // Beyond so many bytes terms stand in another order than theirs.
        let start = Array(first.prefix(TermDictionary.plainLimit))
        try snapshot?.forEachTerm(from: start) { (term, documents, occurrences) throws(StorageError) in
            try body(String(decoding: term, as: UTF8.self), documents, occurrences)
        }
    }

    /// How many terms the index has.
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

/// Tells one state of an index from another, as a transaction sees it.
private struct SeenState {
    let version: UInt64
    let beginnings: Int
    /// How often the tree has been changed. A write transaction that changes an index changes one of these two trees.
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
