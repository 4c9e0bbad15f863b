// SPDX-License-Identifier: Apache-2.0
// Pages that the newest state no longer has but some pin still reaches. A page with (birth, death) is free when no pin
// p with birth <= p < death exists; pins are snapshots and the last durable checkpoint alike, one rule for both.
//
// Each page lies in the bucket of the newest pin that holds it. Invariant: a pin added later is at least as new as
// every death recorded so far, so only the removal of that one pin can free the page or move it to a lower bucket.

struct RetiredPages {
    struct Page: Equatable {
        var run: SectorRun
        var birth: UInt64
    }

    /// Ascending; a number may be pinned several times.
    private var pins: [(number: UInt64, count: Int)] = []
    private var buckets: [UInt64: Bucket] = [:]

    private struct Bucket {
        var pages: [Page] = []
        /// Of all of them.
        var sectors: UInt64 = 0
    }

    /// Sectors of the pages that no pin newer than this one holds.
    func sectors(heldBy number: UInt64) -> UInt64 { buckets[number]?.sectors ?? 0 }

    mutating func pin(_ number: UInt64) {
        let place = index(of: number)
        if place < pins.count, pins[place].number == number {
            pins[place].count += 1
        } else {
            pins.insert((number, 1), at: place)
        }
    }

    /// Takes one pin of `number` away and hands every page that is free now to `release`.
    mutating func unpin(_ number: UInt64, release: (SectorRun) -> Void) {
        let place = index(of: number)
        precondition(place < pins.count && pins[place].number == number, "not pinned")
        pins[place].count -= 1
        guard pins[place].count == 0 else { return }
        pins.remove(at: place)
        guard let bucket = buckets.removeValue(forKey: number) else { return }
        for page in bucket.pages { settle(page, below: number, release: release) }
    }

    /// Records a page that the state `death` is the first not to have.
    mutating func add(_ page: Page, death: UInt64, release: (SectorRun) -> Void) {
        settle(page, below: death, release: release)
    }

    /// Undoes the `add`s of a transaction that does not happen after all; `number` is the pin of the state before it,
    /// the newest there is, so its bucket holds nothing else.
    mutating func forget(heldBy number: UInt64) { buckets[number] = nil }

    private mutating func settle(_ page: Page, below death: UInt64, release: (SectorRun) -> Void) {
        let place = index(of: death)
        guard place > 0, pins[place - 1].number >= page.birth else { return release(page.run) }
        let holder = pins[place - 1].number
        buckets[holder, default: Bucket()].pages.append(page)
        buckets[holder, default: Bucket()].sectors += UInt64(page.run.count)
    }

    /// The first place whose pin is not below `number`.
    private func index(of number: UInt64) -> Int {
        var place = pins.count
        while place > 0, pins[place - 1].number >= number { place -= 1 }
        return place
    }
}
