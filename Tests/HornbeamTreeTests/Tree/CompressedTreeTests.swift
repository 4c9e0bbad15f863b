// SPDX-License-Identifier: Apache-2.0
// Trees with compressed leaves: they behave like others, are smaller, and detect damage as well.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("A tree with compressed leaves")
struct CompressedTreeTests {
    private static let lz4 = TreeOptions(isCompressed: true)

    private static func options(_ access: PageAccess = .mapped, cacheBytes: Int = 1 << 20) -> StoreOptions {
        var options = StoreOptions.withLargeRing
        options.access = access
        options.cacheBytes = cacheBytes
        return options
    }

    private static func key(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } }

    /// Returns a line as programs store them.
    private static func text(_ number: Int) -> [UInt8] {
        Array(
            """
            {"id":\(number),"name":"package-\(number % 97)","section":"libs","priority":"optional","maintainer":\
            "Debian Developers <devel\(number % 13)@lists.debian.org>","description":"The \(number)th of many packages"}
            """.utf8)
    }

    /// Returns the bytes that trees use; the journal's ring may have grown.
    private static func treeBytes(_ store: TreeStore) -> UInt64 {
        let figures = store.pages.statistics
        return figures.usedBytes - figures.journalCapacityBytes
    }

    private static func fill(_ store: TreeStore, _ name: String, _ options: TreeOptions, _ numbers: Range<Int>) throws {
        let write = try store.beginWrite()
        let tree = try #require(try write.tree(name, create: true, options: options))
        for number in numbers { try write.put(tree, key(number), text(number)) }
        try write.commit()
    }

    @Test("takes less than half the space of text", arguments: [PageAccess.mapped, .read])
    func size(access: PageAccess) throws {
        var used: [UInt64] = []
        for options in [TreeOptions(), Self.lz4] {
            let store = try TreeStore.open(file: try SimulatedDisk(), options: Self.options(access))
            let empty = Self.treeBytes(store)
            for start in stride(from: 0, to: 6000, by: 500) {
                try Self.fill(store, "t", options, start..<start + 500)
            }
            used.append(Self.treeBytes(store) - empty)
            let read = try store.beginRead()
            let tree = try #require(try read.tree("t"))
            for number in stride(from: 0, to: 6000, by: 37) {
                #expect(try read.value(tree, Self.key(number)) == Self.text(number))
            }
            var cursor = try read.cursor(tree)
            var count = 0
            while try cursor.next() {
                #expect(Array(cursor.value) == Self.text(count))
                count += 1
            }
            #expect(count == 6000)
            read.abort()
            #expect(try store.check { Issue.record("\($0)") })
        }
        #expect(used[1] * 2 < used[0], "\(used)")
    }

    @Test("with incompressible values costs only its larger leaves", .seeded)
    func incompressible() throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory(options: Self.options())
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: Self.lz4))
        let values = (0..<2000).map { _ in random.bytes(300) }
        for (number, value) in values.enumerated() { try write.put(tree, Self.key(number), value) }
        try write.commit()
        #expect(store.statistics.usedBytes < 2000 * 330 * 12 / 10)
        let former = store.statistics.cache.misses
        let read = try store.beginRead()
        for (number, value) in values.enumerated() { #expect(try read.value(tree, Self.key(number)) == value) }
        // The last leaf is half empty and compressed: its values cost a block each until it is in the cache.
        #expect(store.statistics.cache.misses - former <= 8)
        read.abort()
    }

    @Test("stays compressed in later transactions and after reopening, and gives all its space back when it is dropped")
    func life() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        let empty = Self.treeBytes(store)
        try Self.fill(store, "t", Self.lz4, 0..<1000)
        let first = Self.treeBytes(store)
        try store.close()
        let again = try TreeStore.open(file: disk, options: Self.options())
        // The options don't mention compression.
        try Self.fill(again, "t", TreeOptions(), 1000..<2000)
        #expect(Self.treeBytes(again) - empty < 2 * (first - empty) + (64 << 10))
        let write = try again.beginWrite()
        #expect(try write.dropTree("t"))
        try write.commit()
        try again.checkpoint()
        #expect(Self.treeBytes(again) <= empty + (32 << 10))
        #expect(try again.check { Issue.record("\($0)") })
        try again.close()
    }

    /// Checks that the store's one tree has the texts of these numbers.
    private static func expectTexts(_ store: TreeStore, _ numbers: Range<Int>) throws {
        let read = try store.beginRead()
        defer { read.abort() }
        let tree = try #require(try read.tree("t"))
        #expect(try read.count(tree) == UInt64(numbers.count))
        for number in numbers { #expect(try read.value(tree, key(number)) == text(number)) }
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("is backed up, salvaged and compacted like any other, and stays compressed")
    func maintenance() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        try Self.fill(store, "t", Self.lz4, 0..<3000)
        try store.checkpoint()
        let used = Self.treeBytes(store)
        let copy = try SimulatedDisk()
        #expect(try store.backup(to: copy) { _ in true })
        let backup = try TreeStore.open(file: copy, options: Self.options())
        try Self.expectTexts(backup, 0..<3000)
        #expect(Self.treeBytes(backup) < used * 11 / 10)

        let rescued = try SimulatedDisk()
        let image = try #require(disk.killedImage())
        let report = try Salvage.run(DamagedFile(file: try SimulatedDisk(image: image)), to: rescued) {}
        #expect(report.trees.map(\.found) == [3000])
        try Self.expectTexts(try TreeStore.open(file: rescued, options: Self.options()), 0..<3000)

        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t"))
        _ = try write.deleteRange(tree, from: [], to: Self.key(2500))
        for number in 0..<300 { try write.put(tree, Self.key(number), Self.text(number)) }
        for number in 2500..<3000 { _ = try write.delete(tree, Self.key(number)) }
        try write.commit()
        #expect(try store.compact().isFinished)
        try Self.expectTexts(store, 0..<300)
    }

    @Test("is recovered from the journal like any other")
    func recovery() throws {
        let disk = try SimulatedDisk()
        do {
            let store = try TreeStore.open(file: disk, options: Self.options())
            try Self.fill(store, "t", Self.lz4, 0..<300)
            try Self.fill(store, "t", Self.lz4, 200..<600)
        }
        let image = disk.killedImage()
        let store = try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options())
        let read = try store.beginRead()
        let tree = try #require(try read.tree("t"))
        for number in 0..<600 { #expect(try read.value(tree, Self.key(number)) == Self.text(number)) }
        read.abort()
        #expect(try store.check { Issue.record("\($0)") })
    }

    /// Returns the positions of the headers of leaves with the flag of compressed pages.
    private static func compressedLeaves(_ image: [UInt8]) -> [Int] {
        var places: [Int] = []
        for place in stride(from: 4 * 4096, to: image.count, by: 4096) {
            let isLeaf = image[place + 16] == 1 && image[place + 17] == 0
            if isLeaf, image[place + 18] == 2, image[place + 8] > 0 { places.append(place) }
        }
        return places
    }

    @Test("reports damage to a compressed leaf as such, and reads the others", .seeded)
    func damage() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        try Self.fill(store, "t", Self.lz4, 0..<2000)
        try store.close()
        var image = try #require(disk.killedImage())
        let leaves = Self.compressedLeaves(image)
        #expect(leaves.count > 5)
        image[try #require(leaves.last) + 700] ^= 0x10
        let damaged = try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options())
        let read = try damaged.beginRead()
        let tree = try #require(try read.tree("t"))
        var wrong = 0
        for number in 0..<2000 {
            do {
                #expect(try read.value(tree, Self.key(number)) == Self.text(number))
            } catch StorageError.corrupt(let what) {
                #expect(what.tree == "t" && what.page != nil)
                wrong += 1
            }
        }
        #expect(wrong > 0 && wrong < 1000)
        read.abort()
        #expect(try !damaged.check { _ in })
    }

    /// Returns keys with long common beginnings, which key heads alone don't distinguish.
    private static func similarKey(_ random: inout SeededGenerator) -> [UInt8] {
        let prefix = ["", "a", "shop", "shop/order", "shop/order/item/"][random.below(5)]
        return Array(prefix.utf8) + (0...random.below(6)).map { (_) in UInt8(random.below(3)) }
    }

    @Test(
        "gives single values by parts like whole leaves, of any size and keys", .seeded, .timeLimit(.minutes(5)))
    func byParts() throws {
        var random = SeededGenerator()
        let store = try TreeStore.open(file: try SimulatedDisk(), options: Self.options(cacheBytes: 256 << 10))
        var model: [[UInt8]: [UInt8]] = [:]
        for _ in 0..<12 {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true, options: Self.lz4))
            for _ in 0..<200 {
                let key = Self.similarKey(&random)
                if random.oneIn(5) {
                    #expect(try write.delete(tree, key) == (model.removeValue(forKey: key) != nil))
                    continue
                }
                let size = random.oneIn(10) ? random.below(12_000) : random.below(400)
                let pattern = random.bytes(1 + random.below(60))
                let value = (0..<size).map { pattern[$0 % pattern.count] }
                try write.put(tree, key, value)
                model[key] = value
            }
            if random.oneIn(3) {
                // Besides the open transaction's own leaves, those of the earlier state are read by parts.
                for _ in 0..<100 {
                    let key = Self.similarKey(&random)
                    #expect(try write.value(tree, key) == model[key])
                }
            }
            try write.commit()
            let read = try store.beginRead()
            let keys = (0..<300).map { (_) in Self.similarKey(&random) }
            var values: [Bytes?] = []
            for key in keys { values.append(try read.get(tree, key)) }
            if model.count > 500 { #expect(read.view.hold?.partialReads ?? 0 > 20, "nothing was read by parts") }
            // Returned values live as long as the read.
            for (key, value) in zip(keys, values) { #expect(value.map { Array($0) } == model[key]) }
            read.abort()
        }
        #expect(try store.check { Issue.record("\($0)") })
    }

    // With every eighth, each took the place of another that would have been read as often.
    @Test("brings one in 32 of the leaves that are read by parts to a full cache", .seeded)
    func rarelyCached() throws {
        var random = SeededGenerator()
        let store = try TreeStore.open(file: try SimulatedDisk(), options: Self.options(cacheBytes: 256 << 10))
        try Self.fill(store, "t", Self.lz4, 0..<6000)
        // Verifies all leaves, which fills the cache.
        #expect(try store.check { Issue.record("\($0)") })
        let read = try store.beginRead()
        let tree = try #require(try read.tree("t"))
        for number in 0..<6000 { #expect(try read.get(tree, Self.key(number)) != nil) }
        let (parts, evictions) = (read.view.hold?.partialReads ?? 0, store.pages.cache.figures.evictions)
        for _ in 0..<2000 { #expect(try read.get(tree, Self.key(random.below(6000))) != nil) }
        let inParts = (read.view.hold?.partialReads ?? 0) - parts
        #expect(inParts > 1000)
        let brought = Int(store.pages.cache.figures.evictions - evictions)
        #expect(inParts / 64...inParts / 24 ~= brought, "\(brought) of \(inParts)")
        read.abort()
    }

    @Test("gives entries with numbers for keys by parts, one by one and many at once", .seeded)
    func numbersByParts() throws {
        var random = SeededGenerator()
        let store = try TreeStore.open(file: try SimulatedDisk(), options: Self.options(cacheBytes: 256 << 10))
        try Self.fill(store, "t", Self.lz4, 0..<3000)
        let read = try store.beginRead()
        let tree = try #require(try read.tree("t"))
        for _ in 0..<100 {
            let numbers = (0..<16).map { (_) in UInt64(random.below(4000)) }
            let expected = numbers.map { $0 < 3000 ? Self.text(Int($0)) : nil }
            var found = [Bytes?](repeating: nil, count: 16)
            try numbers.withUnsafeBufferPointer { (numbers) throws(StorageError) in
                try found.withUnsafeMutableBufferPointer { (found) throws(StorageError) in
                    try read.getMany(tree, numbers: numbers, into: found)
                }
            }
            #expect(found.map { $0.map { Array($0) } } == expected)
            #expect(try numbers.map { try read.get(tree, number: $0).map { Array($0) } } == expected)
            let keys = numbers.map { Self.key(Int($0)) }
            var many: [[UInt8]?] = []
            let flat = keys.flatMap { $0 }
            try flat.withBytes { (flat) throws(StorageError) in
                try read.getMany(tree, count: 16, key: { Bytes(rebasing: flat[$0 * 8..<$0 * 8 + 8]) }) {
                    many.append($1.map { Array($0) })
                }
            }
            #expect(many == expected)
        }
        read.abort()
    }

    // A search assumed that the bytes it reads first are in the head and the tail of a stored leaf. A file with
    // leaves divided in another way, with right checksums, made it read memory that was never decoded.
    @Test("reads leaves that are divided in another way than it would", .seeded)
    func otherParts() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options(cacheBytes: 256 << 10))
        try Self.fill(store, "t", Self.lz4, 0..<2000)
        try store.close()
        var image = try #require(disk.killedImage())
        var changed = 0
        for place in Self.compressedLeaves(image) {
            let size = Int(image[place + 20]) * 4096
            // The rest of a former page may extend into another's place.
            let isWhole = image[place..<min(place + size, image.count)].withUnsafeBytes { stored in
                stored.baseAddress.map { PageHeader(reading: $0).checksum }
                    == PageHeader.checksum(of: stored, number: UInt64(place / 4096))
            }
            guard isWhole else { continue }
            var page = [UInt8](repeating: 0, count: 32_768)
            let problem = image[place..<place + size].withUnsafeBytes { stored in
                page.withUnsafeMutableBytes { CompressedPage.decode(stored, into: $0) }
            }
            guard problem == nil else { continue }
            // Nothing is in the head and the tail; blocks end anywhere.
            let parts = LeafParts(
                headEnd: 24, tailSize: 0,
                blocks: [1000] + [Int](repeating: 4000, count: 7) + [32_768 - 24 - 1000 - 28_000])
            let encoder = LeafEncoder(reserve: 0)
            let forged = withExtendedLifetime(encoder) {
                page.withUnsafeMutableBytes { Array(encoder.encode(leafInFull: $0, parts)) }
            }
            guard forged.count <= size else { continue }
            image.replaceSubrange(
                place..<place + size, with: forged + [UInt8](repeating: 0, count: size - forged.count))
            image[place..<place + size].withUnsafeMutableBytes { stored in
                stored.baseAddress?.storeBytes(of: UInt32(size / 4096).littleEndian, toByteOffset: 20, as: UInt32.self)
                PageHeader.seal(stored, number: UInt64(place / 4096))
            }
            changed += 1
        }
        #expect(changed > 5)
        let again = try TreeStore.open(
            file: try SimulatedDisk(image: image), options: Self.options(cacheBytes: 64 << 10))
        for _ in 0..<2 { try Self.expectTexts(again, 0..<2000) }
        let read = try again.beginRead()
        let tree = try #require(try read.tree("t"))
        #expect(try read.value(tree, Self.key(5000)) == nil)
        read.abort()
    }

    /// A leaf in memory, and its stored form, as its transactions leave them.
    private struct DividedLeaf {
        let node = TestNode(size: 32_768)
        let encoder = LeafEncoder(reserve: 0)
        let former = LeafEncoder(reserve: 0)
        var stored: [UInt8] = []

        /// Divides, stores and decodes the leaf. Returns its parts.
        mutating func commit() throws -> LeafParts {
            let page = UnsafeMutableRawBufferPointer.allocate(byteCount: node.size, alignment: 16)
            defer { page.deallocate() }
            let target = try #require(page.baseAddress)
            page.initializeMemory(as: UInt8.self, repeating: 0xDB)
            let parts = try stored.withBytes { stored in
                let blocks = BlockPage(stored)
                let leaf = blocks.flatMap { former.decode(former: stored, $0) }
                let parts = node.editor.divide(into: target, former: leaf)
                self.stored = Array(try #require(encoder.encode(Bytes(page), parts, former: leaf)))
                return parts
            }
            node.bytes.write16(0, PageLayout.flags)
            let problem = self.stored.withBytes {
                CompressedPage.decode($0, into: UnsafeMutableRawBufferPointer(start: node.bytes, count: node.size))
            }
            #expect(problem == nil)
            #expect(node.problem == nil)
            return parts
        }

        /// Tests that each entry lies in one block, and the sizes of the blocks.
        func check(_ parts: LeafParts) {
            var ends: Set<Int> = []
            var end = node.size - node.view.prefixSize
            #expect(parts.tailSize == node.view.prefixSize && node.view.deadSize == 0)
            for block in parts.blocks.reversed() {
                ends.insert(end)
                end -= block
            }
            #expect(end == node.size - node.view.heapSize)
            for index in 0..<node.view.count {
                let cell = node.view.slot(index)..<node.view.slot(index) + node.view.cell(index).size
                #expect(!ends.contains { $0 > cell.lowerBound && $0 < cell.upperBound })
            }
            #expect(parts.blocks.dropFirst().allSatisfy { $0 <= LeafParts.blockSize })
            #expect(parts.blocks[0] <= LeafParts.dictionarySize)
            #expect(parts.blocks.dropLast().dropFirst().allSatisfy { $0 >= LeafParts.blockSize / 2 })
        }
    }

    @Test("keeps the blocks of a leaf that a transaction hasn't changed, whatever it changes", .seeded)
    func parts() throws {
        var random = SeededGenerator()
        var leaf = DividedLeaf()
        var model: [[UInt8]: [UInt8]] = [:]
        var (encoded, kept) = (0, 0)
        for _ in 0..<400 {
            for _ in 0..<random.below(4) {
                let key = Self.key(random.below(150))
                let value = Array(Self.text(random.below(1000)).prefix(random.oneIn(4) ? random.below(190) : 150))
                let index = leaf.node.keys.firstIndex { !$0.lexicographicallyPrecedes(key) } ?? leaf.node.keys.count
                let isThere = model[key] != nil
                if isThere, random.oneIn(2) {
                    leaf.node.editor.remove(at: index)
                    model[key] = nil
                } else {
                    let node = leaf.node
                    let fits = isThere ? node.replace(at: index, value) : node.insert(at: index, key, value) != .no
                    if fits { model[key] = value }
                }
            }
            guard !model.isEmpty else { continue }
            // Cells move, so that they are no longer where the former blocks begin and end.
            if random.oneIn(20) { leaf.node.compact() }
            let parts = try leaf.commit()
            leaf.check(parts)
            let keys = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
            #expect(leaf.node.keys == keys)
            #expect(leaf.node.values == keys.map { model[$0] })
            kept += parts.kept.nonzeroBitCount
            encoded += parts.blocks.count - parts.kept.nonzeroBitCount
        }
        #expect(kept > 2 * encoded, "\(kept) \(encoded)")
    }

    @Test("encodes one block or two for an insertion")
    func insertion() throws {
        var leaf = DividedLeaf()
        for number in 0..<150 {
            let key = Self.key(number * 89 % 150)
            let index = leaf.node.keys.firstIndex { !$0.lexicographicallyPrecedes(key) } ?? leaf.node.keys.count
            #expect(leaf.node.insert(at: index, key, Self.text(number)) == .asIs)
            let parts = try leaf.commit()
            leaf.check(parts)
            #expect(parts.blocks.count - parts.kept.nonzeroBitCount <= 2)
        }
    }

    // A delete of an absent key, or a refused append, counted as a change: the next read reused the memory of
    // returned values, and a program that put one of them again stored other bytes.
    @Test(
        "keeps the values it has handed out during calls that change nothing", arguments: [PageAccess.mapped, .read])
    func refusals(access: PageAccess) throws {
        let store = try TreeStore.open(file: try SimulatedDisk(), options: Self.options(access))
        try Self.fill(store, "t", Self.lz4, 0..<100)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t"))
        let value = try #require(try write.get(tree, Self.key(7)))
        #expect(try !write.delete(tree, [0, 1]))
        #expect(throws: StorageError.self) { try write.append(tree, Self.key(3), [1]) }
        #expect(try write.deleteRange(tree, from: [200], to: [201]) == 0)
        // Each of these would reuse the memory of the first value.
        for number in 8..<40 { #expect(try write.value(tree, Self.key(number)) == Self.text(number)) }
        #expect(Array(value) == Self.text(7))
        try Self.key(1000).withBytes { (key) throws(StorageError) in try write.put(tree, key, value) }
        #expect(try write.value(tree, Self.key(1000)) == Self.text(7))
    }

    // The number of a leaf without a place in the file is a place in the open transaction's memory. If a file gave
    // such a number for a page, the transaction freed its own leaf.
    @Test("frees a leaf in memory only for its own parent")
    func foreignPointer() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: Self.lz4))
        try write.put(tree, [1], [1])
        let root = try write.opened(tree).pointee.root
        let pages = try #require(write.writer).pages
        #expect(throws: StorageError.self) { try pages.free(root.page, birth: root.birth - 1, sectors: nil) }
        #expect(try write.value(tree, [1]) == [1])
    }

    @Test("with leaves as large as the store's pages that don't compress is read before any checkpoint")
    func incompressibleLeaves() throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = 32_768
        let store = try TreeStore.open(file: try SimulatedDisk(), options: options)
        var random = SeededGenerator(seed: 9)
        var model = ModelTree()
        for round in 0..<12 {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true, options: TreeOptions(isCompressed: true)))
            for _ in 0..<20 {
                let key = random.bytes(4)
                let value = random.bytes(3000)
                try write.put(tree, key, value)
                model.put(key, value)
            }
            write.durability = round % 3 == 0 ? .none : .process
            try write.commit()
            let read = try store.beginRead()
            #expect(try read.contents(try #require(try read.tree("t"))) == model)
        }
        #expect(try store.check { Issue.record("\($0)") })
    }
}
