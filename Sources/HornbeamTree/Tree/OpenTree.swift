// SPDX-License-Identifier: Apache-2.0
// The trees that a transaction has opened: their roots as it sees and changes them, found by number in a few
// instructions. Each has a fixed address until the transaction ends, because cursors point to it.

import HornbeamPages

/// A tree as a transaction knows it.
struct OpenTree {
    /// Grows with each change of this tree by the transaction, and when the transaction ends, so that cursors notice.
    /// It comes first because cursors read it by the tree's address.
    var changes: UInt64 = 0
    /// The tree opened after it.
    var next: OpenTreePointer?
    /// The tree's number for lookups; -1 once the tree is dropped or the transaction has ended.
    var place: Int
    let number: UInt32
    var name: [UInt8]
    var root: TreeRoot
    /// Number of entries whose values have pages of their own. If it is 0, leaves can be dropped without reading them.
    var longValues: UInt64
    /// Size of a reduced value in its branches; 0 without a reduction.
    let reductionSize: Int
    /// Whether its leaves are compressed.
    let isCompressed: Bool
    /// The tree's reduction. Nil if it has none, or one that the program hasn't given the store; then it can't be
    /// changed.
    let reduction: Reduction?
    /// Whether a branch may have reduced values that no longer match its children (`TreeWriter.settleReductions`).
    var isStale = false
    /// Whether leaves of it may be in memory without a place (`TreeWriter.placeLeaves`). Only in a compressed tree.
    var hasUnplacedLeaves = false
    private let leafStamp: NodeStamp
    private let branchStamp: NodeStamp
    /// The catalogue's record of the tree.
    var stored: CatalogueRecord

    /// `reserve`: the reserve of the store's pages.
    init(number: UInt32, name: [UInt8], stored: CatalogueRecord, reduction: Reduction?, reserve: Int) {
        place = Int(number)
        self.number = number
        self.name = name
        self.stored = stored
        root = stored.root
        longValues = stored.longValues
        self.reduction = reduction
        reductionSize = stored.options.reductionSize
        isCompressed = stored.options.isCompressed
        leafStamp = NodeStamp(tree: number, reductionSize: 0, reserve: reserve)
        branchStamp = NodeStamp(tree: number, reductionSize: reductionSize, reserve: reserve)
    }

    /// The address of the tree's count of changes.
    static func changes(of tree: OpenTreePointer) -> UnsafePointer<UInt64> {
        UnsafeRawPointer(tree).assumingMemoryBound(to: UInt64.self)
    }

    /// The stamp of its nodes on that level.
    @inline(__always)
    func stamp(level: Int) -> NodeStamp { level == 0 ? leafStamp : branchStamp }

    /// The largest cell that fits in a leaf.
    @inline(__always)
    func inlineLimit(pageSize: Int) -> Int {
        NodeLayout.inlineLimit(pageSize: isCompressed ? PageWriter.compressedLeafSize : pageSize)
    }

    /// Hides the tree from lookups. Cursors notice at their next move.
    mutating func close() {
        place = -1
        changes &+= 1
    }

    /// Whether it differs from its catalogue record. (Its options never change.)
    var isChanged: Bool { root != stored.root || longValues != stored.longValues }

    /// Number of entries added since the record was stored last; negative if some were removed.
    var addedEntries: Int64 { Int64(bitPattern: root.count &- stored.root.count) }
}

typealias OpenTreePointer = UnsafeMutablePointer<OpenTree>

// Methods of the pointer: a method of `OpenTree` copies all fields of the tree first.
extension OpenTreePointer {
    /// The value of `key`; see `TreeRoot.get`.
    @inline(__always)
    func get(_ key: Bytes, in view: PageView) throws(StorageError) -> Bytes? {
        if pointee.isCompressed { return try pointee.root.getCompressed(key, of: pointee.number, in: view) }
        return try pointee.root.get(key, of: pointee.number, in: view)
    }

    @inline(__always)
    func get(number key: UInt64, in view: PageView) throws(StorageError) -> Bytes? {
        if pointee.isCompressed {
            return try withUnsafeBytes(of: key.bigEndian) { (key) throws(StorageError) in
                try pointee.root.getCompressed(key, of: pointee.number, in: view)
            }
        }
        return try pointee.root.get(number: key, of: pointee.number, in: view)
    }
}

