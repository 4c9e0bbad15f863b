// SPDX-License-Identifier: Apache-2.0
// Changing a node in place: inserting, removing or replacing one entry. Never moves the prefix (that is a rebuild:
// `EntryList`), and never checks whether something fits: callers must ask `fits` first. Keeps this true between calls:
//   heap size = prefix + reserve + cells + dead, and arrays and heap do not overlap.

import Glibc
import HornbeamPages

/// The content of a cell's value: the bytes themselves, or a long value's reference.
struct CellValue {
    var bytes: Bytes
    var isLong: Bool

    @inline(__always) var sizeField: Int { isLong ? Int(NodeLayout.longMark) : bytes.count }
}

/// The ways in which an entry can fit in a node.
enum Fit {
    case asIs
    /// After dead bytes are removed.
    case compacted
    /// Only after a rebuild or a split.
    case no
}

/// A node in a frame of this transaction.
struct NodeEditor {
    let base: UnsafeMutableRawPointer
    let size: Int

    @inline(__always)
    init(_ base: UnsafeMutableRawPointer, size: Int) {
        self.base = base
        self.size = size
    }

    /// A leaf with the size that its header states.
    @inline(__always)
    init(leaf base: UnsafeMutableRawPointer) {
        self.init(base, size: NodeView(leaf: UnsafeRawPointer(base)).size)
    }

    /// Number of bytes for entries and prefix.
    var capacity: Int { NodeLayout.capacity(pageSize: size) }

    @inline(__always) var view: NodeView { NodeView(UnsafeRawPointer(base), size: size) }

    /// Whether `key` begins with the node's prefix, so that it can be an entry without a rebuild.
    @inline(__always)
    func sharesPrefix(_ key: Bytes) -> Bool {
        let prefix = view.prefix
        guard prefix.count > 0 else { return true }
        guard let start = key.baseAddress, let other = prefix.baseAddress, key.count >= prefix.count else {
            return false
        }
        return start.order(other, prefix.count) == 0
    }

    /// Whether an entry with this whole key fits, if it replaces `freed` bytes of the heap.
    @inline(__always)
    func fits(keySize: Int, valueSize: Int, freed: Int = 0) -> Fit {
        let view = view
        let cell = NodeLayout.cellHeader &+ keySize &- view.prefixSize &+ valueSize
        let needed = freed > 0 ? cell : cell &+ NodeLayout.entryOverhead
        if needed <= view.freeSize { return .asIs }
        return needed <= view.freeSize &+ view.deadSize &+ freed ? .compacted : .no
    }

    /// Inserts an entry before `index`. The key must share the prefix, and the cell must fit as it is.
    @inline(__always)
    func insert(at index: Int, key: Bytes, value: CellValue) {
        let view = view
        let count = view.count
        let rest = Bytes(rebasing: key[view.prefixSize...])
        let slot = addCell(suffix: rest, value: value)
        let slots = NodeLayout.heads &+ NodeLayout.headSize &* count
        // The slots move by a head's size, those from `index` on also by a slot's. The last ones move first.
        memmove(
            base + (slots &+ NodeLayout.headSize &+ NodeLayout.slotSize &* (index &+ 1)),
            base + (slots &+ NodeLayout.slotSize &* index), NodeLayout.slotSize &* (count &- index))
        memmove(base + (slots &+ NodeLayout.headSize), base + slots, NodeLayout.slotSize &* index)
        let place = NodeLayout.heads &+ NodeLayout.headSize &* index
        memmove(base + (place &+ NodeLayout.headSize), base + place, NodeLayout.headSize &* (count &- index))
        base.write32(rest.baseAddress.map { keyHead($0, rest.count) } ?? 0, place)
        base.write16(slot, slots &+ NodeLayout.headSize &+ NodeLayout.slotSize &* index)
        base.write16(count &+ 1, NodeLayout.count)
    }

    /// Removes the entry.
    func remove(at index: Int) { remove(index..<index + 1) }

    /// Removes adjacent entries.
    func remove(_ range: Range<Int>) {
        let view = view
        let count = view.count
        let (index, removed) = (range.lowerBound, range.count)
        for gone in range { bury(view.slot(gone)) }
        let place = NodeLayout.heads &+ NodeLayout.headSize &* index
        let slots = NodeLayout.heads &+ NodeLayout.headSize &* count
        let heads = NodeLayout.headSize &* removed
        let slot = slots &+ NodeLayout.slotSize &* index
        let behind = count &- removed &- index
        memmove(base + place, base + (place &+ heads), NodeLayout.headSize &* behind)
        memmove(base + (slots &- heads), base + slots, NodeLayout.slotSize &* index)
        memmove(
            base + (slot &- heads), base + (slot &+ NodeLayout.slotSize &* removed), NodeLayout.slotSize &* behind)
        base.write16(count &- removed, NodeLayout.count)
    }

