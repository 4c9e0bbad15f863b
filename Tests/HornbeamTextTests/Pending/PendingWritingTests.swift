// SPDX-License-Identifier: Apache-2.0
// Small transactions write records, large ones write postings, and folding turns records into postings. After any
// history, every snapshot gives the answers of its texts to the last bit.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import HornbeamText

/// A snapshot and its expected answers.
private struct Held {
    let transaction: Transaction
    let model: NaiveIndex
}

@Suite("Documents that are written as pending records")
struct PendingWritingTests {
    private func problems(_ transaction: Transaction, _ model: NaiveIndex) throws -> [String] {
        try TextCheck(testIndex, in: transaction).run { (body) throws(StorageError) in
            for (row, text) in model.texts { try body(row, DocumentText(text)) }
        }
    }

    @Test(
        "After any history every snapshot, old or new, answers by its texts", arguments: SeededGenerator.seeds(1),
        [
            PendingLimits(pending: 60, slice: 20, records: 1), PendingLimits(pending: 900, slice: 300, records: 9),
            .standard,
        ].enumerated().map { (number: $0.offset, limits: $0.element) })
    func histories(seed: UInt64, run: (number: Int, limits: PendingLimits)) throws {
        // The first seed covers words, words by Unicode's rules, and stems.
        try TestAnalyzer.$current.withValue(TestAnalyzer.of(seed, 3 + run.number)) { try history(seed, run.limits) }
    }

