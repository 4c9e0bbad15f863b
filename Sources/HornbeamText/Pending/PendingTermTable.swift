// SPDX-License-Identifier: Apache-2.0
// Assigns numbers to terms: open addressing over one array, with hashes that can't be predicted.

import HornbeamPages

/// The terms of the gathered records, numbered in order of arrival and found by their bytes.
struct PendingTermTable: ~Copyable {
    private struct Entry: BitwiseCopyable {
        let head: UInt64
        /// Offset and number of its bytes in `texts`.
        let start: UInt32
        let size: UInt32
    }

    /// A term in the sorted order.
    struct Place: BitwiseCopyable {
        let head: UInt64
        let number: Int
    }

    private var entries = GrowingMemory<Entry>(capacity: 128)
    private var texts = GrowingMemory<UInt8>(capacity: 1024)
    /// Half of the hash in the upper half, number of the term + 1 in the lower. 0 is a free slot. At most half of the
    /// slots are used.
    private var slots = UnsafeMutablePointer<UInt64>.allocate(capacity: fewSlots)
    private var slotCount = fewSlots
    /// Scratch memory of `sorted`.
    private var order = GrowingMemory<Place>(capacity: 128)
    private var other = GrowingMemory<Place>(capacity: 128)
    private let seed = TermSeed.word
    private let factor = TermSeed.factor

    private static let fewSlots = 256

    init() { slots.initialize(repeating: 0, count: slotCount) }

    deinit { slots.deallocate() }

    var count: Int { entries.count }
    var textSize: Int { texts.count }

    /// Size of its memory in bytes.
    var byteCount: Int {
        entries.byteCount + texts.byteCount + order.byteCount + other.byteCount
            + slotCount * MemoryLayout<UInt64>.stride
    }

    mutating func removeAll() {
        guard count > 0 else { return }
        // Shrinks the table after a text with very many words, because all slots are cleared each time.
        if slotCount > Self.fewSlots, count * 16 < slotCount { setSlots(max(slotCount / 8, Self.fewSlots)) }
        slots.update(repeating: 0, count: slotCount)
        entries.removeAll()
        texts.removeAll()
    }

    private mutating func setSlots(_ count: Int) {
        slots.deallocate()
        slots = .allocate(capacity: count)
        slotCount = count
    }

    /// Returns the number of a term, a new one if the term is new. Returns nil if there is no room for it.
    mutating func number(of term: Bytes) -> UInt32? {
        let head = PendingTerms.head(term)
        var hash = mix(head ^ UInt64(truncatingIfNeeded: term.count))
        if term.count > 8 { hash = mixRest(of: term, hash) }
        let mask = slotCount &- 1
        var slot = Int(truncatingIfNeeded: hash &>> 32) & mask
        while slots[slot] != 0 {
            let found = slots[slot]
            if (found ^ hash) &>> 32 == 0 {
                let number = Int(truncatingIfNeeded: found & 0xFFFF_FFFF) &- 1
                let entry = entries[number]
                // The head of a term of up to eight bytes is the whole term.
                if entry.head == head, Int(entry.size) == term.count,
                    term.count <= 8 || text(number).order(term) == 0
                {
                    return UInt32(truncatingIfNeeded: number)
                }
            }
            slot = (slot &+ 1) & mask
        }
        return add(term, head, hash, slot)
    }

    /// Adds a new term in a free slot.
    @inline(__always)
    private mutating func add(_ term: Bytes, _ head: UInt64, _ hash: UInt64, _ slot: Int) -> UInt32? {
        guard texts.count + term.count <= Int(UInt32.max), entries.count < Int(Int32.max) else { return nil }
        entries.append(
            Entry(
                head: head, start: UInt32(truncatingIfNeeded: texts.count),
                size: UInt32(truncatingIfNeeded: term.count)))
        let target = texts.room(for: term.count)
        if let source = term.baseAddress { UnsafeMutableRawPointer(target).copyShort(source, term.count) }
        texts.setEnd(target + term.count)
        slots[slot] = (hash & ~0xFFFF_FFFF) | UInt64(truncatingIfNeeded: entries.count)
        if entries.count * 2 > slotCount { grow() }
        return UInt32(truncatingIfNeeded: entries.count &- 1)
    }

