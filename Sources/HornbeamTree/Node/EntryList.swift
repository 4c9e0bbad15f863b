// SPDX-License-Identifier: Apache-2.0
// The entries of one or two nodes as a list of references, which is edited, measured and written out as new nodes.
// Nodes are rebuilt, split and merged with it. References point into page copies or the caller's memory, never into the
// page that is being written.

import Glibc
import HornbeamPages

/// One entry: its key in two parts (the prefix of its node, and the rest) and its value.
struct EntryReference {
    var prefix: UnsafeRawPointer
    var prefixSize: Int
    var suffix: UnsafeRawPointer
    var suffixSize: Int
    var value: CellValue

    init(key: UnsafeRawPointer, size: Int, value: CellValue) {
        prefix = key
        prefixSize = 0
        suffix = key
        suffixSize = size
        self.value = value
    }

    init(_ node: NodeView, _ index: Int, hasPrefix: Bool) {
        let cell = node.cell(index)
        let size = hasPrefix ? node.prefixSize : 0
        prefix = node.base + (node.size - size)
        prefixSize = size
        suffix = cell.start + NodeLayout.cellHeader
        suffixSize = cell.suffixSize
        value = CellValue(bytes: cell.valueBytes, isLong: cell.isLong)
    }

    var keySize: Int { prefixSize &+ suffixSize }

    /// The number of bytes that both keys have in common at their start.
    func commonPrefix(_ other: EntryReference) -> Int {
        let size = min(keySize, other.keySize)
        var done = 0
        while done < size {
            let left = rest(from: done)
            let right = other.rest(from: done)
            let piece = min(left.count, right.count, size - done)
            for index in 0..<piece where left[index] != right[index] { return done + index }
            done += piece
        }
        return size
    }

    /// Whether the key is less than the other's.
    func precedes(_ other: EntryReference) -> Bool {
        let shared = commonPrefix(other)
        guard shared < keySize, shared < other.keySize else { return keySize < other.keySize }
        return rest(from: shared)[0] < other.rest(from: shared)[0]
    }

    /// Writes the key's bytes from `offset` on.
    func copyKey(from offset: Int, to target: UnsafeMutableRawPointer, count: Int) {
        var done = 0
        while done < count {
            let part = rest(from: offset + done)
            let piece = min(part.count, count - done)
            (target + done).copy(Bytes(rebasing: part[..<piece]))
            done += piece
        }
    }

    /// The key's bytes from `offset` to the end of the part that has it. Not empty if `offset` is below the key's size.
    private func rest(from offset: Int) -> Bytes {
        offset < prefixSize
            ? Bytes(start: prefix + offset, count: prefixSize - offset)
            : Bytes(start: suffix + (offset - prefixSize), count: keySize - offset)
    }
}

/// A list of entries in memory of the write transaction, and the kind of node they are for.
struct EntryList {
    private let storage: UnsafeMutablePointer<EntryReference>
    private let capacity: Int
    private(set) var count = 0
    let isBranch: Bool
    /// The stamp of the nodes that the entries are written to.
    let stamp: NodeStamp

    /// Number of entries that two nodes can hold, and one more, which makes a node split.
    static func capacity(pageSize: Int) -> Int {
        2 * (NodeLayout.capacity(pageSize: pageSize) / (NodeLayout.entryOverhead + NodeLayout.cellHeader) + 2)
    }

    init(storage: UnsafeMutablePointer<EntryReference>, capacity: Int, isBranch: Bool, stamp: NodeStamp) {
        self.storage = storage
        self.capacity = capacity
        self.isBranch = isBranch
        self.stamp = stamp
    }

    subscript(index: Int) -> EntryReference { storage[index] }

    /// Adds the node's entries.
    mutating func append(_ node: NodeView, _ range: Range<Int>) {
        precondition(hasRoom(for: range.count), "a node holds more entries than can fit in one")
        for index in range {
            // A branch's first entry has an empty key, which doesn't include the prefix.
            storage[count] = EntryReference(node, index, hasPrefix: !(isBranch && index == 0))
            count += 1
        }
    }

    /// Whether `more` entries fit.
    func hasRoom(for more: Int) -> Bool { count + more <= capacity }

    /// Inserts an entry whose key and value are in the caller's memory.
    mutating func insert(at index: Int, key: Bytes, value: CellValue) {
        precondition(count < capacity && !key.isEmpty, "an entry too many, or one without a key")
        guard let start = key.baseAddress else { return }
        memmove(
            storage + (index + 1), storage + index, (count - index) * MemoryLayout<EntryReference>.stride)
        storage[index] = EntryReference(key: start, size: key.count, value: value)
        count += 1
    }

