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
        return try pages.placeLeaf(leaf, by: memory.page) { node.divide(into: memory.page, former: $0) }
    }
}

extension NodeEditor {
    /// Writes a leaf to `page`, memory of its size, without dead bytes and divided into blocks. The first blocks are
    /// those that the leaf has unchanged from its former version; their bytes are left undefined. The other cells
    /// follow in the order of their keys, from the end to the start. So a change costs the blocks of the former
    /// entries that it removes or replaces, and the last one or two, to which it adds.
    func divide(into page: UnsafeMutableRawPointer, former: FormerLeaf? = nil) -> LeafParts {
        let view = view
        let slots = NodeLayout.heads + NodeLayout.headSize * view.count
        let tailSize = view.prefixSize + view.stamp.reserve
        let end = size - tailSize
        var parts = LeafParts(headEnd: slots + NodeLayout.slotSize * view.count, tailSize: tailSize, blocks: [])
        parts.blocks.reserveCapacity(16)
        page.copyMemory(from: base, byteCount: slots)
        (page + end).copyMemory(from: base + end, byteCount: tailSize)
        page.write16(view.heapSize - view.deadSize, NodeLayout.heapSize)
        page.write16(0, NodeLayout.deadSize)
        var place = size - view.heapSize + view.deadSize
        var kept = KeptBlocks()
        if let former { kept.find(former, in: view, cellBytes: end - place) }
        kept.move(to: &place, &parts)
        var block = 0
        for index in (0..<view.count).reversed() {
            let slot = view.slot(index)
            let slotPlace = slots + NodeLayout.slotSize * index
            if let moved = kept.newPlace(of: slot) {
                page.write16(moved, slotPlace)
                continue
            }
            let cell = view.cell(index).size
            let most = parts.blocks.isEmpty ? LeafParts.dictionarySize : LeafParts.blockSize
            if block + cell > most, block >= most / 2 {
                parts.blocks.append(block)
                block = 0
            }
            (page + place).copyMemory(from: base + slot, byteCount: cell)
            page.write16(place, slotPlace)
            block += cell
            place += cell
        }
        if block > 0 { parts.blocks.append(block) }
        return parts
    }
}

/// The blocks of a leaf's former version, and which of them the leaf has unchanged.
private struct KeptBlocks {
    /// The offsets at which the former blocks begin, in ascending order, and the end of the last one.
    private var starts = InlineArray<65, Int>(repeating: 0)
    private var count = 0
    /// Of each former block: first the bytes of the leaf's cells that lie within it, then how far they move.
    private var figures = InlineArray<64, Int>(repeating: 0)
    private var bits: UInt64 = 0
    /// The block that was looked up last: most neighbours are in the same one.
    private var last = 0

    /// Finds the blocks to be kept in a leaf whose cells have `cellBytes`.
    mutating func find(_ former: FormerLeaf, in leaf: NodeView, cellBytes: Int) {
        guard former.raw.count == leaf.size, former.blockCount < starts.count else { return }
        for index in 0..<former.blockCount {
            guard let range = former.range(of: index), index == 0 || range.lowerBound == starts[index] else { return }
            starts[index] = range.lowerBound
            starts[index + 1] = range.upperBound
        }
        count = former.blockCount
        for index in 0..<leaf.count {
            let slot = leaf.slot(index)
            let size = leaf.cell(index).size
            // In a rewritten leaf a cell may begin in one former block and end in the next.
            if let block = block(of: slot), slot + size <= starts[block + 1] { figures[block] += size }
        }
        // The others need the dictionary.
        guard isWhole(0, former, leaf), size(0) >= LeafParts.dictionarySize / 2 || size(0) == cellBytes else { return }
        var changed = cellBytes
        for index in 0..<count where isWhole(index, former, leaf) {
            bits |= 1 << UInt64(index)
            changed -= size(index)
        }
        // Changed cells fill up a small block at the end, so that there aren't more and more of them.
        while changed > 0, bits > 1 {
            let index = 63 - bits.leadingZeroBitCount
            guard size(index) < LeafParts.blockSize / 2 else { return }
            bits &= ~(1 << UInt64(index))
            changed += size(index)
        }
    }

    private func size(_ block: Int) -> Int { starts[block + 1] - starts[block] }

    /// Whether the leaf's cells fill the block, and have the same bytes.
    private func isWhole(_ block: Int, _ former: FormerLeaf, _ leaf: NodeView) -> Bool {
        let range = starts[block]..<starts[block + 1]
        guard figures[block] == range.count else { return false }
        let now = Bytes(start: leaf.base + range.lowerBound, count: range.count)
        return Bytes(rebasing: former.raw[range]).order(now) == 0
    }

    /// Puts the kept blocks side by side from `place` on.
    mutating func move(to place: inout Int, _ parts: inout LeafParts) {
        parts.kept = bits
        for index in 0..<count where bits >> UInt64(index) & 1 != 0 {
            figures[index] = place - starts[index]
            parts.blocks.append(size(index))
            place += size(index)
        }
    }

    /// Returns the new offset of a cell in a kept block, or nil.
    mutating func newPlace(of slot: Int) -> Int? {
        guard let block = block(of: slot), bits >> UInt64(block) & 1 != 0 else { return nil }
        return slot + figures[block]
    }

    private mutating func block(of slot: Int) -> Int? {
        guard count > 0, slot >= starts[0], slot < starts[count] else { return nil }
        while slot < starts[last] { last -= 1 }
        while slot >= starts[last + 1] { last += 1 }
        return last
    }
}
