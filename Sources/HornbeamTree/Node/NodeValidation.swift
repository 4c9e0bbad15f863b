// SPDX-License-Identifier: Apache-2.0
// Tests whether a page's bytes are a node that every reader and editor may trust. Called once for each page before any
// other code reads its content. It must cope with any bytes: no offset is used before it is checked.

import Glibc
package import HornbeamPages

package enum NodeValidation {
    /// Returns the fault of `page`, or nil if it is a well-formed node of that kind. Checks the page alone; `check`
    /// tests whether it fits its parent and siblings.
    package static func problem(_ page: Bytes, kind: PageKind) -> String? {
        guard let base = page.baseAddress, page.count >= 4096, page.count <= 65536 else {
            return "a node of \(page.count) bytes"
        }
        return NodeExamination(node: NodeView(base, size: page.count), isBranch: kind == .branch).problem()
    }
}

/// The node's sizes are kept, because the compiler can't know that a second look at the page finds the same bytes.
private struct NodeExamination {
    private let node: NodeView
    private let isBranch: Bool
    private let count: Int
    private let prefixSize: Int
    private let heads: UnsafeRawPointer
    private let slots: UnsafeRawPointer
    /// The bounds of all cells.
    private let heapStart: Int
    private let heapEnd: Int
    /// The node's birth. No page is older than the pages it refers to, because a page is never written without its
    /// ancestors.
    private let birth: UInt64

    init(node: NodeView, isBranch: Bool) {
        self.node = node
        self.isBranch = isBranch
        count = node.count
        prefixSize = node.prefixSize
        heads = node.base + NodeLayout.heads
        slots = heads + NodeLayout.headSize * count
        heapStart = node.size - node.heapSize
        heapEnd = node.size - prefixSize - node.stamp.reserve
        birth = node.base.read64(PageLayout.birth)
    }

    @inline(__always)
    private func slot(_ index: Int) -> Int { slots.read16(NodeLayout.slotSize &* index) }

    func problem() -> String? {
        if let problem = sizesProblem() { return problem }
        var cells = 0
        for index in 0..<count {
            let slot = slot(index)
            guard slot >= heapStart, slot + NodeLayout.cellHeader <= heapEnd else {
                return "entry \(index) lies outside the heap"
            }
            let cell = CellView(node.base + slot)
            let size = cell.size
            guard slot + size <= heapEnd else { return "entry \(index) reaches beyond the heap" }
            if let problem = cellProblem(index, cell) { return problem }
            cells += size
        }
        guard cells + node.deadSize == heapEnd - heapStart else {
            return "the heap's parts do not add up to its size"
        }
        if cellsOverlap() { return "two entries share bytes of the heap" }
        return orderProblem()
    }

    /// Whether a byte of the heap belongs to two cells: an editor that changes one would overwrite the other's sizes.
    /// Uses one bit for each byte of the page. The cells must be known to be inside it.
    private func cellsOverlap() -> Bool {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: node.size / 64) { taken in
            taken.initialize(repeating: 0)
            for index in 0..<count {
                var byte = slot(index)
                let end = byte + CellView(node.base + byte).size
                while byte < end {
                    let low = byte & 63
                    let part = min(64 &- low, end &- byte)
                    let mask = (UInt64.max &>> UInt64(64 &- part)) &<< UInt64(low)
                    let word = taken[byte &>> 6]
                    if word & mask != 0 { return true }
                    taken[byte &>> 6] = word | mask
                    byte &+= part
                }
            }
            return false
        }
    }

    private func sizesProblem() -> String? {
        guard count > 0 else { return "a node without entries" }
        guard node.stamp.isPlausible, isBranch || node.stamp.reductionSize == 0 else {
            return "an impossible size of reduced values"
        }
        guard NodeLayout.heads + NodeLayout.entryOverhead * count + node.heapSize <= node.size else {
            return "arrays and heap overlap"
        }
        guard prefixSize <= NodeLayout.maximumKey(pageSize: node.size), heapStart <= heapEnd else {
            return "a prefix of \(prefixSize) bytes"
        }
        return nil
    }

    /// The cell must be known to be inside the heap.
    @inline(__always)
    private func cellProblem(_ index: Int, _ cell: CellView) -> String? {
        if isBranch && index == 0 {
            guard cell.suffixSize == 0 else { return "the first entry of a branch has a key" }
        } else {
            let keySize = prefixSize + cell.suffixSize
            guard keySize > 0, keySize <= NodeLayout.maximumKey(pageSize: node.size) else {
                return "entry \(index) has a key of \(keySize) bytes"
            }
        }
        return isBranch ? childProblem(index, cell) : valueProblem(index, cell)
    }

    @inline(__always)
    private func childProblem(_ index: Int, _ cell: CellView) -> String? {
        guard !cell.isLong, cell.valueSize == NodeLayout.childSize + node.stamp.reductionSize else {
            return "entry \(index) is no child record"
        }
        let child = ChildRecord(cell.value)
        let isStale = cell.value.read64(16) & ChildRecord.staleBit != 0
        let isLeaf = node.base.load(fromByteOffset: PageLayout.level, as: UInt8.self) == 1
        guard PagePointer.isStored(child.page, isLeaf: isLeaf), child.count > 0, !isStale, child.birth <= birth else {
            return "entry \(index) has an impossible child record"
        }
        return nil
    }

    @inline(__always)
    private func valueProblem(_ index: Int, _ cell: CellView) -> String? {
        guard cell.isLong else { return nil }
        let long = LongReference(cell.value)
        guard PagePointer.isStored(long.page, isLeaf: false), long.size <= UInt64(NodeLayout.maximumValue),
            long.birth <= birth
        else {
            return "entry \(index) has an impossible reference to a long value"
        }
        return nil
    }

    /// The cells must be known to be valid.
    private func orderProblem() -> String? {
        // The first entry of a branch is before all others, whatever they are.
        let first = isBranch ? 1 : 0
        var (before, headBefore) = (Bytes(start: nil, count: 0), UInt32(0))
        for index in 0..<count {
            let suffix = CellView(node.base + slot(index)).suffix
            let head = suffix.baseAddress.map { keyHead($0, suffix.count) } ?? 0
            guard heads.read32(NodeLayout.headSize &* index) == head else {
                return "entry \(index) has the wrong key head"
            }
            // Heads have the order of their keys, unless they are equal.
            if index > first, head <= headBefore, head < headBefore || before.order(suffix) >= 0 {
                return "entry \(index) is out of order"
            }
            (before, headBefore) = (suffix, head)
        }
        return nil
    }
}
