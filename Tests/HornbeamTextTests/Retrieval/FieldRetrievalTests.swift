// SPDX-License-Identifier: Apache-2.0
// Fields and their weights: what is skipped could not have been among the best, and what each field's tokens are in all
// is right after any history.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Fields and weights")
struct FieldRetrievalTests {
    typealias Generator = RetrievalTests.Generator

    /// A query that asks where things stand.
    private static func query(_ generator: inout Generator) -> TextQuery {
        func one() -> TextQuery {
            switch generator.random.below(6) {
            case 0: .phrase(generator.text(2...3), slop: generator.random.below(2))
            case 1: .prefix(generator.prefix())
            case 2: .boost(0.5, .words(generator.word()))
            default: .words(generator.text(1...3))
            }
        }
        let field = TextQuery.field([generator.random.below(3)], one())
        switch generator.random.below(6) {
        case 0: return one()
        case 1: return .any([field, one()])
        case 2: return .all([field, one()])
        case 3: return .any([.words(generator.word()), .field([0, 2], one()), .words("a")])
        case 4: return .without(field, .words(generator.word()))
        default: return field
        }
    }

    @Test("Skipping leaves out nothing, whatever fields count and weigh", arguments: SeededGenerator.seeds(2))
    func skipping(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let documents = generator.documents(6_000, fields: 3).compactMap { $0 }
        let view = MemoryView(documents, fieldCount: 3)
        let searcher = try StoredRetrievalTests.store(documents).searcher()
        let weights: [[Double]?] = [nil, [2, 0.5, 1], [5], [0, 1], [0.1, 0.1, 0.2], [1, 1, 1], [1]]
        for round in 0..<35 {
            let query = Self.query(&generator)
            let weights = weights[round % weights.count]
            let note: Comment = "\(query), weights \(weights ?? []), HORNBEAM_SEED=\(seed)"
            let all = try RetrievalTests.search(view, query, weights: weights)
            for limit in [1, 10] {
                let best = Array(all.prefix(limit))
                #expect(try RetrievalTests.search(view, query, limit: limit, weights: weights) == best, note)
                #expect(try searcher.search(query, limit: limit, weights: weights) == best, note)
            }
            let allowed = documents.map(\.row).filter { _ in generator.random.oneIn(round % 2 == 0 ? 3 : 200) }.sorted()
            let set = Set(allowed)
            let some = all.filter { set.contains($0.docno) }
            let found = try searcher.search(query, limit: 10, filter: .documents(allowed), weights: weights)
            #expect(found == Array(some.prefix(10)), note)
            #expect(try searcher.matches(query) == all.map(\.docno).sorted(), note)
        }
    }

