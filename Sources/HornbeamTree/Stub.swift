// TEMPORARY stand-in for the tree layer: sorted arrays in memory. Same interface as the real one.
package import HornbeamPages

package struct TreeID: Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}

private final class Sorted {
    var keys: [[UInt8]] = []
    var values: [[UInt8]] = []
    init() {}
    init(_ o: Sorted) { keys = o.keys; values = o.values }
    func lower(_ key: [UInt8]) -> Int {
        var lo = 0, hi = keys.count
        while lo < hi {
            let mid = (lo + hi) / 2
            if keys[mid].lexicographicallyPrecedes(key) { lo = mid + 1 } else { hi = mid }
        }
        return lo
    }
}
private func leak(_ a: [UInt8]) -> Bytes {
    let p = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, a.count), alignment: 8)
    p.copyBytes(from: a)
    return Bytes(start: p.baseAddress, count: a.count)
}

package final class TreeStore: @unchecked Sendable {
    fileprivate var names: [String: TreeID] = [:]
    fileprivate var trees: [TreeID: Sorted] = [:]
    fileprivate var version: UInt64 = 0
    init() {}
    /// Opens (or creates) the store in the file at `path`.
    package static func open(at path: String, options: StoreOptions = StoreOptions()) throws(StorageError) -> TreeStore {
        TreeStore()
    }
    /// A store without a file.
    package static func inMemory(options: StoreOptions = StoreOptions()) throws(StorageError) -> TreeStore { TreeStore() }
    /// A frozen view of the newest committed state. Any number at once, from any thread; never blocks.
    package func beginRead() throws(StorageError) -> Transaction { Transaction(self, false) }
    /// The one write transaction; waits its turn.
    package func beginWrite() throws(StorageError) -> Transaction { Transaction(self, true) }
    package func checkpoint() throws(StorageError) {}
    /// Checkpoints and releases the file. `.busy` while transactions are open.
    package func close() throws(StorageError) {}
    /// Verifies everything; calls `report` for each problem. True if there was none.
    package func check(report: (String) -> Void) throws(StorageError) -> Bool { true }
    package var statistics: StoreStatistics { StoreStatistics() }
}

package struct StoreStatistics: Sendable {
    package var fileBytes: UInt64 = 0
    package var usedBytes: UInt64 = 0
    package var journalBytes: UInt64 = 0
    package var pageSize: Int = 8192
    package var transaction: UInt64 = 0
    package var checkpoint: UInt64 = 0
    package init() {}
}

/// A read or a write transaction over named trees. Belongs to one thread at a time.
/// Slices it hands out live until it ends or, in a write transaction, until its next change.
package final class Transaction {
    private let store: TreeStore
    package let isWritable: Bool
    private var names: [String: TreeID]
    private var trees: [TreeID: Sorted]
    /// Number of the state it sees (a write transaction's own number is one more).
    package let version: UInt64
    fileprivate var changes = 0
    private var owned: Set<TreeID> = []

    fileprivate init(_ s: TreeStore, _ w: Bool) {
        store = s
        isWritable = w
        names = s.names
        trees = s.trees
        version = s.version
    }

    /// The tree called `name`, or nil if there is none and `create` is false.
    package func tree(_ name: String, create: Bool = false) throws(StorageError) -> TreeID? {
        if let id = names[name] { return id }
        guard create else { return nil }
        let id = TreeID(rawValue: UInt32(names.count + 1 + Int.random(in: 0...1_000_000)))
        names[name] = id
        trees[id] = Sorted()
        owned.insert(id)
        return id
    }
    /// Drops a tree and all in it. False if there is none of that name.
    package func dropTree(_ name: String) throws(StorageError) -> Bool {
        guard let id = names.removeValue(forKey: name) else { return false }
        trees[id] = nil
        return true
    }
    /// The names of all trees, in byte order.
    package func treeNames() throws(StorageError) -> [String] { names.keys.sorted() }

    fileprivate func sorted(_ t: TreeID) throws(StorageError) -> Sorted {
        guard let s = trees[t] else { throw .invalid("unknown tree") }
        return s
    }
    private func mutable(_ t: TreeID) throws(StorageError) -> Sorted {
        guard isWritable else { throw .readOnly("put") }
        changes += 1
        if !owned.contains(t) {
            trees[t] = Sorted(try sorted(t))
            owned.insert(t)
        }
        return try sorted(t)
    }

    package func get(_ tree: TreeID, _ key: Bytes) throws(StorageError) -> Bytes? {
        let s = try sorted(tree)
        let k = Array(key)
        let i = s.lower(k)
        return i < s.keys.count && s.keys[i] == k ? leak(s.values[i]) : nil
    }
    /// Inserts or replaces.
    package func put(_ tree: TreeID, _ key: Bytes, _ value: Bytes) throws(StorageError) {
        let s = try mutable(tree)
        let k = Array(key)
        let i = s.lower(k)
        if i < s.keys.count && s.keys[i] == k {
            s.values[i] = Array(value)
        } else {
            s.keys.insert(k, at: i)
            s.values.insert(Array(value), at: i)
        }
    }
    /// Puts an entry whose key is greater than all keys of the tree (`.invalid` if it isn't); fills nodes fully.
    package func append(_ tree: TreeID, _ key: Bytes, _ value: Bytes) throws(StorageError) {
        try put(tree, key, value)
    }
    /// Removes the entry; false if there was none.
    package func delete(_ tree: TreeID, _ key: Bytes) throws(StorageError) -> Bool {
        let s = try mutable(tree)
        let k = Array(key)
        let i = s.lower(k)
        guard i < s.keys.count && s.keys[i] == k else { return false }
        s.keys.remove(at: i)
        s.values.remove(at: i)
        return true
    }
    /// Removes all entries of [from, to); an empty bound is an open end. How many went.
    package func deleteRange(_ tree: TreeID, from: Bytes, to: Bytes) throws(StorageError) -> UInt64 {
        let s = try mutable(tree)
        let (a, b) = range(s, from, to)
        s.keys.removeSubrange(a..<b)
        s.values.removeSubrange(a..<b)
        return UInt64(b - a)
    }
    private func range(_ s: Sorted, _ from: Bytes, _ to: Bytes) -> (Int, Int) {
        let a = from.isEmpty ? 0 : s.lower(Array(from))
        let b = to.isEmpty ? s.keys.count : s.lower(Array(to))
        return (a, max(a, b))
    }
    /// Entries in all, O(1).
    package func count(_ tree: TreeID) throws(StorageError) -> UInt64 { UInt64(try sorted(tree).keys.count) }
    /// Entries in [from, to), an empty bound is an open end. O(log n).
    package func count(_ tree: TreeID, from: Bytes, to: Bytes) throws(StorageError) -> UInt64 {
        let (a, b) = range(try sorted(tree), from, to)
        return UInt64(b - a)
    }
    /// A cursor before the first entry. In a write transaction it stays valid through the transaction's changes: it
    /// keeps its key and finds its place again (if its entry was deleted, `next` gives the entry after the gap).
    package func cursor(_ tree: TreeID) throws(StorageError) -> Cursor { Cursor(self, tree) }

    /// Durable as configured when it returns; ends the transaction, always.
    package func commit() throws(StorageError) {
        store.names = names
        store.trees = trees
        store.version += 1
    }
    /// Ends a read, or discards a write. Without effect when the transaction has ended.
    package func abort() {}
    /// Overrides the store's durability for this write transaction.
    package var durability: Durability = .full
}

