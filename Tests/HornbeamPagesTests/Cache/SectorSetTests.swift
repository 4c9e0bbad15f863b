// SPDX-License-Identifier: Apache-2.0
// The set of sectors against a plain set of numbers.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A set of sectors")
struct SectorSetTests {
    @Test("has the content of a plain set, and returns it in ascending runs", .seeded)
    func model() {
        var random = SeededGenerator()
        var set = SectorSet()
        var model: Set<UInt64> = []
        for _ in 0..<3000 {
            let run = SectorRun(
                start: UInt64(random.below(20_000)), count: UInt32(1 + random.below(random.oneIn(20) ? 9000 : 80)))
            let sectors = run.start..<run.end
            switch random.below(3) {
            case 0:
                set.insert(run)
                model.formUnion(sectors)
            case 1:
                set.remove(run)
                model.subtract(sectors)
            default: #expect(set.contains(run) == sectors.allSatisfy(model.contains))
            }
            #expect(set.count == model.count)
            if random.oneIn(100) { #expect(self.sectors(of: set) == model.sorted()) }
        }
    }

    @Test("adds another set", .seeded)
    func union() {
        var random = SeededGenerator()
        var sets = [SectorSet(), SectorSet(), SectorSet()]
        var model: Set<UInt64> = []
        for index in 1...2 {
            for _ in 0..<50 {
                let run = SectorRun(start: UInt64(random.below(30_000)), count: UInt32(1 + random.below(100)))
                sets[index].insert(run)
                model.formUnion(run.start..<run.end)
            }
            sets[0].formUnion(sets[index])
        }
        #expect(sectors(of: sets[0]) == model.sorted())
    }

    private func sectors(of set: SectorSet) -> [UInt64] {
        var sectors: [UInt64] = []
        set.forEachRun { sectors += $0.start..<$0.end }
        return sectors
    }
}
