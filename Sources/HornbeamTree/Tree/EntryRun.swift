// SPDX-License-Identifier: Apache-2.0
// Puts and removes many small entries in the order of their keys: all that are adjacent in a leaf at once.

import Glibc
import HornbeamPages

/// Entries with keys of one size and values of one size: the key and the value of each in succession. In memory of the
/// caller, never in a node.
package struct EntryRun {
    let start: UnsafeRawPointer
    package let count: Int
    package let keySize: Int
    package let valueSize: Int

    /// The largest size of keys and values in a run. Entries with longer ones must be put one by one.
    package static var maximumSize: Int { 255 }

    /// `start` has `count * (keySize + valueSize)` bytes.
    package init(_ start: UnsafeRawPointer, count: Int, keySize: Int, valueSize: Int) {
        self.start = start
        self.count = count
        self.keySize = keySize
        self.valueSize = valueSize
    }

    @inline(__always) var entrySize: Int { keySize &+ valueSize }
    var bytes: Bytes { Bytes(start: start, count: count * entrySize) }

    @inline(__always)
    func key(_ index: Int) -> Bytes { Bytes(start: start + index &* entrySize, count: keySize) }

    @inline(__always)
    func value(_ index: Int) -> Bytes {
        Bytes(start: start + (index &* entrySize &+ keySize), count: valueSize)
    }
}

extension TreeWriter {
    /// Adds entries after the one before `first`, which was put just now: as many as fit in its leaf as it is and come
    /// before that leaf's next entry. If there is no next entry, adds only to the tree's last leaf. Returns their
    /// number.
    func fill(_ tree: OpenTreePointer, _ run: EntryRun, from first: Int) -> Int {
        guard let kept, kept.tree == tree, kept.changes == tree.pointee.changes,
            NodeLayout.cellHeader + run.entrySize <= tree.pointee.inlineLimit(pageSize: pageSize)
        else { return 0 }
        let leaf = editor(0)
        let index = kept.isLast ? leaf.view.count : path[0].index + 1
        guard kept.isLast || index < leaf.view.count else { return 0 }
        let count = leaf.countFitting(run, from: first, before: index)
        guard count > 0 else { return 0 }
        leaf.insert(run, first, count: count, at: index)
        if !kept.isLast { path[0].index = index + count - 1 }
        addToCounts(tree, Int64(count))
        return count
    }

    /// Removes the entry of a run's key `first`, and those of the next keys that follow it in its leaf. Returns the
    /// number of keys that are done, and the number of their entries, which is zero or equal to that.
    func delete(
        _ tree: OpenTreePointer, _ run: EntryRun, from first: Int
    ) throws(StorageError) -> (keys: Int, entries: Int) {
        guard let index = try place(tree, of: run.key(first)) else { return (1, 0) }
        let count = NodeView(leaf: path[0].base).countFollowing(run, from: first, at: index)
        try remove(tree, index..<index + count)
        return (count, count)
    }
}

extension NodeView {
    /// Number of a run's keys from `first` on that equal the keys of the leaf's entries from `index` on, one by one.
    /// The first pair must be equal.
    fileprivate func countFollowing(_ run: EntryRun, from first: Int, at index: Int) -> Int {
        let most = min(run.count &- first, self.count &- index)
        let prefixSize = prefixSize
        let suffixSize = run.keySize &- prefixSize
        var count = 1
        while count < most {
            let cell = cell(index &+ count)
            guard cell.suffixSize == suffixSize, let suffix = cell.suffix.baseAddress else { break }
            let key = run.start + (first &+ count) &* run.entrySize
            // The first key shares the leaf's prefix, so this one must share it too.
            guard suffix.order(key + prefixSize, suffixSize) == 0,
                prefixSize == 0 || key.order(key - run.entrySize, prefixSize) == 0
            else { break }
            count &+= 1
        }
        return count
    }
}

extension NodeEditor {
    /// Number of a run's entries that can be inserted into the leaf before the entry at `index`, or after its last.
    /// They must ascend from the one before `first`, which is before `index`, have the prefix, and find room.
    fileprivate func countFitting(_ run: EntryRun, from first: Int, before index: Int) -> Int {
        let view = view
        let next = index < view.count ? view.cell(index).suffix : nil
        let prefix = view.prefix
        guard run.keySize >= prefix.count else { return 0 }
        let needed = NodeLayout.cellHeader + run.entrySize - prefix.count + NodeLayout.entryOverhead
        let most = min(run.count - first, view.freeSize / needed)
        var count = 0
        while count < most {
            let key = run.start + (first &+ count) &* run.entrySize
            guard key.order(key - run.entrySize, run.keySize) > 0 else { break }
            if prefix.count > 0, let other = prefix.baseAddress, key.order(other, prefix.count) != 0 {
                break
            }
            if let next {
                let rest = Bytes(start: key + prefix.count, count: run.keySize &- prefix.count)
                guard next.order(rest) > 0 else { break }
            }
            count &+= 1
        }
        return max(0, count)
    }

    /// Inserts entries before `index`. They must fit.
    fileprivate func insert(_ run: EntryRun, _ first: Int, count: Int, at index: Int) {
        let view = view
        let before = view.count
        let prefixSize = view.prefixSize
        let suffixSize = run.keySize &- prefixSize
        let cellSize = NodeLayout.cellHeader &+ suffixSize &+ run.valueSize
        var low = size &- view.heapSize
        // The slots move by the new heads' size, those from `index` on also by the new slots'. The last ones move
        // first.
        let formerSlots = NodeLayout.heads &+ NodeLayout.headSize &* before
        let newSlots = formerSlots &+ NodeLayout.headSize &* count
        memmove(
            base + (newSlots &+ NodeLayout.slotSize &* (index &+ count)),
            base + (formerSlots &+ NodeLayout.slotSize &* index), NodeLayout.slotSize &* (before &- index))
        memmove(base + newSlots, base + formerSlots, NodeLayout.slotSize &* index)
        let heads = NodeLayout.heads &+ NodeLayout.headSize &* index
        memmove(
            base + (heads &+ NodeLayout.headSize &* count), base + heads, NodeLayout.headSize &* (before &- index))
        let slots = newSlots &+ NodeLayout.slotSize &* index
        var rest = run.start + (first &* run.entrySize &+ prefixSize)
        for index in 0..<count {
            low &-= cellSize
            let cell = base + low
            cell.write16(suffixSize, 0)
            cell.write16(run.valueSize, NodeLayout.cellValueSize)
            // A cell is the rest of the key followed by the value, in the same layout as here.
            (cell + NodeLayout.cellHeader).copyMemory(from: rest, byteCount: suffixSize &+ run.valueSize)
            base.write32(keyHead(rest, suffixSize), heads &+ NodeLayout.headSize &* index)
            base.write16(low, slots &+ NodeLayout.slotSize &* index)
            rest += run.entrySize
        }
        base.write16(size &- low, NodeLayout.heapSize)
        base.write16(before &+ count, NodeLayout.count)
    }
}
