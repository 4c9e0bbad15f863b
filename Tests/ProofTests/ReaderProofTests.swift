// SPDX-License-Identifier: Apache-2.0
// Processes that read beside one that writes and dies. `make readers` runs this at length.

import HornbeamProof
import HornbeamTestSupport
import Testing

@Suite("Readers in other processes")
struct ReaderProofTests {
    @Test(
        "see only durable states and keep their snapshots at each call of a writer, its death and the next's life",
        arguments: SeededGenerator.seeds(2))
    func everyCall(seed: UInt64) throws {
        let proof = try ReaderProof(seed: seed)
        try proof.run(snapshots: 1000)
        #expect(proof.snapshots > 200 && proof.heldAgain > 200 && proof.deaths > 3)
    }
}
