// SPDX-License-Identifier: Apache-2.0
// Invariants 1, 3, 4, 5, 7 and 8 under crashes and failing calls: the script's life is cut at every file operation n =
// 1, 2, 3 … and the store is opened again from a possible content of the medium.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@Suite("After a crash or a failed call")
struct CrashTests {
    private static let steps = 24

    /// Opens the file left by a crash; an absent or empty file may be created again.
    private func reopen(_ image: [UInt8]?) throws -> (SimulatedDisk, PageStore) {
        let disk = try SimulatedDisk(image: image)
        return (disk, try Toy.open(disk))
    }

    /// Checks that the store works: it commits, loses power, is recovered, closes, and opens again with that content.
    private func expectLife(_ disk: SimulatedDisk, _ store: PageStore) throws {
        for value: UInt64 in 1...3 {
            try Toy.commit(ToyChange(cell: Int(value), value: value + 1000, longSectors: 2), to: store)
        }
        let cells = try Toy.cells(of: store)
        try Toy.expectSound(store)
        let (_, recovered) = try reopen(disk.powerLossImage(seed: 2))
        #expect(try Toy.cells(of: recovered) == cells)
        try store.close()
        let (_, again) = try reopen(disk.powerLossImage(seed: 1))
        #expect(try Toy.cells(of: again) == cells)
        try Toy.expectSound(again)
    }

    /// A crash between the two header writes of a checkpoint left slot 1 naming the checkpoint before. The store was
    /// opened again, and reused pages that only that older checkpoint reached; then slot 0 was damaged. Slot 1 led to
    /// pages that had been overwritten, and every commit since was lost. Opening now renews a stale slot first.
    @Test("a slot left stale by a crash never leads to a checkpoint whose pages were reused", arguments: [0, 1])
    func staleSlot(_ damaged: Int) throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...8 { try Toy.commit(ToyChange(cell: Int(value), value: value), to: store) }
        try store.checkpoint()
        let older = try #require(disk.killedImage())
        for value: UInt64 in 1...8 { try Toy.commit(ToyChange(cell: Int(value), value: value + 10), to: store) }
        try store.checkpoint()
        var image = try #require(disk.killedImage())
        image.replaceSubrange(4096..<8192, with: older[4096..<8192])

