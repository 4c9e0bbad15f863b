// SPDX-License-Identifier: Apache-2.0
// Loads that need more than the writer's memory are spilled in parts, and make the index that they would make in one
// part.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Postings put aside")
struct PostingSpillsTests {
    /// A posting as it is read back.
    private struct Posting: Equatable {
        let docno: UInt32
        let positions: [UInt32]
        let length: UInt32
        let fields: FieldCounts
    }

    private static func postings(_ changes: borrowing TermChanges) -> [Posting] {
        var position = 0
        return (0..<changes.count).map { place in
            let end = position + Int(changes.postings.frequencies[place])
            defer { position = end }
            return Posting(
                docno: changes.postings.docnos[place],
                positions: (position..<end).map { changes.postings.positions[$0] },
                length: changes.postings.lengths[place], fields: changes.postings.fieldCounts(place))
        }
    }

    private static func document(_ generator: inout TextGenerator, words: Int) -> DocumentText {
        guard Bool.random(using: &generator.random) else { return DocumentText(generator.text(upTo: words)) }
        let texts = [generator.text(upTo: words), generator.text(upTo: 3)]
        return DocumentText(fields: [[generator.text(upTo: 5)], texts])
    }

    /// All entries of the index's trees.
    private func entries(_ store: TreeStore, _ index: TextIndex) throws -> [String: [[UInt8]]] {
        let transaction = try store.beginRead()
        var entries: [String: [[UInt8]]] = [:]
        for name in try transaction.treeNames() {
            let tree = try #require(try transaction.tree(name))
            var cursor = try transaction.cursor(tree)
            while try cursor.next() { entries[name, default: []] += [Array(cursor.key), Array(cursor.value)] }
        }
        return entries
    }

