// SPDX-License-Identifier: Apache-2.0
// Invariants 1, 5 and 7 when space is short: where a checkpoint puts its own pages, and what is left when it can't.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A checkpoint's plan")
struct CheckpointPlanTests {
    /// A store whose disk can't grow, with exactly `left` sectors free, and the runs that were taken for that.
    private func tightStore(free left: Int) throws -> (PageStore, [SectorRun]) {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...5 { try Toy.commit(ToyChange(cell: Int(value), value: value), to: store) }
        disk.sizeLimit = disk.size()
        var fill: [SectorRun] = []
        while store.side.space.freeSectors > left, let start = store.side.space.takeRun(1) {
            fill.append(SectorRun(start: start, count: 1))
        }
        return (store, fill)
    }

    @Test("keeps clear of what the former checkpoint reaches, or gives up without a trace", arguments: 0...8)
    func tight(free: Int) throws {
        let (store, _) = try tightStore(free: free)
        let side = store.side
        let before = side.space
        let former = side.ownRuns
        var plan: CheckpointPlan?
        do {
            plan = try CheckpointPlan(side: side, journal: free % 2 == 0 ? .grow : .none)
        } catch {
            #expect(error == .full(path: store.file.path))
            #expect(side.space.live == before.live && side.space.held == before.held)
            #expect(side.space.changedMaps == before.changedMaps)
        }
        // One map page, aligned, and one sector for the directory.
        if free < 3 { #expect(plan == nil) }
        guard let plan else { return }
        let new =
            [SectorRun(start: plan.directory.page, count: plan.directorySectors)]
            + plan.maps.map { SectorRun(start: $0.page, count: 2) }
        for run in new {
            for old in former { #expect(run.end <= old.start || old.end <= run.start, "\(run) over \(old)") }
        }
        #expect(plan.dropped.count == 2)
    }

    @Test("that runs out of space aborts the large transaction, and the store goes on")
    func largeTransaction() throws {
        let (store, fill) = try tightStore(free: 60)
        let cells = try Toy.cells(of: store)
        let writer = try store.beginWrite()
        try Toy.apply(ToyChange(cell: 1, value: 77, longSectors: 3), writer)
        var more: [SectorRun] = []
        while let start = store.side.space.takeRun(1) { more.append(SectorRun(start: start, count: 1)) }
        #expect(throws: StorageError.full(path: store.file.path)) {
            try writer.commit(redo: nil, durability: .full)
        }
        #expect(try Toy.cells(of: store) == cells)
        for run in more + fill { store.side.space.release(run) }
        try Toy.expectSound(store)
        try Toy.commit(ToyChange(cell: 1, value: 78, longSectors: 3), to: store, large: true)
        #expect(try Toy.cells(of: store)[1] == ToyCell(value: 78, longSectors: 3))
        try Toy.expectSound(store)
    }

    @Test("moves only the parts of the space map that changed")
    func onlyChanges() throws {
        var options = StoreOptions()
        options.pageSize = 4096
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk, options)
        // 128 MiB and more: a second map page.
        try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 34_000), to: store, large: true)
        #expect(store.side.spaceMaps.count == 2)
        // Once the hot pages have left the first part, its page stays where it is.
        var kept = 0
        for value: UInt64 in 2...7 {
            let before = store.side.spaceMaps
            try Toy.commit(ToyChange(cell: 1, value: value), to: store)
            try store.checkpoint()
            kept += zip(before, store.side.spaceMaps).count { $0 == $1 }
        }
        #expect(kept > 0)
        try Toy.expectSound(store)
        let cells = try Toy.cells(of: store)
        try store.close()
        let again = try Toy.open(SimulatedDisk(image: disk.killedImage()))
        #expect(try Toy.cells(of: again) == cells)
        try Toy.expectSound(again)
    }

    @Test("doubles a journal that filled up by itself, and none that was asked for early")
    func journalGrowth() throws {
        for asked in [0, 100_000] {
            var options = StoreOptions()
            options.checkpointBytes = asked
            let disk = try SimulatedDisk()
            let store = try Toy.open(disk, options)
            for value in 1...70 {
                try Toy.commit(ToyChange(cell: value % 9, value: UInt64(value), padding: 30_000), to: store)
                #expect(store.statistics.journalBytes <= store.statistics.journalCapacityBytes / 2)
            }
            #expect(store.statistics.journalCapacityBytes == (asked > 0 ? 1 << 20 : 4 << 20))
            #expect(store.maximumRedoSize == Int(store.statistics.journalCapacityBytes) / 2 - 64)
            try Toy.expectSound(store)
            let again = try Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 1)))
            #expect(try Toy.cells(of: again) == Toy.cells(of: store))
            try Toy.expectSound(again)
        }
    }
}
