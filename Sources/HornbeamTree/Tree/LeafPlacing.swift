// SPDX-License-Identifier: Apache-2.0
// The end of a transaction for a compressed tree: its changed leaves are compressed and placed, and their parents are
// updated. Only nodes that the transaction has in memory are visited, because no other has such a leaf below it.

import HornbeamPages

extension TreeWriter {
    /// Gives a place to every leaf of the tree that has none.
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
        let node = NodeEditor(leaf: UnsafeMutableRawPointer(mutating: try view.node(leaf, birth: birth, level: 0).base))
        return try pages.placeLeaf(leaf, node.compactIntoParts(scratch: memory.page))
    }
}

extension NodeEditor {
    /// Puts a leaf's cells in the order of their keys, from the end to the start, without gaps, and divides them into
    /// blocks.
    ///
    /// A block ends where an entry would make it too large or, from half of that size on, before an entry chosen by its
    /// own key's head. So a change moves the ends of only a few other blocks, and the rest needn't be encoded again
    /// (content-defined chunking: Muthitacharoen, Chen, Mazières, “A low-bandwidth network file system”, 2001).
    func compactIntoParts(scratch: UnsafeMutableRawPointer) -> LeafParts {
        compact(scratch: scratch)
        let view = view
        var blocks: [Int] = []
        blocks.reserveCapacity(16)
        var block = 0
        for index in (0..<view.count).reversed() {
            let cell = view.cell(index).size
            let most = blocks.isEmpty ? LeafParts.dictionarySize : LeafParts.blockSize
            let isChosen = (view.head(index) &* 0x9E37_79B1) >> 30 == 0
            if block > 0, block + cell > most || block >= most / 2 && isChosen {
                blocks.append(block)
                block = 0
            }
            block += cell
        }
        blocks.append(block)
        return LeafParts(
            headEnd: NodeLayout.heads + NodeLayout.entryOverhead * view.count,
            tailSize: view.prefixSize + view.stamp.reserve, blocks: blocks)
    }
}
