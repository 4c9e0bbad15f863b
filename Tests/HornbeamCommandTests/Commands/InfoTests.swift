// SPDX-License-Identifier: Apache-2.0
// Sizes as `hornbeam info` shows them, from given figures.

import HornbeamPages
import HornbeamTree
import Testing

@testable import HornbeamCommand

@Suite("Sizes of a store")
struct InfoTests {
    private func summary(file: UInt64, used: UInt64, retired: UInt64) throws -> StoreSummary {
        var figures = PageStatistics()
        (figures.fileBytes, figures.usedBytes, figures.retiredBytes) = (file, used, retired)
        let read = try TreeStore.inMemory().beginRead()
        defer { read.abort() }
        return try StoreSummary("f", read) { figures }
    }

    @Test("space of older states is neither used nor free")
    func free() throws {
        #expect(try summary(file: 10_000, used: 4_000, retired: 1_000).freeSize == 5_000)
    }

    @Test("the number of deleted entities is shown with the rule that purges them")
    func deleted() throws {
        var summary = try summary(file: 10_000, used: 4_000, retired: 0)
        let entities: [(String, UInt64)] = [
            ("Book", 5), ("Deleted<Author>", 0), ("Deleted<Book>", 2), ("Deleted<Page>", 1),
        ]
        summary.entityTypes = entities.map { .init(name: $0.0, entities: $0.1, indexes: []) }
        #expect(
            summary.deletedRemark == "3 deleted entities kept, until the program purges them: "
                + "try Deleted<Book>.purge(before: nil, from: &context)")
        summary.entityTypes.removeLast(2)
        #expect(summary.deletedRemark == nil)
    }

    @Test("impossible figures of a writer leave nothing free, and don't overflow")
    func impossible() throws {
        #expect(try summary(file: 10_000, used: 4_000, retired: .max).freeSize == 0)
        #expect(try summary(file: 10_000, used: .max, retired: .max).freeSize == 0)
    }
}
