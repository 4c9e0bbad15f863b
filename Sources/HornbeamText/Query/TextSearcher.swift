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
    private let transaction: Transaction
    /// Nil if nothing was ever indexed.
    private let trees: TextTrees?

    /// Throws `.invalid` if the index was made by another analyzer or Unicode version.
    package init(_ index: TextIndex, in transaction: Transaction) throws(StorageError) {
        self.index = index
        self.transaction = transaction
        let opened = try index.open(in: transaction)
        trees = opened?.trees
        statistics = opened?.statistics ?? TextStatistics(index.analyzer)
    }

    /// The best `limit` documents that hold any token of `text`, best first; those of equal score in the order that
    /// `tieBreak` gives, else by document number. The filter is part of the search: the result is the best of what it
    /// lets through, and statistics are those of the whole index all the same.
    package func search(
        _ text: String, limit: Int, filter: TextFilter = .all, tieBreak: TextTieBreak? = nil
    ) throws(StorageError) -> [TextHit] {
        guard limit > 0, var documents = try disjunction(text, filter: filter) else { return [] }
        var best = TopK(limit: limit, tieBreak: tieBreak)
        try documents.rank(&best)
        return try best.sorted()
    }

    /// All documents that hold any token of `text`, ascending.
    package func matches(_ text: String, filter: TextFilter = .all) throws(StorageError) -> [UInt64] {
        guard var documents = try disjunction(text, filter: filter) else { return [] }
        var docnos: [UInt64] = []
        try documents.forEach { (docno) throws(StorageError) in docnos.append(docno) }
        return docnos
    }

    /// How many documents hold any token of `text`.
    package func count(_ text: String, filter: TextFilter = .all) throws(StorageError) -> UInt64 {
        let tokens = Set(index.analyzer.tokens(of: text))
        if case .all = filter, tokens.count == 1, let token = tokens.first {
            return try token.withBytes { (bytes) throws(StorageError) in try entry(bytes)?.documentFrequency ?? 0 }
        }
        guard var documents = try disjunction(text, filter: filter) else { return 0 }
        var count: UInt64 = 0
        try documents.forEach { (_) throws(StorageError) in count += 1 }
        return count
    }

    /// How many documents hold `term`, a token as the analyzer makes it.
    package func documentFrequency(of term: String) throws(StorageError) -> UInt64 {
        try Array(term.utf8).withBytes { (bytes) throws(StorageError) in try entry(bytes)?.documentFrequency ?? 0 }
    }

    /// Calls `body` with each term, the number of documents that hold it, and how often it occurs in all of them; until
    /// it returns false. In byte order, except that terms of more than 200 bytes that begin alike come in any order.
    /// - Parameter first: only the terms from this one on; it need not be one.
    package func forEachTerm(
        from first: [UInt8] = [],
        _ body: (_ term: String, _ documentFrequency: UInt64, _ collectionFrequency: UInt64) throws(StorageError) ->
            Bool
    ) throws(StorageError) {
        guard let trees else { return }
        let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        var cursor = try transaction.cursor(trees.terms)
        var isThere = try cursor.seek(Array(first.prefix(TermDictionary.plainLimit)))
        while isThere {
            let (term, entry) = try dictionary.read(cursor)
            let text = String(decoding: term, as: UTF8.self)
            guard try body(text, entry.documentFrequency, entry.collectionFrequency) else { return }
            isThere = try cursor.next()
        }
    }

    /// How many terms the index has.
    package func termCount() throws(StorageError) -> UInt64 {
        guard let trees else { return 0 }
        return try transaction.count(trees.terms)
    }

    private func entry(_ term: Bytes) throws(StorageError) -> TermEntry? {
        guard let trees, !term.isEmpty else { return nil }
        return try TermDictionary(transaction: transaction, tree: trees.terms, index: index).find(term)
    }

    /// The union of the posting lists of the text's tokens, as far as the index knows them; nil if it knows none.
    private func disjunction(_ text: String, filter: TextFilter) throws(StorageError) -> Disjunction? {
        guard let trees else { return nil }
        var lists: [PostingIterator] = []
        var places: [[UInt8]: Int?] = [:]
        var tokens: [Int] = []
        for token in index.analyzer.tokens(of: text) {
            if let known = places[token] {
                if let known { tokens.append(known) }
                continue
            }
            let entry = try token.withBytes { (bytes) throws(StorageError) -> TermEntry? in try self.entry(bytes) }
            places[token] = .some(entry == nil ? nil : lists.count)
            guard let entry else { continue }
            tokens.append(lists.count)
            lists.append(try PostingIterator(entry, index: index, trees: trees, in: transaction))
        }
        guard !lists.isEmpty else { return nil }
        let lengths = FieldLengths(transaction: transaction, tree: trees.lengths, index: index)
        return try Disjunction(lists, tokens: tokens, statistics: statistics, lengths: lengths, filter: filter)
    }
}