    @Test(
        "A load in parts leaves exactly the trees of an undivided one, byte for byte",
        arguments: SeededGenerator.seeds(2), [true, false])
    func sameTrees(seed: UInt64, storesPositions: Bool) throws {
        let index = TextIndex(prefix: "t:Article:search:", storesPositions: storesPositions)
        func built(budget: Int) throws -> [String: [[UInt8]]] {
            let store = try TreeStore.inMemory()
            let transaction = try store.beginWrite()
            let writer = try TextIndexWriter(index, in: transaction, budget: budget)
            var generator = TextGenerator(seed: seed, wordCount: 300)
            for row in UInt64(1)...3_000 {
                try writer.insert(row, Self.document(&generator, words: 40))
            }
            #expect(try transaction.treeNames().contains("spill:" + index.prefix) == (budget < 64 << 20))
            try writer.flush()
            try transaction.commit()
            return try entries(store, index)
        }
        let note: Comment = "HORNBEAM_SEED=\(seed)"
        let expected = try built(budget: 64 << 20)
        #expect(expected[index.postingsName]?.isEmpty == false)
        for budget in [30_000, 100_000] {
            let trees = try built(budget: budget)
            #expect(trees.keys.sorted() == expected.keys.sorted(), note)
            for (name, entries) in expected { #expect(trees[name] == entries, "\(name), budget \(budget), \(note)") }
        }
    }

    @Test(
        "Spilled postings can be changed, removed and re-added in the load", arguments: SeededGenerator.seeds(3))
    func changesAmongThem(seed: UInt64) throws {
        var generator = TextGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        for round in 0..<3 {
            try store.write(budget: 25_000) { writer in
                // In the second round a term's postings come in pieces.
                if round > 0 { writer.mostMergedValues = 50 }
                for step in 0..<1_500 {
                    // Mostly new rows, not always larger than the earlier ones.
                    let row =
                        UInt64(step) * 7 % 1_500 + (Int.random(in: 0..<50, using: &generator.random) == 0 ? 0 : 2_000)
                    let text = generator.text(upTo: 12)
                    switch model[row] {
                    case nil:
                        try writer.insert(row, text: text)
                        model[row] = text
                    case let old? where step % 3 == 0:
                        try writer.remove(row, text: old)
                        model[row] = nil
                    case let old?:
                        try writer.update(row, from: old, to: text)
                        model[row] = text
                    }
                }
            }
            let note: Comment = "HORNBEAM_SEED=\(seed)"
            let searcher = try store.searcher()
            for _ in 0..<10 {
                let query = generator.text(upTo: 4)
                #expect(try searcher.search(query, limit: .max) == model.search(query), note)
            }
            #expect(try store.problems(model) == [], note)
        }
    }

    @Test("A new index whose terms are merged in pieces answers as the model does", arguments: SeededGenerator.seeds(2))
    func pieces(seed: UInt64) throws {
        var generator = TextGenerator(seed: seed, wordCount: 30)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        try store.write(budget: 20_000) { writer in
            writer.mostMergedValues = 40
            for row in UInt64(1)...2_000 {
                let text = generator.text(upTo: 20)
                try writer.insert(row, text: text)
                model[row] = text
            }
        }
        let searcher = try store.searcher()
        for _ in 0..<10 {
            let query = generator.text(upTo: 4)
            #expect(try searcher.search(query, limit: .max) == model.search(query), "HORNBEAM_SEED=\(seed)")
        }
        #expect(try store.problems(model) == [], "HORNBEAM_SEED=\(seed)")
    }

    @Test("a row that was spilled exists and can't be added again")
    func secondInsert() throws {
        let store = try TreeStore.inMemory()
        try store.write(budget: 0) { writer in
            for row in UInt64(1)...20 { try writer.insert(row, text: "a few words") }
            for row in [UInt64(20), 3] {
                #expect(throws: StorageError.self) { try writer.insert(row, text: "again") }
            }
        }
        #expect(try store.searcher().statistics.documentCount == 20)
    }

    @Test(
        "come out by term and document as they went in, for all sizes of chunks and of memory",
        arguments: SeededGenerator.seeds(3))
    func merged(seed: UInt64) throws {
        var generator = TextGenerator(seed: seed, wordCount: 60)
        let store = try TreeStore.inMemory()
        for (chunkSize, mostValues) in [(1, 1), (100, 50), (5_000, 1 << 21), (256 << 10, 1 << 21)] {
            let note: Comment = "chunks of \(chunkSize), \(mostValues) values, HORNBEAM_SEED=\(seed)"
            let transaction = try store.beginWrite()
            defer { transaction.abort() }
            // The index's own data, which has the lengths and fields of the documents.
            let writer = try TextIndexWriter(testIndex, in: transaction)
            var documents: [DocumentText] = []
            for row in UInt64(0)..<200 {
                documents.append(Self.document(&generator, words: 60))
                try writer.insert(row, documents[Int(row)])
            }
            try writer.flush()
            let opened = try #require(try testIndex.open(in: transaction))

            var spills = PostingSpills(testIndex, in: transaction, chunkSize: chunkSize)
            let isEmpty = spills.isEmpty
            #expect(isEmpty)
            var changes = TermChanges()
            var expected: [[UInt8]: [Posting]] = [:]
            var tokenizer = Tokenizer(.words)
            for part in [0..<30, 30..<31, 31..<150, 150..<200] {
                var buffer = ChangeBuffer()
                for docno in part {
                    let place = buffer.addDocument(UInt64(docno), UInt32(docno))
                    _ = documents[docno].add(to: &buffer, at: place, &tokenizer)
                }
                for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
                    _ = buffer.collect(term, to: &changes)
                    expected[buffer.withTerm(term) { Array($0) }, default: []] += Self.postings(changes)
                }
                let isAdded = try spills.add(buffer, &changes)
                #expect(isAdded, note)
            }

            var order: [[UInt8]] = []
            var found: [[UInt8]: [Posting]] = [:]
            var merge = try spills.merge(opened.trees, opened.statistics, mostValues: mostValues)
            while try merge.next(&changes) {
                if order.last != merge.term { order.append(merge.term) }
                found[merge.term, default: []] += Self.postings(changes)
            }
            #expect(found == expected, note)
            let limit = TermDictionary.plainLimit
            let sorted = expected.keys.sorted {
                let (isLong, isOtherLong) = ($0.count > limit, $1.count > limit)
                return isLong != isOtherLong ? isOtherLong : $0.lexicographicallyPrecedes($1)
            }
            #expect(order == sorted, note)
            let tree = try #require(try transaction.tree("spill:" + testIndex.prefix))
            #expect(try transaction.count(tree) == 0, "what was read is gone")
            try spills.removeAll()
            #expect(try transaction.tree("spill:" + testIndex.prefix) == nil)
        }
    }

    @Test("that can't be read are damage, with any bytes in their place", arguments: SeededGenerator.seeds(2))
    func damaged(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        let writer = try TextIndexWriter(testIndex, in: transaction)
        try writer.insert(0, text: "some words")
        try writer.flush()
        let opened = try #require(try testIndex.open(in: transaction))
        var refused = 0
        for _ in 0..<2_000 {
            var spills = PostingSpills(testIndex, in: transaction)
            var changes = TermChanges()
            var buffer = ChangeBuffer()
            var tokenizer = Tokenizer(.words)
            let place = buffer.addDocument(0, 0)
            _ = DocumentText("b a b c a b").add(to: &buffer, at: place, &tokenizer)
            let isAdded = try spills.add(buffer, &changes)
            #expect(isAdded)
            let tree = try #require(try transaction.tree("spill:" + testIndex.prefix))
            let key = PostingSpills.key(0, 0)
            var bytes = try #require(try transaction.get(tree, key).map { Array($0) })
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
            case 1: bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            default:
                let place = Int.random(in: bytes.indices, using: &random)
                bytes.replaceSubrange(place..<place, with: [0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
            }
            try transaction.put(tree, key, bytes)
            do {
                var merge = try spills.merge(opened.trees, opened.statistics, mostValues: 100)
                while try merge.next(&changes) {}
            } catch {
                guard case .corrupt = error else { throw error }
                refused += 1
            }
            try spills.removeAll()
        }
        #expect(refused > 1_000, "\(refused) of 2,000, HORNBEAM_SEED=\(seed)")
    }
}
