// SPDX-License-Identifier: Apache-2.0
// Savepoints: going back restores the earlier state, releasing keeps the changes, and random nests agree with a stack
// of models.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("A savepoint")
struct SavepointTests {
    private func store(cacheBytes: Int = 1 << 20) throws -> TreeStore {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        options.cacheBytes = cacheBytes
        return try TreeStore.inMemory(options: options)
    }

    @Test("brings back entries, counts, trees that were dropped and trees that were made", arguments: [0, 1 << 20])
    func restores(cacheBytes: Int) throws {
        let store = try store(cacheBytes: cacheBytes)
        let before = try store.beginWrite()
        let kept = try #require(try before.tree("kept", create: true))
        let untouched = try #require(try before.tree("untouched", create: true))
        for key in UInt8(1)...200 { try before.put(kept, [key], [key, key]) }
        try before.put(untouched, [1], [1])
        try before.commit()

        let write = try store.beginWrite()
        try write.put(kept, [1], [9])
        let savepoint = try write.savepoint()
        try write.put(kept, [1], [8])
        try write.put(kept, [2], [UInt8](repeating: 7, count: 9000))
        #expect(try write.deleteRange(kept, from: [10], to: [100]) == 90)
        #expect(try write.dropTree("untouched"))
        let made = try #require(try write.tree("made", create: true))
        try write.put(made, [5], [5])
        try write.rollback(to: savepoint)

        #expect(try write.treeNames() == ["kept", "untouched"])
        #expect(try write.value(kept, [1]) == [9])
        #expect(try write.value(kept, [2]) == [2, 2])
        #expect(try write.count(kept) == 200)
        #expect(try write.value(untouched, [1]) == [1])
        #expect(throws: StorageError.self) { try write.get(made, [5]) }
        try write.commit()
        let read = try store.beginRead()
        #expect(try read.value(kept, [1]) == [9])
        #expect(try read.count(kept) == 200)
        read.abort()
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("can be gone back to more than once, and not after it was released or its outer one gone back to")
    func lifetime() throws {
        let write = try store().beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        let outer = try write.savepoint()
        try write.put(tree, [1], [1])
        let inner = try write.savepoint()
        for value in UInt8(2)...4 {
            try write.put(tree, [1], [value])
            try write.rollback(to: inner)
            #expect(try write.value(tree, [1]) == [1])
        }
        try write.release(inner)
        #expect(throws: StorageError.self) { try write.rollback(to: inner) }
        try write.put(tree, [1], [5])
        let another = try write.savepoint()
        try write.rollback(to: outer)
        #expect(try write.value(tree, [1]) == nil)
        #expect(throws: StorageError.self) { try write.release(another) }
        try write.release(outer)
        try write.commit()
        #expect(throws: StorageError.self) { try write.savepoint() }
    }

    @Test("needs a write transaction")
    func readOnly() throws {
        let read = try store().beginRead()
        #expect(throws: StorageError.self) { try read.savepoint() }
    }

    @Test("lets cursors find their places again", arguments: [0, 1 << 20])
    func cursors(cacheBytes: Int) throws {
        let write = try store(cacheBytes: cacheBytes).beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in UInt8(0)...250 { try write.put(tree, [key, 0], [key]) }
        var cursor = try write.cursor(tree)
        #expect(try cursor.seek([100, 0]))
        let savepoint = try write.savepoint()
        let made = try #require(try write.tree("made", create: true))
        try write.put(made, [1], [1])
        var lost = try write.cursor(made)
        #expect(try lost.first())
        _ = try write.deleteRange(tree, from: [50], to: [200])
        #expect(try cursor.next())
        #expect(Array(cursor.key) == [200, 0])
        try write.rollback(to: savepoint)
        #expect(try cursor.previous())
        #expect(Array(cursor.key) == [199, 0] && Array(cursor.value) == [199])
        #expect(try !lost.next())
        write.abort()
    }

    @Test("undoes a change that failed midway, and the transaction continues")
    func failure() throws {
        let disk = try SimulatedDisk()
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let store = try TreeStore.open(file: disk, options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        try write.put(tree, [1], [1])
        let savepoint = try write.savepoint()
        disk.sizeLimit = disk.size()
        var failure: (any Error)?
        for key in UInt8(2)...255 where failure == nil {
            do { try write.put(tree, [key], [UInt8](repeating: key, count: 60_000)) } catch { failure = error }
        }
        #expect(failure as? StorageError == .full(path: disk.path))
        #expect(throws: StorageError.self) { try write.put(tree, [1], [2]) }
        try write.rollback(to: savepoint)
        #expect(try write.count(tree) == 1)
        try write.put(tree, [2], [2])
        try write.commit()
        let read = try store.beginRead()
        #expect(try read.contents(try #require(try read.tree("t"))).keys == [[1], [2]])
        read.abort()
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("leaves no space in use when it is gone back to")
    func space() throws {
        let store = try store(cacheBytes: 64 << 10)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in UInt8(0)...255 { try write.put(tree, [key], [UInt8](repeating: key, count: 500)) }
        try write.commit()
        let before = store.statistics
        let change = try store.beginWrite()
        let savepoint = try change.savepoint()
        for round in 0..<3 {
            for key in UInt8(0)...255 {
                try change.put(tree, [key, UInt8(round)], [UInt8](repeating: key, count: 3000))
            }
            try change.rollback(to: savepoint)
        }
        try change.put(tree, [0], [0])
        try change.commit()
        #expect(store.statistics.usedBytes == before.usedBytes)
    }

    @Test("savepoints nested at random agree with a stack of models", .seeded, arguments: [0, 64 << 10, 1 << 20])
    func model(cacheBytes: Int) throws {
        let store = try store(cacheBytes: cacheBytes)
        var script = NestedScript(random: SeededGenerator(seed: SeededGenerator.seed &+ UInt64(cacheBytes)))
        for _ in 0..<15 { try script.transaction(store) }
        #expect(try store.check { Issue.record("\($0)") })
    }

    // A savepoint gave the places and the memory of compressed leaves to the next leaves: a cursor in one of them
    // continued in another tree's leaf, and returned entries of the wrong tree.
    @Test("doesn't lead a cursor of a compressed tree astray: it continues with its own tree's entries")
    func cursorOfCompressedTree() throws {
        let write = try store().beginWrite()
        let compressed = TreeOptions(isCompressed: true)
        let tree = try #require(try write.tree("a", create: true, options: compressed))
        let other = try #require(try write.tree("b", create: true, options: compressed))
        for key in UInt8(1)...50 { try write.put(tree, [1, key], [1, key, key]) }
        var cursor = try write.cursor(tree)
        #expect(try cursor.next())
        let savepoint = try write.savepoint()
        for key in UInt8(1)...50 { try write.put(other, [2, key], [2, key, key]) }
        for key in UInt8(2)...20 {
            #expect(try cursor.next())
            #expect(Array(cursor.key) == [1, key])
            #expect(Array(cursor.value) == [1, key, key])
        }
        try write.rollback(to: savepoint)
        #expect(try cursor.next())
        #expect(Array(cursor.key) == [1, 21])
    }

    // Every savepoint visited all branches in memory of every compressed tree, changed since the last one or not.
    @Test("has nothing to do in a compressed tree that is unchanged since the last one")
    func unchangedCompressedTree() throws {
        let write = try store().beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(isCompressed: true)))
        for key in UInt8(1)...200 { try write.put(tree, [key], [UInt8](repeating: key, count: 400)) }
        let open = try write.opened(tree)
        #expect(open.pointee.hasUnplacedLeaves)
        _ = try write.savepoint()
        #expect(!open.pointee.hasUnplacedLeaves)
        let changes = open.pointee.changes
        let savepoint = try write.savepoint()
        #expect(open.pointee.changes == changes)
        try write.put(tree, [7], [7])
        #expect(open.pointee.hasUnplacedLeaves)
        try write.rollback(to: savepoint)
        #expect(!open.pointee.hasUnplacedLeaves)
        #expect(try write.value(tree, [7]) == [UInt8](repeating: 7, count: 400))
        #expect(try write.delete(tree, [8]))
        try write.commit()
    }
}

/// Random transactions with savepoints and the models of all states that can be gone back to.
private struct NestedScript {
    private typealias State = [String: ModelTree]
    private static let names = ["a", "b", "c"]

