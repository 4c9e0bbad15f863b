// SPDX-License-Identifier: Apache-2.0
// The common parts of all changes of trees: the path from the root to a leaf, copy-on-write along it, and memory for
// rebuilding nodes. One write transaction uses it at a time. An error in the middle of a change may leave a tree half
// changed; the transaction must then be aborted.

import Glibc
import HornbeamPages

/// One node of the path to a leaf.
struct PathStep {
    var page: UInt64
    var birth: UInt64
    var base: UnsafeRawPointer
    /// The child taken; in a leaf the entry.
    var index: Int
}

/// Memory for changing trees. Allocated once for a store and used by its one write transaction at a time.
final class WriterMemory: @unchecked Sendable {
    // Sendable: the holder of the store's write transaction has exclusive access.
    let pageSize: Int
    let path: UnsafeMutablePointer<PathStep>
    /// A copy of a node before it is rewritten, or a new node before it goes to its page.
    let page: UnsafeMutableRawPointer
    /// The second of two nodes whose entries are divided again.
    let secondPage: UnsafeMutableRawPointer
    let entries: UnsafeMutablePointer<EntryReference>
    /// Memory for two separators, used in turn: one is inserted while the next moves up. Each has the longest key's
    /// size.
    let separators: UnsafeMutableRawPointer
    /// Two child records, or a long value's reference, before they go into cells.
    let reference: UnsafeMutableRawPointer
    let redo = RedoLog()
    /// The store's record of removed entries.
    let removed: RemovedEntries

    /// All of this memory. The system provides it zeroed when it is first used, and gets it back at once when this
    /// object goes. (Free space in a rebuilt node keeps bytes from here, which are always page content of this store.)
    private let memory: Mapping

    init(pageSize: Int, removed: RemovedEntries = RemovedEntries()) throws(StorageError) {
        self.pageSize = pageSize
        self.removed = removed
        // Leaves of compressed trees have sizes of their own.
        let largest = FileFormat.maximumPageSize
        let capacity = EntryList.capacity(pageSize: largest)
        let entriesSize = capacity * MemoryLayout<EntryReference>.stride
        let pathSize = NodeLayout.maximumLevels * MemoryLayout<PathStep>.stride
        let separatorsSize = 2 * NodeLayout.longestKey
        let referenceSize = 2 * (NodeLayout.childSize + NodeLayout.maximumReduction)
        let size = 2 * largest + separatorsSize + referenceSize + pathSize + entriesSize
        memory = try Mapping(descriptor: -1, wanted: size, minimum: size, path: "memory for a write transaction")
        page = memory.base
        secondPage = page + largest
        reference = secondPage + largest
        separators = reference + referenceSize
        path = (separators + separatorsSize).bindMemory(to: PathStep.self, capacity: NodeLayout.maximumLevels)
        entries = (separators + separatorsSize + pathSize).bindMemory(to: EntryReference.self, capacity: capacity)
    }
}

/// Changes trees through a page writer.
final class TreeWriter {
    let pages: PageWriter
    let view: PageView
    let memory: WriterMemory
    /// The redo log of `memory`.
    let redo: RedoLog
    let path: UnsafeMutablePointer<PathStep>
    /// The birth of the pages it makes. Pages of this birth may be changed in place.
    @exclusivity(unchecked) private(set) var birth: UInt64
    let pageSize: Int
    /// The tree whose leaf the path leads to. All nodes of the path belong to this transaction.
    @exclusivity(unchecked) var kept: KeptPath?
    /// Whether entries are being put in key order, the last of them at the path's place. If so, a full leaf is followed
    /// by a new one that begins with the next entry.
    @exclusivity(unchecked) var isFilling = false
    /// Bytes of leaves that were filled in order since another kind of put, or since pages were written.
    @exclusivity(unchecked) var appendedBytes = 0
    /// Number of these bytes that are written at once. Leaves that were filled in order are finished. They go to the
    /// medium while the next ones are filled, and these find their memory in the processor's caches. (A sorted load
    /// takes a fifth less time; a transaction of a megabyte, which waits for all of it at its end, a third less.) Each
    /// piece costs a call that starts writing it back, so the pieces of a larger transaction are larger. (In memory
    /// there is nothing to write.)
    @exclusivity(unchecked) private(set) var appendedBound: Int

