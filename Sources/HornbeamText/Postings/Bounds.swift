// SPDX-License-Identifier: Apache-2.0
// Upper bounds of many postings: pairs of a term frequency and a document length. Each posting has a pair with the same
// or a higher frequency and the same or a shorter length. So the best score of the pairs is an upper bound of the
// postings' scores for every weight, k1, b and average length, and it stays valid while the collection's averages
// change (Lucene's impacts: Ding, Suel, “Faster top-k document retrieval using block-max indexes”, 2011, with pairs in
// place of scores).

/// A frequency and a length that no covered posting exceeds in score.
struct Bound: Equatable, Sendable {
    /// At least the frequency of each covered posting.
    var frequency: UInt32
    /// At most the length of each covered posting's document.
    var length: UInt32

    /// Whether this pair covers the other.
    @inline(__always)
    func covers(_ other: Bound) -> Bool { frequency >= other.frequency && length <= other.length }
}

/// The two pairs of a block, the more frequent one first. Each posting is covered by one of them. They may be equal.
struct BoundPair: Equatable, Sendable {
    private(set) var first: Bound
    private(set) var second: Bound

    init(_ first: Bound, _ second: Bound) { (self.first, self.second) = (first, second) }

    /// Widens the pairs so that they cover one more posting.
    @inline(__always)
    mutating func add(_ posting: Bound) {
        if !first.covers(posting), !second.covers(posting) { widen(posting) }
    }

    @inline(never)
    private mutating func widen(_ posting: Bound) {
        if first == second {
            // Keeps the pairs in order. Below, the old pair is dropped if the new one covers it.
            if posting.frequency >= first.frequency { first = posting } else { second = posting }
        } else if posting.frequency > first.frequency {
            first = Bound(frequency: posting.frequency, length: min(first.length, posting.length))
        } else {
            second = Bound(
                frequency: max(second.frequency, posting.frequency), length: min(second.length, posting.length))
        }
        if first.covers(second) { second = first } else if second.covers(first) { first = second }
    }
}

/// Collects the pairs that no other pair covers, in ascending order of both numbers. Holds at most 32: when they are
/// full, neighbours are merged.
struct BoundFrontier: ~Copyable {
    private static let capacity = 32
    private let pairs = UnsafeMutablePointer<Bound>.allocate(capacity: capacity)
    private(set) var count = 0
    /// Average length of all documents when the index is written. Decides which pairs are merged.
    var averageLength = 100.0

    deinit { pairs.deallocate() }

    subscript(place: Int) -> Bound { pairs[place] }

    mutating func removeAll() { count = 0 }

    @inline(__always)
    mutating func add(_ bound: Bound) {
        if !isCovered(bound) { insert(bound) }
    }

    @inline(__always)
    private func isCovered(_ bound: Bound) -> Bool {
        for place in 0..<count where pairs[place].covers(bound) { return true }
        return false
    }

    @inline(never)
    private mutating func insert(_ bound: Bound) {
        var kept = 0
        for place in 0..<count where !bound.covers(pairs[place]) {
            pairs[kept] = pairs[place]
            kept += 1
        }
        count = kept
        if count == Self.capacity {
            reduce(to: Self.capacity / 2)
            if isCovered(bound) { return }
        }
        var place = count
        while place > 0, pairs[place - 1].frequency > bound.frequency {
            pairs[place] = pairs[place - 1]
            place -= 1
        }
        pairs[place] = bound
        count += 1
    }

    /// Merges neighbours until at most `limit` pairs are left, each time those whose merging raises the bound the
    /// least.
    mutating func reduce(to limit: Int) {
        while count > limit {
            var (best, least) = (0, Double.infinity)
            for place in 0..<count - 1 {
                let loss = impact(together(place)) - max(impact(pairs[place]), impact(pairs[place + 1]))
                if loss < least { (best, least) = (place, loss) }
            }
            pairs[best] = together(best)
            for place in best + 1..<count - 1 { pairs[place] = pairs[place + 1] }
            count -= 1
        }
    }

    private func together(_ place: Int) -> Bound {
        Bound(frequency: pairs[place + 1].frequency, length: pairs[place].length)
    }

    private func impact(_ bound: Bound) -> Double {
        BM25.score(
            weight: 1, frequency: Double(bound.frequency), length: Double(bound.length), averageLength: averageLength)
    }

    /// The pairs, the most frequent first.
    var descending: [Bound] { (0..<count).reversed().map { pairs[$0] } }
}
