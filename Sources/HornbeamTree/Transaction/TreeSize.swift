// SPDX-License-Identifier: Apache-2.0
// The nodes of a tree in the file: told by its branches, which know the place and the size of each child.

package import HornbeamPages

extension Transaction {
    /// The bytes of the tree's nodes. Reads its branches, and no leaf; long values don't count. `.corrupt` if they come
    /// to more than the file has, as only a file does that was made to: in it one node may be the child of many.
    package func nodeBytes(_ tree: TreeID) throws(StorageError) -> UInt64 {
        var bytes: UInt64 = 0
        try forEachNode(tree) { _, size in bytes += size }
        return bytes
    }

    /// Calls `body` with the position and the size of each node of the tree, in bytes of the file. Reads its branches,
    /// and no leaf. `.corrupt` if the nodes come to more than the file has.
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
        // Only pages of another size than a node's say theirs.
        let sectors = UInt64(PagePointer.sectors(record.page))
        let size = sectors > 0 ? sectors * UInt64(FileFormat.sectorSize) : UInt64(view.pageSize)
        bytes &+= size
        // Pages that a write has made itself may not have their place in the file yet.
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
