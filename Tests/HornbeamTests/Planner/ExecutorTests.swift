// SPDX-License-Identifier: Apache-2.0
// Orders and paths that the differential test can't express: lists, relations, scores, closures, long keys.

import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let models = [
    EntityDescription(
        name: "Doc",
        columns: [
            ColumnDescription(name: "id", type: .string), ColumnDescription(name: "text", type: .string),
            ColumnDescription(name: "rank", type: .int64),
        ],
        indexes: [
            IndexDescription(name: "search", kind: .text, components: [.init(column: "text")]),
            IndexDescription(name: "byText", kind: .value, components: [.init(column: "text"), .init(column: "rank")]),
        ],
        relations: [RelationDescription(name: "shelf", target: "Shelf", toMany: false, inverse: "docs")]),
    EntityDescription(
        name: "Shelf", columns: [ColumnDescription(name: "id", type: .int64)],
        relations: [RelationDescription(name: "docs", target: "Doc", toMany: true)]),
]

private func filled() throws -> CoreStore {
    let store = try CoreStore(models)
    for (id, text, rank) in [("d", "red red", 1), ("b", "red", 2), ("c", "red", 1), ("a", "blue", 3), ("e", "red", 2)] {
        try store.save("Doc", [.string(id), .string(text), .int(Int64(rank))])
    }
    let docs = try store["Shelf"].type.relation("docs")
    let targets = try ["e", "zz", "a", "d"].map { try store["Doc"].ensureRowID(of: .string($0)) }
    try store.core.edges.set(docs, RowID(rawValue: 7), targets)
    return store
}

private func ids(_ query: EntityQuery, _ store: CoreStore) throws -> String {
    try store.ids(query).map { if case .string(let id) = $0 { id } else { "?" } }.joined()
}

@Suite("Executor")
struct ExecutorTests {
    private let red = Filter.matches(columns: [1], text: "red")

    @Test("ids keep their order, count once, and unsaved ones are left out")
    func list() throws {
        let store = try filled()
        let list = Filter.ids([.string("e"), .string("zz"), .string("a"), .string("e"), .string("nobody")])
        #expect(try ids(EntityQuery(type: "Doc", filter: list), store) == "ea")
        #expect(try ids(EntityQuery(type: "Doc", filter: .and([list, red])), store) == "e")
        #expect(try ids(EntityQuery(type: "Doc", filter: list, sort: [.column(2, descending: true)]), store) == "ae")
        #expect(try store.core.count(EntityQuery(type: "Doc", filter: list)) == 2)
        #expect(try ids(EntityQuery(type: "Doc", filter: list, limit: 1, offset: 1), store) == "a")
        #expect(try ids(EntityQuery(type: "Doc", filter: list, limit: 0), store) == "")
        #expect(try ids(EntityQuery(type: "Doc", filter: .not(list)), store) == "dbc")
    }

    @Test("ids in a list of values are looked up; impossible ids are no error, and rows come in their own order")
    func idValues() throws {
        let store = try filled()
        for number in 0..<30 { try store.save("Doc", [.string("x\(number)"), .string("red"), .int(9)]) }
        let huge = Value.string(String(repeating: "h", count: 2000))
        let wanted = Filter.within(column: 0, [.string("b"), huge, .string("zz"), .string("d"), .string("b")])
        let query = EntityQuery(type: "Doc", filter: wanted)
        #expect(try ids(query, store) == "db")
        #expect(try store.core.explain(query).access == .ids(count: 3))
        #expect(try store.core.count(query) == 2)
        #expect(try ids(EntityQuery(type: "Doc", filter: .and([wanted, red])), store) == "db")
        // Given ids come in the given order, also beside other conditions.
        let given = Filter.ids([.string("b"), .string("a"), .string("d")])
        #expect(try ids(EntityQuery(type: "Doc", filter: .and([wanted, given])), store) == "bd")
    }

