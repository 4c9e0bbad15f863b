// SPDX-License-Identifier: Apache-2.0
// How much a tree takes in the file: told by its branches, which know the place and the size of each child.

package import HornbeamPages

extension Transaction {
    /// The bytes of the tree's nodes. Reads its branches, and no leaf; long values don't count.
    package func nodeBytes(_ tree: TreeID) throws(StorageError) -> UInt64 {
        let open = try opened(tree)
        return try answer(open) { () throws(StorageError) in
            let root = open.pointee.root
            if root.isEmpty { return 0 }
            return try nodeBytes(ChildRecord(page: root.page, birth: root.birth, count: root.count), level: root.level)
        }
    }

    private func nodeBytes(_ record: ChildRecord, level: Int) throws(StorageError) -> UInt64 {
        // Only pages of another size than a node's say theirs.
        let sectors = UInt64(PagePointer.sectors(record.page))
        var bytes = sectors > 0 ? sectors * UInt64(FileFormat.sectorSize) : UInt64(view.pageSize)
        guard level > 0 else { return bytes }
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try view.node(record.page, birth: record.birth, level: level)
        for index in 0..<node.count { bytes &+= try nodeBytes(node.child(index), level: level - 1) }
        return bytes
    }
}
