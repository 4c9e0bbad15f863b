// SPDX-License-Identifier: Apache-2.0
// Reductions whose values may be absent: any range gives the fold over its entries, however the tree was changed or
// recovered, and with values of any size.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

/// Counts entries and keeps the first byte of each value that is 0xFF, in order: large if there are many.
private final class Marks: ReductionFolder {
    var count: UInt32 = 0
    var marks: [UInt8] = []
    var isBroken = false

    func start() {
        count = 0
        marks = []
        isBroken = false
    }

    func add(key: Bytes, value: Bytes) {
        count += 1
        if value.first == 0xFF { marks.append(key.last ?? 0) }
    }

    func add(reduced: Bytes) {
        guard reduced.count > 5, Int(reduced[4]) <= reduced.count - 5 else {
            isBroken = true
            return
        }
        count &+= UInt32(littleEndian: reduced.loadUnaligned(as: UInt32.self))
        marks += reduced[5..<5 + Int(reduced[4])]
    }

    func write(to target: UnsafeMutableRawBufferPointer) -> Bool {
        guard !isBroken, marks.count <= target.count - 5 else { return false }
        target.storeBytes(of: count.littleEndian, as: UInt32.self)
        target[4] = UInt8(marks.count)
        for (place, mark) in marks.enumerated() { target[5 + place] = mark }
        return true
    }
}

private let marks = Reduction(name: "marks", size: 20) { Marks() }

@Suite("Reductions whose values may be absent")
struct ReductionFolderTests {
    private var smallPages: StoreOptions {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        return options
    }

    private func compare(
        _ transaction: Transaction, _ tree: TreeID, _ model: ModelTree, _ random: inout SeededGenerator
    ) throws {
        for round in 0..<8 {
            let from = round == 0 || model.count == 0 ? [] : model.keys[random.below(model.count)]
            let to = round < 2 || model.count == 0 ? [] : model.keys[random.below(model.count)]
            let expected = Marks()
            let isEmpty = !from.isEmpty && !to.isEmpty && !from.lexicographicallyPrecedes(to)
            let range = isEmpty ? 0..<0 : model.range(from, to)
            for place in range {
                model.keys[place].withUnsafeBytes { key in
                    model.values[place].withUnsafeBytes { expected.add(key: key, value: $0) }
                }
            }
            let found = Marks()
            try from.withBytes { (from) throws(StorageError) in
                try to.withBytes { (to) throws(StorageError) in
                    _ = try transaction.fold(tree, from: from, to: to, into: found)
                }
            }
            #expect(!found.isBroken)
            #expect(found.count == expected.count && found.marks == expected.marks)
        }
    }

