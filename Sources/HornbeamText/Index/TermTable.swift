// SPDX-License-Identifier: Apache-2.0
// A hash table of the changed terms, found by their bytes: open addressing over one array of terms. A slot has 32 bits
// of the hash beside the term's number. So a term is read only if it is almost certainly the right one, and growing
// reads no terms.
//
//   slots ──hash──▶ terms ──▶ bytes of the term in `texts`

import HornbeamPages

/// A term and the state of its changes.
struct ChangedTerm {
    /// The first eight bytes, big-endian, padded with zeros: compares in byte order.
    let head: UInt64
    /// The last eight bytes of a term that has more.
    let tail: UInt64
    /// Offset of its bytes in `texts`.
    let offset: Int
    var chain = ByteChains.End()
    let size: UInt32
    /// Index of the last change's document.
    var place = TermTable.none
    /// The last position in that document. Has no meaning if the change is a removal.
    var position: UInt32 = 0
    /// Number of changes in the chain, and number of codes of all of them.
    var changes: UInt32 = 0
    var codes: UInt32 = 0
    var isRemoved = false
}

/// Random seeds of the hash. They differ in each process, so that nobody can write a text whose words all collide. A
/// table has no seeds of its own because each transaction makes one, and random numbers cost a system call.
enum TermSeed {
    static let word = UInt64.random(in: .min ... .max)
    static let factor = UInt64.random(in: .min ... .max) | 1
}

/// All terms since the last flush.
struct TermTable: ~Copyable {
    /// No document.
    static let none = UInt32.max

    private(set) var count = 0
    private var capacity = 64
    private var terms = TermTable.allocate(64)
    private var texts: [UInt8] = []
    /// Hash in the upper half, number of the term + 1 in the lower. 0 is a free slot. Their count is a power of two,
    /// and at most half of them are used.
    private var slots = UnsafeMutablePointer<UInt64>.allocate(capacity: 256)
    private var slotCount = 256
    private let seed = TermSeed.word
    private let factor = TermSeed.factor

    init() { slots.initialize(repeating: 0, count: slotCount) }

    deinit {
        terms.deallocate()
        slots.deallocate()
    }

    /// Memory in use, in bytes.
    var size: Int { texts.count + count * MemoryLayout<ChangedTerm>.stride + slotCount * 8 }

    func term(_ number: Int) -> UnsafeMutablePointer<ChangedTerm> {
        precondition(number >= 0 && number < count)
        return terms + number
    }

