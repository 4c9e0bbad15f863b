// SPDX-License-Identifier: Apache-2.0
// A full disk: the operations that are refused and those that work, and how a store recovers.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A full disk")
struct FullDiskTests {
    /// Returns a store that can't grow, in which the long values of ten cells take `part` of the free space, and the
    /// number of sectors of each value.
    private func filled(_ part: Double) throws -> (disk: SimulatedDisk, store: PageStore, sectors: UInt32) {
        let disk = try SimulatedDisk(image: Toy.emptyFile())
        let store = try Toy.open(disk)
        disk.sizeLimit = disk.size()
        let sectors = UInt32(Double(store.side.space.freeSectors) * part / 10)
        try replace(store, value: 1, sectors: sectors)
        return (disk, store, sectors)
    }

    /// Replaces the values of ten cells in one transaction.
    private func replace(
        _ store: PageStore, value: UInt64, sectors: UInt32
    ) throws(StorageError) {
        let writer = try store.beginWrite()
        for cell in 0..<10 {
            try Toy.apply(ToyChange(cell: cell, value: value, longSectors: sectors), writer)
        }
        try writer.commit(redo: nil, durability: .full)
    }

    @Test("pages that only the last checkpoint reaches make room for the open transaction")
    func checkpointBeneath() throws {
        let (disk, store, sectors) = try filled(0.36)
        for value: UInt64 in 2...20 {
            try replace(store, value: value, sectors: sectors)
            // A transaction after the checkpoint replaces the checkpoint's pages.
            for cell in 0..<10 { try Toy.commit(ToyChange(cell: cell, value: value, longSectors: sectors), to: store) }
            try Toy.expectSound(store)
        }
        let cells = try Toy.cells(of: store)
        for image in [disk.powerLossImage(seed: 1), disk.killedImage()] {
            let again = try Toy.open(SimulatedDisk(image: image))
            #expect(try Toy.cells(of: again) == cells)
            try Toy.expectSound(again)
        }
    }

