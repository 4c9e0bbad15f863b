// SPDX-License-Identifier: Apache-2.0
// Invariants 1 and 2: the buckets of retired pages compared with the rule itself, for every page after every step.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Retired pages")
struct RetiredPagesTests {
    @Test("are free exactly when no pin is between birth and death", arguments: SeededGenerator.seeds(30))
    func againstTheRule(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var retired = RetiredPages()
        var pins: [UInt64] = []
        var waiting: [(page: RetiredPages.Page, death: UInt64)] = []
        var transaction: UInt64 = 1
        var next: UInt64 = 0
        for _ in 0..<300 {
            var freed: [SectorRun] = []
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                // Only the newest state can be pinned.
                retired.pin(transaction)
                pins.append(transaction)
            case 1:
                guard let index = pins.indices.randomElement(using: &generator) else { continue }
                retired.unpin(pins.remove(at: index)) { freed.append($0) }
            default:
                transaction += UInt64.random(in: 0...1, using: &generator)
                let birth = UInt64.random(in: 1...transaction, using: &generator)
                let page = RetiredPages.Page(run: SectorRun(start: next, count: 1), birth: birth)
                next += 1
                waiting.append((page, transaction + 1))
                transaction += 1
                if !retired.add(page, death: transaction) { freed.append(page.run) }
            }
            let free = waiting.filter { entry in
                !pins.contains { entry.page.birth <= $0 && $0 < entry.death }
            }
            #expect(Set(freed) == Set(free.map(\.page.run)), "seed \(seed)")
            waiting.removeAll { entry in freed.contains(entry.page.run) }
            let held = Set(pins).reduce(0) { $0 + retired.sectors(heldBy: $1) }
            #expect(held == UInt64(waiting.count))
        }
    }
}
