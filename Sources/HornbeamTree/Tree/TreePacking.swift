// SPDX-License-Identifier: Apache-2.0
// Fills up leaves that deletions have left half empty. `TreeDelete` joins two leaves only once one of them is thin.
// Here the entries of many adjacent leaves are moved together if they need fewer leaves.

import HornbeamPages

/// The degree to which leaves are filled up, and the gain from which it is worth it.
struct PackingAim {
    /// Sixteenths of a leaf's capacity. The rest saves the next insertions a split.
    var fill: Int
    /// The least gain: one freed leaf for this number of leaves.
    var leastGain: Int
    /// Whether the user asked for it. Otherwise only trees that have lost many entries are packed.
    var isAsked: Bool

    static var compact: PackingAim { PackingAim(fill: 15, leastGain: 8, isAsked: true) }
    static var byItself: PackingAim { PackingAim(fill: 12, leastGain: 3, isAsked: false) }
}

/// The result for some leaves of a tree.
struct PackedLeaves {
    /// The first key after them; nil at the tree's end.
    var next: [UInt8]?
    var read = 0
    var written = 0
}

extension TreeWriter {
    /// Fills up leaves from the leaf of `key` on (empty: the first one), at most `most`, all of one branch, if it is
    /// worth it. The tree's entries don't change, so the journal needs no record.
    func packLeaves(
        _ tree: OpenTreePointer, from key: [UInt8], most: Int, _ aim: PackingAim
    ) throws(StorageError) -> PackedLeaves {
        guard tree.pointee.root.level > 0 else { return PackedLeaves() }
        try key.withBytes { (key) throws(StorageError) in _ = try descend(tree, key) }
        let branch = NodeView(path[1].base, size: pageSize)
        let first = path[1].index
        var end = min(branch.count, first + most)
        let next = end < branch.count ? branch.keyBytes(end) : firstKeyOfNextBranch(tree)
        var packed = PackedLeaves(next: next, read: end - first)
        guard try isWorthPacking(tree, branch, first..<end, aim) else { return packed }

        appendedBytes = 0
        tree.pointee.changes &+= 1
        try ownPath(tree)
        if tree.pointee.reductionSize > 0 { markStale(tree) }
        let parent = editor(1)
        var index = first
        while index + 1 < end {
            if try join(tree, parent, index, level: 0, fill: aim.fill) {
                end -= 1
            } else {
                _ = try fillUp(tree, parent, index, aim)
                index += 1
                packed.written += 1
            }
        }
        packed.written += 1
        // The last of them may have room for the entries that follow.
        if end > first + 1, end < parent.view.count { packed.next = parent.view.keyBytes(end - 1) }
        kept = nil
        try joinThinBranches(tree)
        return packed
    }

    /// Number of leaves that `hasEmptyLeaves` reads.
    static var packingSamples: Int { 48 }

    /// Whether filling up the leaves would free enough of them, as a sample shows.
    func hasEmptyLeaves(_ tree: OpenTreePointer, _ aim: PackingAim) throws(StorageError) -> Bool {
        let samples = UInt64(Self.packingSamples)
        let entries = tree.pointee.root.count
        var used = 0
        var capacity = 0
        for sample in 0..<samples {
            let mark = view.heldMark
            defer { view.letGo(to: mark) }
            let leaf = try leaf(tree, ofEntry: entries / samples * sample)
            used += leaf.usedSize
            capacity += NodeLayout.capacity(pageSize: leaf.size)
        }
        // A part of the tree may have the whole gain if all of it has half the gain.
        return used * 16 < capacity * aim.fill / (2 * aim.leastGain) * (2 * aim.leastGain - 1)
    }

    /// The leaf with the entry at an index.
    private func leaf(_ tree: OpenTreePointer, ofEntry index: UInt64) throws(StorageError) -> NodeView {
        let root = tree.pointee.root
        var rest = index
        var record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
        var level = root.level
        while level > 0 {
            let branch = try node(tree, record.page, birth: record.birth, level: level)
            record = branch.child(branch.childIndex(ofEntry: &rest))
            level -= 1
        }
        return try node(tree, record.page, birth: record.birth, level: 0)
    }

    /// The first key after the path's branch above the leaves; nil if it is the last one.
    private func firstKeyOfNextBranch(_ tree: OpenTreePointer) -> [UInt8]? {
        var level = 2
        while level <= tree.pointee.root.level {
            let node = NodeView(path[level].base, size: pageSize)
            if path[level].index + 1 < node.count { return node.keyBytes(path[level].index + 1) }
            level += 1
        }
        return nil
    }

    private func isWorthPacking(
        _ tree: OpenTreePointer, _ branch: NodeView, _ range: Range<Int>, _ aim: PackingAim
    ) throws(StorageError) -> Bool {
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let most = range.count - (range.count + aim.leastGain - 1) / aim.leastGain
        guard most > 0 else { return false }
        var leaves: [NodeView] = []
        leaves.reserveCapacity(range.count)
        for index in range {
            let child = branch.child(index)
            leaves.append(try node(tree, child.page, birth: child.birth, level: 0))
        }
        return leavesNeeded(leaves, aim) <= most
    }

    /// Number of leaves that the entries would fill. May be a few too many, because the keys of one leaf may have a
    /// longer common prefix than all keys.
    private func leavesNeeded(_ leaves: [NodeView], _ aim: PackingAim) -> Int {
        guard let first = leaves.first, let last = leaves.last, first.count > 0, last.count > 0 else { return .max }
        let shared = EntryReference(first, 0, hasPrefix: true)
            .commonPrefix(EntryReference(last, last.count - 1, hasPrefix: true))
        let empty = shared + first.stamp.reserve
        var needed = 1
        var used = empty
        for leaf in leaves {
            let limit = NodeLayout.capacity(pageSize: leaf.size) * aim.fill / 16
            let fixed = NodeLayout.entryOverhead + NodeLayout.cellHeader + max(0, leaf.prefixSize - shared)
            for index in 0..<leaf.count {
                let cell = leaf.cell(index)
                let size = fixed + cell.suffixSize + cell.valueBytes.count
                if used + size > limit {
                    needed += 1
                    used = empty
                }
                used += size
            }
        }
        return needed
    }

    /// Moves as many entries as have room from the leaf after the `index`-th into that one. At least one entry stays.
    private func fillUp(
        _ tree: OpenTreePointer, _ parent: NodeEditor, _ index: Int, _ aim: PackingAim
    ) throws(StorageError) -> Bool {
        let had = Int(clamping: parent.view.child(index).count)
        return try shareOut(tree, parent, index, level: 0) { list, capacity in
            var low = had
            var high = list.count - 1
            while low < high {
                let middle = (low + high + 1) / 2
                if list.nodeSize(0..<middle) <= capacity * aim.fill / 16 { low = middle } else { high = middle - 1 }
            }
            return low > had && list.nodeSize(low..<list.count) <= capacity ? low : nil
        }
    }

    /// Joins thin branches on the path.
    private func joinThinBranches(_ tree: OpenTreePointer) throws(StorageError) {
        var level = 1
        while level < tree.pointee.root.level {
            let parent = editor(level + 1)
            if try !joinIfThin(tree, parent, path[level + 1].index, level: level), !isThin(parent.view) { return }
            level += 1
        }
        try lowerRoot(tree)
    }
}
