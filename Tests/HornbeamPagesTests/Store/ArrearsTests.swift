// SPDX-License-Identifier: Apache-2.0
// A writer that is alone leaves pages in memory. Each process that opens the file later sees every commit that was
// acknowledged as durable before.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("Durable commits that other processes don't know of")
struct ArrearsTests {
    /// A writer with its thread, and everything that others need to open the file.
    private struct Scene {
        let disk: SimulatedDisk
        let shared = SimulatedProcess.Shared()
        let process: SimulatedProcess
        let writer: PageStore

        init(idle: Int = 60_000) throws {
            disk = try SimulatedDisk()
            var options = StoreOptions.withLargeRing
            options.pageSize = 4096
            options.idleMilliseconds = idle
            process = try SimulatedProcess(on: disk, shared, options: options)
            writer = try PageStore.open(
                file: process, options: options, structure: Toy.structure, replay: Toy.replay)
            writer.worker.allow()
            // The first commit starts the thread, and is announced at once.
            try Toy.commit(ToyChange(cell: 11, value: 1), to: writer)
        }

        func reader() throws -> PageStore {
            var options = StoreOptions.withLargeRing
            options.readOnly = true
            return try PageStore.follow(
                file: try SimulatedProcess(on: disk, shared, options: options), options: options,
                structure: Toy.structure, replay: Toy.replay)
        }

        func put(_ value: UInt64, _ durability: Durability = .full) throws {
            try Toy.commit(ToyChange(cell: Int(value % 5), value: value), to: writer, durability)
        }

        var kept: Int { writer.verification.unwritten?.count ?? 0 }
    }

    private func values(_ store: PageStore) throws -> [UInt64] {
        let view = try store.beginRead()
        defer { store.endRead(view) }
        return try Toy.read(view).cells.map(\.value)
    }

    @Test("are written and announced after a moment without commits")
    func moment() throws {
        let scene = try Scene()
        for value: UInt64 in 1...20 { try scene.put(value) }
        #expect(scene.writer.isInArrears || scene.kept == 0)
        eventually("never told") { !scene.writer.isInArrears && scene.kept == 0 }
        #expect(scene.writer.statistics.checkpoint == 1)
        let reader = try scene.reader()
        #expect(try values(reader) == values(scene.writer))
        try reader.close()
        try scene.writer.close()
    }

    @Test("release the state announced before, if no reader can see it")
    func formerState() throws {
        let scene = try Scene()
        let reader = try scene.reader()
        try scene.put(1)
        let held = { scene.writer.side.older.map(\.transaction) }
        // The reader can see this state: it stays, although it was replaced, until another state is announced.
        try scene.put(2)
        try reader.close()
        scene.writer.side.announcer?.renewAttendance()
        for value: UInt64 in 3...6 { try scene.put(value) }
        #expect(scene.writer.isInArrears && held().isEmpty)
        eventually("never told") { !scene.writer.isInArrears }
        #expect(try values(scene.reader()) == values(scene.writer))
        try scene.put(7)
        #expect(held().isEmpty)
        try scene.writer.close()
    }

