// SPDX-License-Identifier: Apache-2.0
// Removes entries, one at a time or many adjacent ones in a leaf, and keeps trees from thinning out. A node that uses
// less than a quarter is joined with a sibling if the two then fill at most three quarters, so that a join is never
// soon followed by a split. Otherwise it takes over entries from a sibling, so that both use more than a quarter.

import HornbeamPages

extension TreeWriter {
    /// Removes the entry. Returns false, without copying anything, if there is none.
    func delete(_ tree: OpenTreePointer, _ key: Bytes) throws(StorageError) -> Bool {
        guard let index = try place(tree, of: key) else { return false }
        try remove(tree, index..<index + 1)
        return true
    }

    /// Returns the index of a key's entry in its leaf, to which the path leads then. Returns nil if there is none.
    func place(_ tree: OpenTreePointer, of key: Bytes) throws(StorageError) -> Int? {
        guard !tree.pointee.root.isEmpty else { return nil }
        // Keys that are close together need no descent.
        if let (index, found) = keptPlace(tree, key) {
            // If there is no entry to be changed, the path stays valid.
            if !found { kept?.changes = tree.pointee.changes }
            return found ? index : nil
        }
        let (index, found) = try descend(tree, key)
        return found ? index : nil
    }

    /// Removes entries of the leaf at the path's end.
    func remove(_ tree: OpenTreePointer, _ range: Range<Int>) throws(StorageError) {
        appendedBytes = 0
        try ownPath(tree)
        if tree.pointee.reductionSize > 0 { markStale(tree) }
        let leaf = editor(0)
        if tree.pointee.longValues > 0 {
            for index in range { try freeLongValue(tree, leaf.view.cell(index)) }
        }
        leaf.remove(range)
        addToCounts(tree, -Int64(range.count))
        if isPathTidy(tree) {
            kept = KeptPath(tree: tree, changes: tree.pointee.changes, isLast: false)
        } else {
            kept = nil
            try tidyPath(tree)
        }
    }

    /// Whether no node of the path below the root is thin, and the leaf isn't empty, so that nothing needs tidying.
    private func isPathTidy(_ tree: OpenTreePointer) -> Bool {
        var level = 0
        while level < tree.pointee.root.level {
            if isThin(editor(level).view) { return false }
            level &+= 1
        }
        return editor(0).view.count > 0
    }

    /// Tidies the path, from the leaf up, after an entry of the leaf was removed.
    private func tidyPath(_ tree: OpenTreePointer) throws(StorageError) {
        var level = 0
        while level < tree.pointee.root.level {
            let node = editor(level)
            let parent = editor(level + 1)
            let index = path[level + 1].index
            if node.view.count == 0 {
                try pages.free(path[level].page, birth: birth, sectors: nil)
                removeEntries(tree, of: parent, index..<index + 1, level: level + 1)
            } else if try !joinIfThin(tree, parent, index, level: level), !isThin(parent.view) {
                return
            }
            level += 1
        }
        try lowerRoot(tree)
    }

    /// Removes roots that aren't needed: an empty one, and branches with one child.
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

    /// Joins a branch's child with a sibling if it has become thin, or fills it up from one. Returns whether the branch
    /// lost an entry by that. `parent` must be a page of this transaction; `level` is the child's.
    func joinIfThin(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, level: Int
    ) throws(StorageError) -> Bool {
        let record = parent.view.child(index)
        let child = try node(tree, record.page, birth: record.birth, level: level)
        guard isThin(child) else { return false }
        let hasNext = index + 1 < parent.view.count
        if hasNext, try join(tree, parent, index, level: level) { return true }
        if index > 0, try join(tree, parent, index - 1, level: level) { return true }
        if hasNext, try shareOut(tree, parent, index, level: level) { return false }
        if index > 0 { _ = try shareOut(tree, parent, index - 1, level: level) }
        return false
    }

    /// Whether a node uses less than a quarter of its capacity.
    func isThin(_ node: NodeView) -> Bool { node.usedSize < NodeLayout.capacity(pageSize: node.size) / 4 }

    /// The entries of a branch's children at `index` and after it, from copies, because the children may be rewritten.
    /// Throws for children that contradict the separator between them: a node was checked alone when it was read, and
    /// every use of the list depends on its order.
    private func entries(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, level: Int
    ) throws(StorageError) -> EntryList? {
        var list = emptyList(tree, level: level)
        for (place, copy) in [memory.page, memory.secondPage].enumerated() {
            let record = parent.view.child(index + place)
            let source = try node(tree, record.page, birth: record.birth, level: level)
            copy.copyMemory(from: source.base, byteCount: source.size)
            let node = NodeView(UnsafeRawPointer(copy), size: source.size)
            guard list.hasRoom(for: node.count) else { return nil }
            let first = list.count
            list.append(node, 0..<node.count)
            guard place == 1 else { continue }
            let separator = EntryReference(parent.view, index + 1, hasPrefix: true)
            // The first entry of the second node stood for minus infinity. It gets the separator as its key.
            if level > 0 { list.setKey(at: first, of: separator) }
            let isBehind = level == 0 || first + 1 == list.count || separator.precedes(list[first + 1])
            guard first == 0 || list[first - 1].precedes(separator), isBehind, !list[first].precedes(separator) else {
                throw .corrupt(Corruption(page: record.page, reason: "its keys are not between the keys of its parent"))
            }
        }
        return list
    }

    /// The smaller capacity of a branch's children at `index` and after it.
    private func smallerCapacity(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, level: Int
    ) throws(StorageError) -> Int {
        let left = parent.view.child(index)
        let right = parent.view.child(index + 1)
        let leftSize = try node(tree, left.page, birth: left.birth, level: level).size
        return NodeLayout.capacity(
            pageSize: min(leftSize, try node(tree, right.page, birth: right.birth, level: level).size))
    }

