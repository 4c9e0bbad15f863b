// SPDX-License-Identifier: Apache-2.0
// When shrinking is tried. HornbeamTreeTests tests its effect with trees, whose pages move.

import Testing

@testable import HornbeamPages

@Suite("Whether to shrink a file")
struct ShrinkingTests {
    @Test("depends on the greatest need at the last eight checkpoints of commits, once there were eight")
    func peaks() {
        var shrinking = Shrinking()
        for sectors: UInt64 in 1...7 {
            shrinking.note(peak: sectors * 100)
            #expect(shrinking.peak == nil)
        }
        shrinking.note(peak: 50)
        #expect(shrinking.peak == 700)
        // The peaks caused by shrinking itself don't count.
        shrinking.isUnderWay = true
        shrinking.note(peak: 10_000)
        shrinking.isUnderWay = false
        #expect(shrinking.peak == 700)
        for _ in 0..<7 { shrinking.note(peak: 60) }
        #expect(shrinking.peak == 60)
        shrinking.forgetPeaks()
        #expect(shrinking.peak == nil)
    }

    @Test("waits after a failure until the file holds an eighth less, or is an eighth longer")
    func failure() {
        var shrinking = Shrinking()
        #expect(shrinking.isWorthwhile(occupied: 800, sectors: 1600, isRead: false))
        shrinking.note(hasGained: false, occupied: 800, sectors: 1600, isRead: false)
        #expect(!shrinking.isWorthwhile(occupied: 800, sectors: 1600, isRead: false))
        #expect(!shrinking.isWorthwhile(occupied: 700, sectors: 1800, isRead: false))
        #expect(shrinking.isWorthwhile(occupied: 699, sectors: 1600, isRead: false))
        // The snapshot that prevented it may have ended.
        shrinking.note(hasGained: false, occupied: 800, sectors: 1600, isRead: true)
        #expect(!shrinking.isWorthwhile(occupied: 800, sectors: 1600, isRead: true))
        #expect(shrinking.isWorthwhile(occupied: 800, sectors: 1600, isRead: false))
        shrinking.note(hasGained: false, occupied: 800, sectors: 1600, isRead: false)
        #expect(shrinking.isWorthwhile(occupied: 800, sectors: 1801, isRead: false))
        shrinking.note(hasGained: true, occupied: 600, sectors: 900, isRead: false)
        #expect(shrinking.isWorthwhile(occupied: 800, sectors: 1600, isRead: false))
    }
}
