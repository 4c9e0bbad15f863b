// SPDX-License-Identifier: Apache-2.0
// A few of the lives that `make mirrors` runs at length.

import PostgresTestSupport
import Testing

@Suite("Lives in which both sides die", .serialized)
struct MirrorProofTests {
    @Test("lose nothing and bring nothing twice", arguments: [1, 2, 3] as [UInt64])
    func lives(seed: UInt64) async throws {
        let life = try MirrorProof(seed: seed, hasStandbys: seed % 3 == 0)
        try await life.run(rounds: 8)
        let figures = life.figures
        #expect(figures.looks > 8)
        #expect(figures.workersKilled + figures.serversKilled + figures.connectionsCut + figures.pauses > 3)
        #expect(figures.failovers == (seed % 3 == 0 ? 1 : 0))
    }
}