    /// Divides the entries of a branch's children at `index` and after it between them again. The entries before the
    /// index that `cut` returns, given all of them and a child's capacity, go to the first. Without `cut` each gets
    /// about half. Returns false, without any change, if `cut` returns nil or the branch has no room for the new
    /// separator.
    func shareOut(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, level: Int,
        cut: (EntryList, Int) -> Int? = { $0.splitIndex(capacity: $1) }
    ) throws(StorageError) -> Bool {
        let capacity = try smallerCapacity(tree, parent, index, level: level)
        guard let list = try entries(tree, parent, index, level: level), let cut = cut(list, capacity)
        else { return false }
        let separator = memory.separators + (level & 1) * NodeLayout.longestKey
        let key = Bytes(start: separator, count: list.separator(at: cut, to: separator))
        try checkSeparator(key, in: parent.view, after: index, before: index + 2)
        guard canTake(parent, key, valueSize: NodeLayout.childSize + tree.pointee.reductionSize, insteadOf: index + 1)
        else { return false }

        let left = try own(tree, parent.view.child(index), level: level)
        let right = try own(tree, parent.view.child(index + 1), level: level)
        list.write(0..<cut, to: left.editor.base, size: left.editor.size)
        list.write(cut..<list.count, to: right.editor.base, size: right.editor.size)
        let leftCount = entries(left.editor.view, level)
        parent.setChild(index, ChildRecord(page: left.page, birth: birth, count: leftCount))
        let record = ChildRecord(page: right.page, birth: birth, count: entries(right.editor.view, level))
        replaceChild(tree, parent, index + 1, key, childValue(tree, record), level: level + 1)
        return true
    }

    /// Throws for a separator that would put a branch's entries out of order, after the one at `index` and before the
    /// one at `end`. Only a child whose keys contradict its parent causes that.
    func checkSeparator(_ key: Bytes, in branch: NodeView, after index: Int, before end: Int) throws(StorageError) {
        guard let start = key.baseAddress else { return }
        let new = EntryReference(key: start, size: key.count, value: CellValue(bytes: key, isLong: false))
        // The first entry stands for minus infinity.
        let isBehind = index == 0 || EntryReference(branch, index, hasPrefix: true).precedes(new)
        guard isBehind, end >= branch.count || new.precedes(EntryReference(branch, end, hasPrefix: true)) else {
            throw .corrupt(
                Corruption(
                    page: branch.child(index).page, reason: "keys below it are not between the keys of its parent"))
        }
    }

    /// Whether a branch has room for a child under another separator, possibly without its prefix.
    private func canTake(_ branch: NodeEditor, _ key: Bytes, valueSize: Int, insteadOf index: Int) -> Bool {
        let view = branch.view
        if branch.sharesPrefix(key) {
            return branch.fits(keySize: key.count, valueSize: valueSize, freed: view.cell(index).size) != .no
        }
        return view.usedSize + view.count * view.prefixSize + key.count <= branch.capacity
    }

    /// Puts another separator and child at a branch's `index`, which must not be the first. `canTake` must have been
    /// asked.
    private func replaceChild(
        _ tree: OpenTreePointer, _ branch: NodeEditor, _ index: Int, _ key: Bytes, _ value: CellValue, level: Int
    ) {
        if branch.sharesPrefix(key) {
            branch.remove(at: index)
            if branch.fits(keySize: key.count, valueSize: value.bytes.count) != .asIs {
                branch.compact(scratch: memory.page)
            }
            return branch.insert(at: index, key: key, value: value)
        }
        memory.page.copyMemory(from: branch.base, byteCount: branch.size)
        let copy = NodeView(UnsafeRawPointer(memory.page), size: branch.size)
        var list = emptyList(tree, level: level)
        list.append(copy, 0..<index)
        list.append(copy, index + 1..<copy.count)
        list.insert(at: index, key: key, value: value)
        list.write(0..<list.count, to: branch.base, size: branch.size)
    }

    /// Joins a branch's children at `index` and after it, if they fit well in one node. `fill`: how much of it they may
    /// fill, in sixteenths.
    func join(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, level: Int, fill: Int = 12
    ) throws(StorageError) -> Bool {
        let leftRecord = parent.view.child(index)
        let rightRecord = parent.view.child(index + 1)
        let left = try node(tree, leftRecord.page, birth: leftRecord.birth, level: level)
        let right = try node(tree, rightRecord.page, birth: rightRecord.birth, level: level)
        // A cheap bound that is never wrong: joining saves at most the prefixes and a reserve.
        let least =
            left.usedSize - left.prefixSize + right.usedSize - right.prefixSize - right.stamp.reserve
        let capacity = NodeLayout.capacity(pageSize: min(left.size, right.size))
        guard least <= capacity * fill / 16 else { return false }
        guard let list = try entries(tree, parent, index, level: level),
            list.nodeSize(0..<list.count) <= capacity * fill / 16
        else { return false }

        let keepsRight = rightRecord.birth == birth && leftRecord.birth != birth
        let kept = keepsRight ? rightRecord : leftRecord
        let gone = keepsRight ? leftRecord : rightRecord
        let node = try own(tree, kept, level: level)
        list.write(0..<list.count, to: node.editor.base, size: node.editor.size)
        try pages.free(gone.page, birth: gone.birth, sectors: nil)
        let count = leftRecord.count &+ rightRecord.count
        parent.setChild(index, ChildRecord(page: node.page, birth: birth, count: count))
        parent.remove(at: index + 1)
        return true
    }

    /// Removes a range of entries from a node of this transaction.
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
