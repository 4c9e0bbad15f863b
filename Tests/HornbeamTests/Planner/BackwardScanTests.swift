// SPDX-License-Identifier: Apache-2.0
// An index walked backwards: equal entries still come by ascending row ids, whether few or many.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Index walked backwards")
struct BackwardScanTests {
    @Test("gives groups of any size in the order of a sort, any part of them, and from any position on", .seeded)
    func groups() throws {
        var random = SeededGenerator()
        let store = try CoreStore([
            EntityDescription(
                name: "Item",
                columns: [
                    ColumnDescription(name: "id", type: .int64),
                    ColumnDescription(name: "score", type: .optional(.int64)),
                    ColumnDescription(name: "code", type: .optional(.int64)),
                ],
                indexes: [
                    IndexDescription(name: "byScore", kind: .value, components: [.init(column: "score")]),
                    IndexDescription(name: "byCode", kind: .unique, components: [.init(column: "code")]),
                ])
        ])
        // Groups of one row, of some, of as many as are collected at once, of one more, and of many.
        var scores: [Value] = []
        for (score, size) in [(1, 1), (2, 63), (3, 64), (4, 65), (5, 200), (6, 1), (7, 2)] {
            scores += [Value](repeating: .int(Int64(score)), count: size)
        }
        scores += [Value](repeating: .null, count: 70)
        scores.shuffle(using: &random)
        var rows: [[Value]] = []
        for (id, score) in scores.enumerated() {
            rows.append([.int(Int64(id)), score, id.isMultiple(of: 2) ? .null : .int(Int64(id % 7 * 1000 + id))])
            try store.save("Item", rows[id])
        }
        func number(_ value: Value) -> Int64 { if case .int(let number) = value { number } else { .min } }
        for column in [1, 2] {
            let sorted = rows.sorted {
                (-Double(number($0[column])), number($0[0])) < (-Double(number($1[column])), number($1[0]))
            }
            for _ in 0..<60 {
                let place = random.below(rows.count)
                let limit = 1 + random.below(150)
                var query = EntityQuery(type: "Item", sort: [.column(column, descending: true)], limit: limit)
                #expect(try store.core.explain(query).access.description.contains("backwards"))
                query.offset = place
                #expect(try store.ids(query) == sorted.dropFirst(place).prefix(limit).map { $0[0] })
                query.offset = 0
                let row = try store.row("Item", sorted[place])
                query.after = { _ in QueryPosition(id: sorted[place][0], row: row) }
                #expect(try store.ids(query) == sorted.dropFirst(place + 1).prefix(limit).map { $0[0] })
            }
        }
    }

    @Test("an entry of a damaged file that has only a row and no key is an error, not skipped")
    func damaged() throws {
        let store = try CoreStore([
            EntityDescription(
                name: "Item",
                columns: [
                    ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "score", type: .int64),
                ],
                indexes: [IndexDescription(name: "byScore", kind: .value, components: [.init(column: "score")])])
        ])
        for id in 0..<100 { try store.save("Item", [.int(Int64(id)), .int(Int64(id))]) }
        let items = try store["Item"]
        let tree = items.type.indexes[0].tree
        let query = EntityQuery(type: "Item", sort: [.column(1, descending: true)], limit: 20)
        // After all keys, which begin with the marker 1.
        let place = RowID(rawValue: 1 << 60).key
        try items.transaction.put(tree, place, [])
        #expect(try store.core.explain(query).access.description.contains("backwards"))
        #expect { try store.ids(query) } throws: { error in
            if case .corrupt = error as? StorageError { true } else { false }
        }
        _ = try items.transaction.delete(tree, place)
        #expect(try store.ids(query).count == 20)
    }
}
