// SPDX-License-Identifier: Apache-2.0
// The pages that a view keeps, and the number of pages that the cache lets views keep.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("The pages that a view keeps")
struct KeptPagesTests {
    private func page(_ number: UInt64, in cache: PageCache) throws -> CachedPage {
        try cache.load(number, birth: 1, size: 4096) { (_) throws(StorageError) in }
    }

    @Test("are found by number, each once, until all go")
    func table() throws {
        let cache = try PageCache(budget: 8 << 20, pageSize: 4096)
        var kept = KeptPages()
        defer { kept.deallocate() }
        #expect(kept.find(0) == nil && kept.find(7) == nil)
        for round in 0..<2 {
            let count = round == 0 ? 1000 : 20
            for number in 0..<UInt64(count) {
                let page = try page(number * 64, in: cache)
                let first = kept.insert(page)
                let second = kept.insert(page)
                #expect(first && !second)
                #expect(kept.find(number * 64) == UnsafeRawPointer(page.pointee.bytes))
            }
            #expect(kept.count == count && kept.byteCount == count * 4096)
            #expect(kept.find(1) == nil)
            var gone = 0
            kept.removeAll { page in
                gone += 1
                cache.unpin(page)
            }
            #expect(gone == count && kept.count == 0 && kept.byteCount == 0)
            #expect(kept.find(64) == nil)
        }
    }

    @Test("take no memory that others use, and at most three quarters of the budget together")
    func grants() throws {
        let cache = try PageCache(budget: 32 << 20, pageSize: 4096)
        let limit = (32 << 20) - (1 << 20)
        var granted: [Int] = []
        for _ in 0..<6 {
            var mine = 0
            while case let more = cache.grant(32_768, of: mine), more > 0 { mine += more }
            granted.append(mine)
        }
        let total = granted.reduce(0, +)
        #expect(cache.keptBytes == total && total <= limit * 3 / 4)
        #expect(granted[0] > limit / 3 && granted[0] <= limit * 3 / 8)
        #expect(granted[1] > limit / 8 && granted[2] > 0)
        // The views don't get the writer's share.
        for mine in granted { cache.giveBack(mine) }
        cache.lend(16 << 20)
        var mine = 0
        while case let more = cache.grant(32_768, of: mine), more > 0 { mine += more }
        #expect(mine <= (limit - (16 << 20)) * 3 / 8)
        cache.giveBack(mine)
        #expect(cache.keptBytes == 0)
    }

    @Test("leave room for other pages")
    func circulation() throws {
        let cache = try PageCache(budget: 256 * 4096, pageSize: 4096)
        let pinned = try (0..<150).map { try page(UInt64($0), in: cache) }
        // More pages than fit: the kept ones are evicted in turn.
        for number in 1000..<1200 { cache.unpin(try page(UInt64(number), in: cache)) }
        let found = (1192..<1200).count { number in
            guard let page = cache.find(UInt64(number), birth: 1) else { return false }
            cache.unpin(page)
            return true
        }
        #expect(found == 8)
        for page in pinned { cache.unpin(page) }
    }
}
