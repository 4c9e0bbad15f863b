// SPDX-License-Identifier: Apache-2.0
// The engine's promise in a crash, at every call of random lives. `make crash` runs this a million times.

import HornbeamProof
import HornbeamTestSupport
import Testing

@Suite("A power loss or a killed process")
struct CrashProofTests {
    @Test(
        "at any call leaves all that was acknowledged, in order, and no part of more",
        arguments: SeededGenerator.seeds(2))
    func everyCall(seed: UInt64) throws {
        let proof = CrashProof(seed: seed)
        try proof.run(states: 2000)
        #expect(proof.total >= 2000)
        #expect(proof.states[0] > 100 && proof.states[1] > 100 && proof.states[2] > 10)
    }

    @Test(
        "while threads share write-throughs leaves all that was acknowledged to any of them",
        arguments: SeededGenerator.seeds(1))
    func threads(seed: UInt64) throws {
        let proof = ThreadCrashProof(seed: seed, images: 250)
        #expect(try proof.run(commitsOfAWriter: 150) > 100)
    }
}