        let (next, again) = try reopen(image)
        for value: UInt64 in 1...60 {
            try Toy.commit(ToyChange(cell: Int(value % 8), value: value + 100, longSectors: 1), to: again)
        }
        let cells = try Toy.cells(of: again)
        var later = try #require(next.killedImage())
        later[damaged * 4096 + 50] ^= 1
        let (_, last) = try reopen(later)
        #expect(try Toy.cells(of: last) == cells)
        try Toy.expectSound(last)
    }

    @Test("creation leaves no file or an empty store, wherever it stops", .seeded)
    func creation() throws {
        var call = 1
        while true {
            let disk = try SimulatedDisk()
            disk.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            let store = try? Toy.open(disk)
            if !disk.hasCrashed { break }
            #expect(store == nil)
            for loss in 0..<6 {
                let seed = SeededGenerator.seed &+ UInt64(loss)
                for image in [disk.powerLossImage(seed: seed), disk.killedImage()] {
                    let (next, again) = try reopen(image)
                    #expect(again.statistics.transaction == 0)
                    try expectLife(next, again)
                }
            }
            call += 1
        }
        #expect(call > 8)
    }

    @Test("acknowledged commits are there, and the state is a prefix", arguments: SeededGenerator.seeds(3))
    func everyCall(seed: UInt64) throws {
        let empty = try Toy.emptyFile()
        var call = 1
        while true {
            let disk = try SimulatedDisk(image: empty)
            disk.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            var script = ToyScript(seed: seed)
            let store = try Toy.open(disk)
            try script.run(Self.steps, on: store)
            let comment = "seed \(seed), crash at call \(call)"
            for loss in 1...3 {
                let (next, again) = try reopen(disk.powerLossImage(seed: UInt64(loss) &* 1000 &+ UInt64(call)))
                try script.expectPrefix(again, atLeast: script.durable, "\(comment), power loss \(loss)")
                if loss == 1 { try expectLife(next, again) }
            }
            let (_, again) = try reopen(disk.killedImage())
            try script.expectPrefix(again, atLeast: max(script.durable, script.written), "\(comment), killed")
            if !disk.hasCrashed { break }
            call += 1
        }
        #expect(call > 30)
    }

    @Test("recovery can itself be cut anywhere and begins anew", arguments: SeededGenerator.seeds(3))
    func recoveryOfRecovery(seed: UInt64) throws {
        let disk = try SimulatedDisk(image: Toy.emptyFile())
        var script = ToyScript(seed: seed)
        let store = try Toy.open(disk)
        try script.run(Self.steps, on: store)
        let image = disk.powerLossImage(seed: seed)
        var call = 1
        while true {
            let second = try SimulatedDisk(image: image)
            second.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            _ = try? Toy.open(second)
            if !second.hasCrashed { break }
            for left in [second.powerLossImage(seed: UInt64(call)), second.killedImage()] {
                let (next, again) = try reopen(left)
                try script.expectPrefix(again, atLeast: script.durable, "seed \(seed), call \(call) of recovery")
                try expectLife(next, again)
            }
            call += 1
        }
    }

    @Test(
        "a failing write undoes its commit and no more, a failing sync stops the store",
        arguments: SeededGenerator.seeds(2), [EIO, ENOSPC])
    func everyFault(seed: UInt64, code: Int32) throws {
        let empty = try Toy.emptyFile()
        var call = 1
        var errors = 0
        var failures = 0
        while true {
            let disk = try SimulatedDisk(image: empty)
            disk.plan = SimulatedDisk.Plan(call: call, fault: .error(code))
            var script = ToyScript(seed: seed)
            let store = try Toy.open(disk)
            try script.run(Self.steps, on: store, stopsAtError: false)
            let comment = "seed \(seed), errno \(code) at call \(call)"
            #expect(try Toy.cells(of: store) == script.history[script.committed], "\(comment)")
            errors += script.errors.isEmpty ? 0 : 1
            if case .failed(let cause)? = script.errors.last {
                failures += 1
                if code == EIO { #expect(cause == .io(operation: "sync", path: disk.path, errno: EIO), "\(comment)") }
                let calls = disk.calls
                #expect(throws: StorageError.self, "\(comment)") { try store.beginWrite() }
                #expect(throws: StorageError.self, "\(comment)") { try store.checkpoint() }
                #expect(disk.calls == calls, "\(comment): a failed store must not write")
            } else {
                // This store continues: at most the failed step is missing.
                #expect(script.errors.count <= 1, "\(comment): \(script.errors)")
                try Toy.expectSound(store)
            }
            for image in [disk.powerLossImage(seed: UInt64(call)), disk.killedImage()] {
                let (next, again) = try reopen(image)
                try script.expectPrefix(again, atLeast: script.durable, comment)
                try expectLife(next, again)
            }
            if disk.calls < call { break }
            call += 1
        }
        #expect(errors > 10 && failures > 0)
    }

    @Test("a failing call while opening is a typed error, and the next opening works")
    func faultsWhileOpening() throws {
        let disk = try SimulatedDisk(image: Toy.emptyFile())
        var script = ToyScript(seed: 5)
        try script.run(Self.steps, on: Toy.open(disk))
        for start in [nil, disk.powerLossImage(seed: 3)] {
            var call = 1
            while true {
                let second = try SimulatedDisk(image: start)
                second.plan = SimulatedDisk.Plan(call: call, fault: .error(EIO))
                var failure: StorageError?
                do throws(StorageError) { _ = try Toy.open(second) } catch { failure = error }
                if second.calls < call { break }
                // The second header slot is tried twice: then opening works after all.
                if case .failed? = failure { Issue.record("call \(call)") }
                let (_, again) = try reopen(second.killedImage())
                if start != nil { try script.expectPrefix(again, atLeast: script.durable, "call \(call)") }
                call += 1
            }
            #expect(call > 4)
        }
    }
}
