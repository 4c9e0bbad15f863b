// SPDX-License-Identifier: Apache-2.0
// Retrieval from a stored index: the answers equal those from plain arrays, and explanations add up.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Retrieval from a stored index")
struct StoredRetrievalTests {
    typealias Generator = RetrievalTests.Generator

    static func store(_ documents: [TestDocument]) throws -> TreeStore {
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for document in documents {
                let fields = document.fields.map { $0.map { $0.joined(separator: " ") } }
                try writer.insert(document.row, DocumentText(fields: fields))
            }
        }
        return store
    }

    @Test("Every form of a query agrees with the model", arguments: SeededGenerator.seeds(3))
    func forms(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        for round in 0..<4 {
            let documents = generator.documents([5, 60, 60, 150][round], fields: 2).compactMap { $0 }
            guard !documents.isEmpty else { continue }
            let searcher = try Self.store(documents).searcher()
            let weights: [Double]? = round == 2 ? [3, 0.5] : nil
            let model = NaiveQuery(documents, weights: weights)
            for _ in 0..<20 {
                let query = generator.query()
                let note: Comment = "\(query), weights \(weights ?? []), HORNBEAM_SEED=\(seed)"
                let expected = model.search(query)
                let limit = generator.random.oneIn(2) ? 1000 : 5
                let found = try searcher.search(query, limit: limit, weights: weights)
                #expect(found == Array(expected.prefix(limit)), note)
                #expect(try searcher.matches(query) == expected.map(\.row).sorted(), note)
                #expect(try searcher.count(query) == UInt64(expected.count), note)
                for document in documents.prefix(5) {
                    let score = expected.first { $0.row == document.row }?.score
                    let explanation = try searcher.explain(query, row: document.row, weights: weights)
                    #expect(explanation?.value == score, note)
                    #expect(explanation.map { $0.parts.reduce(0) { $0 + $1.value } } == score, note)
                }
            }
        }
    }

    @Test("Skipping through long lists loses nothing", arguments: SeededGenerator.seeds(2))
    func longLists(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let documents = generator.documents(7000, fields: 1).compactMap { $0 }
        let searcher = try Self.store(documents).searcher()
        let view = MemoryView(documents, fieldCount: 1)
        for round in 0..<25 {
            let query = round % 2 == 0 ? TextQuery.words(generator.text(1...5)) : generator.query()
            let all = try RetrievalTests.search(view, query)
            let note: Comment = "\(query), HORNBEAM_SEED=\(seed)"
            #expect(try searcher.search(query, limit: 10) == Array(all.prefix(10)), note)
            let allowed = documents.map(\.row).filter { _ in generator.random.oneIn(round % 3 == 0 ? 2 : 500) }.sorted()
            let some = all.filter { hit in allowed.contains(hit.row) }
            #expect(try searcher.search(query, limit: 10, filter: .documents(allowed)) == Array(some.prefix(10)), note)
            #expect(try searcher.count(query, filter: .documents(allowed)) == UInt64(some.count), note)
        }
    }

    @Test("An impossible query is refused in words")
    func refusals() throws {
        let searcher = try TreeStore.index(of: "a b").searcher()
        var deep = TextQuery.words("a")
        for _ in 0..<300 { deep = .boost(1, deep) }
        let queries: [TextQuery] = [
            .boost(-1, .words("a")), .boost(.infinity, .words("a")), .boost(1e200, .boost(1e200, .words("a"))),
            .near([.words("a"), .everything], within: 3), deep, .boost(.nan, .words("a")),
            .any([.boost(1e308, .words("a")), .boost(1e308, .words("b"))]), .boost(1.1e9, .words("a")),
            .boost(1e9, .boost(2, .boost(0, .words("a")))),
        ]
        for query in queries {
            #expect(throws: StorageError.self) { try searcher.search(query, limit: 3) }
        }
        #expect(throws: StorageError.self) { try searcher.search(.words("a"), limit: 3, weights: [-1]) }
        #expect(throws: StorageError.self) { try searcher.search(.words("a"), limit: 3, weights: [1.1e9]) }
        let largest = TextQuery.boost(1e9, .boost(1, .any([.words("a"), .words("b")])))
        #expect(try searcher.search(largest, limit: 3, weights: [1e9]).map { $0.score.isFinite } == [true])
        #expect(try searcher.explain(.words("a"), row: 7) == nil)
        #expect(try searcher.explain(.words("x"), row: 1) == nil)
    }
}
