// SPDX-License-Identifier: Apache-2.0
// The trees of a transaction, for callers that cache a result: the trees that a read was made from, and those that a
// write has changed. And trees for temporary data of a write.

package import HornbeamPages

extension Transaction {
    /// The number of the state that a commit of this write would make now. Savepoints raise it. Nil in a read.
    package var number: UInt64? { writer?.pages.birth }

    /// The trees that were opened. Two reads have equal results if these trees are equal in both.
    package var openTrees: Set<TreeID> {
        var open: Set<TreeID> = []
        trees.forEach { open.insert(TreeID(rawValue: $0.pointee.number)) }
        return open
    }

    /// The trees that differ from the state that the write began with. Doesn't include changes that the layers above
    /// still collect.
    package var treesChanged: Set<TreeID> {
        var changed: Set<TreeID> = []
        forEachChangedTree { changed.insert(TreeID(rawValue: $0.pointee.number)) }
        return changed
    }

    /// Creates a tree with a name that no other tree has: a store may have trees that don't belong to entities.
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
/// and dropped trees lower the count. So if this is equal for two states of a store, one after the other, they have the
/// same trees.
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
