// SPDX-License-Identifier: Apache-2.0
// Pages that the newest state no longer has but some pin still reaches. A page with (birth, death) is free when there
// is no pin p with birth <= p < death. Snapshots and the last durable checkpoint are pins alike: one rule for both.
//
// Each page belongs to the newest pin that holds it. Invariant: a pin added later is at least as new as
// every death recorded so far, so only the removal of that one pin can free the page or give it to a lower one.

struct RetiredPages {
    struct Page: Equatable {
        var run: SectorRun
        var birth: UInt64
    }

    /// A pin, and the pages that no newer pin holds.
    private struct Pin {
        var number: UInt64
        /// A number may be pinned several times.
        var count = 1
        var pages: [Page]
        /// Number of sectors of all these pages.
        var sectors: UInt64 = 0
    }

    /// The pins, ascending by number.
    private var pins: [Pin] = []

    /// Number of sectors of the pages that no pin newer than this one holds.
    func sectors(heldBy number: UInt64) -> UInt64 {
        let place = index(of: number)
        return place < pins.count && pins[place].number == number ? pins[place].sectors : 0
    }

    /// Number of sectors of the pages whose newest pin is one of these.
    func sectors(heldByAnyOf numbers: Set<UInt64>) -> UInt64 {
        if numbers.isEmpty { return 0 }
        return pins.reduce(0) { numbers.contains($1.number) ? $0 + $1.sectors : $0 }
    }

    mutating func pin(_ number: UInt64) {
        let place = index(of: number)
        if place < pins.count, pins[place].number == number {
            pins[place].count += 1
        } else {
            pins.insert(Pin(number: number, pages: []), at: place)
        }
    }

    /// Takes one pin of `number` away and passes every page that is free now to `release`.
    mutating func unpin(_ number: UInt64, release: (SectorRun) -> Void) {
        let place = index(of: number)
        precondition(place < pins.count && pins[place].number == number, "not pinned")
        pins[place].count -= 1
        guard pins[place].count == 0 else { return }
        for page in pins.remove(at: place).pages where !add(page, death: number) { release(page.run) }
    }

    /// Records a page that the state `death` and later ones don't have. Returns false if no pin holds it: it is free.
    mutating func add(_ page: Page, death: UInt64) -> Bool {
        let place = index(of: death)
        guard place > 0, pins[place - 1].number >= page.birth else { return false }
        pins[place - 1].pages.append(page)
        pins[place - 1].sectors += UInt64(page.run.count)
        return true
    }

    /// Undoes the `add`s of a transaction that fails. `number` is the pin of the state before it; it is the newest pin,
    /// so it holds no other pages.
    mutating func forget(heldBy number: UInt64) {
        let place = index(of: number)
        guard place < pins.count, pins[place].number == number else { return }
        pins[place].pages = []
        pins[place].sectors = 0
    }

    /// The first index whose pin is not below `number`.
    private func index(of number: UInt64) -> Int {
        var place = pins.count
        while place > 0, pins[place - 1].number >= number { place -= 1 }
        return place
    }
}
