// SPDX-License-Identifier: Apache-2.0
// Links that wait to be put into the trees, or to be removed. Saving a graph makes links of several relations in turn,
// each with an entry or two in as many trees, and a cascade removes them in the same way. One by one, each entry takes
// a descent of its own. If entries are gathered and processed tree by tree in the order of their keys, most of them
// need none.
//
// Only links that are known to be new are gathered to be put, because then nothing has to be looked up. Mostly that is
// known at no cost: a new entity has a greater row id than all that have links. Waiting links are either all to be put,
// or all to be removed: gathering one kind settles the other.

import HornbeamPages
import HornbeamTree

/// Entries of one tree that wait to be put, with distinct keys, because a link exists once. Or keys whose entries wait
/// to be removed; these may repeat.
final class WaitingEntries {
    private struct Entry {
        var row: UInt64
        var place: UInt64
        var otherRow: UInt64
        var otherPlace: UInt64
        var list: UInt64

        @inline(__always)
        func precedes(_ other: Entry) -> Bool {
            if row != other.row { return row < other.row }
            return list != other.list ? list < other.list : place < other.place
        }

        @inline(__always)
        func hasKey(of other: Entry) -> Bool { row == other.row && place == other.place && list == other.list }

        /// Byte number `number` of its key, counted from the end.
        @inline(__always)
        func byte(_ number: Int) -> Int {
            let part = number < 8 ? place : number < 10 ? list : row
            let place = number < 8 ? number : number < 10 ? number &- 8 : number &- 10
            return Int(truncatingIfNeeded: part &>> UInt64(8 &* place)) & 0xFF
        }
    }

    let tree: TreeID
    @exclusivity(unchecked) private var memory: UnsafeMutablePointer<Entry>?
    @exclusivity(unchecked) private var capacity = 0
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var isAscending = true

    init(_ tree: TreeID) {
        self.tree = tree
    }

    deinit { memory?.deallocate() }

    @inline(__always)
    func add(_ list: LinkList, _ end: LinkEnd, _ other: LinkEnd) {
        if count == capacity { grow() }
        guard let memory else { return }
        let entry = Entry(
            row: end.row.rawValue, place: end.place, otherRow: other.row.rawValue, otherPlace: other.place,
            list: UInt64(list.number))
        if count > 0, isAscending, !memory[count &- 1].precedes(entry) { isAscending = false }
        (memory + count).initialize(to: entry)
        count &+= 1
    }

    private func grow() {
        let larger = max(16, capacity * 2)
        let new = UnsafeMutablePointer<Entry>.allocate(capacity: larger)
        if let memory {
            new.moveInitialize(from: memory, count: count)
            memory.deallocate()
        }
        memory = new
        capacity = larger
    }

    /// Removes all entries, and keeps their memory for the next ones.
    func removeAll() {
        count = 0
        isAscending = true
    }

    /// Whether an entry belongs to a row in a list. Returns nil if that takes too long to find out.
    func has(_ list: LinkList, _ row: RowID) -> Bool? {
        guard count > 0, let memory else { return false }
        let number = UInt64(list.number)
        guard isAscending else {
            guard count <= Self.fewEntries else { return nil }
            for index in 0..<count where memory[index].row == row.rawValue && memory[index].list == number {
                return true
            }
            return false
        }
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let (other, otherList) = (memory[middle].row, memory[middle].list)
            if other < row.rawValue || other == row.rawValue && otherList < number {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low < count && memory[low].row == row.rawValue && memory[low].list == number
    }

    /// Puts the entries in the order of their keys.
    func put(in transaction: Transaction) throws(StorageError) {
        try withRun(valueSize: LinkKey.valueSize) { (run) throws(StorageError) in try transaction.put(tree, run) }
    }

    /// Removes the entries in the order of their keys.
    func remove(in transaction: Transaction) throws(StorageError) {
        try withRun(valueSize: 0) { (run) throws(StorageError) in try transaction.delete(tree, run) }
    }

    private func withRun(
        valueSize: Int, _ body: (EntryRun) throws(StorageError) -> Void
    ) throws(StorageError) {
        guard count > 0 else { return }
        if !isAscending { sort() }
        isAscending = true
        guard let memory else { return }
        let entrySize = LinkKey.size + valueSize
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: count * entrySize, alignment: 8)
        defer { bytes.deallocate() }
        var written = 0
        for index in 0..<count {
            let entry = memory[index]
            // An entry to be removed may have been gathered twice.
            if index > 0, entry.hasKey(of: memory[index &- 1]) { continue }
            let place = bytes + written &* entrySize
            place.storeBytes(of: entry.row.bigEndian, as: UInt64.self)
            place.storeBytes(of: UInt16(truncatingIfNeeded: entry.list).bigEndian, toByteOffset: 8, as: UInt16.self)
            place.storeBytes(of: entry.place.bigEndian, toByteOffset: LinkKey.prefixSize, as: UInt64.self)
            if valueSize > 0 {
                place.storeBytes(of: entry.otherRow.littleEndian, toByteOffset: LinkKey.size, as: UInt64.self)
                place.storeBytes(
                    of: entry.otherPlace.littleEndian, toByteOffset: LinkKey.size &+ 8, as: UInt64.self)
            }
            written &+= 1
        }
        try body(EntryRun(bytes, count: written, keySize: LinkKey.size, valueSize: valueSize))
    }