/// A place in a tree. Moves both ways; all moves return whether it now stands on an entry.
/// Off the end: `previous` gives the last entry; before the start: `next` gives the first.
package struct Cursor: ~Copyable {
    private let txn: Transaction
    private let tree: TreeID
    private var current: [UInt8]?
    private var beyond = false
    private var k: Bytes = Bytes(start: nil, count: 0)
    private var v: Bytes = Bytes(start: nil, count: 0)

    fileprivate init(_ t: Transaction, _ id: TreeID) {
        txn = t
        tree = id
    }
    private mutating func settle(_ i: Int) throws(StorageError) -> Bool {
        let s = try txn.sorted(tree)
        guard i >= 0, i < s.keys.count else {
            current = nil
            beyond = i >= 0 && i >= s.keys.count
            return false
        }
        current = s.keys[i]
        k = leak(s.keys[i])
        v = leak(s.values[i])
        return true
    }
    /// To the first entry >= key.
    package mutating func seek(_ key: Bytes) throws(StorageError) -> Bool {
        try settle(try txn.sorted(tree).lower(Array(key)))
    }
    /// To the last entry <= key.
    package mutating func seekLast(_ key: Bytes) throws(StorageError) -> Bool {
        let s = try txn.sorted(tree)
        let i = s.lower(Array(key))
        return try settle(i < s.keys.count && s.keys[i] == Array(key) ? i : i - 1)
    }
    /// To the index-th entry of the tree, from 0.
    package mutating func seek(index: UInt64) throws(StorageError) -> Bool {
        try settle(index > UInt64(Int.max) ? Int.max : Int(index))
    }
    package mutating func first() throws(StorageError) -> Bool { try settle(0) }
    package mutating func last() throws(StorageError) -> Bool { try settle(try txn.sorted(tree).keys.count - 1) }
    package mutating func next() throws(StorageError) -> Bool {
        let s = try txn.sorted(tree)
        guard let c = current else { return beyond ? false : try settle(0) }
        let i = s.lower(c)
        return try settle(i < s.keys.count && s.keys[i] == c ? i + 1 : i)
    }
    package mutating func previous() throws(StorageError) -> Bool {
        let s = try txn.sorted(tree)
        guard let c = current else { return beyond ? try settle(s.keys.count - 1) : false }
        return try settle(s.lower(c) - 1)
    }
    /// Whether it stands on an entry.
    package var isValid: Bool { current != nil }
    /// The entry's key; empty when the cursor is not on one. Lives until the cursor moves or its transaction changes.
    package var key: Bytes { k }
    /// The entry's value; the same life.
    package var value: Bytes { v }
}

extension Transaction {
    package func get(_ tree: TreeID, _ key: [UInt8]) throws(StorageError) -> Bytes? {
        try key.withBytes { (k) throws(StorageError) in try get(tree, k) }
    }
    package func put(_ tree: TreeID, _ key: [UInt8], _ value: [UInt8]) throws(StorageError) {
        try key.withBytes { (k) throws(StorageError) in
            try value.withBytes { (v) throws(StorageError) in try put(tree, k, v) }
        }
    }
    package func delete(_ tree: TreeID, _ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withBytes { (k) throws(StorageError) in try delete(tree, k) }
    }
    package func count(_ tree: TreeID, from: [UInt8], to: [UInt8]) throws(StorageError) -> UInt64 {
        try from.withBytes { (a) throws(StorageError) in
            try to.withBytes { (b) throws(StorageError) in try count(tree, from: a, to: b) }
        }
    }
}
extension Cursor {
    package mutating func seek(_ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withBytes { (k) throws(StorageError) in try seek(k) }
    }
    package mutating func seekLast(_ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withBytes { (k) throws(StorageError) in try seekLast(k) }
    }
}
