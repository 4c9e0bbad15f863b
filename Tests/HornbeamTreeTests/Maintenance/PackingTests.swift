// SPDX-License-Identifier: Apache-2.0
// Half-empty leaves, left by deletions, are filled up: by a compaction, and by the store's thread.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Half-empty leaves")
struct PackingTests {
    private static let count: Reduction = Reduction(
        name: "bytes", identity: [UInt8](repeating: 0, count: 8),
        map: { (_, value, target) in target.storeBytes(of: UInt64(value.count), as: UInt64.self) },
        combine: { (target, next) in
            let sum = target.loadUnaligned(as: UInt64.self) + next.loadUnaligned(as: UInt64.self)
            target.storeBytes(of: sum, as: UInt64.self)
        })

    /// Kinds of trees.
    enum Kind: CaseIterable { case plain, compressed, reducing, longKeys, largeEntries }

    private func open(_ disk: SimulatedDisk) throws -> TreeStore {
        try TreeStore.open(file: disk, options: SparseStore.options, reductions: [Self.count])
    }

    private func key(_ number: Int, _ kind: Kind) -> [UInt8] {
        let digits = withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
        return kind == .longKeys ? [UInt8](repeating: 9, count: 150) + digits : digits
    }

    /// Returns a tree with one in `kept` entries left, at various positions.
    private func thinned(
        _ disk: SimulatedDisk, _ kind: Kind, count: Int = 6000, kept: Int = 3
    ) throws -> (store: TreeStore, model: ModelTree) {
        var random = SeededGenerator()
        let store = try open(disk)
        let fill = try store.beginWrite()
        let options = TreeOptions(reduction: kind == .reducing ? Self.count : nil, isCompressed: kind == .compressed)
        let tree = try #require(try fill.tree("t", create: true, options: options))
        var model = ModelTree()
        for number in 0..<count {
            let size = kind == .largeEntries ? 300 + random.below(600) : random.below(60)
            let (key, pattern) = (key(number, kind), random.bytes(8))
            let value = kind == .compressed ? (0..<size).map { pattern[$0 % 8] } : random.bytes(size)
            try fill.put(tree, key, value)
            model.put(key, value)
        }
        try fill.commit()
        let write = try store.beginWrite()
        for number in 0..<count where !random.oneIn(kept) {
            #expect(try write.delete(tree, key(number, kind)))
            _ = model.delete(key(number, kind))
        }
        try write.commit()
        try store.checkpoint()
        return (store, model)
    }

    private func expect(_ store: TreeStore, _ model: ModelTree, _ kind: Kind, _ place: Comment? = nil) throws {
        let read = try store.beginRead()
        defer { read.abort() }
        let tree = try #require(try read.tree("t"), place)
        #expect(try read.contents(tree) == model, place)
        if kind == .reducing {
            let bytes = try read.reduce(tree).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
            #expect(bytes == UInt64(model.values.reduce(0) { $0 + $1.count }), place)
        }
        #expect(try store.check { Issue.record("\($0) \(place.map { "\($0)" } ?? "")") }, place)
    }