    init(pages: PageWriter, memory: WriterMemory) {
        self.pages = pages
        self.memory = memory
        redo = memory.redo
        view = pages.view
        path = memory.path
        birth = pages.birth
        pageSize = pages.view.pageSize
        appendedBound = pages.arePagesPlaced ? .max : 512 << 10
    }

    /// Notes that the appended pages are written.
    func endAppended() {
        if appendedBytes >= appendedBound { appendedBound = min(2 * appendedBound, 4 << 20) }
        appendedBytes = 0
    }

    /// The path's node at a level. Call `ownPath` before.
    @inline(__always)
    func editor(_ level: Int) -> NodeEditor {
        let base = UnsafeMutableRawPointer(mutating: path[level].base)
        return level == 0 ? NodeEditor(leaf: base) : NodeEditor(base, size: pageSize)
    }

    func emptyList(_ tree: OpenTreePointer, level: Int) -> EntryList {
        EntryList(
            storage: memory.entries, capacity: EntryList.capacity(pageSize: FileFormat.maximumPageSize),
            isBranch: level > 0, stamp: tree.pointee.stamp(level: level))
    }

    /// Returns a verified node of the tree. Throws for another tree's nodes, because writing uses this tree's sizes.
    @inline(__always)
    func node(
        _ tree: OpenTreePointer, _ page: UInt64, birth: UInt64, level: Int
    ) throws(StorageError) -> NodeView {
        let node = try view.node(page, birth: birth, level: level)
        if node.stamp != tree.pointee.stamp(level: level) { throw view.foreign(page, node) }
        return node
    }

    /// Returns a node of the tree that may be changed in place: in its frame, which may have to be restored.
    private func ownNode(_ tree: OpenTreePointer, _ page: UInt64, level: Int) throws(StorageError) -> NodeView {
        let bytes = try pages.ownPage(
            page, birth: birth, kind: level == 0 ? .leaf : .branch, level: UInt8(truncatingIfNeeded: level))
        let node = NodeView(UnsafeRawPointer(bytes), size: pageSize)
        if node.stamp != tree.pointee.stamp(level: level) { throw view.foreign(page, node) }
        return node
    }

    /// Returns a node of the path.
    @inline(__always)
    private func pathNode(
        _ tree: OpenTreePointer, _ page: UInt64, birth: UInt64, level: Int
    ) throws(StorageError) -> NodeView {
        birth == self.birth && (level > 0 || !tree.pointee.isCompressed)
            ? try ownNode(tree, page, level: level) : try node(tree, page, birth: birth, level: level)
    }

    /// Notes that the path no longer leads to pages of this transaction: they were spilled or rolled back, or belong to
    /// a savepoint now.
    func forgetPath() {
        birth = pages.birth
        kept = nil
    }

    /// Fills the path from the root to the leaf of `key`: nodes of its own birth from their frames, others from where
    /// they can be read. The tree must not be empty. Copies nothing.
    @inline(__always)
    func descend(_ tree: OpenTreePointer, _ key: Bytes) throws(StorageError) -> (index: Int, found: Bool) {
        kept = nil
        let root = tree.pointee.root
        var page = root.page
        var birth = root.birth
        var level = root.level
        while level > 0 {
            let node = try pathNode(tree, page, birth: birth, level: level)
            let index = node.childIndex(key)
            path[level] = PathStep(page: page, birth: birth, base: node.base, index: index)
            let child = node.child(index)
            page = child.page
            birth = child.birth
            level &-= 1
            view.prefetchNode(page)
        }
        let leaf = try pathNode(tree, page, birth: birth, level: 0)
        let (index, found) = leaf.find(key)
        path[0] = PathStep(page: page, birth: birth, base: leaf.base, index: index)
        return (index, found)
    }

    /// Makes every node of the path a page of this transaction, from the root down.
    @inline(__always)
    func ownPath(_ tree: OpenTreePointer) throws(StorageError) {
        var level = tree.pointee.root.level
        while level >= 0 {
            if !isOwn(tree, path[level].page, path[level].birth, level) { try ownStep(tree, level) }
            level &-= 1
        }
    }

    /// Whether a node may be changed in place. A compressed tree's leaf may, but only while it has no place.
    @inline(__always)
    private func isOwn(_ tree: OpenTreePointer, _ page: UInt64, _ birth: UInt64, _ level: Int) -> Bool {
        birth == self.birth && (level > 0 || !tree.pointee.isCompressed || PagePointer.isUnplaced(page))
    }

