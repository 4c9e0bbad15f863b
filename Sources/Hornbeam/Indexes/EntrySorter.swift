// SPDX-License-Identifier: Apache-2.0
// Sorts more entries than fit into memory: runs of a bounded size are sorted in memory and kept in trees of the same
// transaction, then merged. What fits into one run never leaves memory.

import HornbeamPages
import HornbeamTree

/// Keys, each with a byte and a value of the caller's, handed back in the order of the keys. Keys are distinct and not
/// empty.
struct EntrySorter {
    /// A run in memory: keys, each with its value behind it, and where each one lies.
    private struct Run {
        struct Place {
            /// The key's first bytes, big-endian, so that most comparisons don't look at the key.
            let head: UInt64
            let start: Int
            let size: UInt32
            let valueSize: UInt32
            let flag: UInt8
        }
        var bytes: [UInt8] = []
        var places: [Place] = []

        var size: Int { bytes.count + places.count * MemoryLayout<Place>.stride }
    }

    /// A run's size in memory from which on it is put aside.
    static let standardBound = 16 << 20

    private let transaction: Transaction
    private let bound: Int
    private var run = Run()
    /// Names of the trees that hold the runs put aside.
    private var trees: [String] = []

    init(_ transaction: Transaction, bound: Int = EntrySorter.standardBound) {
        self.transaction = transaction
        self.bound = bound
    }

    mutating func add(_ key: [UInt8], flag: UInt8, value: [UInt8] = []) throws {
        var head: UInt64 = 0
        for place in 0..<8 { head = head << 8 | (place < key.count ? UInt64(key[place]) : 0) }
        run.places.append(
            Run.Place(
                head: head, start: run.bytes.count, size: UInt32(key.count), valueSize: UInt32(value.count),
                flag: flag))
        run.bytes.append(contentsOf: key)
        run.bytes.append(contentsOf: value)
        if run.size >= bound { try putAside() }
    }

    /// Calls `body` with each key in order; nothing is left in the sorter, and no tree of its own in the transaction.
    mutating func finish(_ body: (_ key: [UInt8], _ flag: UInt8, _ value: [UInt8]) throws -> Void) throws {
        if trees.isEmpty {
            sortRun()
            for place in run.places {
                let end = place.start + Int(place.size)
                try body(
                    Array(run.bytes[place.start..<end]), place.flag,
                    place.valueSize == 0 ? [] : Array(run.bytes[end..<end + Int(place.valueSize)]))
            }
            run = Run()
            return
        }
        if !run.places.isEmpty { try putAside() }
        try merge(body)
        for name in trees { _ = try transaction.dropTree(name) }
        trees = []
    }

    private mutating func sortRun() {
        var places = run.places
        run.places = []
        run.bytes.withUnsafeBytes { bytes in
            func key(_ place: Run.Place) -> Bytes {
                Bytes(rebasing: bytes[place.start..<place.start + Int(place.size)])
            }
            places.sort { $0.head != $1.head ? $0.head < $1.head : key($0).order(key($1)) < 0 }
        }
        run.places = places
    }

    private mutating func putAside() throws {
        sortRun()
        let (name, tree) = try transaction.makeTree("sort:\(trees.count)")
        trees.append(name)
        try run.bytes.withBytes { (bytes) throws(StorageError) in
            var value: [UInt8] = []
            for place in run.places {
                let end = place.start + Int(place.size)
                value.removeAll(keepingCapacity: true)
                value.append(place.flag)
                value.append(contentsOf: bytes[end..<end + Int(place.valueSize)])
                try value.withBytes { (value) throws(StorageError) in
                    try transaction.append(tree, Bytes(rebasing: bytes[place.start..<end]), value)
                }
            }
        }
        run.bytes.removeAll(keepingCapacity: true)
        run.places.removeAll(keepingCapacity: true)
    }

    private func merge(_ body: (_ key: [UInt8], _ flag: UInt8, _ value: [UInt8]) throws -> Void) throws {
        var sources: [SortedRun] = []
        for name in trees {
            guard let tree = try transaction.tree(name) else { continue }
            let source = SortedRun(try transaction.cursor(tree))
            if try source.advance() { sources.append(source) }
        }
        // Few runs, so the least is looked for: 16 MiB each.
        while var least = sources.indices.first {
            for place in sources.indices.dropFirst() where sources[place].precedes(sources[least]) { least = place }
            try body(sources[least].key, sources[least].flag, sources[least].value)
            if try !sources[least].advance() { sources.remove(at: least) }
        }
    }
}

/// Where the merge stands in one run.
private final class SortedRun {
    private var cursor: Cursor
    private(set) var key: [UInt8] = []
    private(set) var flag: UInt8 = 0
    private(set) var value: [UInt8] = []

    init(_ cursor: consuming Cursor) { self.cursor = cursor }

    /// Goes to the next entry; false at the end. The entry is copied: what the merge does ends slices.
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
