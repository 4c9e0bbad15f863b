// SPDX-License-Identifier: Apache-2.0
// A full-text condition asked of its index: what the planner and the executor want to know.

import HornbeamText
import HornbeamTree

/// One search in the state of a transaction, changes that wait in it included.
struct IndexSearch {
    let searcher: TextSearcher
    private let match: TextMatch

    init(_ index: EntityTextIndex, _ match: TextMatch, _ store: EntityStore) throws {
        try store.flushText()
        searcher = try TextSearcher(index.index, in: store.transaction)
        self.match = match
    }

    /// Whether indexes know the answer; otherwise texts are read.
    static func serves(_ match: TextMatch) -> Bool { match.words != nil }

    /// About how many it finds, at most.
    func estimate() throws -> Int {
        var sum: UInt64 = 0
        for token in Set(searcher.index.analyzer.tokens(of: match.words ?? "")) {
            sum += try searcher.documentFrequency(of: String(decoding: token, as: UTF8.self))
        }
        return Int(entries: sum)
    }

    /// All row ids, ascending.
    func matches() throws -> [UInt64] { try searcher.matches(match.words ?? "") }

    /// The best, in their order.
    func search(
        limit: Int, filter: TextFilter = .all, tieBreak: TextTieBreak? = nil
    ) throws -> [TextHit] {
        try searcher.search(match.words ?? "", limit: limit, filter: filter, tieBreak: tieBreak)
    }
}
