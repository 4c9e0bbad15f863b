// SPDX-License-Identifier: Apache-2.0
// The index after any history of changes, compared with the naive model to the last bit; and the writer's refusals.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

/// How the numbers of documents are distributed: consecutive, far apart, random.
enum DocumentNumbers: CaseIterable {
    case dense
    case sparse
    case anywhere

    func number(_ place: UInt64) -> UInt64 {
        switch self {
        case .dense: return place
        case .sparse: return place * 1000
        case .anywhere:
            var random = SeededGenerator(seed: place)
            // The smallest and the largest number occur too.
            return place == 0 ? 0 : place == 1 ? .max : random.next()
        }
    }
}

@Suite("An index kept by its writer")
struct TextIndexWriterTests {
    private func compare(
        _ store: TreeStore, _ model: NaiveIndex, _ generator: inout TextGenerator, _ note: Comment
    ) throws {
        try model.expectAnswers(in: store.beginRead(), &generator, note)
        #expect(try store.problems(model, batchSize: 10_000) == [], note)
    }

    @Test(
        "After any history it gives the answers of its texts, bit for bit",
        arguments: SeededGenerator.seeds(2), DocumentNumbers.allCases)
    func histories(seed: UInt64, numbers: DocumentNumbers) throws {
        let place = DocumentNumbers.allCases.firstIndex(of: numbers) ?? 0
        try TestAnalyzer.$current.withValue(TestAnalyzer.of(seed, place * 2)) { try history(seed, numbers) }
    }

    private func history(_ seed: UInt64, _ numbers: DocumentNumbers) throws {
        var generator = TextGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        for step in 0..<12 {
            let analyzer = TestAnalyzer.current.specification
            let note: Comment = "step \(step), \(numbers), \(analyzer), HORNBEAM_SEED=\(seed)"
            // From a flush after every change to a single flush at the end, with many documents and with few.
            let budget = [0, 20_000, 64 << 20][step % 3]
            let range: UInt64 = step < 6 ? 700 : step < 9 ? 80 : 700
            try store.write(budget: budget) { writer in
                for _ in 0..<(budget == 0 ? 60 : 400) {
                    let docno = numbers.number(UInt64.random(in: 0..<range, using: &generator.random))
                    try model.change(docno, by: writer, &generator)
                }
            }
            try compare(store, model, &generator, note)
        }
        // Everything is removed in random order; nothing is left.
        try store.write { writer in
            for (docno, text) in model.texts.shuffled(using: &generator.random) { try writer.remove(docno, text: text) }
        }
        try compare(store, NaiveIndex(), &generator, "emptied, \(numbers), HORNBEAM_SEED=\(seed)")
        let transaction = try store.beginRead()
        let names = [testIndex.termsName, testIndex.postingsName, testIndex.positionsName, testIndex.documentsName]
        for name in names {
            let tree = try #require(try transaction.tree(name))
            #expect(try transaction.count(tree) == 0, "\(name)")
        }
    }

    @Test("Long lists grow at the end, split in the middle and shrink again", arguments: SeededGenerator.seeds(2))
    func longLists(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        var generator = TextGenerator(seed: seed, wordCount: 3)
        func runs() throws -> UInt64 {
            let transaction = try store.beginRead()
            guard let tree = try transaction.tree(testIndex.postingsName) else { return 0 }
            return try transaction.count(tree)
        }
        for batch in UInt64(0)..<4 {
            try store.write { writer in
                for place in UInt64(0)..<300 {
                    model[(batch * 300 + place) * 10] = "common"
                    try writer.insert((batch * 300 + place) * 10, text: "common")
                }
            }
        }
        #expect(try runs() == 2, "appended postings fill their runs: 1024 in the first of 1200")
        try store.write(budget: 0) { writer in
            for _ in 0..<300 {
                let docno = UInt64.random(in: 0..<12_000, using: &random)
                guard model[docno] == nil else { continue }
                model[docno] = "common words"
                try writer.insert(docno, text: "common words")
            }
        }
        try compare(store, model, &generator, "HORNBEAM_SEED=\(seed)")
        #expect(try runs() <= UInt64(model.texts.count) / 400 + 1)
        for keep in [400, 60, 9, 8, 1] {
            try store.write(budget: keep % 2 == 0 ? 0 : 64 << 20) { writer in
                for (docno, text) in model.texts.shuffled(using: &random).dropFirst(keep) {
                    model[docno] = nil
                    try writer.remove(docno, text: text)
                }
            }
            try compare(store, model, &generator, "\(keep) kept, HORNBEAM_SEED=\(seed)")
            #expect(try runs() <= UInt64(keep / 200 + 2))
        }
        #expect(try runs() == 0, "a list of eight or fewer stands in the dictionary")
    }

