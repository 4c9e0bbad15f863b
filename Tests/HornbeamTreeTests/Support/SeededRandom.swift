// SPDX-License-Identifier: Apache-2.0
// Random numbers that can be had again: every randomised test names its seed when it fails, and HORNBEAM_SEED makes all
// of them use that one.

import Glibc

/// SplitMix64.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var word: UInt64 = 0
        for index in 0..<count {
            if index % 8 == 0 { word = next() }
            bytes.append(UInt8(truncatingIfNeeded: word))
            word >>= 8
        }
        return bytes
    }

    /// One time in `count`.
    mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }
}

/// The seed of this run: HORNBEAM_SEED, or a new one.
let testSeed: UInt64 = {
    if let text = getenv("HORNBEAM_SEED"), let seed = UInt64(String(cString: text)) { return seed }
    return UInt64.random(in: 1...999_999)
}()
