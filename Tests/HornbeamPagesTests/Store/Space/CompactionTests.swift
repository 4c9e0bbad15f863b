// SPDX-License-Identifier: Apache-2.0
// The page layer's part of a compaction; HornbeamTreeTests tests whole compactions with trees.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Cutting a file off")
struct CompactionTests {
    @Test("at closing keeps a 128th of the used size, in whole extents, and needs more than twice that free")
    func keptEnd() {
        let extent = FileFormat.extentSectors
        // With 300 extents in use, two are kept.
        let used = 300 * extent
        #expect(PageStore.keptEnd(used, of: used) == nil)
        #expect(PageStore.keptEnd(used, of: used + 4 * extent) == nil)
        #expect(PageStore.keptEnd(used, of: used + 5 * extent) == used + 2 * extent)
        #expect(PageStore.keptEnd(used, of: 3 * used) == used + 2 * extent)
        // With few extents in use none is kept, and a cut by one extent isn't worth the work.
        for used in [2, 3, 100, 127].map({ $0 * extent }) {
            #expect(PageStore.keptEnd(used, of: used + extent) == nil)
            #expect(PageStore.keptEnd(used, of: used + 2 * extent) == used)
        }
    }

    @Test("happens once: opening, writing a little and closing repeatedly leaves its size unchanged")
    func writingALittle() throws {
        var disk = try SimulatedDisk()
        var store = try Toy.open(disk)
        for cell in 0..<8 { try Toy.commit(ToyChange(cell: cell, value: 1, longSectors: 1000), to: store) }
        try store.close()
        var sizes = [disk.size()]
        var (value, grown) = (UInt64(1), 0)
        for _ in 0..<10 {
            disk = try SimulatedDisk(image: disk.killedImage())
            store = try Toy.open(disk)
            // 600 KiB of pages each time, few of them in use.
            for _ in 0..<40 {
                value += 1
                try Toy.commit(ToyChange(cell: 8 + Int(value % 4), value: value), to: store)
            }
            if disk.size() > sizes[sizes.count - 1] { grown += 1 }
            try store.close()
            sizes.append(disk.size())
            #expect(try Toy.cells(of: try Toy.open(SimulatedDisk(image: disk.killedImage())))[8].longSectors == 0)
        }
        #expect(grown <= 1 && Set(sizes).count <= 2, "\(grown) times, \(sizes)")
        // Long values of 8,000 sectors, the beginning of the file, and two extents that are partly used or free.
        let used = 8_000 + 2 * FileFormat.extentSectors
        #expect(sizes[0] <= 4096 * (used + 2 * FileFormat.extentSectors), "\(sizes)")
    }

    /// The checkpoint of a cut had to grow the file for its own pages, and failed. The file kept its length, but
    /// readers had got the planned end: pages written beyond it later were reported as corrupt. Now they get the old
    /// size again.
    @Test("that fails leaves readers the whole file")
    func failedCut() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        let long = ToyChange(cell: 1, value: 1, longSectors: 2000)
        try Toy.commit(long, to: store)
        try Toy.commit(ToyChange(cell: 1, value: 2), to: store)
        try store.checkpoint()
        try store.checkpoint()
        let side = store.side
        let end = side.space.usedEnd
        let former = side.space.sectorCount
        try #require(end < former)
        // No room below the cut.
        let fill = side.space.freeRuns().flatMap { (run) -> [SectorRun] in
            run.start < end ? [SectorRun(start: run.start, count: UInt32(min(run.end, end) - run.start))] : []
        }
        for run in fill { side.space.take(run) }
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.write])
        #expect(throws: StorageError.self) { try store.cutTail() }
        disk.plan = nil
        for run in fill { side.space.release(run) }
        #expect(store.verification.sectorCount == former)
        try Toy.commit(long, to: store)
        #expect(try Toy.cells(of: store)[1].value == 1)
        try Toy.expectSound(store)
    }
}
