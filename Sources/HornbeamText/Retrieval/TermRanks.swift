// SPDX-License-Identifier: Apache-2.0
// What a ranking knows of its terms in numbers: their order by what they contribute, what length adds to a divisor, and
// which lengths will do.

/// Terms by what they contribute at most, ascending. Memory of its own, until `end`.
struct TermRanks {
    let places: UnsafeMutablePointer<Int>
    /// What those before each contribute at most together; one more, for all.
    let rests: UnsafeMutablePointer<Double>
    private let count: Int

    init(_ count: Int) {
        self.count = count
        // One piece of memory for both: to ask for it takes longer than to sort a few terms.
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
        // Room for the rounding of the sums.
        for rank in 0..<count { rests[rank &+ 1] = (rests[rank] + bound(places[rank])) * (1 + 1e-12) }
    }
}

/// What a document's length adds to the divisor of its scores: `constant + slope · (length + 1)`.
struct LengthNorm {
    let constant: Double
    let slope: Double
    /// What no length adds. Weighted lengths may be so small that the constant, which is negative then, has none of it.
    private static let base = BM25.k1 * (1 - BM25.b)

    init(averageLength: Double) {
        slope = BM25.k1 * BM25.b / averageLength
        constant = Self.base - slope
    }

    /// What a length of so much adds, nearly.
    @inline(__always)
    func added(_ length: Double) -> Double { Self.base + slope * length }
}

/// How long a document may be that holds a term so often and scores enough by that.
struct LengthLimits {
    /// By frequency, as far as they are told one by one.
    private let limits: UnsafeMutablePointer<Int32>
    private static let count = 16

    init() {
        limits = .allocate(capacity: Self.count)
        limits.initialize(repeating: .max, count: Self.count)
    }

    func end() { limits.deallocate() }

    /// No document with a length + 1 above it contributes what is needed.
    @inline(__always)
    subscript(frequency: UInt32) -> Int32 { limits[Int(min(frequency, UInt32(Self.count - 1)))] }

    @inline(__always)
    func set(_ weight: Double, _ norm: LengthNorm, needed: Double) {
        guard needed > 0 else { return limits.update(repeating: .max, count: Self.count) }
        // weight · tf / (tf + constant + slope · stored) ≥ needed
        let (factor, offset, slope) = (weight / needed - 1, norm.constant, 1 / norm.slope)
        for frequency in 0..<Self.count - 1 {
            let limit = (Double(frequency) * factor - offset) * slope
            // Room for rounding; what is let through is looked at again.
            limits[frequency] = Int32(max(min(limit + 1 + limit.magnitude * 1e-9, 1e9), -1))
        }
    }
}
