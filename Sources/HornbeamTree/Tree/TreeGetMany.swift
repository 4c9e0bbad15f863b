// SPDX-License-Identifier: Apache-2.0
// Looking many keys up at once: groups of them go down the tree level by level, and while one node is searched the
// lines of the next ones are on their way from memory.

import HornbeamPages

extension TreeRoot {
    /// Lookups in flight together: about as many as the processor has requests for lines of memory.
    private static var groupSize: Int { 16 }

    /// Calls `body` with the place of each of `total` keys, in their order, and its value, nil if it isn't there.
    @inline(__always)
    func getMany(
        _ total: Int, key: (Int) -> Bytes, of tree: UInt32, in view: PageView, _ body: (Int, Bytes?) -> Void
    ) throws(StorageError) {
        // What is read into a cache comes from the disk, not from memory: nothing to interleave.
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
}
