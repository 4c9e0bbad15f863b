// SPDX-License-Identifier: Apache-2.0
// A generator whose seed can be replayed: HORNBEAM_SEED=n swift test.

import Foundation

struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init() {
        let given = ProcessInfo.processInfo.environment["HORNBEAM_SEED"].flatMap { UInt64($0) }
        seed = given ?? UInt64.random(in: 0...UInt64.max)
        state = seed
    }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
