// SPDX-License-Identifier: Apache-2.0
// Notes which rows of a type are saved or removed while a bulk change goes through them. Hooks, cascades and the change
// itself may write to entities that the bulk change has yet to reach.

package import HornbeamTree

/// Notes the changed rows of one type. It belongs to one write transaction, and with it to one thread at a time.
package final class RowWatch {
    private let tree: TreeID
    private var changed: Set<RowID> = []
    /// The watch of the bulk change around this one.
    package let outer: RowWatch?

    package init(_ tree: TreeID, within outer: RowWatch?) {
        self.tree = tree
        self.outer = outer
    }

    /// Must be called after each put and each removal of a row.
    func note(_ row: RowID, in tree: TreeID) {
        if tree == self.tree { changed.insert(row) }
        outer?.note(row, in: tree)
    }

    /// Whether a row was noted since the last call for it.
    package func takeChange(of row: RowID) -> Bool {
        // Nearly always no row was noted.
        if changed.isEmpty { return false }
        return changed.remove(row) != nil
    }

    /// Forgets all notes. For a caller that reads all its rows again.
    package func forget() { changed.removeAll(keepingCapacity: true) }
}
