// SPDX-License-Identifier: Apache-2.0
// The entries that differ between two states of a tree. Copy-on-write makes this cheap: subtrees that have one root
// page in both states are equal, and are skipped without reading them. So the walk reads only changed nodes and the
// paths to them, however large the tree is and however many commits lie between.
//
// The walk keeps a position in each state: a node that isn't read yet, or an entry. If both positions are one page,
// both are passed. Otherwise the node whose range begins first is opened; if both begin together, the higher one. An
// entry before the other state's node is only in its own state. A node is identified by page and birth: both states are
// pinned, and no sectors are used for two pages of one birth.

package import HornbeamPages

/// An entry that is in only one of two states, or has different values in them. Its slices are valid until the next
/// one.
package struct TreeDifference {
    package let key: Bytes
    /// The value in the earlier state; nil if that doesn't have the entry.
    package let old: Bytes?
    /// The value in the later state; nil if that doesn't have the entry.
    package let new: Bytes?
    /// Number of entries before its position in the earlier state, and in the later one.
    package let oldIndex: UInt64
    package let newIndex: UInt64
}

extension Transaction {
    /// Passes each entry in which a tree differs from another read of the store to `body`, in the order of the keys,
    /// until `body` returns false. Either read may be the earlier one. Takes time proportional to the number of changes
    /// and the tree's height. Throws `.invalid` for a write transaction, whose changes have no state yet.
    /// - Returns: the number of nodes that were read, of both states.
    @discardableResult
    package func forEachDifference(
        in tree: TreeID, since old: Transaction, _ body: (TreeDifference) throws -> Bool
    ) throws -> Int {
        guard !isWritable, !old.isWritable, isOfStore(of: old) else {
            throw StorageError.invalid("only two reads of the same store can be compared")
        }
        let (before, after) = (try old.opened(tree), try opened(tree))
        var walk = DifferenceWalk(
            old: DifferenceSide(before.pointee.root, of: tree.rawValue, in: old.view),
            new: DifferenceSide(after.pointee.root, of: tree.rawValue, in: view))
        do {
            while let difference = try walk.next() {
                guard try body(difference) else { break }
            }
        } catch let error as StorageError {
            throw explained(old.explained(error, before), after)
        }
        try old.checkIsWhole()
        try checkIsWhole()
        return walk.nodesRead
    }
}

/// The positions in both states. Belongs to one thread.
private struct DifferenceWalk: ~Copyable {
    private var old: DifferenceSide
    private var new: DifferenceSide
    /// Whether each side is on the returned entry, which the next step must pass.
    private var isOldPassed = false
    private var isNewPassed = false

    init(old: consuming DifferenceSide, new: consuming DifferenceSide) {
        self.old = old
        self.new = new
    }

    var nodesRead: Int { old.nodesRead + new.nodesRead }

    mutating func next() throws(StorageError) -> TreeDifference? {
        if isOldPassed { old.pass() }
        if isNewPassed { new.pass() }
        isOldPassed = false
        isNewPassed = false
        while true {
            switch (old.place, new.place) {
            case (.end, .end): return nil
            case (.entry, .end): return try removed()
            case (.end, .entry): return try added()
            case (.node, .end): try old.open()
            case (.end, .node): try new.open()
            case (.node(let before), .node(let after)):
                if before.isSame(as: after) {
                    old.pass()
                    new.pass()
                } else {
                    let order = old.bound.order(new.bound)
                    let level = before.level - after.level
                    if order < 0 || order == 0 && level >= 0 { try old.open() }
                    if order > 0 || order == 0 && level <= 0 { try new.open() }
                }
            case (.entry, .node): if old.key.order(new.bound) < 0 { return try removed() } else { try new.open() }
            case (.node, .entry): if new.key.order(old.bound) < 0 { return try added() } else { try old.open() }
            case (.entry, .entry):
                let order = old.key.order(new.key)
                if order < 0 { return try removed() }
                if order > 0 { return try added() }
                if let difference = try changed() { return difference }
                old.pass()
                new.pass()
            }
        }
    }

    private mutating func removed() throws(StorageError) -> TreeDifference {
        isOldPassed = true
        return TreeDifference(
            key: old.key, old: try old.value(), new: nil, oldIndex: old.passed, newIndex: new.passed)
    }

    private mutating func added() throws(StorageError) -> TreeDifference {
        isNewPassed = true
        return TreeDifference(
            key: new.key, old: nil, new: try new.value(), oldIndex: old.passed, newIndex: new.passed)
    }

    /// Returns the entry's difference, or nil if both values are equal. If both are long values in one page, neither is
    /// read.
    private mutating func changed() throws(StorageError) -> TreeDifference? {
        if let before = old.longValue, let after = new.longValue, before == after { return nil }
        let (before, after) = (try old.value(), try new.value())
        if before.count == after.count, before.order(after) == 0 { return nil }
        isOldPassed = true
        isNewPassed = true
        return TreeDifference(
            key: new.key, old: before, new: after, oldIndex: old.passed, newIndex: new.passed)
    }
}

