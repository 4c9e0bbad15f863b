// SPDX-License-Identifier: Apache-2.0
// Anonymous memory of a process under a load much larger than the budget for pages, measured by the system. It is a
// process of its own, because the test's memory is not the store's.

import HornbeamTestSupport
import Testing

@Suite("Anonymous memory")
struct MemoryTests {
    /// Allowed in addition to the budget: the megabyte of frames that only this process has, the redo that a
    /// transaction keeps until it proves to be large (half of a ring of 1 MiB), the list of pages that it frees, the
    /// code's own memory, and the memory that malloc keeps.
    private static let besideKiB = 3 << 10
    private static let budgetKiB = 4 << 10

    @Test(
        "stays within the cache's budget and 3 MiB: one large transaction, a full scan, random gets",
        arguments: ["mapped", "read"], ["plain", "compressed"])
    func budget(access: String, tree: String) throws {
        let folder = try TemporaryFolder()
        let worker = try WorkerProcess()
        let count = 32 << 10
        let answer = try worker.ask(
            "load \(folder.path("store.hornbeam")) \(access) \(Self.budgetKiB << 10) \(tree) \(count)")
        let most = answer.split(separator: " ").compactMap { Int($0) }
        #expect(most.count == 3)
        for (phase, kib) in zip(["put", "scan", "get"], most) {
            #expect(kib <= Self.budgetKiB + Self.besideKiB, "\(phase): \(kib) KiB, \(access), \(tree)")
        }
    }
}
