// SPDX-License-Identifier: Apache-2.0
// Writers and readers on threads. `make tsan` runs this suite under the thread sanitizer.

import HornbeamProof
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@Suite("Threads on one store")
struct ConcurrencyProofTests {
    @Test("keep every snapshot whole and every commit visible, in a file", .seeded)
    func file() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        try run(try TreeStore.open(at: folder.path("threads.hornbeam")))
    }

    @Test("keep every snapshot whole and every commit visible, in memory", .seeded)
    func memory() throws { try run(try TreeStore.inMemory()) }

    @Test("keep every snapshot whole and every commit visible, on a simulated disk", .seeded)
    func simulated() throws { try run(try TreeStore.open(file: try SimulatedDisk())) }

    private func run(_ store: TreeStore) throws {
        let proof = try ConcurrencyProof(store, writers: 4, seed: SeededGenerator.seed)
        try proof.run(seconds: 20, readers: 3, limit: 60)
        #expect(proof.commits.load(ordering: .relaxed) > 200)
        #expect(proof.reads.load(ordering: .relaxed) > 5)
        #expect(try store.check { Issue.record("\($0)") })
        try store.close()
    }
}