    /// Gives the entry another value, in place if it isn't larger. It must fit (`fits`, with the old cell freed).
    func replace(at index: Int, value: CellValue, scratch: UnsafeMutableRawPointer) {
        let cell = view.cell(index)
        let old = cell.valueSize
        if value.bytes.count <= old {
            base.write16(view.deadSize + old - value.bytes.count, NodeLayout.deadSize)
            let start = base + (cell.start - UnsafeRawPointer(base))
            start.write16(value.sizeField, NodeLayout.cellValueSize)
            (start + NodeLayout.cellHeader + cell.suffixSize).copy(value.bytes)
            return
        }
        let slotPlace = NodeLayout.heads + NodeLayout.headSize * view.count + NodeLayout.slotSize * index
        if cell.size - old + value.bytes.count <= view.freeSize {
            let suffix = cell.suffix
            let slot = addCell(suffix: suffix, value: value)
            bury(view.slot(index))
            base.write16(slot, slotPlace)
            return
        }
        // The old cell's suffix is needed until the new cell is written, so the suffix is taken from the copy.
        compact(scratch: scratch, leavingOut: index)
        let copy = NodeView(UnsafeRawPointer(scratch), size: size)
        let bytes = inCopy(value.bytes, scratch)
        let slot = addCell(
            suffix: copy.cell(index).suffix, value: CellValue(bytes: bytes, isLong: value.isLong))
        base.write16(slot, slotPlace)
    }

    /// Returns the address of `bytes` in the copy of this node if they are in the node: the caller may put bytes that
    /// it has just read here.
    func inCopy(_ bytes: Bytes, _ copy: UnsafeMutableRawPointer) -> Bytes {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return bytes }
        let distance = start - UnsafeRawPointer(base)
        guard distance >= 0, distance < size else { return bytes }
        return Bytes(start: UnsafeRawPointer(copy) + distance, count: bytes.count)
    }

    /// Removes the dead bytes. `scratch` is memory of a page's size, and has the former node afterwards.
    func compact(scratch: UnsafeMutableRawPointer, leavingOut skipped: Int? = nil) {
        scratch.copyMemory(from: base, byteCount: size)
        let old = NodeView(UnsafeRawPointer(scratch), size: size)
        let slots = NodeLayout.heads + NodeLayout.headSize * old.count
        var low = size - old.prefixSize - old.stamp.reserve
        for index in 0..<old.count where index != skipped {
            let cell = old.cell(index)
            low -= cell.size
            (base + low).copyMemory(from: cell.start, byteCount: cell.size)
            base.write16(low, slots + NodeLayout.slotSize * index)
        }
        base.write16(size - low, NodeLayout.heapSize)
        base.write16(0, NodeLayout.deadSize)
    }

    /// Overwrites a branch's child record. Its reduced value, if the tree has any, is stale then.
    @inline(__always)
    func setChild(_ index: Int, _ record: ChildRecord) {
        record.write(to: childPlace(index), isStale: view.stamp.reductionSize > 0)
    }

    /// Notes that the child's reduced value must be computed before it is used.
    func markStale(_ index: Int) {
        let place = childPlace(index)
        place.write64(UnsafeRawPointer(place).read64(16) | ChildRecord.staleBit, 16)
    }

    /// Changes a branch's reference to a child. The record's count and reduced value stay.
    func moveChild(_ index: Int, to page: UInt64, birth: UInt64) {
        let place = childPlace(index)
        place.write64(page, 0)
        place.write64(birth, 8)
    }

    /// Writes another value of equal size over an entry's value.
    func overwriteValue(_ index: Int, _ write: (UnsafeMutableRawPointer) -> Void) { write(childPlace(index)) }

    /// Overwrites a leaf's reference to a long value.
    func setLongReference(_ index: Int, _ reference: LongReference) { reference.write(to: childPlace(index)) }

    /// Adds to a branch's count of the entries below a child. Wraps on numbers that only damage can cause.
    @inline(__always)
    func addToChild(_ index: Int, _ difference: Int64) {
        let place = childPlace(index)
        place.write64(UnsafeRawPointer(place).read64(16) &+ UInt64(bitPattern: difference), 16)
    }

    /// Makes a branch's first entry stand for minus infinity, after the entry before it was removed.
    func emptyFirstKey() {
        let view = view
        guard view.count > 0 else { return }
        let cell = view.cell(0)
        let start = base + view.slot(0)
        base.write16(view.deadSize + cell.suffixSize, NodeLayout.deadSize)
        memmove(start + NodeLayout.cellHeader, cell.value, cell.valueSize)
        start.write16(0, 0)
        base.write32(0, NodeLayout.heads)
    }

    @inline(__always)
    private func childPlace(_ index: Int) -> UnsafeMutableRawPointer {
        let slot = view.slot(index)
        return base + (slot &+ NodeLayout.cellHeader &+ view.base.read16(slot))
    }

    /// Writes a cell at the heap's low end. Returns its offset.
    @inline(__always)
    private func addCell(suffix: Bytes, value: CellValue) -> Int {
        let cellSize = NodeLayout.cellHeader &+ suffix.count &+ value.bytes.count
        let heapSize = view.heapSize &+ cellSize
        let cell = base + (size &- heapSize)
        cell.write16(suffix.count, 0)
        cell.write16(value.sizeField, NodeLayout.cellValueSize)
        (cell + NodeLayout.cellHeader).copy(suffix)
        (cell + (NodeLayout.cellHeader &+ suffix.count)).copy(value.bytes)
        base.write16(heapSize, NodeLayout.heapSize)
        return size &- heapSize
    }

    /// Gives a cell's bytes back: to the free space if it is the lowest cell, otherwise to the dead bytes.
    private func bury(_ slot: Int) {
        let view = view
        let cellSize = CellView(UnsafeRawPointer(base) + slot).size
        if slot == size - view.heapSize {
            base.write16(view.heapSize - cellSize, NodeLayout.heapSize)
        } else {
            base.write16(view.deadSize + cellSize, NodeLayout.deadSize)
        }
    }
}