    /// Removes all terms and keeps the memory, except for very many slots.
    mutating func removeAll() {
        count = 0
        texts.removeAll(keepingCapacity: true)
        guard slotCount > Self.keptSlots else { return slots.update(repeating: 0, count: slotCount) }
        // After a text with very many words, all slots would be cleared for each later text. They would also count as
        // memory in use, so that each of these texts would be flushed by itself.
        slots.deallocate()
        slotCount = Self.keptSlots
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: 0, count: slotCount)
    }

    private static var keptSlots: Int { 1 << 18 }

    /// The hash of a token and its first and last bytes.
    struct Key {
        fileprivate let head: UInt64
        fileprivate let tail: UInt64
        fileprivate let hash: UInt64
    }

    /// - Parameter token: at least one byte. Eight more bytes must be readable behind it.
    @inline(__always)
    func key(_ token: Bytes) -> Key {
        let size = token.count
        // Never nil: a token has a byte.
        guard let start = token.baseAddress else { preconditionFailure("a token without a byte") }
        var head = start.loadUnaligned(as: UInt64.self).bigEndian
        head &= .max &<< UInt64(truncatingIfNeeded: 64 &- 8 &* min(size, 8))
        let last = start.loadUnaligned(fromByteOffset: max(size &- 8, 0), as: UInt64.self)
        let tail = size > 8 ? last : 0
        var hash = mix(head ^ UInt64(truncatingIfNeeded: size), tail)
        if size > 16 { hash = mix(middle: start, size, hash) }
        return Key(head: head, tail: tail, hash: hash)
    }

    /// Prefetches the memory of the key's first slot.
    @inline(__always)
    func prefetchSlot(_ key: Key) {
        UnsafeRawPointer(slots + (Int(truncatingIfNeeded: key.hash >> 32) & (slotCount &- 1))).prefetch()
    }

    /// Returns the term in the key's first slot if it is almost certainly the key's. Doesn't read the term.
    @inline(__always)
    func guess(_ key: Key) -> UnsafeMutablePointer<ChangedTerm>? {
        let found = slots[Int(truncatingIfNeeded: key.hash >> 32) & (slotCount &- 1)]
        guard found != 0, (found ^ key.hash) >> 32 == 0 else { return nil }
        return terms + (Int(truncatingIfNeeded: found & 0xFFFF_FFFF) &- 1)
    }

    /// Returns the token's term. A new one is made without a document. The pointer is valid until the next call.
    @inline(__always)
    mutating func find(_ token: Bytes, _ key: Key) -> UnsafeMutablePointer<ChangedTerm> {
        let size = token.count
        let (head, tail, hash) = (key.head, key.tail, key.hash)
        var slot = Int(truncatingIfNeeded: hash >> 32) & (slotCount &- 1)
        while slots[slot] != 0 {
            let found = slots[slot]
            if (found ^ hash) >> 32 == 0 {
                let term = terms + (Int(truncatingIfNeeded: found & 0xFFFF_FFFF) &- 1)
                if term.pointee.head == head, term.pointee.tail == tail, Int(term.pointee.size) == size,
                    size <= 16 || isText(UnsafePointer(term), token)
                {
                    return term
                }
            }
            slot = (slot &+ 1) & (slotCount &- 1)
        }
        return add(token, head, tail, hash)
    }

    /// Combines both halves of the full product, so that each bit of a word changes bits of the whole result (wyhash,
    /// Wang Yi).
    @inline(__always)
    private func mix(_ first: UInt64, _ second: UInt64) -> UInt64 {
        let product = (first ^ seed).multipliedFullWidth(by: second ^ factor)
        return product.high ^ product.low
    }

    /// Hashes the bytes between the first and the last eight, sixteen at a time. The last step overlaps the one before
    /// if fewer are left.
    @inline(never)
    private func mix(middle start: UnsafeRawPointer, _ size: Int, _ hash: UInt64) -> UInt64 {
        var hash = hash
        var offset = 8
        while offset < size - 8 {
            let place = min(offset, size - 16)
            hash = mix(
                hash ^ start.loadUnaligned(fromByteOffset: place, as: UInt64.self),
                start.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self))
            offset += 16
        }
        return hash
    }

    @inline(never)
    private func isText(_ term: UnsafePointer<ChangedTerm>, _ token: Bytes) -> Bool {
        withText(term) { $0.order(token) == 0 }
    }

    @inline(never)
    private mutating func add(
        _ token: Bytes, _ head: UInt64, _ tail: UInt64, _ hash: UInt64
    ) -> UnsafeMutablePointer<ChangedTerm> {
        if count == capacity { growTerms() }
        let term = terms + count
        term.initialize(
            to: ChangedTerm(head: head, tail: tail, offset: texts.count, size: UInt32(token.count)))
        texts.append(contentsOf: token)
        count += 1
        enter((hash & ~0xFFFF_FFFF) | UInt64(count))
        if count * 2 > slotCount { growSlots() }
        return term
    }

    private func enter(_ entry: UInt64) {
        var slot = Int(truncatingIfNeeded: entry >> 32) & (slotCount - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slotCount - 1) }
        slots[slot] = entry
    }

    /// Aligns terms to cache lines.
    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<ChangedTerm> {
        UnsafeMutableRawPointer.allocate(byteCount: capacity * MemoryLayout<ChangedTerm>.stride, alignment: 64)
            .bindMemory(to: ChangedTerm.self, capacity: capacity)
    }

    private mutating func growTerms() {
        let larger = Self.allocate(2 * capacity)
        larger.moveInitialize(from: terms, count: count)
        terms.deallocate()
        (terms, capacity) = (larger, 2 * capacity)
    }

    private mutating func growSlots() {
        let (former, formerCount) = (slots, slotCount)
        slotCount *= 2
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: 0, count: slotCount)
        for slot in 0..<formerCount where former[slot] != 0 { enter(former[slot]) }
        former.deallocate()
    }
}

// Reading the table.
extension TermTable {
    /// Calls `body` with the bytes of a term, which are valid during the call.
    @inline(__always)
    func withText<Result, Failure: Error>(
        _ term: UnsafePointer<ChangedTerm>, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (start, end) = (term.pointee.offset, term.pointee.offset + Int(term.pointee.size))
        return try texts.withBytes { (bytes) throws(Failure) in try body(Bytes(rebasing: bytes[start..<end])) }
    }

    /// Returns the numbers of the terms in byte order. Terms longer than `plainLimit` follow all others.
    func sorted(plainLimit: Int) -> [Int] {
        // Most comparisons end within the first eight bytes.
        var heads: [(head: UInt64, number: Int)] = []
        heads.reserveCapacity(count)
        for number in 0..<count { heads.append((terms[number].head, number)) }
        let firstLong = heads.partition { terms[$0.number].size > plainLimit }
        for part in [0..<firstLong, firstLong..<heads.count] {
            heads[part].sort { left, right in
                if left.head != right.head { return left.head < right.head }
                return withText(terms + left.number) { text in
                    withText(terms + right.number) { text.order($0) }
                } < 0
            }
        }
        return heads.map(\.number)
    }
}
