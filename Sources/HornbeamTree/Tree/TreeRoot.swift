// SPDX-License-Identifier: Apache-2.0
// A tree as a snapshot sees it: its root, and the reads that need no cursor. A lookup allocates nothing and counts no
// references. Nothing here changes a page.

import HornbeamPages

/// The root of a tree. Page 0 means an empty tree.
struct TreeRoot: Equatable, Sendable {
    var page: UInt64 = 0
    var birth: UInt64 = 0
    /// Number of entries in the tree.
    var count: UInt64 = 0
    /// The level of the root; 0 is a leaf.
    var level = 0

    @inline(__always) var isEmpty: Bool { page == 0 }
}

/// Distinguishes contents of a tree. Within a life of the file, from one recovery to the next, no page is written twice
/// under one number and birth, so states with equal roots have equal entries. The next life uses births again whose
/// transactions were lost in a crash.
package struct TreeIdentity: Equatable, Sendable {
    private let root: TreeRoot

    init(_ root: TreeRoot) { self.root = root }
}

extension PageView {
    /// Returns a node, verified.
    @inline(__always)
    func node(_ page: UInt64, birth: UInt64, level: Int) throws(StorageError) -> NodeView {
        let kind = level == 0 ? PageKind.leaf : PageKind.branch
        let bytes = try self.page(page, birth: birth, kind: kind, level: UInt8(truncatingIfNeeded: level))
        return level == 0 ? NodeView(leaf: bytes) : NodeView(bytes, size: pageSize)
    }

    /// Returns a leaf of that tree, verified. Every descent ends in a leaf, so branches of another tree on the way are
    /// detected here too.
    @inline(__always)
    func leaf(_ page: UInt64, birth: UInt64, of tree: UInt32) throws(StorageError) -> NodeView {
        let leaf = try node(page, birth: birth, level: 0)
        if leaf.stamp.tree != tree { throw foreign(page, leaf) }
        return leaf
    }

    /// The error for a node of another tree.
    @inline(never)
    func foreign(_ page: UInt64, _ node: NodeView) -> StorageError {
        let reason = "it is marked as a node of tree number \(node.stamp.tree)"
        return .corrupt(Corruption(page: PagePointer.number(page), reason: reason))
    }
}

extension TreeRoot {
    /// Returns the value of `key` in the tree with this number: bytes in the mapping, in the writer's frame, or in
    /// memory of the view.
    @inline(__always)
    func get(_ key: Bytes, of tree: UInt32, in view: PageView) throws(StorageError) -> Bytes? {
        guard !isEmpty else { return nil }
        let leaf = try leaf(for: key, of: tree, in: view)
        return try value(in: leaf, at: leaf.find(key), in: view)
    }

    /// Returns the value of a key of eight bytes. `number` is the key as a big-endian number.
    @inline(__always)
    func get(number: UInt64, of tree: UInt32, in view: PageView) throws(StorageError) -> Bytes? {
        guard !isEmpty else { return nil }
        let leaf = try leaf(of: tree, in: view) { $0.childIndex(number: number) }
        return try value(in: leaf, at: leaf.find(number: number), in: view)
    }

    @inline(__always)
    private func value(
        in leaf: NodeView, at place: (index: Int, found: Bool), in view: PageView
    ) throws(StorageError) -> Bytes? {
        guard place.found else {
            if view.holdsPages { view.keepWay() }
            return nil
        }
        let cell = leaf.cell(place.index)
        let value = cell.isLong ? try LongValue.read(LongReference(cell.value), in: view) : cell.valueBytes
        return view.holdsPages ? view.keep(value) : value
    }

    /// Works like `get` in a tree whose leaves are compressed. If the leaf isn't available, decodes only the parts it
    /// needs.
    func getCompressed(_ key: Bytes, of tree: UInt32, in view: PageView) throws(StorageError) -> Bytes? {
        guard !isEmpty else { return nil }
        let place = try leafPlace(in: view) { $0.childIndex(key) }
        let leaf: NodeView
        if let known = view.knownLeaf(place.page, birth: place.birth) {
            leaf = NodeView(leaf: known)
        } else if let part = try view.partialLeaf(place.page, birth: place.birth),
            let found = try find(key, in: part, place.page, of: tree, in: view)
        {
            return try value(found, in: view)
        } else {
            leaf = try view.node(place.page, birth: place.birth, level: 0)
        }
        if leaf.stamp.tree != tree { throw view.foreign(place.page, leaf) }
        return try value(in: leaf, at: leaf.find(key), in: view)
    }

    /// The result of a search in a part of a leaf.
    private enum PartialFind {
        case nothing
        case value(Bytes)
        case long(LongReference)
    }

