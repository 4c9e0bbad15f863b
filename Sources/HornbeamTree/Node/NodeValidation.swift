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

private struct NodeExamination {
    let node: NodeView
    let isBranch: Bool

    func problem() -> String? {
        if let problem = sizesProblem() { return problem }
        var cells = 0
        for index in 0..<node.count {
            if let problem = cellProblem(index) { return problem }
            cells += node.cell(index).size
        }
        guard cells + node.prefixSize + node.stamp.reserve + node.deadSize == node.heapSize else {
            return "the heap's parts do not add up to its size"
        }
        if cellsOverlap() { return "two entries share bytes of the heap" }
        for index in 0..<node.count {
            if let problem = orderProblem(index) { return problem }
        }
        return nil
    }

    /// Whether a byte of the heap belongs to two cells: an editor that changes one would overwrite the other's sizes.
    /// Uses one bit for each byte of the page. The cells must be known to be inside it.
    private func cellsOverlap() -> Bool {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: node.size / 64) { taken in
            taken.initialize(repeating: 0)
            for index in 0..<node.count {
                var byte = node.slot(index)
                let end = byte + node.cell(index).size
                while byte < end {
                    let low = byte & 63
                    let count = min(64 - low, end - byte)
                    let ones: UInt64 = count == 64 ? .max : (1 << UInt64(count)) - 1
                    let mask = ones << UInt64(low)
                    if taken[byte >> 6] & mask != 0 { return true }
                    taken[byte >> 6] |= mask
                    byte += count
                }
            }
            return false
        }
    }

    private func sizesProblem() -> String? {
        let count = node.count
        guard count > 0 else { return "a node without entries" }
        guard node.stamp.isPlausible, isBranch || node.stamp.reductionSize == 0 else {
            return "an impossible size of reduced values"
        }
        guard NodeLayout.heads + NodeLayout.entryOverhead * count + node.heapSize <= node.size else {
            return "arrays and heap overlap"
        }
        guard node.prefixSize <= NodeLayout.maximumKey(pageSize: node.size),
            node.prefixSize + node.stamp.reserve <= node.heapSize
        else {
            return "a prefix of \(node.prefixSize) bytes"
        }
        return nil
    }

    private func cellProblem(_ index: Int) -> String? {
        let slot = node.slot(index)
        let end = node.size - node.prefixSize - node.stamp.reserve
        guard slot >= node.size - node.heapSize, slot + NodeLayout.cellHeader <= end else {
            return "entry \(index) lies outside the heap"
        }
        let cell = node.cell(index)
        guard slot + cell.size <= end else { return "entry \(index) reaches beyond the heap" }
        if isBranch && index == 0 {
            guard cell.suffixSize == 0 else { return "the first entry of a branch has a key" }
        } else {
            let keySize = node.prefixSize + cell.suffixSize
            guard keySize > 0, keySize <= NodeLayout.maximumKey(pageSize: node.size) else {
                return "entry \(index) has a key of \(keySize) bytes"
            }
        }
        return isBranch ? childProblem(index) : valueProblem(index)
    }

    private func childProblem(_ index: Int) -> String? {
        let cell = node.cell(index)
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

    private func valueProblem(_ index: Int) -> String? {
        let cell = node.cell(index)
        guard cell.isLong else { return nil }
        let long = LongReference(cell.value)
        guard PagePointer.isStored(long.page, isLeaf: false), long.size <= UInt64(NodeLayout.maximumValue),
            long.birth <= birth
        else {
            return "entry \(index) has an impossible reference to a long value"
        }
        return nil
    }

    /// The node's birth. No page is older than the pages it refers to, because a page is never written without its
    /// ancestors.
    private var birth: UInt64 { node.base.read64(PageLayout.birth) }

    private func orderProblem(_ index: Int) -> String? {
        let suffix = node.cell(index).suffix
        let head = suffix.baseAddress.map { keyHead($0, suffix.count) } ?? 0
        guard node.head(index) == head else { return "entry \(index) has the wrong key head" }
        // The first entry of a branch is before all others, whatever they are.
        guard index > (isBranch ? 1 : 0) else { return nil }
        guard node.cell(index - 1).suffix.order(suffix) < 0 else { return "entry \(index) is out of order" }
        return nil
    }
}
