// SPDX-License-Identifier: Apache-2.0
// The cached pages that a view keeps pinned as long as its values live, because values are slices of them: a hash table
// by page number. A page that the view has read before is found here without an atomic operation: pages in the table
// are pinned, so they can't change.

import Synchronization

/// Open addressing with linear probing, at most half full. Pages are removed all at once. Belongs to one view. A value
/// with nothing but pointers, so that the view finds a page without counting references.
struct KeptPages {
    struct Slot {
        var number: UInt64
        /// Nil in an empty slot.
        var page: CachedPage?
        /// The page's bytes, so that a hit doesn't read the page's entry.
        var bytes: UnsafeMutableRawPointer?
    }

    /// One empty slot, shared by all views, until the first page is kept.
    private var slots: UnsafeMutablePointer<Slot>
    private var mask: Int
    private(set) var count = 0
    /// Bytes of the kept pages, and the bytes that the cache has granted for them.
    var byteCount = 0
    var grantedBytes = 0

    private static let firstCapacity = 64
    private static let keptCapacity = 256
    private static nonisolated(unsafe) let empty: UnsafeMutablePointer<Slot> = {
        let slot = UnsafeMutablePointer<Slot>.allocate(capacity: 1)
        slot.initialize(to: Slot(number: 0, page: nil, bytes: nil))
        return slot
    }()

    init() {
        slots = Self.empty
        mask = 0
    }

    @inline(__always)
    private func home(_ number: UInt64) -> Int {
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
    }

    /// The bytes of the page with that number, if it is kept.
    @inline(__always)
    func find(_ number: UInt64) -> UnsafeRawPointer? {
        var place = home(number)
        while let bytes = slots[place].bytes {
            if slots[place].number == number { return UnsafeRawPointer(bytes) }
            place = (place &+ 1) & mask
        }
        return nil
    }

    /// Adds a pinned page. Returns false if there is one with that number already.
    mutating func insert(_ page: CachedPage) -> Bool {
        if (count + 1) * 2 > mask + 1 { grow() }
        let number = page.pointee.number.load(ordering: .relaxed)
        guard find(number) == nil else { return false }
        put(Slot(number: number, page: page, bytes: page.pointee.bytes))
        count += 1
        byteCount += page.pointee.byteCount
        return true
    }

    private func put(_ slot: Slot) {
        var place = home(slot.number)
        while slots[place].bytes != nil { place = (place + 1) & mask }
        slots[place] = slot
    }

    private mutating func grow() {
        let old = slots
        let oldCapacity = mask + 1
        let capacity = max(Self.firstCapacity, oldCapacity * 2)
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: Slot(number: 0, page: nil, bytes: nil), count: capacity)
        mask = capacity - 1
        for index in 0..<oldCapacity where old[index].bytes != nil { put(old[index]) }
        if old != Self.empty { old.deallocate() }
    }

    /// Empties the table and gives each page to `body`. The memory of a small table stays, for the next values.
    mutating func removeAll(_ body: (CachedPage) -> Void) {
        guard count > 0 else { return }
        for index in 0...mask {
            guard let page = slots[index].page else { continue }
            slots[index] = Slot(number: 0, page: nil, bytes: nil)
            body(page)
        }
        count = 0
        byteCount = 0
        // A large table would be walked again for every few values.
        if mask >= Self.keptCapacity { deallocate() }
    }

    /// Frees the table's memory. The table must be empty.
    mutating func deallocate() {
        if slots != Self.empty { slots.deallocate() }
        slots = Self.empty
        mask = 0
    }
}
