// SPDX-License-Identifier: Apache-2.0
// What a view holds of the cache, and for how long.
//
//   held   pages of the running operation: a stack. An operation that hands out nothing lets its pages go at its end
//          (`PageView.letGo`), a cursor takes over those of its path; what was forgotten goes at the next change or at
//          the end of the view.
//   kept   values that were handed out: copies of small ones, whole pages of long ones. They live until the view ends
//          or, in a write transaction, until the first value after its next change. A delete that finds nothing, or an
//          append that is refused, is none.

import Synchronization

/// Belongs to its view's thread, but for the figures, which any thread reads.
final class PageHold: @unchecked Sendable {
    // Sendable: the figures are atomics; all else is touched by the view's thread alone.

    let cache: PageCache
    let isWriter: Bool
    let hits = Atomic<UInt64>(0)
    let misses = Atomic<UInt64>(0)
    private let pinnedBytes = Atomic<Int>(0)
    private let copiedBytes = Atomic<Int>(0)
    private let privateBytes = Atomic<Int>(0)

    /// The stack of held pages; its size is the view's `heldCount`.
    private(set) var held: UnsafeMutablePointer<CachedPage>
    private var capacity = 16
    private var kept: [CachedPage] = []
    private var chunks: [UnsafeMutableRawPointer] = []
    private var chunkSize = 0
    private var chunkUsed = 0
    private var isExpired = false

    private static let smallestChunk = 4096
    private static let largestChunk = 1 << 18

    init(cache: PageCache, isWriter: Bool) {
        self.cache = cache
        self.isWriter = isWriter
        held = .allocate(capacity: capacity)
        cache.register(self)
    }

    deinit { held.deallocate() }

    /// Gives everything back; `heldCount` pages are on the stack.
    func end(heldCount: Int) {
        release(from: 0, to: heldCount)
        dropKept()
        cache.unregister(self)
    }

    // MARK: Held pages

    func push(_ page: CachedPage, at index: Int) {
        if index == capacity {
            let larger = UnsafeMutablePointer<CachedPage>.allocate(capacity: capacity * 2)
            larger.moveInitialize(from: held, count: capacity)
            held.deallocate()
            held = larger
            capacity *= 2
        }
        (held + index).initialize(to: page)
        count(page, 1)
    }

    func release(from first: Int, to end: Int) {
        var index = end
        while index > first {
            index -= 1
            letGo(held[index])
        }
    }

    func letGo(_ page: CachedPage) {
        count(page, -1)
        cache.unpin(page)
    }

    private func count(_ page: CachedPage, _ sign: Int) {
        let difference = sign * page.pointee.byteCount
        if page.pointee.isPrivate {
            Self.add(difference, to: privateBytes)
        } else {
            Self.add(difference, to: pinnedBytes)
        }
    }

    /// One thread writes: no need for an atomic addition.
    private static func add(_ difference: Int, to figure: borrowing Atomic<Int>) {
        figure.store(figure.load(ordering: .relaxed) &+ difference, ordering: .relaxed)
    }

    static func increment(_ figure: borrowing Atomic<UInt64>) {
        figure.store(figure.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    // MARK: Kept values

    /// What is kept goes when something is kept next. Called once a change is made: its arguments may be among it, and
    /// what changes nothing leaves the values that were handed out as they are.
    func expire() { isExpired = true }

    /// Keeps the page itself.
    func keep(_ page: CachedPage) {
        if isExpired { dropKept() }
        kept.append(page)
    }

    /// A copy of the value.
    func copy(_ value: Bytes) -> Bytes {
        if isExpired { dropKept() }
        guard value.count > 0, let source = value.baseAddress else { return value }
        if chunkUsed + value.count > chunkSize {
            let larger = Swift.min(Swift.max(chunkSize * 2, Self.smallestChunk), Self.largestChunk)
            chunkSize = Swift.max(larger, value.count)
            chunkUsed = 0
            chunks.append(.allocate(byteCount: chunkSize, alignment: 16))
            Self.add(chunkSize, to: copiedBytes)
        }
        guard let chunk = chunks.last else { return value }
        let target = chunk + chunkUsed
        target.copyMemory(from: source, byteCount: value.count)
        chunkUsed += (value.count + 7) & ~7
        return Bytes(start: target, count: value.count)
    }

    private func dropKept() {
        isExpired = false
        for page in kept { letGo(page) }
        kept.removeAll(keepingCapacity: true)
        for chunk in chunks {
            #if HORNBEAM_CHECKS
                // Whoever still reads a value of before the change shall notice.
                chunk.initializeMemory(as: UInt8.self, repeating: 0xDB, count: Self.smallestChunk)
            #endif
            chunk.deallocate()
        }
        chunks.removeAll(keepingCapacity: true)
        chunkSize = 0
        chunkUsed = 0
        copiedBytes.store(0, ordering: .relaxed)
    }

    // MARK: Figures

    /// What it holds now. Any thread.
    var use: CacheUse {
        CacheUse(
            isWriter: isWriter, pinnedBytes: pinnedBytes.load(ordering: .relaxed),
            copiedBytes: copiedBytes.load(ordering: .relaxed), privateBytes: privateBytes.load(ordering: .relaxed))
    }
}

/// What one view holds.
struct CacheUse {
    var isWriter: Bool
    var pinnedBytes: Int
    var copiedBytes: Int
    var privateBytes: Int
}
