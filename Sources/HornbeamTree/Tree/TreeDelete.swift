// SPDX-License-Identifier: Apache-2.0
// Taking entries out one at a time, and what keeps trees from thinning out: a node that falls below a quarter joins a
// sibling if the two then fill at most three quarters, so that a join is never followed by a split soon.

import HornbeamPages

extension TreeWriter {
    /// Removes the entry; false, and nothing is copied, if there is none.
    func delete(_ tree: OpenTreePointer, _ key: Bytes) throws(StorageError) -> Bool {
        guard !tree.pointee.root.isEmpty else { return false }
        let (index, found) = try descend(tree, key)
        guard found else { return false }
        try ownPath(tree)
        let leaf = editor(0)
        try freeLongValue(tree, leaf.view.cell(index))
        leaf.remove(at: index)
        addToCounts(tree, -1)
        try tidyPath(tree)
        return true
    }

    /// Puts the path right, from the leaf up, after an entry went from the leaf.
    private func tidyPath(_ tree: OpenTreePointer) throws(StorageError) {
        var level = 0
        while level < tree.pointee.root.level {
            let node = editor(level)
            let parent = editor(level + 1)
            let index = path[level + 1].index
            if node.view.count == 0 {
                try pages.free(path[level].page, birth: birth, sectors: nil)
                removeEntries(tree, of: parent, index..<index + 1, level: level + 1)
            } else if try !joinIfThin(tree, parent, index, level: level) {
                return
            }
            level += 1
        }
        try lowerRoot(tree)
    }

    /// Takes needless roots away: an empty one, or branches with one child.
    func lowerRoot(_ tree: OpenTreePointer) throws(StorageError) {
        while !tree.pointee.root.isEmpty {
            let root = tree.pointee.root
            let node = try node(tree, root.page, birth: root.birth, level: root.level)
            if node.count == 0 {
                tree.pointee.root = TreeRoot()
            } else if root.level > 0, node.count == 1 {
                let child = node.child(0)
                tree.pointee.root = TreeRoot(
                    page: child.page, birth: child.birth, count: root.count, level: root.level - 1)
            } else {
                return
            }
            try pages.free(root.page, birth: root.birth, sectors: nil)
        }
    }

    /// Joins a branch's child with a sibling if it has become thin. Whether the branch lost an entry by that.
    /// `parent` is a page of this transaction; `level` is the child's.
    func joinIfThin(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, level: Int
    ) throws(StorageError) -> Bool {
        let record = parent.view.child(index)
        let child = try node(tree, record.page, birth: record.birth, level: level)
        guard child.usedSize < capacity / 4 else { return false }
        if index + 1 < parent.view.count, try join(tree, parent, index, level: level) { return true }
        guard index > 0 else { return false }
        return try join(tree, parent, index - 1, level: level)
    }

    /// Joins a branch's children at `index` and after it, if they fit well in one node.
    private func join(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, level: Int
    ) throws(StorageError) -> Bool {
        let leftRecord = parent.view.child(index)
        let rightRecord = parent.view.child(index + 1)
        let left = try node(tree, leftRecord.page, birth: leftRecord.birth, level: level)
        let right = try node(tree, rightRecord.page, birth: rightRecord.birth, level: level)
        // Cheap and never wrong: joining saves at most the prefixes.
        let least = left.usedSize - left.prefixSize + right.usedSize - right.prefixSize
        guard least <= capacity * 3 / 4 else { return false }
        var list = emptyList(tree, level: level)
        guard list.hasRoom(for: left.count + right.count) else { return false }
        list.append(left, 0..<left.count)
        list.append(right, 0..<right.count)
        if level > 0 {
            // What stood for minus infinity on the right begins at the separator.
            list.setKey(at: left.count, of: EntryReference(parent.view, index + 1, hasPrefix: true))
        }
        guard list.nodeSize(0..<list.count) <= capacity * 3 / 4 else { return false }

        let keepsRight = rightRecord.birth == birth && leftRecord.birth != birth
        let kept = keepsRight ? rightRecord : leftRecord
        let gone = keepsRight ? leftRecord : rightRecord
        let node = try own(tree, kept, level: level)
        rewrite(node.editor, with: list)
        try pages.free(gone.page, birth: gone.birth, sectors: nil)
        let count = leftRecord.count &+ rightRecord.count
        parent.setChild(index, ChildRecord(page: node.page, birth: birth, count: count))
        parent.remove(at: index + 1)
        return true
    }

    /// Takes a range of entries out of a node of this transaction.
    func removeEntries(_ tree: OpenTreePointer, of node: NodeEditor, _ range: Range<Int>, level: Int) {
        let isFirstOfBranch = level > 0 && range.lowerBound == 0
        if range.count == 1 {
            node.remove(at: range.lowerBound)
            if isFirstOfBranch { node.emptyFirstKey() }
            return
        }
        let view = node.view
        var list = emptyList(tree, level: level)
        list.append(view, 0..<range.lowerBound)
        list.append(view, range.upperBound..<view.count)
        rewrite(node, with: list)
    }
}
