// SPDX-License-Identifier: Apache-2.0
// Folding computes the reduced value of a node from its entries or child records, and that of a range of keys from the
// stored values of subtrees that are entirely in it. For any range it reads two paths of nodes.

import HornbeamPages

/// Memory and functions for folding. Belongs to one thread.
final class ReductionFold {
    let reduction: Reduction
    let view: PageView
    private let branchStamp: NodeStamp
    private let leafStamp: NodeStamp
    private let key: UnsafeMutableRawPointer
    /// The reduced value of one entry.
    private let entry: UnsafeMutableRawPointer
    /// Number of nodes read so far.
    private(set) var nodesRead = 0
    /// The folder of a reduction whose values may be absent. Nil if this program doesn't know the reduction.
    let folder: (any ReductionFolder)?

    /// - Parameter folder: the reader's own. Otherwise one is made if the reduction has one.
    init(_ reduction: Reduction, tree: UInt32, view: PageView, folder: (any ReductionFolder)? = nil) {
        self.reduction = reduction
        self.folder = folder ?? reduction.makeFolder?()
        self.view = view
        branchStamp = NodeStamp(tree: tree, reductionSize: reduction.size, reserve: view.reserve)
        leafStamp = NodeStamp(tree: tree, reductionSize: 0, reserve: view.reserve)
        key = .allocate(byteCount: NodeLayout.longestKey, alignment: 16)
        entry = .allocate(byteCount: NodeLayout.maximumReduction, alignment: 16)
    }

    deinit {
        key.deallocate()
        entry.deallocate()
    }

    /// Returns a node of the tree. If it is a branch, its reduced values have the reduction's size.
    func node(_ record: ChildRecord, level: Int) throws(StorageError) -> NodeView {
        nodesRead += 1
        let node = try view.node(record.page, birth: record.birth, level: level)
        guard node.stamp == (level == 0 ? leafStamp : branchStamp) else {
            throw .corrupt(Corruption(page: record.page, reason: "it is not marked as a node of this tree"))
        }
        return node
    }

    func start(_ target: UnsafeMutableRawPointer) { reduction.identity.withUnsafeBytes { target.copy($0) } }

    /// Writes the reduced value of all entries below a node.
    func fold(_ node: NodeView, level: Int, into target: UnsafeMutableRawPointer) throws(StorageError) {
        if reduction.isOptional { return try foldOptional(node, level: level, into: target) }
        start(target)
        try add(node, 0..<node.count, level: level, to: target)
    }

    /// The reduced value of all entries below a node.
    func value(of record: ChildRecord, level: Int) throws(StorageError) -> [UInt8] {
        let mark = view.heldMark
        let target = UnsafeMutableRawPointer.allocate(byteCount: reduction.size, alignment: 16)
        defer {
            target.deallocate()
            view.letGo(to: mark)
        }
        try fold(try node(record, level: level), level: level, into: target)
        return Array(Bytes(start: target, count: reduction.size))
    }

    /// Adds a node's entries, or the stored reduced values of its children.
    private func add(
        _ node: NodeView, _ range: Range<Int>, level: Int, to target: UnsafeMutableRawPointer
    ) throws(StorageError) {
        guard level == 0 else {
            for index in range { reduction.combine(target, node.cell(index).value + NodeLayout.childSize) }
            return
        }
        try forEachEntry(node, range) { (key, value) in
            reduction.map(key, value, entry)
            reduction.combine(target, entry)
        }
    }

    /// Passes entries of a leaf to `body`.
    /// - Parameter withKeys: if false, `body` gets empty keys, which saves joining their parts.
    @inline(__always)
    func forEachEntry(
        _ node: NodeView, _ range: Range<Int>, withKeys: Bool = true, _ body: (_ key: Bytes, _ value: Bytes) -> Void
    ) throws(StorageError) {
        let prefixSize = node.prefixSize
        if withKeys { key.copy(node.prefix) }
        for index in range {
            let cell = node.cell(index)
            var whole = Bytes(start: key, count: 0)
            if withKeys {
                (key + prefixSize).copy(cell.suffix)
                whole = Bytes(start: key, count: prefixSize + cell.suffixSize)
            }
            guard cell.isLong else {
                body(whole, cell.valueBytes)
                continue
            }
            // Holds one long value at a time, not all of the leaf's together.
            let mark = view.heldMark
            body(whole, try LongValue.read(LongReference(cell.value), in: view))
            view.letGo(to: mark)
        }
    }

    /// The entries of a leaf in [from, to); nil is an open end.
    static func entries(_ leaf: NodeView, _ from: Bytes?, _ to: Bytes?) -> Range<Int> {
        let first = from.map { leaf.find($0).index } ?? 0
        let end = to.map { leaf.find($0).index } ?? leaf.count
        return first..<max(first, end)
    }

    /// Adds the reduced value of the entries of [from, to) below a node; nil is an open end.
    func add(
        _ record: ChildRecord, level: Int, from: Bytes?, to: Bytes?, to target: UnsafeMutableRawPointer
    ) throws(StorageError) {
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try node(record, level: level)
        guard level > 0 else { return try add(node, Self.entries(node, from, to), level: 0, to: target) }
        // The children with the bounds in them are read. For those between, their records are enough.
        let left = from.map { node.childIndex($0) }
        let right = to.map { node.childIndex($0) }
        if let left, left == right {
            return try add(node.child(left), level: level - 1, from: from, to: to, to: target)
        }
        if let left { try add(node.child(left), level: level - 1, from: from, to: nil, to: target) }
        let whole = (left.map { $0 + 1 } ?? 0)..<(right ?? node.count)
        try add(node, whole, level: level, to: target)
        if let right { try add(node.child(right), level: level - 1, from: nil, to: to, to: target) }
    }
}

extension TreeWriter {
    /// Marks the reduced values on the path as stale, before the leaf changes.
    func markStale(_ tree: OpenTreePointer) {
        var level = tree.pointee.root.level
        while level > 0 {
            editor(level).markStale(path[level].index)
            level -= 1
        }
        tree.pointee.isStale = true
    }

    /// Computes the reduced values that changes have left stale. Called before these values are used, and before the
    /// transaction gives up the pages that have them.
    func settleReductions(_ tree: OpenTreePointer) throws(StorageError) {
        guard tree.pointee.isStale, let reduction = tree.pointee.reduction else { return }
        let root = tree.pointee.root
        if !root.isEmpty {
            let fold = ReductionFold(reduction, tree: tree.pointee.number, view: view)
            let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
            try settle(fold, record, level: root.level)
        }
        tree.pointee.isStale = false
    }

    private func settle(_ fold: ReductionFold, _ record: ChildRecord, level: Int) throws(StorageError) {
        guard level > 0 else { return }
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try fold.node(record, level: level)
        for index in 0..<node.count where node.isStale(index) {
            guard let own = pages.frame(record.page), UnsafeRawPointer(own) == node.base else {
                throw .corrupt(
                    Corruption(page: record.page, reason: "a page of an earlier transaction has stale values"))
            }
            let child = node.child(index)
            try settle(fold, child, level: level - 1)
            let place = own + (node.cell(index).value - node.base)
            let below = try fold.node(child, level: level - 1)
            try fold.fold(below, level: level - 1, into: place + NodeLayout.childSize)
            child.write(to: place)
        }
    }
}
