// SPDX-License-Identifier: Apache-2.0
// The pages after typical loads: how full nodes are, and that nothing is left over.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Tree shape")
struct TreeShapeTests {
    private func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(value).bigEndian) { Array($0) } }

    /// Returns the number of leaves, and the used part of their capacity.
    private func leaves(_ transaction: Transaction, _ tree: TreeID) throws -> (count: Int, fill: Double) {
        let root = try transaction.opened(tree).pointee.root
        let capacity = NodeLayout.capacity(pageSize: transaction.view.pageSize)
        var count = 0
        var used = 0
        func visit(_ record: ChildRecord, _ level: Int) throws {
            let node = try transaction.view.node(record.page, birth: record.birth, level: level)
            if level == 0 {
                count += 1
                used += node.usedSize
            } else {
                for index in 0..<node.count { try visit(node.child(index), level - 1) }
            }
        }
        if !root.isEmpty { try visit(ChildRecord(page: root.page, birth: root.birth, count: root.count), root.level) }
        return (count, count == 0 ? 1 : Double(used) / Double(count * capacity))
    }

    @Test("Appended and ascending entries fill nodes to the brim", arguments: [true, false])
    func ascending(isAppended: Bool) throws {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        for value in 0..<20_000 {
            if isAppended {
                try transaction.append(tree, number(value), [1, 2, 3, 4])
            } else {
                try transaction.put(tree, number(value), [1, 2, 3, 4])
            }
        }
        #expect(try leaves(transaction, tree).fill > 0.95)
        try transaction.commit()
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("Entries in random order fill nodes to two thirds", .seeded)
    func randomOrder() throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        for _ in 0..<10_000 { try transaction.put(tree, random.bytes(16), random.bytes(20)) }
        #expect(try leaves(transaction, tree).fill > 0.6)
    }

    @Test("A tree that loses most entries gives its pages back, and all of them when it is empty", .seeded)
    func shrinks() throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory()
        var transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        var keys = (0..<8000).map { _ in random.bytes(16) }
        for key in keys { try transaction.put(tree, key, [1, 2, 3]) }
        let full = try leaves(transaction, tree).count
        try transaction.commit()

        keys.shuffle(using: &random)
        transaction = try store.beginWrite()
        for key in keys.dropFirst(400) { #expect(try transaction.delete(tree, key)) }
        #expect(try leaves(transaction, tree).count < full / 5)
        try transaction.commit()
        #expect(try store.check { Issue.record("\($0)") })

        transaction = try store.beginWrite()
        for key in keys.prefix(400) { #expect(try transaction.delete(tree, key)) }
        #expect(try leaves(transaction, tree).count == 0)
        #expect(try transaction.count(tree) == 0)
        try transaction.commit()
        #expect(try store.check { Issue.record("\($0)") })
    }

    /// Returns how full the emptiest node is, apart from the root and the last node of each level, which ascending
    /// puts begin with one entry.
    private func emptiest(_ transaction: Transaction, _ tree: TreeID) throws -> Double {
        let root = try transaction.opened(tree).pointee.root
        let capacity = NodeLayout.capacity(pageSize: transaction.view.pageSize)
        var least = 1.0
        func visit(_ record: ChildRecord, _ level: Int, isLast: Bool) throws {
            let node = try transaction.view.node(record.page, birth: record.birth, level: level)
            if !isLast { least = min(least, Double(node.usedSize) / Double(capacity)) }
            for index in 0..<(level == 0 ? 0 : node.count) {
                try visit(node.child(index), level - 1, isLast: isLast && index == node.count - 1)
            }
        }
        let top = ChildRecord(page: root.page, birth: root.birth, count: root.count)
        if !root.isEmpty { try visit(top, root.level, isLast: true) }
        return least
    }

    enum Order: CaseIterable {
        case random, ascending, descending
        /// Leaves one of many entries, all over the tree.
        case sparing
        /// Deletes all keys of one neighbourhood, then of another.
        case clustered
        case ranges
    }

    @Test(
        "No node but the root stays less than a quarter full, after deletions in any order", .seeded,
        arguments: Order.allCases, [0, 300])
    func fill(order: Order, keySize: Int) throws {
        var random = SeededGenerator()
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let store = try TreeStore.inMemory(options: options)
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        let padding = [UInt8](repeating: 7, count: keySize)
        let count = keySize == 0 ? 6000 : 1500
        var keys = (0..<count).map { number($0) + padding }
        for key in keys.shuffled(using: &random) { try transaction.put(tree, key, [1, 2, 3]) }
        switch order {
        case .random: keys.shuffle(using: &random)
        case .ascending: break
        case .descending: keys.reverse()
        case .sparing: keys = keys.enumerated().filter { $0.offset % 37 != 0 }.map(\.element)
        case .clustered:
            keys = (0..<count / 50).shuffled(using: &random).flatMap { cluster in keys[cluster * 50..<cluster * 50 + 50]
            }
        case .ranges: keys.shuffle(using: &random)
        }
        var deleted = 0
        for (index, key) in keys.enumerated() where index % (order == .ranges ? 40 : 1) == 0 {
            if order == .ranges {
                let end = number(Int(key[6]) * 256 + Int(key[7]) + random.below(200))
                deleted += try Int(transaction.deleteRange(tree, from: key, to: end))
            } else {
                #expect(try transaction.delete(tree, key))
                deleted += 1
            }
            if index % (count / 15) == 0 || order == .ranges { #expect(try emptiest(transaction, tree) >= 0.25) }
        }
        #expect(try transaction.count(tree) == UInt64(count - deleted))
        #expect(try emptiest(transaction, tree) >= 0.25)
        try transaction.commit()
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("Dropping a tree or deleting its range frees every page, long values too", .seeded, arguments: [true, false])
    func freesPages(isDropped: Bool) throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory()
        var transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        for index in 0..<3000 {
            try transaction.put(tree, random.bytes(16), random.bytes(index % 50 == 0 ? 9000 : 30))
        }
        try transaction.commit()
        transaction = try store.beginWrite()
        if isDropped {
            #expect(try transaction.dropTree("t"))
        } else {
            #expect(try transaction.deleteRange(tree, from: [], to: []) == 3000)
        }
        try transaction.commit()
        // `check` accounts for every sector: nothing of the tree may be left in use.
        #expect(try store.check { Issue.record("\($0)") })
        let read = try store.beginRead()
        #expect(try read.treeNames() == (isDropped ? [] : ["t"]))
    }

    @Test("Deleting a range or a tree reads branches and the leaves at the edges, no others", arguments: [false, true])
    func readsNoLeaves(isDropped: Bool) throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let disk = try SimulatedDisk()
        var store = try TreeStore.open(file: disk, options: options)
        var transaction = try store.beginWrite()
        var tree = try #require(try transaction.tree("t", create: true))
        for value in 0..<40_000 { try transaction.append(tree, number(value), [1, 2, 3, 4]) }
        let leaves = try leaves(transaction, tree).count
        #expect(leaves > 100)
        try transaction.commit()
        try store.close()

        // The cache counts the pages read from a file without a mapping.
        options.access = .read
        store = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: options)
        transaction = try store.beginWrite()
        tree = try #require(try transaction.tree("t"))
        let levels = try transaction.opened(tree).pointee.root.level + 1
        let before = store.pages.statistics.cache.misses
        if isDropped {
            #expect(try transaction.dropTree("t"))
        } else {
            #expect(try transaction.deleteRange(tree, from: number(1000), to: number(39_000)) == 38_000)
        }
        let read = store.pages.statistics.cache.misses - before
        #expect(Int(read) < leaves / 40 + 6 * levels, "\(read) pages read, \(leaves) leaves")
        try transaction.commit()
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("A range of any start and end is deleted, from trees of several levels", .seeded)
    func deletesRanges() throws {
        var random = SeededGenerator()
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let store = try TreeStore.inMemory(options: options)
        let start = try store.beginWrite()
        let tree = try #require(try start.tree("t", create: true))
        var model = ModelTree()
        for value in 0..<4000 {
            // Long keys make branches hold few entries, and the tree high.
            let key = number(value) + [UInt8](repeating: 7, count: 300)
            try start.put(tree, key, [])
            model.put(key, [])
        }
        #expect(try start.opened(tree).pointee.root.level >= 2)
        try start.commit()
        for _ in 0..<150 {
            let transaction = try store.beginWrite()
            defer { transaction.abort() }
            var left = model
            let from = random.oneIn(10) ? [] : number(random.below(4000))
            let to = random.oneIn(10) ? [] : number(random.below(4000)) + [random.oneIn(2) ? 0 : 8]
            let expected = left.deleteRange(from, to)
            #expect(try transaction.deleteRange(tree, from: from, to: to) == UInt64(expected))
            #expect(try transaction.count(tree) == UInt64(left.count))
            #expect(try transaction.contents(tree).keys == left.keys)
        }
    }
}