    private func ownStep(_ tree: OpenTreePointer, _ level: Int) throws(StorageError) {
        let step = path[level]
        let copy =
            level == 0 && tree.pointee.isCompressed
            ? try own(tree, ChildRecord(page: step.page, birth: step.birth, count: 0), level: level)
            : try copy(step.base, of: step.page, birth: step.birth, level: level)
        path[level].page = copy.page
        path[level].birth = birth
        path[level].base = UnsafeRawPointer(copy.editor.base)
        if level == tree.pointee.root.level {
            tree.pointee.root.page = copy.page
            tree.pointee.root.birth = birth
        } else {
            let parent = editor(level + 1)
            let index = path[level + 1].index
            parent.setChild(
                index, ChildRecord(page: copy.page, birth: birth, count: parent.view.child(index).count))
        }
    }

    /// Returns the node as a page that may be changed in place, as a copy if it isn't one yet. No other node may be
    /// written to: a node that was only read can be in the file's mapping.
    func own(
        _ tree: OpenTreePointer, _ node: ChildRecord, level: Int
    ) throws(StorageError) -> (page: UInt64, editor: NodeEditor) {
        if level == 0, tree.pointee.isCompressed {
            let leaf = try self.node(tree, node.page, birth: node.birth, level: 0)
            if isOwn(tree, node.page, node.birth, 0) {
                return (node.page, NodeEditor(UnsafeMutableRawPointer(mutating: leaf.base), size: leaf.size))
            }
            tree.pointee.hasUnplacedLeaves = true
            let copy = try pages.copyLeaf(node.page, birth: node.birth, unused: leaf.freeBytes)
            return (copy.number, NodeEditor(leaf: copy.bytes))
        }
        if node.birth == birth {
            let own = try ownNode(tree, node.page, level: level)
            return (node.page, NodeEditor(UnsafeMutableRawPointer(mutating: own.base), size: pageSize))
        }
        let source = try self.node(tree, node.page, birth: node.birth, level: level)
        return try copy(source.base, of: node.page, birth: node.birth, level: level)
    }

    /// Returns a raw node, found at `source`, as a page of this transaction.
    private func copy(
        _ source: UnsafeRawPointer, of page: UInt64, birth: UInt64, level: Int
    ) throws(StorageError) -> (page: UInt64, editor: NodeEditor) {
        let copy = try pages.copy(
            source, of: page, birth: birth, kind: level == 0 ? .leaf : .branch,
            level: UInt8(truncatingIfNeeded: level), unused: NodeView(source, size: pageSize).freeBytes)
        return (copy.number, NodeEditor(copy.bytes, size: pageSize))
    }

    func newNode(
        _ tree: OpenTreePointer, level: Int
    ) throws(StorageError) -> (page: UInt64, editor: NodeEditor) {
        if level == 0, tree.pointee.isCompressed {
            tree.pointee.hasUnplacedLeaves = true
            let leaf = try pages.allocateLeaf()
            return (leaf.number, NodeEditor(leaf: leaf.bytes))
        }
        let page = try pages.allocate(
            kind: level == 0 ? .leaf : .branch, level: UInt8(truncatingIfNeeded: level), sectors: nil)
        return (page.number, NodeEditor(page.bytes, size: pageSize))
    }

    /// Replaces the content of a node with the list. The list may point into that node.
    func rewrite(_ node: NodeEditor, with list: EntryList) {
        list.write(0..<list.count, to: memory.page, size: node.size)
        let header = PageLayout.headerSize
        (node.base + header).copyMemory(from: memory.page + header, byteCount: node.size - header)
    }

    /// Frees the value's page if the cell refers to one.
    func freeLongValue(_ tree: OpenTreePointer, _ cell: CellView) throws(StorageError) {
        guard cell.isLong else { return }
        try LongValue.free(LongReference(cell.value), with: pages)
        tree.pointee.longValues &-= 1
    }

    /// Adds to the counts along the path above the leaf, and to the tree's count.
    @inline(__always)
    func addToCounts(_ tree: OpenTreePointer, _ difference: Int64) {
        var level = tree.pointee.root.level
        while level > 0 {
            editor(level).addToChild(path[level].index, difference)
            level &-= 1
        }
        tree.pointee.root.count &+= UInt64(bitPattern: difference)
    }
}
