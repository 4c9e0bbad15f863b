// SPDX-License-Identifier: Apache-2.0
// Putting absent entries: a present entry stays, and the attempt leaves nothing behind, not even in the journal.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

extension Transaction {
    fileprivate func insert(_ tree: TreeID, _ key: [UInt8], _ value: [UInt8]) throws -> Bool {
        try key.withBytes { (key) throws(StorageError) in
            try value.withBytes { (value) throws(StorageError) in try insert(tree, key, value) }
        }
    }
}

@Suite("Inserting")
struct InsertTests {
    @Test("puts an entry unless its key has one; the journal restores the same entries", .seeded)
    func random() throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        var expected: [[UInt8]: [UInt8]] = [:]
        let first = try store.beginWrite()
        let tree = try #require(try first.tree("t", create: true))
        try first.commit()
        for round in 0..<20 {
            let write = try store.beginWrite()
            for _ in 0..<200 {
                // Sometimes in order, after all others, and anywhere.
                let number =
                    Bool.random(using: &random) ? expected.count + 5_000 : Int.random(in: 0..<3_000, using: &random)
                let key = [UInt8(number >> 8), UInt8(number & 0xFF)]
                let value = [UInt8](repeating: UInt8(round), count: Int.random(in: 0...40, using: &random))
                #expect(try write.insert(tree, key, value) == (expected[key] == nil))
                if expected[key] == nil { expected[key] = value }
                #expect(try write.value(tree, key) == expected[key])
            }
            try write.commit()
        }
        func check(_ store: TreeStore) throws {
            let read = try store.beginRead()
            defer { read.abort() }
            #expect(try read.count(tree) == UInt64(expected.count))
            for (key, value) in expected { #expect(try read.value(tree, key) == value) }
        }
        try check(store)
        // Never closed, so everything committed since the last checkpoint comes from the journal.
        try check(try TreeStore.open(file: SimulatedDisk(image: disk.killedImage())))
    }

    @Test("an insert that finds its key leaves slices, counts and the transaction as they were")
    func refused() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        #expect(try write.insert(tree, [1], [7]))
        let slice = try #require(try write.get(tree, [1]))
        #expect(try !write.insert(tree, [1], [8]))
        #expect(Array(slice) == [7])
        #expect(try write.count(tree) == 1)
        #expect(throws: StorageError.self) { try write.insert(tree, [], [1]) }
        try write.commit()
        let read = try store.beginRead()
        #expect(throws: StorageError.self) { try read.insert(tree, [2], [1]) }
        #expect(try read.value(tree, [1]) == [7])
    }
}
