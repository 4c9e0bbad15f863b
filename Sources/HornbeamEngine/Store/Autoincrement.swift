// SPDX-License-Identifier: Apache-2.0
// Integer ids that the store hands out: as in SQLite's AUTOINCREMENT, each is larger than any that was handed out
// before and than any that is stored.

import HornbeamPages
import HornbeamTree

extension EntityStore {
    /// Hands out the next integer id, from 1 on. Ids from 2^40 on, which are no row ids of their own, don't count.
    /// Returns nil if all below 2^40 have been handed out. O(log n).
    package func nextID() throws -> UInt64? {
        let last = try max(SchemaTree.lastID(type.name, in: transaction), largest(type.rows), largest(type.unsaved))
        let next = RowID(rawValue: last + 1)
        guard next < RowID.firstAssigned else { return nil }
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
