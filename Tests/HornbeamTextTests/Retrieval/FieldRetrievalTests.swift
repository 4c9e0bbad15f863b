// SPDX-License-Identifier: Apache-2.0
// Fields and their weights: skipped documents could not have been among the best, and the token totals of each field
// are right after any history.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("fields and weights")
struct FieldRetrievalTests {
    typealias Generator = RetrievalTests.Generator

    /// A query that needs positions.
    private static func query(_ generator: inout Generator, fields: Int = 3) -> TextQuery {
        func one() -> TextQuery {
            switch generator.random.below(6) {
            case 0: .phrase(generator.text(2...3), slop: generator.random.below(2))
            case 1: .prefix(generator.prefix())
            case 2: .boost(0.5, .words(generator.word()))
            default: .words(generator.text(1...3))
            }
        }
        let first = generator.random.below(fields)
        let field = TextQuery.field(
            generator.random.oneIn(3) ? [first, (first + 1) % fields] : [first], one())
        switch generator.random.below(6) {
        case 0: return one()
        case 1: return .any([field, one()])
        case 2: return .all([field, one()])
        case 3: return .any([.words(generator.word()), .field([0, 2], one()), .words("a")])
        case 4: return .without(field, .words(generator.word()))
        default: return field
        }
    }

    /// Postings distinguish four fields; with six, the last three count as one.
    @Test(
        "Skipping loses no result, with any fields and weights", arguments: SeededGenerator.seeds(2), [3, 1, 6])
    func skipping(seed: UInt64, fields: Int) throws {
        var generator = Generator(seed: seed)
        let documents = generator.documents(fields == 3 ? 6_000 : 2_500, fields: fields).compactMap { $0 }
        let view = MemoryView(documents, fieldCount: fields)
        let searcher = try StoredRetrievalTests.store(documents).searcher()
        let weights: [[Double]?] = [
            nil, [2, 0.5, 1], [5], [0, 1], [0.1, 0.1, 0.2], [1, 1, 1], [1], [1, 2, 1, 3, 3, 1],
            [1e-18, 1e-18, 1e-18, 1e-18, 1e-18, 1e-18],
        ]
        for round in 0..<36 {
            let query = Self.query(&generator, fields: fields)
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
            let some = all.filter { set.contains($0.row) }
            let found = try searcher.search(query, limit: 10, filter: .documents(allowed), weights: weights)
            #expect(found == Array(some.prefix(10)), note)
            #expect(try searcher.matches(query) == all.map(\.row).sorted(), note)
        }
    }

    private static func problems(_ store: TreeStore, _ documents: [(UInt64, DocumentText)]) throws -> [String] {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        return try TextCheck(testIndex, in: transaction).run { (body) throws(StorageError) in
            for (row, text) in documents { try body(row, text) }
        }
    }