    private func leaves(_ store: TreeStore) throws -> Int {
        let read = try store.beginRead()
        defer { read.abort() }
        let root = try read.opened(try #require(try read.tree("t"))).pointee.root
        func leaves(_ page: UInt64, _ birth: UInt64, _ level: Int) throws -> Int {
            guard level > 0 else { return 1 }
            let node = try read.view.node(page, birth: birth, level: level)
            guard level > 1 else { return node.count }
            return try (0..<node.count).reduce(0) { sum, index in
                let child = node.child(index)
                return try sum + leaves(child.page, child.birth, level - 1)
            }
        }
        return try leaves(root.page, root.birth, root.level)
    }

    @Test("are filled up by a compaction, and a second one has nothing to do", .seeded, arguments: Kind.allCases)
    func compaction(kind: Kind) throws {
        let disk = try SimulatedDisk()
        let (store, model) = try thinned(disk, kind)
        let used = store.statistics.usedBytes - store.statistics.journalCapacityBytes
        let before = try leaves(store)
        try store.compact()
        try expect(store, model, kind)
        let after = store.statistics.usedBytes - store.statistics.journalCapacityBytes
        // Hardly more large entries fit. A compressed leaf takes only the space it needs: there are fewer leaves, but
        // hardly fewer bytes.
        if kind == .compressed {
            #expect(after <= used, "\(after) of \(used)")
        } else {
            #expect(after * 20 < used * (kind == .largeEntries ? 16 : 10), "\(after) of \(used)")
        }
        let left = try leaves(store)
        #expect(left * 20 < before * (kind == .largeEntries ? 16 : 10), "\(left) leaves of \(before)")
        let calls = disk.calls
        #expect(try store.compact().movedBytes == 0 && disk.calls == calls)
        try expect(open(SimulatedDisk(image: disk.killedImage())), model, kind)
    }

    @Test("are filled up by the store's thread once much was deleted", .seeded, arguments: Kind.allCases)
    func byThemselves(kind: Kind) throws {
        let disk = try SimulatedDisk()
        let (store, model) = try thinned(disk, kind)
        let used = store.statistics.usedBytes - store.statistics.journalCapacityBytes
        let before = try leaves(store)
        store.writing.giveBack(in: store.pages, isIdle: true)
        try expect(store, model, kind)
        let after = store.statistics.usedBytes - store.statistics.journalCapacityBytes
        #expect(after * 20 < used * (kind == .compressed ? 20 : kind == .largeEntries ? 21 : 13), "\(after) of \(used)")
        let left = try leaves(store)
        #expect(left * 20 < before * (kind == .largeEntries ? 21 : 13), "\(left) leaves of \(before)")
        let calls = disk.calls
        store.writing.giveBack(in: store.pages, isIdle: true)
        #expect(disk.calls == calls)
        // Few deletions aren't worth reading all leaves.
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t"))
        for key in model.keys.prefix(20) { _ = try write.delete(tree, key) }
        try write.commit()
        #expect(!store.writing.removed.isMany(in: tree.rawValue, of: 1000))
    }

    @Test("stay where another program's reduction is kept with them", .seeded)
    func unknownReduction() throws {
        let disk = try SimulatedDisk()
        let model = try thinned(disk, .reducing).model
        let other = try TreeStore.open(file: SimulatedDisk(image: disk.killedImage()), options: SparseStore.options)
        try other.compact()
        let read = try other.beginRead()
        #expect(try read.contents(try #require(try read.tree("t"))) == model)
        read.abort()
        #expect(try other.check { Issue.record("\($0)") })
    }

    @Test("are whole wherever a crash cuts it", .seeded, arguments: [Kind.reducing, .compressed])
    func everyCrash(kind: Kind) throws {
        let first = try SimulatedDisk()
        let model = try thinned(first, kind, count: 25_000).model
        let calls = try SimulatedDisk.crashAtEveryCall(of: first.killedImage()) { (disk) -> Void in
            do { try open(disk).compact(stepPages: 32) } catch is StorageError {}
        } _: { image, _, place in
            let again = try open(SimulatedDisk(image: image))
            try expect(again, model, kind, place)
            try again.compact()
            try expect(again, model, kind, place)
        }
        #expect(calls > 8)
    }

    @Test("are filled further while others commit", .seeded)
    func besideCommits() throws {
        let disk = try SimulatedDisk()
        var (store, model) = try thinned(disk, .reducing)
        var random = SeededGenerator()
        try store.compact(stepPages: 4) { _ in
            for _ in 0..<3 {
                let (key, value) = (key(random.below(6000), .reducing), random.bytes(random.below(60)))
                do {
                    let write = try store.beginWrite()
                    guard let tree = try write.tree("t") else { return false }
                    if random.oneIn(2) {
                        try write.put(tree, key, value)
                        model.put(key, value)
                    } else {
                        #expect(try write.delete(tree, key) == model.delete(key))
                    }
                    try write.commit()
                } catch { Issue.record(error) }
            }
            return true
        }
        try expect(store, model, .reducing)
    }

    @Test("are found in turn, despite commits in between", .seeded)
    func inTurn() throws {
        let disk = try SimulatedDisk()
        let (store, model) = try thinned(disk, .plain, count: 40_000)
        let used = store.statistics.usedBytes
        let read = try store.beginRead()
        let tree = try #require(try read.tree("t")).rawValue
        read.abort()
        // Each attempt gets one step further.
        var tries = 0
        while store.writing.removed.isMany(in: tree, of: UInt64(model.count)), tries < 100 {
            tries += 1
            store.writing.pack(in: store.pages) { false }
        }
        #expect(tries > 1 && tries < 100)
        #expect(store.statistics.usedBytes < used)
        try expect(store, model, .plain)
    }
}
