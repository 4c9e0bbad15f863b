// SPDX-License-Identifier: Apache-2.0
// A view's hold on pages of the cache, and how long it lasts.
//
//   held   pages of the running operation: a stack. An operation that returns no slice releases its pages at its end
//          (`PageView.letGo`), a cursor takes over the pages of its path; the rest is released at the next change or at
//          the end of the view.
//   kept   memory of returned values: pages of the cache, pinned, as many as the view may keep
//          (`KeptPages`, its share of the budget); copies of small values from other pages; pages of long values. They
//          live until the view ends or, in a write transaction, until the first value after its next change. A delete
//          that finds nothing, or an append that is refused, is no change.
//
// The view itself has the stack and the table of kept pages, which a hit needs. The rest is here.

import Synchronization

/// Used by its view's thread only, except for the figures, which any thread reads. Passes from view to view, with its
/// memory.
final class PageHold: @unchecked Sendable {
    // Sendable: the figures are atomics; all else is touched by the view's thread alone, or under the cache's lock.

    var isWriter = false
    /// The hold's index among those in use.
    var place = 0
    let figures: UnsafeMutablePointer<HoldFigures>
    /// The view's stack of held pages, stored here while no view has this hold.
    var held: HeldPages
    var pages = KeptPages()
    /// Pages that the view kept before the last change.
    private var expired = KeptPages()
    private var isExpired = false
    /// Long values, and decoded leaves of the view's own.
    private var privatePages: [CachedPage] = []
    private var chunks: [UnsafeMutableRawPointer] = []
    private var chunkSize = 0
    private var chunkUsed = 0

    /// The compressed leaf that the view has opened last, nil before the first, and the number of leaves opened.
    private(set) var partial: PartialLeaf?
    var partialReads = 0

    private static let smallestChunk = 4096
    private static let largestChunk = 1 << 18

    init() {
        figures = .allocate(capacity: 1)
        figures.initialize(to: HoldFigures())
        held = HeldPages(capacity: 16)
    }

    deinit {
        figures.deinitialize(count: 1)
        figures.deallocate()
        held.deallocate()
        pages.deallocate()
        expired.deallocate()
    }

    /// Lets everything that is kept expire: the view finds it no longer, and the next kept value replaces it. Called
    /// after a change was made, because the change's arguments may be among the kept values, and because a change
    /// without effect must leave returned values as they are.
    func expire(_ kept: inout KeptPages) {
        isExpired = true
        // Values were kept since the last change, so the formerly expired ones have been dropped.
        if kept.count > 0 { swap(&kept, &expired) }
    }

    /// Drops everything that has expired. Must be called before a value is kept.
    @inline(__always)
    func dropExpired(_ cache: PageCache) {
        if isExpired { dropAll(cache) }
    }

    /// Releases everything that it has.
    func dropAll(_ cache: PageCache) {
        isExpired = false
        drop(&expired, cache)
        for page in privatePages { letGo(page, cache) }
        privatePages.removeAll(keepingCapacity: true)
        for chunk in chunks {
            #if HORNBEAM_CHECKS
                // Overwrites the chunk, so that a read of a value from before the change is noticed.
                chunk.initializeMemory(as: UInt8.self, repeating: 0xDB, count: Self.smallestChunk)
            #endif
            chunk.deallocate()
        }
        chunks.removeAll(keepingCapacity: true)
        chunkSize = 0
        chunkUsed = 0
        figures.pointee.copiedBytes.store(0, ordering: .relaxed)
    }

    /// Releases the pages of a table, and gives back the bytes that were granted for them.
    func drop(_ pages: inout KeptPages, _ cache: PageCache) {
        pages.removeAll { letGo($0, cache) }
        if pages.grantedBytes > 0 { cache.giveBack(pages.grantedBytes) }
        pages.grantedBytes = 0
    }

    private func letGo(_ page: CachedPage, _ cache: PageCache) {
        figures.pointee.count(page, -1)
        cache.unpin(page)
    }

