// SPDX-License-Identifier: Apache-2.0
// A store's statistics: the bytes that the medium may lack, the bytes that the writer keeps in memory, and the
// holders of retired pages.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A store's figures")
struct StatisticsTests {
    private let disk: SimulatedDisk
    private let store: PageStore
    /// The bytes of a change: the root, a leaf, and a long value of three sectors.
    private static let changeBytes: UInt64 = 2 * 8192 + 3 * 4096

    init() throws {
        disk = try SimulatedDisk()
        store = try Toy.open(disk)
    }

    private func change(_ value: UInt64) throws {
        try Toy.commit(ToyChange(cell: 0, value: value, longSectors: 3), to: store)
    }

    @Test("count pages as dirty from their commit to the end of a checkpoint that has them")
    func dirty() throws {
        #expect(store.statistics.dirtyBytes == 0)
        try change(1)
        // Pages only in memory are dirty, too.
        #expect(store.statistics.dirtyBytes == Self.changeBytes)
        try store.writeUnwritten()
        // In the place of the same pages: only the newest state's count.
        try change(2)
        #expect(store.statistics.dirtyBytes == Self.changeBytes)
        try store.checkpoint()
        #expect(store.statistics.dirtyBytes == 0)
    }

    @Test("count pages of later commits as dirty after a checkpoint that ran meanwhile")
    func dirtyBesideCheckpoint() throws {
        try change(1)
        _ = store.turn.take()
        let run = try #require(try store.beginCheckpoint())
        store.turn.give()
        try change(2)
        try store.writeUnwritten()
        #expect(store.statistics.dirtyBytes == Self.changeBytes)
        #expect(store.side.dirtyPages.newSectors << FileFormat.sectorShift == Int(Self.changeBytes))
        run.write(to: store)
        _ = store.turn.take()
        let problem = store.concludeRun()
        store.turn.give()
        #expect(problem == nil)
        #expect(store.statistics.dirtyBytes == Self.changeBytes)
        try store.checkpoint()
        #expect(store.statistics.dirtyBytes == 0)
    }

    @Test("count pages as dirty after a checkpoint that failed")
    func dirtyAfterFailure() throws {
        try change(1)
        disk.plan = SimulatedDisk.Plan(call: disk.calls, fault: .error(EIO))
        #expect(throws: StorageError.self) { try store.checkpoint() }
        #expect(store.statistics.dirtyBytes == Self.changeBytes)
        disk.plan = nil
        try store.checkpoint()
        #expect(store.statistics.dirtyBytes == 0)
    }

    @Test("report the open transaction's memory until it is spilled, committed or aborted")
    func writer() throws {
        #expect(store.statistics.writerBytes == 0)
        let writer = try store.beginWrite()
        try Toy.apply(ToyChange(cell: 0, value: 1, longSectors: 3), writer)
        #expect(store.statistics.writerBytes == Self.changeBytes)
        try writer.spill()
        #expect(store.statistics.writerBytes == 0)
        try Toy.apply(ToyChange(cell: 1, value: 1), writer)
        #expect(store.statistics.writerBytes > 0)
        writer.abort()
        #expect(store.statistics.writerBytes == 0)
    }

    @Test("distinguish retired pages held by the checkpoint from those held by snapshots")
    func retired() throws {
        try change(1)
        try store.checkpoint()
        try change(2)
        #expect(store.statistics.retiredBytes >= Self.changeBytes)
        #expect(store.statistics.checkpointRetiredBytes == Self.changeBytes)
        #expect(store.statistics.snapshotBytes == 0)
        let view = try store.beginRead()
        try change(3)
        let former = store.statistics
        #expect(former.checkpointRetiredBytes == Self.changeBytes)
        #expect(former.snapshotBytes == Self.changeBytes)
        #expect(former.retiredBytes >= 2 * Self.changeBytes)
        store.endRead(view)
        try store.checkpoint()
        try change(4)
        #expect(store.statistics.checkpointRetiredBytes == Self.changeBytes)
        #expect(store.statistics.snapshotBytes == 0)
    }

    @Test("in memory have no figures of a medium")
    func inMemory() throws {
        let store = try Toy.open(MemoryFile())
        try Toy.commit(ToyChange(cell: 0, value: 1), to: store)
        #expect(store.statistics.dirtyBytes == 0)
        #expect(store.statistics.usedBytes > 0)
    }
}
