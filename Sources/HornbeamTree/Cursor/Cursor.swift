// SPDX-License-Identifier: Apache-2.0
// A cursor: a position in a tree, with the path to it. Steps within a leaf read only the leaf; there are no sibling
// pointers. In a write transaction the cursor keeps a copy of its key, and finds its position again after a change of
// the tree.
//
// Invariants while it is on an entry and the tree is unchanged: path[1...levels] leads to `leaf`, 0 <= index <
// leafCount, and the entry's parts are those of the cell at `index`.

public import HornbeamPages

/// A branch of the path.
private struct CursorStep {
    var node: UnsafeRawPointer?
    var index: Int32 = 0
    var count: Int32 = 0
}

/// The parts of an entry, and the data to tell whether they are still valid. Separate from the rest of the cursor, so
/// that reading an entry needs no call: calls were a third of a scan's instructions.
@usableFromInline
struct CursorEntry {
    /// Whether the cursor stands on an entry.
    @usableFromInline var isThere = false
    /// Whether the tree may change under the cursor, so that it must keep its key.
    @usableFromInline let keepsKey: Bool
    /// The tree's change counter, and its value when the path was made.
    @usableFromInline let changes: UnsafePointer<UInt64>
    @usableFromInline var seen: UInt64 = 0
    /// The leaf's prefix, followed by the entry's suffix once it was asked for or kept. Has the size of the longest
    /// key.
    @usableFromInline var scratch: UnsafeMutableRawPointer?
    @usableFromInline var prefixSize = 0
    @usableFromInline var suffix: UnsafeRawPointer?
    @usableFromInline var suffixSize = 0
    @usableFromInline var value = Bytes(start: nil, count: 0)

    init(keepsKey: Bool, changes: UnsafePointer<UInt64>) {
        self.keepsKey = keepsKey
        self.changes = changes
    }

    /// Whether the tree has changed since the path was made.
    @inlinable @inline(__always)
    var isStale: Bool { keepsKey && changes.pointee != seen }

    /// The whole key. The cursor must stand on an entry.
    @inlinable @inline(__always)
    var key: Bytes {
        guard prefixSize > 0 || keepsKey, let scratch else { return Bytes(start: suffix, count: suffixSize) }
        if !keepsKey, let suffix { (scratch + prefixSize).copyShort(suffix, suffixSize) }
        return Bytes(start: scratch, count: prefixSize &+ suffixSize)
    }
}