    private func history(_ seed: UInt64, _ limits: PendingLimits) throws {
        var generator = TextGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        try store.write { writer in
            for row in UInt64(0)..<150 { try model.change(row * 7, by: writer, &generator) }
        }
        var held: [Held] = []
        for step in 0..<80 {
            let analyzer = TestAnalyzer.current.specification
            let note: Comment = "step \(step), \(limits), \(analyzer), HORNBEAM_SEED=\(seed)"
            let transaction = try store.beginWrite()
            let kind = Int.random(in: 0..<40, using: &generator.random)
            let writer = try TextIndexWriter(
                testIndex, in: transaction, budget: kind == 0 ? 0 : 64 << 20, limits: kind == 1 ? .none : limits)
            var changed = model
            for place in 0..<(kind == 2 ? 400 : kind < 8 ? 12 : 1) {
                let row = UInt64.random(in: 0..<1200, using: &generator.random)
                try changed.change(row, by: writer, &generator)
                if kind == 7, place % 3 == 0 {
                    try writer.flush()
                    if place == 6 { try changed.expectAnswers(in: transaction, &generator, note) }
                }
            }
            try writer.flush()
            if step % 5 == 0 { try changed.expectAnswers(in: transaction, &generator, note) }
            if kind == 9 {
                transaction.abort()
            } else {
                try transaction.commit()
                model = changed
            }
            let reader = try store.beginRead()
            if step % 3 == 0 { try model.expectAnswers(in: reader, &generator, note) }
            if step % 4 == 0 { #expect(try problems(reader, model) == [], note) }
            if step % 6 == 0 { held.append(Held(transaction: reader, model: model)) } else { reader.abort() }
            if held.count > 3 {
                let old = held.remove(at: Int.random(in: 0..<held.count, using: &generator.random))
                try old.model.expectAnswers(in: old.transaction, &generator, "held at \(note)")
                #expect(try problems(old.transaction, old.model) == [], "held at \(note)")
                old.transaction.abort()
            }
        }
        try model.expectAnswers(in: store.beginRead(), &generator, "at the end, HORNBEAM_SEED=\(seed)")
    }

    /// Returns the number and weight of pending records, and whether a batch is being folded.
    private func pending(_ store: TreeStore) throws -> (records: UInt64, weight: UInt64, isFolding: Bool) {
        let transaction = try store.beginRead()
        let opened = try #require(try testIndex.open(in: transaction))
        let state = try PendingState(testIndex, opened.trees, opened.statistics, in: transaction)
        return (state.bounds.end - state.bounds.start, state.weight, state.fold.batch != nil)
    }

    @Test("One document leaves one record and changes nothing else in the index")
    func oneRecord() throws {
        let store = try TreeStore.index(of: "one", "two")
        let before = try store.beginRead()
        try store.write(limits: .standard) { try $0.insert(3, text: "one three three") }
        let after = try store.beginRead()
        for name in testIndex.treeNames where name != testIndex.pendingName {
            guard let tree = try before.tree(name) else { continue }
            var old = try before.cursor(tree)
            var new = try after.cursor(tree)
            var isSame = true
            while try old.next() {
                isSame =
                    try isSame && new.next() && old.key.elementsEqual(new.key)
                    && old.value.elementsEqual(new.value)
            }
            isSame = try isSame && !new.next()
            #expect(isSame, "\(name)")
        }
        #expect(try pending(store).records == 1)
        #expect(try store.searcher().search("three", limit: 1).map(\.row) == [3])
    }

    @Test("Folding continues slice by slice, and ends")
    func folding() throws {
        let store = try TreeStore.index(of: "one", "two")
        var model = NaiveIndex(texts: [1: "one", 2: "two"])
        var generator = TextGenerator(seed: 8)
        let limits = PendingLimits(pending: 500, slice: 60)
        var (slices, batches, wasFolding) = (0, 0, false)
        for row in UInt64(10)..<150 {
            try store.write(limits: limits) { try model.change(row, by: $0, &generator) }
            let state = try pending(store)
            if state.isFolding {
                slices += 1
                #expect(try store.problems(model) == [])
                if !wasFolding { batches += 1 }
            }
            wasFolding = state.isFolding
        }
        #expect(batches >= 2 && slices > 3 * batches, "\(slices) slices in \(batches) batches")
        #expect(try pending(store).records < 80)
    }

    @Test("The pending documents stay bounded with commits of any size", arguments: [1, 3, 40, 200])
    func bounded(documents: UInt64) throws {
        var random = SeededGenerator(seed: documents)
        let store = try TreeStore.index(of: "one", "two")
        // A few large documents, or many small ones, of words that occur in others too.
        let size = documents > 3 ? 20 : 600
        let limit: UInt64 = 6_000
        var (largest, last, batches) = (UInt64(0), UInt64(0), 0)
        for step in 0..<UInt64(documents > 3 ? 24 : 60) {
            try store.write(limits: PendingLimits(pending: limit, slice: 50)) { writer in
                for document in 0..<documents {
                    let text = (0..<size).map { _ in "w\(random.below(4_000))" }.joined(separator: " ")
                    try writer.insert(10 + step * documents + document, text: text)
                }
            }
            let state = try pending(store)
            largest = max(largest, state.weight)
            if state.weight < last { batches += 1 }
            last = state.weight
        }
        // The batch, half of it again, and the commits that exceed each of them.
        let commit = documents * UInt64(size + 8)
        #expect(largest <= limit * 3 / 2 + 3 * commit, "\(largest)")
        #expect(batches >= 2)
    }

    /// Returns a store with records of a weight of about 16,000, none of which is folded.
    private func storeWithRecords() throws -> TreeStore {
        var random = SeededGenerator(seed: 4)
        let store = try TreeStore.index(of: "one", "two")
        for step in UInt64(0)..<10 {
            try store.write(limits: .standard) { writer in
                for document in UInt64(0)..<50 {
                    let text = (0..<25).map { _ in "w\(random.below(2_000))" }.joined(separator: " ")
                    try writer.insert(1_000 + step * 50 + document, text: text)
                }
            }
        }
        #expect(try pending(store).records == 500)
        return store
    }

    @Test("A commit folds no more than it changes, whether of many small documents or of one large one")
    func proportionate() throws {
        let store = try storeWithRecords()
        let small = try pending(store)
        try store.write(limits: .standard) { writer in
            for row in UInt64(10)..<310 { try writer.insert(row, text: "short \(row)") }
        }
        #expect(try pending(store).records == small.records + 300)
        // A quarter of a megabyte with few different words.
        let long = String(repeating: "long words that are said again and again ", count: 6_000)
        try store.write(limits: .standard) { try $0.insert(500, text: long) }
        try store.write(limits: .standard) { try $0.update(500, from: long, to: "short") }
        #expect(try pending(store).records == small.records + 302)
        #expect(try store.searcher().count("short") == 301)
        #expect(try store.searcher().count("again") == 0)
        // A transaction with as many changes as are pending first folds the pending ones, and writes no record.
        try store.write(limits: .standard) { writer in
            for row in UInt64(2_000)..<4_000 {
                try writer.insert(row, text: "many documents \(row) \(row % 7) at once")
            }
        }
        #expect(try pending(store).records == 0)
        #expect(try store.searcher().count("many") == 2_000)
        #expect(try store.searcher().count("short") == 301)
    }

    @Test("An empty index, whose documents were all removed, is not folded before it is filled again")
    func emptied() throws {
        let store = try TreeStore.index(of: "one", "two")
        try store.write(limits: .standard) { writer in
            try writer.remove(1, text: "one")
            try writer.remove(2, text: "two")
        }
        #expect(try pending(store).records == 2)
        try store.write(limits: .standard) { try $0.insert(1, text: "again") }
        #expect(try pending(store).records == 3)
        #expect(try store.problems(NaiveIndex(texts: [1: "again"])) == [])
    }

    @Test("An index dropped during folding and created again has nothing of the old one")
    func dropped() throws {
        let store = try TreeStore.index(of: "one", "two")
        try store.write(limits: .standard) { try $0.insert(3, text: "three") }
        #expect(try store.searcher().count("three") == 1)
        let transaction = try store.beginWrite()
        try testIndex.drop(in: transaction)
        try transaction.commit()
        try store.write(limits: .standard) { try $0.insert(1, text: "one") }
        try store.write(limits: .standard) { try $0.insert(2, text: "other") }
        #expect(try store.searcher().count("three") == 0)
        #expect(try store.problems(NaiveIndex(texts: [1: "one", 2: "other"])) == [])
    }

    @Test("Memory from encoding one record doesn't affect the next, and isn't kept if it is large")
    func keptMaker() throws {
        let store = try TreeStore.index(of: "one", "two")
        var model = NaiveIndex(texts: [1: "one", 2: "two"])
        let texts = [
            "b a b", "", "a", (0..<300).map { "word\($0) b" }.joined(separator: " "), "b",
            (0..<40_000).map { "word\($0 % 30_000)" }.joined(separator: " "), "a b a", "two",
        ]
        for (place, text) in texts.enumerated() {
            try store.write(limits: .standard) { try $0.insert(UInt64(3 + place), text: text) }
            model[UInt64(3 + place)] = text
        }
        try store.write(limits: .standard) { try $0.update(6, from: texts[3], to: "a word7") }
        model[6] = "a word7"
        #expect(try pending(store).records == texts.count + 1)
        #expect(try store.problems(model) == [])

        let read = try store.beginRead()
        let index = PendingIndex.of(try #require(try read.tree(testIndex.pendingName)), in: read)
        let kept = index.takeMaker()
        #expect(kept.maker.byteCount < KeptRecordMaker.keptBound)
        #expect(index.takeMaker() !== kept, "it is one writer's alone")
        index.giveBack(kept)
        #expect(index.takeMaker() === kept)
    }

    @Test("An index is opened by its present trees, even after it had others")
    func knownTrees() throws {
        let store = try TreeStore.index(of: "one", "two")
        #expect(try store.searcher().count("one") == 1)
        let held = try store.beginRead()
        // Dropped and created again in one transaction, which is first aborted, then undone, and then committed.
        let givenUp = try store.beginWrite()
        try testIndex.drop(in: givenUp)
        try TextIndexWriter(testIndex, in: givenUp).insert(9, text: "given up")
        givenUp.abort()
        #expect(try store.searcher().count("one") == 1)
        let transaction = try store.beginWrite()
        let savepoint = try transaction.savepoint()
        try testIndex.drop(in: transaction)
        var writer = try TextIndexWriter(testIndex, in: transaction)
        try writer.insert(9, text: "taken back")
        try writer.flush()
        #expect(try TextSearcher(testIndex, in: transaction).count("taken") == 1)
        try transaction.rollback(to: savepoint)
        #expect(try TextSearcher(testIndex, in: transaction).count("one") == 1)
        try testIndex.drop(in: transaction)
        writer = try TextIndexWriter(testIndex, in: transaction)
        try writer.insert(9, text: "new")
        try writer.flush()
        try transaction.commit()
        #expect(try store.searcher().count("new") == 1)
        #expect(try store.searcher().count("one") == 0)
        #expect(try TextSearcher(testIndex, in: held).count("one") == 1)
        #expect(try store.problems(NaiveIndex(texts: [9: "new"])) == [])
    }

    @Test("An index that loses one of its trees is damaged, also to a store that has it open")
    func lostTree() throws {
        let store = try TreeStore.index(of: "one", "two")
        #expect(try store.searcher().count("one") == 1)
        let transaction = try store.beginWrite()
        #expect(try transaction.dropTree(testIndex.postingsName))
        try transaction.commit()
        let read = try store.beginRead()
        #expect(throws: StorageError.self) { try TextSearcher(testIndex, in: read) }
        #expect(throws: StorageError.self) { try store.write(limits: .standard) { try $0.insert(3, text: "three") } }
    }

    @Test("An empty index flushed document by document leaves records after the first")
    func flushedOneByOne() throws {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        var model = NaiveIndex()
        let writer = try TextIndexWriter(testIndex, in: transaction)
        for row in UInt64(1)...9 {
            model[row] = "word other\(row)"
            try writer.insert(row, text: model[row] ?? "")
            try writer.flush()
        }
        try writer.update(3, from: model[3] ?? "", to: "new")
        model[3] = "new"
        try writer.remove(1, text: model[1] ?? "")
        model[1] = nil
        try writer.flush()
        #expect(try problems(transaction, model) == [])
        try transaction.commit()
        #expect(try pending(store).records == 10)
        #expect(try store.problems(model) == [])
    }

    @Test("Absent documents can't be changed and present ones can't be added, pending or not")
    func refusals() throws {
        let store = try TreeStore.index(of: "one", "two")
        try store.write(limits: .standard) { try $0.insert(3, text: "three") }
        #expect(throws: StorageError.self) { try store.write(limits: .standard) { try $0.insert(3, text: "again") } }
        #expect(throws: StorageError.self) { try store.write(limits: .standard) { try $0.insert(1, text: "again") } }
        #expect(throws: StorageError.self) { try store.write(limits: .standard) { try $0.remove(9, text: "nothing") } }
        #expect(throws: StorageError.self) {
            try store.write(limits: .standard) { try $0.update(3, from: "of other length", to: "x") }
        }
        try store.write(limits: .standard) { try $0.remove(3, text: "three") }
        #expect(throws: StorageError.self) { try store.write(limits: .standard) { try $0.remove(3, text: "three") } }
        try store.write(limits: .standard) { try $0.insert(3, text: "back") }
        #expect(try store.problems(NaiveIndex(texts: [1: "one", 2: "two", 3: "back"])) == [])
    }

    @Test("A record without positions, in an index with positions, is damage", arguments: [true, false])
    func withoutPositions(storesPositions: Bool) throws {
        let index = TextIndex(prefix: "t:", storesPositions: storesPositions)
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        func write(_ row: UInt64, _ text: String, _ limits: PendingLimits) throws {
            let writer = try TextIndexWriter(index, in: transaction, limits: limits)
            try writer.insert(row, text: text)
            try writer.flush()
        }
        try write(1, "one", .none)
        try write(2, "two", .standard)
        let tree = try #require(try transaction.tree(index.pendingName))
        // Its checksum is right: only its content can reveal it.
        var header = PendingHeader(row: 2, docno: 1, oldLength: -1, newLength: 3000)
        header.hasPositions = !storesPositions
        header.totals = .init(documentCount: 2, totalLength: 3001, nextDocno: 2, largestRow: 2, weight: 9)
        var record = PendingRecordWriter(header, termCount: 1)
        withBytes(Array("two".utf8)) { term in
            Array(UInt32(0)..<3000).withUnsafeBufferPointer {
                record.add(term, oldFrequency: 0, newFrequency: 3000, positions: $0)
            }
        }
        try transaction.put(tree, PendingTreeReader.key(0), [UInt8](record.finish(after: 0).bytes))
        #expect(throws: StorageError.self) { try TextSearcher(index, in: transaction).count("two") }
        #expect(throws: StorageError.self) { try write(3, "three", .none) }
        let problems = try TextCheck(index, in: transaction).run { (body) throws(StorageError) in
            try body(1, DocumentText("one"))
        }
        #expect(!problems.isEmpty)
    }

    @Test("Totals that no index has are damage, of a record as of the state of folding")
    func absurdTotals() throws {
        for weight in [UInt64.max - 3, 1 << 63, 1 << 62] {
            let store = try TreeStore.index(of: "one", "two")
            try store.write(limits: .standard) { try $0.insert(3, text: "three") }
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree(testIndex.pendingName))
            var header = PendingHeader(row: 3, docno: 2, oldLength: -1, newLength: 0)
            header.totals = .init(documentCount: 3, totalLength: 2, nextDocno: 3, largestRow: 3, weight: weight)
            var record = PendingRecordWriter(header, termCount: 0)
            try transaction.put(tree, PendingTreeReader.key(0), [UInt8](record.finish(after: 0).bytes))
            try transaction.commit()
            #expect(throws: StorageError.self) {
                try store.write(limits: PendingLimits(pending: 10, slice: 5)) { try $0.insert(4, text: "four") }
            }
        }
        // All tokens: those of the statistics, to which the check adds, and those of the last record.
        for total in [UInt64(1) << 62, .max] {
            let store = try TreeStore.index(of: "one", "two")
            try store.write(limits: .standard) { try $0.insert(3, text: "three") }
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree(testIndex.statisticsName))
            let key = TextStatistics.key
            var statistics = try #require(try transaction.get(tree, key).flatMap { TextStatistics($0) })
            statistics.totalLength = total
            try transaction.put(tree, key, statistics.encoded())
            #expect(throws: StorageError.self) { try TextSearcher(testIndex, in: transaction) }
            try transaction.commit()
            #expect(try !store.problems(NaiveIndex(texts: [1: "one", 2: "two", 3: "three"])).isEmpty)
            var header = PendingHeader(row: 3, docno: 2, oldLength: -1, newLength: 0)
            header.totals = .init(documentCount: 3, totalLength: total, nextDocno: 3)
            var record = PendingRecordWriter(header, termCount: 0)
            #expect(withBytes([UInt8](record.finish(after: 0).bytes)) { PendingRecord($0) == nil })
        }
        var fold = FoldState()
        fold.start = FoldState.Mark(sequence: 3, identity: 5, weight: 1 << 62)
        #expect(FoldState(fold.encoded()) == nil)
        fold.start.weight -= 1
        #expect(FoldState(fold.encoded()) == fold)
        fold.batch = FoldState.Batch(end: FoldState.Mark(sequence: 4, identity: 6, weight: 7))
        #expect(FoldState(fold.encoded()) == nil, "it is less than before it")
    }

    @Test("Fields and sections of pending documents are those of stored ones")
    func sections() throws {
        let text = DocumentText(fields: [["a b", "c"], [], ["d e f"]])
        let store = try TreeStore.index(of: "one")
        try store.write(limits: .standard) { try $0.insert(5, text) }
        func sections() throws -> DocumentSections {
            let snapshot = try #require(try TextSnapshot(testIndex, in: store.beginRead()))
            let docno = try #require(try snapshot.docno(of: 5))
            return try snapshot.sections(of: docno, length: 6)
        }
        let pending = try sections()
        #expect(pending.fieldLengths == [3, 0, 3])
        try store.write(limits: .none) { _ in }
        #expect(try self.pending(store).records == 0)
        #expect(try sections() == pending)
    }

    @Test("Readers see whole commits during writes, while folding continues")
    func concurrent() throws {
        let store = try TreeStore.index(of: "common first")
        let isDone = Mutex(false)
        let failures = Mutex<[String]>([])
        let threads = (0..<2).map { _ in
            let thread = Thread {
                do {
                    while !isDone.withLock({ $0 }) {
                        let transaction = try store.beginRead()
                        let searcher = try TextSearcher(testIndex, in: transaction)
                        let count = searcher.statistics.documentCount
                        let hits = try searcher.search("common", limit: 5)
                        let found = try (searcher.count("common"), searcher.matches("common").count)
                        if found.0 != count || found.1 != Int(count) || hits.count != min(5, Int(count)) {
                            failures.withLock { $0.append("\(count) documents, \(found)") }
                        }
                        transaction.abort()
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
            thread.start()
            return thread
        }
        for row in UInt64(10)..<400 {
            try store.write(limits: PendingLimits(pending: 300, slice: 40)) { writer in
                try writer.insert(row, text: "common word\(row % 17) \(row)")
                if row > 20, row % 3 == 0 {
                    let old = row - 9
                    let text = "common word\(old % 17) \(old)"
                    try writer.update(old, from: text, to: text + "x")
                }
            }
        }
        isDone.withLock { $0 = true }
        while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        #expect(failures.withLock { $0 } == [])
    }
}
