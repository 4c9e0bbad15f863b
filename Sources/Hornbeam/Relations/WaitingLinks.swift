// SPDX-License-Identifier: Apache-2.0
// Links on their way into the trees, or out of them. Saving a graph makes links of several relations in turn, each with
// an entry or two in as many trees, and a cascade removes them in the same way: one by one, each entry takes a descent
// of its own. Gathered, and put or removed tree by tree in the order of the keys, most of them need none.
//
// Only what is known to be no link yet is gathered to be put, because then nothing has to be looked up. Mostly that is
// known without looking too: a new entity has a greater row id than all that have links. Either some wait to be put, or
// some to be removed: whoever gathers the ones settles the others.

import HornbeamPages
import HornbeamTree

/// Entries of one tree that are to be put, none of which has the key of another: a link is there once. Or keys whose
/// entries are to be removed: what is removed twice is gone.
final class WaitingEntries {
    private struct Entry {
        var first: UInt64
        var second: UInt64
        var value: UInt64

        @inline(__always)
        func precedes(_ other: Entry) -> Bool {
            first != other.first ? first < other.first : second < other.second
        }

        /// Byte number `number` of its key, counted from the end.
        @inline(__always)
        func byte(_ number: Int) -> Int {
            let half = number < 8 ? second : first
            return Int(truncatingIfNeeded: half &>> UInt64(8 &* (number & 7))) & 0xFF
        }
    }

    /// What its keys and values are made of.
    enum Form {
        /// Row id → row id.
        case single
        /// Row id ‖ number → number.
        case pair
        /// Row id ‖ row id → nothing.
        case bare
        /// Row id → nothing.
        case key

        var keySize: Int { self == .single || self == .key ? 8 : 16 }
        var valueSize: Int { self == .bare || self == .key ? 0 : 8 }
    }

    let tree: TreeID
    private let form: Form
    @exclusivity(unchecked) private var memory: UnsafeMutablePointer<Entry>?
    @exclusivity(unchecked) private var capacity = 0
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var isAscending = true

    init(_ tree: TreeID, _ form: Form) {
        self.tree = tree
        self.form = form
    }

    deinit { memory?.deallocate() }

    @inline(__always)
    func add(_ first: RowID, _ second: UInt64 = 0, _ value: UInt64 = 0) {
        if count == capacity { grow() }
        guard let memory else { return }
        let entry = Entry(first: first.rawValue, second: second, value: value)
        if count > 0, !memory[count &- 1].precedes(entry) { isAscending = false }
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

    /// Keeps their memory for the next ones.
    func removeAll() {
        count = 0
        isAscending = true
    }

    /// Whether one of their keys begins with a row id; nil if that is not told soon.
    func has(_ first: RowID) -> Bool? {
        guard count > 0, let memory else { return false }
        guard isAscending else { return nil }
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if memory[middle].first < first.rawValue { low = middle + 1 } else { high = middle }
        }
        return low < count && memory[low].first == first.rawValue
    }

    /// Puts them in the order of their keys.
    func put(in transaction: Transaction) throws(StorageError) {
        try withRun { (run) throws(StorageError) in try transaction.put(tree, run) }
    }

    /// Removes them in the order of their keys.
    func remove(in transaction: Transaction) throws(StorageError) {
        try withRun { (run) throws(StorageError) in try transaction.delete(tree, run) }
    }

