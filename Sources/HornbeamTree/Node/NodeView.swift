// SPDX-License-Identifier: Apache-2.0
// Reading a node: its arrays, cells and child records. Trusts the page: a view is made of a page from a `PageView`,
// which `NodeValidation` has accepted. Never writes.

import HornbeamPages

/// A node's bytes, for reading. Valid as long as they are.
struct NodeView {
    let base: UnsafeRawPointer
    /// The page's size.
    let size: Int

    @inline(__always)
    init(_ base: UnsafeRawPointer, size: Int) {
        self.base = base
        self.size = size
    }

    /// A leaf with the size that its header states. Leaves of compressed trees have sizes of their own.
    @inline(__always)
    init(leaf base: UnsafeRawPointer) {
        self.init(base, size: Int(base.read32(PageLayout.sectors)) &* FileFormat.sectorSize)
    }

    /// Number of entries.
    @inline(__always) var count: Int { base.read16(NodeLayout.count) }
    @inline(__always) var prefixSize: Int { base.read16(NodeLayout.prefixSize) }
    /// Bytes from the page's end down to the lowest cell, the prefix included.
    @inline(__always) var heapSize: Int { base.read16(NodeLayout.heapSize) }
    /// Number of bytes of the heap that belong to no cell.
    @inline(__always) var deadSize: Int { base.read16(NodeLayout.deadSize) }
    @inline(__always) var prefix: Bytes { Bytes(start: base + (size &- prefixSize), count: prefixSize) }

    @inline(__always)
    func head(_ index: Int) -> UInt32 { base.read32(NodeLayout.heads &+ NodeLayout.headSize &* index) }
    /// Offset of the entry's cell.
    @inline(__always)
    func slot(_ index: Int) -> Int {
        base.read16(NodeLayout.heads &+ NodeLayout.headSize &* count &+ NodeLayout.slotSize &* index)
    }
    @inline(__always)
    func cell(_ index: Int) -> CellView { CellView(base + slot(index)) }
    /// Prefetches the first 256 bytes of an entry from memory. The entry may be at the page's end: prefetching beyond
    /// it does no harm.
    @inline(__always)
    func prefetchCell(_ index: Int) {
        let cell = base + slot(index)
        for line in 0..<4 { (cell + line &* 64).prefetch() }
    }

    @inline(__always) var stamp: NodeStamp { NodeStamp(rawValue: base.read64(NodeLayout.stamp)) }

    /// A branch's child record.
    @inline(__always)
    func child(_ index: Int) -> ChildRecord { ChildRecord(cell(index).value) }

    /// Finds by a branch's counts the child with the entry at `index`, and sets `index` to the entry's index within
    /// that child. Returns the last child if the counts don't reach that far.
    @inline(__always)
    func childIndex(ofEntry index: inout UInt64) -> Int {
        var place = 0
        while place < count - 1, index >= child(place).count {
            index -= child(place).count
            place += 1
        }
        return place
    }

    /// Whether a branch's reduced value of that child must be computed before it is used.
    @inline(__always)
    func isStale(_ index: Int) -> Bool { cell(index).value.read64(16) & ChildRecord.staleBit != 0 }

    /// Bytes between the arrays and the heap.
    @inline(__always) var freeSize: Int {
        size &- NodeLayout.heads &- NodeLayout.entryOverhead &* count &- heapSize
    }
    /// The offsets of the bytes between arrays and heap: within the node even if a forged parent states a wrong size.
    var freeBytes: Range<Int> {
        let end = max(0, size &- heapSize)
        return min(end, NodeLayout.heads &+ NodeLayout.entryOverhead &* count)..<end
    }
    /// Number of bytes in use, of the capacity.
    var usedSize: Int { NodeLayout.entryOverhead * count + heapSize - deadSize }

    /// Number of entries below a branch. Wraps on numbers that only damage can cause.
    var childEntries: UInt64 {
        var sum: UInt64 = 0
        for index in 0..<count { sum &+= child(index).count }
        return sum
    }
}

/// One entry's cell.
struct CellView {
    let start: UnsafeRawPointer

    @inline(__always) init(_ start: UnsafeRawPointer) { self.start = start }

    @inline(__always) var suffixSize: Int { start.read16(0) }
    @inline(__always) var suffix: Bytes { Bytes(start: start + NodeLayout.cellHeader, count: suffixSize) }
    @inline(__always) var isLong: Bool {
        start.read16(NodeLayout.cellValueSize) == Int(NodeLayout.longMark)
    }
    /// Size of the value or, if it is long, of its reference.
    @inline(__always) var valueSize: Int {
        let size = start.read16(NodeLayout.cellValueSize)
        return size == Int(NodeLayout.longMark) ? NodeLayout.referenceSize : size
    }
    @inline(__always) var value: UnsafeRawPointer { start + (NodeLayout.cellHeader &+ suffixSize) }
    @inline(__always) var valueBytes: Bytes { Bytes(start: value, count: valueSize) }
    var size: Int { NodeLayout.cellHeader + suffixSize + valueSize }
}

/// A branch's data on a child, without the reduced value that follows.
struct ChildRecord: Equatable {
    /// The child's first sector; the top 16 bits have the number of sectors of a compressed page.
    var page: UInt64
    var birth: UInt64
    /// Number of entries in all leaves below.
    var count: UInt64

    init(page: UInt64, birth: UInt64, count: UInt64) {
        self.page = page
        self.birth = birth
        self.count = count
    }
    @inline(__always)
    init(_ bytes: UnsafeRawPointer) {
        page = bytes.read64(0)
        birth = bytes.read64(8)
        count = bytes.read64(16) & ~Self.staleBit
    }
    /// `isStale`: whether the reduced value after the record is not the child's.
    @inline(__always)
    func write(to bytes: UnsafeMutableRawPointer, isStale: Bool = false) {
        bytes.write64(page, 0)
        bytes.write64(birth, 8)
        bytes.write64(isStale ? count | Self.staleBit : count, 16)
    }

    /// A bit of a record's count: the reduced value must be computed before it is used. Only set in pages of the open
    /// transaction, never in published pages.
    static let staleBit: UInt64 = 1 << 63
}

/// The page of a long value.
struct LongReference: Equatable {
    var page: UInt64
    /// Size of the value in bytes.
    var size: UInt64
    var birth: UInt64

    init(page: UInt64, size: UInt64, birth: UInt64) {
        self.page = page
        self.size = size
        self.birth = birth
    }
    init(_ bytes: UnsafeRawPointer) {
        page = bytes.read64(0)
        size = bytes.read64(8)
        birth = bytes.read64(16)
    }
    func write(to bytes: UnsafeMutableRawPointer) {
        bytes.write64(page, 0)
        bytes.write64(size, 8)
        bytes.write64(birth, 16)
    }
}
