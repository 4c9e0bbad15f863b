// SPDX-License-Identifier: Apache-2.0
// The page cache by itself: the pages that it finds, drops, and never takes.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("The page cache")
struct PageCacheTests {
    private static let page = 4096

    /// The first bytes of a page with this number and birth.
    private static func content(_ number: UInt64, _ birth: UInt64) -> UInt64 { number | birth << 32 }

    /// Finds the page in the cache or loads it, with its number in it, and unpins it. Returns whether it was there.
    private func touch(_ cache: PageCache, _ number: UInt64, birth: UInt64 = 1, size: Int = page) throws -> Bool {
        if let found = cache.find(number, birth: birth) {
            #expect(found.pointee.bytes.load(as: UInt64.self) == Self.content(number, birth))
            cache.unpin(found)
            return true
        }
        cache.unpin(try load(cache, number, birth: birth, size: size))
        return false
    }

    private func load(
        _ cache: PageCache, _ number: UInt64, birth: UInt64 = 1, size: Int = page
    ) throws -> CachedPage {
        try cache.load(number, birth: birth, size: size) { (buffer) throws(StorageError) in
            buffer.storeBytes(of: Self.content(number, birth), as: UInt64.self)
        }
    }

    @Test("finds loaded pages, by number and birth, until the sectors are free again")
    func finding() throws {
        let cache = try PageCache(budget: 1 << 20, pageSize: Self.page)
        #expect(try !touch(cache, 7))
        #expect(try touch(cache, 7))
        #expect(try !touch(cache, 7, birth: 2))
        #expect(cache.find(7, birth: 1) == nil)
        cache.remove(SectorRun(start: 6, count: 2))
        #expect(cache.find(7, birth: 2) == nil)
        #expect(cache.figures.pageBytes == 0)
    }

    @Test("keeps no page that could not be filled")
    func failedFill() throws {
        let cache = try PageCache(budget: 1 << 16, pageSize: Self.page)
        for _ in 0..<100 {
            #expect(throws: StorageError.full(path: "x")) {
                try cache.load(1, birth: 1, size: Self.page) { (_) throws(StorageError) in throw .full(path: "x") }
            }
        }
        #expect(cache.find(1, birth: 1) == nil)
        #expect(cache.figures.residentBytes == UInt64(Self.page))
    }

    @Test("is full when a page takes the memory of another, and no longer when one doesn't")
    func fullness() throws {
        let cache = try PageCache(budget: 64 * Self.page, pageSize: Self.page)
        for number in UInt64(0)..<200 {
            _ = try touch(cache, number)
            #expect(cache.isFull == (cache.figures.evictions > 0))
        }
        #expect(cache.isFull)
        cache.remove(SectorRun(start: 0, count: 200))
        _ = try touch(cache, 200)
        #expect(!cache.isFull)
        // All the memory is lent.
        cache.lend(64 * Self.page)
        _ = try touch(cache, 201)
        #expect(cache.isFull)
    }

    @Test("keeps hot pages through a scan of twenty times its budget, however often the scan uses each page")
    func scan() throws {
        for uses in [1, 10] {
            let cache = try PageCache(budget: 256 * Self.page, pageSize: Self.page)
            let hot = (UInt64(1)...100).map { $0 * 3 }
            // Used now and then, among other pages.
            for round in UInt64(0)..<20 {
                for number in hot { _ = try touch(cache, number) }
                for number in 0..<60 { _ = try touch(cache, 10_000 + round * 60 + UInt64(number)) }
            }
            for number in UInt64(100_000)..<100_000 + 20 * 256 {
                for _ in 0..<uses { _ = try touch(cache, number) }
            }
            let found = try hot.count { try touch(cache, $0) }
            #expect(found == hot.count, "\(uses) uses of each page")
        }
    }

    @Test("never takes more than its budget, with any requests", .seeded)
    func budget() throws {
        var random = SeededGenerator()
        let budget = 1 << 20
        let cache = try PageCache(budget: budget, pageSize: Self.page)
        var pinned: [CachedPage] = []
        var privatePages = 0
        for step in 0..<20_000 {
            // Alternately mostly small and mostly large pages.
            let large = step / 4000 % 2 == 1
            let size = random.oneIn(10) != large ? 65_536 : 4096 << random.below(2)
            let number = UInt64(random.below(2000)) << 5 | UInt64(size.trailingZeroBitCount)
            switch random.below(20) {
            case 0...2 where pinned.count < 300:
                let page = try cache.find(number, birth: 1) ?? load(cache, number, size: size)
                if page.pointee.isPrivate { privatePages += 1 }
                pinned.append(page)
            case 0...3 where !pinned.isEmpty: cache.unpin(pinned.remove(at: random.below(pinned.count)))
            case 4: cache.remove(SectorRun(start: number, count: 1))
            case 5: cache.lend(256 << 10)
            default: _ = try touch(cache, number, size: size)
            }
            let figures = cache.figures
            if figures.lentBytes > 0 {
                #expect(figures.residentBytes + figures.lentBytes <= UInt64(budget) || !pinned.isEmpty)
                cache.lend(-Int(figures.lentBytes))
            }
            #expect(cache.figures.residentBytes <= UInt64(budget))
            #expect(cache.figures.pageBytes <= cache.figures.residentBytes)
        }
        #expect(privatePages > 0)
        for page in pinned {
            #expect(page.pointee.bytes.load(as: UInt64.self) & 0x1F >= 12)
            cache.unpin(page)
        }
        cache.lend(budget)
        #expect(cache.figures.residentBytes == 0)
    }

    @Test("lets the holder of a pin continue reading after the page was removed or replaced")
    func orphans() throws {
        let cache = try PageCache(budget: 8 * Self.page, pageSize: Self.page)
        let removed = try load(cache, 1)
        cache.remove(SectorRun(start: 1, count: 1))
        let replaced = try load(cache, 2)
        #expect(try !touch(cache, 2, birth: 9))
        for number in UInt64(10)..<100 { _ = try touch(cache, number) }
        #expect(removed.pointee.bytes.load(as: UInt64.self) == Self.content(1, 1))
        #expect(replaced.pointee.bytes.load(as: UInt64.self) == Self.content(2, 1))
        cache.unpin(removed)
        cache.unpin(replaced)
        // Their memory is free for other pages again.
        cache.lend(1 << 20)
        #expect(cache.figures.residentBytes == 0)
    }

    @Test("gives each thread the requested page while others evict and remove", .seeded)
    func threads() async throws {
        let cache = try PageCache(budget: 16 * Self.page, pageSize: Self.page)
        let seed = SeededGenerator.seed
        let failures = await withTaskGroup(of: Int.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &* 31 &+ UInt64(thread))
                    return (0..<20_000).count { _ in !isRight(cache, &random) }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 0)
        cache.lend(1 << 20)
        #expect(cache.figures.residentBytes == 0)
    }

    /// Uses the cache once at random; returns whether the page was the requested one.
    private func isRight(_ cache: PageCache, _ random: inout SeededGenerator) -> Bool {
        let number = UInt64(random.below(40))
        let birth = UInt64(random.below(2))
        if random.oneIn(10) {
            cache.remove(SectorRun(start: number, count: 1))
            return true
        }
        guard let page = try? cache.find(number, birth: birth) ?? load(cache, number, birth: birth) else {
            return false
        }
        defer { cache.unpin(page) }
        return page.pointee.bytes.load(as: UInt64.self) == Self.content(number, birth)
    }
}