    /// Returns the buffer for the next leaf that is decoded by parts.
    func madePartial() -> PartialLeaf {
        let leaf = partial ?? PartialLeaf()
        partial = leaf
        return leaf
    }

    /// Keeps a private page, without a copy.
    func keep(_ page: CachedPage) { privatePages.append(page) }

    /// Returns a copy of the value.
    func copy(_ value: Bytes) -> Bytes {
        guard value.count > 0, let source = value.baseAddress else { return value }
        if chunkUsed + value.count > chunkSize {
            let larger = Swift.min(Swift.max(chunkSize * 2, Self.smallestChunk), Self.largestChunk)
            chunkSize = Swift.max(larger, value.count)
            chunkUsed = 0
            chunks.append(.allocate(byteCount: chunkSize, alignment: 16))
            HoldFigures.add(chunkSize, to: figures.pointee.copiedBytes)
        }
        guard let chunk = chunks.last else { return value }
        let target = chunk + chunkUsed
        target.copyMemory(from: source, byteCount: value.count)
        chunkUsed += (value.count + 7) & ~7
        return Bytes(start: target, count: value.count)
    }
}

/// The memory of a stack of held pages.
struct HeldPages: @unchecked Sendable {
    // Sendable: belongs to one view; the shared instance is never written to.
    private var pages: UnsafeMutablePointer<CachedPage>
    private var capacity: Int

    /// Shared by all views that hold nothing.
    static let none = HeldPages(capacity: 1)

    init(capacity: Int) {
        pages = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    func deallocate() { pages.deallocate() }

    @inline(__always)
    subscript(index: Int) -> CachedPage { pages[index] }

    @inline(__always)
    mutating func push(_ page: CachedPage, at index: Int) {
        if index == capacity { grow() }
        (pages + index).initialize(to: page)
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<CachedPage>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: pages, count: capacity)
        pages.deallocate()
        pages = larger
        capacity *= 2
    }
}

/// Figures of the pages that one view has asked for and holds. One thread writes them, any thread reads them.
struct HoldFigures: ~Copyable {
    /// The shared figures of all views that hold nothing. Never written to.
    static nonisolated(unsafe) let none: UnsafeMutablePointer<HoldFigures> = {
        let figures = UnsafeMutablePointer<HoldFigures>.allocate(capacity: 1)
        figures.initialize(to: HoldFigures())
        return figures
    }()

    let hits = Atomic<UInt64>(0)
    let misses = Atomic<UInt64>(0)
    let pinnedBytes = Atomic<Int>(0)
    let copiedBytes = Atomic<Int>(0)
    let privateBytes = Atomic<Int>(0)

    /// Counts one hold on the page more (`sign` 1) or less (-1).
    @inline(__always)
    func count(_ page: CachedPage, _ sign: Int) {
        let difference = sign &* page.pointee.byteCount
        if page.pointee.isPrivate {
            Self.add(difference, to: privateBytes)
        } else {
            Self.add(difference, to: pinnedBytes)
        }
    }

    /// One thread writes, so no atomic addition is needed.
    @inline(__always)
    static func add(_ difference: Int, to figure: borrowing Atomic<Int>) {
        figure.store(figure.load(ordering: .relaxed) &+ difference, ordering: .relaxed)
    }

    @inline(__always)
    static func increment(_ figure: borrowing Atomic<UInt64>) {
        figure.store(figure.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    var use: CacheUse {
        CacheUse(
            hits: hits.load(ordering: .relaxed), misses: misses.load(ordering: .relaxed),
            pinnedBytes: pinnedBytes.load(ordering: .relaxed), copiedBytes: copiedBytes.load(ordering: .relaxed),
            privateBytes: privateBytes.load(ordering: .relaxed))
    }
}

/// The figures of one view.
struct CacheUse {
    var hits: UInt64
    var misses: UInt64
    var pinnedBytes: Int
    var copiedBytes: Int
    var privateBytes: Int
}