/// A position in one state of a tree.
private struct DifferenceSide: ~Copyable {
    struct Node {
        let record: ChildRecord
        let level: Int

        func isSame(as other: Node) -> Bool {
            level == other.level && record.page == other.record.page && record.birth == other.record.birth
        }
    }

    enum Place {
        case node(Node)
        case entry
        case end
    }

    /// A branch of the path, and the index of the child with the position.
    private struct Step {
        let node: NodeView
        var index: Int
        let level: Int
        /// A lower bound of the keys below it.
        let bound: [UInt8]
    }

    private let view: PageView
    private let tree: UInt32
    private(set) var place: Place
    /// Number of entries before the position.
    private(set) var passed: UInt64 = 0
    private(set) var nodesRead = 0
    private var path: [Step] = []
    private var leaf: NodeView?
    private var index = 0
    /// Cached pages of the path.
    private var heldPath: HeldPath?
    /// Holds the entry's key: the leaf's prefix, then the suffix.
    private let keyMemory = UnsafeMutableRawPointer.allocate(byteCount: NodeLayout.longestKey, alignment: 8)
    private var keySize = 0

    init(_ root: TreeRoot, of tree: UInt32, in view: PageView) {
        self.view = view
        self.tree = tree
        let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
        place = root.isEmpty ? .end : .node(Node(record: record, level: root.level))
    }

    deinit { keyMemory.deallocate() }

    /// A lower bound of the keys below the node at the position.
    var bound: [UInt8] {
        guard let step = path.last else { return [] }
        return step.index == 0 ? step.bound : step.node.keyBytes(step.index)
    }

    /// The key of the entry at the position.
    var key: Bytes { Bytes(start: keyMemory, count: keySize) }

    /// The reference of the entry's value, if it is long.
    var longValue: LongReference? {
        guard let cell = leaf?.cell(index), cell.isLong else { return nil }
        return LongReference(cell.value)
    }

    mutating func value() throws(StorageError) -> Bytes {
        guard let cell = leaf?.cell(index) else { return Bytes(start: nil, count: 0) }
        guard cell.isLong else { return cell.valueBytes }
        let value = try LongValue.read(LongReference(cell.value), in: view)
        if view.holdsPages { pathHeld().takeLongValue() }
        return value
    }

    /// Opens the node at the position, and moves to its beginning.
    mutating func open() throws(StorageError) {
        guard case .node(let node) = place else { return }
        nodesRead += 1
        if node.level == 0 {
            let leaf = try view.leaf(node.record.page, birth: node.record.birth, of: tree)
            if view.holdsPages { pathHeld().take(level: 0) }
            keyMemory.copy(leaf.prefix)
            self.leaf = leaf
            index = 0
            settleInLeaf()
        } else {
            let bound = bound
            let branch = try view.node(node.record.page, birth: node.record.birth, level: node.level)
            if view.holdsPages { pathHeld().take(level: node.level) }
            path.append(Step(node: branch, index: 0, level: node.level, bound: bound))
            settle()
        }
    }

    /// Moves past the entry or the node at the position.
    mutating func pass() {
        switch place {
        case .end: break
        case .entry:
            passed &+= 1
            index += 1
            settleInLeaf()
        case .node(let node):
            passed &+= node.record.count
            leaveChild()
        }
    }

    private mutating func settleInLeaf() {
        guard let leaf, index < leaf.count else {
            leaf = nil
            return leaveChild()
        }
        let suffix = leaf.cell(index).suffix
        (keyMemory + leaf.prefixSize).copy(suffix)
        keySize = leaf.prefixSize + suffix.count
        place = .entry
    }

    private mutating func leaveChild() {
        if !path.isEmpty { path[path.count - 1].index += 1 }
        settle()
    }

    /// Moves to the next child of the lowest branch that has one.
    private mutating func settle() {
        while let step = path.last {
            if step.index < step.node.count {
                place = .node(Node(record: step.node.child(step.index), level: step.level - 1))
                return
            }
            path.removeLast()
            if !path.isEmpty { path[path.count - 1].index += 1 }
        }
        place = .end
    }

    private mutating func pathHeld() -> HeldPath {
        let held = heldPath ?? HeldPath(view)
        heldPath = held
        return held
    }
}

extension [UInt8] {
    fileprivate func order(_ other: [UInt8]) -> Int {
        withUnsafeBytes { left in other.withUnsafeBytes { left.order($0) } }
    }
}

extension Bytes {
    fileprivate func order(_ other: [UInt8]) -> Int { other.withUnsafeBytes { order($0) } }
}
