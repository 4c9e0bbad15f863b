// SPDX-License-Identifier: Apache-2.0
// Putting entries: in place if they fit, otherwise by rebuilding the node with another prefix or splitting it, up to
// the root. The transaction has checked that the key has 1 to `maximumKey` bytes, and the value at most `maximumValue`.

import Glibc
import HornbeamPages

extension TreeWriter {
    /// Inserts or replaces.
    func put(_ tree: OpenTreePointer, _ key: Bytes, _ value: Bytes) throws(StorageError) {
        guard !tree.pointee.root.isEmpty else { return try plant(tree, key, value) }
        // Keys that come in order need no descent, even if the caller doesn't know that they do.
        if keepsPath(tree, toLast: true), editor(0).view.isBehindAll(key) { return try putLast(tree, key, value) }
        // Neither do keys that are close together.
        if let (index, found) = keptPlace(tree, key) { return try put(tree, at: index, found, key, value) }
        isFilling = false
        let (index, found) = try descend(tree, key)
        if !found, isRightEdge(tree, level: 0, index: index) {
            try ownPath(tree)
            return try putLast(tree, key, value)
        }
        try put(tree, at: index, found, key, value)
    }

    /// Inserts an entry unless its key is there. Returns false, without copying anything, if it is.
    func insert(_ tree: OpenTreePointer, _ key: Bytes, _ value: Bytes) throws(StorageError) -> Bool {
        guard !tree.pointee.root.isEmpty else {
            try plant(tree, key, value)
            return true
        }
        if keepsPath(tree, toLast: true), editor(0).view.isBehindAll(key) {
            try putLast(tree, key, value)
            return true
        }
        let (index, found) = try descend(tree, key)
        if found { return false }
        if isRightEdge(tree, level: 0, index: index) {
            try ownPath(tree)
            try putLast(tree, key, value)
            return true
        }
        try put(tree, at: index, false, key, value)
        return true
    }

    /// Inserts or replaces an entry whose value is already in a page of its own.
    func put(_ tree: OpenTreePointer, _ key: Bytes, long: LongReference) throws(StorageError) {
        guard !tree.pointee.root.isEmpty else { return try plant(tree, key, refer(tree, to: long)) }
        let (index, found) = try descend(tree, key)
        appendedBytes = 0
        try put(tree, at: index, found, key, refer(tree, to: long))
    }

    /// Puts an entry at the place that `descend` has found. Keeps the path to it.
    @inline(__always)
    private func put(
        _ tree: OpenTreePointer, at index: Int, _ found: Bool, _ key: Bytes, _ value: Bytes
    ) throws(StorageError) {
        let stored = try store(tree, value, keySize: key.count)
        appendedBytes = 0
        try ownPath(tree)
        kept = KeptPath(tree: tree, changes: tree.pointee.changes, isLast: false)
        try put(tree, at: index, found, key, stored)
    }

    /// Puts an entry at the place that `descend` has found.
    @inline(__always)
    private func put(
        _ tree: OpenTreePointer, at index: Int, _ found: Bool, _ key: Bytes, _ stored: CellValue
    ) throws(StorageError) {
        try ownPath(tree)
        if tree.pointee.reductionSize > 0 { markStale(tree) }
        if found {
            try replaceValue(tree, index, key, stored)
        } else {
            addToCounts(tree, 1)
            try insert(tree, level: 0, at: index, key, stored)
        }
    }

    /// Puts the first entry of an empty tree.
    func plant(_ tree: OpenTreePointer, _ key: Bytes, _ value: Bytes) throws(StorageError) {
        try plant(tree, key, store(tree, value, keySize: key.count))
    }

    private func plant(_ tree: OpenTreePointer, _ key: Bytes, _ stored: CellValue) throws(StorageError) {
        let leaf = try newNode(tree, level: 0)
        var list = emptyList(tree, level: 0)
        list.insert(at: 0, key: key, value: stored)
        list.write(0..<1, to: leaf.editor.base, size: leaf.editor.size)
        tree.pointee.root = TreeRoot(page: leaf.page, birth: birth, count: 1, level: 0)
    }

