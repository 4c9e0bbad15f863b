// SPDX-License-Identifier: Apache-2.0
// The reduction of the proofs' trees, and its expected result. Each entry is a function x -> a * x + b of its key and
// value; entries are composed in the order of their keys. So an entry that is lost, changed or out of place changes
// the result.

import CXXHash
package import HornbeamPages
package import HornbeamTree

extension Workload {
    static let composition = Reduction(
        name: "composition", identity: Composition().bytes,
        map: { (key, value, target) in Composition(key, value).store(to: target) },
        combine: { (target, next) in
            var all = Composition(reading: UnsafeRawPointer(target))
            all.compose(with: Composition(reading: next))
            all.store(to: target)
        })

    /// Opens, or creates, the store of a workload in the file. An encrypted one is opened with its key.
    package static func open(
        _ file: any StoreFile, _ options: StoreOptions = StoreOptions()
    ) throws(StorageError) -> TreeStore {
        do throws(StorageError) {
            return try TreeStore.open(file: file, options: options, reductions: [composition])
        } catch .keyNeeded {
            var options = options
            options.encryption = key
            return try TreeStore.open(file: file, options: options, reductions: [composition])
        }
    }

    /// Opens a file as `open` does, for salvage.
    static func damagedFile(_ file: any StoreFile) throws(StorageError) -> DamagedFile {
        do throws(StorageError) {
            return try DamagedFile(file: file)
        } catch .keyNeeded {
            return try DamagedFile(file: file, encryption: key)
        }
    }

    /// Compares each tree's reduced value, of all entries and of a part of them, with the fold of its entries.
    static func expectReduced(_ store: TreeStore) throws {
        let read = try store.beginRead()
        defer { read.abort() }
        for name in try read.treeNames() {
            guard let tree = try read.tree(name), let reduced = try reduced(read, tree) else { continue }
            var (all, part) = (Composition(), Composition())
            var keys: [[UInt8]] = []
            let half = try read.count(tree) / 2
            var cursor = try read.cursor(tree)
            while try cursor.next() {
                all.compose(with: Composition(cursor.key, cursor.value))
                if keys.count >= half { part.compose(with: Composition(cursor.key, cursor.value)) }
                keys.append(Array(cursor.key))
            }
            try expect(reduced == all.bytes, "the reduced value of \(name)")
            guard Int(half) < keys.count else { continue }
            try expect(try read.reduce(tree, from: keys[Int(half)]) == part.bytes, "a range's reduced value in \(name)")
        }
    }

    /// Returns the reduction's value, or nil if the tree has none.
    private static func reduced(_ read: Transaction, _ tree: TreeID) throws -> [UInt8]? {
        do {
            return try read.reduce(tree)
        } catch StorageError.invalid {
            return nil
        }
    }
}

/// A function x -> a * x + b, modulo 2^64.
private struct Composition {
    private var a: UInt64 = 1
    private var b: UInt64 = 0

    init() {}

    init(_ key: Bytes, _ value: Bytes) {
        a = XXH3_64bits_withSeed(key.baseAddress, key.count, 1) | 1
        b = XXH3_64bits_withSeed(value.baseAddress, value.count, 2)
    }

    init(reading bytes: UnsafeRawPointer) {
        a = bytes.loadUnaligned(as: UInt64.self)
        b = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    /// Changes this function so that `next` is applied to its result.
    mutating func compose(with next: Composition) {
        a = a &* next.a
        b = b &* next.a &+ next.b
    }

    func store(to target: UnsafeMutableRawPointer) {
        target.storeBytes(of: a, as: UInt64.self)
        target.storeBytes(of: b, toByteOffset: 8, as: UInt64.self)
    }

    var bytes: [UInt8] {
        withUnsafeBytes(of: a) { Array($0) } + withUnsafeBytes(of: b) { Array($0) }
    }
}
