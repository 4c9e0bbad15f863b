// SPDX-License-Identifier: Apache-2.0
// Repeatable randomness: everything random in a run comes from its seed.

import Foundation

/// A small, fast, seeded generator (Steele, Lea and Flood's SplitMix64).
package struct SplitMix: RandomNumberGenerator {
    package var state: UInt64

    package init(state: UInt64) { self.state = state }

    @inlinable package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Numbers below `count` with the skew of YCSB: the share of number r is proportional to 1 / (r + 1)^0.99, spread
/// over all numbers (Gray et al., "Quickly generating billion-record synthetic databases").
package struct Zipf {
    private let count: Int
    private let theta = 0.99
    private let zeta: Double
    private let eta: Double

    package init(count: Int) {
        self.count = count
        var zeta = 0.0
        for rank in 1...max(1, count) { zeta += 1 / pow(Double(rank), theta) }
        self.zeta = zeta
        let two = 1 + 1 / pow(2, theta)
        eta = (1 - pow(2.0 / Double(count), 1 - theta)) / (1 - two / zeta)
    }

    /// Returns a rank; 0 is the most popular one.
    package func rank(_ random: inout SplitMix) -> Int {
        let uniform = Double.random(in: 0..<1, using: &random)
        let share = uniform * zeta
        if share < 1 { return 0 }
        if share < 1 + pow(0.5, theta) { return min(1, count - 1) }
        return min(count - 1, Int(Double(count) * pow(eta * uniform - eta + 1, 1 / (1 - theta))))
    }

    /// Returns the number of an entry. Popular ones are anywhere.
    package func next(_ random: inout SplitMix) -> Int {
        Int(UInt64(rank(&random)) &* 0x9E37_79B9_7F4A_7C15 % UInt64(count))
    }
}
