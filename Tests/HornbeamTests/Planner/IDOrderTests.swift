// SPDX-License-Identifier: Apache-2.0
// Orders by id, and orders that end with the id: the first and the last entities are at the ends of rows already in
// that order, or of the tree of ids.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Counted: Equatable {
    @Index<Self>(\.rank) private var byRank
    @Index<Self>(\.room, \.rank) private var byRoom

    let id: Int
    var room: Int
    var rank: Int
    var text: String
}

@EntityModel
private struct Named: Equatable {
    @Index<Self>(\.rank) private var byRank

    let id: String
    var rank: Int
    var text: String
    @Relationship(inverse: \.friendOf) var friends: [Named]?
    @Relationship(inverse: \.friends) var friendOf: [Named]?
}

@Suite("Orders by id", .timeLimit(.minutes(30)))
struct IDOrderTests {
    private static let count = 6_000

    /// Returns a text so long that the rows of a type fill some 250 pages.
    private static func text(_ id: Int) -> String { "t\(id) " + String(repeating: "x", count: 250) }

    private static func name(_ number: Int) -> String { "n\(100_000 + number * 7919 % count)" }

    private static func database() throws -> Database {
        let database = try Database.counting(Counted.self, Named.self)
        try database.write { context in
            for id in 0..<count {
                try Counted(id: id, room: id % 3, rank: id % 50, text: text(id)).save(to: &context)
                try Named(id: name(id), rank: id % 50, text: text(id)).save(to: &context)
            }
        }
        return database
    }

    @Test("take a few pages, either way, from any place on, for integers and texts")
    func pages() throws {
        let database = try Self.database()
        let (last, greatest) = (Self.count - 1, "n\(100_000 + Self.count - 1)")
        let placed = Named(id: "n103000x", rank: 0, text: "")
        let number = Counted(id: 3_000, room: 0, rank: 0, text: "")
        func check(_ name: String, _ ask: (Context) throws -> Bool) throws {
            let pages = try database.pagesReadAgain { (context) throws in #expect(try ask(context), "\(name)") }
            #expect(pages <= 60, "\(name): \(pages) pages")
        }
        try check("first ids") { try Counted.query().sorted(by: \.id).limit(5).ids(in: $0) == Array(0..<5) }
        try check("last ids") { try Counted.query().sorted(by: \.id.desc).limit(2).ids(in: $0) == [last, last - 1] }
        try check("greatest id") { try Counted.query().max(\.id, in: $0) == last }
        try check("least id") { try Counted.query().min(\.id, in: $0) == 0 }
        try check("last of all") { try Counted.query().sorted(by: \.id).last().resolve(in: $0)?.id == last }
        try check("first of the other way") {
            try Counted.query().sorted(by: \.id.desc).last().resolve(in: $0)?.id == 0
        }
        try check("behind") { try Counted.query().sorted(by: \.id.desc).after(number).limit(1).ids(in: $0) == [2_999] }
        try check("far") { try Counted.query().sorted(by: \.id.desc).limit(1, offset: 4_000).ids(in: $0) == [1_999] }
        try check("range") { try Counted.filter(\.id < 500).sorted(by: \.id.desc).limit(1).ids(in: $0) == [499] }
        try check("in an index") {
            try Counted.filter(\.rank == 7).sorted(by: \.id.desc).limit(1).ids(in: $0) == [5_957]
        }
        try check("greatest of some") { try Counted.filter(\.rank == 7).max(\.id, in: $0) == 5_957 }
        try check("first texts") { try Named.query().sorted(by: \.id).limit(1).ids(in: $0) == ["n100000"] }
        try check("last texts") { try Named.query().sorted(by: \.id.desc).limit(1).ids(in: $0) == [greatest] }
        try check("greatest text") { try Named.query().max(\.id, in: $0) == greatest }
        try check("least text") { try Named.query().min(\.id, in: $0) == "n100000" }
        try check("last text") { try Named.query().sorted(by: \.id).last().resolve(in: $0)?.id == greatest }
        try check("behind one") { try Named.query().sorted(by: \.id).after(placed).limit(1).ids(in: $0) == ["n103001"] }
        try check("far texts") { try Named.query().sorted(by: \.id).limit(1, offset: 4_000).ids(in: $0) == ["n104000"] }
        try check("text range") { try Named.filter(\.id > "n104000" && \.id < "n104003").count(in: $0) == 2 }
        try check("text prefix") {
            try Named.filter(.string(\.id, hasPrefix: "n10400", caseSensitive: true)).ids(in: $0).count == 10
        }
    }

    @Test("end orders by an index, all four ways: each page takes a few pages")
    func tails() throws {
        let database = try Self.database()
        let all = try database.read { try Counted.query().resolve(in: $0) }
        let up = all.sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }
        let upDown = all.sorted { ($0.rank, $1.id) < ($1.rank, $0.id) }
        try check(Counted.query().sorted(by: \.rank, \.id), up, "up, up", database)
        try check(Counted.query().sorted(by: \.rank.desc, \.id.desc), up.reversed(), "down, down", database)
        try check(Counted.query().sorted(by: \.rank, \.id.desc), upDown, "up, down", database)
        try check(Counted.query().sorted(by: \.rank.desc, \.id), upDown.reversed(), "down, up", database)
        try check(Counted.query().sorted(by: \.rank, \.id, \.text), up, "and more", database)
    }

