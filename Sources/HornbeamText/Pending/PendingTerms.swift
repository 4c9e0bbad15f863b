// SPDX-License-Identifier: Apache-2.0
// The terms of a segment in the order of their bytes, found by halving: most comparisons end within the first eight
// bytes, which stand side by side.

import HornbeamPages

/// Terms by their places, ascending by their bytes.
struct PendingTerms: Sendable {
    /// The first eight bytes of each, the first one the highest, zeros behind a shorter term.
    private(set) var heads: [UInt64] = []
    /// Where each ends among the texts.
    private var ends: [UInt32] = []
    private var texts: [UInt8] = []

    var count: Int { heads.count }

    /// Bytes in use.
    var size: Int { heads.count * 12 + texts.count }

    mutating func reserve(_ count: Int, textSize: Int) {
        heads.reserveCapacity(count)
        ends.reserveCapacity(count)
        texts.reserveCapacity(textSize)
    }

    /// Adds a term, which comes after those there are. False if there is no room for it.
    mutating func append(_ term: Bytes) -> Bool {
        guard texts.count + term.count <= Int(UInt32.max) else { return false }
        heads.append(Self.head(term))
        texts.append(contentsOf: term)
        ends.append(UInt32(texts.count))
        return true
    }

    /// The bytes of a term, for the length of `body`.
    @inline(__always)
    func withText<Result, Failure: Error>(
        _ place: Int, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = place == 0 ? 0 : Int(ends[place - 1])
        let end = Int(ends[place])
        return try texts.withBytes { (bytes) throws(Failure) in try body(Bytes(rebasing: bytes[start..<end])) }
    }

    /// The place of the first term that isn't before `term`, and whether that is it.
    func find(_ term: Bytes) -> (place: Int, isThere: Bool) {
        let head = Self.head(term)
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let order = order(middle, head, term)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    /// The order of a term and another one.
    @inline(__always)
    private func order(_ place: Int, _ head: UInt64, _ term: Bytes) -> Int {
        if heads[place] != head { return heads[place] < head ? -1 : 1 }
        return withText(place) { $0.order(term) }
    }

    /// The order of a term and one of other terms.
    @inline(__always)
    func order(_ place: Int, _ other: borrowing PendingTerms, _ otherPlace: Int) -> Int {
        if heads[place] != other.heads[otherPlace] { return heads[place] < other.heads[otherPlace] ? -1 : 1 }
        return other.withText(otherPlace) { text in withText(place) { $0.order(text) } }
    }

    @inline(__always)
    static func head(_ term: Bytes) -> UInt64 {
        if term.count >= 8 { return term.loadUnaligned(as: UInt64.self).bigEndian }
        var head: UInt64 = 0
        for place in 0..<term.count { head |= UInt64(term[place]) << UInt64(56 - 8 * place) }
        return head
    }
}