    /// Maximum number of entries that are sorted by comparisons or searched one by one.
    private static var fewEntries: Int { 64 }

    /// Sorts by each byte in which keys differ, the last one first: row ids that are close together differ in two or
    /// three bytes. Comparing some thousand entries takes twenty times as many instructions.
    private func sort() {
        guard let memory else { return }
        guard count > Self.fewEntries else {
            var entries = UnsafeMutableBufferPointer(start: memory, count: count)
            return entries.sort { $0.precedes($1) }
        }
        var differing = Entry(row: 0, place: 0, otherRow: 0, otherPlace: 0, list: 0)
        for index in 1..<count {
            differing.row |= memory[index].row ^ memory[0].row
            differing.list |= memory[index].list ^ memory[0].list
            differing.place |= memory[index].place ^ memory[0].place
        }
        var (source, target) = (memory, UnsafeMutablePointer<Entry>.allocate(capacity: capacity))
        let starts = UnsafeMutablePointer<Int>.allocate(capacity: 256)
        for number in 0..<LinkKey.size where differing.byte(number) != 0 {
            Self.sort(source, count, by: number, to: target, starts)
            (source, target) = (target, source)
        }
        starts.deallocate()
        target.deallocate()
        self.memory = source
    }

    /// Moves entries to `target` in the order of one byte; entries with the same byte stay in their order. `starts` has
    /// room for 256 numbers.
    private static func sort(
        _ source: UnsafeMutablePointer<Entry>, _ count: Int, by number: Int, to target: UnsafeMutablePointer<Entry>,
        _ starts: UnsafeMutablePointer<Int>
    ) {
        starts.initialize(repeating: 0, count: 256)
        for index in 0..<count { starts[source[index].byte(number)] &+= 1 }
        var start = 0
        for byte in 0..<256 {
            let next = start &+ starts[byte]
            starts[byte] = start
            start = next
        }
        for index in 0..<count {
            let byte = source[index].byte(number)
            target[starts[byte]] = source[index]
            starts[byte] &+= 1
        }
    }
}

/// The links of one list, as far as a transaction knows them.
final class KnownLinks {
    let list: LinkList
    /// The entries that wait for the list's tree.
    let entries: WaitingEntries
    /// No row beyond this one has a link; nil if none has.
    @exclusivity(unchecked) private var greatest: RowID?
    /// By row, a place at which, and after which, the row has no link. 0 if the row has no links, 1 if it has one on a
    /// to-one side. Contains all rows that have waiting links, except those of reverse lists, whose places are no
    /// positions.
    private let next = PositionTable()
    /// Maximum number of positions that are remembered.
    private let mostPositions: Int

    init(
        _ list: LinkList, _ entries: WaitingEntries, in transaction: Transaction, mostPositions: Int
    ) throws(StorageError) {
        self.list = list
        self.entries = entries
        self.mostPositions = mostPositions
        // The last row in all lists of the tree, which is a bound for this list.
        var cursor = try transaction.cursor(list.tree)
        if try cursor.last(), let entry = try cursor.entry() {
            // A damaged key counts as the greatest.
            greatest = RowID(key: entry.key) ?? RowID(rawValue: .max)
        }
    }

    /// Whether a row is beyond all that have links.
    @inline(__always)
    private func isBeyond(_ row: RowID) -> Bool { greatest.map { $0 < row } ?? true }

    /// The position after a row's last link, if that is known.
    @inline(__always)
    func nextPosition(_ row: RowID) -> UInt64? {
        isBeyond(row) ? 0 : next[row]
    }

    /// Whether positions should be forgotten once no link waits.
    var remembersMany: Bool { next.count >= mostPositions }

    /// Remembers the position after a row's last link.
    func remember(_ position: UInt64, of row: RowID) { next.set(row, position) }

    /// Notes a row's link at a position after its others, in a list whose places are positions. On a to-one side it is
    /// the only one.
    @inline(__always)
    func note(_ row: RowID, at position: UInt64) {
        if isBeyond(row) { greatest = row }
        next.set(row, position + 1)
    }

    /// Forgets the positions if they are many. No link may be waiting.
    func forgetIfMany() {
        if remembersMany { next.removeAll() }
    }
}