    @Test(
        "are seen by every process that opens the file, during further commits too",
        arguments: [Durability.full, .process])
    func whoeverComes(meanwhile: Durability) throws {
        let scene = try Scene()
        let isEnded = Atomic<Bool>(false)
        let acknowledged = Atomic<UInt64>(0)
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            #expect(throws: Never.self) {
                var value: UInt64 = 100
                while !isEnded.load(ordering: .relaxed) {
                    value += 5
                    // One in ten is durable in any case; the others follow without a pause.
                    let isFull = meanwhile == .full || value.isMultiple(of: 50)
                    try scene.put(value, isFull ? .full : meanwhile)
                    if isFull { acknowledged.store(value, ordering: .sequentiallyConsistent) }
                }
            }
        }
        eventually("nothing was committed") { acknowledged.load(ordering: .relaxed) > 100 }
        var longest = 0.0
        for _ in 0..<40 {
            let least = acknowledged.load(ordering: .sequentiallyConsistent)
            let start = Date()
            let reader = try scene.reader()
            longest = max(longest, -start.timeIntervalSinceNow)
            #expect(try values(reader)[0] >= least)
            // While the file is open, the reader sees later commits too.
            for _ in 0..<5 {
                let least = acknowledged.load(ordering: .sequentiallyConsistent)
                #expect(try values(reader)[0] >= least)
            }
            try reader.close()
            usleep(3000)
        }
        isEnded.store(true, ordering: .relaxed)
        group.wait()
        // No thread waited until its attempt would have been given up.
        #expect(longest < Double(Claim.gateMilliseconds) / 1000)
        try Toy.expectSound(scene.writer)
        try scene.writer.close()
    }

    @Test("are announced while the writer is in the middle of a transaction")
    func longTransaction() throws {
        let scene = try Scene()
        try scene.put(7)
        let transaction = try scene.writer.beginWrite()
        let reader = try scene.reader()
        #expect(try values(reader)[2] == 7)
        transaction.abort()
        try scene.put(12)
        #expect(try values(reader)[2] == 12)
        try reader.close()
        try scene.writer.close()
    }

    @Test("don't exist as long as a reader has the file open")
    func attended() throws {
        let scene = try Scene()
        let reader = try scene.reader()
        for value: UInt64 in 1...30 {
            try scene.put(value)
            #expect(try values(reader)[Int(value % 5)] == value)
            #expect(!scene.writer.isInArrears)
        }
        try reader.close()
        // The next commit notices that the reader has ended. Its pages may be written before the test looks.
        var value: UInt64 = 30
        eventually("pages are written with each commit still") {
            value += 1
            #expect(throws: Never.self) { try scene.put(value) }
            return scene.kept > 0
        }
        try scene.writer.close()
    }

    @Test("are announced while the thread for this waits for a transaction's end", arguments: [false, true])
    func busyThread(isInFlight: Bool) throws {
        let scene = try Scene()
        try scene.put(7)
        // A commit that is in the journal's buffer when the thread starts its work, and becomes visible then.
        let change = ToyChange(cell: 3, value: 8)
        let early = try scene.writer.beginWrite()
        try Toy.apply(change, early)
        let inFlight = try change.redo.withBytes { bytes throws(StorageError) in
            try early.beginCommit(redo: bytes, durability: .full)
        }
        if !isInFlight { try inFlight.wait() }
        let transaction = try scene.writer.beginWrite()
        scene.writer.worker.wake()
        eventually("the thread never began") { !scene.writer.worker.isReady }
        if isInFlight { try inFlight.wait() }
        let start = Date()
        let reader = try scene.reader()
        #expect(try values(reader)[2] == 7 && values(reader)[3] == 8)
        #expect(-start.timeIntervalSinceNow < 5)
        transaction.abort()
        try reader.close()
        try scene.writer.close()
    }

    @Test("are announced again if the medium refused that, without another commit", arguments: [true, false])
    func refusedTelling(isAwaited: Bool) throws {
        let scene = try Scene()
        eventually("never told") { !scene.writer.isInArrears }
        // Records are written through; the other writes fail.
        scene.disk.plan = SimulatedDisk.Plan(
            call: scene.disk.calls + 1, fault: .error(5), isLasting: true, operations: [.write])
        for value: UInt64 in 1...5 { try scene.put(value) }
        let calls = scene.disk.calls
        eventually("nobody tried to tell") { scene.disk.calls > calls }
        #expect(scene.writer.isInArrears)
        scene.disk.plan = nil
        if !isAwaited { eventually("nobody tried again") { !scene.writer.isInArrears } }
        let reader = try scene.reader()
        #expect(try values(reader) == values(scene.writer))
        #expect(!scene.writer.isInArrears)
        try reader.close()
        try scene.writer.close()
    }

    @Test("are announced even if the last one changed nothing")
    func emptyCommit() throws {
        let scene = try Scene(idle: 0)
        for value: UInt64 in 1...5 { try scene.put(value, .process) }
        usleep(50_000)
        try scene.writer.beginWrite().commit(redo: nil, durability: .full)
        let start = Date()
        let reader = try scene.reader()
        #expect(-start.timeIntervalSinceNow < 5)
        #expect(try values(reader).prefix(5) == [5, 1, 2, 3, 4])
        try reader.close()
        try scene.writer.close()
    }

    @Test("are announced to new readers later, if announcing to present ones failed")
    func refusedToReader() throws {
        let scene = try Scene()
        let first = try scene.reader()
        try scene.put(6)
        #expect(try values(first)[1] == 6)
        // Its pages are in the file; record and announcement come after another transaction has begun, so that the
        // turn for announcing it again is taken.
        let change = ToyChange(cell: 1, value: 11)
        let early = try scene.writer.beginWrite()
        try Toy.apply(change, early)
        let inFlight = try change.redo.withBytes { bytes throws(StorageError) in
            try early.beginCommit(redo: bytes, durability: .full)
        }
        let transaction = try scene.writer.beginWrite()
        scene.disk.plan = SimulatedDisk.Plan(
            call: scene.disk.calls + 1, fault: .error(5), isLasting: true, operations: [.write])
        try inFlight.wait()
        #expect(scene.writer.isInArrears)
        #expect(try values(first)[1] == 6)
        scene.disk.plan = nil
        let second = try scene.reader()
        #expect(try values(second)[1] == 11 && values(first)[1] == 11)
        transaction.abort()
        try first.close()
        try second.close()
        try scene.writer.close()
    }

    @Test("don't exist where the thread has ended")
    func endOfThread() throws {
        let scene = try Scene()
        for value: UInt64 in 1...5 { try scene.put(value) }
        scene.writer.worker.stop()
        #expect(!scene.writer.isInArrears && scene.kept == 0)
        try scene.put(6)
        #expect(!scene.writer.isInArrears)
        let reader = try scene.reader()
        #expect(try values(reader)[1] == 6)
        try reader.close()
        try scene.writer.close()
    }

    @Test("are announced by the next writer that can, if the first can't")
    func failedWrite() throws {
        let scene = try Scene(idle: 50)
        for value: UInt64 in 1...5 { try scene.put(value) }
        scene.disk.plan = SimulatedDisk.Plan(call: scene.disk.calls + 1, fault: .error(5))
        let reader = try scene.reader()
        scene.disk.plan = nil
        #expect(try values(reader) == values(scene.writer))
        try scene.put(6)
        #expect(try values(reader)[1] == 6)
        try reader.close()
        try scene.writer.close()
    }

    @Test("are recovered by the next process after the writer's death")
    func death() throws {
        let scene = try Scene()
        for value: UInt64 in 1...9 { try scene.put(value) }
        scene.process.kill()
        let reader = try scene.reader()
        #expect(try values(reader).prefix(5) == [5, 6, 7, 8, 9])
        try reader.close()
    }
}
