// SPDX-License-Identifier: Apache-2.0
// A script of transactions over named trees, cut by a crash at every file operation: what was acknowledged is there,
// the trees are in the state of one commit, and the store is sound and goes on.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Trees after a crash")
struct TreeCrashTests {
    @Test(
        "Acknowledged commits are there and the trees are in the state of one commit", .seeded,
        arguments: zip([1, 2], [64 << 20, 24 << 10]))
    func everyCall(variant: UInt64, cacheBytes: Int) throws {
        let empty = try emptyStore()
        var options = CrashScript.options
        options.cacheBytes = cacheBytes
        var call = 1
        while true {
            let disk = try SimulatedDisk(image: empty)
            disk.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            var script = CrashScript(seed: SeededGenerator.seed &+ variant)
            if let store = try? TreeStore.open(file: disk, options: options) { script.run(store) }
            let place: Comment = "variant \(variant), \(cacheBytes) bytes for pages, call \(call)"
            try script.verify(
                disk.powerLossImage(seed: UInt64(call) &+ SeededGenerator.seed), atLeast: script.durable, place)
            try script.verify(disk.killedImage(), atLeast: script.written, place)
            if !disk.hasCrashed { break }
            call += 1
        }
        #expect(call > 20)
    }

    @Test(
        "A failing call gives a typed error and a store that opens again with all that was acknowledged", .seeded,
        arguments: [
            EIO, ENOSPC,
        ])
    func failingCalls(code: Int32) throws {
        let empty = try emptyStore()
        var call = 1
        while true {
            let disk = try SimulatedDisk(image: empty)
            disk.plan = SimulatedDisk.Plan(call: call, fault: .error(code))
            var script = CrashScript(seed: SeededGenerator.seed)
            if let store = try? TreeStore.open(file: disk, options: CrashScript.options) { script.run(store) }
            let place: Comment = "call \(call), errno \(code)"
            try script.verify(disk.killedImage(), atLeast: script.written, place)
            if disk.calls < call { break }
            call += 1
        }
    }

    private func emptyStore() throws -> [UInt8]? {
        let disk = try SimulatedDisk()
        try TreeStore.open(file: disk, options: CrashScript.options).close()
        return disk.killedImage()
    }
}

/// The same transactions for the same seed, the states they make, and how far they got.
private struct CrashScript {
    static let names = ["a", "b", "c"]
    static var options: StoreOptions {
        var options = StoreOptions()
        options.pageSize = 4096
        return options
    }
    private static let transactions = 14

    private var random: SeededGenerator
    /// By transaction number. A tree that isn't there is nil.
    private var states: [[String: ModelTree]] = [[:]]
    /// The newest transaction that was acknowledged as safe from power loss, and from a killed process.
    private(set) var durable = 0
    private(set) var written = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func run(_ store: TreeStore) {
        for number in 1...Self.transactions {
            // Each transaction has random numbers of its own: a failure changes nothing for the next.
            random = SeededGenerator(seed: random.next())
            var state = states[states.count - 1]
            let former = states.count
            do {
                let transaction = try store.beginWrite()
                transaction.durability = [.full, .full, .process, .none][number % 4]
                try change(transaction, &state, isLarge: number == 7)
                if number % 3 == 0 { try changeInVain(transaction, state) }
                if number % 5 == 0 {
                    transaction.abort()
                    continue
                }
                // The outcome is open from here on: the state counts even if commit throws.
                states.append(state)
                try transaction.commit()
                let isCheckpointed = store.statistics.checkpoint > 0 && store.statistics.journalBytes == 0
                if transaction.durability == .full || isCheckpointed { durable = states.count - 1 }
                if transaction.durability != .none || isCheckpointed { written = states.count - 1 }
                if number == 10 { try store.checkpoint() }
            } catch {
                // Nothing of a transaction that failed cleanly is visible; otherwise the store refuses from here on.
                if case StorageError.failed = error { return }
                if states.count > former { states.removeLast() }
            }
        }
    }

    /// Changes that are taken back, and others behind a savepoint that are kept.
    private mutating func changeInVain(_ transaction: Transaction, _ state: [String: ModelTree]) throws {
        var lost = state
        let savepoint = try transaction.savepoint()
        try change(transaction, &lost, isLarge: false)
        try transaction.rollback(to: savepoint)
        try transaction.release(savepoint)
    }

    private mutating func change(
        _ transaction: Transaction, _ state: inout [String: ModelTree], isLarge: Bool
    ) throws {
        for _ in 0..<(isLarge ? 90 : 25) {
            let name = Self.names[random.below(3)]
            if random.oneIn(25) {
                let isDropped = try transaction.dropTree(name)
                #expect(isDropped == (state.removeValue(forKey: name) != nil))
                continue
            }
            guard let tree = try transaction.tree(name, create: true) else { continue }
            var model = state[name] ?? ModelTree()
            let key = [UInt8(random.below(40))] + [UInt8](repeating: 3, count: random.below(300))
            switch random.below(8) {
            case 0 where model.count > 0:
                let old = model.keys[random.below(model.count)]
                let isDeleted = try transaction.delete(tree, old)
                #expect(isDeleted == model.delete(old))
            case 1 where model.count > 20:
                let to = key + [1]
                let deleted = try transaction.deleteRange(tree, from: key, to: to)
                #expect(deleted == UInt64(model.deleteRange(key, to)))
            default:
                let value = random.bytes(isLarge ? 9000 : random.oneIn(9) ? 5000 : random.below(200))
                try transaction.put(tree, key, value)
                model.put(key, value)
            }
            state[name] = model
        }
    }

    /// Opens what is left of the file: the state of one commit not older than `atLeast`, sound and of use.
    func verify(_ image: [UInt8]?, atLeast: Int, _ place: Comment) throws {
        let store = try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options)
        let read = try store.beginRead()
        var state: [String: ModelTree] = [:]
        for name in try read.treeNames() {
            let tree = try #require(try read.tree(name), place)
            state[name] = try read.contents(tree)
        }
        read.abort()
        let isOne = states[min(atLeast, states.count - 1)...].contains(state)
        #expect(isOne, place)
        #expect(try store.check { Issue.record("\($0), \(place)") }, place)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("a", create: true), place)
        try write.put(tree, [255], [1])
        try write.commit()
        #expect(try store.beginRead().value(tree, [255]) == [1], place)
    }
}
