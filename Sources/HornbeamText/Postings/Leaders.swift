// SPDX-License-Identifier: Apache-2.0
// The term frequencies and document lengths of some of the best postings of a long list. Each of these postings scores
// at least as much as its pair, so a search for the best k has a threshold before it reads any posting (a start
// threshold: Petri, Moffat, Mackenzie, Culpepper, Beck, “Accelerated query processing via similarity score prediction”,
// 2019). The pairs stay valid while the collection's averages change.
//
// Invariant: each pair has a posting of its own in the list, with the same frequency and in a document that is not
// longer.

/// Pairs of some of a list's best postings, the most frequent first, then the shortest.
struct Leaders: Equatable, Sendable {
    private(set) var pairs: [Bound] = []

    /// Maximum number of pairs. Lists of fewer documents than `leastDocuments` have none: they are read quickly.
    static let limit = 10
    static let leastDocuments: UInt32 = 128

    init() {}

    /// Removes the pair of a posting that left the list when the length of its document isn't known. Removes the
    /// shortest pair of its frequency: if another pair was the posting's own, the pair that stays in its place is
    /// longer.
    mutating func remove(frequency: UInt32) {
        if let place = pairs.firstIndex(where: { $0.frequency == frequency }) { pairs.remove(at: place) }
    }

    /// Removes the pair of a posting that left the list. The posting's own pair has the same or a greater length. The
    /// shortest such pair is removed. If that is another posting's pair, that posting can take over the pair that
    /// stays.
    mutating func remove(_ posting: Bound) {
        let place = pairs.firstIndex { $0.frequency == posting.frequency && $0.length >= posting.length }
        if let place { pairs.remove(at: place) }
    }

    /// Reads pairs. Returns nil if the bytes aren't pairs in their order.
    init?(_ reader: inout ByteReader) {
        guard let count = reader.varint(), count <= UInt64(Self.limit) else { return nil }
        var before = Bound(frequency: .max, length: 0)
        for place in 0..<count {
            guard let code = reader.varint32(), let length = reader.varint32() else { return nil }
            guard place == 0 || code < before.frequency, place > 0 || code > 0 else { return nil }
            let next = Bound(frequency: place == 0 ? code : before.frequency - code, length: length)
            guard place == 0 || code > 0 || length >= before.length else { return nil }
            pairs.append(next)
            before = next
        }
    }

    func encode(to bytes: inout ByteSink) {
        bytes.append(varint: UInt64(pairs.count))
        var before: UInt32?
        for pair in pairs {
            bytes.append(varint: UInt64(before.map { $0 - pair.frequency } ?? pair.frequency))
            bytes.append(varint: UInt64(pair.length))
            before = pair.frequency
        }
    }

    /// Returns the score of the `count`-th best of the pairs for a term of this weight, or nil if there are fewer.
    func score(of count: Int, weight: Double, averageLength: Double) -> Double? {
        guard count > 0, count <= pairs.count else { return nil }
        let scores = pairs.map {
            BM25.score(
                weight: weight, frequency: Double($0.frequency), length: Double($0.length),
                averageLength: averageLength)
        }
        return scores.sorted(by: >)[count - 1]
    }

    /// Whether each pair can be assigned a posting of its own among `postings`.
    func areAmong(_ postings: [Bound]) -> Bool {
        let sorted = postings.sorted { Self.precedes($0, $1) }
        var place = 0
        for pair in pairs {
            while place < sorted.count, sorted[place].frequency > pair.frequency { place += 1 }
            guard place < sorted.count, sorted[place].covers(pair), sorted[place].frequency == pair.frequency else {
                return false
            }
            place += 1
        }
        return true
    }

    fileprivate static func precedes(_ left: Bound, _ right: Bound) -> Bool {
        left.frequency != right.frequency ? left.frequency > right.frequency : left.length < right.length
    }

    fileprivate init(_ postings: some Sequence<Bound>) { pairs = postings.sorted { Self.precedes($0, $1) } }
}

/// Gathers the leaders among postings.
struct LeaderGatherer {
    /// In ascending order of impact.
    private var best: [(impact: Double, posting: Bound)] = []
    /// The term that BM25 adds to a frequency, with the average length known when the index is written.
    private let (constant, slope): (Double, Double)

    init(averageLength: Double) {
        (constant, slope) = (BM25.k1 * (1 - BM25.b), BM25.k1 * BM25.b / max(averageLength, 1))
        best.reserveCapacity(Leaders.limit + 1)
    }

    mutating func removeAll() { best.removeAll(keepingCapacity: true) }

    @inline(__always)
    mutating func add(_ posting: Bound) {
        let frequency = Double(posting.frequency)
        let impact = frequency / (frequency + constant + slope * Double(posting.length))
        if best.count < Leaders.limit || impact > best[0].impact { insert(posting, impact) }
    }

    @inline(never)
    private mutating func insert(_ posting: Bound, _ impact: Double) {
        if best.count == Leaders.limit { best.removeFirst() }
        best.insert((impact, posting), at: best.firstIndex { $0.impact >= impact } ?? best.count)
    }

    mutating func add(_ leaders: Leaders) {
        for pair in leaders.pairs { add(pair) }
    }

    var leaders: Leaders { Leaders(best.map(\.posting)) }
}
