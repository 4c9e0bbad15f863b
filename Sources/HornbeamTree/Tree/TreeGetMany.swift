// SPDX-License-Identifier: Apache-2.0
// Looking up many keys at once: groups of them go down the tree level by level, and while one node is searched, the
// cache lines of the next ones are being loaded from memory.

import HornbeamPages

extension TreeRoot {
    /// Number of lookups in flight together: about as many as the processor has requests for cache lines.
    private static var groupSize: Int { 16 }

    /// Passes the index of each of `total` keys to `body`, in order, with its value; nil if it isn't there.
    @inline(__always)
    func getMany(
        _ total: Int, key: (Int) -> Bytes, of tree: UInt32, in view: PageView, _ body: (Int, Bytes?) -> Void
    ) throws(StorageError) {
        // Without a mapping pages come from the disk, not from memory, so there is nothing to interleave.
        guard !isEmpty, view.isMapped else {
            for index in 0..<total { body(index, try get(key(index), of: tree, in: view)) }
            return
        }
        var group = InlineArray<16, ChildRecord>(repeating: ChildRecord(page: page, birth: birth, count: count))
        var start = 0
        while start < total {
            let size = min(Self.groupSize, total - start)
            for index in 0..<size { group[index] = ChildRecord(page: page, birth: birth, count: count) }
            var level = level
            while level > 0 {
                for index in 0..<size {
                    let node = try view.node(group[index].page, birth: group[index].birth, level: level)
                    let child = node.child(node.childIndex(key(start + index)))
                    view.prefetchNode(child.page)
                    group[index] = child
                }
                level -= 1
            }
            for index in 0..<size {
                let leaf = try view.leaf(group[index].page, birth: group[index].birth, of: tree)
                let (place, found) = leaf.find(key(start + index))
                guard found else {
                    if view.holdsPages { view.keepWay() }
                    body(start + index, nil)
                    continue
                }
                let cell = leaf.cell(place)
                let value = cell.isLong ? try LongValue.read(LongReference(cell.value), in: view) : cell.valueBytes
                body(start + index, view.holdsPages ? view.keep(value) : value)
            }
            start += size
        }
    }

    /// Finds the values of up to 16 keys of eight bytes, in their order. `numbers` are the keys as big-endian numbers.
    /// `found` gets a value for each key, nil if it isn't there.
    func getMany(
        numbers: UnsafeBufferPointer<UInt64>, of tree: UInt32, in view: PageView,
        into found: UnsafeMutableBufferPointer<Bytes?>
    ) throws(StorageError) {
        precondition(numbers.count <= Self.groupSize && found.count >= numbers.count)
        guard !isEmpty, view.isMapped else {
            for index in numbers.indices {
                let key = numbers[index].bigEndian
                found[index] = try withUnsafeBytes(of: key) { (key) throws(StorageError) in
                    try get(key, of: tree, in: view)
                }
            }
            return
        }
        var places = InlineArray<16, NodePlace>(repeating: NodePlace(page: page, birth: birth))
        var level = level
        while level > 0 {
            for index in numbers.indices {
                let node = try view.node(places[index].page, birth: places[index].birth, level: level)
                let child = node.child(node.childIndex(number: numbers[index]))
                view.prefetchNode(child.page)
                places[index] = NodePlace(page: child.page, birth: child.birth)
            }
            level &-= 1
        }
        try find(numbers, at: &places, of: tree, in: view, into: found)
    }

    /// Searches the leaves: first finds the place of each entry, so that all of them are being loaded from memory when
    /// the first is read.
    @inline(__always)
    private func find(
        _ numbers: UnsafeBufferPointer<UInt64>, at leaves: inout InlineArray<16, NodePlace>, of tree: UInt32,
        in view: PageView, into found: UnsafeMutableBufferPointer<Bytes?>
    ) throws(StorageError) {
        // Any address will do for places beyond the last number.
        guard let start = numbers.baseAddress else { return }
        var entries = InlineArray<16, EntryPlace>(repeating: EntryPlace(leaf: UnsafeRawPointer(start), index: 0))
        for index in numbers.indices {
            let leaf = try view.leaf(leaves[index].page, birth: leaves[index].birth, of: tree)
            let place = leaf.place(number: numbers[index])
            if place < leaf.count { leaf.prefetchCell(place) }
            entries[index] = EntryPlace(leaf: leaf.base, index: place)
        }
        for index in numbers.indices {
            let leaf = NodeView(leaf: entries[index].leaf)
            let result = leaf.find(number: numbers[index], from: entries[index].index)
            guard result.found else {
                if view.holdsPages { view.keepWay() }
                found[index] = nil
                continue
            }
            let cell = leaf.cell(result.index)
            let value = cell.isLong ? try LongValue.read(LongReference(cell.value), in: view) : cell.valueBytes
            found[index] = view.holdsPages ? view.keep(value) : value
        }
    }
}

/// A node's page and birth.
private struct NodePlace {
    var page: UInt64
    var birth: UInt64
}

/// The position of an entry, or the position where it would be.
private struct EntryPlace {
    var leaf: UnsafeRawPointer
    var index: Int
}
