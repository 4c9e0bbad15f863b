// SPDX-License-Identifier: Apache-2.0
// How often a term occurs in each field of a document. The first three fields are counted separately, all other fields
// together: four slots, called field places in the code. With these counts most searches in a field, and most searches
// with field weights, need neither positions nor field boundaries. A block and a list store bounds for each slot.

import HornbeamPages

/// How often a term occurs in the first three fields of a document and in all others. The sum is the posting's
/// frequency.
typealias FieldCounts = SIMD4<UInt32>

/// The slots in which fields are counted: one for each of the first three fields, one for all others.
enum FieldPlace {
    static let count = 4
    /// The slot of all fields from this number on.
    static let others = 3

    @inline(__always)
    static func of(_ field: Int) -> Int { min(field, others) }
}

/// A set of field slots, one bit for each.
struct FieldPlaces: Equatable, Sendable {
    private(set) var bits: UInt8

    init(bits: UInt8 = 0) { self.bits = bits }

    static let all = FieldPlaces(bits: 1 << UInt8(FieldPlace.count) - 1)
    static let first = FieldPlaces(bits: 1)

    @inline(__always)
    func contains(_ place: Int) -> Bool { bits &>> UInt8(truncatingIfNeeded: place) & 1 == 1 }

    @inline(__always)
    mutating func insert(_ place: Int) { bits |= 1 &<< UInt8(truncatingIfNeeded: place) }

    @inline(__always)
    func isDisjoint(with other: Self) -> Bool { bits & other.bits == 0 }

    @inline(__always)
    func isSubset(of other: Self) -> Bool { bits & ~other.bits == 0 }

    var count: Int { bits.nonzeroBitCount }
}

/// The token positions at which the first three fields of a document end.
struct FieldEnds: Equatable, Sendable {
    /// The last element is beyond every position. So are the ends of fields that the document doesn't have.
    private var ends: SIMD4<UInt32>

    /// A document of one field.
    static let one = FieldEnds()

    private init() { self.init(Self.none) }

    init(_ ends: SIMD4<UInt32>) { self.ends = ends }

    /// The ends of a document without fields.
    static var none: SIMD4<UInt32> { SIMD4(repeating: .max) }

    /// Returns how many of these positions of a document are in each field.
    func counts(_ positions: some Sequence<UInt32>) -> FieldCounts {
        var counter = Counter()
        for position in positions { counter.add(position, self) }
        return counter.counts
    }

    /// Counts positions one by one.
    struct Counter {
        /// The number of positions before each end.
        private var before = SIMD4<UInt32>()

        @inline(__always)
        mutating func add(_ position: UInt32, _ fields: FieldEnds) {
            // The comparison gives −1 in each lane whose end is greater.
            let isBefore = SIMD4(repeating: position) .< fields.ends
            before &-= unsafeBitCast(isBefore, to: SIMD4<UInt32>.self)
        }

        var counts: FieldCounts { FieldEnds.differences(before) }
    }

    @inline(__always)
    private static func differences(_ sums: SIMD4<UInt32>) -> FieldCounts {
        sums &- SIMD4(0, sums[0], sums[1], sums[2])
    }
}

/// Bounds of postings in each field slot: the largest number of occurrences in it, and the fewest tokens of a document
/// that has an occurrence there.
struct FieldBounds: Equatable, Sendable {
    private(set) var frequencies = FieldCounts()
    private(set) var lengths = SIMD4<UInt32>(repeating: .max)

    init() {}

    /// Bounds of postings that occur in one field slot only.
    init(_ bound: Bound, in place: Int) {
        frequencies[place] = bound.frequency
        lengths[place] = bound.length
    }

    var places: FieldPlaces {
        var places = FieldPlaces()
        for place in 0..<FieldPlace.count where frequencies[place] > 0 { places.insert(place) }
        return places
    }

    @inline(__always)
    subscript(place: Int) -> Bound { Bound(frequency: frequencies[place], length: lengths[place]) }

    mutating func set(_ bound: Bound, in place: Int) {
        frequencies[place] = bound.frequency
        lengths[place] = bound.length
    }

    @inline(__always)
    mutating func add(_ counts: FieldCounts, length: UInt32) {
        frequencies = pointwiseMax(frequencies, counts)
        let own = SIMD4<UInt32>(repeating: .max).replacing(with: SIMD4(repeating: length), where: counts .> 0)
        lengths = pointwiseMin(lengths, own)
    }

    mutating func formUnion(_ other: FieldBounds) {
        frequencies = pointwiseMax(frequencies, other.frequencies)
        lengths = pointwiseMin(lengths, other.lengths)
    }

    /// Whether these bounds already cover a posting.
    func covers(_ counts: FieldCounts, length: UInt32) -> Bool {
        var grown = self
        grown.add(counts, length: length)
        return grown == self
    }

    /// Appends the set of slots, then the bounds of each.
    func encode(to bytes: inout ByteSink) {
        bytes.append(byte: places.bits)
        encodeBounds(to: &bytes)
    }

    func encodeBounds(to bytes: inout ByteSink) {
        for place in 0..<FieldPlace.count where frequencies[place] > 0 {
            bytes.append(varint: UInt64(frequencies[place] - 1))
            bytes.append(varint: UInt64(lengths[place]))
        }
    }

    /// Reads bounds. Returns nil if the bytes aren't bounds that `encode` writes.
    init?(_ reader: inout ByteReader) {
        guard let bits = reader.byte(), bits > 0, bits < 1 << UInt8(FieldPlace.count) else { return nil }
        self.init(FieldPlaces(bits: bits), &reader)
    }

    init?(_ places: FieldPlaces, _ reader: inout ByteReader) {
        for place in 0..<FieldPlace.count where places.contains(place) {
            guard let less = reader.varint32(), less < .max, let length = reader.varint32() else { return nil }
            set(Bound(frequency: less + 1, length: length), in: place)
        }
    }
}

/// How often each posting of a block occurs in each field slot, in four columns. Owns its memory and reuses it for
/// block after block. Belongs to one search.
final class FieldColumns {
    @exclusivity(unchecked) private var memory: UnsafeMutablePointer<UInt32>
    @exclusivity(unchecked) private var capacity = PostingRun.blockCapacity

    init() { memory = .allocate(capacity: FieldPlace.count * PostingRun.blockCapacity) }

    deinit { memory.deallocate() }

    /// Makes room for `count` postings. The previous contents are lost.
    func reserve(_ count: Int) {
        guard count > capacity else { return }
        memory.deallocate()
        capacity = 2 * count
        memory = .allocate(capacity: FieldPlace.count * capacity)
    }

    @inline(__always)
    subscript(place: Int) -> UnsafeMutablePointer<UInt32> { memory + place &* capacity }

    /// Returns the counts of one posting in the slots that are both filled and wanted.
    @inline(__always)
    func counts(_ posting: Int, _ filled: FieldPlaces, _ wanted: FieldPlaces = .all) -> FieldCounts {
        var counts = FieldCounts()
        for place in 0..<FieldPlace.count where filled.contains(place) && wanted.contains(place) {
            counts[place] = self[place][posting]
        }
        return counts
    }

    @inline(__always)
    func set(_ posting: Int, _ counts: FieldCounts, _ wanted: FieldPlaces) {
        for place in 0..<FieldPlace.count where wanted.contains(place) { self[place][posting] = counts[place] }
    }
}