    private func check(
        _ order: QueryList<Counted>, _ expected: [Counted], _ name: String, _ database: Database
    ) throws {
        for place in [0, 119, 120, 121, 3_077] {
            let pages = try database.pagesReadAgain { (context) throws in
                let page = order.after(expected[place]).limit(10)
                #expect(try page.resolve(in: context) == Array(expected[(place + 1)...].prefix(10)), "\(name)")
                let far = try order.limit(3, offset: place).resolve(in: context)
                #expect(far == Array(expected[place...].prefix(3)), "\(name)")
                let plan = try page.explain(in: context)
                #expect(plan.order == .byAccess && plan.access.description.contains("index byRank"), "\(plan)")
            }
            #expect(pages <= 150, "\(name) behind \(place): \(pages) pages")
        }
        let last = try database.read { try order.last().resolve(in: $0) }
        #expect(last == expected.last, "\(name)")
    }

    @Test("are named by the plan, need no index, and ignore terms after the id")
    func plans() throws {
        try Self.database().read { (context) throws in
            let texts = Named.query().sorted(by: \.id.desc, \.text).limit(5).requiringIndex()
            let plan = try texts.explain(in: context)
            #expect(plan.access == .idOrder(entries: Self.count, reversed: true) && plan.order == .byAccess)
            #expect(plan.description.contains("6000 ids in their order, backwards"))
            #expect(plan.isCountKnown)
            #expect(try texts.ids(in: context).count == 5)
            let tested = Named.filter(.string(\.text, contains: "77")).sorted(by: \.id).requiringIndex()
            #expect(try tested.limit(1).ids(in: context).count == 1)
            // All entities would be read.
            #expect(throws: HornbeamError.self) { try tested.ids(in: context) }
            let numbers = Counted.query().sorted(by: \.id).requiringIndex()
            #expect(try numbers.limit(2).ids(in: context) == [0, 1])
            #expect(try numbers.explain(in: context).access == .rowScan(rows: Self.count))
            #expect(try numbers.limit(3).filter(\.room == 1).ids(in: context) == [1])
            let inRoom = Counted.filter(\.room == 1).sorted(by: \.rank.desc, \.id.desc, \.text).limit(1)
            #expect(try inRoom.requiringIndex().ids(in: context) == [5_899])
            #expect(try inRoom.explain(in: context).access.description.contains("byRoom"))
            // Entities with equal keys in the index come in the order of their texts, which the index doesn't have.
            let ranks = Named.query().sorted(by: \.rank.desc, \.id).limit(3)
            let byName = (0..<Self.count).filter { $0 % 50 == 49 }.map(Self.name).sorted()
            #expect(try ranks.requiringIndex().ids(in: context) == Array(byName.prefix(3)))
        }
    }