/// A place in a tree. Moves in both directions; all moves return whether it stands on an entry then. Beyond the end,
/// `previous` moves to the last entry; before the start, `next` moves to the first. A move that fails leaves it beyond
/// the end.
@usableFromInline
package struct Cursor: ~Copyable {
    enum State {
        case before
        case on
        case after
    }

    @usableFromInline let transaction: Transaction
    let tree: OpenTreePointer
    @usableFromInline var at: CursorEntry
    var state = State.before {
        didSet { at.isThere = state == .on }
    }
    private var levels = 0
    private var path = InlineArray<24, CursorStep>(repeating: CursorStep())
    /// The cached pages of the path; nil while all of it is mapped.
    private var heldPath: HeldPath?
    var leaf: UnsafeRawPointer?
    var slots: UnsafeRawPointer?
    var leafCount = 0
    var index = 0
    /// The part of the next leaf that is still to be prefetched; nil until it is known which leaf that is.
    var ahead: LeafAhead?
    /// Whether all of the leaf was prefetched when the one before was read.
    var isAtHand = false
    /// The memory in which `read` joins the parts of keys.
    var keyMemory: UnsafeMutableRawPointer?

    init(_ transaction: Transaction, _ tree: OpenTreePointer) {
        self.transaction = transaction
        self.tree = tree
        at = CursorEntry(keepsKey: transaction.isWritable, changes: OpenTree.changes(of: tree))
    }

    deinit {
        if let scratch = at.scratch { transaction.giveKeyMemory(scratch) }
        keyMemory?.deallocate()
    }

    /// Whether it stands on an entry.
    package var isValid: Bool { state == .on }

    /// The entry's key; empty if the cursor is not on an entry. Valid until the cursor moves or its transaction
    /// changes.
    package var key: Bytes { at.isThere ? at.key : Bytes(start: nil, count: 0) }

    /// The entry's value. Valid as long as `key`. After a change of the tree by its transaction, the value that the key
    /// has now.
    package var value: Bytes {
        guard at.isThere else { return Bytes(start: nil, count: 0) }
        return at.isStale ? valueNow() : at.value
    }

    /// Slow path of `value`. If a page can't be read, the next move reports that.
    private func valueNow() -> Bytes {
        let found = try? tree.get(key, in: transaction.view)
        return (found ?? nil) ?? Bytes(start: nil, count: 0)
    }

    /// Returns the entry it stands on, as the transaction has it now. Returns nil if it stands on none, or if the entry
    /// was deleted since. (Mutating, because a call of a noncopyable value behind a pointer would copy all of it.)
    @inlinable @inline(__always)
    package mutating func entry() throws(StorageError) -> (key: Bytes, value: Bytes)? {
        guard at.isThere else { return nil }
        if at.isStale { return try entryNow() }
        let entry = (at.key, at.value)
        // Moves don't check this, and the entry that they found may be zeros.
        try transaction.checkIsWhole()
        return entry
    }

    @usableFromInline
    mutating func entryNow() throws(StorageError) -> (key: Bytes, value: Bytes)? {
        try transaction.answer(tree) { () throws(StorageError) in
            let found = try tree.get(key, in: transaction.view)
            guard let value = found else { return nil }
            return (key, value)
        }
    }

    // MARK: - Moving

    /// Moves to the first entry whose key is not less than `key`.
    package mutating func seek(_ key: Bytes) throws(StorageError) -> Bool {
        do throws(StorageError) {
            _ = try descend(key)
            return try settleForward()
        } catch { throw failed(error) }
    }

    /// Moves to the first entry whose key is not less than `key`, for a key near the cursor's entry. Searches its leaf
    /// first: if the key is between two entries of that leaf, no page is read (a finger search).
    package mutating func seekNear(_ key: Bytes) throws(StorageError) -> Bool {
        if state == .on, let leaf, tree.pointee.changes == at.seen {
            let (place, found) = NodeView(leaf: leaf).find(key)
            if found || place > 0 && place < leafCount {
                index = place
                return try settle()
            }
        }
        return try seek(key)
    }

    /// Moves to the last entry whose key is not greater than `key`.
    package mutating func seekLast(_ key: Bytes) throws(StorageError) -> Bool {
        do throws(StorageError) {
            if try !descend(key) { index -= 1 }
            return try settleBackward()
        } catch { throw failed(error) }
    }

    /// Moves to the entry at an index of the tree, from 0. Takes time by the tree's height.
    package mutating func seek(index wanted: UInt64) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try startPath()
            guard wanted < tree.pointee.root.count else {
                state = .after
                return false
            }
            try descend(to: wanted)
            return try settle()
        } catch { throw failed(error) }
    }

    package mutating func first() throws(StorageError) -> Bool {
        do throws(StorageError) {
            try startPath()
            try descendEdge(isLast: false)
            return try settleForward()
        } catch { throw failed(error) }
    }

    package mutating func last() throws(StorageError) -> Bool {
        do throws(StorageError) {
            try startPath()
            try descendEdge(isLast: true)
            return try settleBackward()
        } catch { throw failed(error) }
    }

    @inline(__always)
    package mutating func next() throws(StorageError) -> Bool {
        let following = index &+ 1
        if state == .on, following < leafCount, tree.pointee.changes == at.seen {
            index = following
            ahead?.advance()
            return try settle()
        }
        return try nextSlowly()
    }

    @inline(__always)
    package mutating func previous() throws(StorageError) -> Bool {
        if state == .on, index > 0, tree.pointee.changes == at.seen {
            index &-= 1
            ahead?.advance()
            return try settle()
        }
        return try previousSlowly()
    }

    private mutating func nextSlowly() throws(StorageError) -> Bool {
        switch state {
        case .before: return try first()
        case .after: return false
        case .on: break
        }
        do throws(StorageError) {
            if tree.pointee.changes == at.seen {
                index += 1
            } else if try findAgain() {
                index += 1
            }
            return try settleForward()
        } catch { throw failed(error) }
    }

    private mutating func previousSlowly() throws(StorageError) -> Bool {
        switch state {
        case .before: return false
        case .after: return try last()
        case .on: break
        }
        do throws(StorageError) {
            if tree.pointee.changes != at.seen { _ = try findAgain() }
            index -= 1
            return try settleBackward()
        } catch { throw failed(error) }
    }

    /// Goes to the kept key after a change. Returns whether the key is still there.
    private mutating func findAgain() throws(StorageError) -> Bool {
        guard let scratch = at.scratch else {
            // Only the end of a transaction changes a tree for which no key was kept.
            try transaction.ensureOpen()
            return false
        }
        return try descend(Bytes(start: scratch, count: at.prefixSize + at.suffixSize))
    }

    /// Notes that a move failed: the cursor stands on no entry then.
    private mutating func failed(_ error: StorageError) -> StorageError {
        state = .after
        return transaction.explained(error, tree)
    }

    // MARK: - The path

    private mutating func startPath() throws(StorageError) {
        try transaction.ensureOpen()
        try transaction.checkGoesOn()
        at.seen = tree.pointee.changes
        levels = tree.pointee.root.level
        leafCount = 0
        index = 0
        // The prefetched leaf is the neighbour of the leaf that the cursor leaves.
        ahead = nil
    }

    private mutating func push(_ level: Int, _ node: NodeView, _ index: Int) -> ChildRecord {
        if transaction.view.holdsPages { takePage(level) }
        path[level] = CursorStep(
            node: node.base, index: Int32(truncatingIfNeeded: index), count: Int32(truncatingIfNeeded: node.count))
        return node.child(index)
    }

    /// Takes over the cached page that was read last.
    private mutating func takePage(_ level: Int) {
        let held = heldPath ?? HeldPath(transaction.view)
        heldPath = held
        held.take(level: level)
    }

    private mutating func enter(_ leaf: NodeView) {
        if transaction.view.holdsPages { takePage(0) }
        self.leaf = leaf.base
        isAtHand = ahead?.isDone(leaf.base) ?? false
        ahead = nil
        leafCount = leaf.count
        slots = leaf.base + (NodeLayout.heads + NodeLayout.headSize * leafCount)
        at.prefixSize = leaf.prefixSize
        guard at.prefixSize > 0 || at.keepsKey else { return }
        let target = at.scratch ?? transaction.takeKeyMemory()
        at.scratch = target
        target.copy(leaf.prefix)
    }

    /// The record of the root.
    private var top: ChildRecord {
        let root = tree.pointee.root
        return ChildRecord(page: root.page, birth: root.birth, count: root.count)
    }

    /// Goes to the first entry not less than `key`, or past the end of its leaf. Returns whether the keys are equal.
    private mutating func descend(_ key: Bytes) throws(StorageError) -> Bool {
        try startPath()
        guard !tree.pointee.root.isEmpty else { return false }
        let view = transaction.view
        var record = top
        var level = levels
        while level > 0 {
            let node = try view.node(record.page, birth: record.birth, level: level)
            record = push(level, node, node.childIndex(key))
            view.prefetchNode(record.page)
            level -= 1
        }
        let leaf = try view.leaf(record.page, birth: record.birth, of: tree.pointee.number)
        // The key may be in the scratch memory that `enter` fills.
        let (place, found) = leaf.find(key)
        enter(leaf)
        index = place
        return found
    }

    /// Goes to the entry at the wanted index, by the counts.
    private mutating func descend(to wanted: UInt64) throws(StorageError) {
        let view = transaction.view
        var rest = wanted
        var record = top
        var level = levels
        while level > 0 {
            let node = try view.node(record.page, birth: record.birth, level: level)
            record = push(level, node, node.childIndex(ofEntry: &rest))
            level -= 1
        }
        enter(try view.leaf(record.page, birth: record.birth, of: tree.pointee.number))
        guard rest < UInt64(leafCount) else {
            throw .corrupt(Corruption(page: record.page, reason: "the counts of entries above it are wrong"))
        }
        index = Int(rest)
    }

    /// Goes to the first or last entry of the tree.
    private mutating func descendEdge(isLast: Bool) throws(StorageError) {
        guard !tree.pointee.root.isEmpty else { return }
        try descendEdge(top, from: levels, isLast: isLast)
    }

    private mutating func descendEdge(_ record: ChildRecord, from: Int, isLast: Bool) throws(StorageError) {
        let view = transaction.view
        var record = record
        var level = from
        while level > 0 {
            let node = try view.node(record.page, birth: record.birth, level: level)
            record = push(level, node, isLast ? node.count - 1 : 0)
            level -= 1
        }
        enter(try view.leaf(record.page, birth: record.birth, of: tree.pointee.number))
        index = isLast ? leafCount - 1 : 0
    }

    /// Goes to the leaf beside this one. Returns false at the tree's end.
    private mutating func turnLeaf(isForward: Bool) throws(StorageError) -> Bool {
        try transaction.checkGoesOn()
        var level = 1
        while level <= levels {
            let step = path[level]
            let place = step.index + (isForward ? 1 : -1)
            if place >= 0, place < step.count, let base = step.node {
                path[level].index = place
                let node = NodeView(base, size: transaction.view.pageSize)
                let record = node.child(Int(place))
                try descendEdge(record, from: level - 1, isLast: !isForward)
                lookAhead(isForward: isForward)
                return true
            }
            level += 1
        }
        // The end may come from zeros in place of an unreadable page.
        try transaction.view.checkIsWhole()
        return false
    }

    /// Notes which leaf comes after this one, if they have one branch as parent.
    mutating func lookAhead(isForward: Bool) {
        let step = path[1]
        let after = step.index + (isForward ? 1 : -1)
        guard levels > 0, let base = step.node, after >= 0, after < step.count else {
            ahead = LeafAhead()
            return
        }
        let view = transaction.view
        let leaf = NodeView(base, size: view.pageSize).child(Int(after)).page
        ahead = view.mappedPage(leaf).map { LeafAhead($0, entries: leafCount) } ?? LeafAhead()
    }

    /// Stops on the entry at `index`, or on the first one of the next leaf.
    private mutating func settleForward() throws(StorageError) -> Bool {
        if index >= leafCount, try !turnLeaf(isForward: true) {
            state = .after
            return false
        }
        return try settle()
    }

    /// Stops on the entry at `index`, or on the last one of the leaf before.
    private mutating func settleBackward() throws(StorageError) -> Bool {
        if index < 0 || leafCount == 0, try !turnLeaf(isForward: false) {
            state = .before
            return false
        }
        return try settle()
    }

    /// Reads the entry's parts.
    @inline(__always)
    mutating func settle() throws(StorageError) -> Bool {
        guard let leaf, let slots else { return false }
        let cell = CellView(leaf + slots.read16(NodeLayout.slotSize &* index))
        // First, because it may fail: a new key must never be combined with an old value.
        at.value = cell.isLong ? try longValue(cell) : cell.valueBytes
        at.suffix = cell.start + NodeLayout.cellHeader
        at.suffixSize = cell.suffixSize
        state = .on
        if at.keepsKey, let scratch = at.scratch {
            (scratch + at.prefixSize).copyShort(cell.start + NodeLayout.cellHeader, at.suffixSize)
        }
        return true
    }

    /// The cell's value. If it can't be read, the move fails.
    private mutating func longValue(_ cell: CellView) throws(StorageError) -> Bytes {
        let view = transaction.view
        do throws(StorageError) {
            let value = try LongValue.read(LongReference(cell.value), in: view)
            if view.holdsPages {
                let held = heldPath ?? HeldPath(view)
                heldPath = held
                held.takeLongValue()
            }
            return value
        } catch {
            throw failed(error)
        }
    }
}

extension Cursor {
    package mutating func seek(_ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withBytes { (k) throws(StorageError) in try seek(k) }
    }
    package mutating func seekNear(_ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withBytes { (k) throws(StorageError) in try seekNear(k) }
    }
    package mutating func seekLast(_ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withBytes { (k) throws(StorageError) in try seekLast(k) }
    }
}
