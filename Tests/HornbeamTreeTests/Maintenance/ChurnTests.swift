// SPDX-License-Identifier: Apache-2.0
// Space after churn: deletions make room for insertions, any number of times.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Churn")
struct ChurnTests {
    private static let entries = 4000
    private static let batch = 200

    @Test("Ten rounds of deleting half and inserting half leave a file of at most 1.3 times a fresh load", .seeded)
    func rounds() throws {
        // A disk on which commits make checkpoints, so that the file's size doesn't depend on how busy the machine
        // is.
        var options = SparseStore.options
        options.durability = .process
        let store = try TreeStore.open(file: try SimulatedDisk(), options: options)
        let creation = try store.beginWrite()
        let tree = try #require(try creation.tree("t", create: true))
        try creation.commit()

        var random = SeededGenerator()
        var keys: [[UInt8]] = []
        func insert(_ count: Int) throws {
            for _ in 0..<count / Self.batch {
                let write = try store.beginWrite()
                for _ in 0..<Self.batch {
                    let key = random.bytes(16)
                    let short = 20 + random.below(random.oneIn(6) ? 1000 : 200)
                    let size = random.oneIn(80) ? 3000 + random.below(30_000) : short
                    try write.put(tree, key, [UInt8](repeating: 1, count: size))
                    keys.append(key)
                }
                try write.commit()
            }
        }
        try insert(Self.entries)
        try store.checkpoint()
        let fresh = store.statistics.fileBytes
        for round in 0..<10 {
            keys.shuffle(using: &random)
            for _ in 0..<Self.entries / 2 / Self.batch {
                let write = try store.beginWrite()
                for _ in 0..<Self.batch { #expect(try write.delete(tree, keys.removeLast())) }
                try write.commit()
            }
            try insert(Self.entries / 2)
            try store.checkpoint()
            #expect(store.statistics.fileBytes <= fresh * 13 / 10, "round \(round)")
        }
        #expect(try store.check { Issue.record("\($0)") })
        // The space in use is not larger than before, so a compaction gives the rest back.
        try store.compact()
        #expect(store.statistics.fileBytes <= fresh)
        try store.close()
    }

    /// Besides the newest state a file has at most the last checkpoint's, one transaction and the ring, and grows in
    /// small steps. (Commits checkpoint here, so none are made meanwhile.)
    @Test("Random lives never leave a file much longer than it needs to be", .seeded, arguments: 0..<4)
    func bounded(life: Int) throws {
        var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(life))
        let store = try TreeStore.open(file: try SimulatedDisk(), options: SparseStore.options)
        var model = ModelTree()
        var largest: UInt64 = 0
        for round in 0..<200 {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true))
            for _ in 0..<(1 + random.below(300)) {
                let key = withUnsafeBytes(of: UInt16(random.below(6000)).bigEndian) { Array($0) }
                if random.oneIn(life + 2) {
                    _ = try write.delete(tree, key)
                    _ = model.delete(key)
                } else {
                    let value = random.bytes(random.below(2000))
                    try write.put(tree, key, value)
                    model.put(key, value)
                }
            }
            write.durability = [.full, .process, .none][random.below(3)]
            try write.commit()
            let figures = store.statistics
            largest = max(largest, figures.usedBytes)
            let bound = 2 * largest + largest / 8 + (4 << 20) + (3 << 20)
            #expect(figures.fileBytes <= bound, "round \(round), seed \(SeededGenerator.seed)")
        }
        let read = try store.beginRead()
        #expect(try read.contents(try #require(try read.tree("t"))) == model)
        read.abort()
    }
}
