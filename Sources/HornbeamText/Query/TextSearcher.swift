// SPDX-License-Identifier: Apache-2.0
// Questions to an index: ranked search, matches, counts, vocabulary. Sees what its transaction sees; in a write
// transaction, the state of the last flush, so flush before making one and make a new one after changes.

package import HornbeamPages
package import HornbeamTree

/// Which documents a search may return.
package enum TextFilter {
    case all
    /// These and no others; must ascend strictly.
    case documents([UInt64])
    /// Those for which the function says so; asked only about documents that would otherwise be in the result.
    case matching((_ docno: UInt64) throws(StorageError) -> Bool)
}

/// Whether the first of two documents of equal score comes before the second.
package typealias TextTieBreak = (_ first: UInt64, _ second: UInt64) throws(StorageError) -> Bool

/// An index in one state of a transaction. One thread at a time, as the transaction.
package struct TextSearcher {
    package let index: TextIndex
    /// Of the whole index: what all scores depend on.
    package let statistics: TextStatistics
    /// Nil if nothing was ever indexed.
    private let state: SearcherState?

    /// Throws `.invalid` if the index was made by another analyzer or Unicode version.
    package init(_ index: TextIndex, in transaction: Transaction) throws(StorageError) {
        self.index = index
        guard let snapshot = try TextSnapshot(index, in: transaction) else {
            state = nil
            statistics = TextStatistics(index)
            return
        }
        state = SearcherState(snapshot)
        statistics = snapshot.statistics
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
        try Self.check(weights)
        guard limit > 0, let state else { return [] }
        var best = TopK(limit: limit, tieBreak: tieBreak, after: after)
        if weights == nil {
            let view = try state.view()
            if let words = TermQuery(query, index.analyzer),
                let ranking = try TermRanking(words, view, filter: filter)
            {
                try ranking.rank(&best)
                return try best.sorted()
            }
            if try DirectSearch(view, index.analyzer).rank(query, &best, filter) { return try best.sorted() }
        }
        try retrieval(query, filter, weights, scores: true, state).rank(&best)
        return try best.sorted()
    }

    /// The rows of all documents that match, ascending.
    package func matches(_ query: TextQuery, filter: TextFilter = .all) throws(StorageError) -> [UInt64] {
        guard let state else { return [] }
        var (rows, ascends): ([UInt64], Bool) = ([], true)
        func add(_ row: UInt64) {
            if let last = rows.last, last >= row { ascends = false }
            rows.append(row)
        }
        let isDone = try state.direct().forEach(query, filter) { (row) throws(StorageError) in add(row) }
        if !isDone {
            try retrieval(query, filter, nil, scores: false, state).forEach { (row) throws(StorageError) in add(row) }
        }
        return ascends ? rows : rows.sorted()
    }

    /// How many documents match.
    package func count(_ query: TextQuery, filter: TextFilter = .all) throws(StorageError) -> UInt64 {
        guard let state else { return 0 }
        if case .all = filter, let words = TermQuery(query, index.analyzer) {
            if words.terms.count == 1 {
                return try words.terms[0].token.withBytes { (bytes) throws(StorageError) in
                    try documentFrequency(bytes)
                }
            }
            return try TermUnion(words, state.view()).count
        }
        if let count = try state.direct().count(query, filter) { return count }
        return try retrieval(query, filter, nil, scores: false, state).count()
    }

    /// How the score of a row's document comes about; nil if it doesn't match.
    package func explain(
        _ query: TextQuery, row: UInt64, weights: [Double]? = nil
    ) throws(StorageError) -> TextScoreExplanation? {
        try Self.check(weights)
        guard let state else { return nil }
        return try retrieval(query, .documents([row]), weights, scores: true, state).explain(row)
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

    private static func check(_ weights: [Double]?) throws(StorageError) {
        if let weights, !weights.allSatisfy({ $0 >= 0 && $0 <= TextQuery.maximumBoost }) {
            throw .invalid("weights of fields must be numbers from 0 to 1e9, not \(weights)")
        }
    }

    private func retrieval(
        _ query: TextQuery, _ filter: TextFilter, _ weights: [Double]?, scores: Bool, _ state: SearcherState
    ) throws(StorageError) -> Retrieval {
        let context = try ScoreContext(state.view(), weights: weights, scores: scores)
        var compiler = QueryCompiler(index.analyzer, context)
        return try Retrieval(compiler.compile(query), context, filter: filter)
    }

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
        try state?.snapshot.forEachTerm(from: start) { (term, documents, occurrences) throws(StorageError) in
            try body(String(decoding: term, as: UTF8.self), documents, occurrences)
        }
    }

    /// How many terms the index has.
    package func termCount() throws(StorageError) -> UInt64 {
        try state?.snapshot.termCount() ?? 0
    }

    private func documentFrequency(_ term: Bytes) throws(StorageError) -> UInt64 {
        try state?.snapshot.frequencies(of: term).documents ?? 0
    }

    /// Nil if nothing was ever indexed.
    func expansion() throws(StorageError) -> TermExpansion? {
        guard let state else { return nil }
        return TermExpansion(view: try state.view())
    }
}

/// What a searcher's searches share.
private final class SearcherState {
    let snapshot: TextSnapshot
    /// Borrows from pages that a write transaction may change, so it is kept where nothing can change.
    private var madeView: StoredView?

    init(_ snapshot: TextSnapshot) { self.snapshot = snapshot }

    func view() throws(StorageError) -> StoredView {
        if let madeView { return madeView }
        let view = try StoredView(snapshot)
        if !snapshot.transaction.isWritable { madeView = view }
        return view
    }

    func direct() throws(StorageError) -> DirectSearch { DirectSearch(try view(), snapshot.index.analyzer) }
}
