// SPDX-License-Identifier: Apache-2.0
// Stores with a lot of free space, and the models of their trees, for the tests of compaction, backup and salvage.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

/// A model of several trees, which are filled and thinned out at random.
struct SparseStore {
    static let names = ["names", "rows", "texts"]
    var trees: [String: ModelTree] = [:]
    private var random: SeededGenerator

    init(seed: UInt64 = SeededGenerator.seed) { random = SeededGenerator(seed: seed) }

    static var options: StoreOptions {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        return options
    }

    /// Returns a store most of which was deleted: one in `kept` of the `count` entries of each tree is left.
    static func thinned(
        count: Int = 1200, kept: Int = 8
    ) throws -> (disk: SimulatedDisk, store: TreeStore, model: SparseStore) {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        var model = SparseStore()
        try model.fill(store, count: count)
        try model.thin(store, kept: kept)
        try store.checkpoint()
        return (disk, store, model)
    }

    /// Puts `count` entries into each tree, one in `longOneIn` of them a long value.
    mutating func fill(_ store: TreeStore, count: Int, longOneIn: Int = 12) throws {
        let write = try store.beginWrite()
        for name in Self.names {
            let tree = try #require(try write.tree(name, create: true))
            for _ in 0..<count { try put(write, tree, name, longOneIn: longOneIn) }
        }
        try write.commit()
    }

    /// Puts another random entry.
    mutating func put(_ write: Transaction, _ tree: TreeID, _ name: String, longOneIn: Int) throws {
        let key = random.bytes(1 + random.below(20))
        let value = random.bytes(random.oneIn(longOneIn) ? 3000 + random.below(30_000) : random.below(300))
        try write.put(tree, key, value)
        trees[name, default: ModelTree()].put(key, value)
    }

    /// Makes some changes of one tree in a transaction of their own.
    mutating func change(_ store: TreeStore) throws {
        let write = try store.beginWrite()
        let name = Self.names[random.below(3)]
        let tree = try #require(try write.tree(name, create: true))
        for _ in 0..<5 { try put(write, tree, name, longOneIn: 6) }
        try write.commit()
    }

    /// Deletes all but one in `kept` of the entries, and the whole last tree on request.
    mutating func thin(_ store: TreeStore, kept: Int, droppingLast: Bool = false) throws {
        let write = try store.beginWrite()
        for name in Self.names {
            let tree = try #require(try write.tree(name))
            for key in trees[name]?.keys ?? [] where !random.oneIn(kept) {
                #expect(try write.delete(tree, key))
                _ = trees[name]?.delete(key)
            }
        }
        if droppingLast, let last = Self.names.last {
            #expect(try write.dropTree(last))
            trees[last] = nil
        }
        try write.commit()
    }

    /// Checks that the store has exactly the model's content and is sound.
    func expect(_ store: TreeStore, _ place: Comment? = nil) throws {
        let read = try store.beginRead()
        #expect(try read.treeNames() == trees.keys.sorted(), place)
        for (name, model) in trees {
            let tree = try #require(try read.tree(name), place)
            #expect(try read.contents(tree) == model, place)
        }
        read.abort()
        #expect(try store.check { Issue.record("\($0) \(place.map { "\($0)" } ?? "")") }, place)
    }
}
