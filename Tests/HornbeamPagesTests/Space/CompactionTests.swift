// SPDX-License-Identifier: Apache-2.0
// The page layer's part of a compaction; the whole of it is proved with trees (HornbeamTreeTests).

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Cutting a file off")
struct CompactionTests {
    @Test("when it is closed leaves a thirty-second of what is used and waits for a sixteenth, in whole extents")
    func keptEnd() {
        let extent = FileFormat.extentSectors
        // 100 extents in use: a sixteenth is 6 1/4, a thirty-second 3 1/8.
        let used = 100 * extent
        #expect(PageStore.keptEnd(used, of: used) == nil)
        #expect(PageStore.keptEnd(used, of: used + 6 * extent) == nil)
        #expect(PageStore.keptEnd(used, of: used + 6 * extent + extent / 4) == nil)
        #expect(PageStore.keptEnd(used, of: used + 7 * extent) == 104 * extent)
        #expect(PageStore.keptEnd(used, of: 3 * used) == 104 * extent)
        // Of little two extents, and one stays.
        #expect(PageStore.keptEnd(3 * extent, of: 5 * extent) == nil)
        #expect(PageStore.keptEnd(3 * extent, of: 6 * extent) == 4 * extent)
        #expect(PageStore.keptEnd(3 * extent + 1, of: 6 * extent) == 4 * extent + 1)
    }

    /// The checkpoint of a cut had to grow the file for its own pages, and failed then. The file was as long as before,
    /// but readers had been told that it ends where the cut was to be: what was written behind that later was called
    /// corrupt. Now they are told the size again.
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