    private func withRun(_ body: (EntryRun) throws(StorageError) -> Void) throws(StorageError) {
        guard count > 0 else { return }
        if !isAscending { sort() }
        isAscending = true
        guard let memory else { return }
        let (keySize, valueSize) = (form.keySize, form.valueSize)
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: count * (keySize + valueSize), alignment: 8)
        defer { bytes.deallocate() }
        var place = bytes
        for index in 0..<count {
            let entry = memory[index]
            place.storeBytes(of: entry.first.bigEndian, as: UInt64.self)
            if keySize == 16 {
                place.storeBytes(of: entry.second.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            place += keySize
            if valueSize == 8 { place.storeBytes(of: entry.value.littleEndian, as: UInt64.self) }
            place += valueSize
        }
        try body(EntryRun(bytes, count: count, keySize: keySize, valueSize: valueSize))
    }

    /// So few are sorted by comparing them.
    private static var fewEntries: Int { 64 }

    /// By each byte in which keys differ, the last one first: row ids that lie close together have two or three of
    /// them. Comparing some thousand entries takes twenty times as many instructions.
    private func sort() {
        guard let memory else { return }
        guard count > Self.fewEntries else {
            var entries = UnsafeMutableBufferPointer(start: memory, count: count)
            return entries.sort { $0.precedes($1) }
        }
        var differing = Entry(first: 0, second: 0, value: 0)
        for index in 1..<count {
            differing.first |= memory[index].first ^ memory[0].first
            differing.second |= memory[index].second ^ memory[0].second
        }
        var (source, target) = (memory, UnsafeMutablePointer<Entry>.allocate(capacity: capacity))
        let starts = UnsafeMutablePointer<Int>.allocate(capacity: 256)
        for number in 0..<16 where differing.byte(number) != 0 {
            Self.sort(source, count, by: number, to: target, starts)
            (source, target) = (target, source)
        }
        starts.deallocate()
        target.deallocate()
        self.memory = source
    }

    /// Moves entries to `target` in the order of one byte; those that have the same stay in their order. `starts` has
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

/// A number for each of some row ids, found in a tenth of what a dictionary takes.
private final class PositionTable {
    /// A row id, and its number plus one; 0 where there is none.
    private typealias Slot = (source: UInt64, number: UInt64)

    @exclusivity(unchecked) private var slots: UnsafeMutablePointer<Slot>?
    @exclusivity(unchecked) private var capacity = 0
    @exclusivity(unchecked) private(set) var count = 0

    deinit { slots?.deallocate() }

    func removeAll() {
        slots?.deallocate()
        slots = nil
        capacity = 0
        count = 0
    }

    /// The place of a row id, or where it belongs. There is a free one.
    @inline(__always)
    private func place(_ source: UInt64, _ slots: UnsafeMutablePointer<Slot>) -> Int {
        let mask = capacity &- 1
        var place = Int(truncatingIfNeeded: (source &* 0x9E37_79B9_7F4A_7C15) &>> 32) & mask
        while slots[place].number != 0, slots[place].source != source { place = (place &+ 1) & mask }
        return place
    }

    @inline(__always)
    subscript(source: RowID) -> UInt64? {
        guard let slots else { return nil }
        let number = slots[place(source.rawValue, slots)].number
        return number == 0 ? nil : number &- 1
    }

    func set(_ source: RowID, _ number: UInt64) {
        if 2 * count >= capacity { grow() }
        guard let slots else { return }
        let place = place(source.rawValue, slots)
        if slots[place].number == 0 { count &+= 1 }
        slots[place] = (source.rawValue, number &+ 1)
    }

    private func grow() {
        let (old, size) = (slots, capacity)
        capacity = max(16, 2 * size)
        let new = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
        new.initialize(repeating: (0, 0), count: capacity)
        slots = new
        guard let old else { return }
        for index in 0..<size where old[index].number != 0 {
            new[place(old[index].source, new)] = old[index]
        }
        old.deallocate()
    }
}

/// What one transaction knows of one side's links, and those that wait.
final class SideLinks {
    let side: EdgeSide
    private let forward: WaitingEntries
    private let lookup: WaitingEntries?
    private let reverse: WaitingEntries?
    /// No source beyond this one has a link; nil if none has.
    @exclusivity(unchecked) private var greatest: RowID?
    /// Of a to-many side, by source: no link of it has this position or a greater one. 0 if it has no links. All that
    /// have links waiting are in it.
    private let next = PositionTable()

    /// As many positions are remembered: a megabyte or two.
    private static var positionsKept: Int { 1 << 16 }

    init(_ side: EdgeSide, in transaction: Transaction) throws(StorageError) {
        self.side = side
        forward = WaitingEntries(side.forward, side.isToMany ? .pair : .single)
        lookup = side.lookup.map { WaitingEntries($0, .pair) }
        reverse = side.reverse.map { WaitingEntries($0, .bare) }
        var cursor = try transaction.cursor(side.forward)
        if try cursor.last(), let entry = try cursor.entry() {
            // A key that is damaged stands for the greatest.
            greatest = RowID(key: entry.key) ?? RowID(rawValue: .max)
        }
    }

    /// Whether a source is beyond all that have links.
    @inline(__always)
    func isBeyond(_ source: RowID) -> Bool { greatest.map { $0 < source } ?? true }

    /// The position behind a source's last link, if that is known.
    @inline(__always)
    func nextPosition(_ source: RowID) -> UInt64? {
        isBeyond(source) ? 0 : next[source]
    }

    /// Whether positions should be forgotten, as they are when none of the links waits.
    var remembersMany: Bool { next.count >= Self.positionsKept }

    /// A position that is known now.
    func remember(_ position: UInt64, of source: RowID) { next.set(source, position) }

    /// Takes this side's half of a link that is none yet, at the position behind the source's last one.
    /// Returns how many entries wait more.
    func add(_ source: RowID, _ target: RowID, at position: UInt64) -> Int {
        if isBeyond(source) { greatest = source }
        guard side.isToMany else {
            forward.add(source, 0, target.rawValue)
            return 1
        }
        next.set(source, position + 1)
        forward.add(source, position, target.rawValue)
        lookup?.add(source, target.rawValue, position)
        return 2
    }

    /// The same of the reverse look-up.
    func addReverse(_ target: RowID, _ source: RowID) -> Int {
        reverse?.add(target, source.rawValue)
        return 1
    }

    /// A link that was put into the trees, at the position behind the last one.
    func note(_ source: RowID, at position: UInt64) {
        if isBeyond(source) { greatest = source }
        if side.isToMany { next.set(source, position + 1) }
    }

    func put(in transaction: Transaction) throws(StorageError) {
        try forward.put(in: transaction)
        try lookup?.put(in: transaction)
        try reverse?.put(in: transaction)
    }

    /// None waits any more.
    func removeWaiting() {
        forward.removeAll()
        lookup?.removeAll()
        reverse?.removeAll()
        if remembersMany { next.removeAll() }
    }
}
