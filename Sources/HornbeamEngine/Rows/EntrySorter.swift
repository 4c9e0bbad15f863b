// SPDX-License-Identifier: Apache-2.0
// Sorts more entries than fit into memory: runs of a bounded size are sorted in memory and kept in trees of the same
// transaction, then merged. If all entries fit into one run, they never leave memory.

import HornbeamPages
package import HornbeamTree

/// Sorts keys, each with a byte and a value that the caller chooses. Keys are distinct and not empty.
package struct EntrySorter {
    /// Size in memory at which a run is put aside.
    package static let standardBound = 16 << 20

    private let transaction: Transaction
    private let bound: Int
    private var run = EntryBuffer()
    /// Names of the trees that hold the runs put aside.
    private var trees: [String] = []

    package init(_ transaction: Transaction, bound: Int = EntrySorter.standardBound) {
        self.transaction = transaction
        self.bound = bound
    }

    package mutating func add(_ key: [UInt8], flag: UInt8, value: [UInt8] = []) throws {
        run.add(key, flag: flag, value: value)
        if run.size >= bound { try putAside() }
    }

    mutating func add(_ entries: EntryBuffer) throws {
        run.append(entries)
        if run.size >= bound { try putAside() }
    }

    /// Calls `body` with each key in order. Then the sorter is empty, and the transaction has none of its trees.
    package mutating func finish(_ body: (_ key: [UInt8], _ flag: UInt8, _ value: [UInt8]) throws -> Void) throws {
        if trees.isEmpty {
            run.sort()
            try run.forEach { key, flag, value in try body(Array(key), flag, Array(value)) }
            run = EntryBuffer()
            return
        }
        if !run.isEmpty { try putAside() }
        try merge(body)
        for name in trees { _ = try transaction.dropTree(name) }
        trees = []
    }

    private mutating func putAside() throws {
        run.sort()
        let (name, tree) = try transaction.makeTree("sort:\(trees.count)")
        trees.append(name)
        var stored: [UInt8] = []
        try run.forEach { (key, flag, value) throws(StorageError) in
            stored.removeAll(keepingCapacity: true)
            stored.append(flag)
            stored.append(contentsOf: value)
            try stored.withBytes { (stored) throws(StorageError) in try transaction.append(tree, key, stored) }
        }
        run.removeAll(keepingCapacity: true)
    }

    private func merge(_ body: (_ key: [UInt8], _ flag: UInt8, _ value: [UInt8]) throws -> Void) throws {
        var sources: [SortedRun] = []
        for name in trees {
            guard let tree = try transaction.tree(name) else { continue }
            let source = SortedRun(try transaction.cursor(tree))
            if try source.advance() { sources.append(source) }
        }
        // Runs of 16 MiB are few, so a linear search finds the least one.
        while var least = sources.indices.first {
            for place in sources.indices.dropFirst() where sources[place].precedes(sources[least]) { least = place }
            try body(sources[least].key, sources[least].flag, sources[least].value)
            if try !sources[least].advance() { sources.remove(at: least) }
        }
    }
}

/// The merge's position in one run.
private final class SortedRun {
    private var cursor: Cursor
    private(set) var key: [UInt8] = []
    private(set) var flag: UInt8 = 0
    private(set) var value: [UInt8] = []

    init(_ cursor: consuming Cursor) { self.cursor = cursor }

    /// Moves to the next entry; false at the end. The entry is copied because merging invalidates slices.
    func advance() throws -> Bool {
        guard try cursor.next() else { return false }
        key.removeAll(keepingCapacity: true)
        key.append(contentsOf: cursor.key)
        flag = cursor.value.first ?? 0
        value.removeAll(keepingCapacity: true)
        value.append(contentsOf: cursor.value.dropFirst())
        return true
    }

    func precedes(_ other: SortedRun) -> Bool { key.lexicographicallyPrecedes(other.key) }
}
