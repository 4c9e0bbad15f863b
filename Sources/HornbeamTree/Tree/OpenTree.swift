// SPDX-License-Identifier: Apache-2.0
// The trees that a transaction has opened: their roots as it sees and changes them, found by number in a few
// instructions. Each has a fixed address until the transaction ends, because cursors point to it.

import HornbeamPages

/// A tree as a transaction knows it.
struct OpenTree {
    /// Grows with each change of this tree by the transaction, and when that ends: how cursors notice. First, because
    /// they look at it by its address.
    var changes: UInt64 = 0
    /// The number for lookups, or -1 once the tree is dropped or the transaction has ended.
    var place: Int
    let number: UInt32
    var name: [UInt8]
    var root: TreeRoot
    /// Entries whose values have pages of their own. If there is none, leaves can be dropped unread.
    var longValues: UInt64
    /// Size of a reduced value in its branches; 0 without a reduction.
    let reductionSize: Int
    /// Whether its leaves are compressed.
    let isCompressed: Bool
    /// The tree's reduction. Nil if it has none, or one that the program hasn't given the store. In the second case the
    /// tree can't be changed.
    let reduction: Reduction?
    /// Whether a branch may hold reduced values that its children's are not any more (`TreeWriter.settleReductions`).
    var isStale = false
    /// Whether leaves of it may be in memory without a place (`TreeWriter.placeLeaves`); only if it is compressed.
    var hasUnplacedLeaves = false
    private let leafStamp: NodeStamp
    private let branchStamp: NodeStamp
    /// The catalogue's record of the tree.
    var stored: CatalogueRecord

    /// `reserve`: that of the store's pages.
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

    /// The stamp of its nodes of that level.
    @inline(__always)
    func stamp(level: Int) -> NodeStamp { level == 0 ? leafStamp : branchStamp }

    /// The largest cell that a leaf takes.
    @inline(__always)
    func inlineLimit(pageSize: Int) -> Int {
        NodeLayout.inlineLimit(pageSize: isCompressed ? PageWriter.compressedLeafSize : pageSize)
    }

    /// Lookups don't find it any more; cursors notice at their next move.
    mutating func close() {
        place = -1
        changes &+= 1
    }

    /// Whether the catalogue says something else of it. (Its options stay as they were created.)
    var isChanged: Bool { root != stored.root || longValues != stored.longValues }

    /// Entries added since the record was stored last; negative if some were removed.
    var addedEntries: Int64 { Int64(bitPattern: root.count &- stored.root.count) }

    var record: CatalogueRecord {
        CatalogueRecord(number: number, options: stored.options, root: root, longValues: longValues)
    }
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

/// A hash table of opened trees with linear probing, in the order in which they were opened; no tree is removed alone.
/// Numbers are dense, so they are their own hash. Its state is in memory of its own, so that a lookup through a class's
/// constant needs no access check.
struct OpenTrees: ~Copyable {
    private struct State {
        /// The slots, a power of two of them; nil until the first tree is opened.
        var slots: UnsafeMutablePointer<OpenTreePointer?>?
        /// Number of slots less one.
        var mask = -1
        var opened: [OpenTreePointer] = []
    }

    private static var firstCapacity: Int { 8 }

    private let state: UnsafeMutablePointer<State>

    init() {
        state = .allocate(capacity: 1)
        state.initialize(to: State())
    }

    deinit {
        removeAll()
        state.pointee.slots?.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Removes all trees. Nothing may refer to them any more.
    func removeAll() {
        guard count > 0 else { return }
        forEach { (tree) in
            tree.deinitialize(count: 1)
            tree.deallocate()
        }
        state.pointee.opened.removeAll(keepingCapacity: true)
        state.pointee.slots?.update(repeating: nil, count: state.pointee.mask + 1)
    }

    @inline(__always)
    func find(_ number: UInt32) -> OpenTreePointer? {
        guard let slots = state.pointee.slots else { return nil }
        let mask = state.pointee.mask
        var place = Int(number) & mask
        while let tree = slots[place] {
            if tree.pointee.place == Int(number) { return tree }
            place = (place &+ 1) & mask
        }
        return nil
    }

    func insert(_ tree: OpenTree) -> OpenTreePointer {
        if (count + 1) * 2 > state.pointee.mask + 1 { grow() }
        let pointer = OpenTreePointer.allocate(capacity: 1)
        pointer.initialize(to: tree)
        place(pointer)
        state.pointee.opened.append(pointer)
        return pointer
    }

    /// Makes all trees unfindable and their cursors notice.
    func close() {
        forEach { (tree) in tree.pointee.close() }
    }

    /// Trees that were opened, dropped ones too.
    var count: Int { state.pointee.opened.count }

    /// Each of them, in the order in which they were opened.
    func forEach<Failure: Error>(_ body: (OpenTreePointer) throws(Failure) -> Void) throws(Failure) {
        for index in 0..<count { try body(state.pointee.opened[index]) }
    }

    private func place(_ tree: OpenTreePointer) {
        guard let slots = state.pointee.slots else { return }
        let mask = state.pointee.mask
        var place = Int(tree.pointee.number) & mask
        while slots[place] != nil { place = (place + 1) & mask }
        slots[place] = tree
    }

    private func grow() {
        let old = state.pointee.slots
        let oldCapacity = state.pointee.mask + 1
        let capacity = max(Self.firstCapacity, oldCapacity * 2)
        let slots = UnsafeMutablePointer<OpenTreePointer?>.allocate(capacity: capacity)
        slots.initialize(repeating: nil, count: capacity)
        state.pointee.slots = slots
        state.pointee.mask = capacity - 1
        guard let old else { return }
        for index in 0..<oldCapacity {
            if let tree = old[index] { place(tree) }
        }
        old.deallocate()
    }
}
