// SPDX-License-Identifier: Apache-2.0
// Invariants 1, 5 and 7 when space is short: the places of a checkpoint's own pages, and its end when there are none.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A checkpoint's plan")
struct CheckpointPlanTests {
    /// Returns a store whose disk can't grow, with exactly `left` free sectors, and the runs that were taken for
    /// that.
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

    @Test("avoids all pages of the former checkpoint, or gives up without a trace", arguments: 0...8)
    func tight(free: Int) throws {
        let (store, _) = try tightStore(free: free)
        let side = store.side
        let before = side.space
        let former = side.ownRuns
        var plan: CheckpointPlan?
        do {
            plan = try CheckpointPlan(side: side, journal: free % 2 == 0 ? .new(512) : .keep)
        } catch {
            #expect(error == .full(path: store.file.path))
            #expect(side.space.words == before.words)
            #expect(side.space.changedMaps == before.changedMaps)
        }
        // An aligned map page, and a sector for the directory.
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

    @Test("that runs out of space aborts the large transaction, and the store continues")
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

    /// Returns a store on a full disk that can't grow, in which every other sector is free, and `nodes` places of
    /// node pages. Also returns the sectors that were taken for that.
    private func fragmentedStore(pageSize: Int, nodes: Int) throws -> (PageStore, SimulatedDisk, [SectorRun]) {
        var options = StoreOptions.withLargeRing
        options.pageSize = pageSize
        options.checkpointBytes = 1 << 30
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk, options)
        for cell in 0..<Toy.cells { try Toy.commit(ToyChange(cell: cell, value: 1), to: store) }
        try store.checkpoint()
        let side = store.side
        var kept: [UInt64] = []
        for _ in 0..<nodes { kept.append(try side.takeNode(keeping: .checkpoint)) }
        disk.sizeLimit = disk.size()
        var fill: [SectorRun] = []
        while let start = side.space.takeRun(1) { fill.append(SectorRun(start: start, count: 1)) }
        for run in fill where run.start % 2 == 1 { side.space.release(run) }
        fill.removeAll { $0.start % 2 == 1 }
        for page in kept { side.space.release(SectorRun(start: page, count: UInt32(side.space.pageSectors))) }
        return (store, disk, fill)
    }

    @Test(
        "always has its places on a full and fragmented disk: transactions leave them, recovery too",
        arguments: [8192, 16_384, 65_536])
    func fragmented(pageSize: Int) throws {
        let (store, disk, fill) = try fragmentedStore(pageSize: pageSize, nodes: 12)
        var generator = SeededGenerator()
        var refused = 0
        var done = 0
        for value: UInt64 in 2...120 {
            let change = ToyChange(
                cell: generator.below(Toy.cells), value: value, longSectors: UInt32(generator.below(2)))
            do {
                try Toy.commit(change, to: store)
                done += 1
            } catch {
                #expect(error == .full(path: store.file.path))
                refused += 1
            }
            if refused > 0, generator.oneIn(3) { try store.checkpoint() }
            guard value % 8 == 0 else { continue }
            let again = try SimulatedDisk(image: disk.powerLossImage(seed: value))
            again.sizeLimit = again.size()
            #expect(try Toy.cells(of: Toy.open(again)) == Toy.cells(of: store))
        }
        #expect(refused > 0 && done > 20, "\(refused) refused, \(done) done")
        try store.checkpoint()
        for run in fill { store.side.space.release(run) }
        try Toy.expectSound(store)
    }

    @Test(
        "finds its places: transactions and recovery leave enough node pages free",
        arguments: [8192, 16_384])
    func reserves(pageSize: Int) throws {
        let (store, _, _) = try fragmentedStore(pageSize: pageSize, nodes: 12)
        let space = store.side.space
        #expect(space.freeNodes >= 12 && space.freeSectors > 12 * space.pageSectors + 50)
        // A map page, a directory, and one more of each in case they grow.
        while (try? store.side.takeNode(keeping: .transaction)) != nil {}
        #expect(store.side.space.freeNodes > 6)
        for (reserve, left) in [(SpaceReserve.freeing, 6), (.recovery, 3), (.checkpoint, 0)] {
            while (try? store.side.takeNode(keeping: reserve)) != nil {}
            #expect(store.side.space.freeNodes == left, "\(reserve)")
        }
    }

    @Test("leaves every sector between its places to short runs", arguments: [8192, 16_384])
    func everySector(pageSize: Int) throws {
        let (store, _, _) = try fragmentedStore(pageSize: pageSize, nodes: 12)
        while (try? store.side.takeRun(1, keeping: .freeing)) != nil {}
        let space = store.side.space
        #expect(space.freeNodes == 6 && space.freeSectors == 6 * space.pageSectors)
    }

    @Test("leaves free places of node pages to them while a short run fits between")
    func sparing() {
        var space = SpaceMap(pageSize: 16_384)
        space.grow(to: 256)
        space.take(SectorRun(start: 0, count: 256))
        #expect(space.freeNodes == 0)
        // A place of a node page, then two sectors and three.
        space.release(SectorRun(start: 8, count: 6))
        space.release(SectorRun(start: 17, count: 3))
        #expect(space.freeNodes == 1)
        #expect(space.takeRun(3, .lowestSparingNodes) == 17)
        #expect(space.takeRun(2, .lowestSparingNodes) == 12)
        #expect(space.takeRun(1, .lowestSparingNodes) == nil)
        #expect(space.freeNodes == 1)
        #expect(space.takeRun(1) == 8)
        #expect(space.freeNodes == 0)
    }

    @Test("moves only the parts of the space map that changed")
    func onlyChanges() throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk, options)
        // 128 MiB and more: a second map page.
        try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 34_000), to: store, large: true)
        #expect(store.side.spaceMaps.count == 2)
        // Once the hot pages have left the first part, its map page stays in its place.
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

    @Test("is due while two more large records may not fit, and then keeps a ring of which less than half was used")
    func largeRecords() throws {
        for (size, commits, isGrown) in [(300_000, 2, true), (450_000, 1, false)] {
            let store = try Toy.open(try SimulatedDisk(), .withLargeRing)
            let (checkpoint, capacity) = (store.statistics.checkpoint, store.statistics.journalCapacityBytes)
            for value in 1...commits {
                #expect(store.statistics.checkpoint == checkpoint)
                try Toy.commit(ToyChange(cell: 0, value: UInt64(value), padding: size), to: store)
            }
            #expect(store.statistics.checkpoint > checkpoint)
            #expect((store.statistics.journalCapacityBytes > capacity) == isGrown)
        }
    }

    @Test("doubles a journal that has filled up by itself, but not one whose checkpoint was requested early")
    func journalGrowth() throws {
        for asked in [0, 100_000] {
            var options = StoreOptions.withLargeRing
            options.checkpointBytes = asked
            let disk = try SimulatedDisk()
            let store = try Toy.open(disk, options)
            for value in 1...70 {
                try Toy.commit(ToyChange(cell: value % 9, value: UInt64(value), padding: 30_000), to: store)
                #expect(store.statistics.journalBytes <= store.statistics.journalCapacityBytes / 4 * 3)
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
