// SPDX-License-Identifier: Apache-2.0
// The numbers at the ends of keys, read in batches: they agree with the keys themselves, even if part of a number is in
// the common prefix of a leaf's keys.

import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Numbers at the ends of keys")
struct ReadNumbersTests {
    private func numbers(
        _ transaction: Transaction, _ tree: TreeID, from start: [UInt8], capacity: Int
    ) throws -> [UInt64]? {
        var found: [UInt64] = []
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
        defer { memory.deallocate() }
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(start)
        while isValid {
            guard let count = try cursor.readNumbers(memory, capacity: capacity) else { return nil }
            #expect(count > 0 && count <= capacity)
            found += UnsafeBufferPointer(start: memory, count: count)
            isValid = try cursor.next()
        }
        return found
    }

    @Test("They agree with the keys, in a read and in the transaction that wrote them", .seeded)
    func likeKeys() throws {
        var random = SeededGenerator()
        for headSize in [0, 1, 8, 40] {
            let store = try TreeStore.inMemory()
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true))
            var keys: [[UInt8]] = []
            for _ in 0..<3000 {
                var key = [UInt8](repeating: UInt8(random.below(3)), count: headSize)
                let number = UInt64(random.below(1 << [8, 14, 40][random.below(3)]))
                withUnsafeBytes(of: number.bigEndian) { key += $0 }
                let value = random.bytes(random.below(30))
                try write.put(tree, key, value)
                keys.append(key)
            }
            keys = Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
            func wanted(_ start: Int) -> [UInt64] {
                keys[start...].map { key in key.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }
            }
            for capacity in [1, 7, 512] {
                let start = random.below(keys.count)
                #expect(try numbers(write, tree, from: keys[start], capacity: capacity) == wanted(start))
            }
            try write.commit()
            let read = try store.beginRead()
            for capacity in [1, 7, 512] {
                let start = random.below(keys.count)
                #expect(try numbers(read, tree, from: keys[start], capacity: capacity) == wanted(start))
            }
            read.abort()
        }
    }

    @Test("A key too short for a number has none")
    func short() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        try write.put(tree, [1, 2, 3, 4, 5, 6, 7], [])
        try write.put(tree, [1, 2, 3, 4, 5, 6, 7, 8], [])
        #expect(try numbers(write, tree, from: [], capacity: 8) == nil)
        try write.commit()
        let read = try store.beginRead()
        #expect(try numbers(read, tree, from: [], capacity: 8) == nil)
        #expect(try numbers(read, tree, from: [1, 2, 3, 4, 5, 6, 7, 8], capacity: 8) == [0x0102_0304_0506_0708])
        read.abort()
    }
}