    @Test("a checkpoint beneath a transaction leaves out the pages that it has written early, and savepoints are kept")
    func earlyPages() throws {
        let (disk, store, sectors) = try filled(0.36)
        for cell in 0..<10 { try Toy.commit(ToyChange(cell: cell, value: 2, longSectors: sectors), to: store) }
        let checkpoint = store.side.header.checkpoint
        let before = try Toy.cells(of: store)
        let writer = try store.beginWrite()
        try Toy.apply(ToyChange(cell: 0, value: 10, longSectors: sectors), writer)
        try writer.spill()
        try writer.addSavepoint()
        for cell in 1..<10 { try Toy.apply(ToyChange(cell: cell, value: 11, longSectors: sectors), writer) }
        #expect(store.side.header.checkpoint > checkpoint)
        // A crash now leaves the earlier state, and every other place is free.
        let crashed = try Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 3)))
        #expect(try Toy.cells(of: crashed) == before)
        try Toy.expectSound(crashed)
        writer.rollBack(to: 0)
        writer.abort()
        try Toy.expectSound(store)
        #expect(try Toy.cells(of: store) == before)
        try replace(store, value: 12, sectors: sectors)
        try Toy.expectSound(store)
    }

    @Test("a snapshot keeps its pages through checkpoints beneath transactions")
    func snapshot() throws {
        let (_, store, sectors) = try filled(0.2)
        let before = try Toy.cells(of: store)
        let view = try store.beginRead()
        var beneath: UInt64 = 0
        var refused = 0
        for value: UInt64 in 2...10 {
            try store.checkpoint()
            let checkpoint = store.side.header.checkpoint
            for cell in 0..<10 {
                // Some are refused, because the pages held by the snapshot take the room.
                do { try Toy.commit(ToyChange(cell: cell, value: value, longSectors: sectors), to: store) } catch {
                    #expect(error == .full(path: store.file.path))
                    refused += 1
                }
            }
            beneath += store.side.header.checkpoint - checkpoint
        }
        #expect(beneath > 0)
        #expect(refused < 30, "\(refused) of 90")
        #expect(try Toy.read(view).cells == before)
        store.endRead(view)
        try Toy.expectSound(store)
    }

    @Test(
        "a crash at any call leaves a prefix of the commits, all that were acknowledged",
        arguments: SeededGenerator.seeds(2))
    func everyCall(seed: UInt64) throws {
        let empty = try Toy.emptyFile()
        var roomy = ToyScript(seed: seed, longest: 60)
        let elsewhere = try Toy.open(SimulatedDisk(image: empty))
        try roomy.run(40, on: elsewhere, stopsAtError: false)
        var call = 1
        var refusals = 0
        while true {
            let disk = try SimulatedDisk(image: empty)
            disk.sizeLimit = disk.size()
            disk.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            var script = ToyScript(seed: seed, longest: 60)
            let store = try Toy.open(disk)
            try script.run(40, on: store, stopsAtError: false)
            let comment = "seed \(seed), crash at call \(call)"
            for loss in 1...2 {
                let next = try SimulatedDisk(image: disk.powerLossImage(seed: UInt64(loss) &* 1000 &+ UInt64(call)))
                next.sizeLimit = disk.sizeLimit
                let again = try Toy.open(next)
                try script.expectPrefix(again, atLeast: script.durable, "\(comment), power loss \(loss)")
                try Toy.expectSound(again)
            }
            let again = try Toy.open(SimulatedDisk(image: disk.killedImage()))
            try script.expectPrefix(again, atLeast: max(script.durable, script.written), "\(comment), killed")
            if !disk.hasCrashed {
                refusals = script.errors.count
                // Some checkpoints were made because of the lack of room.
                #expect(store.side.header.checkpoint > elsewhere.side.header.checkpoint)
                break
            }
            call += 1
        }
        #expect(call > 50 && refusals < 20, "\(refusals) refused")
    }

    @Test("a full disk refuses only a transaction; with space again the store continues")
    func fullDisk() throws {
        let disk = try SimulatedDisk(image: Toy.emptyFile())
        let store = try Toy.open(disk)
        disk.sizeLimit = disk.size()
        var cells = try Toy.cells(of: store)
        var refusals = 0
        for value in 1...200 {
            let change = ToyChange(
                cell: value % Toy.cells, value: UInt64(value), longSectors: UInt32(value % 40),
                padding: value % 3 * 20_000)
            do {
                try Toy.commit(change, to: store, value % 5 == 0 ? .none : .full, large: value % 17 == 0)
                cells[change.cell] = ToyCell(value: change.value, longSectors: change.longSectors)
            } catch {
                #expect(error == .full(path: disk.path))
                refusals += 1
            }
            #expect(try Toy.cells(of: store) == cells)
        }
        #expect(refusals > 20 && refusals < 180)
        try Toy.expectSound(store)
        // All acknowledged commits can be recovered, and the store closed, on the same full disk.
        let full = try SimulatedDisk(image: disk.powerLossImage(seed: 9))
        full.sizeLimit = disk.sizeLimit
        let again = try Toy.open(full)
        try Toy.expectSound(again)
        try again.close()
        disk.sizeLimit = .max
        try Toy.commit(ToyChange(cell: 0, value: 9999, longSectors: 100), to: store)
        try store.close()
    }

    @Test("on a full disk a transaction leaves a checkpoint the space it needs", arguments: 0..<6)
    func reserve(offset: Int) throws {
        let disk = try SimulatedDisk(image: Toy.emptyFile())
        let store = try Toy.open(disk)
        disk.sizeLimit = disk.size()
        var refusals = 0
        for round in 0..<4 {
            for size in [120, 60, 30, 16, 8, 4, 2, 1, 1, 1, 1, 1] {
                let change = ToyChange(
                    cell: (size + round * 5) % Toy.cells, value: UInt64(size), longSectors: UInt32(size + offset))
                do { try Toy.commit(change, to: store, .none) } catch {
                    #expect(error == .full(path: disk.path))
                    refusals += 1
                }
            }
            try store.checkpoint()
            try Toy.expectSound(store)
        }
        #expect(refusals > 4)
    }
}
