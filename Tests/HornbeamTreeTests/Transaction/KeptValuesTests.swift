// SPDX-License-Identifier: Apache-2.0
// Values in the page cache: slices of its pages, which stay as long as promised, within the budget.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("A value in the page cache")
struct KeptValuesTests {
    private static let ways: [(access: PageAccess, isCompressed: Bool)] = [
        (.mapped, true), (.read, true), (.read, false),
    ]

    private static func key(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } }

    private static func text(_ number: Int) -> [UInt8] {
        Array(repeating: UInt8(number % 251), count: 150) + Array("the value of number \(number)".utf8)
    }

    /// A store with one tree with `count` values.
    private static func store(
        _ way: (access: PageAccess, isCompressed: Bool), cacheBytes: Int, count: Int
    ) throws -> (store: TreeStore, tree: TreeID) {
        var options = StoreOptions.withLargeRing
        options.access = way.access
        options.cacheBytes = cacheBytes
        let store = try TreeStore.open(file: MemoryFile(), options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(isCompressed: way.isCompressed)))
        for number in 0..<count { try write.put(tree, key(number), text(number)) }
        try write.commit()
        return (store, tree)
    }

    /// Reads everything once, so that other pages than before are in the cache.
    private static func readAll(_ store: TreeStore, _ count: Int) throws {
        let read = try store.beginRead()
        defer { read.abort() }
        let tree = try #require(try read.tree("t"))
        for number in 0..<count { #expect(try read.value(tree, key(number)) == text(number)) }
    }

    @Test("is all that stays pinned: a count unpins its path, also with bounds in the wrong order")
    func counts() throws {
        let (store, tree) = try Self.store((.read, false), cacheBytes: 16 << 20, count: 3000)
        let read = try store.beginRead()
        defer { read.abort() }
        for number in 0..<500 {
            #expect(try read.count(tree, from: Self.key(number), to: Self.key(2000)) == UInt64(2000 - number))
            #expect(read.view.heldCount == 0)
            #expect(try read.count(tree, from: Self.key(number), to: Self.key(number)) == 0)
            #expect(read.view.heldCount == 0)
            #expect(try read.count(tree, from: Self.key(2000), to: Self.key(number)) == 0)
            #expect(read.view.heldCount == 0)
        }
    }

    @Test("is a slice of its page: nothing is copied", arguments: ways)
    func slices(way: (access: PageAccess, isCompressed: Bool)) throws {
        let (store, _) = try Self.store(way, cacheBytes: 16 << 20, count: 3000)
        let read = try store.beginRead()
        let tree = try #require(try read.tree("t"))
        // In compressed leaves, single values are decoded from parts until the cache has the whole leaf.
        do {
            var cursor = try read.cursor(tree)
            while try cursor.next() {}
        }
        var values: [Bytes] = []
        for round in 0..<2 {
            for number in 0..<3000 { values.append(try #require(try read.get(tree, Self.key(number)))) }
            #expect(try read.get(tree, Self.key(5000 + round)) == nil)
        }
        let use = store.statistics.cache.readers
        #expect(use.copiedBytes == 0 && use.privateBytes == 0)
        #expect(use.pinnedBytes > 0 && use.pinnedBytes <= store.statistics.cache.pageBytes)
        for (index, value) in values.enumerated() { #expect(Array(value) == Self.text(index % 3000)) }
        read.abort()
        #expect(store.statistics.cache.readers == CacheStatistics().readers)
    }

    @Test("lives until its read ends, though its reader keeps no more than a share of the budget", arguments: ways)
    func longReader(way: (access: PageAccess, isCompressed: Bool)) throws {
        let budget = 1 << 20
        let count = 12_000
        let (store, _) = try Self.store(way, cacheBytes: budget, count: count)
        let read = try store.beginRead()
        let tree = try #require(try read.tree("t"))
        var values: [Bytes] = []
        for number in 0..<count {
            values.append(try #require(try read.get(tree, Self.key(number))))
            let figures = store.statistics.cache
            #expect(figures.residentBytes + figures.lentBytes <= UInt64(budget))
        }
        let first = store.statistics.cache.readers
        #expect(first.pinnedBytes <= UInt64(budget * 3 / 8) && first.pinnedBytes > UInt64(budget / 4))
        #expect(first.copiedBytes > 0 && first.privateBytes == 0)
        // A later read gets a share, too, and there is room for other pages.
        let second = try store.beginRead()
        let sameTree = try #require(try second.tree("t"))
        for number in 0..<count { #expect(try second.value(sameTree, Self.key(number)) == Self.text(number)) }
        let both = store.statistics.cache.readers
        #expect(both.pinnedBytes > first.pinnedBytes && both.pinnedBytes <= UInt64(budget * 3 / 4))
        #expect(both.privateBytes == 0)
        second.abort()
        for (number, value) in values.enumerated() { #expect(Array(value) == Self.text(number)) }
        read.abort()
    }

    @Test(
        "may be the argument of the next change, and lives until then, however often values are read", arguments: ways)
    func changes(way: (access: PageAccess, isCompressed: Bool)) throws {
        let count = 12_000
        let (store, _) = try Self.store(way, cacheBytes: 1 << 20, count: count)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t"))
        for number in 0..<100 {
            let place = number * 97
            let value = try #require(try write.get(tree, Self.key(place)))
            // Moved to another position, and then changed again from the same page.
            try Self.key(count + number).withBytes { try write.put(tree, $0, value) }
            let again = try #require(try write.get(tree, Self.key(place)))
            if number % 10 == 0 { try Self.readAll(store, count) }
            #expect(try write.value(tree, Self.key(place + 50)) == Self.text(place + 50))
            #expect(Array(again) == Self.text(place))
            #expect(try write.value(tree, Self.key(count + number)) == Self.text(place))
            #expect(store.statistics.cache.writers.pinnedBytes <= 8 * 32_768)
        }
        try Self.key(97).withBytes { (k) in try Self.text(1).withBytes { try write.put(tree, k, $0) } }
        #expect(try write.value(tree, Self.key(97)) == Self.text(1))
        try write.commit()
        #expect(store.statistics.cache.writers == CacheStatistics().writers)
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("leaves the writer room: it spills earlier, and both stay within the budget", arguments: ways)
    func besideWriter(way: (access: PageAccess, isCompressed: Bool)) throws {
        let budget = 4 << 20
        let count = 20_000
        let (store, _) = try Self.store(way, cacheBytes: budget, count: count)
        let read = try store.beginRead()
        let tree = try #require(try read.tree("t"))
        for number in 0..<count { _ = try read.get(tree, Self.key(number)) }
        let write = try store.beginWrite()
        var most = 0
        for number in 0..<count {
            try write.put(tree, Self.key(count + number * 7919 % count), Self.text(number))
            let figures = store.statistics.cache
            let writerBytes = Int(store.statistics.writerBytes)
            // A page may be added before pages are spilled.
            guard Int(figures.residentBytes + figures.lentBytes) <= budget,
                writerBytes <= Int(figures.lentBytes) + 1 << 20,
                writerBytes <= (budget - Int(figures.readers.pinnedBytes)) / 2 + 1 << 18
            else {
                Issue.record("\(writerBytes) for the writer, \(figures) at \(number)")
                break
            }
            most = max(most, writerBytes)
        }
        // Enough that some of it was lent.
        #expect(most > 1 << 20)
        try write.commit()
        read.abort()
    }

    @Test("is not copied if it is long and mapped, even with its entry in a compressed leaf")
    func longValue() throws {
        let (store, _) = try Self.store((.mapped, true), cacheBytes: 1 << 20, count: 1000)
        let long = [UInt8](repeating: 7, count: 1 << 20)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t"))
        try write.put(tree, Self.key(500), long)
        try write.commit()
        let read = try store.beginRead()
        let value = try #require(try read.get(tree, Self.key(500)))
        #expect(store.statistics.cache.readers.copiedBytes == 0)
        #expect(Array(value) == long)
        read.abort()
    }
}