    @Test(
        "Pending and half-folded documents are ranked by fields and weights as the model has it",
        arguments: SeededGenerator.seeds(3))
    func pending(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        var documents: [UInt64: TestDocument] = [:]
        let store = try TreeStore.inMemory()
        func text(_ document: TestDocument) -> DocumentText {
            DocumentText(fields: document.fields.map { $0.map { $0.joined(separator: " ") } })
        }
        let weights: [[Double]?] = [nil, [2, 0.5, 1], [0, 1, 3], [5, 1, 1], [1, 0, 0]]
        func bounds() throws -> PendingBounds {
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            return try #require(try TextSnapshot(testIndex, in: transaction)).pending.bounds
        }
        var (pendingStates, foldingStates) = (0, 0)
        for round in 0..<12 {
            let limits = round == 0 ? PendingLimits.none : PendingLimits(pending: 600, slice: 30)
            for write in 0..<(round == 0 ? 1 : 60) {
                // Half of the states are in the middle of a batch.
                if write > 3, try round % 2 == 0 || bounds().foldEnd != nil { break }
                try store.write(limits: limits) { writer in
                    for document in generator.documents(round == 0 ? 150 : 4, fields: 3).compactMap({ $0 }) {
                        let row = document.row % 300
                        let new = TestDocument(row: row, fields: document.fields)
                        switch documents[row] {
                        case nil: try writer.insert(row, text(new))
                        case let old? where generator.random.oneIn(3):
                            try writer.remove(row, text(old))
                            documents[row] = nil
                            continue
                        case let old?: try writer.update(row, from: text(old), to: text(new))
                        }
                        documents[row] = new
                    }
                }
            }
            pendingStates += try bounds().isEmpty ? 0 : 1
            foldingStates += try bounds().foldEnd == nil ? 0 : 1
            let searcher = try store.searcher()
            for (place, weights) in weights.enumerated() {
                let model = NaiveQuery(documents.values.sorted { $0.row < $1.row }, weights: weights)
                for _ in 0..<4 {
                    let query = place == 0 ? generator.query() : Self.query(&generator)
                    let note: Comment = "\(query), weights \(weights ?? []), round \(round), HORNBEAM_SEED=\(seed)"
                    let expected = model.search(query)
                    for limit in [1, 5, 1000] {
                        #expect(
                            try searcher.search(query, limit: limit, weights: weights)
                                == Array(expected.prefix(limit)), note)
                    }
                    #expect(try searcher.matches(query) == expected.map(\.docno).sorted(), note)
                }
            }
        }
        #expect(pendingStates > 5 && foldingStates > 0, "\(pendingStates), \(foldingStates)")
    }

    @Test("No posting scores more than its bound says, whatever its fields are and weigh", .seeded)
    func bounds() throws {
        var random = SeededGenerator()
        var generator = Generator(seed: 5)
        let view = MemoryView(generator.documents(40, fields: 3), fieldCount: 3)
        for round in 0..<2_000 {
            let weights = (0..<3).map { _ in [0, 0.1, 1, 5, 20][random.below(5)] }
            let context = try ScoreContext(view, weights: weights, scores: false)
            let fields: [Int]? = round % 2 == 0 ? nil : [[0], [1], [0, 2]][random.below(3)]
            let tokens = (0..<3).map { _ in random.below(20) }
            let found = tokens.map { random.below($0 + 1) }
            var (frequency, length) = (0.0, 0.0)
            for field in 0..<3 {
                length += weights[field] * Double(tokens[field])
                if fields?.contains(field) ?? true { frequency += weights[field] * Double(found[field]) }
            }
            guard frequency > 0 else { continue }
            let score = BM25.score(
                weight: 1, frequency: frequency, length: length, averageLength: context.averageLength)
            // Others of the block may be more frequent and shorter.
            let bound = Bound(
                frequency: UInt32(found.reduce(0, +) + random.below(3)),
                length: UInt32(max(tokens.reduce(0, +) - random.below(3), 0)))
            let most = context.mostWeight(in: fields)
            #expect(context.contributionBound(bound, weight: 1, most: most) >= score * (1 - 1e-12))
        }
    }

    @Test("What a field alone may score goes by its own weight")
    func ownWeight() throws {
        var generator = Generator(seed: 5)
        let view = MemoryView(generator.documents(40, fields: 2), fieldCount: 2)
        let context = try ScoreContext(view, weights: [10, 1], scores: false)
        let bound = Bound(frequency: 2, length: 20)
        let expected = BM25.score(weight: 1, frequency: 2, length: 20, averageLength: context.averageLength)
        #expect(context.contributionBound(bound, weight: 1, most: context.mostWeight(in: [1])) == expected)
    }

    @Test("What the fields have in all is what the documents say", arguments: SeededGenerator.seeds(3), [0, 300])
    func totals(seed: UInt64, pending: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var texts: [UInt64: DocumentText] = [:]
        let store = try TreeStore.inMemory()
        for _ in 0..<25 {
            try store.write(limits: PendingLimits(pending: pending, slice: 20)) { writer in
                for _ in 0..<random.below(5) {
                    let row = UInt64(random.below(40))
                    let fields = (0..<1 + random.below(4)).map { _ in
                        (0..<[1, 1, 0, 2][random.below(4)]).map { _ in
                            (0..<random.below(6)).map { _ in ["a", "b", "c"][random.below(3)] }.joined(separator: " ")
                        }
                    }
                    let new = random.oneIn(4) ? nil : DocumentText(fields: fields)
                    switch (texts[row], new) {
                    case (nil, let new?): try writer.insert(row, new)
                    case (let old?, let new?): try writer.update(row, from: old, to: new)
                    case (let old?, nil): try writer.remove(row, old)
                    case (nil, nil): break
                    }
                    texts[row] = new
                }
            }
            var expected: [UInt64] = []
            for (field, text) in texts.values.flatMap({ $0.fields.enumerated() }) {
                while expected.count <= field { expected.append(0) }
                for text in text { expected[field] += UInt64(NaiveIndex.tokens(of: text).count) }
            }
            while expected.last == 0 { expected.removeLast() }
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            if let snapshot = try TextSnapshot(testIndex, in: transaction) {
                #expect(try StoredView(snapshot).fieldTotals() == expected, "HORNBEAM_SEED=\(seed)")
            }
            let check = TextCheck(testIndex, in: transaction, batchSize: 1 << 20)
            let problems = try check.run { (body) throws(StorageError) in
                for (row, text) in texts { try body(row, text) }
            }
            #expect(problems == [], "HORNBEAM_SEED=\(seed)")
        }
    }

    @Test("Totals that aren't those of the documents are told")
    func wrongTotals() throws {
        let store = try TreeStore.index(of: "one two")
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.statisticsName))
        var statistics = try #require(try transaction.get(tree, TextStatistics.key).flatMap { TextStatistics($0) })
        #expect(statistics.fieldTotals == FieldTotals([2]))
        statistics.fieldTotals = FieldTotals([1, 2])
        try transaction.put(tree, TextStatistics.key, statistics.encoded())
        try transaction.commit()
        #expect(throws: StorageError.self) { try store.searcher().search(.words("one"), limit: 1, weights: [2]) }
        #expect(try store.problems(NaiveIndex(texts: [1: "one two"])).contains { $0.contains("in the fields") })
    }
}
