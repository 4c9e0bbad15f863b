// SPDX-License-Identifier: Apache-2.0
// The number of dirty pages, beside sets of pages: those of the newest state without those of the checkpoint.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Dirty pages")
struct DirtyPagesTests {
    /// The sectors of a state, by their page's number: as long as a checkpoint has a page, its place goes to no other.
    private func pages(_ store: PageStore) throws -> [UInt64: Int] {
        let view = try store.beginRead()
        defer { store.endRead(view) }
        return Dictionary(uniqueKeysWithValues: try Toy.read(view).pages.map { ($0.page, Int($0.sectors)) })
    }

    private func sectors(of state: [UInt64: Int], without other: [UInt64: Int]) -> Int {
        state.reduce(0) { other[$1.key] == nil ? $0 + $1.value : $0 }
    }

    private func randomChange(_ value: UInt64, _ random: inout SeededGenerator) -> ToyChange {
        ToyChange(cell: random.below(Toy.cells), value: value, longSectors: UInt32(random.below(4)))
    }

    @Test("are those of the newest state that the last checkpoint doesn't have, also beside a running one", .seeded)
    func model() throws {
        var random = SeededGenerator()
        let store = try Toy.open(SimulatedDisk())
        var durable = try pages(store)
        var running: (run: CheckpointRun, pages: [UInt64: Int])?
        var views: [PageView] = []
        for step: UInt64 in 1...600 {
            switch random.below(12) {
            case 0:
                if let (run, state) = running {
                    run.write(to: store)
                    _ = store.turn.take()
                    #expect(store.concludeRun() == nil)
                    store.turn.give()
                    (durable, running) = (state, nil)
                } else {
                    let state = try pages(store)
                    _ = store.turn.take()
                    running = try store.beginCheckpoint().map { ($0, state) }
                    store.turn.give()
                }
            case 1: views.append(try store.beginRead())
            case 2: if !views.isEmpty { store.endRead(views.remove(at: random.below(views.count))) }
            case 3: try store.writeUnwritten()
            case 4 where running == nil:
                try Toy.commit(randomChange(step, &random), to: store, large: true)
                durable = try pages(store)
            case 5:
                let writer = try store.beginWrite()
                try Toy.apply(randomChange(step, &random), writer)
                writer.abort()
            default: try Toy.commit(randomChange(step, &random), to: store)
            }
            let newest = try pages(store)
            try #require(store.side.dirtyPages.sectors == sectors(of: newest, without: durable), "step \(step)")
            let base = running?.pages ?? durable
            try #require(store.side.dirtyPages.newSectors == sectors(of: newest, without: base), "step \(step)")
        }
        for view in views { store.endRead(view) }
        if let (run, _) = running { run.write(to: store) }
        try store.checkpoint()
        #expect(store.side.dirtyPages.sectors == 0)
    }

    @Test("are the same after a commit by a checkpoint that failed, at whichever call")
    func failed() throws {
        var undone = 0
        for call in 0..<12 {
            let disk = try SimulatedDisk()
            let store = try Toy.open(disk)
            for cell in 0..<4 { try Toy.commit(ToyChange(cell: cell, value: 1), to: store) }
            try store.checkpoint()
            try Toy.commit(ToyChange(cell: 1, value: 2), to: store)
            let before = store.side.dirtyPages.sectors
            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .error(EIO))
            do throws(StorageError) {
                try Toy.commit(ToyChange(cell: 0, value: 3), to: store, large: true)
            } catch .failed {
                continue
            } catch {
                disk.plan = nil
                undone += 1
                #expect(store.statistics.dirtyBytes == UInt64(before) << FileFormat.sectorShift, "call \(call)")
                try Toy.commit(ToyChange(cell: 1, value: 4), to: store)
                #expect(store.side.dirtyPages.sectors == before, "call \(call)")
            }
        }
        #expect(undone > 0)
    }

    @Test("make a checkpoint due by their amount, not by how often they were written")
    func due() throws {
        var options = StoreOptions.withLargeRing
        options.checkpointDirtyBytes = 100_000
        let store = try Toy.open(SimulatedDisk(), options)
        let checkpoint = store.statistics.checkpoint
        for value: UInt64 in 1...40 {
            try Toy.commit(ToyChange(cell: 0, value: value, longSectors: 3), to: store)
            try store.writeUnwritten()
        }
        #expect(store.statistics.checkpoint == checkpoint)
        for cell in 1...4 { try Toy.commit(ToyChange(cell: cell, value: 1, longSectors: 3), to: store) }
        #expect(store.statistics.checkpoint > checkpoint)
    }
}
