// SPDX-License-Identifier: Apache-2.0
// The checksum of the format is that of libxxhash, whichever instructions compute it.

import CXXHash
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A checksum")
struct ChecksumTests {
    @Test("is the library's, for any length, seed and address", .seeded)
    func same() {
        var random = SeededGenerator()
        let bytes = random.bytes(70_000)
        let sizes = Array(0...1100) + (0..<100).map { _ in random.below(65_000) } + [4096, 8192, 65_536]
        for size in sizes {
            let start = random.below(64)
            let seed: UInt64 = random.oneIn(2) ? random.next() : UInt64(random.below(1000))
            bytes.withUnsafeBytes { (bytes) in
                let part = Bytes(rebasing: bytes[start..<start + size])
                #expect(Checksum.of(part, seed: seed) == XXH3_64bits_withSeed(part.baseAddress, part.count, seed))
            }
        }
    }
}
