// SPDX-License-Identifier: Apache-2.0
// The nodes of a tree in the file, read from its branches, which have the place and the size of each child.

package import HornbeamPages

extension Transaction {
    /// Returns the size of the tree's nodes in bytes. Reads its branches, but no leaf; long values don't count. Throws
    /// `.corrupt` if they are larger than the file. Only a forged file has that, in which one node is the child of
    /// many.
    package func nodeBytes(_ tree: TreeID) throws(StorageError) -> UInt64 {
        var bytes: UInt64 = 0
        try forEachNode(tree) { _, size in bytes += size }
        return bytes
    }

    /// Passes the position and the size of each node of the tree to `body`, in bytes of the file. Reads its branches,
    /// but no leaf. Throws `.corrupt` if the nodes are larger than the file.
    package func forEachNode(
        _ tree: TreeID, _ body: (_ position: UInt64, _ size: UInt64) -> Void
    ) throws(StorageError) {
        let open = try opened(tree)
        try answer(open) { () throws(StorageError) in
            let root = open.pointee.root
            if root.isEmpty { return }
            var bytes: UInt64 = 0
            let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
            try visitNodes(record, root.level, &bytes, body)
        }
    }

    private func visitNodes(
        _ record: ChildRecord, _ level: Int, _ bytes: inout UInt64, _ body: (UInt64, UInt64) -> Void
    ) throws(StorageError) {
        // Only pointers of pages that don't have a node's size state the size.
        let sectors = UInt64(PagePointer.sectors(record.page))
        let size = sectors > 0 ? sectors * UInt64(FileFormat.sectorSize) : UInt64(view.pageSize)
        bytes &+= size
        // Pages that a write has made may not have their places in the file yet.
        guard isWritable || bytes <= view.fileSize else {
            throw .corrupt(Corruption(page: record.page, reason: "a tree has more nodes than the file has room for"))
        }
        body(PagePointer.number(record.page) &* UInt64(FileFormat.sectorSize), size)
        guard level > 0 else { return }
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try view.node(record.page, birth: record.birth, level: level)
        for index in 0..<node.count { try visitNodes(node.child(index), level - 1, &bytes, body) }
    }
}