    /// Returns the value in its form for a cell. Writes its page if it needs one.
    @inline(__always)
    func store(_ tree: OpenTreePointer, _ value: Bytes, keySize: Int) throws(StorageError) -> CellValue {
        if NodeLayout.cellHeader &+ keySize &+ value.count <= tree.pointee.inlineLimit(pageSize: pageSize) {
            return CellValue(bytes: value, isLong: false)
        }
        return refer(tree, to: try LongValue.write(value, with: pages))
    }

    /// Returns a long value in its form for a cell.
    private func refer(_ tree: OpenTreePointer, to long: LongReference) -> CellValue {
        long.write(to: memory.reference)
        tree.pointee.longValues &+= 1
        return CellValue(bytes: Bytes(start: memory.reference, count: NodeLayout.referenceSize), isLong: true)
    }

    private func replaceValue(
        _ tree: OpenTreePointer, _ index: Int, _ key: Bytes, _ value: CellValue
    ) throws(StorageError) {
        let leaf = editor(0)
        let old = leaf.view.cell(index)
        let long = old.isLong ? LongReference(old.value) : nil
        let size = value.bytes.count
        if size <= old.valueSize || leaf.fits(keySize: key.count, valueSize: size, freed: old.size) != .no {
            leaf.replace(at: index, value: value, scratch: memory.page)
        } else {
            try rebuild(tree, level: 0, at: index, key, value, replacing: true)
        }
        guard let long else { return }
        try LongValue.free(long, with: pages)
        tree.pointee.longValues &-= 1
    }

    /// Inserts an entry in the path's node of that level, before `index`.
    @inline(__always)
    func insert(
        _ tree: OpenTreePointer, level: Int, at index: Int, _ key: Bytes, _ value: CellValue
    ) throws(StorageError) {
        let node = editor(level)
        if node.sharesPrefix(key), node.fits(keySize: key.count, valueSize: value.bytes.count) == .asIs {
            node.insert(at: index, key: key, value: value)
        } else {
            try insertSlowly(tree, level: level, at: index, key, value)
        }
    }

    private func insertSlowly(
        _ tree: OpenTreePointer, level: Int, at index: Int, _ key: Bytes, _ value: CellValue
    ) throws(StorageError) {
        let node = editor(level)
        if node.sharesPrefix(key), node.fits(keySize: key.count, valueSize: value.bytes.count) == .compacted {
            node.compact(scratch: memory.page)
            let value = CellValue(bytes: node.inCopy(value.bytes, memory.page), isLong: value.isLong)
            node.insert(at: index, key: node.inCopy(key, memory.page), value: value)
        } else {
            try rebuild(tree, level: level, at: index, key, value, replacing: false)
        }
    }

    /// Rewrites the node with the entry in it, as one node or two.
    private func rebuild(
        _ tree: OpenTreePointer, level: Int, at index: Int, _ key: Bytes, _ value: CellValue, replacing: Bool
    ) throws(StorageError) {
        let node = editor(level)
        memory.page.copyMemory(from: node.base, byteCount: node.size)
        let copy = NodeView(UnsafeRawPointer(memory.page), size: node.size)
        let value = CellValue(bytes: node.inCopy(value.bytes, memory.page), isLong: value.isLong)
        var list = emptyList(tree, level: level)
        list.append(copy, 0..<copy.count)
        if replacing {
            list.setValue(at: index, value)
        } else {
            list.insert(at: index, key: node.inCopy(key, memory.page), value: value)
        }
        if list.nodeSize(0..<list.count) <= node.capacity {
            return list.write(0..<list.count, to: node.base, size: node.size)
        }
        // Ascending keys fill nodes completely: the new entry starts the next one.
        let isAscending = !replacing && isRightEdge(tree, level: level, index: index)
        let isFull =
            isAscending
            || (isFilling && !replacing && level == 0 && index > 0
                && list.nodeSize(index..<list.count) <= node.capacity)
        guard let cut = isFull ? index : list.splitIndex(capacity: node.capacity) else {
            throw .corrupt(Corruption(page: path[level].page, reason: "the entries of a node do not fit in two"))
        }
        try split(tree, level: level, list, at: cut)
    }

