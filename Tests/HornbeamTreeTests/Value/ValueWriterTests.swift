// SPDX-License-Identifier: Apache-2.0
// Values put in parts: they are read back as put, with any other operations in the transaction. If they are
// cancelled, rolled back, or cut by a crash or a failing call, they leave nothing.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Values put in parts")
struct ValueWriterTests {
    private func stream(
        _ transaction: Transaction, _ tree: TreeID, _ key: [UInt8], _ value: [UInt8], _ random: inout SeededGenerator
    ) throws {
        let writer = try transaction.valueWriter(tree, key, size: UInt64(value.count))
        var done = 0
        while done < value.count {
            let part = value[done...].prefix(1 + random.below(random.oneIn(3) ? 200_000 : 5000))
            try part.withUnsafeBytes { try writer.append($0) }
            done += part.count
        }
        try writer.finish()
    }

    @Test("Any value comes out as it went in, in the transaction, after its commit and after a crash", .seeded)
    func roundTrip() throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        var model = ModelTree()
        for round in 0..<4 {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree("t", create: true))
            for size in [0, 10, 65_536, 65_537, 131_072 - 48, 1_200_000, 2_100_000] where size % 3 != round % 3 {
                let key = [UInt8(random.below(6))]
                let value = random.bytes(size)
                try stream(transaction, tree, key, value, &random)
                model.put(key, value)
                try transaction.put(tree, [100, UInt8(round)], [1])
                model.put([100, UInt8(round)], [1])
            }
            let isRight = try transaction.contents(tree) == model
            #expect(isRight)
            try transaction.commit()
        }
        #expect(try store.check { Issue.record("\($0)") })
        let again = try TreeStore.open(file: try SimulatedDisk(image: disk.powerLossImage(seed: 3)))
        let read = try again.beginRead()
        let tree = try #require(try read.tree("t"))
        let isRight = try read.contents(tree) == model
        #expect(isRight)
        #expect(try again.check { Issue.record("\($0)") })
    }

    @Test("A cancelled, rolled back or aborted value leaves no entry and no space in use", .seeded)
    func givenUp() throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory()
        var transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        let value = random.bytes(300_000)
        var writer = try transaction.valueWriter(tree, [1], size: 300_000)
        try value[..<200_000].withUnsafeBytes { try writer.append($0) }
        #expect(throws: StorageError.self) { try writer.finish() }
        writer.cancel()
        #expect(throws: StorageError.self) { try value[200_000...].withUnsafeBytes { try writer.append($0) } }

        let savepoint = try transaction.savepoint()
        writer = try transaction.valueWriter(tree, [2], size: 300_000)
        try transaction.rollback(to: savepoint)
        #expect(throws: StorageError.self) { try value.withUnsafeBytes { try writer.append($0) } }
        try stream(transaction, tree, [3], value, &random)
        try transaction.rollback(to: savepoint)
        #expect(try transaction.count(tree) == 0)
        try transaction.put(tree, [9], [9])
        try transaction.commit()
        #expect(try store.check { Issue.record("\($0)") })

        transaction = try store.beginWrite()
        writer = try transaction.valueWriter(tree, [4], size: 300_000)
        try value.withUnsafeBytes { try writer.append($0) }
        #expect(throws: StorageError.self) { try value.withUnsafeBytes { try writer.append($0) } }
        transaction.abort()
        #expect(throws: StorageError.self) { try writer.finish() }
        #expect(try store.check { Issue.record("\($0)") })
        #expect(throws: StorageError.self) { try store.beginWrite().valueWriter(tree, [1], size: 1 << 32) }
    }

    @Test("A failing call or a crash at any point leaves the state before or after", .seeded, arguments: [EIO, ENOSPC])
    func faults(code: Int32) throws {
        var random = SeededGenerator()
        let value = random.bytes(1_500_000)
        for call in 1...14 {
            let disk = try SimulatedDisk()
            let store = try TreeStore.open(file: disk)
            let before = try store.beginWrite()
            let tree = try #require(try before.tree("t", create: true))
            try before.put(tree, [1], [1])
            try before.commit()
            disk.plan = .init(call: disk.calls + call, fault: .error(code))
            var isDone = false
            do {
                let transaction = try store.beginWrite()
                defer { transaction.abort() }
                try stream(transaction, tree, [2], value, &random)
                try transaction.commit()
                isDone = true
            } catch is StorageError {}
            disk.plan = nil
            let again = try TreeStore.open(file: try SimulatedDisk(image: disk.powerLossImage(seed: UInt64(call))))
            let read = try again.beginRead()
            let same = try #require(try read.tree("t"))
            let found = try read.value(same, [2])
            let isRight = found == value || (found == nil && !isDone)
            #expect(isRight, "call \(call)")
            #expect(try again.check { Issue.record("\($0)") })
        }
    }

    private func fill(_ writer: ValueWriter, _ byte: UInt8) throws {
        try [UInt8](repeating: byte, count: Int(writer.size)).withUnsafeBytes { try writer.append($0) }
    }

    // A writer was identified only by the place of its value. If it was begun after a savepoint and outlived the
    // rollback, it took the next owner of the place for itself: cancelling it freed that value's page, and a third
    // value was written over it.
    @Test("A writer that outlives a rollback doesn't touch the value that has its place now")
    func outlivesRollback() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        try write.put(tree, [9], [9])
        let savepoint = try write.savepoint()
        var stale: ValueWriter? = try write.valueWriter(tree, [1], size: 70_000)
        let other = try write.valueWriter(tree, [1], size: 70_000)
        try write.rollback(to: savepoint)
        let second = try write.valueWriter(tree, [2], size: 70_000)
        stale?.cancel()
        stale = nil
        #expect(throws: StorageError.self) { try fill(other, 1) }
        #expect(throws: StorageError.self) { try other.finish() }
        try fill(second, 2)
        let third = try write.valueWriter(tree, [3], size: 70_000)
        try fill(third, 3)
        try third.finish()
        try second.finish()
        #expect(try write.count(tree) == 3)
        try write.commit()
        let read = try store.beginRead()
        #expect(try read.value(tree, [2]) == [UInt8](repeating: 2, count: 70_000))
        #expect(try read.value(tree, [3]) == [UInt8](repeating: 3, count: 70_000))
        read.abort()
        #expect(try store.check { Issue.record("\($0)") })
    }

    // A value's page had the transaction's number from when its writer was begun. If it was finished after a
    // savepoint and undone by a rollback, it stayed in use for ever, and check reported it after every commit.
    @Test("A value begun before a savepoint and finished after it is removed when the savepoint is rolled back")
    func acrossSavepoint() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        let first = try write.valueWriter(tree, [1], size: 100_000)
        let second = try write.valueWriter(tree, [2], size: 100_000)
        try fill(first, 1)
        let savepoint = try write.savepoint()
        try first.finish()
        #expect(try write.value(tree, [1]) == [UInt8](repeating: 1, count: 100_000))
        try write.rollback(to: savepoint)
        #expect(try write.value(tree, [1]) == nil)
        // This writer existed at the savepoint, and continues.
        try fill(second, 2)
        let inner = try write.savepoint()
        try second.finish()
        try write.release(inner)
        #expect(try write.delete(tree, [2]))
        try write.put(tree, [3], [3])
        try write.commit()
        #expect(try store.check { Issue.record("\($0)") })
    }

    // A finished page whose entry could not be put, and an unfinished page, belonged to nothing after the commit:
    // their sectors were lost, and check reported them for ever.
    @Test("A value in a dropped tree, or unfinished at the commit, leaves no space in use")
    func leftOver() throws {
        let store = try TreeStore.inMemory()
        var write = try store.beginWrite()
        let kept = try #require(try write.tree("kept", create: true))
        try write.put(kept, [1], [1])
        let tree = try #require(try write.tree("t", create: true))
        let orphan = try write.valueWriter(tree, [1], size: 300_000)
        try fill(orphan, 1)
        #expect(try write.dropTree("t"))
        #expect(throws: StorageError.self) { try orphan.finish() }
        try write.commit()
        #expect(try store.check { Issue.record("\($0)") })

        write = try store.beginWrite()
        let unfinished = try write.valueWriter(kept, [2], size: 300_000)
        try [1, 2, 3].withUnsafeBytes { try unfinished.append($0) }
        try write.put(kept, [3], [3])
        try write.commit()
        #expect(try store.check { Issue.record("\($0)") })
        #expect(throws: StorageError.self) { try fill(unfinished, 2) }
        #expect(throws: StorageError.self) { try orphan.finish() }

        // The transaction changes nothing else.
        write = try store.beginWrite()
        let alone = try write.valueWriter(kept, [4], size: 300_000)
        try write.commit()
        alone.cancel()
        #expect(try store.check { Issue.record("\($0)") })
    }
}