    @Test("A search in the writing transaction sees its changes after a flush, other readers don't")
    func ownChanges() throws {
        let store = try TreeStore.index(of: "one", "two")
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(testIndex, in: transaction)
        try writer.insert(3, text: "one three")
        try writer.update(1, from: "one", to: "three")
        try writer.flush()
        let model = NaiveIndex(texts: [1: "three", 2: "two", 3: "one three"])
        let searcher = try TextSearcher(testIndex, in: transaction)
        #expect(try searcher.search("one three", limit: 9) == model.search("one three"))
        #expect(try store.searcher().matches("three") == [])
        try writer.remove(2, text: "two")
        #expect(writer.hasChanges)
        try writer.flush()
        #expect(!writer.hasChanges)
        #expect(try TextSearcher(testIndex, in: transaction).count("two") == 0)
        try transaction.commit()
        #expect(try store.problems(NaiveIndex(texts: [1: "three", 3: "one three"])) == [])
    }

    @Test("Changes that cancel out leave no trace")
    func cancelled() throws {
        let store = try TreeStore.index(of: "kept")
        try store.write { writer in
            try writer.insert(7, text: "gone with the wind")
            try writer.update(7, from: "gone with the wind", to: "wind")
            try writer.remove(7, text: "wind")
            try writer.update(1, from: "kept", to: "changed")
            try writer.update(1, from: "changed", to: "kept")
            try writer.remove(1, text: "kept")
            try writer.insert(1, text: "kept")
        }
        #expect(try store.searcher().termCount() == 1)
        #expect(try store.problems(NaiveIndex(texts: [1: "kept"])) == [])
    }

    @Test("Canonically equivalent texts with different bytes are a change")
    func equivalentTexts() throws {
        let store = try TreeStore.index(of: "caf\u{E9}")
        try store.write { try $0.update(1, from: "caf\u{E9}", to: "cafe\u{301}") }
        #expect(try store.searcher().documentFrequency(of: "cafe") == 1)
        #expect(try store.problems(NaiveIndex(texts: [1: "cafe\u{301}"])) == [])
    }

    @Test("A present document can't be inserted again, in one transaction or the next")
    func insertTwice() throws {
        let store = try TreeStore.index(of: "one")
        try store.write { writer in
            try writer.insert(2, text: "two")
            #expect(throws: StorageError.self) { try writer.insert(2, text: "two") }
        }
        #expect(throws: StorageError.self) { try store.write { try $0.insert(2, text: "again") } }
        #expect(try store.problems(NaiveIndex(texts: [1: "one", 2: "two"])) == [])
    }

    @Test("A wrong old text is an error, and the writer refuses further changes")
    func wrongOldText() throws {
        let store = try TreeStore.index(of: "one", "two words")
        for wrong in ["one two", "uno", ""] {
            let transaction = try store.beginWrite()
            let writer = try TextIndexWriter(testIndex, in: transaction)
            try writer.remove(1, text: wrong)
            let first = #expect(throws: StorageError.self) { try writer.flush() }
            let second = #expect(throws: StorageError.self) { try writer.insert(9, text: "") }
            #expect(first == second)
            transaction.abort()
        }
        #expect(throws: StorageError.self) { try store.write { try $0.remove(5, text: "never there") } }
        #expect(throws: StorageError.self) { try store.write { try $0.remove(5, text: "") } }
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(testIndex, in: transaction)
        try writer.update(2, from: "two words", to: "three more words")
        #expect(throws: StorageError.self) { try writer.remove(2, text: "two words") }
        #expect(throws: StorageError.self) { try writer.flush() }
        transaction.abort()
        #expect(try store.problems(NaiveIndex(texts: [1: "one", 2: "two words"])) == [])
    }

