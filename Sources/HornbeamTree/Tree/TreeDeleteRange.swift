// SPDX-License-Identifier: Apache-2.0
// Removes a range of keys, or a whole tree. Only the nodes on the range's two edges are rewritten. Nodes between are
// freed by their parents' records. Their leaves are not read, unless the tree has long values.

import HornbeamPages

extension TreeWriter {
    /// Removes the entries of [from, to); nil is an open end, and `from` must be less than `to`. Returns their number.
    func deleteRange(_ tree: OpenTreePointer, from: Bytes?, to: Bytes?) throws(StorageError) -> UInt64 {
        let root = tree.pointee.root
        guard !root.isEmpty else { return 0 }
        appendedBytes = 0
        let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
        let left = try prune(tree, record, level: root.level, from: from, to: to)
        if let left {
            tree.pointee.root = TreeRoot(page: left.page, birth: left.birth, count: left.count, level: root.level)
        } else {
            tree.pointee.root = TreeRoot()
        }
        if left != record {
            if tree.pointee.reductionSize > 0 { tree.pointee.isStale = true }
            try lowerRoot(tree)
            // The nodes on the two edges are neighbours now.
            if let from { try tidy(tree, around: from) }
            if let to { try tidy(tree, around: to) }
        }
        return root.count &- (left?.count ?? 0)
    }

    /// Joins thin nodes on the path to a key, until no more can be joined. Each round except the last removes a node,
    /// from the top, because a joined branch gives the nodes below it siblings.
    private func tidy(_ tree: OpenTreePointer, around key: Bytes) throws(StorageError) {
        var isChanged = true
        while isChanged, !tree.pointee.root.isEmpty {
            isChanged = false
            _ = try descend(tree, key)
            var level = tree.pointee.root.level - 1
            while level >= 0, !isChanged {
                let isAlone = editor(level + 1).view.count == 1
                if isThin(editor(level).view), !isAlone {
                    try ownPath(tree)
                    if tree.pointee.reductionSize > 0 { markStale(tree) }
                    isChanged = try joinIfThin(tree, editor(level + 1), path[level + 1].index, level: level)
                    if !isChanged { _ = try descend(tree, key) }
                }
                level -= 1
            }
            try lowerRoot(tree)
        }
    }

    /// Frees all pages of a tree.
    func drop(_ tree: OpenTreePointer) throws(StorageError) {
        let root = tree.pointee.root
        guard !root.isEmpty else { return }
        try drop(tree, ChildRecord(page: root.page, birth: root.birth, count: root.count), level: root.level)
        tree.pointee.root = TreeRoot()
    }

    private func drop(_ tree: OpenTreePointer, _ record: ChildRecord, level: Int) throws(StorageError) {
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        if level > 0 || tree.pointee.longValues > 0 {
            let node = try node(tree, record.page, birth: record.birth, level: level)
            for index in 0..<node.count {
                if level > 0 {
                    try drop(tree, node.child(index), level: level - 1)
                } else {
                    try freeLongValue(tree, node.cell(index))
                }
            }
        }
        try pages.free(record.page, birth: record.birth, sectors: nil)
    }

    /// Maximum number of entries that are removed from a leaf in place. Rewriting a leaf takes as long as removing some
    /// hundred.
    private static var fewEntries: Int { 128 }

    /// Removes the range from a subtree. Returns the remaining subtree; nil if nothing is left.
    private func prune(
        _ tree: OpenTreePointer, _ record: ChildRecord, level: Int, from: Bytes?, to: Bytes?
    ) throws(StorageError) -> ChildRecord? {
        if from == nil, to == nil {
            try drop(tree, record, level: level)
            return nil
        }
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        return level == 0
            ? try pruneLeaf(tree, record, from: from, to: to)
            : try pruneBranch(tree, record, level: level, from: from, to: to)
    }

    private func pruneLeaf(
        _ tree: OpenTreePointer, _ record: ChildRecord, from: Bytes?, to: Bytes?
    ) throws(StorageError) -> ChildRecord? {
        let leaf = try node(tree, record.page, birth: record.birth, level: 0)
        let first = from.map { leaf.find($0).index } ?? 0
        let end = to.map { leaf.find($0).index } ?? leaf.count
        guard first < end else { return record }
        for index in first..<end { try freeLongValue(tree, leaf.cell(index)) }
        if first == 0, end == leaf.count {
            try pages.free(record.page, birth: record.birth, sectors: nil)
            return nil
        }
        let node = try own(tree, record, level: 0)
        if end - first <= Self.fewEntries {
            for index in (first..<end).reversed() { node.editor.remove(at: index) }
        } else {
            removeEntries(tree, of: node.editor, first..<end, level: 0)
        }
        return ChildRecord(page: node.page, birth: birth, count: record.count &- UInt64(end - first))
    }

    private func pruneBranch(
        _ tree: OpenTreePointer, _ record: ChildRecord, level: Int, from: Bytes?, to: Bytes?
    ) throws(StorageError) -> ChildRecord? {
        let node = try node(tree, record.page, birth: record.birth, level: level)
        let first = from.map { node.childIndex($0) } ?? 0
        let last = to.map { node.childIndex($0) } ?? node.count - 1
        guard first <= last else { return record }
        // The children on the edges may keep entries; those between are dropped whole.
        let isOne = first == last
        let left = try prune(tree, node.child(first), level: level - 1, from: from, to: isOne ? to : nil)
        for index in first..<last where index > first {
            try drop(tree, node.child(index), level: level - 1)
        }
        let right = isOne ? nil : try prune(tree, node.child(last), level: level - 1, from: nil, to: to)

        let goneStart = left == nil ? first : first + 1
        let goneEnd = right == nil && !(isOne && left != nil) ? last + 1 : max(last, goneStart)
        if goneStart == 0, goneEnd == node.count {
            try pages.free(record.page, birth: record.birth, sectors: nil)
            return nil
        }
        if goneStart == goneEnd, left == node.child(first), isOne || right == node.child(last) { return record }
        let own = try own(tree, record, level: level)
        if let left { own.editor.setChild(first, left) }
        if let right { own.editor.setChild(last, right) }
        if goneStart < goneEnd { removeEntries(tree, of: own.editor, goneStart..<goneEnd, level: level) }
        return ChildRecord(page: own.page, birth: birth, count: own.editor.view.childEntries)
    }
}
