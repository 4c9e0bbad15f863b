// SPDX-License-Identifier: Apache-2.0
// Files damaged by a medium or forged. `make hostile` runs this for any number of files.

import HornbeamProof
import HornbeamTestSupport
import Testing

@Suite("A hostile file")
struct HostileProofTests {
    @Test(
        "gives right answers or typed errors when damaged, and never a trap or a hang",
        arguments: SeededGenerator.seeds(2))
    func mutations(seed: UInt64) throws {
        var proof = HostileProof(seed: seed)
        try proof.run(mutations: 800)
        #expect(proof.refusals > 200)
    }
}
