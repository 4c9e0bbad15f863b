// SPDX-License-Identifier: Apache-2.0
// The trees of a transaction: which of them a read was made from, and which a write has changed, for callers that cache
// a result; and trees for temporary data of a write.

package import HornbeamPages

extension Transaction {
    /// The number of the state that a commit of this write would make now; savepoints raise it. Nil in a read.
    package var number: UInt64? { writer?.pages.birth }

    /// The trees that were looked at. Two reads that begin anew and in which these trees are the same see the same.
    package var openTrees: Set<TreeID> {
        var open: Set<TreeID> = []
        trees.forEach { open.insert(TreeID(rawValue: $0.pointee.number)) }
        return open
    }

    /// The trees that differ from the state that the write began with, but for what is gathered above the trees.
    package var treesChanged: Set<TreeID> {
        Set(changedTrees().map { TreeID(rawValue: $0.pointee.number) })
    }

    /// Makes a tree that no other has the name of: a store may have trees that are no entities'.
    package func makeTree(_ wanted: String) throws(StorageError) -> (name: String, tree: TreeID) {
        var name = wanted
        while try tree(name) != nil { name += "+" }
        guard let tree = try tree(name, create: true) else {
            throw .invalid("the tree “\(name)” could not be created")
        }
        return (name, tree)
    }
}

/// Identifies the set of trees in a state, regardless of their content. New trees get greater numbers than all before,
/// and dropped trees lower the count. So if two states of a store, of which one follows the other, are equal in this,
/// they have the same trees.
package struct PresentTrees: Equatable, Sendable {
    private let next: UInt32
    private let count: UInt64

    init(next: UInt32, count: UInt64) { (self.next, self.count) = (next, count) }
}

extension Transaction {
    /// The present trees, including those that this write has created and without those it has dropped.
    package func presentTrees() throws(StorageError) -> PresentTrees {
        PresentTrees(next: nextTree, count: try catalogue().pointee.root.count)
    }
}
