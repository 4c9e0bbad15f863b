// SPDX-License-Identifier: Apache-2.0
// A batch on its way into the postings: first documents, then terms, then the removal of the records, one slice with
// each commit. In each of these states a snapshot gives the answers of its texts and passes the check, also long
// after it was taken; and no commit writes much more than others, however large the batch is.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText
@testable import HornbeamTree

@Suite("Batches that are folded in slices")
struct PendingFoldingTests {
    /// A phase of folding in a state of an index.
    enum Phase: String, CaseIterable {
        case gathering, documents, terms, records

        init(in transaction: Transaction) throws {
            let opened = try #require(try testIndex.open(in: transaction))
            self.init(try #require(FoldState(opened.statistics.foldState)))
        }

        init(_ fold: FoldState) {
            switch (fold.batch, fold.leftover) {
            case (let batch?, _): self = batch.documents == nil ? .terms : .documents
            case (nil, 1...): self = .records
            case (nil, _): self = .gathering
            }
        }
    }

    private func fold(_ transaction: Transaction) throws -> FoldState {
        let opened = try #require(try testIndex.open(in: transaction))
        return try #require(FoldState(opened.statistics.foldState))
    }

    private func phase(_ store: TreeStore) throws -> Phase {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        return try Phase(in: transaction)
    }

    /// Writes until the index is in a phase or past it, which takes a bounded number of commits.
    private func fill(
        _ store: TreeStore, until isMet: (Phase) -> Bool, _ write: (Phase) throws -> Void
    ) throws {
        struct Endless: Error {}
        for _ in 0..<5_000 {
            let now = try phase(store)
            if isMet(now) { return }
            try write(now)
        }
        throw Endless()
    }

    // MARK: Every question in every phase

    private struct Held {
        let transaction: Transaction
        let documents: [TestDocument]
        let note: Comment
    }

    private func compare(_ held: Held, _ generator: inout RetrievalTests.Generator) throws {
        let searcher = try TextSearcher(testIndex, in: held.transaction)
        #expect(searcher.statistics.documentCount == UInt64(held.documents.count), held.note)
        #expect(try testIndex.documentCount(in: held.transaction) == UInt64(held.documents.count), held.note)
        for weights in [nil, [3, 0.5]] as [[Double]?] {
            let model = NaiveQuery(held.documents, weights: weights)
            let query = generator.query()
            let expected = model.search(query)
            #expect(try searcher.search(query, limit: 5, weights: weights) == Array(expected.prefix(5)), held.note)
            #expect(try searcher.search(query, limit: .max, weights: weights) == expected, held.note)
            #expect(try searcher.matches(query) == expected.map(\.row).sorted(), held.note)
        }
        let problems = try TextCheck(testIndex, in: held.transaction).run { (body) throws(StorageError) in
            for document in held.documents { try body(document.row, PendingRetrievalTests.text(document)) }
        }
        #expect(problems == [], held.note)
    }

