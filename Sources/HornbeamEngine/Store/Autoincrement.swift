// SPDX-License-Identifier: Apache-2.0
// Integer ids that the store hands out: each is larger than any that was handed out before, and than any that is
// stored, linked, or kept as a deleted entity.

import HornbeamPages
import HornbeamTree

extension EntityStore {
    /// Hands out the next integer id, from 1 on. Ids from 2^40 on, which are no row ids of their own, don't count.
    /// Returns nil, and hands out none, if the next id is larger than `greatest` or reaches 2^40. O(log n).
    package func nextID(through greatest: UInt64) throws -> UInt64? {
        var last = try SchemaTree.lastID(type.name, in: transaction)
        for tree in [type.rows, type.unsaved, type.counterpart] {
            if let tree { last = try max(last, largest(tree)) }
        }
        let next = RowID(rawValue: last + 1)
        guard next < RowID.firstAssigned, next.rawValue <= greatest else { return nil }
        try SchemaTree.setLastID(next.rawValue, type.name, in: transaction)
        return next.rawValue
    }

    /// The largest id in a tree of rows that is its own row id; 0 if there is none.
    private func largest(_ tree: TreeID) throws -> UInt64 {
        var cursor = try transaction.cursor(tree)
        let end = RowID(rawValue: RowID.firstAssigned.rawValue - 1)
        guard try cursor.seekLast(end.key), let entry = try cursor.entry() else { return 0 }
        guard let rowID = RowID(key: entry.key), rowID < RowID.firstAssigned else {
            throw corrupt("e:\(type.name)", "a key is no row id")
        }
        return rowID.rawValue
    }
}