    @Test("leave out ids that are linked to and not stored")
    func unstored() throws {
        var context = Context()
        for id in ["b", "d", "f"] {
            try Named(id: id, rank: 1, text: id, friends: .ids(["a", "c", "e", "g", "d"])).save(to: &context)
        }
        let order = Named.query().sorted(by: \.id)
        #expect(try order.ids(in: context) == ["b", "d", "f"])
        #expect(try order.count(in: context) == 3)
        #expect(try order.limit(1, offset: 1).ids(in: context) == ["d"])
        #expect(try order.last().resolve(in: context)?.id == "f")
        #expect(try Named.query().max(\.id, in: context) == "f")
        #expect(try Named.query().sorted(by: \.id.desc).limit(2).ids(in: context) == ["f", "d"])
        #expect(try Named.filter(\.id > "b").count(in: context) == 2)
        #expect(try Named.filter(\.id == "a" || \.id == "f").ids(in: context) == ["f"])
    }

    @Test("give live lists in their order")
    func live() async throws {
        let database = try Database.inMemory(models: Counted.self, Named.self)
        func save(_ ids: [String]) throws {
            try database.write { context in
                for id in ids { try Named(id: id, rank: id.utf8.count, text: id).save(to: &context) }
            }
        }
        func delete(_ id: String) throws {
            try database.write { try Named.delete(id: id, from: &$0) }
        }
        try save(["m", "b"])
        var pages = database.observe(Named.query().sorted(by: \.id.desc).limit(3)).makeAsyncIterator()
        #expect(try await pages.next()?.entities.map(\.id) == ["m", "b"])
        try save(["z", "a"])
        #expect(try await pages.next()?.entities.map(\.id) == ["z", "m", "b"])
        try delete("m")
        #expect(try await pages.next()?.entities.map(\.id) == ["z", "b", "a"])
    }
}

// MARK: - By random

/// Ids of one type, in Swift's order.
private struct IDs: Sendable {
    let type: ColumnType
    let draw: @Sendable (inout SeededGenerator) -> Value
    let precedes: @Sendable (Value, Value) -> Bool

    static let all: [IDs] = [
        IDs(type: .int64, draw: { .int(Int64($0.below(500))) }, precedes: ints),
        IDs(
            type: .int64,
            draw: {
                let number = Int64($0.below(300))
                return .int($0.oneIn(3) ? -number : $0.oneIn(3) ? number << 40 : number)
            }, precedes: ints),
        IDs(type: .int16, draw: { .int(Int64($0.below(500)) - 250) }, precedes: ints),
        IDs(
            type: .uint64,
            draw: { $0.oneIn(2) ? .uint(UInt64.max - UInt64($0.below(200))) : .uint(UInt64($0.below(200))) },
            precedes: { if case (.uint(let left), .uint(let right)) = ($0, $1) { left < right } else { false } }),
        IDs(
            type: .string,
            draw: {
                let number = $0.below(400)
                return .string($0.oneIn(9) ? String(repeating: "l", count: 890) + "\(number % 10)" : "i\(number)")
            },
            precedes: { if case (.string(let left), .string(let right)) = ($0, $1) { left < right } else { false } }),
        IDs(
            type: .uuid, draw: { .uuid(uuid($0.below(400) * 0x1F3D_5B79)) },
            precedes: { if case (.uuid(let left), .uuid(let right)) = ($0, $1) { left < right } else { false } }),
        IDs(
            type: .decimal, draw: { .decimal(Decimal($0.below(400) - 200) / 8) },
            precedes: { if case (.decimal(let left), .decimal(let right)) = ($0, $1) { left < right } else { false } }),
        IDs(
            type: .data, draw: { .data(Data($0.bytes(1 + $0.below(2)))) },
            precedes: {
                if case (.data(let left), .data(let right)) = ($0, $1) {
                    left.lexicographicallyPrecedes(right)
                } else {
                    false
                }
            }),
        IDs(
            type: .double, draw: { .double(Double($0.below(400) - 200) / 4) },
            precedes: { if case (.double(let left), .double(let right)) = ($0, $1) { left < right } else { false } }),
    ]

    private static func ints(_ left: Value, _ right: Value) -> Bool {
        if case (.int(let left), .int(let right)) = (left, right) { left < right } else { false }
    }

    private static func uuid(_ number: Int) -> UUID {
        let bytes = withUnsafeBytes(of: UInt64(number).byteSwapped) { Array($0) }
        return UUID(
            uuid: (
                bytes[7], bytes[6], bytes[5], bytes[4], bytes[3], bytes[2], bytes[1], bytes[0], 0, 1, 2, 3, 4, 5, 6, 7
            ))
    }
}

