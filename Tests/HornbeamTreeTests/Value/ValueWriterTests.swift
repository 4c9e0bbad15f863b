// SPDX-License-Identifier: Apache-2.0
// Values put in parts: what comes out is what went in, whatever else the transaction does; given up, rolled back, cut
// by a crash or a failing call they leave nothing.

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

    @Test("Given up, rolled back or aborted, a value leaves no entry and no space in use", .seeded)
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
}
