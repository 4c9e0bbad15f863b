// SPDX-License-Identifier: Apache-2.0
// Offsets and last entities by indexes of all kinds, in both directions: skipped rows are counted, not read.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Skipped {
    @Index<Self>(\.title) private var byTitle
    @Index<Self>(\.year, \.title) private var byYear
    @Index<Self>(\.genre) private var byGenre

    let id: Int
    var title: String
    var year: Int
    var genre: Int
    var plays: Int
}

@Suite("Skipping the rows before a position")
struct SkippingTests {
    private static let columns = [
        ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .optional(.string)),
        ColumnDescription(name: "group", type: .int64), ColumnDescription(name: "code", type: .optional(.string)),
    ]

    private static let indexes = [
        IndexDescription(name: "byName", kind: .value, components: [.init(column: "name")]),
        IndexDescription(
            name: "byGroup", kind: .value,
            components: [.init(column: "group"), .init(column: "name", descending: true)]),
        IndexDescription(name: "byCode", kind: .unique, components: [.init(column: "code")]),
    ]

    /// Returns names of one byte, of nearly as many bytes as an index keeps, and of more, which share their beginning
    /// in groups.
    private func name(_ random: inout SeededGenerator) -> Value {
        switch random.below(6) {
        case 0: .null
        case 1, 2: .string(String(UnicodeScalar(UInt8(97 + random.below(6)))))
        default:
            .string(String(repeating: random.below(2) == 0 ? "l" : "m", count: 880) + "\(random.below(30))")
        }
    }

    @Test("any offset and the last row, by whole keys, parts of keys and cut keys, either way", .seeded)
    func offsets() throws {
        var random = SeededGenerator()
        let store = try CoreStore([EntityDescription(name: "Item", columns: Self.columns, indexes: Self.indexes)])
        let plain = try CoreStore([EntityDescription(name: "Item", columns: Self.columns)])
        for id in 0..<400 {
            let code = random.below(3) == 0 ? Value.null : .string("\(random.below(40)) \(id)")
            let row = [.int(Int64(id)), name(&random), .int(Int64(random.below(3))), code]
            for store in [store, plain] { try store.save("Item", row) }
        }
        let sorts: [[SortTerm]] = [
            [.column(1)], [.column(2)], [.column(2), .column(1, descending: true)], [.column(3)],
        ]
        for sort in sorts {
            for isReversed in [false, true] {
                for filter in [
                    Filter.all, .compare(column: 2, .equal, .int(1)), .compare(column: 2, .greater, .int(0)),
                ] {
                    var query = EntityQuery(type: "Item", filter: filter, sort: sort)
                    if isReversed { for place in sort.indices { query.sort[place].descending.toggle() } }
                    let expected = try plain.ids(query)
                    let last = try store.core.lastRow(query)
                    #expect(try last.flatMap { try store["Item"].id(of: $0) } == expected.last)
                    query.limit = 7
                    #expect(try store.core.explain(query).access.description.contains("index"))
                    for offset in Set([1, 2, 63, 64, 65, 130, 399, 400]).union((0..<12).map { _ in random.below(400) })
                    {
                        query.offset = offset
                        let found = try store.ids(query)
                        #expect(found == Array(expected.dropFirst(offset).prefix(7)), "\(query) from \(offset)")
                    }
                }
            }
        }
    }

    @Test("the last row of any query is the last in the list of its rows", .seeded)
    func last() throws {
        var random = SeededGenerator()
        var context = Context()
        for id in 0..<200 {
            try Skipped(
                id: id, title: "t\(random.below(30))", year: random.below(6), genre: random.below(3),
                plays: random.below(9)
            ).save(to: &context)
        }
        let queries: [QueryList<Skipped>] = [
            Skipped.query(), .filter(\.plays > 6), .filter(\.genre == 1), .filter(\.genre == 9), .filter(\.id < 60),
            .filter(.string(\.title, contains: "2")), Skipped.query().limit(30, offset: 5),
            Skipped.query([5, 3, 99, 4]),
        ]
        for query in queries {
            var orders = [query, query.sorted(by: \.title), query.sorted(by: \.year.desc)]
            orders.append(query.sorted(by: \.year, \.title.desc))
            orders.append(query.sorted(by: \.plays))
            orders.append(query.sorted(by: \.title.count, \.plays.desc))
            orders.append(query.sorted(by: \.genre.desc))
            for order in orders {
                let all = try order.ids(in: context)
                #expect(try order.last().resolve(in: context)?.id == all.last)
                #expect(try order.first(in: context)?.id == all.first)
                guard let place = try order.limit(1, offset: 20).resolve(in: context).first else { continue }
                let behind = order.after(place)
                #expect(try behind.last().resolve(in: context)?.id == behind.ids(in: context).last)
            }
        }
    }

    @Test("skipping takes a few pages however many rows come before")
    func pages() throws {
        let database = try Database.counting(Skipped.self)
        let count = 6_000
        try database.write { context in
            for id in 0..<count {
                try Skipped(id: id, title: "title \(id * 7919 % count)", year: id % 50, genre: id % 2, plays: id % 7)
                    .save(to: &context)
            }
        }
        func pages(_ body: (Context) throws -> Void) throws -> Int {
            _ = try database.pagesRead(body)
            return try database.pagesRead(body)
        }
        let orders: [(String, QueryList<Skipped>)] = [
            ("texts", Skipped.query().sorted(by: \.title)),
            ("texts, backwards", Skipped.query().sorted(by: \.title.desc)),
            ("parts of keys", Skipped.query().sorted(by: \.year)),
            ("large groups, backwards", Skipped.query().sorted(by: \.genre.desc)),
            ("a range", Skipped.filter(\.year >= 10).sorted(by: \.year.desc)),
        ]
        for (name, order) in orders {
            let first = try pages { context in _ = try order.limit(5).ids(in: context) }
            let far = try pages { context in
                let found = try order.limit(5, offset: count / 2 + 17).ids(in: context)
                #expect(found.count == 5)
            }
            // A few more descents, and for groups the one in which the position lies.
            #expect(far <= first + 30, "\(name): \(first) pages, then \(far)")
            let last = try pages { context in
                let found = try order.last().resolve(in: context)
                #expect(found != nil)
            }
            #expect(last <= first + 30, "\(name): \(first) pages, the last \(last)")
        }
        // The condition is tested on the rows from the end on.
        let tested = try pages { context in
            let found = try Skipped.filter(\.plays != 3).sorted(by: \.title).last().resolve(in: context)
            #expect(found != nil)
        }
        #expect(tested <= 40, "\(tested) pages")
    }
}