/// A hash table of opened trees with linear probing, in the order of opening. No tree is removed alone. Numbers are
/// dense, so they are their own hash. Its state has its own memory, so that a lookup through a class's constant needs
/// no access check.
struct OpenTrees: ~Copyable {
    private struct State {
        /// The slots, a power of two. The first ones are behind the state, in the same memory.
        var slots: UnsafeMutablePointer<OpenTreePointer?>
        /// Number of slots less one.
        var mask: Int
        /// Number of trees that were opened, including dropped ones.
        var count = 0
        var first: OpenTreePointer?
        var last: OpenTreePointer?
    }

    private static var firstCapacity: Int { 8 }

    private let state: UnsafeMutablePointer<State>
    private var firstSlots: UnsafeMutablePointer<OpenTreePointer?> {
        UnsafeMutableRawPointer(state + 1).assumingMemoryBound(to: OpenTreePointer?.self)
    }

    init() {
        let size = MemoryLayout<State>.stride + Self.firstCapacity * MemoryLayout<OpenTreePointer?>.stride
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
        let slots = (memory + MemoryLayout<State>.stride).bindMemory(
            to: OpenTreePointer?.self, capacity: Self.firstCapacity)
        slots.initialize(repeating: nil, count: Self.firstCapacity)
        state = memory.bindMemory(to: State.self, capacity: 1)
        state.initialize(to: State(slots: slots, mask: Self.firstCapacity - 1))
    }

    deinit {
        removeAll()
        if state.pointee.slots != firstSlots { state.pointee.slots.deallocate() }
        state.deallocate()
    }

    /// Removes all trees. Nothing may refer to them any more.
    func removeAll() {
        guard count > 0 else { return }
        forEach { (tree) in
            tree.deinitialize(count: 1)
            tree.deallocate()
        }
        state.pointee.count = 0
        state.pointee.first = nil
        state.pointee.last = nil
        state.pointee.slots.update(repeating: nil, count: state.pointee.mask + 1)
    }

    @inline(__always)
    func find(_ number: UInt32) -> OpenTreePointer? {
        let slots = state.pointee.slots
        let mask = state.pointee.mask
        var place = Int(number) & mask
        while let tree = slots[place] {
            if tree.pointee.place == Int(number) { return tree }
            place = (place &+ 1) & mask
        }
        return nil
    }

    func insert(_ tree: consuming OpenTree) -> OpenTreePointer {
        if (count + 1) * 2 > state.pointee.mask + 1 { grow() }
        let pointer = OpenTreePointer.allocate(capacity: 1)
        pointer.initialize(to: tree)
        place(pointer)
        if let last = state.pointee.last { last.pointee.next = pointer } else { state.pointee.first = pointer }
        state.pointee.last = pointer
        state.pointee.count += 1
        return pointer
    }

    /// Hides all trees from lookups, and lets their cursors notice.
    func close() {
        forEach { (tree) in tree.pointee.close() }
    }

    /// Number of trees that were opened, including dropped ones.
    var count: Int { state.pointee.count }

    /// Passes each tree to `body`, in the order of opening.
    func forEach<Failure: Error>(_ body: (OpenTreePointer) throws(Failure) -> Void) throws(Failure) {
        var next = state.pointee.first
        while let tree = next {
            next = tree.pointee.next
            try body(tree)
        }
    }

    private func place(_ tree: OpenTreePointer) {
        let slots = state.pointee.slots
        let mask = state.pointee.mask
        var place = Int(tree.pointee.number) & mask
        while slots[place] != nil { place = (place + 1) & mask }
        slots[place] = tree
    }

    private func grow() {
        let old = state.pointee.slots
        let oldCapacity = state.pointee.mask + 1
        let capacity = oldCapacity * 2
        let slots = UnsafeMutablePointer<OpenTreePointer?>.allocate(capacity: capacity)
        slots.initialize(repeating: nil, count: capacity)
        state.pointee.slots = slots
        state.pointee.mask = capacity - 1
        for index in 0..<oldCapacity {
            if let tree = old[index] { place(tree) }
        }
        if old != firstSlots { old.deallocate() }
    }
}
