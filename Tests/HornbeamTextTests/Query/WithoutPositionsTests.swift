// SPDX-License-Identifier: Apache-2.0
// Queries of an index without positions: queries that need none get the same answers to the last bit of every score,
// and for the others a wider query finds all their results.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Indexes without positions")
struct WithoutPositionsTests {
    private let index = TextIndex(prefix: "t:without:", storesPositions: false)

    @Test("Every form has its answer, or a wider query that finds at least that", arguments: SeededGenerator.seeds(3))
    func forms(seed: UInt64) throws {
        var generator = RetrievalTests.Generator(seed: seed)
        let documents = generator.documents(90, fields: 2).compactMap { $0 }
        let store = try TreeStore.inMemory()
        for (place, document) in documents.enumerated() {
            // Half of the documents are added one by one, so that they are pending.
            let transaction = try store.beginWrite()
            for (index, limits) in [(testIndex, PendingLimits.none), (index, .standard)] {
                let writer = try TextIndexWriter(index, in: transaction, limits: place < 45 ? .none : limits)
                let text = DocumentText(fields: document.fields.map { $0.map { $0.joined(separator: " ") } })
                try writer.insert(document.row, text)
                try writer.flush()
            }
            try transaction.commit()
        }
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let whole = try TextSearcher(testIndex, in: transaction)
        let searcher = try TextSearcher(index, in: transaction)
        var wider = 0
        for _ in 0..<300 {
            let query = generator.query()
            guard query.needsPositions(.words) else {
                #expect(query.withoutPositions(.words) == query)
                #expect(try searcher.search(query, limit: 20) == whole.search(query, limit: 20), "\(query) \(seed)")
                #expect(try searcher.matches(query) == whole.matches(query), "\(query) \(seed)")
                #expect(try searcher.count(query) == whole.count(query), "\(query) \(seed)")
                continue
            }
            guard let candidates = query.withoutPositions(.words) else { continue }
            wider += 1
            #expect(!candidates.needsPositions(.words))
            let found = Set(try searcher.matches(candidates))
            #expect(try whole.matches(query).allSatisfy(found.contains), "\(query) as \(candidates) \(seed)")
        }
        #expect(wider > 30)
    }

    @Test(
        "The wider query consists of words, for every analyzer",
        arguments: [
            ("words", "Can't stop", 3), ("unicode", "東京都 天気", 4), ("unicode+english", "running rivers", 2),
            ("trigrams", "nnin", 2), ("words", "&", 0),
        ])
    func analyzers(specification: String, text: String, count: Int) throws {
        let analyzer = try #require(Analyzer(specification: specification))
        let wider = TextQuery.phrase(text, slop: 0).withoutPositions(analyzer)
        switch wider {
        case .all(let parts)?: #expect(parts.count == count)
        case nil: #expect(count == 0)
        default: Issue.record("\(String(describing: wider))")
        }
        #expect(wider?.needsPositions(analyzer) != true)
    }

    @Test("Exclusions that can't be checked exclude nothing, and their documents stay")
    func exclusions() {
        let (phrase, words) = (TextQuery.phrase("a b", slop: 0), TextQuery.words("c"))
        let both = TextQuery.all([.words("a"), .words("b")])
        #expect(TextQuery.without(words, phrase).withoutPositions(.words) == words)
        #expect(TextQuery.without(phrase, words).withoutPositions(.words) == .without(both, words))
        #expect(TextQuery.any([words, .phrase("&", slop: 0)]).withoutPositions(.words) == nil)
        let void = TextQuery.all([words, .phrase("&", slop: 0)])
        #expect(!void.needsPositions(.words) && void.withoutPositions(.words) == void)
        #expect(TextQuery.field([0], words).withoutPositions(.words) == words)
        // The exclusion may be in another field.
        #expect(TextQuery.field([0], .any([.without(words, both)])).withoutPositions(.words) == .any([words]))
        #expect(TextQuery.prefix("a b").withoutPositions(.words) == .all([.words("a"), .prefix("b")]))
    }
}
