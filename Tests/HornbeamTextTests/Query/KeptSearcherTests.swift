// SPDX-License-Identifier: Apache-2.0
// A cached searcher: it reports to be current exactly if a new one would give the same answers in the same state, and
// gives these answers, through suspended reads, commits of others, checkpoints, and changes of its own transaction.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Cached searchers")
struct KeptSearcherTests {
    private struct History {
        var random: SeededGenerator
        var texts: [UInt64: String] = [:]

        mutating func change(_ count: Int, _ writer: TextIndexWriter) throws {
            for _ in 0..<count {
                let row = UInt64(random.below(1500))
                let old = texts[row]
                let words = (0..<random.below(6)).map { _ in "w\(random.below(30))" }
                texts[row] = random.oneIn(4) ? nil : words.joined(separator: " ")
                switch (old, texts[row]) {
                case (let old?, let new?): try writer.update(row, from: old, to: new)
                case (let old?, nil): try writer.remove(row, text: old)
                case (nil, let new?): try writer.insert(row, text: new)
                case (nil, nil): break
                }
            }
        }
    }

    private func expectSame(_ kept: TextSearcher, _ transaction: Transaction, _ note: Comment) throws {
        let new = try TextSearcher(testIndex, in: transaction)
        #expect(kept.statistics == new.statistics, note)
        let queries: [TextQuery] = [
            .words("w1"), .words("w2 w3 w4 w2"), .all([.words("w1"), .words("w5")]), .phrase("w1 w2", slop: 1),
            .prefix("w1"), .without(.everything, .words("w7")), .words("none"),
        ]
        for query in queries {
            #expect(try kept.search(query, limit: 20) == (try new.search(query, limit: 20)), note)
            #expect(try kept.matches(query) == (try new.matches(query)), note)
            #expect(try kept.count(query) == (try new.count(query)), note)
        }
        #expect(try kept.documentFrequency(of: "w3") == (try new.documentFrequency(of: "w3")), note)
    }

    @Test("Stay right in reads that are resumed", arguments: SeededGenerator.seeds(2), [true, false])
    func reads(seed: UInt64, isInFile: Bool) throws {
        let folder = isInFile ? try TemporaryFolder() : nil
        defer { folder?.keep() }
        let store = try folder.map { try TreeStore.open(at: $0.path("store")) } ?? TreeStore.inMemory()
        var history = History(random: SeededGenerator(seed: seed))
        try store.write { try history.change(1200, $0) }
        let read = try store.beginRead()
        var kept = try TextSearcher(testIndex, in: read)
        var (again, anew) = (0, 0)
        for round in 0..<60 {
            let note: Comment = "round \(round), HORNBEAM_SEED=\(seed)"
            #expect(kept.isCurrent(), note)
            try expectSame(kept, read, note)
            guard read.suspend() else {
                Issue.record("a read that can't be suspended")
                break
            }
            let isChanged = history.random.oneIn(2)
            if isChanged {
                try store.write(limits: history.random.oneIn(3) ? .none : .standard) { try history.change(5, $0) }
            }
            if history.random.oneIn(4) { try store.checkpoint() }
            try read.resume()
            if kept.isCurrent() {
                again += 1
            } else {
                #expect(isChanged, note)
                kept = try TextSearcher(testIndex, in: read)
                anew += 1
            }
        }
        #expect(again > 5 && anew > 5)
        read.abort()
    }

    @Test("Stay right in a write that changes the index and rolls back", arguments: SeededGenerator.seeds(2))
    func writes(seed: UInt64) throws {
        let store = try TreeStore.inMemory()
        var history = History(random: SeededGenerator(seed: seed))
        let transaction = try store.beginWrite()
        // The index doesn't exist yet.
        #expect(try !TextSearcher(testIndex, in: transaction).isCurrent())
        try transaction.commit()
        try store.write { try history.change(400, $0) }
        let write = try store.beginWrite()
        var kept = try TextSearcher(testIndex, in: write)
        for round in 0..<40 {
            let note: Comment = "round \(round), HORNBEAM_SEED=\(seed)"
            #expect(kept.isCurrent(), note)
            try expectSame(kept, write, note)
            let before = history.texts
            let savepoint = try write.savepoint()
            let writer = try TextIndexWriter(testIndex, in: write, limits: history.random.oneIn(3) ? .none : .standard)
            try history.change(4, writer)
            let hasChanges = writer.hasChanges
            try writer.flush()
            if hasChanges { #expect(!kept.isCurrent(), note) }
            if history.random.oneIn(2) {
                try write.rollback(to: savepoint)
                history.texts = before
                #expect(!kept.isCurrent(), note)
            }
            try write.release(savepoint)
            kept = try TextSearcher(testIndex, in: write)
        }
        write.abort()
    }
}