/// A row and its position.
private struct Row {
    let values: [Value]
    let rowID: RowID

    var id: Value { values[0] }

    func number(_ column: Int) -> Int64? { if case .int(let number) = values[column] { number } else { nil } }
}

@Suite("Orders and conditions on ids of all types")
struct IDTypesTests {
    private static func description(_ ids: IDs) -> EntityDescription {
        EntityDescription(
            name: "Item",
            columns: [
                ColumnDescription(name: "id", type: ids.type), ColumnDescription(name: "room", type: .int64),
                ColumnDescription(name: "code", type: .optional(.int64)),
                ColumnDescription(name: "free", type: .int64),
            ],
            indexes: [
                IndexDescription(name: "byRoom", kind: .value, components: [.init(column: "room")]),
                IndexDescription(
                    name: "byRoomFree", kind: .value,
                    components: [.init(column: "room", descending: true), .init(column: "free")]),
                IndexDescription(name: "byCode", kind: .unique, components: [.init(column: "code")]),
                IndexDescription(name: "byFree", kind: .hash, components: [.init(column: "free")]),
            ])
    }

    @Test("give the results of plain Swift, with any plan, also one that needs an index", .seeded)
    func random() throws {
        var random = SeededGenerator()
        var accesses: Set<String> = []
        for ids in IDs.all {
            let store = try CoreStore([Self.description(ids)])
            var rows: [Value: Row] = [:]
            for round in 0..<2 {
                for _ in 0..<150 { try change(store, ids, &rows, &random) }
                if round > 0 { try store.reopen() }
                let all = rows.values.sorted { $0.rowID < $1.rowID }
                for _ in 0..<40 {
                    let plan = try ask(store, ids, all, &random)
                    accesses.insert(String(plan.access.description.drop { $0.isNumber || $0 == " " }.prefix(8)))
                }
            }
            #expect(try store.problems().isEmpty)
        }
        for access in ["scan of ", "ids in t", "index by", "union of", "look-up ", "range of"] {
            #expect(accesses.contains(access), "\(access) is not in \(accesses)")
        }
    }

    private func change(
        _ store: CoreStore, _ ids: IDs, _ rows: inout [Value: Row], _ random: inout SeededGenerator
    ) throws {
        let id = ids.draw(&random)
        if random.oneIn(5), let row = rows.removeValue(forKey: id) {
            try store["Item"].delete(row.rowID)
            return
        }
        let code = random.oneIn(3) ? Value.null : .int(Int64(random.below(1 << 40)))
        let values = [id, .int(Int64(random.below(5))), code, .int(Int64(random.below(40)))]
        rows[id] = Row(values: values, rowID: try store.save("Item", values))
    }

    private typealias Condition = (filter: Filter, holds: (Row) -> Bool)

    private func condition(_ ids: IDs, _ rows: [Row], _ random: inout SeededGenerator, _ depth: Int = 0) -> Condition {
        let id = ids.draw(&random)
        let room = Int64(random.below(5))
        switch random.below(depth < 2 ? 9 : 6) {
        case 0, 1:
            let comparison = Comparison.allCases[random.below(Comparison.allCases.count)]
            return (
                .compare(column: 0, comparison, id),
                { comparison.holds(ids.precedes($0.id, id) ? -1 : ids.precedes(id, $0.id) ? 1 : 0) }
            )
        case 2:
            let wanted = Set((0..<(random.oneIn(6) ? 1_100 : 5)).map { _ in ids.draw(&random) })
            return (.within(column: 0, Array(wanted)), { wanted.contains($0.id) })
        case 3:
            let many = random.oneIn(4)
            let wanted = Set((0..<(many ? 1_100 : 3)).map { Int64(many ? $0 * 3 + 8 : random.below(40)) })
            return (.within(column: 3, wanted.map { .int($0) }), { $0.number(3).map(wanted.contains) ?? false })
        case 4: return (.compare(column: 1, .equal, .int(room)), { $0.number(1) == room })
        case 5: return (.compare(column: 3, .less, .int(room * 8)), { ($0.number(3) ?? 0) < room * 8 })
        case 6:
            let (left, right) = (condition(ids, rows, &random, depth + 1), condition(ids, rows, &random, depth + 1))
            return (.and([left.filter, right.filter]), { left.holds($0) && right.holds($0) })
        default:
            let (left, right) = (condition(ids, rows, &random, depth + 1), condition(ids, rows, &random, depth + 1))
            return (.or([left.filter, right.filter]), { left.holds($0) || right.holds($0) })
        }
    }

