// SPDX-License-Identifier: Apache-2.0
// Transactions larger than their memory: pages are written to their places before the commit, read from there, and
// brought back when they change again. No other read sees them before the commit, and an abort leaves nothing.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("A transaction that spills its pages")
struct SpillTests {
    private static func options(cacheBytes: Int) -> StoreOptions {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        options.cacheBytes = cacheBytes
        return options
    }

    private static func key(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
    }

    @Test("keeps all entries put, deleted and put again, for itself and after commit", .seeded, arguments: [0, 40_000])
    func content(cacheBytes: Int) throws {
        let store = try TreeStore.open(file: try SimulatedDisk(), options: Self.options(cacheBytes: cacheBytes))
        var random = SeededGenerator()
        var model = ModelTree()
        for round in 0..<3 {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true))
            for _ in 0..<1500 {
                let key = Self.key(random.below(2000))
                if random.oneIn(3) {
                    #expect(try write.delete(tree, key) == model.delete(key))
                } else {
                    let value = random.bytes(random.oneIn(50) ? 6000 : random.below(300))
                    try write.put(tree, key, value)
                    model.put(key, value)
                }
            }
            #expect(try write.contents(tree) == model)
            try write.commit()
            let read = try store.beginRead()
            #expect(try read.contents(tree) == model, "round \(round)")
            read.abort()
            #expect(try store.check { Issue.record("\($0)") })
        }
    }

    @Test("shows none of its pages to readers, and leaves none in use when it aborts")
    func abort() throws {
        let store = try TreeStore.inMemory(options: Self.options(cacheBytes: 0))
        let first = try store.beginWrite()
        let tree = try #require(try first.tree("t", create: true))
        for number in 0..<400 { try first.put(tree, Self.key(number), [1]) }
        try first.commit()
        let before = store.statistics
        let contents = try store.beginRead().contents(tree)

        let write = try store.beginWrite()
        for number in 0..<400 { try write.put(tree, Self.key(number), [UInt8](repeating: 2, count: 1500)) }
        let read = try store.beginRead()
        #expect(try read.contents(tree) == contents)
        read.abort()
        write.abort()
        #expect(try store.beginRead().contents(tree) == contents)
        let small = try store.beginWrite()
        try small.put(tree, Self.key(0), [1])
        try small.commit()
        #expect(store.statistics.usedBytes == before.usedBytes)
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("keeps the cursors of all its trees in place")
    func cursors() throws {
        let store = try TreeStore.inMemory(options: Self.options(cacheBytes: 0))
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("walked", create: true))
        let other = try #require(try write.tree("changed", create: true))
        for number in 0..<500 { try write.put(tree, Self.key(number), Self.key(number)) }
        var cursor = try write.cursor(tree)
        for number in 0..<500 {
            #expect(try cursor.next())
            // A change of another tree moves this one's pages too.
            try write.put(other, Self.key(number), [1])
            #expect(Array(cursor.key) == Self.key(number) && Array(cursor.value) == Self.key(number))
        }
        #expect(try !cursor.next())
        write.abort()
    }

    @Test("frees and reuses the places of spilled pages at once")
    func reuse() throws {
        let store = try TreeStore.inMemory(options: Self.options(cacheBytes: 0))
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for round in 0..<50 {
            for number in 0..<40 {
                try write.put(tree, Self.key(number), [UInt8](repeating: UInt8(round), count: 3000))
            }
            #expect(try write.deleteRange(tree, from: [], to: []) == 40)
        }
        try write.put(tree, [1], [1])
        try write.commit()
        #expect(store.statistics.fileBytes <= 3 << 20)
        #expect(try store.check { Issue.record("\($0)") })
    }

    /// Writes entries in key order. A number has another value in another generation. Half of the entries are
    /// appended.
    private func append(
        _ numbers: Range<Int>, generation: Int, _ write: Transaction, _ tree: TreeID, _ model: inout ModelTree
    ) throws {
        for number in numbers {
            let size = number % 500 == 0 ? 20_000 : 380 + number % 41
            let value = Self.key(number + generation) + [UInt8](repeating: UInt8(number & 255), count: size)
            if number % 2 == 0 {
                try write.append(tree, Self.key(number), value)
            } else {
                try write.put(tree, Self.key(number), value)
            }
            model.put(Self.key(number), value)
        }
    }

    /// Leaves that were filled in order are written long before memory is short.
    @Test("in key order rolls back and continues from there, in other leaves", arguments: [false, true])
    func appended(isCompressed: Bool) throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let tree = try #require(
            try write.tree("t", create: true, options: TreeOptions(isCompressed: isCompressed)))
        var model = ModelTree()
        // 1 MiB.
        try append(0..<2500, generation: 0, write, tree, &model)
        let first = disk.calls
        #expect(first > 0)
        let savepoint = try write.savepoint()
        let saved = model
        for generation in 1...2 {
            let calls = disk.calls
            try append(2500..<7500, generation: generation, write, tree, &model)
            // Keys in between, so that some spilled leaves are brought back.
            for number in stride(from: 1, to: 7500, by: 250) {
                try write.put(tree, Self.key(number), [UInt8(generation)])
                model.put(Self.key(number), [UInt8(generation)])
                try write.put(tree, Self.key(number) + [1], [UInt8(generation)])
                model.put(Self.key(number) + [1], [UInt8(generation)])
            }
            #expect(disk.calls > calls)
            #expect(try write.contents(tree) == model)
            try write.rollback(to: savepoint)
            model = saved
            #expect(try write.contents(tree) == model)
        }
        // 5 MiB more.
        let calls = disk.calls
        try append(2500..<15_000, generation: 3, write, tree, &model)
        #expect(disk.calls > calls)
        #expect(try write.contents(tree) == model)
        try write.commit()
        let read = try store.beginRead()
        #expect(try read.contents(tree) == model)
        #expect(try read.count(tree) == UInt64(model.count))
        read.abort()
        #expect(try store.check { Issue.record("\($0)") })
        try store.close()
        let again = try TreeStore.open(file: disk)
        let last = try again.beginRead()
        #expect(try last.contents(try #require(try last.tree("t"))) == model)
        last.abort()
        #expect(try again.check { Issue.record("\($0)") })
    }

    @Test("that can't write a page fails, and the store continues", arguments: [EIO, ENOSPC])
    func failedWrite(code: Int32) throws {
        var call = 1
        while true {
            let disk = try SimulatedDisk()
            let store = try TreeStore.open(file: disk, options: Self.options(cacheBytes: 0))
            let first = try store.beginWrite()
            let tree = try #require(try first.tree("t", create: true))
            try first.put(tree, [0], [0])
            try first.commit()

            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .error(code))
            let write = try store.beginWrite()
            var failure: (any Error)?
            for number in 0..<12 where failure == nil {
                let value = [UInt8](repeating: 1, count: 900)
                do { try write.put(tree, Self.key(number), value) } catch { failure = error }
            }
            disk.plan = nil
            write.abort()
            let next = try store.beginWrite()
            try next.put(tree, [1], [1])
            try next.commit()
            #expect(try store.beginRead().contents(tree).keys == [[0], [1]])
            #expect(try store.check { Issue.record("\($0)") })
            guard let failure else { break }
            #expect(failure is StorageError)
            call += 1
        }
        #expect(call > 10)
    }
}
