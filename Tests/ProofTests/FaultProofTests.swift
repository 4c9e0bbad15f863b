// SPDX-License-Identifier: Apache-2.0
// Calls that fail, in random lives. `make faults` runs this at length.

import HornbeamProof
import HornbeamTestSupport
import Testing

@Suite("A failing call to the file")
struct FaultProofTests {
    @Test(
        "loses nothing acknowledged, shows nothing that failed, and a failed write leaves a usable store",
        arguments: SeededGenerator.seeds(2))
    func randomLives(seed: UInt64) throws {
        let proof = try FaultProof(seed: seed)
        try proof.run(faults: 300)
        #expect(proof.struck[.write] ?? 0 > 20 && proof.struck[.sync] ?? 0 > 20)
    }
}