    @Test(
        "Pending and half-folded documents are ranked by fields and weights like in the model",
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
            #expect(try Self.problems(store, documents.values.map { ($0.row, text($0)) }) == [], "round \(round)")
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
                    #expect(try searcher.matches(query) == expected.map(\.row).sorted(), note)
                }
            }
        }
        #expect(pendingStates > 5 && foldingStates > 0, "\(pendingStates), \(foldingStates)")
    }

    @Test("No posting scores more than its bound, with any fields and weights", .seeded)
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
            // Other postings of the block may be more frequent and shorter.
            let bound = Bound(
                frequency: UInt32(found.reduce(0, +) + random.below(3)),
                length: UInt32(max(tokens.reduce(0, +) - random.below(3), 0)))
            let most = context.mostWeight(in: fields)
            #expect(context.contributionBound(bound, weight: 1, most: most) >= score * (1 - 1e-12))
        }
    }

    @Test("No posting scores more than its fields' bounds", .seeded)
    func fieldBounds() throws {
        var random = SeededGenerator()
        var generator = Generator(seed: 5)
        let view = MemoryView(generator.documents(40, fields: 4), fieldCount: 4)
        for round in 0..<2_000 {
            let weights = round % 3 == 0 ? nil : (0..<4).map { _ in [0, 0.1, 1, 5, 20][random.below(5)] }
            let context = try ScoreContext(view, weights: weights, scores: false)
            let fields: Set<Int>? = random.oneIn(3) ? nil : [random.below(4), random.below(4)]
            let scoring = try #require(try FieldScoring(context, fields: fields))
            var bounds = FieldBounds()
            var frontier = BoundFrontier()
            var best = 0.0
            for _ in 0..<1 + random.below(6) {
                let tokens = (0..<4).map { _ in random.below(20) }
                let found = tokens.map { random.below($0 + 1) }
                let counts = FieldCounts(found.map { UInt32($0) })
                let whole = tokens.reduce(0, +)
                guard found.contains(where: { $0 > 0 }) else { continue }
                bounds.add(counts, length: UInt32(whole))
                frontier.add(Bound(frequency: counts.wrappedSum(), length: UInt32(whole)))
                var (frequency, length) = (0.0, weights == nil ? Double(whole) : 0)
                for field in 0..<4 {
                    length += (weights?[field] ?? 0) * Double(tokens[field])
                    if fields?.contains(field) ?? true { frequency += (weights?[field] ?? 1) * Double(found[field]) }
                }
                guard frequency > 0 else { continue }
                best = max(
                    best,
                    BM25.score(
                        weight: 1, frequency: frequency, length: length, averageLength: context.averageLength))
            }
            frontier.reduce(to: 2)
            let bound = scoring.bound(
                bounds, frontier.descending, weight: 1, averageLength: context.averageLength)
            #expect(bound >= best * (1 - 1e-12), "\(weights ?? []), \(fields ?? [])")
        }
    }

    @Test("Words in fields and with weights are found and ranked without their positions")
    func withoutPositions() throws {
        var generator = Generator(seed: 3)
        let documents = generator.documents(3_000, fields: 2).compactMap { $0 }
        let store = try StoredRetrievalTests.store(documents)
        let queries: [(TextQuery, [Double]?)] = [
            (.field([0], .words("a")), nil), (.field([1], .words("a b")), nil), (.words("a b"), [3, 1]),
            (.field([0], .all([.words("a"), .words("b")])), [3, 0.5]),
        ]
        let expected = try queries.map { try store.searcher().search($0.0, limit: 20, weights: $0.1) }
        let transaction = try store.beginWrite()
        let positions = try #require(try transaction.tree(testIndex.positionsName))
        _ = try transaction.deleteRange(positions, from: [0], to: [255])
        try transaction.commit()
        let searcher = try store.searcher()
        for (place, (query, weights)) in queries.enumerated() {
            let found = try searcher.search(query, limit: 20, weights: weights)
            #expect(found == expected[place] && found.count == 20)
        }
        #expect(throws: StorageError.self) { try searcher.search(.phrase("a b", slop: 0), limit: 20) }
    }

    @Test("Blocks without a posting in the field are skipped, and a list without one is not read")
    func passing() throws {
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for row in 0..<UInt64(3_000) {
                let title = row == 5 || row == 2_600 ? "common" : "other"
                try writer.insert(row, DocumentText(fields: [[title], ["common never \(row)"]]))
            }
        }
        let searcher = try store.searcher()
        #expect(try searcher.search(.field([0], .words("common")), limit: 10).map(\.row) == [5, 2_600])
        #expect(try searcher.matches(.field([0], .words("common never"))) == [5, 2_600])
        #expect(try searcher.count(.field([0], .words("never"))) == 0)
        #expect(try searcher.count(.field([1], .words("common"))) == 3_000)
        #expect(try searcher.count(.field([2], .words("common"))) == 0)
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let snapshot = try #require(try TextSnapshot(testIndex, in: transaction))
        let postings = try #require(try withBytes(Array("common".utf8)) { try snapshot.postings(of: $0) })
        #expect(postings.knowsFields && postings.fields.places == FieldPlaces(bits: 3))
        #expect(postings.fields[0] == Bound(frequency: 1, length: 4))
        var blocks = 0
        while !postings.isAtEnd {
            if try postings.blockFields().places.contains(0) { blocks += 1 }
            _ = try postings.nextBlock()
        }
        #expect(blocks == 2)
    }

    /// A view of ten blocks of documents that counts the uses of postings.
    private final class CountingView: MemoryView {
        static let documents = (0..<UInt32(1_280)).map { docno in
            TestDocument(row: UInt64(docno), fields: [[[docno == 900 ? "common" : "other"]], [["common"]]])
        }
        var (moved, decoded) = (0, 0)

        init() { super.init(Self.documents, fieldCount: 2) }

        override func postings(of term: [UInt8]) throws(StorageError) -> PostingSource? {
            try super.postings(of: term).map { FieldPostings($0, self) }
        }
    }

    /// The postings of “common”, with their fields.
    private final class FieldPostings: PostingSource {
        private let source: PostingSource
        private unowned let view: CountingView

        init(_ source: PostingSource, _ view: CountingView) {
            (self.source, self.view) = (source, view)
            super.init(documentFrequency: source.documentFrequency, bounds: source.bounds, source.docnos)
            stand()
        }

        private func stand() {
            (isAtEnd, blockFirst, blockLast) = (source.isAtEnd, source.blockFirst, source.blockLast)
            (blockBound, secondBlockBound, count) = (source.blockBound, source.secondBlockBound, source.count)
            (docnos, frequencies) = (source.docnos, source.frequencies)
        }

        override func moveToBlock(_ target: UInt32) throws(StorageError) {
            view.moved += 1
            try source.moveToBlock(target)
            stand()
        }

        override func decodeBlock() throws(StorageError) { view.decoded += 1 }

        override var knowsFields: Bool { true }

        override var fields: FieldBounds {
            var fields = FieldBounds(Bound(frequency: 1, length: 2), in: 0)
            fields.set(Bound(frequency: 1, length: 2), in: 1)
            return fields
        }

        override func blockFields() throws(StorageError) -> FieldBounds {
            blockFirst...blockLast ~= 900 ? fields : FieldBounds(Bound(frequency: 1, length: 2), in: 1)
        }

        override func readFields(_ wanted: FieldPlaces, into columns: FieldColumns) throws(StorageError) {
            for posting in 0..<count {
                columns[0][posting] = docnos[posting] == 900 ? 1 : 0
                columns[1][posting] = 1
            }
        }
    }

    @Test("Only the one block in ten with a posting in the field is decoded, and no list without one is read")
    func decoded() throws {
        let view = CountingView()
        #expect(try RetrievalTests.search(view, .field([0], .words("common"))).map(\.row) == [900])
        #expect(view.decoded == 1 && view.moved <= 10)
        (view.moved, view.decoded) = (0, 0)
        #expect(try RetrievalTests.search(view, .field([2], .words("common"))) == [])
        #expect(view.decoded == 0 && view.moved == 0)
        #expect(try RetrievalTests.search(view, .field([1], .words("common"))).count == 1_280)
        #expect(view.decoded == 10)
    }

    /// The case: the bytes of the fields change under the checksums. If a search then gives another result, the check
    /// reports the damage.
    @Test("Damaged fields are found by the check, or change nothing", arguments: SeededGenerator.seeds(2))
    func damage(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var generator = Generator(seed: seed)
        let documents = generator.documents(500, fields: 3).compactMap { $0 }
        let store = try StoredRetrievalTests.store(documents)
        let queries = [TextQuery.field([0], .words("a b")), .field([1, 2], .words("ab a")), .words("a abc")]
        let expected = try queries.map { try store.searcher().search($0, limit: 20, weights: [4, 1, 2]) }
        var found = 0
        for round in 0..<80 {
            let transaction = try store.beginWrite()
            defer { transaction.abort() }
            let isEntry = round % 4 == 0
            let tree = try #require(
                try transaction.tree(isEntry ? testIndex.termsName : testIndex.postingsName))
            var cursor = try transaction.cursor(tree)
            #expect(try cursor.seek(index: UInt64(random.below(Int(try transaction.count(tree))))))
            var value = Array(cursor.value)
            var directory = RunDirectory()
            let first = isEntry ? 0 : cursor.key.bigEndian(at: 4, as: UInt32.self) ?? 0
            let start = withBytes(value) { directory.read($0, first: first) ? directory.fieldsStart : nil } ?? 0
            let place = start + random.below(value.count - start)
            value[place] ^= 1 << UInt8(random.below(8))
            try transaction.put(tree, Array(cursor.key), value)
            let problems = try TextCheck(testIndex, in: transaction).run { (body) throws(StorageError) in
                for document in documents {
                    let fields = document.fields.map { $0.map { $0.joined(separator: " ") } }
                    try body(document.row, DocumentText(fields: fields))
                }
            }
            found += problems.isEmpty ? 0 : 1
            for (place, query) in queries.enumerated() {
                do {
                    let hits = try TextSearcher(testIndex, in: transaction)
                        .search(query, limit: 20, weights: [4, 1, 2])
                    if problems.isEmpty { #expect(hits == expected[place], "round \(round), HORNBEAM_SEED=\(seed)") }
                } catch {
                    #expect(!problems.isEmpty, "\(error), round \(round), HORNBEAM_SEED=\(seed)")
                }
            }
        }
        #expect(found > 30, "\(found)")
    }

    @Test("The bound for a field alone follows its own weight")
    func ownWeight() throws {
        var generator = Generator(seed: 5)
        let view = MemoryView(generator.documents(40, fields: 2), fieldCount: 2)
        let context = try ScoreContext(view, weights: [10, 1], scores: false)
        let bound = Bound(frequency: 2, length: 20)
        let expected = BM25.score(weight: 1, frequency: 2, length: 20, averageLength: context.averageLength)
        #expect(context.contributionBound(bound, weight: 1, most: context.mostWeight(in: [1])) == expected)
    }

    @Test("The fields' totals are those of the documents", arguments: SeededGenerator.seeds(3), [0, 300])
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

    @Test("The check reports wrong totals of fields")
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
