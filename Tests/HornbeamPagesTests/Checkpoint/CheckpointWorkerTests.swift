// SPDX-License-Identifier: Apache-2.0
// The thread that checkpoints a store in a real file. What a checkpoint does is proved step by step elsewhere; here it
// is only whether the thread does it, and lets go.

import Foundation
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("The checkpoint thread")
struct CheckpointWorkerTests {
    private func open(_ folder: TemporaryFolder, idle: Int = 0, checkpointBytes: Int = 0) throws -> PageStore {
        var options = StoreOptions()
        options.idleMilliseconds = idle
        options.checkpointBytes = checkpointBytes
        return try PageStore.open(
            path: folder.path + "/store.hornbeam", options: options, structure: Toy.structure, replay: Toy.replay)
    }

    /// Waits until it is so, at most ten seconds.
    private func eventually(_ what: Comment, _ condition: () -> Bool) {
        for _ in 0..<10_000 {
            if condition() { return }
            usleep(1000)
        }
        Issue.record(what)
    }

    @Test("checkpoints when nothing was committed for a while, and then rests")
    func idle() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let store = try open(folder, idle: 20)
        for round: UInt64 in 1...3 {
            let before = store.statistics.checkpoint
            try Toy.commit(ToyChange(cell: 1, value: round), to: store)
            eventually("no checkpoint") { store.statistics.checkpoint > before && store.statistics.journalBytes == 0 }
        }
        let rested = store.statistics.checkpoint
        usleep(100_000)
        #expect(store.statistics.checkpoint == rested)
        try Toy.expectSound(store)
        try store.close()
    }

    @Test("makes the ring larger under load and smaller again after quiet, and loses nothing")
    func ring() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var store = try open(folder)
        var value: UInt64 = 0
        eventually("the ring did not grow") {
            value += 1
            #expect(throws: Never.self) {
                try Toy.commit(ToyChange(cell: Int(value % 12), value: value, padding: 50_000), to: store, .process)
            }
            return store.statistics.journalCapacityBytes >= 4 << 20
        }
        let cells = try Toy.cells(of: store)
        try Toy.expectSound(store)
        try store.close()
        store = try open(folder, checkpointBytes: 4096)
        #expect(try Toy.cells(of: store) == cells)
        for _ in 0..<40 where store.statistics.journalCapacityBytes > 1 << 20 {
            value += 1
            try Toy.commit(ToyChange(cell: 1, value: value), to: store, .process)
            eventually("no checkpoint") { store.statistics.journalBytes == 0 }
        }
        eventually("the ring did not shrink") { store.statistics.journalCapacityBytes == 1 << 20 }
        try Toy.expectSound(store)
        try store.close()
        #expect(try Toy.cells(of: open(folder))[1].value == value)
    }

    @Test("lets a store go that nobody closed, which then recovers")
    func abandoned() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        for value: UInt64 in 1...30 {
            let store = try open(folder, idle: value % 2 == 0 ? 1 : 0, checkpointBytes: value % 3 == 0 ? 4096 : 0)
            #expect(try Toy.cells(of: store)[1].value == value - 1)
            try Toy.commit(ToyChange(cell: 1, value: value, longSectors: 3), to: store)
            store.endThread()
        }
    }

    @Test("ends with the close of its store, which then goes with its last user")
    func closed() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        weak var remains: PageStore?
        do {
            let store = try open(folder, idle: 1)
            remains = store
            try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
            #expect(store.worker.isRunning)
            try store.close()
            #expect(!store.worker.isRunning)
            try store.close()
        }
        #expect(remains == nil)
    }

    @Test("ends though a transaction is open, for whose end it waits")
    func endedInTransaction() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let store = try open(folder, idle: 1)
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
        let writer = try store.beginWrite()
        // Long enough for the thread to want a checkpoint.
        usleep(100_000)
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            store.endThread()
            ended.signal()
        }
        try #require(ended.wait(timeout: .now() + 10) == .success)
        try Toy.apply(ToyChange(cell: 2, value: 2), writer)
        try ToyChange(cell: 2, value: 2).redo.withBytes { try writer.commit(redo: $0, durability: .full) }
        try Toy.expectSound(store)
        try store.close()
    }

    @Test("never makes a store seem busy to who need not wait")
    func notBusy() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        for round: UInt64 in 1...10 {
            let store = try open(folder, idle: 1, checkpointBytes: 4096)
            for value: UInt64 in 1...20 {
                let writer = try store.beginWrite(waiting: false)
                let change = ToyChange(cell: 2, value: round * 100 + value)
                try Toy.apply(change, writer)
                try change.redo.withBytes { try writer.commit(redo: $0, durability: .none) }
            }
            try store.close()
        }
    }
}
