// SPDX-License-Identifier: Apache-2.0
// The cursors of a transaction, and reads with cursors of its own.

package import HornbeamPages

extension Transaction {
    /// Returns a cursor before the first entry. In a write transaction it stays valid through the transaction's
    /// changes: it keeps its key and finds its place again (if its entry was deleted, `next` moves to the entry after
    /// it).
    package func cursor(_ tree: TreeID) throws(StorageError) -> Cursor { Cursor(self, try opened(tree)) }

    /// The names of all trees, in byte order.
    package func treeNames() throws(StorageError) -> [String] {
        try catalogueNames().map { String(decoding: $0, as: UTF8.self) }
    }

    func catalogueNames() throws(StorageError) -> [[UInt8]] {
        var all: [[UInt8]] = []
        var cursor = Cursor(self, try catalogue())
        while try cursor.next() { all.append(Array(cursor.key)) }
        return all
    }
}