    /// Searches a leaf that is decoded by parts. Returns nil if that is not possible, because the parts are divided in
    /// another way than ours or can't be decoded. Decoding the whole leaf then gives the error.
    private func find(
        _ key: Bytes, in part: PartialLeaf, _ page: UInt64, of tree: UInt32, in view: PageView
    ) throws(StorageError) -> PartialFind? {
        guard let base = part.bytes.baseAddress, part.headEnd >= NodeLayout.heads else { return nil }
        let leaf = NodeView(base, size: part.bytes.count)
        // The parts that the search reads without requesting them.
        guard NodeLayout.heads + NodeLayout.entryOverhead * leaf.count <= part.headEnd, leaf.prefixSize <= part.tailSize
        else { return nil }
        if leaf.stamp.tree != tree { throw view.foreign(page, leaf) }
        var isWhole = true
        let (index, found) = leaf.find(key) { (range) in
            if isWhole, !range.isEmpty, part.load(range) { return true }
            isWhole = false
            return false
        }
        // Zeros in place of unreadable bytes have no meaning.
        try view.checkIsWhole()
        guard isWhole else { return nil }
        guard found else { return .nothing }
        let cell = leaf.cell(index)
        return cell.isLong ? .long(LongReference(cell.value)) : .value(cell.valueBytes)
    }

    /// Copies the value, because the leaf's memory is used for the next one.
    private func value(_ found: PartialFind, in view: PageView) throws(StorageError) -> Bytes? {
        switch found {
        case .nothing: return nil
        case .value(let value): return view.keepCopy(of: value)
        case .long(let reference):
            let long = try LongValue.read(reference, in: view)
            return view.holdsPages ? view.keep(long) : long
        }
    }

    /// The leaf whose range contains `key`. The tree must not be empty.
    @inline(__always)
    func leaf(for key: Bytes, of tree: UInt32, in view: PageView) throws(StorageError) -> NodeView {
        try leaf(of: tree, in: view) { $0.childIndex(key) }
    }

    /// The leaf that is reached by choosing a child in each branch.
    @inline(__always)
    private func leaf(
        of tree: UInt32, in view: PageView, _ childIndex: (NodeView) -> Int
    ) throws(StorageError) -> NodeView {
        let place = try leafPlace(in: view, childIndex)
        return try view.leaf(place.page, birth: place.birth, of: tree)
    }

    @inline(__always)
    private func leafPlace(
        in view: PageView, _ childIndex: (NodeView) -> Int
    ) throws(StorageError) -> (page: UInt64, birth: UInt64) {
        var page = page
        var birth = birth
        var level = level
        while level > 0 {
            let node = try view.node(page, birth: birth, level: level)
            let child = node.child(childIndex(node))
            page = child.page
            birth = child.birth
            level &-= 1
            view.prefetchNode(page)
        }
        return (page, birth)
    }

    /// Returns the number of entries with keys less than `key`. The tree must not be empty.
    private func rank(_ key: Bytes, of tree: UInt32, in view: PageView) throws(StorageError) -> UInt64 {
        var rank: UInt64 = 0
        var page = page
        var birth = birth
        var level = level
        while level > 0 {
            let node = try view.node(page, birth: birth, level: level)
            let index = node.childIndex(key)
            for earlier in 0..<index { rank &+= node.child(earlier).count }
            let child = node.child(index)
            page = child.page
            birth = child.birth
            level -= 1
        }
        let leaf = try view.leaf(page, birth: birth, of: tree)
        rank &+= UInt64(leaf.find(key).index)
        view.letGo()
        return rank
    }

    /// Returns the number of entries in [from, to); an empty bound is an open end.
    func count(from: Bytes, to: Bytes, of tree: UInt32, in view: PageView) throws(StorageError) -> UInt64 {
        guard !isEmpty else { return 0 }
        if !from.isEmpty, !to.isEmpty {
            return from.order(to) < 0 ? try count(within: from, to, of: tree, in: view) : 0
        }
        let start = from.isEmpty ? 0 : try rank(from, of: tree, in: view)
        let end = to.isEmpty ? count : try rank(to, of: tree, in: view)
        return end > start ? end - start : 0
    }

    /// Returns the number of entries from `from` up to `to`. `from` must be before `to`, and neither may be empty. Both
    /// descend together as long as they lead to one child. So a narrow range costs little more than a lookup, and only
    /// the children between them are counted.
    private func count(
        within from: Bytes, _ to: Bytes, of tree: UInt32, in view: PageView
    ) throws(StorageError) -> UInt64 {
        var page = page
        var birth = birth
        var level = level
        while level > 0 {
            let node = try view.node(page, birth: birth, level: level)
            let first = node.childIndex(from)
            let last = node.childIndex(to)
            guard first <= last else {
                view.letGo()
                return 0
            }
            let child = node.child(first)
            level -= 1
            if first < last {
                var upToLast: UInt64 = 0
                for index in first..<last { upToLast &+= node.child(index).count }
                let end = node.child(last)
                let before = try TreeRoot(child, level: level).rank(from, of: tree, in: view)
                let within = upToLast &+ (try TreeRoot(end, level: level).rank(to, of: tree, in: view))
                return within > before ? within - before : 0
            }
            page = child.page
            birth = child.birth
        }
        let leaf = try view.leaf(page, birth: birth, of: tree)
        let start = leaf.find(from).index
        let end = leaf.find(to).index
        view.letGo()
        return end > start ? UInt64(end - start) : 0
    }

    /// The root of a branch's child; the branch's level is one more.
    private init(_ child: ChildRecord, level: Int) {
        self.init(page: child.page, birth: child.birth, count: child.count, level: level)
    }
}
