// SPDX-License-Identifier: Apache-2.0
// Savepoints: states of a write transaction that it can go back to, one inside the other. Copy-on-write keeps the pages
// (PageSavepoints.swift). This file keeps the roots that lead to them, and the rest of a transaction's state.

package import HornbeamPages

/// A state of one write transaction.
package struct Savepoint: Equatable, Sendable {
    /// The first birth after it. No two savepoints of a transaction have equal numbers.
    package let number: UInt64

    package init(number: UInt64) { self.number = number }
}

/// The state that going back to a savepoint restores.
struct SavedTransaction {
    var number: UInt64
    /// Every open tree in the order of opening, including dropped ones; and (below) the catalogue.
    var trees: [OpenTree]
    var catalogue: OpenTree
    /// Trees from this number on were created later.
    var nextTree: UInt32
    var redo: Int
}

extension Transaction {
    /// Makes a savepoint of the present state, inside the last one. Throws `.readOnly` in a read, and the failure of an
    /// earlier change.
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
    /// inside it are removed. Cursors find their positions again; cursors of trees created since then find no entry.
    /// Throws `.invalid` if the savepoint is gone.
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

    /// Forgets the savepoint and those inside it. The changes stay.
    package func release(_ savepoint: Savepoint) throws(StorageError) {
        let (writer, index) = try find(savepoint)
        if let failure { throw failure }
        writer.pages.releaseSavepoints(from: index)
        savepoints.removeSubrange(index...)
    }

    /// Makes this write useless for anything but aborting or going back to a savepoint, because it has changes that
    /// must not be kept. The first failure stays.
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
        let (changes, next) = (tree.pointee.changes, tree.pointee.next)
        tree.pointee = state
        tree.pointee.changes = changes
        tree.pointee.next = next
    }

    /// Restores a tree that was first opened after the savepoint, from the catalogue of that time.
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

    /// Notes that the addresses of the transaction's pages have changed. Cursors find their places again at their next
    /// move.
    func noteMovedPages() {
        trees.forEach { $0.pointee.changes &+= 1 }
        catalogueIfOpen?.pointee.changes &+= 1
    }
}
