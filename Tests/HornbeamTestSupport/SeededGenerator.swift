// SPDX-License-Identifier: Apache-2.0
// Random numbers that can be replayed: a failing test prints its seed, and HORNBEAM_SEED gives it back.

import Glibc

/// SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// The seeds a test should run: the one in HORNBEAM_SEED, or `count` fixed ones.
    package static func seeds(_ count: Int) -> [UInt64] {
        if let text = getenv("HORNBEAM_SEED"), let seed = UInt64(String(cString: text)) { return [seed] }
        return (1...UInt64(max(1, count))).map { $0 }
    }
}
