// SPDX-License-Identifier: Apache-2.0
// Every form of a query while documents are pending: before, during and after the folding of a batch, the answers
// equal the model's to the last bit of every score.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Retrieval while documents are pending")
struct PendingRetrievalTests {
    typealias Generator = RetrievalTests.Generator

    static func text(_ document: TestDocument) -> DocumentText {
        DocumentText(fields: document.texts ?? document.fields.map { $0.map { $0.joined(separator: " ") } })
    }

    private static func document(_ row: UInt64, _ generator: inout Generator) -> TestDocument {
        TestDocument(
            row: row,
            texts: (0..<2).map { _ in
                (0..<generator.random.below(3)).map { _ in generator.text(0...generator.random.below(12)) }
            }, TestAnalyzer.current)
    }

    /// Adds, changes or removes a document.
    static func change(
        _ row: UInt64, _ documents: inout [UInt64: TestDocument], _ writer: TextIndexWriter,
        _ generator: inout Generator
    ) throws {
        let new = document(row, &generator)
        switch (documents[row], generator.random.below(3)) {
        case (nil, _):
            try writer.insert(row, text(new))
            documents[row] = new
        case (let old?, 0):
            try writer.remove(row, text(old))
            documents[row] = nil
        case (let old?, _):
            try writer.update(row, from: text(old), to: text(new))
            documents[row] = new
        }
    }

    private static func isFolding(_ store: TreeStore) throws -> Bool {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let opened = try #require(try testIndex.open(in: transaction))
        return try PendingState(testIndex, opened.trees, opened.statistics, in: transaction).fold.batch != nil
    }

    @Test("Every form of a query agrees with the model", arguments: SeededGenerator.seeds(2))
    func forms(seed: UInt64) throws {
        // The model of queries has no words of several tokens; with trigrams all words have several.
        try TestAnalyzer.$current.withValue(TestAnalyzer.all[Int(seed % 3)]) { try history(seed) }
    }

    private func history(_ seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let store = try TreeStore.inMemory()
        var documents: [UInt64: TestDocument] = [:]
        try store.write { writer in
            for row in UInt64(0)..<50 { try Self.change(row * 3, &documents, writer, &generator) }
        }
        var asked = (folding: 0, other: 0)
        for step in 0..<90 {
            try store.write(limits: PendingLimits(pending: 150, slice: 30)) { writer in
                try Self.change(UInt64(generator.random.below(200)), &documents, writer, &generator)
            }
            guard step % 3 == 0, !documents.isEmpty else { continue }
            let isFolding = try Self.isFolding(store)
            let weights: [Double]? = generator.random.oneIn(4) ? [3, 0.5] : nil
            let searcher = try store.searcher()
            let all = documents.values.sorted { $0.row < $1.row }
            let model = NaiveQuery(all, weights: weights)
            for _ in 0..<5 {
                let query = generator.query()
                let analyzer = TestAnalyzer.current.specification
                let note: Comment = "\(query), step \(step), \(weights ?? []), \(analyzer), HORNBEAM_SEED=\(seed)"
                let expected = model.search(query)
                let limit = generator.random.oneIn(2) ? 1000 : 5
                #expect(
                    try searcher.search(query, limit: limit, weights: weights) == Array(expected.prefix(limit)), note)
                #expect(try searcher.matches(query) == expected.map(\.row).sorted(), note)
                #expect(try searcher.count(query) == UInt64(expected.count), note)
                let row = all[generator.random.below(all.count)].row
                let score = expected.first { $0.row == row }?.score
                #expect(try searcher.explain(query, row: row, weights: weights)?.value == score, note)
                if isFolding { asked.folding += 1 } else { asked.other += 1 }
            }
        }
        #expect(asked.folding > 20 && asked.other > 20, "\(asked), HORNBEAM_SEED=\(seed)")
    }
}
