// SPDX-License-Identifier: Apache-2.0
// Commits that are pending together: they share a write-through, become visible in their order, and fail together.
// The tests call the two halves of a commit separately, so that the order of the threads' work is known.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("Pending commits")
struct GroupCommitTests {
    private func store() throws -> (SimulatedDisk, PageStore) {
        let disk = try SimulatedDisk()
        return (disk, try Toy.open(disk))
    }

    /// The first half of a commit, with the writer's turn.
    private func enter(
        _ value: UInt64, _ store: PageStore, _ durability: Durability = .full, padding: Int = 0
    ) throws -> PendingCommit {
        let change = ToyChange(cell: Int(value % 12), value: value, longSectors: 1, padding: padding)
        let writer = try store.beginWrite()
        try Toy.apply(change, writer)
        return try #require(try change.redo.withBytes { try writer.enter(redo: $0, durability: durability) })
    }

    private func values(_ store: PageStore) throws -> [UInt64] {
        try Toy.cells(of: store).map(\.value).filter { $0 > 0 }.sorted()
    }

    private func reopened(_ image: [UInt8]?) throws -> PageStore { try Toy.open(SimulatedDisk(image: image)) }

    @Test("share one write-through, and are visible only after it")
    func together() throws {
        let (disk, store) = try store()
        let calls = disk.operations.count { $0 == .writeThrough }
        let pending = try (1...5).map { try enter($0, store) }
        #expect(try values(store) == [])
        #expect(try values(reopened(disk.killedImage())) == [])
        try store.complete(pending[2])
        #expect(try values(store) == [1, 2, 3, 4, 5])
        for commit in pending { try store.complete(commit) }
        #expect(disk.operations.count { $0 == .writeThrough } == calls + 1)
        for seed: UInt64 in 1...5 { #expect(try values(reopened(disk.powerLossImage(seed: seed))) == [1, 2, 3, 4, 5]) }
        try Toy.expectSound(store)
    }

    @Test("are not overtaken by a commit with less durability")
    func order() throws {
        let (disk, store) = try store()
        let first = try enter(1, store, .full)
        let second = try enter(2, store, .none)
        #expect(try values(store) == [])
        try store.complete(second)
        #expect(try values(store) == [1, 2])
        #expect(try values(reopened(disk.powerLossImage(seed: 1))).first == 1)
        try store.complete(first)
    }

    @Test("with less durability become durable by a full one without changes", arguments: [Durability.process, .none])
    func barrier(_ durability: Durability) throws {
        let (disk, store) = try store()
        for value: UInt64 in 1...3 {
            try Toy.commit(ToyChange(cell: Int(value), value: value), to: store, durability)
        }
        let calls = disk.calls
        try store.beginWrite().commit(redo: nil, durability: .none)
        #expect(disk.calls == calls)
        try store.beginWrite().commit(redo: nil, durability: .full)
        // The records and their witness; the pages stay in memory.
        #expect(disk.operations[calls...] == [.writeThrough, .write])
        let after = disk.calls
        try store.beginWrite().commit(redo: nil, durability: .full)
        #expect(disk.calls == after)
        #expect(try values(reopened(disk.powerLossImage(seed: 3))) == [1, 2, 3])
    }

    @Test("in the kernel's cache stay usable when a full one without changes can't make them durable")
    func failedBarrier() throws {
        let (disk, store) = try store()
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store, .process)
        disk.plan = SimulatedDisk.Plan(
            call: disk.calls + 1, fault: .error(5), isLasting: true, operations: [.writeThrough])
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) {
                try store.beginWrite().commit(redo: nil, durability: .full)
            }
            if case .failed? = error { Issue.record("the store has failed: \(String(describing: error))") }
        }
        disk.plan = nil
        try store.beginWrite().commit(redo: nil, durability: .full)
        #expect(try values(reopened(disk.powerLossImage(seed: 3))) == [1])
    }

    @Test("fail together when their write fails, with the transaction on top of them; the store continues")
    func withdrawn() throws {
        for part in [0, 20_000] {
            let (disk, store) = try store()
            try Toy.commit(ToyChange(cell: 11, value: 100, longSectors: 3), to: store)
            try Toy.commit(ToyChange(cell: 10, value: 99, longSectors: 3), to: store, .none)
            let pending = try [1, 2].map { try enter($0, store, padding: part) }
            let writer = try store.beginWrite()
            try Toy.apply(ToyChange(cell: 1, value: 3, longSectors: 4), writer)
            disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.writeThrough])
            let cause = StorageError.io(operation: "writeThrough", path: disk.path, errno: EIO)
            for commit in pending { #expect(throws: cause) { try store.complete(commit) } }
            #expect(throws: cause) {
                try ToyChange(cell: 1, value: 3).redo.withBytes { try writer.commit(redo: $0, durability: .full) }
            }
            #expect(try values(store) == [99, 100])
            try Toy.expectSound(store)
            for image in [disk.killedImage()] + (1...8).map({ disk.powerLossImage(seed: $0) }) {
                #expect(try Set(values(reopened(image))).isSubset(of: [99, 100]))
            }
            try Toy.commit(ToyChange(cell: 2, value: 4), to: store)
            #expect(try values(store) == [4, 99, 100])
            for seed: UInt64 in 1...8 {
                let again = try reopened(disk.powerLossImage(seed: seed))
                #expect(try values(again) == [4, 99, 100])
                try Toy.expectSound(again)
            }
            try store.close()
            #expect(try values(reopened(disk.powerLossImage(seed: 1))) == [4, 99, 100])
        }
    }

    /// A transaction began on top of a pending commit, saw its changes, and changed nothing itself. Its commit
    /// returned at once: its caller acted on data that was discarded a moment later. Now its commit waits for the
    /// pending one, and fails with it.
    @Test(
        "fail together with a transaction without changes that has seen them",
        arguments: [Durability.full, .process, .none])
    func fallsWithItsBase(durability: Durability) throws {
        let (disk, store) = try store()
        let pending = try enter(1, store)
        let writer = try store.beginWrite()
        #expect(try Toy.read(writer.view).cells[1].value == 1)
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.writeThrough])
        let cause = StorageError.io(operation: "writeThrough", path: disk.path, errno: EIO)
        // This commit may be the first that waits, or the pending one may have failed already.
        #expect(throws: cause) { try writer.commit(redo: nil, durability: durability) }
        #expect(throws: cause) { try store.complete(pending) }
        let second = try enter(2, store)
        let late = try store.beginWrite()
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.writeThrough])
        #expect(throws: cause) { try store.complete(second) }
        #expect(throws: cause) { try late.commit(redo: nil, durability: durability) }
        #expect(try values(store) == [])
        try Toy.expectSound(store)
    }

    @Test("have their durability when a transaction without changes on top of them has returned")
    func waitsForItsBase() throws {
        let (disk, store) = try store()
        let pending = try enter(1, store)
        try store.beginWrite().commit(redo: nil, durability: .none)
        #expect(try values(store) == [1])
        #expect(try values(reopened(disk.powerLossImage(seed: 1))) == [1])
        try store.complete(pending)
    }

    @Test("with records that can't be undone stop the store: reopening shows the outcome")
    func notTakenBack() throws {
        let (disk, store) = try store()
        try Toy.commit(ToyChange(cell: 11, value: 100), to: store)
        let pending = try enter(1, store, padding: 20_000)
        disk.plan = SimulatedDisk.Plan(
            call: disk.calls + 1, fault: .error(EIO), isLasting: true, operations: [.writeThrough])
        let cause = StorageError.io(operation: "writeThrough", path: disk.path, errno: EIO)
        #expect(throws: StorageError.failed(cause: cause)) { try store.complete(pending) }
        #expect(throws: StorageError.failed(cause: cause)) { try store.beginWrite() }
        #expect(throws: StorageError.failed(cause: cause)) { try store.checkpoint() }
        #expect(try values(store) == [100])
        #expect(try [[100], [1, 100]].contains(values(reopened(disk.killedImage()))))
    }

    @Test("are all there or gone after a crash at any call, in their order")
    func everyCall() throws {
        var call = 1
        while true {
            let (disk, store) = try store()
            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .crash)
            var acknowledged: UInt64 = 0
            do {
                for group in 0..<4 {
                    let first = UInt64(group * 3 + 1)
                    let pending = try (first...first + 2).map { try enter($0, store, padding: group * 4000) }
                    for commit in pending {
                        try store.complete(commit)
                        acknowledged = commit.state.transaction
                    }
                    if group == 1 { try store.checkpoint() }
                }
            } catch is StorageError {}
            for seed: UInt64 in 1...4 {
                let again = try reopened(disk.powerLossImage(seed: seed &+ UInt64(call)))
                let found = again.statistics.transaction
                #expect(found >= acknowledged, "call \(call), seed \(seed)")
                #expect(try values(again) == Array(1...12).prefix(Int(found)).map { $0 }, "call \(call), seed \(seed)")
                try Toy.expectSound(again)
            }
            if !disk.hasCrashed { break }
            call += 1
        }
        #expect(call > 25)
    }

    /// The kernel reports a page that it could not write back only once, to the first caller that asks; then the page
    /// counts as clean. The first caller may be a failed write-through of the journal.
    @Test("that failed lose no page that was written before: the next checkpoint writes them again")
    func rewritten() throws {
        let (disk, store) = try store()
        for value: UInt64 in 1...6 {
            try Toy.commit(ToyChange(cell: Int(value), value: value, longSectors: 20), to: store)
        }
        disk.plan = SimulatedDisk.Plan(
            call: disk.calls + 1, fault: .error(EIO), isLasting: true, operations: [.writeThrough])
        #expect(throws: StorageError.self) { try Toy.commit(ToyChange(cell: 8, value: 8), to: store) }
        disk.plan = nil
        try store.checkpoint()
        for seed: UInt64 in 1...6 {
            let again = try reopened(disk.powerLossImage(seed: seed))
            #expect(try values(again) == [1, 2, 3, 4, 5, 6])
            try Toy.expectSound(again)
        }
    }

    @Test("that failed leave their numbers unused")
    func numbers() throws {
        let (disk, store) = try store()
        let pending = try [enter(1, store), enter(2, store)]
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.writeThrough])
        for commit in pending { #expect(throws: StorageError.self) { try store.complete(commit) } }
        disk.plan = nil
        let writer = try store.beginWrite()
        #expect(writer.birth > pending[1].state.transaction)
        writer.abort()
    }

    @Test("that failed may have lost a block of a long value: the next checkpoint reports that")
    func lostBlock() throws {
        let (disk, store) = try store()
        try Toy.commit(ToyChange(cell: 1, value: 1, longSectors: 40), to: store)
        let view = try store.beginRead()
        let long = try #require(try Toy.read(view).pages.first { $0.sectors == 40 })
        store.endRead(view)
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.writeThrough])
        #expect(throws: StorageError.self) { try Toy.commit(ToyChange(cell: 8, value: 8), to: store) }
        disk.plan = nil
        // The system has dropped the page, and reads the earlier content of its place.
        try [UInt8](repeating: 0, count: 4096).withBytes { try disk.write($0, at: (long.page + 30) * 4096) }
        #expect {
            try store.checkpoint()
        } throws: { error in
            guard case StorageError.failed(cause: .corrupt(let what)) = error else { return false }
            return what.page == long.page
        }
    }

    @Test("of eight threads need far fewer write-throughs than commits")
    func threads() throws {
        let slow = try SlowFile()
        let store = try Toy.open(slow)
        slow.isSlow.store(true, ordering: .relaxed)
        let before = slow.writeThroughs.load(ordering: .relaxed)
        // In separate threads: each commit blocks its thread, and there are only as many task threads as processors.
        let threads = (0..<8).map { number in
            Thread {
                for value: UInt64 in 1...20 {
                    let change = ToyChange(cell: number, value: value, longSectors: 1)
                    #expect(throws: Never.self) { try Toy.commit(change, to: store) }
                    let cells = try? Toy.cells(of: store)
                    #expect(cells?[number].value == value)
                }
            }
        }
        for thread in threads { thread.start() }
        while !threads.allSatisfy(\.isFinished) { usleep(1000) }
        let count = slow.writeThroughs.load(ordering: .relaxed) - before
        #expect(count <= 80, "\(count) write-throughs for 160 commits")
        #expect(try Toy.cells(of: store).prefix(8).allSatisfy { $0.value == 20 })
        try Toy.expectSound(store)
        #expect(try Toy.cells(of: reopened(slow.disk.powerLossImage(seed: 1))).prefix(8).allSatisfy { $0.value == 20 })
    }
}

/// A disk whose write-throughs take long enough for other commits to join.
private final class SlowFile: StoreFile {
    let disk: SimulatedDisk
    let isSlow = Atomic<Bool>(false)
    let writeThroughs = Atomic<Int>(0)

    init() throws(StorageError) { disk = try SimulatedDisk() }

    var path: String { disk.path }
    var isDurable: Bool { true }
    var mapping: Mapping? { disk.mapping }
    var maximumBytes: Int { disk.maximumBytes }
    func size() throws(StorageError) -> UInt64 { disk.size() }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
        try disk.read(into: buffer, at: offset)
    }
    func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError) { try disk.write(bytes, at: offset) }
    func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        writeThroughs.add(1, ordering: .relaxed)
        if isSlow.load(ordering: .relaxed) { usleep(10_000) }
        try disk.writeThrough(bytes, at: offset)
    }
    func startWriteBack(at offset: UInt64, count: UInt64) {}
    func sync() throws(StorageError) { try disk.sync() }
    func grow(to size: UInt64) throws(StorageError) { try disk.grow(to: size) }
    func shrink(to size: UInt64) throws(StorageError) { try disk.shrink(to: size) }
    func giveName() throws(StorageError) { try disk.giveName() }
    func close() { disk.close() }
}