    @Test(
        "Snapshots of every phase give their texts' answers, at once and later", arguments: SeededGenerator.seeds(2))
    func phases(seed: UInt64) throws {
        var generator = RetrievalTests.Generator(seed: seed)
        let store = try TreeStore.inMemory()
        var documents: [UInt64: TestDocument] = [:]
        try store.write { writer in
            for row in UInt64(0)..<60 {
                try PendingRetrievalTests.change(row * 3, &documents, writer, &generator)
            }
        }
        var met: [Phase: Int] = [:]
        var held: [Held] = []
        for step in 0..<260 {
            let limits = PendingLimits(pending: 300, slice: 150, records: 2)
            try store.write(limits: limits) { writer in
                let row = UInt64(generator.random.below(260))
                try PendingRetrievalTests.change(row, &documents, writer, &generator)
            }
            let transaction = try store.beginRead()
            let phase = try Phase(in: transaction)
            met[phase, default: 0] += 1
            // The second state of each phase, and some others.
            guard met[phase, default: 0] == 2 || step % 8 == 0, !documents.isEmpty else {
                transaction.abort()
                continue
            }
            let now = Held(
                transaction: transaction, documents: documents.values.sorted { $0.row < $1.row },
                note: "step \(step), \(phase), HORNBEAM_SEED=\(seed)")
            try compare(now, &generator)
            held.append(now)
            guard held.count > 5 else { continue }
            let old = held.remove(at: generator.random.below(held.count))
            try compare(old, &generator)
            old.transaction.abort()
        }
        for phase in Phase.allCases { #expect(met[phase, default: 0] > 5, "\(phase), HORNBEAM_SEED=\(seed)") }
    }

    @Test("Ascending rows are recognised in every phase, others are not", arguments: [true, false])
    func ascendingRows(ascend: Bool) throws {
        let store = try TreeStore.index(of: "one", "two")
        var met: Set<Phase> = []
        for number in UInt64(10)..<200 {
            try store.write(limits: PendingLimits(pending: 300, slice: 150, records: 2)) { writer in
                try writer.insert(ascend ? number : number ^ 1, text: "word\(number % 9) of \(number)")
            }
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            met.insert(try Phase(in: transaction))
            let snapshot = try #require(try TextSnapshot(testIndex, in: transaction))
            #expect(snapshot.rowsAscend == (ascend || number == 10), "\(number)")
        }
        #expect(met.count == Phase.allCases.count)
    }

    // MARK: The cost of a commit

    /// Returns the bytes of the pages that a commit of one change writes.
    private func written(_ store: TreeStore, _ limits: PendingLimits, _ change: (TextIndexWriter) throws -> Void)
        throws -> Int
    {
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(testIndex, in: transaction, limits: limits)
        try change(writer)
        try writer.flush()
        let size = try #require(transaction.writer).pages.dirtyBytes
        try transaction.commit()
        return size
    }

    @Test("No commit of a large batch of changes writes much more than others, from its first to its last")
    func boundedCommits() throws {
        let count: UInt64 = 40_000
        let store = try TreeStore.inMemory()
        func text(_ row: UInt64, _ version: Int) -> DocumentText {
            DocumentText(fields: [["v\(version)"], ["w\(row % 97) of"]])
        }
        try store.write { writer in
            for row in 0..<count { try writer.insert(row, text(row, 0)) }
        }
        // Documents all over the index, so that a batch changes all entries of lengths and most of sections.
        var (next, changed): (UInt64, [UInt64: Int]) = (0, [:])
        func change(_ writer: TextIndexWriter) throws {
            next = (next + 26_417) % count
            let version = changed[next] ?? 0
            try writer.update(next, from: text(next, version), to: text(next, version + 1))
            changed[next] = version + 1
        }
        let limits = PendingLimits(pending: 24_000, slice: 600, records: 32)
        try fill(store, until: { $0 != .gathering }) { _ in
            try store.write(limits: limits) { writer in
                for _ in 0..<100 { try change(writer) }
            }
        }
        var largest: [Phase: Int] = [:]
        var commits: [Phase: Int] = [:]
        try fill(store, until: { $0 == .gathering }) { now in
            let size = try written(store, limits, change)
            largest[now] = max(largest[now] ?? 0, size)
            commits[now, default: 0] += 1
        }
        // Ten entries of lengths and as many of sections, in leaves of their own, and the paths to them.
        for (phase, size) in largest { #expect(size < 600_000, "\(phase): \(size) bytes, \(commits)") }
        #expect(commits[.documents] ?? 0 > 20 && commits[.terms] ?? 0 > 0 && commits[.records] ?? 0 > 20, "\(commits)")
    }

    /// A slice counted only postings, but one posting of a run costs as much as all of them: six thousand changes of
    /// common words, each in a run of its own, were one slice, whose commit took a tenth of a second.
    @Test("A slice counts the runs that it writes, however few postings change in each")
    func runsCount() throws {
        let (documents, words) = (UInt64(20_000), 20)
        let text = (0..<words).map { "common\($0)" }.joined(separator: " ")
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for row in 0..<documents { try writer.insert(row, text: text) }
        }
        // A document in each run of each word.
        try store.write(limits: PendingLimits(pending: .max, slice: .max)) { writer in
            for row in stride(from: UInt64(500), to: documents, by: 1_000) {
                try writer.update(row, from: text, to: text + " longer")
            }
        }
        // Slightly less than the pending amount: above its limit a slice is larger.
        let limits = PendingLimits(pending: 590, slice: 600)
        var (next, commits, largest) = (documents, 0, 0)
        func insert() throws -> Int {
            next += 1
            return try written(store, limits) { try $0.insert(next, text: "short") }
        }
        try fill(store, until: { $0 != .gathering }) { _ in _ = try insert() }
        try fill(store, until: { $0 == .gathering }) { now in
            let size = try insert()
            guard now == .terms else { return }
            commits += 1
            largest = max(largest, size)
        }
        // Twenty words with twenty runs each, three at a time.
        #expect(commits >= 6 && largest < 150_000, "\(commits) commits of up to \(largest) bytes")
    }

    // MARK: How much may be pending

    @Test("More may be pending in a large index, up to a bound")
    func limits() {
        let limits = PendingLimits(pending: 1_000, most: 5_000, slice: 10)
        for (tokens, expected) in [(0, 1_000), (64_000, 1_000), (64_064, 1_001), (320_000, 5_000), (1 << 40, 5_000)] {
            #expect(limits.pending(tokens: UInt64(tokens)) == UInt64(expected), "\(tokens)")
        }
        #expect(PendingLimits(pending: 1_000, slice: 10).pending(tokens: 1 << 40) == 1_000)
        #expect(PendingLimits.none.pending(tokens: 1 << 40) == 0)
        #expect(PendingLimits.standard.pending(tokens: 3_000_000) == 400_000)
    }

    @Test("A batch begins once the pending documents reach the share given by the index's size", arguments: [0, 4_000])
    func beginning(stored: UInt64) throws {
        let store = try TreeStore.index(of: "one", "two")
        let text = (1..<16).map { "word\($0)" }.joined(separator: " ")
        try store.write { writer in
            for row in 10..<10 + stored { try writer.insert(row, text: "\(text) \(row)") }
        }
        // With 64,002 tokens 1,000 may be pending.
        let limits = PendingLimits(pending: 200, most: 5_000, slice: 10)
        let allowed: UInt64 = stored == 0 ? 200 : 1_000
        var (row, weight) = (UInt64(10_000), UInt64(0))
        while weight <= allowed {
            #expect(try phase(store) == .gathering, "\(weight)")
            try store.write(limits: limits) { try $0.insert(row, text: "word \(row)") }
            row += 1
            weight += PendingHeader.weight(terms: 2, tokens: 2, bytes: 10)
        }
        #expect(try phase(store) != .gathering)
    }

    // MARK: The state of folding

    @Test("Every valid state of folding is read as it was written, and an invalid one is refused")
    func states() {
        var fold = FoldState()
        fold.start = FoldState.Mark(sequence: 300, identity: .max, weight: 1 << 40)
        for leftover in [UInt64(0), 7, 300] {
            for batch in [nil, (nil, []), (nil, [1, 2]), (0, []), (UInt32.max - 1, [])] as [(UInt32?, [UInt8])?] {
                fold.leftover = leftover
                let end = FoldState.Mark(sequence: 301, identity: 1, weight: 1 << 40)
                fold.batch = batch.map { FoldState.Batch(end: end, documents: $0.0, watermark: $0.1) }
                #expect(FoldState(fold.encoded()) == fold)
            }
        }
        fold.batch = FoldState.Batch(end: FoldState.Mark(sequence: 301, weight: 1 << 40), documents: 4, watermark: [9])
        #expect(FoldState(fold.encoded()) == nil, "no term has the batch before all documents have it")
        fold.batch = nil
        fold.leftover = 301
        #expect(FoldState(fold.encoded()) == nil, "there were not as many records")
    }

    @Test("The check reports missing folded records, and they do no other harm")
    func missingRecords() throws {
        let store = try TreeStore.index(of: "one", "two")
        var model = NaiveIndex(texts: [1: "one", 2: "two"])
        let limits = PendingLimits(pending: 200, slice: 100_000, records: 1)
        var row: UInt64 = 10
        try fill(store, until: { $0 == .records }) { _ in
            try store.write(limits: limits) { try $0.insert(row, text: "word \(row)") }
            model[row] = "word \(row)"
            row += 1
        }
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.pendingName))
        let state = try fold(transaction)
        _ = try transaction.delete(tree, PendingTreeReader.key(state.start.sequence - 2))
        try transaction.commit()
        #expect(try store.problems(model).contains { $0.contains("pending records are not those") })
        #expect(try store.searcher().count("word") == UInt64(model.texts.count - 2))
        try store.write { try $0.insert(5, text: "word 5") }
        model[5] = "word 5"
        #expect(try store.problems(model) == [])
        #expect(try store.searcher().count("word") == UInt64(model.texts.count - 2))
    }

