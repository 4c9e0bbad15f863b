// SPDX-License-Identifier: Apache-2.0
// The check finds damage, and no use of a damaged index traps.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Checking an index")
struct TextCheckTests {
    private func sample(seed: UInt64 = 3, count: UInt64 = 300) throws -> (TreeStore, NaiveIndex) {
        var generator = TextGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        try store.write { writer in
            for docno in 0..<count {
                let text = generator.text(upTo: 10)
                model[docno] = text
                try writer.insert(docno, text: text)
            }
        }
        return (store, model)
    }

    /// Like `sample`, with documents added, changed and removed by records. Some records are being folded, or will be
    /// next.
    private func samplePending(seed: UInt64, writes: UInt64 = 14) throws -> (TreeStore, NaiveIndex) {
        var (store, model) = try sample(seed: seed, count: 160)
        var generator = TextGenerator(seed: seed + 1)
        for row in 0..<writes {
            // The last write isn't in a batch.
            let pending: UInt64 = row + 1 < writes ? 60 : 1_000_000
            try store.write(limits: PendingLimits(pending: pending, slice: 30)) { writer in
                let (text, changed) = (generator.text(upTo: 8), generator.text(upTo: 8))
                try writer.insert(200 + row, text: text)
                try writer.update(row * 2, from: model[row * 2] ?? "", to: changed)
                try writer.remove(row * 2 + 31, text: model[row * 2 + 31] ?? "")
                (model[200 + row], model[row * 2], model[row * 2 + 31]) = (text, changed, nil)
            }
        }
        return (store, model)
    }

