// SPDX-License-Identifier: Apache-2.0
// The cache's memory. Each size of page has a range of addresses as large as the budget, but only as much as the budget
// is ever backed by memory. Pages of one size replace each other in place; memory that moves to another size goes back
// to the system first. So the budget is exact, and nothing fragments.

import Glibc

/// Entries and their bytes, by size. Guarded by the cache's lock.
struct CacheMemory {
    /// Pages of one size.
    private struct Class {
        var pages: Mapping?
        var entries: Mapping?
        /// Entries made so far.
        var count = 0
        /// Free entries whose bytes are in memory, and free entries whose bytes were given back.
        var free: CachedPage?
        var cold: CachedPage?
    }

    /// Maximum number of bytes of all pages together.
    private let limit: Int
    private var classes: [Class]
    /// Bytes that are in memory, used or free.
    private(set) var residentBytes = 0

    static let smallest = 4096
    static let largest = 65_536
    private static let sizes = 5

    init(limit: Int) {
        self.limit = limit
        classes = (0..<Self.sizes).map { _ in Class() }
    }

    private static func place(of size: Int) -> Int { size.trailingZeroBitCount - smallest.trailingZeroBitCount }

    /// Returns a free entry of that size, without using more memory than `allowed` in all; nil if something must go
    /// first.
    mutating func take(_ size: Int, allowed: Int) -> CachedPage? {
        let place = Self.place(of: size)
        if residentBytes <= allowed, let page = classes[place].free {
            classes[place].free = page.pointee.next
            page.pointee.next = nil
            return page
        }
        while residentBytes + size > allowed {
            guard giveBackOne() else { return nil }
        }
        let page = takeCold(place) ?? make(place, size)
        if page != nil { residentBytes += size }
        return page
    }

    private mutating func takeCold(_ place: Int) -> CachedPage? {
        guard let page = classes[place].cold else { return nil }
        classes[place].cold = page.pointee.next
        page.pointee.next = nil
        return page
    }

    /// A new entry; nil if the system has no memory for it.
    private mutating func make(_ place: Int, _ size: Int) -> CachedPage? {
        let capacity = limit / size
        let stride = MemoryLayout<CacheEntry>.stride
        if classes[place].pages == nil {
            guard let pages = try? Self.map(capacity * size), let entries = try? Self.map(capacity * stride) else {
                return nil
            }
            classes[place].pages = pages
            classes[place].entries = entries
        }
        guard let pages = classes[place].pages, let entries = classes[place].entries, classes[place].count < capacity
        else { return nil }
        let index = classes[place].count
        classes[place].count += 1
        let entry = (entries.base + index * stride).bindMemory(to: CacheEntry.self, capacity: 1)
        entry.initialize(to: CacheEntry(bytes: pages.base + index * size, byteCount: size))
        return entry
    }

    private static func map(_ size: Int) throws(StorageError) -> Mapping {
        try Mapping(descriptor: -1, wanted: size, minimum: size, path: "page cache")
    }

    /// Makes a busy entry free.
    mutating func give(_ page: CachedPage) {
        #if HORNBEAM_CHECKS
            // Overwrites the page, so that a read without a pin is noticed.
            memset(page.pointee.bytes, 0xDB, page.pointee.byteCount)
        #endif
        let place = Self.place(of: page.pointee.byteCount)
        page.pointee.next = classes[place].free
        classes[place].free = page
    }

    /// Gives the memory of one free entry back to the system. Returns false if there is none.
    mutating func giveBackOne() -> Bool {
        for place in classes.indices {
            guard let page = classes[place].free else { continue }
            classes[place].free = page.pointee.next
            page.pointee.next = classes[place].cold
            classes[place].cold = page
            madvise(page.pointee.bytes, page.pointee.byteCount, MADV_DONTNEED)
            residentBytes -= page.pointee.byteCount
            return true
        }
        return false
    }
}
