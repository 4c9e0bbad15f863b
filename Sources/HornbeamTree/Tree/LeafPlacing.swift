// SPDX-License-Identifier: Apache-2.0
// The end of a transaction for a compressed tree: its changed leaves are compressed and get their places, and their
// parents are told. Only nodes that the transaction has in memory are looked at: no other has such a leaf below it.

import HornbeamPages

extension TreeWriter {
    /// Gives every leaf of the tree that has no place its place.
    func placeLeaves(_ tree: OpenTreePointer) throws(StorageError) {
        kept = nil
        let root = tree.pointee.root
        if root.level > 0 {
            try placeLeaves(below: root.page, birth: root.birth, level: root.level)
        } else if PagePointer.isUnplaced(root.page) {
            tree.pointee.root.page = try place(root.page, birth: root.birth)
        }
        tree.pointee.hasUnplacedLeaves = false
    }

    private func placeLeaves(below page: UInt64, birth: UInt64, level: Int) throws(StorageError) {
        guard let frame = pages.frame(page) else { return }
        let branch = NodeEditor(frame, size: pageSize)
        for index in 0..<branch.view.count {
            let child = branch.view.child(index)
            if level > 1 {
                try placeLeaves(below: child.page, birth: child.birth, level: level - 1)
            } else if PagePointer.isUnplaced(child.page) {
                branch.moveChild(index, to: try place(child.page, birth: child.birth), birth: child.birth)
            }
        }
    }

    private func place(_ leaf: UInt64, birth: UInt64) throws(StorageError) -> UInt64 {
        let node = try view.node(leaf, birth: birth, level: 0)
        let arrays = NodeLayout.heads + NodeLayout.entryOverhead * node.count
        return try pages.placeLeaf(leaf, unused: arrays..<node.size - node.heapSize)
    }
}
