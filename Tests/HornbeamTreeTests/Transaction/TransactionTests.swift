// SPDX-License-Identifier: Apache-2.0
// Transactions as users of the layer see them: isolation, aborting, named trees, limits and misuse.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Transactions")
struct TransactionTests {
    private func storeWithTree(_ entries: [([UInt8], [UInt8])] = []) throws -> (TreeStore, TreeID) {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        for (key, value) in entries { try transaction.put(tree, key, value) }
        try transaction.commit()
        return (store, tree)
    }

    @Test("A read sees the state at its start, even after later commits")
    func isolation() throws {
        let (store, tree) = try storeWithTree([([1], [1])])
        let before = try store.beginRead()
        let write = try store.beginWrite()
        try write.put(tree, [1], [2])
        try write.put(tree, [2], [2])
        let during = try store.beginRead()
        #expect(try during.value(tree, [1]) == [1])
        try write.commit()
        #expect(try before.value(tree, [1]) == [1])
        #expect(try before.count(tree) == 1)
        #expect(try during.value(tree, [2]) == nil)
        let after = try store.beginRead()
        #expect(try after.value(tree, [1]) == [2])
        #expect(after.version == before.version + 1)
    }

    @Test("An aborted transaction leaves no entry, no tree and no page")
    func aborts() throws {
        let (store, tree) = try storeWithTree([([1], [1])])
        let used = store.statistics.usedBytes
        for isExplicit in [true, false] {
            var transaction: Transaction? = try store.beginWrite()
            for index in 0..<2000 {
                try transaction?.put(
                    tree, withUnsafeBytes(of: index.bigEndian) { Array($0) }, [UInt8](repeating: 1, count: 40))
            }
            _ = try transaction?.tree("other", create: true)
            if isExplicit { transaction?.abort() }
            transaction = nil
        }
        let read = try store.beginRead()
        #expect(try read.count(tree) == 1)
        #expect(try read.treeNames() == ["t"])
        #expect(store.statistics.usedBytes == used)
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("Trees are created, listed in byte order, dropped and made again under a new number")
    func namedTrees() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let names = ["zebra", "äpfel", "a", "a/b"]
        var ids: [TreeID] = []
        for name in names { ids.append(try #require(try write.tree(name, create: true))) }
        #expect(Set(ids).count == names.count)
        for (id, name) in zip(ids, names) { try write.put(id, [1], Array(name.utf8)) }
        try write.commit()

        let read = try store.beginRead()
        #expect(try read.treeNames() == ["a", "a/b", "zebra", "äpfel"])
        #expect(try read.tree("missing") == nil)
        for (id, name) in zip(ids, names) {
            #expect(try read.tree(name) == id)
            #expect(try read.value(id, [1]) == Array(name.utf8))
        }

        let drop = try store.beginWrite()
        #expect(try drop.dropTree("a"))
        #expect(try !drop.dropTree("a"))
        #expect(throws: StorageError.self) { try drop.get(ids[2], [1]) }
        let again = try #require(try drop.tree("a", create: true))
        #expect(again != ids[2])
        #expect(try drop.value(again, [1]) == nil)
        try drop.commit()
        #expect(try read.value(ids[2], [1]) == Array("a".utf8))
        let after = try store.beginRead()
        #expect(throws: StorageError.self) { try after.get(ids[2], [1]) }
        #expect(try after.value(ids[0], [1]) == Array("zebra".utf8))
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("A handle whose creation was aborted never refers to another tree")
    func abortedHandle() throws {
        let store = try TreeStore.inMemory()
        let first = try store.beginWrite()
        let lost = try #require(try first.tree("lost", create: true))
        first.abort()
        let second = try store.beginWrite()
        let kept = try #require(try second.tree("kept", create: true))
        #expect(kept != lost)
        #expect(throws: StorageError.self) { try second.put(lost, [1], [1]) }
        try second.put(kept, [1], [1])
        try second.commit()
        let read = try store.beginRead()
        #expect(throws: StorageError.self) { try read.get(lost, [1]) }
        #expect(throws: StorageError.self) { try read.get(TreeID(rawValue: 0), [1]) }
        #expect(throws: StorageError.self) { try read.get(TreeID(rawValue: .max), [1]) }
    }

    @Test("Many trees in one transaction all keep their content")
    func manyTrees() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        for index in 0..<500 {
            let tree = try #require(try write.tree("tree \(index)", create: true))
            try write.put(tree, [UInt8(index % 256)], [1])
        }
        try write.commit()
        let read = try store.beginRead()
        #expect(try read.treeNames().count == 500)
        for index in 0..<500 {
            let tree = try #require(try read.tree("tree \(index)"))
            #expect(try read.value(tree, [UInt8(index % 256)]) == [1])
            #expect(try read.count(tree) == 1)
        }
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("Keys, names and values have limits, and a refused one leaves the transaction as it was")
    func limits() throws {
        let (store, tree) = try storeWithTree()
        let write = try store.beginWrite()
        let longest = [UInt8](repeating: 1, count: 2048)
        #expect(throws: StorageError.invalid("a key needs at least one byte")) { try write.put(tree, [], [1]) }
        #expect(throws: StorageError.tooLarge(what: "key", size: 2049, limit: 2048)) {
            try write.put(tree, longest + [1], [1])
        }
        #expect(throws: StorageError.tooLarge(what: "tree name", size: 1923, limit: 1922)) {
            try write.tree(String(repeating: "x", count: 1923), create: true)
        }
        #expect(throws: StorageError.invalid("a tree needs a name")) { try write.tree("", create: true) }
        try write.put(tree, longest, [7])
        #expect(try write.value(tree, longest) == [7])
        #expect(try write.value(tree, longest + [1]) == nil)
        #expect(try !write.delete(tree, []))
        #expect(try write.value(tree, []) == nil)
        try write.commit()
        #expect(try store.beginRead().count(tree) == 1)
    }

    @Test("The longest name, with the longest reduction's, is like any other", arguments: [4096, 8192, 16384])
    func longestName(pageSize: Int) throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = pageSize
        let limit = CatalogueRecord.maximumName(pageSize: pageSize)
        let named = String(repeating: "r", count: StoredOptions.maximumName)
        let reduction = Reduction(
            name: named, identity: [0], map: { _, _, target in target.storeBytes(of: 0, as: UInt8.self) },
            combine: { _, _ in })
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options, reductions: [reduction])
        for number in 0..<6 {
            let write = try store.beginWrite()
            let name = String(repeating: "x", count: limit - 1) + "\(number)"
            let kind = TreeOptions(reduction: reduction)
            let tree = try #require(try write.tree(name, create: true, options: kind))
            try write.put(tree, [1], [2])
            if number == 5 { #expect(try write.dropTree(name)) }
            try write.commit()
        }
        #expect(try store.check { Issue.record("\($0)") })
        let read = try store.beginRead()
        #expect(try read.catalogue().pointee.longValues == 0)
        #expect(try read.treeNames().count == 5)
        read.abort()
        // The journal restores it.
        let image = try #require(disk.killedImage())
        let again = try TreeStore.open(file: try SimulatedDisk(image: image), reductions: [reduction])
        #expect(try again.check { Issue.record("\($0)") })
        let target = try SimulatedDisk()
        #expect(try store.backup(to: target))
        #expect(try TreeStore.open(file: target).check { Issue.record("\($0)") })
    }

