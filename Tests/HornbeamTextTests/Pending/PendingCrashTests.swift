// SPDX-License-Identifier: Apache-2.0
// Small transactions with full text, with folding between them, cut by a crash or a failure at every file operation:
// all acknowledged commits are there, the index agrees with the texts of one commit, and can be changed further.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Pending documents after a crash")
struct PendingCrashTests {
    /// Returns the documents from before anything can fail.
    private func start() throws -> (image: [UInt8]?, model: NaiveIndex) {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: PendingScript.options)
        var model = NaiveIndex()
        try store.write { writer in
            for row in UInt64(0)..<20 {
                model[row] = "start word\(row % 5) of \(row)"
                try writer.insert(row, text: "start word\(row % 5) of \(row)")
            }
        }
        try store.close()
        return (disk.killedImage(), model)
    }

    @Test("At every call of the file a crash leaves the index of one commit", .seeded)
    func crashes() throws {
        let (image, model) = try start()
        var phases: Set<PendingFoldingTests.Phase> = []
        let calls = try SimulatedDisk.crashAtEveryCall(of: image) { disk in
            var script = PendingScript(seed: SeededGenerator.seed, model)
            if let store = try? TreeStore.open(file: disk, options: PendingScript.options) { script.run(store) }
            phases.formUnion(script.phases)
            return script
        } _: { image, script, place in
            try script.verify(image, place)
        }
        #expect(calls > 20)
        #expect(phases.count == PendingFoldingTests.Phase.allCases.count, "\(phases)")
    }

    @Test("At every call of the file a failure leaves the index of one commit", .seeded)
    func failures() throws {
        let (image, model) = try start()
        var phases: Set<PendingFoldingTests.Phase> = []
        try SimulatedDisk.failAtEveryCall(of: image, EIO) { disk in
            var script = PendingScript(seed: SeededGenerator.seed, model)
            if let store = try? TreeStore.open(file: disk, options: PendingScript.options) { script.run(store) }
            phases.formUnion(script.phases)
            return script
        } _: { image, script, place in
            try script.verify(image, place)
        }
        #expect(phases.count == PendingFoldingTests.Phase.allCases.count, "\(phases)")
    }
}

/// A script that gives the same transactions for the same seed, and the texts after each.
private struct PendingScript {
    static var options: StoreOptions {
        var options = StoreOptions()
        options.pageSize = 4096
        return options
    }
    private static let transactions = 30
    /// Limits with which a batch begins after some documents, more than one slice folds, and takes several slices for
    /// its documents, its terms and its records.
    private static let limits = PendingLimits(pending: 110, slice: 30, records: 1)

    private var random: SeededGenerator
    private var states: [NaiveIndex]
    /// The newest state that was acknowledged.
    private var acknowledged = 0
    /// The phases of folding in the script's states.
    private(set) var phases: Set<PendingFoldingTests.Phase> = []

    init(seed: UInt64, _ model: NaiveIndex) {
        random = SeededGenerator(seed: seed)
        states = [model]
    }

    mutating func run(_ store: TreeStore) {
        for number in 1...Self.transactions {
            random = SeededGenerator(seed: random.next())
            var model = states[states.count - 1]
            let former = states.count
            do {
                let transaction = try store.beginWrite()
                let writer = try TextIndexWriter(testIndex, in: transaction, limits: Self.limits)
                try change(writer, &model, UInt64(number))
                try writer.flush()
                phases.insert(try PendingFoldingTests.Phase(in: transaction))
                // From here on the outcome is unknown.
                states.append(model)
                try transaction.commit()
                acknowledged = states.count - 1
                if number == 12 { try store.checkpoint() }
            } catch {
                if case StorageError.failed = error { return }
                // A checkpoint may fail after an acknowledged commit.
                if states.count > former, acknowledged < states.count - 1 { states.removeLast() }
            }
        }
    }

    private mutating func change(_ writer: TextIndexWriter, _ model: inout NaiveIndex, _ number: UInt64) throws {
        let rows = model.texts.keys.sorted()
        let row = rows[random.below(rows.count)]
        let text = "word\(random.below(7)) start changed\(number)"
        switch (random.below(4), model[row]) {
        case (0, let old?):
            try writer.update(row, from: old, to: text)
            model[row] = text
        case (1, let old?):
            try writer.remove(row, text: old)
            model[row] = nil
        default:
            try writer.insert(100 + number, text: text)
            model[100 + number] = text
        }
    }

    /// Opens the remaining file.
    func verify(_ image: [UInt8]?, _ place: Comment) throws {
        let store = try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options)
        let searcher = try store.searcher()
        let found = try searcher.matches("start")
        let state = states[acknowledged...].last { $0.texts.keys.sorted() == found && isSame($0, searcher) }
        let note: Comment = "\(place), HORNBEAM_SEED=\(SeededGenerator.seed)"
        guard var model = state else {
            Issue.record(note)
            return
        }
        #expect(try store.problems(model) == [], note)
        try store.write(limits: Self.limits) { try $0.insert(7777, text: "start after") }
        model[7777] = "start after"
        try store.write(limits: .none) { _ in }
        #expect(try store.problems(model) == [], note)
        #expect(try store.searcher().search("start after", limit: 50) == Array(model.search("start after").prefix(50)))
    }

    private func isSame(_ model: NaiveIndex, _ searcher: TextSearcher) -> Bool {
        let query = "word1 word2 word3 word4 word5 word6 changed1 start"
        return (try? searcher.search(query, limit: .max)) == model.search(query)
    }
}
