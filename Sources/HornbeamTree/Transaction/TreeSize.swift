// SPDX-License-Identifier: Apache-2.0
// How much a tree takes in the file: told by its branches, which know the place and the size of each child.

package import HornbeamPages

extension Transaction {
    /// The bytes of the tree's nodes. Reads its branches, and no leaf; long values don't count. `.corrupt` if they come
    /// to more than the file has, as only a file does that was made to: in it one node may be the child of many.
    package func nodeBytes(_ tree: TreeID) throws(StorageError) -> UInt64 {
        let open = try opened(tree)
        return try answer(open) { () throws(StorageError) in
            let root = open.pointee.root
            if root.isEmpty { return 0 }
            var bytes: UInt64 = 0
            try addNodes(ChildRecord(page: root.page, birth: root.birth, count: root.count), root.level, to: &bytes)
            return bytes
        }
    }

    private func addNodes(_ record: ChildRecord, _ level: Int, to bytes: inout UInt64) throws(StorageError) {
        // Only pages of another size than a node's say theirs.
        let sectors = UInt64(PagePointer.sectors(record.page))
        bytes &+= sectors > 0 ? sectors * UInt64(FileFormat.sectorSize) : UInt64(view.pageSize)
        // Pages that a write has made itself may not have their place in the file yet.
        guard isWritable || bytes <= view.fileSize else {
            throw .corrupt(Corruption(page: record.page, reason: "a tree has more nodes than the file has room for"))
        }
        guard level > 0 else { return }
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try view.node(record.page, birth: record.birth, level: level)
        for index in 0..<node.count { try addNodes(node.child(index), level - 1, to: &bytes) }
    }
}
