// SPDX-License-Identifier: Apache-2.0
// The file of a store with little in it: it begins small, grows by little, and is as safe as any other.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A small file")
struct SmallFileTests {
    private func change(_ random: inout SeededGenerator, _ value: UInt64) -> ToyChange {
        ToyChange(cell: random.below(8), value: value, longSectors: UInt32(random.oneIn(4) ? random.below(6) : 0))
    }

    @Test("is less than 200 KiB at first and grows in steps", .seeded)
    func steps() throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk, StoreOptions())
        #expect(disk.size() < 200 << 10)
        var sizes: [UInt64] = [disk.size()]
        for value: UInt64 in 1...400 {
            let long = UInt32(value / 16)
            try Toy.commit(ToyChange(cell: random.below(8), value: value, longSectors: long), to: store)
            if disk.size() != sizes.last { sizes.append(disk.size()) }
            try Toy.expectSound(store)
        }
        // Sizes before the journal grows with the records: its steps are larger.
        let small = sizes.filter { $0 < 400 << 10 }
        #expect(small.count > 2 && sizes.count > small.count, "\(sizes)")
        for (size, next) in zip(small, small.dropFirst()) { #expect(next <= size + size / 2, "\(sizes)") }
        for size in sizes { #expect(FileFormat.fileSectors(within: size / 4096) == size / 4096) }
        let cells = try Toy.cells(of: store)
        try store.close()
        #expect(try Toy.cells(of: Toy.open(SimulatedDisk(image: disk.killedImage()))) == cells)
    }

    @Test("is whole wherever a crash cuts it, and so is its first larger ring", .seeded)
    func crashes() throws {
        let empty = try SimulatedDisk()
        try Toy.open(empty, StoreOptions()).close()
        let image = try #require(empty.killedImage())
        for call in 1... {
            var random = SeededGenerator()
            let disk = try SimulatedDisk(image: image)
            disk.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            var acknowledged: UInt64 = 0
            var states: [[ToyCell]] = []
            do {
                let store = try Toy.open(disk, StoreOptions())
                states.append(try Toy.cells(of: store))
                for value: UInt64 in 1...40 {
                    try Toy.commit(change(&random, value), to: store)
                    acknowledged = value
                    states.append(try Toy.cells(of: store))
                }
                try store.close()
            } catch {}
            for image in [disk.killedImage(), disk.powerLossImage(seed: UInt64(call))] {
                let again = try Toy.open(SimulatedDisk(image: image), StoreOptions())
                try Toy.expectSound(again)
                let cells = try Toy.cells(of: again)
                let newest = Int(again.statistics.transaction)
                #expect(newest >= Int(acknowledged), "call \(call)")
                if newest < states.count { #expect(cells == states[newest], "call \(call)") }
                try Toy.commit(ToyChange(cell: 1, value: 99), to: again)
                try again.close()
            }
            if disk.calls < call { break }
        }
    }

    @Test("keeps its length when a transaction that made it grow fails", .seeded)
    func abortedGrowth() throws {
        let disk = try SimulatedDisk()
        try Toy.open(disk, StoreOptions()).close()
        let image = disk.killedImage()
        let store = try Toy.open(disk, StoreOptions())
        let size = disk.size()
        let writer = try store.beginWrite()
        try Toy.apply(ToyChange(cell: 1, value: 1, longSectors: 300), writer)
        #expect(disk.size() > size)
        writer.abort()
        try store.close()
        #expect(disk.killedImage() == image)
    }
}