    @Test("related entities come in the order of linking; an unknown source has none")
    func related() throws {
        let store = try filled()
        let shelf = Filter.related(RelationSource(type: "Shelf", relation: "docs", source: .int(7)))
        #expect(try ids(EntityQuery(type: "Doc", filter: shelf), store) == "ead")
        #expect(try ids(EntityQuery(type: "Doc", filter: .and([red, shelf])), store) == "ed")
        let none = Filter.related(RelationSource(type: "Shelf", relation: "docs", source: .int(8)))
        #expect(try ids(EntityQuery(type: "Doc", filter: none), store) == "")
        #expect(
            try store.core.explain(EntityQuery(type: "Doc", filter: shelf)).access.description.contains("Shelf.docs")
        )
    }

    @Test("a ranked search is best first, ties by the smaller id, and sees this transaction's changes")
    func ranked() throws {
        let store = try filled()
        let query = EntityQuery(type: "Doc", filter: red, sort: [.bestScore])
        #expect(try ids(query, store) == "dbce")
        #expect(try ids(EntityQuery(type: "Doc", filter: red, sort: [.bestScore], limit: 2, offset: 1), store) == "bc")
        let second = Filter.and([red, .compare(column: 2, .equal, .int(2))])
        #expect(try ids(EntityQuery(type: "Doc", filter: second, sort: [.bestScore]), store) == "be")
        let scores = try store.core.ranked(query).map(\.score)
        #expect(scores == scores.sorted(by: >) && scores[0] > scores[1] && scores[1] == scores[2])
        try store.save("Doc", [.string("0"), .string("red"), .int(0)])
        #expect(try ids(query, store) == "d0bce")
        #expect(throws: HornbeamError.self) {
            try store.ids(EntityQuery(type: "Doc", sort: [.bestScore]))
        }
    }

    @Test("a ranked search takes the first text condition that has an index, at any position")
    func rankedByLater() throws {
        let store = try filled()
        let unindexed = Filter.matches(columns: [1, 0], text: "red blue d")
        let query = EntityQuery(type: "Doc", filter: .and([unindexed, red]), sort: [.bestScore])
        #expect(try ids(query, store) == "dbce")
        #expect(try store.core.explain(query).filter != nil)
        #expect(throws: HornbeamError.self) {
            try store.ids(EntityQuery(type: "Doc", filter: unindexed, sort: [.bestScore]))
        }
    }

    @Test("closures filter and sort, mixed with columns")
    func opaque() throws {
        let store = try filled()
        let odd = Filter.opaque(label: "odd") { row in try row.int(2).map { $0 % 2 == 1 } ?? false }
        #expect(try ids(EntityQuery(type: "Doc", filter: odd), store) == "dca")
        let byLength = SortTerm(
            .opaque(
                label: "length", key: { try $0.string(1)?.count ?? 0 },
                order: { left, right in (left as? Int ?? 0) - (right as? Int ?? 0) }), descending: true)
        let query = EntityQuery(type: "Doc", sort: [byLength, .column(2, descending: true)])
        #expect(try ids(query, store) == "dabec")
        let plan = try store.core.explain(EntityQuery(type: "Doc", filter: odd, sort: [byLength], limit: 3))
        #expect(plan.filter == "odd")
        #expect(plan.order == .inMemory(["length desc"]))
    }

    @Test("an error in a closure comes out of the query as it is")
    func errors() throws {
        struct Mine: Error {}
        let store = try filled()
        let failing = Filter.opaque(label: "fails") { _ in throw Mine() }
        #expect(throws: Mine.self) { try store.ids(EntityQuery(type: "Doc", filter: failing)) }
        let ranked = EntityQuery(type: "Doc", filter: .and([red, failing]), sort: [.bestScore])
        #expect(throws: Mine.self) { try store.ids(ranked) }
    }

    @Test("keys cut for the tree still sort as their rows do, both ways", arguments: [false, true])
    func longKeys(descending: Bool) throws {
        let store = try CoreStore(models)
        let long = String(repeating: "n", count: 890)
        for (id, tail, rank) in [("a", "b", 1), ("b", "a", 2), ("c", "b", 0), ("d", "", 5), ("e", "b", 1)] {
            try store.save("Doc", [.string(id), .string(long + tail), .int(Int64(rank))])
        }
        // Enough other rows, beyond the limit, to make the index worthwhile.
        for number in 0..<40 {
            try store.save("Doc", [.string("x\(number)"), .string(descending ? "a" : "z"), .int(Int64(number))])
        }
        let sort = [SortTerm.column(1, descending: descending), SortTerm.column(2, descending: descending)]
        let query = EntityQuery(type: "Doc", sort: sort, limit: 5)
        #expect(try store.core.explain(query).order == .byAccess)
        #expect(try ids(query, store) == (descending ? "aecbd" : "dbcae"))
        let above = Filter.compare(column: 1, .greater, .string(long + "a"))
        let below = Filter.compare(column: 1, .less, .string("o"))
        #expect(try ids(EntityQuery(type: "Doc", filter: .and([above, below])), store) == "ace")
    }
}