    /// Moves the entries of the list from `cut` on to a new node. The path's node gets the entries before `cut` or,
    /// with `keepsLeft`, keeps its own, which must end with them.
    func split(
        _ tree: OpenTreePointer, level: Int, _ list: EntryList, at cut: Int, keepsLeft: Bool = false
    ) throws(StorageError) {
        kept = nil
        let right = try newNode(tree, level: level)
        guard list.nodeSize(cut..<list.count) <= right.editor.capacity else {
            throw .corrupt(Corruption(page: path[level].page, reason: "the entries of a node do not fit in two"))
        }
        let separator = memory.separators + (level & 1) * NodeLayout.longestKey
        let key = Bytes(start: separator, count: list.separator(at: cut, to: separator))
        if level < tree.pointee.root.level {
            let place = path[level + 1].index
            try checkSeparator(key, in: editor(level + 1).view, after: place, before: place + 1)
        }
        let left = editor(level)
        if !keepsLeft { list.write(0..<cut, to: left.base, size: left.size) }
        list.write(cut..<list.count, to: right.editor.base, size: right.editor.size)
        let leftRecord = ChildRecord(page: path[level].page, birth: birth, count: entries(left.view, level))
        let rightRecord = ChildRecord(page: right.page, birth: birth, count: entries(right.editor.view, level))
        if level == tree.pointee.root.level {
            return try raiseRoot(tree, leftRecord, key, rightRecord)
        }
        let index = path[level + 1].index
        editor(level + 1).setChild(index, leftRecord)
        try insert(tree, level: level + 1, at: index + 1, key, childValue(tree, rightRecord))
    }

    /// Puts a new root above the two halves of the old one.
    private func raiseRoot(
        _ tree: OpenTreePointer, _ left: ChildRecord, _ separator: Bytes, _ right: ChildRecord
    ) throws(StorageError) {
        let level = tree.pointee.root.level + 1
        guard level < NodeLayout.maximumLevels else {
            throw .tooLarge(what: "tree height", size: level + 1, limit: NodeLayout.maximumLevels)
        }
        let root = try newNode(tree, level: level)
        var list = emptyList(tree, level: level)
        list.insert(at: 0, key: separator, value: childValue(tree, left))
        list.insert(at: 1, key: separator, value: childValue(tree, right, place: 1))
        list.write(0..<2, to: root.editor.base, size: pageSize)
        tree.pointee.root.page = root.page
        tree.pointee.root.birth = birth
        tree.pointee.root.level = level
    }

    /// Returns a child record in its form for a cell, with a stale reduced value.
    func childValue(_ tree: OpenTreePointer, _ record: ChildRecord, place: Int = 0) -> CellValue {
        let reductionSize = tree.pointee.reductionSize
        let size = NodeLayout.childSize + reductionSize
        let bytes = memory.reference + place * size
        record.write(to: bytes, isStale: reductionSize > 0)
        memset(bytes + NodeLayout.childSize, 0, reductionSize)
        return CellValue(bytes: Bytes(start: bytes, count: size), isLong: false)
    }

    /// Number of entries below a node of that level.
    func entries(_ node: NodeView, _ level: Int) -> UInt64 {
        level == 0 ? UInt64(node.count) : node.childEntries
    }

    /// Whether an entry inserted before `index` of the path's node at that level would be the tree's last.
    func isRightEdge(_ tree: OpenTreePointer, level: Int, index: Int) -> Bool {
        guard index == editor(level).view.count else { return false }
        var above = level + 1
        while above <= tree.pointee.root.level {
            guard path[above].index == editor(above).view.count - 1 else { return false }
            above += 1
        }
        return true
    }
}
