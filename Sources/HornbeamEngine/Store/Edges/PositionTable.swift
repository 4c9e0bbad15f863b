// SPDX-License-Identifier: Apache-2.0
// Maps row ids to numbers, in a tenth of a dictionary's time. Rows that a transaction saves mostly have successive ids.
// These are in a list, which for a graph of a thousand entities fits into the processor's caches. Others are in a hash
// table.

final class PositionTable {
    /// A row id and its number plus one; 0 in a free slot.
    private typealias Slot = (source: UInt64, number: UInt64)

    /// Each row's number plus one, by row id from `first` on; 0 if the list has none.
    @exclusivity(unchecked) private var list: UnsafeMutablePointer<UInt64>?
    @exclusivity(unchecked) private var listCapacity = 0
    @exclusivity(unchecked) private var listCount = 0
    @exclusivity(unchecked) private var first: UInt64 = 0
    /// Number of rows of the list that have a number.
    @exclusivity(unchecked) private var listed = 0

    @exclusivity(unchecked) private var slots: UnsafeMutablePointer<Slot>?
    @exclusivity(unchecked) private var slotCapacity = 0
    @exclusivity(unchecked) private var slotted = 0

    /// The number of row ids, or more: a row id that is both in the list and in the table counts twice.
    var count: Int { listed &+ slotted }

    deinit {
        list?.deallocate()
        slots?.deallocate()
    }

    func removeAll() {
        list?.deallocate()
        slots?.deallocate()
        (list, listCapacity, listCount, listed) = (nil, 0, 0, 0)
        (slots, slotCapacity, slotted) = (nil, 0, 0)
    }

    @inline(__always)
    subscript(source: RowID) -> UInt64? {
        let offset = source.rawValue &- first
        if offset < UInt64(listCount), let list, list[Int(offset)] != 0 { return list[Int(offset)] &- 1 }
        return slots == nil ? nil : slotted(source.rawValue)
    }

    /// Sets a number. A number in the list takes precedence over the hash table.
    @inline(__always)
    func set(_ source: RowID, _ number: UInt64) {
        if listCount == 0 { first = source.rawValue }
        let offset = source.rawValue &- first
        // So at least half of the list has numbers, except for a short list.
        guard offset < UInt64(2 &* listed &+ 16) else { return setSlot(source.rawValue, number) }
        let place = Int(offset)
        if place >= listCount { extend(to: place &+ 1) }
        guard let list else { return }
        if list[place] == 0 { listed &+= 1 }
        list[place] = number &+ 1
    }

    private func extend(to count: Int) {
        if count > listCapacity {
            let larger = max(32, 2 &* listCapacity, count)
            let new = UnsafeMutablePointer<UInt64>.allocate(capacity: larger)
            if let list {
                new.moveInitialize(from: list, count: listCount)
                list.deallocate()
            }
            (list, listCapacity) = (new, larger)
        }
        if let list { (list + listCount).initialize(repeating: 0, count: count &- listCount) }
        listCount = count
    }

    // MARK: The table of hashes

    private func slotted(_ source: UInt64) -> UInt64? {
        guard let slots else { return nil }
        let number = slots[place(source, slots)].number
        return number == 0 ? nil : number &- 1
    }

    /// The slot of a row id, or the free slot for it. There must be a free one.
    @inline(__always)
    private func place(_ source: UInt64, _ slots: UnsafeMutablePointer<Slot>) -> Int {
        let mask = slotCapacity &- 1
        var place = Int(truncatingIfNeeded: (source &* 0x9E37_79B9_7F4A_7C15) &>> 32) & mask
        while slots[place].number != 0, slots[place].source != source { place = (place &+ 1) & mask }
        return place
    }

    private func setSlot(_ source: UInt64, _ number: UInt64) {
        if 2 * slotted >= slotCapacity { grow() }
        guard let slots else { return }
        let place = place(source, slots)
        if slots[place].number == 0 { slotted &+= 1 }
        slots[place] = (source, number &+ 1)
    }

    private func grow() {
        let (old, size) = (slots, slotCapacity)
        slotCapacity = max(16, 2 * size)
        let new = UnsafeMutablePointer<Slot>.allocate(capacity: slotCapacity)
        new.initialize(repeating: (0, 0), count: slotCapacity)
        slots = new
        guard let old else { return }
        for index in 0..<size where old[index].number != 0 {
            new[place(old[index].source, new)] = old[index]
        }
        old.deallocate()
    }
}
