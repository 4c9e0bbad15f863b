// SPDX-License-Identifier: Apache-2.0
// Rows looked up together agree with single look-ups, for each way of reading.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let models: [EntityDescription] = [
    EntityDescription(
        name: "Thing",
        columns: [ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .string)],
        relations: [RelationDescription(name: "next", target: "Thing", toMany: false)])
]

@Suite("Rows in order")
struct RowsInOrderTests {
    /// Returns a store with things whose ids have gaps, over several pages; every tenth leads to the one before.
    private func store(_ random: inout SeededGenerator) throws -> CoreStore {
        let store = try CoreStore(models)
        for id in 0..<2_000 where id < 40 || random.below(4) > 0 {
            _ = try store.save("Thing", [.int(Int64(id)), .string("thing number \(id), with some more text to it")])
        }
        let side = try store["Thing"].type.relation("next")
        for id in stride(from: 1, to: 2_000, by: 3) {
            try store.core.edges.append(side, RowID(rawValue: UInt64(id)), RowID(rawValue: UInt64(id - 1)))
        }
        return store
    }

    /// Returns some ids: consecutive, repeated, in any order, far apart, or past the last one.
    private func some(_ random: inout SeededGenerator) -> [RowID] {
        let start = random.below(2_100)
        let numbers: [Int] =
            switch random.below(5) {
            case 0: (0..<random.below(300)).map { start + $0 }
            case 1: (0..<random.below(300)).map { _ in start + random.below(400) }.sorted()
            case 2: (0..<random.below(40)).map { _ in random.below(2_200) }.sorted()
            case 3: (0..<random.below(200)).map { start + $0 * (5 + random.below(3)) }.sorted()
            default: (0..<random.below(100)).map { _ in start + random.below(200) }
            }
        return numbers.map { RowID(rawValue: UInt64($0)) }
    }

    @Test("rows in the order of the ids, nil for missing ones", .seeded)
    func rows() throws {
        var random = SeededGenerator()
        let store = try store(&random)
        let things = try store["Thing"]
        var runs = 0
        for _ in 0..<200 {
            let rows = some(&random)
            runs += rows.isRun(distance: 16) ? 1 : 0
            var found: [String?] = []
            try things.forEach(rows) { place, row in
                #expect(place == found.count)
                found.append(try row?.string(1))
            }
            #expect(try found == rows.map { try things.row($0)?.string(1) })
        }
        #expect(runs > 20)
    }

    @Test("the targets of a to-one side", .seeded)
    func links() throws {
        var random = SeededGenerator()
        let store = try store(&random)
        let side = try store["Thing"].type.relation("next")
        for _ in 0..<100 {
            let rows = some(&random)
            let found = try store.core.edges.links(side, ofEach: rows).lists
            #expect(try found == rows.map { try store.core.edges.targets(side, of: $0) })
        }
    }
}