    /// Returns the bytes of a term, valid until the next term is added.
    @inline(__always)
    func text(_ number: Int) -> Bytes {
        let entry = entries[number]
        return Bytes(start: texts.start + Int(entry.start), count: Int(entry.size))
    }

    /// Returns the terms in byte order, valid until the table changes. Merges runs of eight at first and twice as many
    /// each time. For the hundred or so terms of a text this takes a fraction of the standard library's sort.
    mutating func sorted() -> UnsafeBufferPointer<Place> {
        let count = count
        order.removeAll()
        other.removeAll()
        var from = order.room(for: count)
        var to = other.room(for: count)
        for number in 0..<count { from[number] = Place(head: entries[number].head, number: number) }
        for start in stride(from: 0, to: count, by: Self.shortRun) {
            sortShort(from, start, min(start &+ Self.shortRun, count))
        }
        var size = Self.shortRun
        while size < count {
            for start in stride(from: 0, to: count, by: 2 * size) {
                merge(from, start, min(start + size, count), min(start + 2 * size, count), to)
            }
            swap(&from, &to)
            size *= 2
        }
        return UnsafeBufferPointer(start: from, count: count)
    }

    private static let shortRun = 8

    /// Sorts a few terms by insertion.
    @inline(__always)
    private func sortShort(_ order: UnsafeMutablePointer<Place>, _ start: Int, _ end: Int) {
        for next in start..<end {
            let moved = order[next]
            var place = next
            while place > start, precedes(moved, order[place &- 1]) {
                order[place] = order[place &- 1]
                place &-= 1
            }
            order[place] = moved
        }
    }

    /// Merges the sorted terms from `start` and from `middle` up to `end`.
    @inline(__always)
    private func merge(
        _ from: UnsafeMutablePointer<Place>, _ start: Int, _ middle: Int, _ end: Int,
        _ to: UnsafeMutablePointer<Place>
    ) {
        var (left, right, place) = (start, middle, start)
        while left < middle, right < end {
            let takesRight = precedes(from[right], from[left])
            to[place] = from[takesRight ? right : left]
            left &+= takesRight ? 0 : 1
            right &+= takesRight ? 1 : 0
            place &+= 1
        }
        (to + place).update(from: from + left, count: middle &- left)
        place &+= middle &- left
        (to + place).update(from: from + right, count: end &- right)
    }

    @inline(__always)
    private func precedes(_ left: Place, _ right: Place) -> Bool {
        left.head != right.head ? left.head < right.head : isLess(left.number, right.number)
    }

    @inline(never)
    private func isLess(_ left: Int, _ right: Int) -> Bool { text(left).order(text(right)) < 0 }

    @inline(never)
    private func mixRest(of term: Bytes, _ start: UInt64) -> UInt64 {
        var (hash, offset) = (start, 8)
        while offset < term.count {
            let place = min(offset, term.count &- 8)
            hash = mix(hash ^ term.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            offset &+= 8
        }
        return hash
    }

    /// Combines both halves of the full product, so that each bit of the word changes bits of the whole result.
    @inline(__always)
    private func mix(_ word: UInt64) -> UInt64 {
        let product = (word ^ seed).multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    @inline(never)
    private mutating func grow() {
        let (former, formerCount) = (slots, slotCount)
        slotCount = 2 * formerCount
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: 0, count: slotCount)
        for place in 0..<formerCount where former[place] != 0 {
            var slot = Int(truncatingIfNeeded: former[place] &>> 32) & (slotCount &- 1)
            while slots[slot] != 0 { slot = (slot &+ 1) & (slotCount &- 1) }
            slots[slot] = former[place]
        }
        former.deallocate()
    }
}
