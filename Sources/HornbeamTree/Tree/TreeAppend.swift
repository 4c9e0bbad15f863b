// SPDX-License-Identifier: Apache-2.0
// Loading sorted entries: nodes are filled completely from left to right. The path to the leaf is kept from one entry
// to the next, so that most need no descent, and those after all others also need no search.

import HornbeamPages

/// The tree for which the writer's path leads to the leaf that was changed last. Any descent replaces the path, and any
/// other change of the tree raises its counter.
struct KeptPath {
    var tree: OpenTreePointer
    /// The tree's change counter when the path was last right.
    var changes: UInt64
    /// Whether the leaf is the tree's last.
    var isLast: Bool
}

extension TreeWriter {
    /// Inserts an entry after all others. Returns false, without any change, if the key isn't the greatest. The
    /// transaction must have counted one change of the tree for it.
    func append(_ tree: OpenTreePointer, _ key: Bytes, _ value: Bytes) throws(StorageError) -> Bool {
        guard !tree.pointee.root.isEmpty else {
            try plant(tree, key, value)
            return true
        }
        if keepsPath(tree, toLast: true) {
            guard editor(0).view.isBehindAll(key) else { return false }
        } else {
            let (index, found) = try descend(tree, key)
            guard !found, isRightEdge(tree, level: 0, index: index) else { return false }
            try ownPath(tree)
        }
        try putLast(tree, key, value)
        return true
    }

    /// Whether the path still leads to the leaf of the tree that was changed last and, with `toLast`, to its last leaf.
    /// The transaction must have counted one change of the tree since.
    @inline(__always)
    func keepsPath(_ tree: OpenTreePointer, toLast: Bool) -> Bool {
        guard let kept else { return false }
        return kept.tree == tree && kept.changes &+ 1 == tree.pointee.changes && (kept.isLast || !toLast)
    }

    /// The index of a key in the kept path's leaf. Returns nil if the key may belong to another leaf. It certainly
    /// belongs to this one if it is between its first and its last entry.
    @inline(__always)
    func keptPlace(_ tree: OpenTreePointer, _ key: Bytes) -> (index: Int, found: Bool)? {
        guard keepsPath(tree, toLast: false), editor(0).sharesPrefix(key) else { return nil }
        return placeWithin(editor(0).view, key)
    }

    private func placeWithin(_ leaf: NodeView, _ key: Bytes) -> (index: Int, found: Bool)? {
        // Keys of other leaves need no search.
        let rest = Bytes(rebasing: key[leaf.prefixSize...])
        guard leaf.cell(0).suffix.order(rest) <= 0, leaf.cell(leaf.count &- 1).suffix.order(rest) >= 0 else {
            return nil
        }
        let (index, found) = leaf.find(key)
        path[0].index = index
        return (index, found)
    }

    /// Inserts an entry after all others. The path must lead to the last leaf, and its nodes must belong to this
    /// transaction.
    func putLast(_ tree: OpenTreePointer, _ key: Bytes, _ value: Bytes) throws(StorageError) {
        if tree.pointee.reductionSize > 0 { markStale(tree) }
        let stored = try store(tree, value, keySize: key.count)
        addToCounts(tree, 1)
        kept = KeptPath(tree: tree, changes: tree.pointee.changes, isLast: true)
        try push(tree, key, stored)
    }

    /// Adds an entry after the last one of the path's leaf.
    private func push(_ tree: OpenTreePointer, _ key: Bytes, _ value: CellValue) throws(StorageError) {
        let leaf = editor(0)
        let count = leaf.view.count
        guard leaf.sharesPrefix(key) else { return try insert(tree, level: 0, at: count, key, value) }
        switch leaf.fits(keySize: key.count, valueSize: value.bytes.count) {
        case .asIs: leaf.insert(at: count, key: key, value: value)
        case .compacted: try insert(tree, level: 0, at: count, key, value)
        case .no:
            appendedBytes &+= leaf.view.size
            // The leaf stays as it is, and the entry begins the next one.
            var list = emptyList(tree, level: 0)
            list.append(leaf.view, count - 1..<count)
            list.insert(at: 1, key: key, value: value)
            try split(tree, level: 0, list, at: 1, keepsLeft: true)
        }
    }
}

extension NodeView {
    /// Whether a key comes after all keys of a leaf.
    @inline(__always)
    func isBehindAll(_ key: Bytes) -> Bool {
        guard let start = key.baseAddress else { return false }
        let prefix = prefix
        let shared = min(prefix.count, key.count)
        if shared > 0, let other = prefix.baseAddress {
            let order = start.order(other, shared)
            if order != 0 { return order > 0 }
        }
        guard key.count >= prefix.count else { return false }
        return cell(count &- 1).suffix.order(Bytes(start: start + prefix.count, count: key.count &- prefix.count)) < 0
    }
}
