// SPDX-License-Identifier: Apache-2.0
// Pages in memory, within a budget of bytes: all pages of a store that isn't mapped, and the decoded pages of
// compressed trees. Pages never change, so the cache holds copies only and can drop any that nobody has pinned.
//
// Replacement is 2Q (Johnson and Shasha, VLDB 1994). A page read for the first time goes to a queue of recent pages, a
// quarter of the budget, and leaves it in order of arrival, however often it is used meanwhile. A page becomes hot only
// if it is wanted again soon after it left, or is in use when its turn to leave comes. So a scan, which uses each page
// many times within a moment and never again, drives out only other recent pages. The hot pages are a clock in place of
// 2Q's LRU list, so that a hit needs no lock.
//
// A hit takes no lock: it reads the table, pins the page and checks it again. Everything else is under one lock, which
// is never held while a page is read or decoded.

import Glibc
import Synchronization

/// A store's pages in memory. Any thread.
final class PageCache: @unchecked Sendable {
    // Sendable: `core` and the holds are touched with `mutex` locked; everything else is constant or an atomic.

    /// Maximum of its memory in bytes, its own tables included.
    let budget: Int
    /// Size of the store's node pages.
    let pageSize: Int
    private let table: CacheTable
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var core: Core
    /// Holds of open views that have used the cache, and idle ones for the next views.
    private var holds: [PageHold] = []
    private var idleHolds: [PageHold] = []
    private static let keptHolds = 16
    private let pageCount = Atomic<Int>(0)
    /// Bytes that views were granted to keep pinned.
    private let grantedBytes = Atomic<Int>(0)
    /// Whether the last request for memory had to evict a page, or found none to evict.
    var isFull: Bool { full.load(ordering: .relaxed) }
    private let full = Atomic(false)
    /// Bytes that pages may take, readable without the lock.
    private let allowedBytes: Atomic<Int>

    private struct Core {
        var memory: CacheMemory
        var recent = CacheQueue(.recent)
        var hot = CacheQueue(.hot)
        var ghosts: GhostList
        /// Bytes that pages may take, before lent bytes are subtracted: the budget less the tables.
        var limit: Int
        var lentBytes = 0
        var evictions: UInt64 = 0
        /// Hits and misses of views that have ended.
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    init(budget: Int, pageSize: Int) throws(StorageError) {
        self.budget = Swift.max(0, budget)
        self.pageSize = pageSize
        // Entries, table and ghosts take less than a thirty-second.
        let limit = self.budget - self.budget / 32
        // Decoded leaves can be smaller than node pages, so the table has room for as many pages of the smallest size
        // as fit in memory.
        table = try CacheTable(pages: limit / CacheMemory.smallest + 1)
        allowedBytes = Atomic(limit)
        core = Core(memory: CacheMemory(limit: limit), ghosts: GhostList(pages: limit / pageSize + 1), limit: limit)
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    private func lock() { pthread_mutex_lock(mutex) }
    private func unlock() { pthread_mutex_unlock(mutex) }

    // MARK: Finding

    /// The table's slots, in which views look up pages themselves.
    var lookup: CacheSlots { table.lookup }

    /// Returns the page, pinned, if it is cached.
    func find(_ number: UInt64, birth: UInt64) -> CachedPage? {
        guard let page = table.find(number) else { return nil }
        if page.pin(number, birth: birth) { return page }
        unpin(page)
        return nil
    }

    /// Releases a pin.
    func unpin(_ page: CachedPage) {
        if let former = page.unpin() { lastPinMayBeGone(page, former) }
    }

    /// - Parameter former: the state that `unpin` returned.
    func lastPinMayBeGone(_ page: CachedPage, _ former: UInt64) {
        if former == CacheEntry.privateMemory | 1 {
            #if HORNBEAM_CHECKS
                // Overwrites the page, so that a read without a pin is noticed.
                memset(page.pointee.bytes, 0xDB, page.pointee.byteCount)
            #endif
            page.pointee.bytes.deallocate()
            page.deinitialize(count: 1)
            page.deallocate()
        } else if former == CacheEntry.orphan | 1 {
            lock()
            reclaimOrphan(page)
            unlock()
        }
    }

    /// Frees an orphan without pins. Under the lock. If several threads see the last pin go, only one succeeds.
    private func reclaimOrphan(_ page: CachedPage) {
        let taken = page.pointee.state.compareExchange(
            expected: CacheEntry.orphan, desired: CacheEntry.busy, ordering: .acquiringAndReleasing)
        if taken.exchanged { core.memory.give(page) }
    }

    // MARK: Loading

    /// Returns the page, pinned: the cached one, or a new one that `fill` has filled. If `fill` throws, nothing is
    /// cached. If everything is pinned, or the page exceeds the largest size, it is in private memory that is freed
    /// with its pin.
    func load(
        _ number: UInt64, birth: UInt64, size: Int,
        fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) -> CachedPage {
        guard let page = takeMemory(size) else { return try Self.privatePage(size, fill: fill) }
        do throws(StorageError) {
            try fill(page.pointee.buffer)
        } catch {
            lock()
            core.memory.give(page)
            unlock()
            throw error
        }
        return publish(page, number, birth)
    }

    /// Caches a copy of a page that this process made, as if it had been read, if unpinned memory can be had.
    func keep(_ number: UInt64, _ page: Bytes) {
        guard let entry = takeMemory(page.count), let start = page.baseAddress else { return }
        entry.pointee.buffer.copyMemory(from: page)
        unpin(publish(entry, number, UnsafeRawPointer(start).u64(PageLayout.birth)))
    }

    /// A page for one reader, which no other finds.
    static func privatePage(
        _ size: Int, fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) -> CachedPage {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: FileFormat.sectorSize)
        do throws(StorageError) {
            try fill(UnsafeMutableRawBufferPointer(start: bytes, count: size))
        } catch {
            bytes.deallocate()
            throw error
        }
        let page = CachedPage.allocate(capacity: 1)
        page.initialize(to: CacheEntry(privateBytes: bytes, byteCount: size))
        return page
    }

