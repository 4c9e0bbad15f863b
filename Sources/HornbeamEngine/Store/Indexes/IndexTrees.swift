// SPDX-License-Identifier: Apache-2.0
// The trees of a registered index. Most have one. A table whose rows are found by several keys has one tree for its
// rows and one for each of these keys. While entries are made, compared, sorted and merged, they are a single list, in
// which the first byte of a key is the number of the entry's tree.

package import HornbeamPages
package import HornbeamTree

/// The trees of one registered index in a transaction.
package struct IndexTrees: Sendable, Equatable {
    /// The catalogue's name for the number of trees besides the first one.
    static let setting = "trees"
    /// Maximum number of other trees: the values of a byte, less the first tree and one that is left free.
    package static let mostOthers = 254

    /// The first tree. It has the reduction, if the index has one.
    package let first: TreeID
    /// The other trees. If there are any, an entry's key begins with the number of its tree, 0 for the first one. The
    /// keys in the trees lack that byte.
    package let others: [TreeID]

    package init(first: TreeID) {
        self.first = first
        others = []
    }

    /// Finds the trees of an index, or makes them if `create` is true. Returns nil if one is missing.
    package init?(
        of index: StoredIndex, in transaction: Transaction, create: Bool = false, _ options: TreeOptions = TreeOptions()
    ) throws(StorageError) {
        try self.init(index.treeName, index.otherNames, in: transaction, create: create, options)
    }

    /// Finds the trees of these names, or makes them if `create` is true. Returns nil if one is missing.
    init?(
        _ firstName: String, _ otherNames: [String], in transaction: Transaction, create: Bool = false,
        _ options: TreeOptions = TreeOptions()
    ) throws(StorageError) {
        guard let first = try transaction.tree(firstName, create: create, options: options) else { return nil }
        self.first = first
        var others: [TreeID] = []
        for name in otherNames {
            guard let tree = try transaction.tree(name, create: create) else { return nil }
            others.append(tree)
        }
        self.others = others
    }

    package var all: [TreeID] { [first] + others }

    /// Returns an entry's tree and its key there. Throws `.invalid` if there is no such tree.
    private func place(_ key: Bytes) throws(StorageError) -> (TreeID, Bytes) {
        if others.isEmpty { return (first, key) }
        guard let number = key.first, Int(number) <= others.count else {
            throw .invalid("an entry of a registered index belongs to none of its trees")
        }
        return (number == 0 ? first : others[Int(number) - 1], Bytes(rebasing: key.dropFirst()))
    }

    func put(_ entry: IndexEntry, in transaction: Transaction) throws(StorageError) {
        try entry.key.withBytes { (key) throws(StorageError) in
            let (tree, key) = try place(key)
            try entry.value.withBytes { (value) throws(StorageError) in try transaction.put(tree, key, value) }
        }
    }

    /// Appends an entry. It must come after all others of its tree.
    package func append(_ key: Bytes, _ value: Bytes, in transaction: Transaction) throws(StorageError) {
        let (tree, key) = try place(key)
        try transaction.append(tree, key, value)
    }

    func append(_ key: [UInt8], _ value: [UInt8], in transaction: Transaction) throws(StorageError) {
        try key.withBytes { (key) throws(StorageError) in
            try value.withBytes { (value) throws(StorageError) in try append(key, value, in: transaction) }
        }
    }

    func delete(_ key: [UInt8], in transaction: Transaction) throws(StorageError) {
        try key.withBytes { (key) throws(StorageError) in
            let (tree, key) = try place(key)
            _ = try transaction.delete(tree, key)
        }
    }

    /// Returns the value of an entry, or nil if there is no such entry.
    func value(of key: [UInt8], in transaction: Transaction) throws(StorageError) -> Bytes? {
        try key.withBytes { (key) throws(StorageError) in
            let (tree, key) = try place(key)
            return try transaction.get(tree, key)
        }
    }

    /// The number of entries in all trees.
    func count(in transaction: Transaction) throws(StorageError) -> UInt64 {
        var count: UInt64 = 0
        for tree in all { count = count.addingReportingOverflow(try transaction.count(tree)).partialValue }
        return count
    }

    /// Returns the row of an entry of the first tree, or nil if it has none. The entry's key ends in row id and
    /// ordinal; in a table's tree it ends in the row id.
    func rowID(_ key: Bytes) -> RowID? { RowID(key: key, at: key.count - (others.isEmpty ? 12 : 8)) }

    /// The keys of all entries of a row. O(n) in the number of entries of all trees.
    func keys(of rowID: RowID, in transaction: Transaction) throws(StorageError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        for (number, tree) in all.enumerated() {
            var cursor = try transaction.cursor(tree)
            while try cursor.next() {
                guard self.rowID(cursor.key) == rowID else { continue }
                keys.append((others.isEmpty ? [] : [UInt8(truncatingIfNeeded: number)]) + Array(cursor.key))
            }
        }
        return keys
    }

    /// Returns the last key of all entries in one list, or nil if there are none.
    package func lastKey(in transaction: Transaction) throws(StorageError) -> [UInt8]? {
        for (number, tree) in all.enumerated().reversed() {
            var cursor = try transaction.cursor(tree)
            guard try cursor.last() else { continue }
            return (others.isEmpty ? [] : [UInt8(truncatingIfNeeded: number)]) + Array(cursor.key)
        }
        return nil
    }
}
