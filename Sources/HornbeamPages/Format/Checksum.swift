// SPDX-License-Identifier: Apache-2.0
// The only checksum of the format: XXH3 with 64 bits, seeded. It detects damage, but doesn't protect against forgery.

import CHornbeamShims
import CXXHash

package enum Checksum {
    package static func of(_ bytes: Bytes, seed: UInt64) -> UInt64 {
        var result: UInt64 = 0
        // Short input takes the same time either way.
        if bytes.count >= 512, hbs_checksum_fast(bytes.baseAddress, bytes.count, seed, &result) != 0 { return result }
        return XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
    }
}

/// Computes the checksum of bytes that come in parts.
final class RunningChecksum {
    private let state = XXH3_createState()
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        XXH3_64bits_reset_withSeed(state, seed)
    }

    deinit { XXH3_freeState(state) }

    func add(_ bytes: Bytes) { XXH3_64bits_update(state, bytes.baseAddress, bytes.count) }

    /// The checksum of all bytes added since the last call, or since the start.
    func finish() -> UInt64 {
        defer { XXH3_64bits_reset_withSeed(state, seed) }
        return XXH3_64bits_digest(state)
    }
}
