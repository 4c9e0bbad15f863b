// SPDX-License-Identifier: Apache-2.0
// A checkpoint during other work: commits between its steps and within its calls, crashes and faults at each of them.
// The letters are the design's names for a checkpoint's traps.

import Foundation
import Glibc
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("A checkpoint in steps")
struct CheckpointStepsTests {
    private func commit(_ value: UInt64, _ store: PageStore, padding: Int = 0) throws {
        let change = ToyChange(
            cell: Int(value % 12), value: value, longSectors: UInt32(value % 4), padding: padding)
        try Toy.commit(change, to: store)
    }

    private func expectState(_ image: [UInt8]?, of count: UInt64, _ place: Comment) throws {
        let store = try Toy.open(SimulatedDisk(image: image))
        #expect(store.statistics.transaction == count, place)
        #expect(try Toy.cells(of: store).map(\.value).max() == count, place)
        try Toy.expectSound(store)
    }

    private func begin(_ store: PageStore) throws -> CheckpointRun {
        _ = store.turn.take()
        defer { store.turn.give() }
        return try #require(try store.beginCheckpoint())
    }

    private func conclude(_ store: PageStore) -> StorageError? {
        _ = store.turn.take()
        defer { store.turn.give() }
        return store.concludeRun()
    }

    @Test("loses no commit made between its steps, wherever it is cut")
    func everyCall() throws {
        var call = 1
        while true {
            let disk = try SimulatedDisk()
            let store = try Toy.open(disk)
            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .crash)
            var done: UInt64 = 0
            do {
                for _ in 0..<3 {
                    for _ in 0..<4 {
                        try commit(done + 1, store)
                        done += 1
                    }
                    let run = try begin(store)
                    for _ in 0..<2 {
                        try commit(done + 1, store)
                        done += 1
                    }
                    run.write(to: store)
                    for _ in 0..<2 {
                        try commit(done + 1, store)
                        done += 1
                    }
                    if let error = conclude(store) { throw error }
                }
            } catch is StorageError {}
            for seed: UInt64 in 1...3 {
                let again = try Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: seed &+ UInt64(call))))
                let found = again.statistics.transaction
                #expect(found == done || found == done + 1, "call \(call), seed \(seed): \(found) of \(done)")
                #expect(try Toy.cells(of: again).map(\.value).max() == found, "call \(call), seed \(seed)")
                try Toy.expectSound(again)
            }
            if !disk.hasCrashed { break }
            call += 1
        }
        #expect(call > 60)
    }

    /// Trap (a): the last durable checkpoint counts as a pinned snapshot until the next one is durable in both slots.
    @Test("and commits within each of its calls leave the pages of both checkpoints whole")
    func withinCalls() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        let done = Mutex<UInt64>(0)
        for value: UInt64 in 1...10 { try commit(value, store) }
        done.withLock { $0 = 10 }
        for round in 0..<4 {
            let run = try begin(store)
            disk.whenCalled = { disk in
                disk.whenCalled = nil
                for _ in 0..<3 {
                    let value = done.withLock { $0 + 1 }
                    #expect(throws: Never.self) { try commit(value, store) }
                    done.withLock { $0 = value }
                }
                for seed: UInt64 in 1...4 {
                    #expect(throws: Never.self) {
                        try expectState(disk.powerLossImage(seed: seed), of: done.withLock { $0 }, "round \(round)")
                    }
                }
            }
            run.write(to: store)
            #expect(conclude(store) == nil)
            try expectState(disk.powerLossImage(seed: 5), of: done.withLock { $0 }, "after round \(round)")
        }
        try store.close()
        try expectState(disk.powerLossImage(seed: 1), of: done.withLock { $0 }, "closed")
    }

    /// Trap (e).
    @Test("lets the ring go round beneath it, and makes a commit without room wait for its end and no longer")
    func fullRing() throws {
        for round: UInt64 in 0..<5 {
            let disk = try SimulatedDisk()
            let store = try Toy.open(disk)
            // Commits in front, so that the ring ends after other records in each round.
            for value in 0..<round { try commit(value + 1, store, padding: 60_000) }
            try store.checkpoint()
            let first = store.statistics.transaction
            for value in first + 1...first + 3 { try commit(value, store, padding: 100_000) }
            let run = try begin(store)
            // 25 sectors each of 256: seven more fit, the eighth waits.
            for value in first + 4...first + 10 { try commit(value, store, padding: 100_000) }
            #expect(store.side.run === run)
            try expectState(disk.powerLossImage(seed: round), of: first + 10, "round \(round)")
            run.write(to: store)
            try commit(first + 11, store, padding: 100_000)
            #expect(store.side.run == nil)
            try expectState(disk.powerLossImage(seed: round), of: first + 11, "round \(round)")
        }
    }

    /// Trap (g).
    @Test("frees nothing seen by a snapshot older than the previous checkpoint")
    func olderSnapshot() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...12 { try commit(value, store) }
        let view = try store.beginRead()
        let cells = try Toy.read(view).cells
        for value: UInt64 in 13...90 {
            try commit(value, store)
            if value % 13 == 0 { try store.checkpoint() }
        }
        #expect(try Toy.read(view).cells == cells)
        let retired = store.statistics.retiredBytes
        store.endRead(view)
        try store.checkpoint()
        #expect(store.statistics.retiredBytes < retired)
    }

    /// Trap (f).
    @Test("at the end of a recovery that was itself cut off leaves a store that recovers again")
    func recoveryAfterRecovery() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...9 { try commit(value, store) }
        var image = disk.powerLossImage(seed: 1)
        for call in 1...6 {
            let cut = try SimulatedDisk(image: image)
            cut.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            _ = try? Toy.open(cut)
            image = cut.powerLossImage(seed: UInt64(call))
        }
        try expectState(image, of: 9, "six times cut")
    }

    @Test("undoes itself when a write fails, and the next one does its work", arguments: [EIO, ENOSPC])
    func failedWrites(code: Int32) throws {
        var offset = 1
        while true {
            let disk = try SimulatedDisk()
            let store = try Toy.open(disk)
            for value: UInt64 in 1...6 { try commit(value, store) }
            let calls = disk.calls
            let run = try begin(store)
            disk.plan = SimulatedDisk.Plan(
                call: calls + offset, fault: .error(code), operations: [.write, .writeThrough])
            run.write(to: store)
            let isMet = disk.calls >= calls + offset
            disk.plan = nil
            _ = conclude(store)
            for value: UInt64 in 7...9 { try commit(value, store) }
            try expectState(disk.powerLossImage(seed: 1), of: 9, "call \(offset)")
            try store.checkpoint()
            try Toy.expectSound(store)
            try expectState(disk.powerLossImage(seed: 2), of: 9, "call \(offset)")
            if !isMet { break }
            offset += 1
        }
        #expect(offset > 3)
    }

    @Test(
        "is given up when a write-through fails while it syncs, which may have reported its pages' loss",
        arguments: 1...6 as ClosedRange<UInt64>)
    func faultWhileSyncing(seed: UInt64) throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...6 { try commit(value, store) }
        let run = try begin(store)
        disk.whenCalled = { disk in
            guard disk.operations.last == .sync else { return }
            disk.whenCalled = nil
            failCommit(7, store, disk)
        }
        run.write(to: store)
        #expect(conclude(store) != nil)
        try expectState(disk.powerLossImage(seed: seed), of: 6, "given up")
        try store.checkpoint()
        try expectState(disk.powerLossImage(seed: seed), of: 6, "the next one")
    }

    @Test(
        "rewrites pages of commits beside the former one, if a write-through failed after them",
        arguments: 1...6 as ClosedRange<UInt64>)
    func faultAfterSync(seed: UInt64) throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...6 { try commit(value, store) }
        let run = try begin(store)
        disk.whenCalled = { disk in
            guard disk.operations.last == .writeThrough else { return }
            disk.whenCalled = nil
            #expect(throws: Never.self) { try commit(7, store) }
            failCommit(8, store, disk)
        }
        run.write(to: store)
        #expect(conclude(store) == nil)
        try store.checkpoint()
        try expectState(disk.powerLossImage(seed: seed), of: 7, "seed \(seed)")
    }

    /// The kernel reports an error of writing back once, to the first sync that asks, perhaps that of a new ring. The
    /// checkpoint's own sync, of pages that the medium has lost, then reports nothing.
    @Test("writes no header if a sync of another thread fails while it waits for its own")
    func failingSyncBeside() throws {
        let disk = WrappedDisk(try SimulatedDisk())
        let store = try Toy.open(disk)
        for value: UInt64 in 1...6 { try commit(value, store) }
        let run = try begin(store)
        let isNew = Atomic(true)
        let headers = Mutex(0)
        disk.allowsWriteThrough.withLock {
            $0 = { sector in
                if sector < 2 { headers.withLock { $0 += 1 } }
                return true
            }
        }
        let (entered, go, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        disk.allowsSync.withLock {
            $0 = {
                let isFirst = isNew.exchange(false, ordering: .relaxed)
                if !isFirst { return true }
                entered.signal()
                go.wait()
                return false
            }
        }
        Thread {
            #expect(throws: StorageError.self) { try store.pipeline.sync() }
            ended.signal()
        }.start()
        entered.wait()
        Thread {
            run.write(to: store)
            ended.signal()
        }.start()
        usleep(50_000)
        go.signal()
        ended.wait()
        ended.wait()
        guard case .failed? = conclude(store) else {
            Issue.record("the checkpoint succeeded")
            return
        }
        #expect(store.hasFailed && headers.withLock { $0 } == 0)
    }

    /// The kernel reports an error of writing back once. A commit's write-through that was in flight while the
    /// checkpoint synced, and fails later, may have received the report about the checkpoint's pages.
    @Test("writes no header before it knows the outcome of a write-through that was in flight while it synced")
    func faultInFlight() throws {
        let disk = WrappedDisk(try SimulatedDisk())
        let store = try Toy.open(disk)
        for value: UInt64 in 1...6 { try commit(value, store) }
        let run = try begin(store)
        let headers = Mutex(0)
        let (entered, go, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        disk.allowsWriteThrough.withLock {
            $0 = { sector in
                guard sector >= 2 else {
                    headers.withLock { $0 += 1 }
                    return true
                }
                entered.signal()
                go.wait()
                return false
            }
        }
        Thread {
            #expect(throws: StorageError.self) { try commit(7, store) }
            ended.signal()
        }.start()
        entered.wait()
        Thread {
            run.write(to: store)
            ended.signal()
        }.start()
        // Long enough for a failure to show; the expectations don't depend on it.
        usleep(50_000)
        #expect(!run.isWritten && headers.withLock { $0 } == 0)
        disk.allowsWriteThrough.withLock { $0 = nil }
        go.signal()
        ended.wait()
        ended.wait()
        #expect(conclude(store) != nil && headers.withLock { $0 } == 0)
        try store.checkpoint()
        try expectState(disk.disk.powerLossImage(seed: 1), of: 6, "the next one")
    }

    /// The next write-through fails, together with all other writes on their way to the medium.
    private func failCommit(_ value: UInt64, _ store: PageStore, _ disk: SimulatedDisk) {
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.writeThrough])
        #expect(throws: StorageError.self) { try commit(value, store) }
        disk.plan = nil
    }

    @Test("that reached only one slot frees nothing until it has reached the other too")
    func half() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...6 { try commit(value, store) }
        let run = try begin(store)
        failSecondSlot(disk)
        run.write(to: store)
        guard case .half = run.outcome else {
            Issue.record("\(run.outcome)")
            return
        }
        #expect(conclude(store) != nil)
        disk.plan = nil
        for value: UInt64 in 7...40 { try commit(value, store) }
        // Whichever slot is lost, the other one leads to everything.
        for slot in 0..<2 {
            var image = try #require(disk.powerLossImage(seed: 4))
            image[slot * 4096 + 60] ^= 1
            try expectState(image, of: 40, "without slot \(slot)")
        }
        try store.checkpoint()
        #expect(store.side.run == nil)
        try expectState(disk.powerLossImage(seed: 4), of: 40, "both slots")
    }

    /// The second slot's write fails from here on, and its repetition too.
    private func failSecondSlot(_ disk: SimulatedDisk) {
        disk.whenCalled = { disk in
            guard disk.operations.last == .writeThrough else { return }
            disk.whenCalled = nil
            disk.plan = SimulatedDisk.Plan(
                call: disk.calls + 1, fault: .error(EIO), isLasting: true, operations: [.writeThrough])
        }
    }

    private func expectPrefix(_ image: [UInt8]?, of count: UInt64, _ place: Comment) throws {
        let store = try Toy.open(SimulatedDisk(image: image))
        let found = store.statistics.transaction
        let values = try Toy.cells(of: store).map(\.value).filter { $0 > 0 }.sorted()
        #expect(found <= count && values == Array(1...found), place)
        try Toy.expectSound(store)
    }

    /// Slot 0 named the new ring durably, slot 1 could not be written, and commits went on into the old ring: they were
    /// acknowledged, and lost without a word at the next opening, which found the new ring empty. Now no commit enters
    /// before slot 1 is written, and then into the new ring.
    @Test("that reached only one slot and has a new ring lets no commit go to the old one")
    func halfWithNewRing() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...6 { try commit(value, store) }
        _ = store.turn.take()
        let run = try #require(try store.beginCheckpoint(journal: .new(512)))
        failSecondSlot(disk)
        run.write(to: store)
        guard case .half = run.outcome else {
            Issue.record("\(run.outcome)")
            return
        }
        #expect(store.concludeRun() != nil)
        store.turn.give()
        #expect(throws: StorageError.self) { try commit(7, store) }
        try expectState(disk.powerLossImage(seed: 3), of: 6, "refused")
        disk.plan = nil
        for value: UInt64 in 7...9 { try commit(value, store) }
        for slot in 0..<2 {
            var image = try #require(disk.powerLossImage(seed: 4))
            image[slot * 4096 + 60] ^= 1
            let values = try Toy.cells(of: Toy.open(SimulatedDisk(image: image))).map(\.value)
            #expect(values.filter { $0 > 0 }.sorted() == Array(1...9), "without slot \(slot)")
        }
        try Toy.expectSound(store)
    }

    /// A large transaction has no record: it is only in the checkpoint. Slot 0 had it, slot 1 did not, and the commits
    /// after it continued the chain of the former header. When slot 0 was damaged later, the store came back with them
    /// and without it: a state that never existed. Now no commit enters before slot 1 is written.
    @Test("that reached only one slot and has a transaction without a record lets none follow it")
    func halfOfLarge() throws {
        let disk = try SimulatedDisk()
        let file = WrappedDisk(disk)
        let store = try Toy.open(file)
        for value: UInt64 in 1...6 { try commit(value, store) }
        file.refused.withLock { $0 = [1] }
        try Toy.commit(ToyChange(cell: 7, value: 7), to: store, .full, large: true)
        for value: UInt64 in 8...9 { #expect(throws: StorageError.self) { try commit(value, store) } }
        for slot in 0..<2 {
            var image = try #require(disk.powerLossImage(seed: 4))
            image[slot * 4096 + 60] ^= 1
            try expectPrefix(image, of: 7, "without slot \(slot)")
        }
        file.refused.withLock { $0 = [] }
        for value: UInt64 in 8...9 { try commit(value, store) }
        #expect(store.side.run == nil)
        for slot in 0..<2 {
            var image = try #require(disk.powerLossImage(seed: 5))
            image[slot * 4096 + 60] ^= 1
            let again = try Toy.open(SimulatedDisk(image: image))
            let values = try Toy.cells(of: again).map(\.value).filter { $0 > 0 }.sorted()
            #expect(values == Array(1...9), "without slot \(slot)")
        }
    }
}