    private var random: SeededGenerator
    private var committed: State = [:]

    init(random: SeededGenerator) { self.random = random }

    mutating func transaction(_ store: TreeStore) throws {
        let write = try store.beginWrite()
        var state = committed
        var stack: [(savepoint: Savepoint, state: State)] = []
        for _ in 0..<random.below(200) {
            switch random.below(30) {
            case 0...2 where stack.count < 6: stack.append((try write.savepoint(), state))
            case 3...4 where !stack.isEmpty:
                let depth = random.below(stack.count)
                try write.rollback(to: stack[depth].savepoint)
                state = stack[depth].state
                stack.removeSubrange((depth + 1)...)
                if random.oneIn(3) { try verify(write, state) }
            case 5 where !stack.isEmpty:
                let depth = random.below(stack.count)
                try write.release(stack[depth].savepoint)
                stack.removeSubrange(depth...)
            default: try change(write, &state)
            }
        }
        try verify(write, state)
        if random.oneIn(4) { return write.abort() }
        try write.commit()
        committed = state
        let read = try store.beginRead()
        defer { read.abort() }
        try verify(read, state)
    }

    private mutating func change(_ write: Transaction, _ state: inout State) throws {
        let name = Self.names[random.below(3)]
        if random.oneIn(40) {
            #expect(try write.dropTree(name) == (state.removeValue(forKey: name) != nil))
            return
        }
        let tree = try #require(try write.tree(name, create: true))
        var model = state[name] ?? ModelTree()
        let key = [UInt8(random.below(200))] + [UInt8](repeating: 3, count: random.below(100))
        switch random.below(10) {
        case 0...2 where model.count > 0:
            let old = model.keys[random.below(model.count)]
            #expect(try write.delete(tree, old) == model.delete(old))
        case 3:
            let to = [key[0], 255]
            #expect(try write.deleteRange(tree, from: key, to: to) == UInt64(model.deleteRange(key, to)))
        default:
            let value = random.bytes(random.oneIn(8) ? 5000 : random.below(400))
            try write.put(tree, key, value)
            model.put(key, value)
        }
        state[name] = model
    }

    private func verify(_ transaction: Transaction, _ state: State) throws {
        #expect(try transaction.treeNames() == state.keys.sorted())
        for (name, model) in state {
            let tree = try #require(try transaction.tree(name))
            #expect(try transaction.contents(tree) == model)
            #expect(try transaction.count(tree) == UInt64(model.count))
        }
    }
}
