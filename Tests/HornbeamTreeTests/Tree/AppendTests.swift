// SPDX-License-Identifier: Apache-2.0
// Appending: mixed with any other change, it has the effect of puts, and refuses a key that doesn't come last.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Appending")
struct AppendTests {
    private func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(value).bigEndian) { Array($0) } }

    @Test("Appends among other changes of several trees agree with the model", .seeded, arguments: [false, true])
    func model(isReduced: Bool) throws {
        var random = SeededGenerator()
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let count = Reduction.sum(of: Int64.self)
        let store = try TreeStore.inMemory(options: options, reductions: [count])
        var models = [ModelTree(), ModelTree()]
        var next = 0
        for _ in 0..<60 {
            let transaction = try store.beginWrite()
            let trees = try ["a", "b"].map {
                let options = TreeOptions(reduction: isReduced ? count : nil)
                return try #require(try transaction.tree($0, create: true, options: options))
            }
            for _ in 0..<random.below(400) {
                let place = random.oneIn(20) ? 1 : 0
                try step(transaction, trees[place], &models[place], &next, &random)
                if isReduced, random.oneIn(50) {
                    let sum = models[place].values.reduce(Int128(0)) { $0 + Int128($1.first ?? 0) }
                    let found = try transaction.reduce(trees[place])
                    #expect(found.withUnsafeBytes { $0.loadUnaligned(as: Int128.self) } == sum)
                }
            }
            for place in 0..<2 { #expect(try transaction.contents(trees[place]) == models[place]) }
            try transaction.commit()
        }
        #expect(try store.check { Issue.record("\($0)") })
    }

    private func step(
        _ transaction: Transaction, _ tree: TreeID, _ model: inout ModelTree, _ next: inout Int,
        _ random: inout SeededGenerator
    ) throws {
        let value = [UInt8(random.below(200)), 0, 0, 0, 0, 0, 0, 0] + random.bytes(random.below(60))
        switch random.below(40) {
        case 0:
            let key = number(random.below(next + 1))
            try transaction.put(tree, key, value)
            model.put(key, value)
        case 1 where model.count > 0:
            let key = random.oneIn(2) ? model.keys[model.count - 1] : model.keys[random.below(model.count)]
            #expect(try transaction.delete(tree, key) == model.delete(key))
        case 2 where random.oneIn(8):
            let from = number(next - random.below(300))
            #expect(try transaction.deleteRange(tree, from: from, to: []) == UInt64(model.deleteRange(from, [])))
        case 3 where model.count > 0:
            // Refused, and nothing has changed.
            let key = random.oneIn(2) ? model.keys[model.count - 1] : model.keys[random.below(model.count)]
            #expect(throws: StorageError.self) { try transaction.append(tree, key, value) }
        default:
            next += 1 + random.below(5) * random.below(300)
            // Prefixes of the previous key, and keys that begin with it.
            let key = number(next) + (random.oneIn(9) ? [0] : [])
            guard model.count == 0 || model.keys[model.count - 1].lexicographicallyPrecedes(key) else { return }
            try transaction.append(tree, key, value)
            model.put(key, value)
        }
    }

    @Test("Keys that are prefixes of each other, and keys without common bytes, come in order")
    func prefixes() throws {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        let keys: [[UInt8]] = [[0], [0, 0], [0, 0, 0], [0, 1], [1], [1, 255], [2], [255], [255, 0], [255, 255]]
        for key in keys { try transaction.append(tree, key, key) }
        for key in keys.dropLast() {
            #expect(throws: StorageError.self) { try transaction.append(tree, key, []) }
        }
        #expect(throws: StorageError.self) { try transaction.append(tree, [255, 255], []) }
        #expect(try transaction.contents(tree).keys == keys)
    }

    @Test("Many lookups at once give the results of single ones", .seeded, arguments: KeyKind.allCases)
    func getMany(kind: KeyKind) throws {
        var random = SeededGenerator()
        var counter: UInt64 = 0
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let store = try TreeStore.inMemory(options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        var model = ModelTree()
        #expect(try write.getMany(tree, []).isEmpty)
        for _ in 0..<1200 {
            let key = kind.key(&random, maximum: write.maximumKey, counter: &counter)
            let value = random.bytes(random.oneIn(50) ? 5000 : random.below(30))
            try write.put(tree, key, value)
            model.put(key, value)
        }
        // In the writer's own pages and in published ones.
        try lookUp(write, tree, model, kind, &random, &counter)
        try write.commit()
        try lookUp(try store.beginRead(), tree, model, kind, &random, &counter)
    }

    private func lookUp(
        _ transaction: Transaction, _ tree: TreeID, _ model: ModelTree, _ kind: KeyKind,
        _ random: inout SeededGenerator, _ counter: inout UInt64
    ) throws {
        for size in [1, 2, 15, 16, 17, 100] {
            var keys: [[UInt8]] = []
            for _ in 0..<size {
                keys.append(
                    random.oneIn(4)
                        ? kind.key(&random, maximum: transaction.maximumKey, counter: &counter)
                        : model.keys[random.below(model.count)])
            }
            let memory = keys.map { key in
                let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count, alignment: 1)
                bytes.copyBytes(from: key)
                return bytes
            }
            defer { for bytes in memory { bytes.deallocate() } }
            let found = try transaction.getMany(tree, memory.map { Bytes($0) })
            #expect(found.map { $0.map { Array($0) } } == keys.map { model.get($0) })
        }
    }
}
