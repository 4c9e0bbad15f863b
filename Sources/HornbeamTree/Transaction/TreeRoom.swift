// SPDX-License-Identifier: Apache-2.0
// Sizes of values that have room in leaves. A caller that can cut its data into values of any size can fill leaves
// completely.

package import HornbeamPages

extension Transaction {
    /// Returns the size of the largest value that is stored in its leaf, under a key of `keySize` bytes. A larger one
    /// gets a page of its own.
    package func inlineLimit(_ tree: TreeID, keySize: Int) throws(StorageError) -> Int {
        try opened(tree).pointee.inlineLimit(pageSize: view.pageSize) - NodeLayout.cellHeader - keySize
    }

    /// Returns the size of the largest value for which the tree's last leaf has room, under a key of `keySize` bytes
    /// that has the common prefix. Any size if the tree is empty; less than 0 if there is no room even for the key.
    package func roomInLastLeaf(_ tree: TreeID, keySize: Int) throws(StorageError) -> Int {
        let open = try opened(tree)
        return try answer(open) { () throws(StorageError) in
            let root = open.pointee.root
            if root.isEmpty { return .max }
            let mark = view.heldMark
            defer { view.letGo(to: mark) }
            var (page, birth, level) = (root.page, root.birth, root.level)
            while level > 0 {
                let node = try view.node(page, birth: birth, level: level)
                let last = node.child(node.count - 1)
                (page, birth) = (last.page, last.birth)
                level -= 1
            }
            let leaf = try view.leaf(page, birth: birth, of: tree.rawValue)
            let entry = NodeLayout.cellHeader + NodeLayout.entryOverhead + keySize - leaf.prefixSize
            return leaf.freeSize + leaf.deadSize - entry
        }
    }
}
