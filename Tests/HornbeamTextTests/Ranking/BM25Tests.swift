// SPDX-License-Identifier: Apache-2.0
// Scores computed by hand, and the properties of the formula.

import HornbeamText
import HornbeamTree
import Testing

@Suite("scores")
struct BM25Tests {
    @Test("Scores are those computed by hand")
    func byHand() throws {
        let store = try TreeStore.index(of: "red green", "Red, red: blue", "", "green")
        let searcher = try store.searcher()
        // N = 4, n = 2: ln 2. Average length 6/4. Document 1: 1 / (1 + 1.2 · 1.25), document 2: 2 / (2 + 1.2 · 1.75).
        let hits = try searcher.search("red", limit: 10)
        #expect(hits.map(\.row) == [2, 1])
        #expect(abs(hits[0].score - 0.693_147_180_559_945_3 * 2 / 4.1) < 1e-15)
        #expect(abs(hits[1].score - 0.693_147_180_559_945_3 / 2.5) < 1e-15)
    }

    @Test("Every term adds to the score, even one that all documents hold")
    func positive() {
        for documents in UInt64(1)...50 {
            for frequency in 1...documents {
                #expect(BM25.weight(documentCount: documents, documentFrequency: frequency) > 0)
            }
        }
    }

    @Test("A token repeated in the query counts again")
    func repeats() throws {
        let store = try TreeStore.index(of: "a b", "a a c", "b c c d", "")
        let model = NaiveIndex(texts: [1: "a b", 2: "a a c", 3: "b c c d", 4: ""])
        let searcher = try store.searcher()
        for query in ["a a", "a b a", "c a b c a", "d d d d"] {
            #expect(try searcher.search(query, limit: 10) == model.search(query))
        }
        let once = try searcher.search("a", limit: 1)[0].score
        #expect(try searcher.search("a a", limit: 1)[0].score == once + once)
    }

    @Test("Empty documents count in N and in the average length")
    func emptyDocuments() throws {
        let store = try TreeStore.index(of: "a", "b c")
        let before = try store.searcher().search("a", limit: 1)
        try store.write { try $0.insert(3, text: " -- ") }
        let searcher = try store.searcher()
        #expect(searcher.statistics.documentCount == 3)
        #expect(searcher.statistics.totalLength == 3)
        let after = try searcher.search("a", limit: 1)
        #expect(after == NaiveIndex(texts: [1: "a", 2: "b c", 3: " -- "]).search("a"))
        #expect(after != before)
    }
}
