// SPDX-License-Identifier: Apache-2.0
// Savepoints: states of a write transaction that it can go back to, one inside the other. The pages are kept by
// copy-on-write (PageSavepoints.swift); here are the roots that lead to them, and what else a transaction remembers.

package import HornbeamPages

/// A state of one write transaction.
package struct Savepoint: Equatable, Sendable {
    /// The first birth after it: no two savepoints of a transaction have the same.
    package let number: UInt64

    package init(number: UInt64) { self.number = number }
}

/// The state that going back to a savepoint restores.
struct SavedTransaction {
    var number: UInt64
    /// Every tree that was open, dropped ones too, in the order in which they were opened; and the catalogue.
    var trees: [OpenTree]
    var catalogue: OpenTree
    /// Trees from this number on were created later.
    var nextTree: UInt32
    var redo: Int
}

extension Transaction {
    /// Remembers the present state, inside of the last savepoint.
    package func savepoint() throws(StorageError) -> Savepoint {
        try ensureOpen()
        guard let writer else { throw .readOnly("a savepoint needs a write transaction") }
        if let failure { throw failure }
        try completePages()
        var saved: [OpenTree] = []
        saved.reserveCapacity(trees.count)
        trees.forEach { saved.append($0.pointee) }
        let catalogue = try catalogue().pointee
        try writer.pages.addSavepoint()
        writer.forgetPath()
        let savepoint = Savepoint(number: writer.birth)
        savepoints.append(
            SavedTransaction(
                number: savepoint.number, trees: saved, catalogue: catalogue, nextTree: nextTree,
                redo: writer.redo.mark))
        return savepoint
    }

    /// Undoes every change since the savepoint, including one that failed midway. The savepoint stays; savepoints
    /// inside of it are removed. Cursors find their positions again; cursors of trees that were created since see no
    /// entry.
    package func rollback(to savepoint: Savepoint) throws(StorageError) {
        let (writer, place) = try find(savepoint)
        let saved = savepoints[place]
        var index = 0
        trees.forEach { (tree) in
            if index < saved.trees.count {
                Self.restore(tree, saved.trees[index])
            } else {
                restore(tree, openedAfter: saved)
            }
            index += 1
        }
        Self.restore(try catalogue(), saved.catalogue)
        noteMovedPages()
        nextTree = saved.nextTree
        writer.redo.takeBack(to: saved.redo)
        writer.pages.rollBack(to: place)
        writer.forgetPath()
        writer.appendedBytes = 0
        savepoints.removeSubrange((place + 1)...)
        failure = nil
    }

    /// Forgets the savepoint and those inside of it; the changes stay.
    package func release(_ savepoint: Savepoint) throws(StorageError) {
        let (writer, index) = try find(savepoint)
        if let failure { throw failure }
        writer.pages.releaseSavepoints(from: index)
        savepoints.removeSubrange(index...)
    }

    /// Has this write, which has done what must not be kept, be good for nothing but aborting or going back to a
    /// savepoint. The first failure stays.
    package func fail(_ error: StorageError) {
        if isWritable, failure == nil { failure = error }
    }

    private func find(_ savepoint: Savepoint) throws(StorageError) -> (TreeWriter, Int) {
        try ensureOpen()
        guard let writer, let index = savepoints.firstIndex(where: { $0.number == savepoint.number }) else {
            throw .invalid("the savepoint was released or rolled back, or is another transaction's")
        }
        return (writer, index)
    }

    private static func restore(_ tree: OpenTreePointer, _ state: OpenTree) {
        let changes = tree.pointee.changes
        tree.pointee = state
        tree.pointee.changes = changes
    }

    /// A tree that was first opened after the savepoint: the catalogue of then says what it was, if it was.
    private func restore(_ tree: OpenTreePointer, openedAfter saved: SavedTransaction) {
        tree.pointee.place = Int(tree.pointee.number)
        tree.pointee.root = tree.pointee.stored.root
        tree.pointee.longValues = tree.pointee.stored.longValues
        tree.pointee.isStale = false
        tree.pointee.hasUnplacedLeaves = false
        if tree.pointee.number >= saved.nextTree {
            tree.pointee.root = TreeRoot()
            tree.pointee.close()
        }
    }

    /// The addresses of the transaction's pages have changed: cursors find their place again at their next move.
    func noteMovedPages() {
        trees.forEach { $0.pointee.changes &+= 1 }
        catalogueIfOpen?.pointee.changes &+= 1
    }
}