    @Test("A value of more than 32 bits of size is refused before it is read")
    func valueLimit() throws {
        let (store, tree) = try storeWithTree()
        let write = try store.beginWrite()
        let byte = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        defer { byte.deallocate() }
        let size = Int(UInt32.max) + 1
        #expect(throws: StorageError.tooLarge(what: "value", size: size, limit: size - 1)) {
            try write.put(tree, Bytes(start: byte, count: 1), Bytes(start: byte, count: size))
        }
    }

    @Test("Values around the inline limit and far beyond it come back, replaced by each other")
    func valueSizes() throws {
        let (store, tree) = try storeWithTree()
        let limit = NodeLayout.inlineLimit(pageSize: 8192) - 4 - 3
        let sizes = [0, 1, limit - 1, limit, limit + 1, 4072, 4073, 100_000, 3_000_000]
        let write = try store.beginWrite()
        for (index, size) in sizes.enumerated() {
            try write.put(tree, [1, 2, UInt8(index)], [UInt8](repeating: UInt8(index), count: size))
        }
        for _ in 0..<2 {
            for (index, size) in sizes.reversed().enumerated() {
                let value = [UInt8](repeating: UInt8(100 + index), count: size)
                try write.put(tree, [1, 2, UInt8(index)], value)
                #expect(try write.value(tree, [1, 2, UInt8(index)]) == value)
            }
        }
        try write.commit()
        let read = try store.beginRead()
        for (index, size) in sizes.reversed().enumerated() {
            #expect(try read.value(tree, [1, 2, UInt8(index)]) == [UInt8](repeating: UInt8(100 + index), count: size))
        }
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("A value just read may be put, also under the same key")
    func putsWhatItRead() throws {
        let (store, tree) = try storeWithTree()
        let write = try store.beginWrite()
        for index in 0..<400 {
            let size = [10, 900, 30, 5000][index % 4]
            try write.put(
                tree, [UInt8(index / 256), UInt8(index % 256)], [UInt8](repeating: UInt8(index % 256), count: size))
        }
        for index in 0..<400 {
            let source: [UInt8] = [UInt8(index / 256), UInt8(index % 256)]
            let expected = try #require(try write.value(tree, source))
            for target in [source, source + [1], [9] + source] {
                let slice = try #require(try write.get(tree, source))
                try target.withBytes { try write.put(tree, $0, slice) }
                #expect(try write.value(tree, target) == expected)
            }
        }
        try write.commit()
        #expect(try store.check { Issue.record("\($0)") })
    }

    /// The redo record was taken after the change, from slices that the change may have moved: the live tree was
    /// right, but recovery gave other values. Recovery must restore the transaction as it was.
    @Test("A value read and put is recovered as it was put")
    func recoversWhatItRead() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        func key(_ index: Int) -> [UInt8] { [UInt8(index / 256), UInt8(index % 256)] }
        let first = try store.beginWrite()
        let tree = try #require(try first.tree("t", create: true))
        for index in 0..<300 { try first.put(tree, key(index), [UInt8](repeating: UInt8(index & 255), count: 40)) }
        try first.commit()
        let second = try store.beginWrite()
        for index in 0..<300 {
            let slice = try #require(try second.get(tree, key(index)))
            try (key(index) + [1]).withBytes { try second.put(tree, $0, slice) }
        }
        try second.commit()
        let recovered = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()))
        let read = try recovered.beginRead()
        let again = try #require(try read.tree("t"))
        for index in 0..<300 {
            let expected = [UInt8](repeating: UInt8(index & 255), count: 40)
            #expect(try read.value(again, key(index)) == expected)
            #expect(try read.value(again, key(index) + [1]) == expected)
        }
    }

    @Test("Appending needs the greatest key")
    func appends() throws {
        let (store, tree) = try storeWithTree([([5], [])])
        let write = try store.beginWrite()
        for key in [[1], [5]] as [[UInt8]] {
            #expect(throws: StorageError.invalid("append needs a key greater than all keys of the tree: use put")) {
                try write.append(tree, key, [])
            }
        }
        try write.append(tree, [5, 0], [1])
        try write.append(tree, [6], [2])
        #expect(try write.count(tree) == 3)
    }

    @Test("A read transaction refuses every change")
    func readOnly() throws {
        let (store, tree) = try storeWithTree([([1], [1])])
        let read = try store.beginRead()
        let refused = StorageError.readOnly("changing a tree needs a write transaction")
        #expect(throws: refused) { try read.put(tree, [1], [2]) }
        #expect(throws: refused) { try read.append(tree, [2], [2]) }
        #expect(throws: refused) { try read.delete(tree, [1]) }
        #expect(throws: refused) { try read.deleteRange(tree, from: [], to: []) }
        #expect(throws: refused) { try read.dropTree("t") }
        #expect(throws: StorageError.readOnly("creating a tree needs a write transaction")) {
            try read.tree("new", create: true)
        }
        try read.commit()
        #expect(throws: StorageError.invalid("the transaction has ended")) { try read.get(tree, [1]) }
    }

    @Test("An ended transaction refuses everything, and ending it again does nothing")
    func ended() throws {
        let (store, tree) = try storeWithTree([([1], [1])])
        let write = try store.beginWrite()
        try write.put(tree, [2], [2])
        try write.commit()
        let over = StorageError.invalid("the transaction has ended")
        #expect(throws: over) { try write.commit() }
        #expect(throws: over) { try write.put(tree, [1], [2]) }
        #expect(throws: over) { try write.tree("t") }
        #expect(throws: over) { try write.tree("new", create: true) }
        #expect(throws: over) { try write.count(tree) }
        write.abort()
        #expect(try store.beginRead().count(tree) == 2)
        try store.close()
        #expect(throws: StorageError.self) { try store.beginRead() }
    }

    @Test("A store can't be closed while transactions are open")
    func closeIsBusy() throws {
        let (store, _) = try storeWithTree()
        var read: Transaction? = try store.beginRead()
        #expect(throws: StorageError.self) { try store.close() }
        read?.abort()
        read = nil
        let write = try store.beginWrite()
        #expect(throws: StorageError.self) { try store.close() }
        write.abort()
        try store.close()
    }

    @Test("Many lookups at once agree with single ones", .seeded)
    func getMany() throws {
        var random = SeededGenerator()
        let entries = (0..<500).map { _ in (random.bytes(8), random.bytes(5)) }
        let (store, tree) = try storeWithTree(entries)
        let read = try store.beginRead()
        let wanted = entries.map(\.0) + (0..<50).map { _ in random.bytes(8) }
        let buffers = wanted.map { key in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count, alignment: 1)
            copy.copyBytes(from: key)
            return Bytes(copy)
        }
        defer { for buffer in buffers { buffer.deallocate() } }
        let values = try read.getMany(tree, buffers).map { $0.map { Array($0) } }
        #expect(values == (try wanted.map { try read.value(tree, $0) }))
    }

    // A name is a C string in hornbeam.h: a tree called "a\u{0}b" was listed as "a" and could not be opened from C.
    @Test("A tree's name can't contain NUL")
    func nulInName() throws {
        let transaction = try TreeStore.inMemory().beginWrite()
        #expect(throws: StorageError.self) { try transaction.tree("a\u{0}b", create: true) }
        #expect(try transaction.tree("a\u{0}b") == nil)
        #expect(try transaction.treeNames().isEmpty)
    }
}
