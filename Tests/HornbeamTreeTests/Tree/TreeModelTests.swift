// SPDX-License-Identifier: Apache-2.0
// A store compared with a model: long random scripts of changes, commits, aborts and reopenings. After each of these
// the whole content, the counts and `check` are compared.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Trees against a model")
struct TreeModelTests {
    @Test(
        "Any script agrees with the model, in memory", .seeded, arguments: KeyKind.allCases, [4096, 8192, 65536])
    func inMemory(kind: KeyKind, pageSize: Int) throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = pageSize
        let holder = StoreHolder(try TreeStore.inMemory(options: options))
        var script = Script(kind: kind, pageSize: pageSize, steps: 9000)
        try script.run(holder) {}
        try holder.store?.close()
    }

    @Test(
        "Any script agrees with the model with compressed leaves", .seeded, arguments: [4096, 8192], [true, false])
    func compressed(pageSize: Int, isMapped: Bool) throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = pageSize
        options.access = isMapped ? .mapped : .read
        options.cacheBytes = 1 << 18
        options.durability = .process
        let disk = try SimulatedDisk()
        let holder = StoreHolder(try TreeStore.open(file: disk, options: options))
        var script = Script(kind: .random, pageSize: pageSize, steps: 2500, isCompressed: true)
        var isClosing = false
        try script.run(holder) {
            // Every other time, the journal must restore the changes since the checkpoint.
            isClosing.toggle()
            if isClosing { try holder.store?.close() }
            holder.store = nil
            holder.store = try TreeStore.open(file: disk, options: options)
        }
    }

    @Test(
        "Any script agrees with the model, in a file that is closed or dropped and opened again", .seeded,
        arguments: [
            KeyKind.random, .fewBytes, .long,
        ])
    func inFile(kind: KeyKind) throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        options.durability = .process
        var isClosing = false
        let path = folder.path("trees.hornbeam")
        let holder = StoreHolder(try TreeStore.open(at: path, options: options))
        var script = Script(kind: kind, pageSize: options.pageSize, steps: 5000)
        try script.run(holder) {
            // Every other time, the journal must restore the changes since the checkpoint.
            isClosing.toggle()
            if isClosing { try holder.store?.close() }
            holder.store = nil
            holder.store = try TreeStore.open(at: path, options: options)
        }
    }
}

/// Holds the only reference to a store, so that it can be released.
private final class StoreHolder {
    var store: TreeStore?
    init(_ store: TreeStore) { self.store = store }
}

/// A random script over two trees and its model.
private struct Script {
    let kind: KeyKind
    let maximumKey: Int
    let inlineLimit: Int
    let steps: Int
    var isCompressed = false
    var random = SeededGenerator()
    var counter: UInt64 = 0
    var committed = [ModelTree(), ModelTree()]
    var current = [ModelTree(), ModelTree()]

    init(kind: KeyKind, pageSize: Int, steps: Int, isCompressed: Bool = false) {
        self.kind = kind
        self.steps = steps
        self.isCompressed = isCompressed
        maximumKey = NodeLayout.maximumKey(pageSize: pageSize)
        inlineLimit = NodeLayout.inlineLimit(pageSize: isCompressed ? PageWriter.compressedLeafSize : pageSize)
    }

    /// Runs the script. Sometimes calls `pause`, which may open the store again.
    mutating func run(_ holder: StoreHolder, pause: () throws -> Void) throws {
        var done = 0
        while done < steps {
            // Trees grow, then shrink to almost nothing, then grow again.
            let isGrowing = done / 2000 % 2 == 0
            let length = 1 + random.below(random.oneIn(4) ? 900 : 60)
            try transaction(try #require(holder.store), length, isGrowing: isGrowing)
            done += length
            if random.oneIn(12) {
                try verify(try #require(holder.store))
                try pause()
            }
        }
        try verify(try #require(holder.store))
    }

    private mutating func transaction(_ store: TreeStore, _ length: Int, isGrowing: Bool) throws {
        let transaction = try store.beginWrite()
        let trees = try ["first", "second"].map {
            try #require(
                try transaction.tree($0, create: true, options: TreeOptions(isCompressed: isCompressed)))
        }
        current = committed
        for _ in 0..<length {
            let place = random.oneIn(5) ? 1 : 0
            try step(transaction, trees[place], place, isGrowing: isGrowing)
        }
        if random.oneIn(6) {
            transaction.abort()
        } else {
            try transaction.commit()
            committed = current
        }
    }

    private mutating func step(_ transaction: Transaction, _ tree: TreeID, _ place: Int, isGrowing: Bool) throws {
        let choice = random.below(100)
        if choice < (isGrowing ? 65 : 20) {
            let key = newKey(place)
            let value = newValue(keySize: key.count)
            try transaction.put(tree, key, value)
            current[place].put(key, value)
        } else if choice < 90 {
            let key = someKey(place)
            #expect(try transaction.delete(tree, key) == current[place].delete(key))
        } else if choice < 92, !isGrowing || random.oneIn(10) {
            let (from, to) = (bound(place), bound(place))
            let expected = current[place].deleteRange(from, to)
            #expect(try transaction.deleteRange(tree, from: from, to: to) == UInt64(expected))
        } else if choice < 96 {
            let key = someKey(place)
            #expect(try transaction.value(tree, key) == current[place].get(key))
        } else {
            let (from, to) = (bound(place), bound(place))
            let expected = current[place].range(from, to).count
            #expect(try transaction.count(tree, from: from, to: to) == UInt64(expected))
        }
    }

    private mutating func newKey(_ place: Int) -> [UInt8] {
        if random.oneIn(5), current[place].count > 0 { return current[place].keys[random.below(current[place].count)] }
        return kind.key(&random, maximum: maximumKey, counter: &counter)
    }

    /// Returns a key, mostly a present one.
    private mutating func someKey(_ place: Int) -> [UInt8] {
        if !random.oneIn(4), current[place].count > 0 { return current[place].keys[random.below(current[place].count)] }
        return kind.key(&random, maximum: maximumKey, counter: &counter)
    }

    private mutating func bound(_ place: Int) -> [UInt8] { random.oneIn(6) ? [] : someKey(place) }

    private mutating func newValue(keySize: Int) -> [UInt8] {
        // Half of the values in compressed trees are compressible.
        if isCompressed, random.oneIn(2) { return [UInt8](repeating: 7, count: random.below(2000)) }
        switch random.below(20) {
        case 0: return []
        case 1: return random.bytes(max(0, inlineLimit - keySize - 4 + random.below(3) - 1))
        case 2: return random.oneIn(3) ? random.bytes(4000 + random.below(10000)) : [1]
        case 3: return random.bytes(random.below(inlineLimit))
        default: return random.bytes(random.below(40))
        }
    }

    private mutating func verify(_ store: TreeStore) throws {
        var problems: [String] = []
        #expect(try store.check { problems.append($0) })
        #expect(problems == [])
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        for (place, name) in ["first", "second"].enumerated() {
            guard let tree = try transaction.tree(name) else {
                #expect(committed[place].count == 0)
                continue
            }
            let model = committed[place]
            #expect(try transaction.contents(tree) == model)
            #expect(try transaction.count(tree) == UInt64(model.count))
            for _ in 0..<min(20, model.count) {
                let key = model.keys[random.below(model.count)]
                #expect(try transaction.value(tree, key) == model.get(key))
                #expect(try transaction.count(tree, from: [], to: key) == UInt64(model.rank(key)))
            }
        }
    }
}