    @Test("An index without positions gives the same answers, or an error where it can't")
    func withoutPositions() throws {
        var generator = TextGenerator(seed: 5)
        let index = TextIndex(prefix: "t:", storesPositions: false)
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(index, in: transaction)
        var model = NaiveIndex()
        for row in 0..<UInt64(400) {
            model[row] = generator.text(upTo: 10)
            try writer.insert(row, text: model[row] ?? "")
        }
        try writer.flush()
        for row in stride(from: UInt64(0), to: 400, by: 3) {
            let text = generator.text(upTo: 10)
            try writer.update(row, from: model[row] ?? "", to: text)
            model[row] = text
        }
        try writer.flush()
        let searcher = try TextSearcher(index, in: transaction)
        #expect(try searcher.search("w39 w38 w10", limit: .max) == model.search("w39 w38 w10"))
        let problems = try TextCheck(index, in: transaction).run { (body) throws(StorageError) in
            for (row, text) in model.texts { try body(row, DocumentText(text)) }
        }
        #expect(problems == [])
        let opened = try #require(try index.open(in: transaction))
        #expect(try transaction.count(opened.trees.positions) == 0)
        let snapshot = try #require(try TextSnapshot(index, in: transaction))
        let found = try withBytes(Array("w39".utf8)) { try snapshot.postings(of: $0) }
        let postings = try PostingIterator(try #require(found))
        var positions: [UInt32] = []
        #expect(throws: StorageError.self) { try postings.appendPositions(to: &positions) }
        #expect(throws: StorageError.self) { try TextSearcher(TextIndex(prefix: "t:"), in: transaction) }
        #expect(try TextIndex(prefix: "t:").isOutdated(in: transaction))
        transaction.abort()
    }

    @Test("An index without positions is changed record by record too, with very frequent words")
    func foldingWithoutPositions() throws {
        var generator = TextGenerator(seed: 6)
        let index = TextIndex(prefix: "t:", storesPositions: false)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        for row in 0..<UInt64(120) {
            let transaction = try store.beginWrite()
            let writer = try TextIndexWriter(
                index, in: transaction, limits: row == 0 ? .none : PendingLimits(pending: 200, slice: 40))
            // More positions than a buffer can hold at first.
            let text = generator.text(upTo: 10) + String(repeating: " often", count: row % 5 == 0 ? 900 : 1)
            try writer.insert(row, text: text)
            model[row] = text
            if row > 9, row % 4 == 0 {
                let old = model[row - 9] ?? ""
                try writer.update(row - 9, from: old, to: old + " often more")
                model[row - 9] = old + " often more"
            }
            try writer.flush()
            try transaction.commit()
            guard row % 10 == 9 else { continue }
            let reader = try store.beginRead()
            let searcher = try TextSearcher(index, in: reader)
            #expect(try searcher.search("often w39 more", limit: .max) == model.search("often w39 more"))
            let problems = try TextCheck(index, in: reader).run { (body) throws(StorageError) in
                for (row, text) in model.texts { try body(row, DocumentText(text)) }
            }
            #expect(problems == [])
        }
    }

    @Test("An index with an earlier layout is rebuilt, not read")
    func formerLayout() throws {
        let store = try TreeStore.index(of: "one")
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.statisticsName))
        var bytes = Array(try #require(try transaction.get(tree, TextStatistics.key)))
        bytes[0] = 2
        try transaction.put(tree, TextStatistics.key, bytes)
        #expect(try testIndex.isOutdated(in: transaction))
        #expect(try testIndex.documentCount(in: transaction) == 1)
        let error = #expect(throws: StorageError.self) { try TextSearcher(testIndex, in: transaction) }
        #expect(error.map { "\($0)".contains("rebuild") } == true)
        transaction.abort()
    }