    @Test("any range is right, whichever program changed or recovered the tree", .seeded, arguments: [2, 40, 4000])
    func model(markOneIn: Int) throws {
        var random = SeededGenerator()
        var disk = try SimulatedDisk()
        var knows = true
        var store = try TreeStore.open(file: disk, options: smallPages, reductions: [marks])
        var committed = ModelTree()
        for round in 0..<40 {
            let transaction = try store.beginWrite()
            // A program without the reduction finds the tree, but doesn't create it.
            let tree = try #require(
                try knows
                    ? transaction.tree("t", create: true, options: TreeOptions(reduction: marks))
                    : transaction.tree("t"))
            var model = committed
            for _ in 0..<random.below(200) {
                let key = [UInt8(random.below(20)), UInt8(random.below(256)), UInt8(random.below(2))]
                if random.oneIn(4) {
                    _ = try transaction.delete(tree, key)
                    _ = model.delete(key)
                } else {
                    let value = [random.oneIn(markOneIn) ? 0xFF : 1] + random.bytes(random.below(60))
                    try transaction.put(tree, key, value)
                    model.put(key, value)
                }
                if random.oneIn(60) { try compare(transaction, tree, model, &random) }
            }
            if knows, random.oneIn(3) {
                try transaction.completeReductions(tree)
                #expect(try !transaction.lacksReductions(tree))
            }
            try compare(transaction, tree, model, &random)
            try transaction.commit()
            committed = model
            if random.oneIn(3) {
                knows = random.oneIn(2)
                // The journal is replayed when the file is opened.
                disk = try SimulatedDisk(image: disk.killedImage())
                store = try TreeStore.open(file: disk, reductions: knows ? [marks] : [])
                if random.oneIn(2) {
                    knows = true
                    try store.register(marks)
                }
            }
            let read = try store.beginRead()
            try compare(read, try #require(try read.tree("t")), committed, &random)
            read.abort()
            if round % 4 == 3 { #expect(try store.check { Issue.record("\($0)") }) }
        }
    }

    @Test("a range reads two paths of nodes, and more only where a value is absent")
    func nodes() throws {
        let disk = try SimulatedDisk()
        var store = try TreeStore.open(file: disk, options: smallPages, reductions: [marks])
        func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(value).bigEndian) { Array($0) } }
        func read(_ from: Int, _ to: Int) throws -> Int {
            let read = try store.beginRead()
            defer { read.abort() }
            let tree = try #require(try read.tree("t"))
            let folder = Marks()
            let nodes = try number(from).withBytes { (from) throws(StorageError) in
                try number(to).withBytes { (to) throws(StorageError) in
                    try read.fold(tree, from: from, to: to, into: folder)
                }
            }
            #expect(folder.count == to - from)
            return nodes
        }
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(reduction: marks)))
        for value in 0..<50_000 { try write.put(tree, number(value * 7919 % 50_000), [1, 2, 3, 4]) }
        try write.commit()
        #expect(try read(3, 49_990) <= 8)
        #expect(try read(20_000, 20_001) <= 8)
        try store.close()
        // A program without the reduction changes one entry in each of a hundred leaves.
        store = try TreeStore.open(file: disk)
        let unknowing = try store.beginWrite()
        let again = try #require(try unknowing.tree("t"))
        for value in stride(from: 0, to: 50_000, by: 500) { try unknowing.put(again, number(value), [1]) }
        try unknowing.commit()
        let before = try read(3, 49_990)
        #expect(before > 50 && before < 260)
        try store.register(marks)
        let completing = try store.beginWrite()
        #expect(try completing.lacksReductions(again))
        try completing.completeReductions(again)
        try completing.commit()
        #expect(try read(3, 49_990) <= 8)
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("unknown reductions, left by a replay without the code, are completed, above known leaves too")
    func completion() throws {
        let disk = try SimulatedDisk()
        let first = try TreeStore.open(file: disk, options: smallPages, reductions: [marks])
        for round in 0..<50 {
            let write = try first.beginWrite()
            let tree = try #require(try write.tree("t", create: true, options: TreeOptions(reduction: marks)))
            for value in 0..<1_000 {
                let key = withUnsafeBytes(of: UInt32(value * 50 + round).bigEndian) { Array($0) }
                try write.put(tree, key, [1, 2, 3, 4])
            }
            try write.commit()
        }
        let store = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()))
        try store.register(marks)
        let completing = try store.beginWrite()
        let tree = try #require(try completing.tree("t"))
        try completing.completeReductions(tree)
        #expect(try !completing.lacksReductions(tree))
        try completing.commit()
        let again = try store.beginRead()
        #expect(try !again.lacksReductions(tree))
        again.abort()
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("reductions that always have a value stay small, and are known to each program that changes the tree")
    func others() throws {
        let store = try TreeStore.inMemory()
        let sum = Reduction.sum(of: Int64.self)
        #expect(throws: StorageError.self) { try store.register(sum) }
        #expect(throws: StorageError.self) { try store.register(Reduction(name: "one", size: 1) { Marks() }) }
        #expect(throws: StorageError.self) { try store.register(Reduction(name: "many", size: 257) { Marks() }) }
        let wide = Reduction(
            name: "wide", identity: [UInt8](repeating: 0, count: 65), map: { _, _, _ in }, combine: { _, _ in })
        #expect(throws: StorageError.self) { try TreeStore.inMemory(reductions: [wide]) }
        let write = try store.beginWrite()
        defer { write.abort() }
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(reduction: marks)))
        #expect(throws: StorageError.self) { try write.reduce(tree) }
        let plain = try #require(try write.tree("plain", create: true))
        #expect(throws: StorageError.self) {
            try write.fold(plain, from: Bytes(start: nil, count: 0), to: Bytes(start: nil, count: 0), into: Marks())
        }
        #expect(try write.nodeBytes(plain) == 0)
        try write.put(plain, [1], [2])
        #expect(try write.nodeBytes(plain) > 0)
    }
}
