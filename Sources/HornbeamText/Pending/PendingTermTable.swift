// SPDX-License-Identifier: Apache-2.0
// Numbers for terms: open addressing over one array, by hashes that nobody can know beforehand.

import HornbeamPages

/// The terms of the records that are gathered, numbered as they come and found by their bytes.
struct PendingTermTable: ~Copyable {
    private var heads: [UInt64] = []
    private var ends: [UInt32] = []
    private var texts: [UInt8] = []
    /// Half of the hash in the upper half, number of the term + 1 in the lower; 0 is free. At most half full.
    private var slots = [UInt64](repeating: 0, count: 256)
    /// Different in each table, so that nobody can write texts whose words all meet in one slot.
    private let seed = UInt64.random(in: .min ... .max)
    private let factor = UInt64.random(in: .min ... .max) | 1

    var count: Int { heads.count }
    var textSize: Int { texts.count }

    mutating func removeAll() {
        guard count > 0 else { return }
        heads.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        texts.removeAll(keepingCapacity: true)
        // After a text of very many words a table for few again.
        guard slots.count > 4096 else {
            for slot in slots.indices { slots[slot] = 0 }
            return
        }
        slots = [UInt64](repeating: 0, count: 4096)
    }

    /// The number of a term, a new one if it is new. Nil if there is no room for it.
    mutating func number(of term: Bytes) -> UInt32? {
        let head = PendingTerms.head(term)
        var hash = mix(head ^ UInt64(truncatingIfNeeded: term.count))
        var offset = 8
        while offset < term.count {
            let place = min(offset, term.count - 8)
            hash = mix(hash ^ term.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            offset += 8
        }
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while slots[slot] != 0 {
            let found = slots[slot]
            if (found ^ hash) >> 32 == 0 {
                let number = Int(truncatingIfNeeded: found & 0xFFFF_FFFF) - 1
                if heads[number] == head, withText(number, { $0.order(term) == 0 }) { return UInt32(number) }
            }
            slot = (slot + 1) & mask
        }
        guard texts.count + term.count <= Int(UInt32.max), heads.count < Int(Int32.max) else { return nil }
        heads.append(head)
        texts.append(contentsOf: term)
        ends.append(UInt32(texts.count))
        slots[slot] = (hash & ~0xFFFF_FFFF) | UInt64(heads.count)
        if heads.count * 2 > slots.count { grow() }
        return UInt32(heads.count - 1)
    }

    @inline(__always)
    func withText<Result, Failure: Error>(
        _ number: Int, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = number == 0 ? 0 : Int(ends[number - 1])
        let end = Int(ends[number])
        return try texts.withBytes { (bytes) throws(Failure) in try body(Bytes(rebasing: bytes[start..<end])) }
    }

    /// The numbers in the order of the terms' bytes. Merges runs, of eight at first and twice as many each time: for
    /// the hundred terms of a text that takes a fraction of what the library's sort does, which is made for more.
    func sorted() -> [Int] {
        var order: [Place] = []
        order.reserveCapacity(count)
        for number in 0..<count { order.append(Place(head: heads[number], number: number)) }
        order.withUnsafeMutableBufferPointer { order in
            for start in stride(from: 0, to: count, by: Self.shortRun) {
                sortShort(order, start, min(start + Self.shortRun, count))
            }
        }
        var other = order
        var size = Self.shortRun
        while size < count {
            order.withUnsafeBufferPointer { from in
                other.withUnsafeMutableBufferPointer { to in
                    for start in stride(from: 0, to: count, by: 2 * size) {
                        merge(from, start, min(start + size, count), min(start + 2 * size, count), to)
                    }
                }
            }
            swap(&order, &other)
            size *= 2
        }
        return order.map(\.number)
    }

    private struct Place {
        let head: UInt64
        let number: Int
    }

    private static let shortRun = 8

    /// Sorts a few by moving each to where it belongs.
    @inline(__always)
    private func sortShort(_ order: UnsafeMutableBufferPointer<Place>, _ start: Int, _ end: Int) {
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

    /// Merges the sorted places from `start` and from `middle` up to `end`.
    @inline(__always)
    private func merge(
        _ from: UnsafeBufferPointer<Place>, _ start: Int, _ middle: Int, _ end: Int,
        _ to: UnsafeMutableBufferPointer<Place>
    ) {
        var (left, right, place) = (start, middle, start)
        while left < middle, right < end {
            let takesRight = precedes(from[right], from[left])
            to[place] = from[takesRight ? right : left]
            left &+= takesRight ? 0 : 1
            right &+= takesRight ? 1 : 0
            place &+= 1
        }
        while left < middle {
            to[place] = from[left]
            (left, place) = (left &+ 1, place &+ 1)
        }
        while right < end {
            to[place] = from[right]
            (right, place) = (right &+ 1, place &+ 1)
        }
    }

    @inline(__always)
    private func precedes(_ left: Place, _ right: Place) -> Bool {
        left.head != right.head ? left.head < right.head : isLess(left.number, right.number)
    }

    @inline(never)
    private func isLess(_ left: Int, _ right: Int) -> Bool {
        withText(left) { text in withText(right) { text.order($0) } } < 0
    }

    /// Both halves of the whole product: one bit more or less in the word changes bits all over it.
    @inline(__always)
    private func mix(_ word: UInt64) -> UInt64 {
        let product = (word ^ seed).multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    private mutating func grow() {
        let former = slots
        slots = [UInt64](repeating: 0, count: 2 * former.count)
        for entry in former where entry != 0 {
            var slot = Int(truncatingIfNeeded: entry >> 32) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = entry
        }
    }
}