    @Test("A file that lacks the tree of folded records is refused, not read in an endless loop")
    func missingTree() throws {
        let store = try TreeStore.index(of: "one", "two")
        var row: UInt64 = 10
        try fill(store, until: { $0 == .records }) { _ in
            let limits = PendingLimits(pending: 200, slice: 100_000, records: 1)
            try store.write(limits: limits) { try $0.insert(row, text: "word \(row)") }
            row += 1
        }
        let transaction = try store.beginWrite()
        #expect(try transaction.dropTree(testIndex.pendingName))
        try transaction.commit()
        #expect(throws: StorageError.self) { try store.write { try $0.insert(5, text: "word") } }
    }

    @Test("Each commit that folds postings missing in a damaged index fails, with advice")
    func missingPostings() throws {
        let store = try TreeStore.index(of: "one two", "two three")
        let damaging = try store.beginWrite()
        let terms = try #require(try damaging.tree(testIndex.termsName))
        #expect(try damaging.delete(terms, Array("two".utf8)))
        try damaging.commit()
        // A record doesn't read postings.
        try store.write(limits: PendingLimits(pending: .max, slice: .max)) { writer in
            try writer.update(1, from: "one two", to: "one")
        }
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) {
                try store.write(limits: PendingLimits(pending: 1, slice: .max)) { try $0.insert(3, text: "four") }
            }
            guard case .corrupt(let what)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(what.reason.contains("lacks a term") && what.reason.contains("has built it anew"))
        }
        // Nothing of these commits is stored, and operations that need no folding still work.
        #expect(try store.searcher().matches("four") == [])
        #expect(try store.searcher().matches("one") == [1])
        let rebuilding = try store.beginWrite()
        try testIndex.drop(in: rebuilding)
        try rebuilding.commit()
        try store.write { writer in
            try writer.insert(1, text: "one")
            try writer.insert(2, text: "two three")
        }
        try store.write(limits: PendingLimits(pending: 1, slice: .max)) { try $0.insert(3, text: "four") }
        #expect(try store.searcher().matches("four two") == [2, 3])
    }

    @Test("The check reports wrong field totals in the last record")
    func wrongTotals() throws {
        let store = try TreeStore.inMemory()
        let text = DocumentText(fields: [["a b"], ["c"]])
        try store.write { try $0.insert(1, text) }
        try store.write(limits: .standard) { try $0.insert(2, text) }
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.pendingName))
        let bytes = try #require(try transaction.get(tree, PendingTreeReader.key(0)).map { [UInt8]($0) })
        var header = try #require(withBytes(bytes) { PendingRecord($0)?.header })
        #expect(header.totals.laterFields == [2] && header.totals.fieldTotals == FieldTotals([4, 2]))
        header.totals.laterFields = [3]
        var record = PendingRecordWriter(header, termCount: 3)
        for (position, term) in ["a", "b", "c"].enumerated() {
            withBytes(Array(term.utf8)) { term in
                [UInt32(position)].withUnsafeBufferPointer {
                    record.add(term, oldFrequency: 0, newFrequency: 1, positions: $0)
                }
            }
        }
        try transaction.put(tree, PendingTreeReader.key(0), [UInt8](record.finish(after: 0).bytes))
        let problems = try TextCheck(testIndex, in: transaction).run { (body) throws(StorageError) in
            try body(1, text)
            try body(2, text)
        }
        #expect(problems.contains { $0.contains("[3, 3] tokens in the fields") }, "\(problems)")
        header.totals.laterFields = [7]
        var impossible = PendingRecordWriter(header, termCount: 0)
        let tooMany = [UInt8](impossible.finish(after: 0).bytes)
        #expect(withBytes(tooMany) { PendingRecord($0) == nil }, "more than all tokens")
    }

    @Test("Records with an earlier layout are not read")
    func formerLayout() throws {
        let store = try TreeStore.index(of: "one", "two")
        try store.write(limits: .standard) { try $0.insert(3, text: "three") }
        let transaction = try store.beginWrite()
        #expect(try testIndex.documentCount(in: transaction) == 3)
        let tree = try #require(try transaction.tree(testIndex.statisticsName))
        var bytes = [UInt8](try #require(try transaction.get(tree, TextStatistics.key)))
        bytes[0] = TextStatistics.currentLayout - 1
        try transaction.put(tree, TextStatistics.key, bytes)
        let pending = try #require(try transaction.tree(testIndex.pendingName))
        try transaction.put(pending, PendingTreeReader.key(0), [1, 2, 3])
        #expect(try testIndex.documentCount(in: transaction) == 2)
        #expect(try testIndex.isOutdated(in: transaction))
    }
}
