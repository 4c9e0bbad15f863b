// SPDX-License-Identifier: Apache-2.0
// Putting keys that are close together: each put begins at the path of the previous one, if that still leads to the
// right leaf. The result agrees with the model, with any other operations in between.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

/// Returns a value with a number that sums can use.
private func value(_ size: Int, _ random: inout SeededGenerator) -> [UInt8] {
    [UInt8(random.below(200)), 0, 0, 0, 0, 0, 0, 0] + random.bytes(size)
}

@Suite("Putting neighbours")
struct NeighbourTests {
    enum Kind: CaseIterable {
        case plain, reduced, compressed

        static let sum = Reduction.sum(of: Int64.self)

        var treeOptions: TreeOptions {
            TreeOptions(reduction: self == .reduced ? Self.sum : nil, isCompressed: self == .compressed)
        }
    }

    /// A store of one tree that is killed and opened again: the journal restores the changes since the last
    /// checkpoint.
    private struct KilledStore {
        let kind: Kind
        private var disk: SimulatedDisk

        init(_ kind: Kind) throws {
            self.kind = kind
            disk = try SimulatedDisk()
        }

        /// Returns the store after the kill, and a transaction that has verified the tree's content.
        mutating func reopened(_ model: ModelTree) throws -> (TreeStore, Transaction, TreeID) {
            disk = try SimulatedDisk(disk.imageAfterKill())
            var options = StoreOptions.withLargeRing
            options.pageSize = 4096
            let store = try TreeStore.open(file: disk, options: options, reductions: [Kind.sum])
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree("t", create: true, options: kind.treeOptions))
            #expect(try transaction.contents(tree) == model)
            return (store, transaction, tree)
        }
    }

    /// Two trees and their expected content.
    private struct Trees {
        let transaction: Transaction
        let trees: [TreeID]
        var models: [ModelTree]

        mutating func put(_ place: Int, _ key: [UInt8], _ value: [UInt8]) throws {
            try transaction.put(trees[place], key, value)
            models[place].put(key, value)
        }

        /// Makes a random operation between two operations of a run.
        mutating func disturb(_ place: Int, _ random: inout SeededGenerator) throws {
            let tree = trees[place]
            let keys = models[place].keys
            switch random.below(30) {
            case 0 where !keys.isEmpty:
                let key = keys[random.below(keys.count)]
                #expect(try transaction.delete(tree, key) == models[place].delete(key))
            case 1 where !keys.isEmpty:
                let from = random.below(keys.count)
                let to = min(keys.count - 1, from + random.below(80))
                let gone = models[place].deleteRange(keys[from], keys[to])
                #expect(try transaction.deleteRange(tree, from: keys[from], to: keys[to]) == UInt64(gone))
            case 2:
                try put(1 - place, random.bytes(1 + random.below(20)), value(random.below(40), &random))
            case 3:
                let former = models
                let savepoint = try transaction.savepoint()
                for _ in 0..<random.below(40) {
                    try put(place, random.bytes(4), value(random.below(300), &random))
                }
                if random.oneIn(2) {
                    try transaction.rollback(to: savepoint)
                    models = former
                }
                try transaction.release(savepoint)
            default: break
            }
        }
    }

    @Test("runs among other changes agree with the model", .seeded, arguments: Kind.allCases)
    func runs(kind: Kind) throws {
        var random = SeededGenerator()
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let store = try TreeStore.inMemory(options: options, reductions: [Kind.sum])
        var models = [ModelTree(), ModelTree()]
        for _ in 0..<30 {
            let transaction = try store.beginWrite()
            let opened = try ["a", "b"].map {
                try #require(try transaction.tree($0, create: true, options: kind.treeOptions))
            }
            var trees = Trees(transaction: transaction, trees: opened, models: models)
            for _ in 0..<random.below(12) { try run(&trees, random.below(2), &random) }
            models = trees.models
            for place in 0..<2 { #expect(try transaction.contents(opened[place]) == models[place]) }
            try transaction.commit()
        }
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test(
        "Many entries put at once are there as if put one by one, now and after recovery", .seeded,
        arguments: Kind.allCases)
    func many(kind: Kind) throws {
        var random = SeededGenerator()
        var killed = try KilledStore(kind)
        var model = ModelTree()
        for _ in 0..<12 {
            let (store, transaction, tree) = try killed.reopened(model)
            for _ in 0..<random.below(8) {
                let (keySize, valueSize) = (
                    8 + random.below(9), random.oneIn(9) ? 255 : 8 + random.below(20)
                )
                var number = random.oneIn(3) ? random.below(1_000_000) : 1_000_000 * (model.count + 1)
                var bytes: [UInt8] = []
                let count = random.below(random.oneIn(3) ? 900 : 20)
                for _ in 0..<count {
                    number = random.oneIn(40) ? random.below(number + 1) : number + random.below(3)
                    let key = withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
                    let whole = key + [UInt8](repeating: 7, count: keySize - 8)
                    let content = value(valueSize - 8, &random)
                    model.put(whole, content)
                    bytes += whole + content
                }
                try bytes.withUnsafeBytes { bytes in
                    guard let start = bytes.baseAddress else { return }
                    let run = EntryRun(start, count: count, keySize: keySize, valueSize: valueSize)
                    try transaction.put(tree, run)
                }
                if random.oneIn(3), model.count > 0 {
                    let key = model.keys[random.below(model.count)]
                    #expect(try transaction.delete(tree, key) == model.delete(key))
                }
            }
            #expect(try transaction.contents(tree) == model)
            #expect(try transaction.count(tree) == UInt64(model.count))
            try transaction.commit()
            #expect(try store.check { Issue.record("\($0)") })
        }
    }

    @Test(
        "Many keys removed at once are gone as if removed one by one, now and after recovery", .seeded,
        arguments: Kind.allCases)
    func manyRemoved(kind: Kind) throws {
        var random = SeededGenerator()
        var killed = try KilledStore(kind)
        var model = ModelTree()
        for round in 0..<14 {
            let (store, transaction, tree) = try killed.reopened(model)
            for _ in 0..<(round % 3 == 0 ? 1_500 : 40) {
                let number = UInt64(random.below(5_000)).bigEndian
                let key = withUnsafeBytes(of: number) { Array($0) } + (random.oneIn(20) ? [1] : [])
                let content = value(random.oneIn(200) ? 5_000 : random.below(60), &random)
                try transaction.put(tree, key, content)
                model.put(key, content)
            }
            let former = model
            let savepoint = random.oneIn(3) ? try transaction.savepoint() : nil
            for _ in 0..<random.below(12) { try removeMany(transaction, tree, &model, &random) }
            #expect(try transaction.contents(tree) == model)
            #expect(try transaction.count(tree) == UInt64(model.count))
            if let savepoint {
                try transaction.rollback(to: savepoint)
                try transaction.release(savepoint)
                model = former
            }
            try transaction.commit()
            #expect(try store.check { Issue.record("\($0)") })
        }
        #expect(model.count > 100)
    }

    /// Removes keys of one size, many of which are present: mostly ascending, some of them twice.
    private func removeMany(
        _ transaction: Transaction, _ tree: TreeID, _ model: inout ModelTree, _ random: inout SeededGenerator
    ) throws {
        let tail: [UInt8] = random.oneIn(5) ? [1] : []
        var number = random.below(5_000)
        var bytes: [UInt8] = []
        let count = random.below(random.oneIn(3) ? 400 : 12)
        for _ in 0..<count {
            let key = withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + tail
            bytes += key
            _ = model.delete(key)
            number = random.oneIn(30) ? random.below(5_000) : number + random.below(3)
        }
        try bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            try transaction.delete(tree, EntryRun(start, count: count, keySize: 8 + tail.count, valueSize: 0))
        }
    }

    /// Puts keys within some thousand numbers of each other: mostly ascending, some of them present or prefixes of
    /// others.
    private func run(_ trees: inout Trees, _ place: Int, _ random: inout SeededGenerator) throws {
        var number = random.below(100_000)
        for _ in 0..<random.below(150) {
            number = random.oneIn(12) ? max(0, number - random.below(300)) : number + random.below(30)
            let key =
                withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + (random.oneIn(9) ? [0] : [])
            let size = random.oneIn(60) ? 5_000 : random.below(random.oneIn(4) ? 700 : 30)
            try trees.put(place, key, value(size, &random))
            try trees.disturb(place, &random)
        }
    }
}
