// SPDX-License-Identifier: Apache-2.0
// Backups cut at every call. The other proofs make backups in random lives.

import HornbeamProof
import HornbeamTestSupport
import Testing

@Suite("A backup")
struct BackupProofTests {
    @Test(
        "of a store with more content than its file's size is whole or has no name, wherever it is cut",
        arguments: SeededGenerator.seeds(1))
    func compressed(seed: UInt64) throws {
        try BackupProof.ofCompressedStore(seed: seed)
    }
}