    private func takeMemory(_ size: Int) -> CachedPage? {
        guard size >= CacheMemory.smallest, size <= CacheMemory.largest, size & (size - 1) == 0 else { return nil }
        lock()
        defer { unlock() }
        var evicts = false
        defer { if isFull != evicts { full.store(evicts, ordering: .relaxed) } }
        while true {
            if let page = core.memory.take(size, allowed: core.limit - core.lentBytes) { return page }
            evicts = true
            guard let victim = evict() else { return nil }
            core.memory.give(victim)
        }
    }

    /// Makes a filled page findable and returns it. If another thread was faster, returns the page of that thread.
    private func publish(_ page: CachedPage, _ number: UInt64, _ birth: UInt64) -> CachedPage {
        lock()
        defer { unlock() }
        if let other = table.find(number) {
            if other.pointee.isPage(number, birth: birth) {
                other.pointee.state.wrappingAdd(1, ordering: .acquiring)
                core.memory.give(page)
                return other
            }
            drop(other)
        }
        page.pointee.number.store(number, ordering: .relaxed)
        page.pointee.birth.store(birth, ordering: .relaxed)
        page.pointee.isTouched.store(false, ordering: .relaxed)
        if core.ghosts.take(number, window: (core.recent.count + core.hot.count) / 2 + 8) {
            core.hot.add(page)
        } else {
            core.recent.add(page)
        }
        // Leaves one pin, and the pins that passing threads have just added and will remove.
        page.pointee.state.wrappingSubtract(CacheEntry.busy - 1, ordering: .releasing)
        table.insert(page)
        pageCount.wrappingAdd(1, ordering: .relaxed)
        return page
    }

    // MARK: Evicting

    /// Removes the page with the least worth and returns it, busy; nil if all are pinned.
    private func evict() -> CachedPage? {
        // Pages that views keep can't go, and count for neither queue.
        let free = core.limit - core.lentBytes - keptBytes
        let recentFirst = core.recent.byteCount * 4 >= free || core.hot.count == 0
        let victim = recentFirst ? evictRecent() ?? evictHot() : evictHot() ?? evictRecent()
        if victim != nil { core.evictions &+= 1 }
        return victim
    }

    private func evictRecent() -> CachedPage? {
        for _ in 0..<core.recent.count {
            guard let page = core.recent.oldest else { return nil }
            if takeOut(page) {
                core.recent.remove(page)
                core.ghosts.add(page.pointee.number.load(ordering: .relaxed))
                return page
            }
            // In use when its turn comes: left here, it would be in the way of all others.
            core.recent.remove(page)
            core.hot.add(page)
        }
        return nil
    }

    private func evictHot() -> CachedPage? {
        // Twice around, because the hand may only clear marks the first time.
        for _ in 0..<core.hot.count * 2 {
            guard let page = core.hot.oldest else { return nil }
            let isTouched = page.pointee.isTouched.exchange(false, ordering: .relaxed)
            if !isTouched, takeOut(page) {
                core.hot.remove(page)
                return page
            }
            core.hot.rotate()
        }
        return nil
    }

    /// Makes an unpinned page busy and no longer findable.
    private func takeOut(_ page: CachedPage) -> Bool {
        let taken = page.pointee.state.compareExchange(
            expected: 0, desired: CacheEntry.busy, ordering: .acquiringAndReleasing)
        if taken.exchanged {
            table.remove(page)
            pageCount.wrappingSubtract(1, ordering: .relaxed)
        }
        return taken.exchanged
    }

