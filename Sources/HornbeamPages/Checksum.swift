// SPDX-License-Identifier: Apache-2.0
// The one checksum of the format: XXH3 with 64 bits, seeded. It detects damage; it is no defence against forgery.

import CXXHash

enum Checksum {
    static func of(_ bytes: Bytes, seed: UInt64) -> UInt64 {
        XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
    }
}
