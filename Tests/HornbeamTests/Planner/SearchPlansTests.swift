// SPDX-License-Identifier: Apache-2.0
// Ranked searches beside other conditions: the best rows among those that meet the conditions, with the scores of the
// search alone, however the candidates are found; and the number of rows that a search finds.

import HornbeamTestSupport
import HornbeamText
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let columns: [ColumnDescription] = [
    ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "text", type: .string),
    ColumnDescription(name: "room", type: .int32), ColumnDescription(name: "size", type: .uint64),
    ColumnDescription(name: "name", type: .optional(.string)),
]

private let indexes: [IndexDescription] = [
    IndexDescription(name: "search", kind: .text, components: [.init(column: "text")]),
    IndexDescription(name: "byRoom", kind: .value, components: [.init(column: "room")]),
    IndexDescription(name: "bySize", kind: .value, components: [.init(column: "size", descending: true)]),
    IndexDescription(name: "byName", kind: .unique, components: [.init(column: "name")]),
]

private let words = (0..<12).map { "w\($0)" }

private struct Generator {
    var random = SeededGenerator()

    mutating func text() -> String {
        (0..<random.below(9)).map { _ in words[min(random.below(12), random.below(12))] }.joined(separator: " ")
    }

    mutating func row(_ id: Int64) -> [Value] {
        [
            .int(id), .string(text()), .int(Int64(random.below(12))), .uint(UInt64(random.below(40))),
            random.oneIn(3) ? .null : .string("n\(id)"),
        ]
    }

    mutating func match() -> TextMatch {
        func word() -> TextQuery { .words(words[random.below(12)]) }
        let query: TextQuery =
            switch random.below(7) {
            case 0: word()
            case 1: .any([word(), word(), word()])
            case 2: .all([word(), word()])
            case 3: .phrase(words[random.below(4)] + " " + words[random.below(4)], slop: 1)
            case 4: .prefix("w1")
            case 5: .without(.everything, word())
            default: .words("w0 w1 w2")
            }
        return TextMatch(columns: [1], query: query)
    }

    /// A condition beside the search, and its equivalent in plain Swift.
    mutating func condition() -> (filter: Filter, holds: ([Value]) -> Bool) {
        let (room, size) = (Int64(random.below(13)), UInt64(random.below(44)))
        let isRoom = Filter.compare(column: 2, .equal, .int(room))
        switch random.below(10) {
        case 0: return (isRoom, { $0[2] == .int(room) })
        case 1: return (.compare(column: 3, .greater, .uint(size)), { number($0[3]) > Int(size) })
        case 2:
            return (
                .and([isRoom, .compare(column: 3, .lessOrEqual, .uint(size))]),
                { $0[2] == .int(room) && number($0[3]) <= Int(size) }
            )
        case 3:
            let rooms = Set((0..<3).map { _ in Int64(random.below(13)) })
            return (.within(column: 2, rooms.map { .int($0) }), { rooms.contains(Int64(number($0[2]))) })
        case 4:
            let ids = Set((0..<25).map { _ in Int64(random.below(700)) })
            return (.within(column: 0, ids.map { .int($0) }), { ids.contains(Int64(number($0[0]))) })
        case 5:
            let name = "n\(random.below(700))"
            return (.compare(column: 4, .equal, .string(name)), { $0[4] == .string(name) })
        case 6:
            return (
                .or([isRoom, .compare(column: 3, .equal, .uint(size))]),
                { $0[2] == .int(room) || number($0[3]) == Int(size) }
            )
        case 7, 8:
            // No index answers this condition, so rows are tested.
            return (
                .not(.string(StringTest(.contains, columns: [1], "w3"))),
                { if case .string(let text) = $0[1] { !text.contains("w3") } else { false } }
            )
        default:
            return (
                .and([isRoom, .not(.string(StringTest(.contains, columns: [1], "w3")))]),
                { row in
                    guard row[2] == .int(room), case .string(let text) = row[1] else { return false }
                    return !text.contains("w3")
                }
            )
        }
    }
}

private func number(_ value: Value) -> Int {
    switch value {
    case .int(let number): Int(number)
    case .uint(let number): Int(number)
    default: -1
    }
}

@Suite("Ranked searches beside other conditions")
struct SearchPlansTests {
    private func query(_ filters: [Filter], limit: Int?, offset: Int = 0) -> EntityQuery {
        EntityQuery(type: "Item", filter: .and(filters), sort: [.bestScore], limit: limit, offset: offset)
    }

    private struct Hit: Equatable {
        let row: RowID
        let score: Double
    }

    private func hits(_ store: CoreStore, _ query: EntityQuery) throws -> [Hit] {
        try store.core.ranked(query).map { Hit(row: $0.rowID, score: $0.score) }
    }

