// SPDX-License-Identifier: Apache-2.0
// Numbers about the terms of a ranking: their order by bounds, the length term of the divisor, and the lengths that are
// short enough.

/// Terms in ascending order of the bounds of their contributions. Owns its memory until `end`.
struct TermRanks {
    let places: UnsafeMutablePointer<Int>
    /// For each rank, the summed bounds of all terms before it; one more, for all.
    let rests: UnsafeMutablePointer<Double>
    private let count: Int

    init(_ count: Int) {
        self.count = count
        // One allocation for both: it takes longer than sorting a few terms.
        let size = (count + 1) * MemoryLayout<Double>.stride
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 2 * size, alignment: MemoryLayout<Double>.alignment)
        rests = memory.bindMemory(to: Double.self, capacity: count + 1)
        places = (memory + size).bindMemory(to: Int.self, capacity: count + 1)
        for place in 0...count { places[place] = place }
        rests.initialize(repeating: 0, count: count + 1)
    }

    func end() {
        UnsafeMutableRawPointer(rests).deallocate()
    }

    @inline(__always)
    func sort(_ bound: (Int) -> Double) {
        for start in 1..<max(count, 1) {
            let moved = places[start]
            let key = bound(moved)
            var place = start
            while place > 0, bound(places[place &- 1]) > key {
                places[place] = places[place &- 1]
                place &-= 1
            }
            places[place] = moved
        }
        // Allows for the rounding of the sums.
        for rank in 0..<count { rests[rank &+ 1] = (rests[rank] + bound(places[rank])) * (1 + 1e-12) }
    }
}

/// The part of a score's divisor that depends on the document's length: `constant + slope · (length + 1)`.
struct LengthNorm {
    let constant: Double
    let slope: Double
    /// The value for length 0. With a small average of weighted lengths, `constant` is a large negative number that has
    /// lost the digits of this one.
    private static let base = BM25.k1 * (1 - BM25.b)

    init(averageLength: Double) {
        slope = BM25.k1 * BM25.b / averageLength
        constant = Self.base - slope
    }

    /// Returns the approximate value for a length.
    @inline(__always)
    func added(_ length: Double) -> Double { Self.base + slope * length }
}

/// The maximum length of a document in which a term of a given frequency contributes enough.
struct LengthLimits {
    /// By frequency. The last one is for all greater frequencies.
    private let limits: UnsafeMutablePointer<Int32>
    private static let count = 16

    init() {
        limits = .allocate(capacity: Self.count)
        limits.initialize(repeating: .max, count: Self.count)
    }

    func end() { limits.deallocate() }

    /// Returns a value of length + 1 above which no document with this frequency contributes enough.
    @inline(__always)
    subscript(frequency: UInt32) -> Int32 { limits[Int(min(frequency, UInt32(Self.count - 1)))] }

    @inline(__always)
    func set(_ weight: Double, _ norm: LengthNorm, needed: Double) {
        guard needed > 0 else { return limits.update(repeating: .max, count: Self.count) }
        // weight · tf / (tf + constant + slope · stored) ≥ needed
        let (factor, offset, slope) = (weight / needed - 1, norm.constant, 1 / norm.slope)
        for frequency in 0..<Self.count - 1 {
            let limit = (Double(frequency) * factor - offset) * slope
            // Allows for rounding. Documents that pass are checked again.
            limits[frequency] = Int32(max(min(limit + 1 + limit.magnitude * 1e-9, 1e9), -1))
        }
    }
}
