// SPDX-License-Identifier: Apache-2.0
// Many alternatives take as long as a list of values, by an index and row by row.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Token {
    @Index<Self>(\.key) private var byKey
    @Index<Self>(\.other) private var byOther

    let id: Int
    var key: Int
    var other: Int?
    var plain: String?
}

@EntityModel
private struct Partial {
    let id: Int
    var rank: Int
    var kind: Int
}

@Suite("Many alternatives")
struct AlternativesTests {
    private typealias Condition = Predicate<Token>
    private static let count = 6_000

    private static func database() throws -> Database {
        let database = try Database.counting(Token.self, Partial.self)
        try database.write { context in
            for id in 0..<count {
                try Token(
                    id: id, key: id, other: id % 3 == 0 ? nil : id, plain: id % 5 == 0 ? nil : "p\(id)"
                ).save(to: &context)
                try Partial(id: id, rank: id, kind: id % 4).save(to: &context)
            }
        }
        return database
    }

    private static func any(_ conditions: [Condition]) -> Condition {
        conditions.dropFirst().reduce(conditions[0]) { $0 || $1 }
    }

    private static func all(_ conditions: [Condition]) -> Condition {
        conditions.dropFirst().reduce(conditions[0]) { $0 && $1 }
    }

    @Test("of one indexed property are a list of values, and of several a union of lists")
    func indexed() throws {
        let database = try Self.database()
        try database.read { (context) throws in
            for number in [2, 100, 2_500] {
                let wanted = (0..<number).map { $0 * 2 }
                let keys = Self.any(wanted.map { (number) -> Condition in \.key == number })
                let run = try Token.filter(keys).explain(.analyze, in: context)
                if number < 2_500 {
                    #expect(run.plan.filter == nil, "\(run.plan)")
                    #expect(run.plan.access.description.hasPrefix("index byKey"), "\(run.plan)")
                } else {
                    // A scan takes less than looking up nearly half of all rows by different values.
                    #expect(run.plan.filter?.hasPrefix("key in [") == true, "\(run.plan)")
                    #expect(run.plan.access.description == "scan of \(Self.count) rows", "\(run.plan)")
                }
                #expect(try Token.filter(keys).ids(in: context) == wanted)
                #expect(try Token.filter(keys).count(in: context) == number)
                let mixed = Self.any(
                    wanted.map { (number) -> Condition in
                        if number % 4 == 0 { return \.key == number }
                        return \.other == number
                    })
                let expected = wanted.filter { $0 % 4 == 0 || $0 % 3 != 0 }
                #expect(try Token.filter(mixed).ids(in: context) == expected)
                let plan = try Token.filter(mixed).explain(in: context)
                if number == 2 {
                    guard case .union(let parts) = plan.access else {
                        Issue.record("\(plan)")
                        continue
                    }
                    #expect(parts.count == 2)
                }
                let nested = Self.any(
                    wanted.map { (number) -> Condition in \.key == number && \.id < 1_000 || \.key == number })
                #expect(try Token.filter(nested).ids(in: context) == wanted)
            }
            // Nil is a value like any other, and a list among the alternatives is merged with the others.
            let unknown: Condition = \.other == nil || \.other == 7 || .value(\.other, in: [8, 10]) || \.other == 8
            let expected = (0..<Self.count).filter { $0 % 3 == 0 || [7, 8, 10].contains($0) }
            #expect(try Token.filter(unknown).ids(in: context) == expected)
            #expect(try Token.filter(unknown && \.key < 20).ids(in: context) == expected.filter { $0 < 20 })
            #expect(try Token.filter(!unknown && \.key < 12).ids(in: context) == [1, 2, 4, 5, 11])
        }
    }

    @Test("within alternatives join the list around them")
    func nested() {
        let inner = Filter.or([.compare(column: 1, .equal, .int(3)), .linkCount(relation: "none", .equal, 0)])
        let listed = Filter.any(of: [.linkCount(relation: "none", .equal, 1), inner, .isNull(column: 1)])
        guard case .or(let parts) = listed, parts.count == 3, case .within(1, let values) = parts[1] else {
            Issue.record("\(listed)")
            return
        }
        #expect(values == [.int(3), .null])
    }

