// SPDX-License-Identifier: Apache-2.0
// The common documents of long lists, whose blocks are as wide as a table of positions: a document between two blocks
// is not mistaken for one in the next block with the same lower bits.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Conjunctions of long lists")
struct ConjunctionTests {
    private static let index = TextIndex(prefix: "t:")

    /// Returns a searcher over documents; each document has the words in whose lists it is.
    private static func searcher(_ lists: [String: Set<UInt64>], count: UInt64) throws -> TextSearcher {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(index, in: transaction)
        let words = lists.keys.sorted()
        for row in 0..<count {
            let held = words.filter { lists[$0]?.contains(row) == true }
            try writer.insert(row, text: (held + ["other"]).joined(separator: " "))
        }
        try writer.flush()
        try transaction.commit()
        return try TextSearcher(index, in: store.beginRead())
    }

    private static func check(
        _ searcher: TextSearcher, _ words: [String], _ lists: [String: Set<UInt64>], _ note: Comment
    ) throws {
        let expected = words.dropFirst().reduce(lists[words[0]] ?? []) { $0.intersection(lists[$1] ?? []) }
        let query = TextQuery.all(words.map { .words($0) })
        #expect(try searcher.matches(query) == expected.sorted(), note)
        #expect(try searcher.count(query) == UInt64(expected.count), note)
        let hits = try searcher.search(query, limit: 1_000_000)
        #expect(Set(hits.map(\.row)) == expected && hits.count == expected.count, note)
        // With a filter that accepts few documents: the filter leads the search.
        let allowed = (lists[words[0]] ?? []).sorted().filter { $0 % 3 == 0 }
        let found = try searcher.search(query, limit: 1_000_000, filter: .documents(allowed))
        #expect(Set(found.map(\.row)) == expected.intersection(allowed), note)
    }

    @Test("A document before a block, with the lower bits of one in it")
    func before() throws {
        // 128 documents in a block: the first ends at 1,000, the second begins at 5,000 and ends at 9,000.
        let near = Set((0..<128).map { UInt64(873 + $0) })
        let far = (0..<127).map { UInt64(5_000 + 31 * $0) } + [9_000]
        let dense = near.union(far)
        let same = Set(far.map { $0 - 4_096 }.filter { $0 > 1_000 })
        let rare = same.union([far[1], far[9]])
        let second = rare.union([far[5]])
        let lists = ["rare": rare, "second": second, "dense": dense]
        let searcher = try Self.searcher(lists, count: 9_100)
        try Self.check(searcher, ["rare", "dense"], lists, "two lists")
        try Self.check(searcher, ["rare", "second", "dense"], lists, "three lists")
    }

    @Test("Lists of words that about one document in thirty has", arguments: SeededGenerator.seeds(2))
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count: UInt64 = 40_000
        var lists: [String: Set<UInt64>] = [:]
        for (word, share) in [("first", 36), ("second", 32), ("third", 29), ("fourth", 3)] {
            lists[word] = Set((0..<count).filter { _ in random.below(share) == 0 })
        }
        let searcher = try Self.searcher(lists, count: count)
        for words in [["first", "second"], ["second", "third"], ["first", "second", "third"], ["first", "fourth"]] {
            try Self.check(searcher, words, lists, "\(words), HORNBEAM_SEED=\(seed)")
        }
    }
}
