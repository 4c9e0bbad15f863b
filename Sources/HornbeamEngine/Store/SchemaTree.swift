// SPDX-License-Identifier: Apache-2.0
// The tree of the schema: its name, and the counters of row ids and ids. SchemaCatalogue and RegisteredCatalogue have
// the rest.

import HornbeamPages
import HornbeamTree

/// See `SchemaCatalogue` for all entries of the tree.
enum SchemaTree {
    static let name = "schema"

    static func nextRowID(_ type: String, in transaction: Transaction) throws -> UInt64 {
        guard let tree = try transaction.tree(name),
            let stored = try transaction.get(tree, Array("next:\(type)".utf8))
        else { return RowID.firstAssigned.rawValue }
        // The bound is far from the greatest number, so that counting on can't overflow.
        guard let next = RowID(stored: stored), next >= RowID.firstAssigned, next.rawValue < 1 << 63 else {
            throw StorageError.corrupt(
                Corruption(tree: name, reason: "the row id counter of “\(type)” is not readable"))
        }
        return next.rawValue
    }

    static func setNextRowID(_ next: UInt64, _ type: String, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(name, create: true) else { return }
        try transaction.put(tree, Array("next:\(type)".utf8), RowID(rawValue: next).stored)
    }

    /// The last id that `EntityStore.nextID` has handed out; 0 before the first.
    static func lastID(_ type: String, in transaction: Transaction) throws -> UInt64 {
        guard let tree = try transaction.tree(name),
            let stored = try transaction.get(tree, Array("last:\(type)".utf8))
        else { return 0 }
        guard let last = RowID(stored: stored), last < RowID.firstAssigned else {
            throw StorageError.corrupt(Corruption(tree: name, reason: "the id counter of “\(type)” is not readable"))
        }
        return last.rawValue
    }

    static func setLastID(_ last: UInt64, _ type: String, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(name, create: true) else { return }
        try transaction.put(tree, Array("last:\(type)".utf8), RowID(rawValue: last).stored)
    }
}
