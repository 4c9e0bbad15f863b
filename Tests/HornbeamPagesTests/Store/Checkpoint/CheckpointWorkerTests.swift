// SPDX-License-Identifier: Apache-2.0
// The thread that checkpoints a store in a real file. Other suites prove each step of a checkpoint; here the question
// is only whether the thread does it, and ends.

import Foundation
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("The checkpoint thread")
struct CheckpointWorkerTests {
    private func open(_ folder: TemporaryFolder, idle: Int = 0, checkpointBytes: Int = 0) throws -> PageStore {
        var options = StoreOptions.withLargeRing
        options.idleMilliseconds = idle
        options.checkpointBytes = checkpointBytes
        return try PageStore.open(
            path: folder.path + "/store.hornbeam", options: options, structure: Toy.structure, replay: Toy.replay)
    }

    @Test("checkpoints after a while without commits, and then rests")
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

    @Test("ends after a long time without work, and the next commit begins another one")
    func ends() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let store = try open(folder, idle: 10)
        store.worker.uselessMilliseconds = 30
        for round: UInt64 in 1...3 {
            let before = store.statistics.checkpoint
            try Toy.commit(ToyChange(cell: 1, value: round), to: store)
            #expect(store.worker.isRunning)
            eventually("no checkpoint") { store.statistics.checkpoint > before }
            eventually("the thread goes on") { !store.worker.isRunning }
        }
        try Toy.commit(ToyChange(cell: 2, value: 9), to: store)
        try store.close()
        #expect(!store.worker.isRunning)
    }

    @Test("is available to a commit made just as it ends", .seeded)
    func endsBesideCommits() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var random = SeededGenerator()
        let store = try open(folder, idle: 1)
        store.worker.uselessMilliseconds = 1
        for value: UInt64 in 1...400 {
            try Toy.commit(ToyChange(cell: 1, value: value), to: store, random.oneIn(2) ? .process : .full)
            usleep(UInt32(random.below(4000)))
        }
        eventually("no checkpoint") { store.statistics.journalBytes == 0 }
        #expect(try Toy.cells(of: store)[1].value == 400)
        try Toy.expectSound(store)
        try store.close()
    }

    @Test("has ended when the owner of the store has ended it, so that the file can be opened again", .seeded)
    func endsBesideLettingGo() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var random = SeededGenerator()
        for value: UInt64 in 1...60 {
            let store = try open(folder, idle: 1)
            store.worker.uselessMilliseconds = 1
            try Toy.commit(ToyChange(cell: 1, value: value), to: store)
            usleep(UInt32(random.below(6000)))
            store.endThread()
        }
    }

    @Test("does not take a commit that wakes it for a while without one")
    func notIdle() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        for idle in [0, 60_000] {
            for value: UInt64 in 1...20 {
                let store = try open(folder, idle: idle)
                let before = store.statistics.checkpoint
                try Toy.commit(ToyChange(cell: 1, value: value), to: store)
                usleep(5000)
                #expect(store.statistics.checkpoint == before)
                try store.close()
            }
        }
    }

    /// Commits until the ring has four megabytes; returns the last value.
    private func grow(_ store: PageStore) -> UInt64 {
        var value: UInt64 = 0
        eventually("the ring did not grow") {
            value += 1
            #expect(throws: Never.self) {
                try Toy.commit(ToyChange(cell: Int(value % 12), value: value, padding: 50_000), to: store, .process)
            }
            return store.statistics.journalCapacityBytes >= 4 << 20
        }
        return value
    }

    @Test("makes the ring larger under load and smaller again after quiet, and loses nothing")
    func ring() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var store = try open(folder, idle: 20)
        var value = grow(store)
        for _ in 0..<60 where store.statistics.journalCapacityBytes > 1 << 20 {
            value += 1
            try Toy.commit(ToyChange(cell: 1, value: value), to: store, .process)
            eventually("no checkpoint") { store.statistics.journalBytes == 0 }
        }
        eventually("the ring did not shrink") {
            store.statistics.journalCapacityBytes == store.side.quietRing << FileFormat.sectorShift
        }
        try Toy.expectSound(store)
        try store.close()
        store = try open(folder)
        #expect(try Toy.cells(of: store)[1].value == value)
        try store.close()
    }

    // Growing fourfold each time took several checkpoints right after an import.
    @Test("makes the small ring of a large store at once as large as it stays without commits")
    func ringAfterImport() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = StoreOptions()
        options.idleMilliseconds = 0
        let store = try PageStore.open(
            path: folder.path + "/store.hornbeam", options: options, structure: Toy.structure, replay: Toy.replay)
        for cell in 0..<8 {
            try Toy.commit(ToyChange(cell: cell, value: 1, longSectors: 512), to: store)
        }
        let initial = UInt64(FileFormat.initialJournalSectors) << FileFormat.sectorShift
        #expect(store.statistics.journalCapacityBytes == initial)
        var value: UInt64 = 1
        eventually("the ring did not grow") {
            value += 1
            #expect(throws: Never.self) {
                try Toy.commit(ToyChange(cell: 9, value: value, padding: 20_000), to: store, .process)
            }
            return store.statistics.journalCapacityBytes > initial
        }
        #expect(store.statistics.journalCapacityBytes == store.side.quietRing << FileFormat.sectorShift)
        #expect(store.statistics.journalCapacityBytes > 4 * initial)
        try store.close()
    }

    @Test("leaves a closed store with a small ring: the next opening reads all of it")
    func closedRing() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var store = try open(folder)
        _ = grow(store)
        let cells = try Toy.cells(of: store)
        try store.close()
        store = try open(folder)
        #expect(store.statistics.journalCapacityBytes == store.side.quietRing << FileFormat.sectorShift)
        #expect(store.statistics.journalCapacityBytes < 1 << 20)
        #expect(try Toy.cells(of: store) == cells)
        try Toy.expectSound(store)
        try store.close()
    }

    @Test("releases a store that was not closed, which then recovers")
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

    @Test("begins with the first commit: a store only for reading has none")
    func lazy() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var store = try open(folder)
        #expect(!store.worker.isRunning)
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
        #expect(store.worker.isRunning)
        try store.close()
        store = try open(folder)
        try Toy.expectSound(store)
        #expect(!store.worker.isRunning)
        try store.close()
        #expect(throws: StorageError.self) { try Toy.commit(ToyChange(cell: 1, value: 2), to: store) }
        #expect(!store.worker.isRunning)
    }

    @Test("ends with the close of its store, which is then released with its last user")
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

    @Test("ends even with a transaction open, and waits for its end")
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

    /// A thread prepared a new ring without the turn, while `close` released the file: it continued to write zeros, up
    /// to 64 MiB, into any file that had got the descriptor's number meanwhile. Now nothing is written once `close` has
    /// returned.
    @Test("that makes a ring ready has ended before the file is released")
    func closedWhileZeroing() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        store.worker.allow()
        defer { store.endThread() }
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
        let former = disk.size()
        let begun = DispatchSemaphore(value: 0)
        disk.whenCalled = { disk in
            guard disk.size() > former + 4 << 20, disk.operations.last == .write else { return }
            disk.whenCalled = nil
            begun.signal()
            usleep(200_000)
        }
        _ = store.turn.take()
        store.side.wantedRing = 4096
        store.turn.give()
        store.worker.wake()
        try #require(begun.wait(timeout: .now() + 10) == .success)
        try store.close()
        let calls = disk.calls
        usleep(400_000)
        #expect(disk.calls == calls)
    }

    /// A commit that found the turn taken left its checkpoint to the holder of the turn. If the holder committed
    /// nothing, the thread wasn't notified: the journal stayed as it was as long as the store was idle, and the next
    /// opening replayed it. Now the thread is notified of each commit.
    @Test("handles a commit during a transaction that is aborted")
    func besideAnAbortedTransaction() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let store = try open(folder, idle: 20)
        // By now the thread rests until it is woken.
        usleep(100_000)
        let before = store.statistics.checkpoint
        let pending = try Self.enter(1, store)
        let other = try store.beginWrite()
        try store.complete(pending)
        other.abort()
        eventually("no checkpoint") { store.statistics.checkpoint > before }
        try store.close()
    }

    /// Under load nobody noticed that the ring was nearly full if the turn was taken at the end of every commit. It
    /// filled up, and one commit paid for a whole checkpoint. Now the thread is woken without the turn.
    @Test("is woken by a ring that is nearly full, whichever thread has the turn")
    func nearlyFull() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let store = try open(folder)
        usleep(50_000)
        let before = store.statistics.checkpoint
        for value: UInt64 in 1...9 {
            let pending = try Self.enter(value, store, padding: 100_000)
            let other = try store.beginWrite()
            try store.complete(pending)
            other.abort()
        }
        eventually("no checkpoint") { store.statistics.checkpoint > before }
        try store.close()
    }

    private static func enter(_ value: UInt64, _ store: PageStore, padding: Int = 0) throws -> PendingCommit {
        let change = ToyChange(cell: Int(value % 12), value: value, padding: padding)
        let writer = try store.beginWrite()
        try Toy.apply(change, writer)
        return try #require(try change.redo.withBytes { try writer.enter(redo: $0, durability: .full) })
    }

    /// The kernel delivers a signal for a process to any thread that doesn't block it, including the library's
    /// threads: a program that blocked SIGTERM in its own threads and waited for it was ended through one of these.
    /// Now they block all signals but faults.
    @Test("takes none of the program's signals")
    func signals() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        // A new thread inherits the mask of its creator; a test's thread blocks most signals by itself.
        var none = sigset_t()
        var former = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        // The first commit starts the thread: without a commit the test might examine the thread of another test.
        let opened = Result { () throws -> PageStore in
            let store = try open(folder)
            try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
            return store
        }
        pthread_sigmask(SIG_SETMASK, &former, nil)
        let store = try opened.get()
        var masks: [UInt64] = []
        eventually("no thread of that name") {
            masks = Self.blockedSignals(ofThreads: StoreThreads.name)
            return !masks.isEmpty
        }
        for mask in masks {
            for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD] {
                #expect(mask >> UInt64(signal - 1) & 1 == 1, "signal \(signal)")
            }
            for fault in [SIGBUS, SIGSEGV] { #expect(mask >> UInt64(fault - 1) & 1 == 0, "signal \(fault)") }
        }
        try store.close()
    }

    private static func blockedSignals(ofThreads name: String) -> [UInt64] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.compactMap { (task) -> UInt64? in
            guard let text = try? String(contentsOfFile: "/proc/self/task/\(task)/status", encoding: .utf8) else {
                return nil
            }
            let lines = text.split(separator: "\n")
            guard lines.contains("Name:\t\(name)") else { return nil }
            return lines.first { $0.hasPrefix("SigBlk:\t") }.flatMap { UInt64($0.dropFirst(8), radix: 16) }
        }
    }

    @Test("never makes a store seem busy to callers that need not wait")
    func notBusy() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        for round: UInt64 in 1...10 {
            let store = try open(folder, idle: 1, checkpointBytes: 4096)
            for value: UInt64 in 1...20 {
                let writer = try store.beginWrite(.no)
                let change = ToyChange(cell: 2, value: round * 100 + value)
                try Toy.apply(change, writer)
                try change.redo.withBytes { try writer.commit(redo: $0, durability: .none) }
            }
            try store.close()
        }
    }
}