    @Test("of an id are look-ups")
    func ids() throws {
        try Self.database().read { (context) throws in
            let query = Token.filter(Self.any([9, 7, 70_000, 3, 7].map { (id) -> Condition in \.id == id }))
            #expect(try query.explain(in: context).access == .ids(count: 4))
            #expect(try query.ids(in: context) == [3, 7, 9])
            #expect(try query.sorted(by: \.key.desc).ids(in: context) == [9, 7, 3])
        }
    }

    @Test("without an index are tested by one look-up in a set, and so are excluded values")
    func unindexed() throws {
        try Self.database().read { (context) throws in
            for number in [3, 5_000] {
                let numbers = (0..<number).map { $0 * 2 }
                let texts = Set(numbers.map { "p\($0)" })
                let equal = Self.any(numbers.map { (number) -> Condition in \.plain == "p\(number)" })
                let unequal = Self.all(numbers.map { (number) -> Condition in \.plain != "p\(number)" })
                func plain(_ id: Int) -> String? { id % 5 == 0 ? nil : "p\(id)" }
                let found = (0..<Self.count).filter { plain($0).map(texts.contains) ?? false }
                let start = ContinuousClock.now
                #expect(try Token.filter(equal).ids(in: context) == found)
                #expect(try Token.filter(unequal).ids(in: context) == (0..<Self.count).filter { !found.contains($0) })
                // Compared one by one, these would be 60 million comparisons.
                #expect(ContinuousClock.now - start < .seconds(10))
                #expect(
                    try Token.filter(equal || \.plain == nil).count(in: context) == found.count + Self.count / 5)
                #expect(
                    try Token.filter(unequal && \.plain != nil).count(in: context)
                        == Self.count - found.count - Self.count / 5)
            }
        }
    }

    @Test("of pairs of conditions are tested only by the pairs with a row's value")
    func pairs() throws {
        func pairs(_ count: Int) -> Condition {
            Self.any(
                (0..<count).map { (number) -> Condition in
                    let bound = number + number % 2
                    return \.plain == "p\(number)" && \.key < bound
                })
        }
        try Self.database().read { (context) throws in
            let many = pairs(4_000)
            let start = ContinuousClock.now
            let found = try Token.filter(many).ids(in: context)
            // Tested one by one, these would be more than 10 million pairs.
            #expect(ContinuousClock.now - start < .seconds(10))
            #expect(found == (0..<4_000).filter { $0 % 2 == 1 && $0 % 5 != 0 })
            // Two pairs for one value, and one pair without a value of the column.
            let twice: Condition = \.plain == "p2" && \.key == 2
            #expect(try Token.filter(pairs(12) || twice).ids(in: context) == [1, 2, 3, 7, 9, 11])
            let unknown: Condition = \.plain == nil && \.key == 5
            #expect(try Token.filter(pairs(12) || unknown).ids(in: context) == [1, 3, 5, 7, 9, 11])
        }
    }

    @Test("are recognised as the condition of a partial index, in any order")
    func partial() throws {
        let database = try Self.database()
        try database.createIndex(ValueIndex("some", \Partial.rank, where: \Partial.kind == 1 || \Partial.kind == 2))
        try database.read { (context) throws in
            let query = Partial.filter(\.rank < 40 && (\.kind == 2 || \.kind == 1))
            #expect(try query.explain(in: context).access.description.hasPrefix("index some"))
            #expect(try query.ids(in: context) == (0..<40).filter { [1, 2].contains($0 % 4) })
            let wider = Partial.filter(\.rank < 40 && (\.kind == 2 || \.kind == 1 || \.kind == 0))
            #expect(!(try wider.explain(in: context).access.description.hasPrefix("index some")))
            #expect(try wider.count(in: context) == 30)
        }
    }
}