    private func order(_ ids: IDs, _ sort: [(column: Int, descending: Bool)]) -> (Row, Row) -> Int {
        func order(_ left: Row, _ right: Row, _ column: Int) -> Int {
            if column == 0 { return ids.precedes(left.id, right.id) ? -1 : ids.precedes(right.id, left.id) ? 1 : 0 }
            let (first, second) = (left.number(column) ?? .min, right.number(column) ?? .min)
            return first < second ? -1 : first > second ? 1 : 0
        }
        return { left, right in
            for (column, descending) in sort {
                let found = order(left, right, column)
                if found != 0 { return descending ? -found : found }
                // An entity doesn't come after itself, even after changes.
                if column == 0 { return 0 }
            }
            return left.rowID < right.rowID ? -1 : left.rowID > right.rowID ? 1 : 0
        }
    }

    private func ask(
        _ store: CoreStore, _ ids: IDs, _ rows: [Row], _ random: inout SeededGenerator
    ) throws -> Plan {
        let sorts = [[0], [0, 3], [1, 0], [1, 3, 0], [1, 0, 2], [2, 0], [3, 0], [0], [1], []]
        let columns = sorts[random.below(sorts.count)]
        let flip = random.oneIn(2)
        let sort = columns.map { (column: $0, descending: random.oneIn(3) != flip) }
        let everything: Condition = (.all, { _ in true })
        let condition = random.oneIn(3) ? everything : self.condition(ids, rows, &random)
        var query = EntityQuery(
            type: "Item", filter: condition.filter, sort: sort.map { .column($0.column, descending: $0.descending) })
        query.limit = random.oneIn(3) ? nil : 1 + random.below(30)
        query.offset = random.oneIn(2) ? 0 : random.below(20)
        let order = order(ids, sort)
        var expected = rows.filter(condition.holds).sorted { order($0, $1) < 0 }
        if random.oneIn(3) { expected = try position(store, ids, rows, sort, order, &query, expected, &random) }
        let all = expected.map(\.id)
        let part = Array(all.dropFirst(query.offset).prefix(query.limit ?? .max))
        let plan = try store.core.explain(query)
        let message: Comment = "\(ids.type) \(query.filter.text(Self.description(ids)).prefix(300)) \(sort): \(plan)"
        #expect(try store.ids(query) == part, message)
        #expect(try store.core.count(query) == part.count, message)
        var whole = query
        (whole.limit, whole.offset) = (nil, 0)
        let last = try store.core.lastRow(whole).flatMap { try store["Item"].id(of: $0) }
        #expect(last == all.last, message)
        query.requiresIndex = true
        do {
            let found = try store.ids(query)
            let plan = try store.core.explain(query)
            #expect(found == part, "\(message): \(plan)")
            #expect(try store.core.count(query) == part.count, message)
            return plan
        } catch let error as HornbeamError where error.code == .needsIndex {
            return plan
        }
    }

    /// Makes the query continue after a row, which may be deleted if the order determines its place. Returns the
    /// rest.
    private func position(
        _ store: CoreStore, _ ids: IDs, _ rows: [Row], _ sort: [(column: Int, descending: Bool)],
        _ order: (Row, Row) -> Int, _ query: inout EntityQuery, _ expected: [Row], _ random: inout SeededGenerator
    ) throws -> [Row] {
        guard var place = rows.isEmpty ? nil : rows[random.below(rows.count)] else { return expected }
        if sort.contains(where: { $0.column == 0 }), random.oneIn(2) {
            let id = ids.draw(&random)
            place = Row(
                values: [id] + place.values[1...], rowID: try store["Item"].rowID(of: id) ?? RowID(rawValue: .max))
        }
        let position = QueryPosition(id: place.id, row: try store.row("Item", place.values))
        query.after = { _ in position }
        return expected.filter { order(place, $0) < 0 }
    }
}
