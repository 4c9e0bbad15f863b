// SPDX-License-Identifier: Apache-2.0
// The lists of pages and of evicted pages' numbers that replacement works with. Guarded by the cache's lock.

/// Pages in order of arrival, linked through their entries.
struct CacheQueue {
    enum Name: UInt8 {
        case none
        /// Pages read once: first in, first out.
        case recent
        /// Pages read again after they were evicted: a clock.
        case hot
    }

    let name: Name
    private var newest: CachedPage?
    private(set) var oldest: CachedPage?
    private(set) var count = 0
    private(set) var byteCount = 0

    init(_ name: Name) { self.name = name }

    mutating func add(_ page: CachedPage) {
        page.pointee.queue = name
        page.pointee.next = nil
        page.pointee.previous = newest
        newest?.pointee.next = page
        newest = page
        if oldest == nil { oldest = page }
        count += 1
        byteCount += page.pointee.byteCount
    }

    mutating func remove(_ page: CachedPage) {
        let previous = page.pointee.previous
        let next = page.pointee.next
        if let previous { previous.pointee.next = next } else { oldest = next }
        if let next { next.pointee.previous = previous } else { newest = previous }
        page.pointee.previous = nil
        page.pointee.next = nil
        page.pointee.queue = .none
        count -= 1
        byteCount -= page.pointee.byteCount
    }

    /// Makes the oldest page the newest.
    mutating func rotate() {
        guard let page = oldest else { return }
        remove(page)
        add(page)
    }
}

/// The numbers of pages lately evicted from the queue of recent ones. A newer number may overwrite an older one early;
/// that page then counts as new once more.
struct GhostList {
    private struct Ghost {
        var number: UInt64 = 0
        /// Its position in the order of evictions, from 1; 0 in an empty place.
        var stamp: UInt64 = 0
    }

    /// Empty until the first page is evicted: most stores fit in their cache.
    private var ghosts: [Ghost] = []
    private let count: Int
    private var now: UInt64 = 0

    /// Makes the list for a cache of at most `pages` pages.
    init(pages: Int) {
        var count = 64
        while count < pages { count *= 2 }
        self.count = count
    }

    private func place(_ number: UInt64) -> Int {
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 32) & (count - 1)
    }

    mutating func add(_ number: UInt64) {
        if ghosts.isEmpty { ghosts = [Ghost](repeating: Ghost(), count: count) }
        now += 1
        ghosts[place(number)] = Ghost(number: number, stamp: now)
    }

    /// Whether the page was among the last `window` evicted ones. Forgets the page.
    mutating func take(_ number: UInt64, window: Int) -> Bool {
        guard !ghosts.isEmpty else { return false }
        let place = place(number)
        let ghost = ghosts[place]
        guard ghost.number == number, ghost.stamp > 0 else { return false }
        ghosts[place] = Ghost()
        return now - ghost.stamp < UInt64(window)
    }
}
