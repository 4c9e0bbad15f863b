// SPDX-License-Identifier: Apache-2.0
// Putting many small entries in the order of their keys: where they come behind all others, as many as a leaf takes go
// into it at once.

import Glibc
import HornbeamPages

/// Entries whose keys are of one size, and their values too: key and value of each behind the one before. In memory of
/// whoever has it, never in a node.
package struct EntryRun {
    let start: UnsafeRawPointer
    package let count: Int
    package let keySize: Int
    package let valueSize: Int

    /// Runs with longer keys or values are refused: those are put one by one.
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
    /// Adds entries behind the one before `first`, which was put just now: if that is the tree's last, as many as go
    /// into its leaf as it is. How many they are.
    func fillLast(_ tree: OpenTreePointer, _ run: EntryRun, from first: Int) -> Int {
        guard let kept, kept.isLast, kept.tree == tree, kept.changes == tree.pointee.changes,
            NodeLayout.cellHeader + run.entrySize <= tree.pointee.inlineLimit(pageSize: pageSize)
        else { return 0 }
        let leaf = editor(0)
        let count = leaf.countFitting(run, from: first)
        guard count > 0 else { return 0 }
        leaf.append(run, first, count: count)
        addToCounts(tree, Int64(count))
        return count
    }
}

extension NodeEditor {
    /// How many entries of a run go behind the leaf's last, which is the one before `first`: they ascend, share the
    /// prefix, and find room.
    fileprivate func countFitting(_ run: EntryRun, from first: Int) -> Int {
        let view = view
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
            count &+= 1
        }
        return max(0, count)
    }

    /// Adds entries that fit behind the last one.
    fileprivate func append(_ run: EntryRun, _ first: Int, count: Int) {
        let view = view
        let before = view.count
        let prefixSize = view.prefixSize
        let suffixSize = run.keySize &- prefixSize
        let cellSize = NodeLayout.cellHeader &+ suffixSize &+ run.valueSize
        var low = size &- view.heapSize
        let heads = NodeLayout.heads &+ NodeLayout.headSize &* before
        memmove(
            base + (heads &+ NodeLayout.headSize &* count), base + heads, NodeLayout.slotSize &* before)
        let slots = heads &+ NodeLayout.headSize &* count &+ NodeLayout.slotSize &* before
        var rest = run.start + (first &* run.entrySize &+ prefixSize)
        for index in 0..<count {
            low &-= cellSize
            let cell = base + low
            cell.write16(suffixSize, 0)
            cell.write16(run.valueSize, NodeLayout.cellValueSize)
            // A cell is the rest of the key with the value behind it, as they lie here.
            (cell + NodeLayout.cellHeader).copyMemory(from: rest, byteCount: suffixSize &+ run.valueSize)
            base.write32(keyHead(rest, suffixSize), heads &+ NodeLayout.headSize &* index)
            base.write16(low, slots &+ NodeLayout.slotSize &* index)
            rest += run.entrySize
        }
        base.write16(size &- low, NodeLayout.heapSize)
        base.write16(before &+ count, NodeLayout.count)
    }
}