    mutating func setValue(at index: Int, _ value: CellValue) { storage[index].value = value }

    /// Gives the entry the key of another. A branch's first entry needs that when it comes after other entries.
    mutating func setKey(at index: Int, of other: EntryReference) {
        let value = storage[index].value
        storage[index] = other
        storage[index].value = value
    }

    /// The size of the prefix that a node of these entries has.
    func prefixSize(_ range: Range<Int>) -> Int {
        let first = range.lowerBound + (isBranch ? 1 : 0)
        guard first < range.upperBound else { return 0 }
        return storage[first].commonPrefix(storage[range.upperBound - 1])
    }

    /// The size that these entries take of a node's capacity.
    func nodeSize(_ range: Range<Int>) -> Int {
        let prefix = prefixSize(range)
        var size = prefix + stamp.reserve
        for index in range {
            let suffix = isBranch && index == range.lowerBound ? 0 : storage[index].keySize - prefix
            size += NodeLayout.entryOverhead + NodeLayout.cellHeader + suffix + storage[index].value.bytes.count
        }
        return size
    }

    /// Writes a node of these entries, which must fit. The page header stays.
    func write(_ range: Range<Int>, to base: UnsafeMutableRawPointer, size: Int) {
        let prefix = prefixSize(range)
        let slots = NodeLayout.heads + NodeLayout.headSize * range.count
        var low = size - prefix
        if prefix > 0 { storage[range.upperBound - 1].copyKey(from: 0, to: base + low, count: prefix) }
        low -= stamp.reserve
        (base + low).initializeMemory(as: UInt8.self, repeating: 0, count: stamp.reserve)
        for (place, index) in range.enumerated() {
            let entry = storage[index]
            let suffixSize = isBranch && place == 0 ? 0 : entry.keySize - prefix
            low -= NodeLayout.cellHeader + suffixSize + entry.value.bytes.count
            let cell = base + low
            cell.write16(suffixSize, 0)
            cell.write16(entry.value.sizeField, NodeLayout.cellValueSize)
            let suffix = cell + NodeLayout.cellHeader
            if suffixSize > 0 { entry.copyKey(from: prefix, to: suffix, count: suffixSize) }
            (suffix + suffixSize).copy(entry.value.bytes)
            base.write32(
                keyHead(UnsafeRawPointer(suffix), suffixSize), NodeLayout.heads + NodeLayout.headSize * place)
            base.write16(low, slots + NodeLayout.slotSize * place)
        }
        base.write16(range.count, NodeLayout.count)
        base.write16(prefix, NodeLayout.prefixSize)
        base.write16(size - low, NodeLayout.heapSize)
        base.write16(0, NodeLayout.deadSize)
        base.write64(stamp.rawValue, NodeLayout.stamp)
    }

    /// The index at which to cut the list in two nodes: near the middle of its bytes, so that both parts fit. Nil if
    /// there is no such cut, but the limits on keys and values rule that out.
    func splitIndex(capacity: Int) -> Int? {
        var total = 0
        for index in 0..<count { total += weight(index) }
        var left = 0
        var middle = 0
        while middle < count - 1, left + weight(middle) / 2 < total / 2 {
            left += weight(middle)
            middle += 1
        }
        for distance in 0..<count {
            if isCut(middle - distance, capacity: capacity) { return middle - distance }
            if isCut(middle + distance, capacity: capacity) { return middle + distance }
        }
        return nil
    }

    private func isCut(_ cut: Int, capacity: Int) -> Bool {
        cut > 0 && cut < count && nodeSize(0..<cut) <= capacity && nodeSize(cut..<count) <= capacity
    }

    /// Writes the shortest key that separates the entries before `cut` from those after it. Returns its size. In a
    /// branch it is the key that moves up.
    func separator(at cut: Int, to target: UnsafeMutableRawPointer) -> Int {
        let right = storage[cut]
        let size = separatorSize(at: cut)
        right.copyKey(from: 0, to: target, count: size)
        return size
    }

    private func separatorSize(at cut: Int) -> Int {
        isBranch ? storage[cut].keySize : storage[cut - 1].commonPrefix(storage[cut]) + 1
    }

    private func weight(_ index: Int) -> Int {
        NodeLayout.entryOverhead + NodeLayout.cellHeader + storage[index].keySize + storage[index].value.bytes.count
    }
}