    /// Some rows have ids that aren't row ids.
    @Test("The best of the passing hits, while rows change", .seeded, arguments: [0, 3])
    func filtered(oddIDs: Int) throws {
        var generator = Generator()
        let store = try CoreStore([EntityDescription(name: "Item", columns: columns, indexes: indexes)])
        var rows: [RowID: [Value]] = [:]
        func change(_ count: Int) throws {
            for _ in 0..<count {
                var id = Int64(generator.random.below(700))
                if oddIDs > 0, generator.random.oneIn(oddIDs) { id = -id }
                if generator.random.oneIn(6), let rowID = try store["Item"].rowID(of: .int(id)) {
                    try store["Item"].delete(rowID)
                    rows[rowID] = nil
                } else {
                    let row = generator.row(id)
                    rows[try store.save("Item", row)] = row
                }
            }
        }
        var (intersections, others) = (0, 0)
        for round in 0..<10 {
            if round == 4 {
                // Undone changes must not be seen.
                let before = rows
                struct Undone: Error {}
                do {
                    try store.core.nested {
                        try change(30)
                        _ = try hits(store, query([.matches(generator.match())], limit: 5))
                        throw Undone()
                    }
                } catch is Undone { rows = before }
            } else {
                try change(round == 0 ? 900 : 40)
            }
            if round.isMultiple(of: 3) { try store.reopen() }
            for _ in 0..<25 {
                let match = generator.match()
                let condition = generator.condition()
                let all = try hits(store, query([.matches(match)], limit: nil))
                let some = all.filter { condition.holds(rows[$0.row] ?? []) }
                let limit = [nil, 1, 10, 40][generator.random.below(4)]
                let offset = generator.random.oneIn(4) ? generator.random.below(5) : 0
                let filters =
                    generator.random.oneIn(2)
                    ? [.matches(match), condition.filter] : [condition.filter, .matches(match)]
                let wanted = query(filters, limit: limit, offset: offset)
                let plan = try store.core.explain(wanted)
                let note: Comment = "\(plan)"
                #expect(try hits(store, wanted) == Array(some.dropFirst(offset).prefix(limit ?? .max)), note)
                if case .intersection(let parts) = plan.access {
                    guard case .text(_, _, true)? = parts.first else {
                        Issue.record("\(plan)")
                        continue
                    }
                    intersections += 1
                } else {
                    others += 1
                }
                // The query without an order, and its count.
                let plain = EntityQuery(type: "Item", filter: .and(filters))
                #expect(try store.core.rowIDs(plain) == some.map(\.row).sorted(), note)
                #expect(try store.core.count(plain) == some.count, note)
                #expect(try store.core.count(EntityQuery(type: "Item", filter: .matches(match))) == all.count, note)
                #expect(try store.core.count(wanted) == (try hits(store, wanted)).count, note)
            }
        }
        #expect(intersections > 20 && others > 20, "\(intersections) of \(intersections + others)")
        #expect(try store.problems().isEmpty)
    }

    @Test("Orders of scores and properties, page after page", .seeded)
    func mixedOrders() throws {
        var generator = Generator()
        let store = try CoreStore([EntityDescription(name: "Item", columns: columns, indexes: indexes)])
        var rows: [RowID: [Value]] = [:]
        for id in 0..<600 as Range<Int64> {
            var row = generator.row(generator.random.oneIn(9) ? -id : id)
            // Many with the same score.
            if generator.random.oneIn(2) { row[1] = .string(["w1 w2", "w1", "w3 w0 w0"][generator.random.below(3)]) }
            rows[try store.save("Item", row)] = row
        }
        try store.reopen()
        let (room, size) = (SortTerm.column(2), SortTerm.column(3, descending: true))
        let worst = SortTerm(.score)
        let sorts: [[SortTerm]] = [
            [.bestScore, size], [.bestScore, room, size], [.bestScore, .column(0, descending: true)],
            [size, .bestScore], [room, worst], [worst, room], [worst], [.bestScore, worst, room],
        ]
        func precedes(_ left: Hit, _ right: Hit, _ sort: [SortTerm]) -> Bool {
            for term in sort {
                let order: Double
                switch term.key {
                case .column(let column):
                    let values = [left, right].map { Double(number(rows[$0.row, default: []][column])) }
                    order = values[0] - values[1]
                default: order = left.score - right.score
                }
                if order != 0 { return term.descending ? order > 0 : order < 0 }
            }
            return left.row < right.row
        }
        for round in 0..<120 {
            let match = generator.match()
            let condition = generator.condition()
            let all = try hits(store, query([.matches(match)], limit: nil))
            let sort = sorts[round % sorts.count]
            let some = all.filter { condition.holds(rows[$0.row] ?? []) }.sorted { precedes($0, $1, sort) }
            let limit = [nil, 1, 10, 40][generator.random.below(4)]
            let offset = generator.random.oneIn(4) ? generator.random.below(5) : 0
            var wanted = query([.matches(match), condition.filter], limit: limit, offset: offset)
            wanted.sort = sort
            let note: Comment = "\(try store.core.explain(wanted))"
            let expected = some.dropFirst(offset).prefix(limit ?? .max).map(\.row)
            #expect(try store.core.rowIDs(wanted) == Array(expected), note)
            guard round % sorts.count < 3, let place = some.indices.randomElement(using: &generator.random) else {
                continue
            }
            let last = rows[some[place].row, default: []]
            let row = try store.row("Item", last)
            wanted.after = { _ in QueryPosition(id: last[0], row: row) }
            let page = some.dropFirst(place + 1 + offset).prefix(limit ?? .max).map(\.row)
            #expect(try store.core.rowIDs(wanted) == Array(page), note)
        }
    }

    @Test("A common search is counted by the index, and the plan shows that")
    func counts() throws {
        let store = try CoreStore([EntityDescription(name: "Item", columns: columns, indexes: indexes)])
        for id in 0..<500 as Range<Int64> {
            try store.save("Item", [.int(id), .string("all \(id % 3)"), .int(id % 4), .uint(1), .null])
        }
        var query = EntityQuery(type: "Item", filter: .matches(columns: [1], text: "all"))
        #expect(try store.core.count(query) == 500)
        query.needs = RowNeeds()
        guard case .text = try store.core.explain(query).access else {
            Issue.record("\(try store.core.explain(query))")
            return
        }
        let room = Filter.compare(column: 2, .equal, .int(1))
        let both = EntityQuery(type: "Item", filter: .and([query.filter, room]), sort: [.bestScore], limit: 5)
        let plan = try store.core.explain(both)
        #expect(plan.access.description.hasPrefix("intersection of (ranked search of index search"), "\(plan)")
        #expect(plan.filter == nil)
    }
}
