// SPDX-License-Identifier: Apache-2.0
// The trees of a hand-kept index, and their maintenance when an entity is deleted, which needs no code of the program.
//
// entries  of lists: section ‖ place → row id; of hashes: key → row id; of sets: row id → nothing
// places   row id ‖ key of an entry of that row → nothing; a set has none: the keys of its entries are the row ids
//
// A section is nothing in `OrderedIDIndex`, the group's row id in `GroupByEntityIndex`, the group's key in
// `GroupByKeyIndex`. Keys of indexes are no prefixes of each other, so sections don't mix.

import HornbeamKeys
package import HornbeamPages
package import HornbeamTree

/// One hand-kept index in one transaction.
package struct KeptTrees {
    package let name: String
    package let transaction: Transaction
    package let entries: TreeID
    /// The tree of places, nil for a set, which needs none.
    package let places: TreeID?

    /// Maximum size in bytes of a section or of a hash's key: an index's longest key without its row id and its place.
    static let maximumKey = IndexKeyBytes.keptSize

    package init(_ index: StoredIndex, in transaction: Transaction, create: Bool = false) throws {
        func tree(_ name: String) throws(StorageError) -> TreeID {
            guard let tree = try transaction.tree(name, create: create) else {
                throw .corrupt(Corruption(tree: name, reason: "a hand-kept index lacks its tree"))
            }
            return tree
        }
        name = index.name
        self.transaction = transaction
        entries = try tree(index.treeName)
        places = index.handKept == .set ? nil : try tree(index.placesName)
    }

    package func put(_ key: [UInt8], _ row: RowID) throws(StorageError) {
        guard let places else { return try transaction.put(entries, key, []) }
        try transaction.put(entries, key, row.stored)
        try transaction.put(places, row.key + key, [])
    }

    /// Removes an entry. Has no effect if there is no such entry.
    package func remove(_ key: [UInt8], _ row: RowID) throws(StorageError) {
        _ = try transaction.delete(entries, key)
        if let places { _ = try transaction.delete(places, row.key + key) }
    }

    /// Calls `body` with each entry from key `from` to before key `to`, until it returns false. An empty bound is an
    /// open end. `body` may change other trees.
    package func forEach(from: [UInt8] = [], to: [UInt8] = [], _ body: (_ key: Bytes, RowID) throws -> Bool) throws {
        var cursor = try transaction.cursor(entries)
        var isValid = try from.isEmpty ? cursor.first() : cursor.seek(from)
        while isValid, to.isEmpty || cursor.key.lexicographicallyPrecedes(to) {
            guard let row = places == nil ? RowID(key: cursor.key) : RowID(stored: cursor.value) else {
                throw damaged("an entry names no row")
            }
            guard try body(cursor.key, row) else { return }
            isValid = try cursor.next()
        }
    }

    /// Calls `body` with the keys of a row's entries that begin with `section`, in their order, until it returns false.
    /// `body` may change other trees.
    package func forEachKey(of row: RowID, in section: [UInt8] = [], _ body: (_ key: Bytes) throws -> Bool) throws {
        guard let places else { return }
        let prefix = row.key + section
        var cursor = try transaction.cursor(places)
        var isValid = try cursor.seek(prefix)
        while isValid, cursor.key.starts(with: prefix) {
            guard try body(Bytes(rebasing: cursor.key.dropFirst(8))) else { return }
            isValid = try cursor.next()
        }
    }

    // MARK: Many at once

    /// Removes the entries from key `from` to before key `to`. An empty bound is an open end.
    package func removeAll(from: [UInt8] = [], to: [UInt8] = []) throws {
        if let places {
            if from.isEmpty, to.isEmpty {
                _ = try transaction.deleteRange(places, from: [], to: [])
            } else {
                try forEach(from: from, to: to) { key, row in
                    _ = try transaction.delete(places, row.key + Array(key))
                    return true
                }
            }
        }
        _ = try transaction.deleteRange(entries, from: from, to: to)
    }

    /// Removes all entries of a row. If there are none, no page changes.
    package func removeAll(of row: RowID) throws {
        guard let places else {
            _ = try transaction.delete(entries, row.key)
            return
        }
        var isThere = false
        try forEachKey(of: row) { key in
            isThere = true
            _ = try transaction.delete(entries, Array(key))
            return true
        }
        if isThere { try transaction.deleteAll(places, of: row) }
    }

    package func damaged(_ reason: String) -> StorageError {
        .corrupt(Corruption(tree: "index “\(name)”", reason: reason))
    }
}

/// A hand-kept index that the deletion of an entity affects: it may contain the entity, or have it as a group.
struct KeptConcern: Sendable {
    let index: StoredIndex
    let isMember: Bool
    let isGroup: Bool

    func drop(_ row: RowID, in transaction: Transaction) throws {
        let trees = try KeptTrees(index, in: transaction)
        if isMember { try trees.removeAll(of: row) }
        guard isGroup else { return }
        try trees.removeAll(from: row.key, to: KeyWriter.successor(ofPrefix: row.key) ?? [])
    }

    /// Returns the concerns of all indexes, by entity types.
    static func all(_ indexes: [StoredIndex]) -> [String: [KeptConcern]] {
        var concerns: [String: [KeptConcern]] = [:]
        for index in indexes {
            for type in Set([index.record.entity] + (index.group.map { [$0] } ?? [])) {
                let concern = KeptConcern(
                    index: index, isMember: type == index.record.entity, isGroup: type == index.group)
                concerns[type, default: []].append(concern)
            }
        }
        return concerns
    }
}