    /// Changes a tree without the writer.
    private func tamper(
        _ store: TreeStore, _ name: String, _ body: (Transaction, TreeID) throws -> Void
    ) throws {
        let transaction = try store.beginWrite()
        try body(transaction, try #require(try transaction.tree(name)))
        try transaction.commit()
    }

    @Test("A sound index has no problems, in batches of any size", arguments: [0, 5000, 64 << 20])
    func sound(batchSize: Int) throws {
        let (store, model) = try sample()
        #expect(try store.problems(model, batchSize: batchSize) == [])
        #expect(try TreeStore.inMemory().problems(NaiveIndex()) == [])
    }

    @Test("A document too many, too few, changed or given twice is found")
    func documents() throws {
        let (store, model) = try sample()
        for tamper in [
            { (model: inout NaiveIndex) in model[5] = nil },
            { (model: inout NaiveIndex) in model[5000] = "" },
            { (model: inout NaiveIndex) in model[5000] = "w39" },
            { (model: inout NaiveIndex) in model[6] = (model[6] ?? "") + " w39" },
            { (model: inout NaiveIndex) in model[7] = "never seen words" },
        ] {
            var other = model
            tamper(&other)
            #expect(try !store.problems(other).isEmpty)
        }
        let transaction = try store.beginRead()
        let problems = try TextCheck(testIndex, in: transaction).run { (body) throws(StorageError) in
            for (row, text) in model.texts { try body(row, DocumentText(text)) }
            try body(5, DocumentText(model[5] ?? ""))
        }
        #expect(problems.count == 1 && problems[0].contains("twice"))
        #expect(try TreeStore.inMemory().problems(NaiveIndex(texts: [1: ""])).count == 1)
    }

    @Test("Swapped words of equal length in two documents are found")
    func swapped() throws {
        let store = try TreeStore.index(of: "a b", "a c")
        let problems = try store.problems(NaiveIndex(texts: [1: "a c", 2: "a b"]))
        #expect(problems.count { $0.contains("fingerprint") } == 2)
        #expect(problems.count { $0.contains("stands") } == 2, "\(problems)")
    }

    @Test("Wrong statistics, a block without a term and a length without a document are found")
    func inconsistent() throws {
        for (name, key, value, word) in [
            (testIndex.postingsName, PostingKey(list: 9999, first: 0).bytes, [0, 0, 1, 0, 1, 0] as [UInt8], "runs"),
            (testIndex.positionsName, PostingKey(list: 9999, first: 0).bytes, [1, 0], "runs"),
            (testIndex.documentsName, DocumentLengths.key(chunk: 77), [3, 0], "documents"),
            (testIndex.documentsName, DocumentLengths.key(escaped: 77), [255, 255, 3], "large lengths"),
            (testIndex.documentsName, SectionTable.key(chunk: 1), [1, 3, 0xC8, 1, 2], "sections"),
            (testIndex.documentsName, DocumentMap.key(chunk: 77), [0, 0, 0, 1, 0], "rows"),
            (testIndex.documentsName, DocumentMap.key(exception: 77), [7], "row"),
            (testIndex.documentsName, [9], [0], "key"),
            (testIndex.termsName, [UInt8(ascii: "~")], [5, 0, 0], "postings"),
        ] {
            let (store, model) = try sample()
            try tamper(store, name) { try $0.put($1, key, value) }
            let problems = try store.problems(model)
            #expect(problems.contains { $0.contains(word) }, "\(problems)")
        }
        let (store, model) = try sample()
        try tamper(store, testIndex.statisticsName) { transaction, tree in
            var statistics = try #require(try transaction.get(tree, TextStatistics.key).flatMap { TextStatistics($0) })
            statistics.totalLength += 1
            try transaction.put(tree, TextStatistics.key, statistics.encoded())
        }
        #expect(try store.problems(model).count == 1)
        try tamper(store, testIndex.statisticsName) { _ = try $0.delete($1, TextStatistics.key) }
        #expect(try store.problems(model).count == 1)
        #expect(throws: StorageError.self) { try store.searcher() }
    }

    /// The case: bytes of the trees change although checksums should have caught that, or a hostile file has valid
    /// checksums. Every later use of the index must give an answer or an error, never a trap; and if the check finds
    /// nothing, the answers must be right.
    @Test("Damaged entries give typed errors or right answers, never a trap", arguments: SeededGenerator.seeds(6))
    func damage(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var found = 0
        for round in 0..<30 {
            let isPending = round % 6 == 5
            let hasPending = isPending || round % 2 == 1
            let (store, model) = try hasPending ? samplePending(seed: seed) : sample(seed: seed, count: 160)
            let names = [
                testIndex.termsName, testIndex.postingsName, testIndex.positionsName, testIndex.documentsName,
                testIndex.statisticsName, testIndex.pendingName,
            ]
            try tamper(store, names[round % 6]) { transaction, tree in
                try damageEntry(transaction, tree, &random)
                // With right checksums, so that the content of the records is examined.
                if isPending { try testIndex.sealPending(in: transaction) }
            }
            let problems = try store.problems(model)
            if !problems.isEmpty { found += 1 }
            do {
                let searcher = try store.searcher()
                for query in ["w39 w38", "w37 w20 w39 w10", "long80"] {
                    let hits = try searcher.search(query, limit: 20)
                    if problems.isEmpty { #expect(hits == Array(model.search(query).prefix(20))) }
                    _ = try searcher.count(query)
                    _ = try searcher.matches(query, filter: .documents([2, 30, 59, 1 << 40]))
                }
            } catch {
                #expect(!problems.isEmpty, "\(error), HORNBEAM_SEED=\(seed)")
            }
            try changeEverything(store, model)
        }
        #expect(found > 18)
    }

    @Test(
        "Damaged pending records with right checksums are found, or change nothing",
        arguments: SeededGenerator.seeds(4))
    func pendingDamage(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var found = 0
        for round in 0..<40 {
            let (store, model) = try samplePending(seed: seed, writes: 5 + UInt64(round) % 10)
            try tamper(store, testIndex.pendingName) { transaction, tree in
                try damageEntry(transaction, tree, &random)
                try testIndex.sealPending(in: transaction)
            }
            let problems = try store.problems(model)
            if !problems.isEmpty { found += 1 }
            do {
                let searcher = try store.searcher()
                for query in ["w39 w38", "w37 w20 w39 w10", "long80"] {
                    let hits = try searcher.search(query, limit: .max)
                    if problems.isEmpty {
                        #expect(hits == model.search(query), "round \(round), HORNBEAM_SEED=\(seed)")
                    }
                }
            } catch {
                #expect(!problems.isEmpty, "\(error), round \(round), HORNBEAM_SEED=\(seed)")
            }
            try changeEverything(store, model)
            // Folds all pending documents.
            do { try store.write { _ in } } catch {}
        }
        #expect(found > 20)
    }

    private func damageEntry(
        _ transaction: Transaction, _ tree: TreeID, _ random: inout SeededGenerator
    ) throws {
        var cursor = try transaction.cursor(tree)
        guard try cursor.seek(index: .random(in: 0..<transaction.count(tree), using: &random)) else { return }
        let key = Array(cursor.key)
        var value = Array(cursor.value)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: value.removeLast(Int.random(in: 0...value.count, using: &random))
        case 1: value.append(.random(in: 0...255, using: &random))
        case 2:
            _ = try transaction.delete(tree, key)
            return
        default:
            if !value.isEmpty {
                value[.random(in: value.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
        }
        try transaction.put(tree, key, value)
    }

    /// Changes every list of the index in all ways. Errors are allowed here, traps are not.
    private func changeEverything(_ store: TreeStore, _ model: NaiveIndex) throws {
        for kind in 0..<3 {
            let transaction = try store.beginWrite()
            defer { transaction.abort() }
            do {
                let writer = try TextIndexWriter(testIndex, in: transaction)
                for (docno, text) in model.texts {
                    switch kind {
                    case 0: try writer.remove(docno, text: text)
                    case 1: try writer.update(docno, from: text, to: text + " w39 w38")
                    default: try writer.insert(docno + 30 << 8, text: text)
                    }
                }
                try writer.flush()
            } catch {}
        }
    }
}
