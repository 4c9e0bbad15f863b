// SPDX-License-Identifier: Apache-2.0
// A hash table of cached pages by page number. Any thread reads it without a lock; changes need the cache's lock. A
// reader during a change may miss a page that is there, and then looks again with the lock. It never finds an invalid
// entry, because addresses of entries stay valid for the life of the cache.

import Synchronization

/// The table's slots, in which views look up pages without counting references: the cache outlives them.
struct CacheSlots: @unchecked Sendable {
    // Sendable: slots are atomics; the rest is constant.
    fileprivate let slots: UnsafeMutablePointer<Atomic<UInt>>
    fileprivate let mask: Int

    @inline(__always)
    fileprivate func home(_ number: UInt64) -> Int {
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 24) & mask
    }

    @inline(__always)
    fileprivate func page(_ place: Int) -> CachedPage? {
        CachedPage(bitPattern: slots[place].load(ordering: .acquiring))
    }

    /// Returns the page's entry, without a pin.
    @inline(__always)
    func find(_ number: UInt64) -> CachedPage? {
        var place = home(number)
        // Bounded, because the table may change under a reader.
        for _ in 0...mask {
            guard let page = page(place) else { return nil }
            if page.pointee.number.load(ordering: .relaxed) == number { return page }
            place = (place &+ 1) & mask
        }
        return nil
    }
}

/// Open addressing with linear probing, at most half full; removal closes the gap.
struct CacheTable: Sendable {
    private let memory: Mapping
    let lookup: CacheSlots

    private var slots: UnsafeMutablePointer<Atomic<UInt>> { lookup.slots }
    private var mask: Int { lookup.mask }

    init(pages: Int) throws(StorageError) {
        var count = 128
        while count < pages * 2 { count *= 2 }
        let bytes = count * MemoryLayout<UInt>.size
        memory = try Mapping(descriptor: -1, wanted: bytes, minimum: bytes, path: "page cache")
        // The memory is zeroed, and `Atomic<UInt>` has the layout of its value.
        lookup = CacheSlots(slots: memory.base.assumingMemoryBound(to: Atomic<UInt>.self), mask: count - 1)
    }

    private func home(_ number: UInt64) -> Int { lookup.home(number) }
    private func page(_ place: Int) -> CachedPage? { lookup.page(place) }

    /// Returns the page's entry, without a pin.
    func find(_ number: UInt64) -> CachedPage? { lookup.find(number) }

    func insert(_ page: CachedPage) {
        var place = home(page.pointee.number.load(ordering: .relaxed))
        while slots[place].load(ordering: .relaxed) != 0 { place = (place + 1) & mask }
        slots[place].store(UInt(bitPattern: page), ordering: .releasing)
    }

    func remove(_ page: CachedPage) {
        var gap = home(page.pointee.number.load(ordering: .relaxed))
        while self.page(gap) != page {
            guard self.page(gap) != nil else { return }
            gap = (gap + 1) & mask
        }
        var place = gap
        while true {
            place = (place + 1) & mask
            guard let other = self.page(place) else { break }
            // It may move into the gap unless its home is between the gap and its place.
            let home = home(other.pointee.number.load(ordering: .relaxed))
            if (place - home) & mask >= (place - gap) & mask {
                slots[gap].store(UInt(bitPattern: other), ordering: .releasing)
                gap = place
            }
        }
        slots[gap].store(0, ordering: .releasing)
    }
}