    // MARK: Removing

    /// Forgets pages in sectors that become free, so that a later page there is read anew.
    func remove(_ run: SectorRun) {
        guard pageCount.load(ordering: .relaxed) > 0 else { return }
        // Under the lock, because a look-up without it may miss a page that is there.
        lock()
        defer { unlock() }
        for number in run.start..<run.end {
            if let page = table.find(number) { drop(page) }
        }
    }

    /// Removes a page even if it is pinned; its memory is freed with the last pin. Under the lock.
    private func drop(_ page: CachedPage) {
        switch page.pointee.queue {
        case .recent: core.recent.remove(page)
        case .hot: core.hot.remove(page)
        case .none: return
        }
        if takeOut(page) {
            core.memory.give(page)
            return
        }
        table.remove(page)
        pageCount.wrappingSubtract(1, ordering: .relaxed)
        page.pointee.state.bitwiseOr(CacheEntry.orphan, ordering: .acquiringAndReleasing)
        // Its last pin may have gone between these two calls.
        reclaimOrphan(page)
    }

    // MARK: Lending

    /// Takes this much of the budget away for the writer's frames, or gives it back. Evicts pages until the rest
    /// suffices.
    func lend(_ bytes: Int) {
        lock()
        defer { unlock() }
        core.lentBytes += bytes
        let allowed = Swift.max(0, core.limit - core.lentBytes)
        allowedBytes.store(allowed, ordering: .relaxed)
        while core.memory.residentBytes > allowed {
            if core.memory.giveBackOne() { continue }
            guard let victim = evict() else { return }
            core.memory.give(victim)
        }
    }

    // MARK: Granting

    /// Maximum number of bytes that views keep pinned.
    var keptBytes: Int { grantedBytes.load(ordering: .relaxed) }

    private static var grantUnit: Int { 1 << 18 }

    /// Lets a view that was granted `former` bytes keep at least `wanted` more pinned. Returns the number of bytes
    /// granted, which is 0 if there is not enough. All views together keep at most three quarters of the memory for
    /// pages, so that others have room. One view gets no more than it leaves to the rest: a long reader's share is
    /// large while it is alone, but doesn't starve later ones.
    func grant(_ wanted: Int, of former: Int) -> Int {
        let share = allowedBytes.load(ordering: .relaxed) / 4 * 3
        for more in [Swift.max(former, Self.grantUnit), wanted] {
            var total = grantedBytes.load(ordering: .relaxed)
            while former + more <= share - total - more {
                let result = grantedBytes.weakCompareExchange(
                    expected: total, desired: total + more, ordering: .relaxed)
                if result.exchanged { return more }
                total = result.original
            }
        }
        return 0
    }

    func giveBack(_ granted: Int) { grantedBytes.wrappingSubtract(granted, ordering: .relaxed) }

    // MARK: Figures

    /// Returns the hold that a view needs to hold pages. It must be given back at the view's end.
    func takeHold(isWriter: Bool) -> PageHold {
        lock()
        defer { unlock() }
        let hold = idleHolds.popLast() ?? PageHold()
        hold.isWriter = isWriter
        hold.place = holds.count
        holds.append(hold)
        return hold
    }

    /// Takes back a hold that holds nothing any more.
    func giveBack(_ hold: PageHold) {
        lock()
        defer { unlock() }
        let last = holds.removeLast()
        if last !== hold {
            last.place = hold.place
            holds[hold.place] = last
        }
        core.hits &+= hold.figures.pointee.hits.exchange(0, ordering: .relaxed)
        core.misses &+= hold.figures.pointee.misses.exchange(0, ordering: .relaxed)
        // A cursor may still have its pages; they no longer count.
        hold.figures.pointee.pinnedBytes.store(0, ordering: .relaxed)
        hold.figures.pointee.privateBytes.store(0, ordering: .relaxed)
        if idleHolds.count < Self.keptHolds { idleHolds.append(hold) }
    }

    var figures: CacheStatistics {
        lock()
        defer { unlock() }
        var figures = CacheStatistics()
        figures.budgetBytes = UInt64(budget)
        figures.residentBytes = UInt64(core.memory.residentBytes)
        figures.pageBytes = UInt64(core.recent.byteCount + core.hot.byteCount)
        figures.hotBytes = UInt64(core.hot.byteCount)
        figures.lentBytes = UInt64(core.lentBytes)
        figures.evictions = core.evictions
        figures.hits = core.hits
        figures.misses = core.misses
        for hold in holds {
            let use = hold.figures.pointee.use
            figures.hits &+= use.hits
            figures.misses &+= use.misses
            if hold.isWriter { figures.writers.add(use) } else { figures.readers.add(use) }
        }
        return figures
    }
}