    @Test("An index with a future layout is neither reported as damaged nor rebuilt")
    func newerLayout() throws {
        let store = try TreeStore.index(of: "one")
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.statisticsName))
        // The bytes after the first one may change.
        try transaction.put(tree, TextStatistics.key, [TextStatistics.currentLayout + 1, 200])
        func isNewer(_ body: () throws(StorageError) -> Void) -> Bool {
            do { try body() } catch {
                guard case .unsupported(let what) = error else { return false }
                return what.contains("newer version")
            }
            return false
        }
        #expect(isNewer { () throws(StorageError) in _ = try TextSearcher(testIndex, in: transaction) })
        #expect(isNewer { () throws(StorageError) in _ = try testIndex.isOutdated(in: transaction) })
        #expect(isNewer { () throws(StorageError) in _ = try testIndex.documentCount(in: transaction) })
        let problems = try TextCheck(testIndex, in: transaction).run { _ in }
        #expect(problems.count == 1 && problems[0].contains("newer version"))
        transaction.abort()
    }

    @Test("A read transaction can't have a writer")
    func readOnly() throws {
        let store = try TreeStore.index(of: "one")
        #expect(throws: StorageError.self) { try TextIndexWriter(testIndex, in: store.beginRead()) }
    }

    @Test("An index made by other rules refuses to be read or written until it is rebuilt")
    func otherAnalyzer() throws {
        let store = try TreeStore.index(of: "one")
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.statisticsName))
        let statistics = TextStatistics(
            TextIndex(prefix: testIndex.prefix, analyzer: Analyzer(.trigrams(keepsAccents: true))))
        try transaction.put(tree, TextStatistics.key, statistics.encoded())
        let error = #expect(throws: StorageError.self) { try TextIndexWriter(testIndex, in: transaction) }
        #expect(error.map { "\($0)".contains("rebuild") } == true)
        #expect(throws: StorageError.self) { try TextSearcher(testIndex, in: transaction) }
        try testIndex.drop(in: transaction)
        let writer = try TextIndexWriter(testIndex, in: transaction)
        try writer.insert(1, text: "two")
        try writer.flush()
        try transaction.commit()
        #expect(try store.problems(NaiveIndex(texts: [1: "two"])) == [])
    }
}

@Suite("Lengths of documents")
struct DocumentLengthsTests {
    @Test("The lengths of the documents that share an entry fit in a leaf")
    func inLeaves() throws {
        let store = try TreeStore.index(of: "one")
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        let tree = try #require(try transaction.tree(testIndex.documentsName))
        let limit = try transaction.inlineLimit(tree, keySize: DocumentLengths.key(chunk: 0).count)
        #expect(2 * DocumentLengths.chunkCapacity <= limit)
    }

    @Test("Lengths at the edge of the short form and beyond are exact", arguments: [65_533, 65_534, 65_535, 70_000])
    func long(length: Int) throws {
        let long = String(repeating: "a ", count: length)
        var model = NaiveIndex(texts: [1: long, 2: "a b", 300: long + "b"])
        let store = try TreeStore.inMemory()
        try store.write { writer in for (docno, text) in model.texts { try writer.insert(docno, text: text) } }
        #expect(try store.searcher().search("a b", limit: 5) == model.search("a b"))
        #expect(try store.problems(model) == [])
        try store.write { writer in
            try writer.update(1, from: long, to: "b")
            try writer.update(2, from: "a b", to: long)
            try writer.remove(300, text: long + "b")
        }
        model = NaiveIndex(texts: [1: "b", 2: long])
        #expect(try store.searcher().search("b a", limit: 5) == model.search("b a"))
        #expect(try store.problems(model) == [])
    }
}
