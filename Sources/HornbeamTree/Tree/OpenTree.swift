// SPDX-License-Identifier: Apache-2.0
// The trees a transaction has opened: their roots as it sees and changes them, found by number in a few instructions.
// Each lies at an address of its own until the transaction goes, because cursors point to it.

/// A tree as a transaction knows it.
struct OpenTree {
    /// What lookups go by: the number, or -1 once the tree is dropped or the transaction has ended.
    var place: Int
    let number: UInt32
    let name: [UInt8]
    var root: TreeRoot
    /// Entries whose values have pages of their own. If there is none, leaves can be dropped unread.
    var longValues: UInt64
    /// Grows with each change of this tree by the transaction, and when that ends: how cursors notice.
    var changes: UInt64 = 0
    /// What the catalogue says.
    var stored: CatalogueRecord

    init(number: UInt32, name: [UInt8], stored: CatalogueRecord) {
        place = Int(number)
        self.number = number
        self.name = name
        self.stored = stored
        root = stored.root
        longValues = stored.longValues
    }

    /// Lookups don't find it any more; cursors notice at their next move.
    mutating func close() {
        place = -1
        changes &+= 1
    }

    var record: CatalogueRecord { CatalogueRecord(number: number, root: root, longValues: longValues) }
}

typealias OpenTreePointer = UnsafeMutablePointer<OpenTree>

/// A hash table of opened trees with linear probing; nothing is ever taken out. Numbers are dense, so they are their
/// own hash.
struct OpenTrees: ~Copyable {
    private var slots: UnsafeMutablePointer<OpenTreePointer?>?
    /// Slots; a power of two, or 0.
    private var capacity = 0
    private var count = 0

    init() {}

    deinit {
        guard let slots else { return }
        forEach { (tree) in
            tree.deinitialize(count: 1)
            tree.deallocate()
        }
        slots.deallocate()
    }

    @inline(__always)
    func find(_ number: UInt32) -> OpenTreePointer? {
        guard let slots else { return nil }
        let mask = capacity &- 1
        var place = Int(number) & mask
        while let tree = slots[place] {
            if tree.pointee.place == Int(number) { return tree }
            place = (place &+ 1) & mask
        }
        return nil
    }

    /// Makes all trees unfindable and their cursors notice.
    func close() {
        forEach { (tree) in tree.pointee.close() }
    }

    mutating func insert(_ tree: OpenTree) -> OpenTreePointer {
        if count * 2 >= capacity { grow() }
        let pointer = OpenTreePointer.allocate(capacity: 1)
        pointer.initialize(to: tree)
        place(pointer)
        count += 1
        return pointer
    }

    /// Every tree that was opened, dropped ones too.
    func forEach<Failure: Error>(_ body: (OpenTreePointer) throws(Failure) -> Void) throws(Failure) {
        guard let slots else { return }
        for index in 0..<capacity {
            if let tree = slots[index] { try body(tree) }
        }
    }

    private func place(_ tree: OpenTreePointer) {
        guard let slots else { return }
        let mask = capacity - 1
        var place = Int(tree.pointee.number) & mask
        while slots[place] != nil { place = (place + 1) & mask }
        slots[place] = tree
    }

    private mutating func grow() {
        let old = slots
        let oldCapacity = capacity
        capacity = max(16, capacity * 2)
        let new = UnsafeMutablePointer<OpenTreePointer?>.allocate(capacity: capacity)
        new.initialize(repeating: nil, count: capacity)
        slots = new
        guard let old else { return }
        for index in 0..<oldCapacity {
            if let tree = old[index] { place(tree) }
        }
        old.deallocate()
    }
}
