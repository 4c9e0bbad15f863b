// SPDX-License-Identifier: Apache-2.0
// Statements that array indexes answer: UNNEST over arrays within arrays, ANY, and `IN` with a given list. The
// results equal those without an index.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

private struct Line: Codable, Sendable {
    var kind: String
    var number: Int?
}

private struct Card: Codable, Sendable {
    struct Address: Codable, Sendable { var city: String }
    var kind: String
    var address: Address
    var lines: [Line]
}

@EntityModel
private struct Owner {
    let id: Int
    var name: String
    var cards: [Card]
    var tags: [String]
    var marks: [Int]?
}

/// A type whose JSON has another name for `kind`.
private struct Renamed: Codable, Sendable {
    var kind: String
    var other: String

    enum CodingKeys: String, CodingKey {
        case kind = "other"
        case other = "kind"
    }
}

@EntityModel
private struct Strange {
    let id: Int
    var things: [Renamed]
}

/// A type whose JSON changes the case of the property.
private struct Lowered: Codable, Sendable {
    var kind: String?

    init(kind: String?) { self.kind = kind }
    enum CodingKeys: String, CodingKey { case kind }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kind = try container.decodeIfPresent(String.self, forKey: .kind)?.uppercased()
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(kind?.lowercased(), forKey: .kind)
    }
}

@EntityModel
private struct Quiet {
    let id: Int
    var things: [Lowered]
}

@Suite("Statements over elements")
struct ElementStatementTests {
    private func plan(_ database: Database, _ text: String, _ parameters: any ColumnValue...) throws -> String {
        try database.read { try Statement(text).explain(in: $0, parameters) }
    }

    private func json(_ database: Database, _ text: String, _ parameters: any ColumnValue...) throws -> [String] {
        let statement = try Statement(text)
        return try database.read { try statement.resolve(in: $0, parameters) }.map(\.json)
    }

    /// - Parameter rarity: number of rare words and numbers besides the queried ones.
    private func owners(_ generator: inout SeededGenerator, _ count: Int, rarity: Int) -> [Owner] {
        let words = ["home", "mobile", "work", "mob", "é", ""] + (0..<rarity).map { "z\($0)" }
        return (0..<count).map { id in
            let cards = (0..<generator.below(3)).map { _ in
                Card(
                    kind: words[generator.below(words.count)],
                    address: .init(city: words[generator.below(words.count)]),
                    lines: (0..<generator.below(4)).map { _ in
                        Line(
                            kind: words[generator.below(words.count)],
                            number: generator.oneIn(4) ? nil : generator.below(8 + rarity))
                    })
            }
            return Owner(
                id: id, name: "n\(id)", cards: cards,
                tags: (0..<generator.below(3)).map { _ in words[generator.below(words.count)] },
                marks: generator.oneIn(4) ? nil : (0..<generator.below(3)).map { _ in generator.below(8 + rarity) })
        }
    }

    private func database(_ owners: [Owner]) throws -> Database {
        let database = try Database.inMemory(models: Owner.self, Strange.self, Quiet.self)
        try database.write { (context) throws in for owner in owners { try owner.save(to: &context) } }
        return database
    }

    private func createIndexes(_ database: Database) throws {
        for (name, path, expressions) in [
            ("lines", "cards[].lines", ["kind", "number"]), ("numbers", "cards[].lines", ["number"]),
            ("cities", "cards", ["address.city"]), ("tags", "tags", nil), ("marks", "marks", nil),
        ] as [(String, String, [String]?)] {
            try database.createIndex(
                Owner.self, withName: name, config: ArrayIndexConfiguration(path: path, expressions: expressions))
        }
    }

    private static let nested = "FROM Owner o UNNEST cards AS card UNNEST card.lines AS line"

    @Test(
        "an index over nested arrays, or over scalars, finds the elements of a statement",
        arguments: [
            ("SELECT id \(nested) WHERE line.kind = 'mobile'", "lines"),
            ("SELECT id \(nested) WHERE 'mobile' = line.kind AND line.number > 5", "lines"),
            ("SELECT id \(nested) WHERE line.number BETWEEN 6 AND 7", "numbers"),
            ("SELECT id \(nested) WHERE line.kind IN ('mob', 'é')", "lines"),
            ("SELECT id \(nested) WHERE line.kind LIKE 'mobi%'", "lines"),
            ("SELECT id \(nested) WHERE line.number >= 55 AND card.kind > 'n'", "numbers"),
            ("SELECT id, c FROM Owner UNNEST cards AS c WHERE c.address.city < 'h'", "cities"),
            ("SELECT id FROM Owner o UNNEST o.tags AS t WHERE t = 'work'", "tags"),
            ("SELECT id FROM Owner UNNEST tags AS t WHERE t > 'n' AND t < 'x'", "tags"),
            ("SELECT id FROM Owner UNNEST tags AS t WHERE t LIKE 'w%'", "tags"),
            ("SELECT id FROM Owner UNNEST marks AS m WHERE m IN (6, 7, 'x')", "marks"),
            ("SELECT id FROM Owner UNNEST marks AS m WHERE m BETWEEN 7 AND 9", "marks"),
            ("SELECT id FROM Owner WHERE ANY t IN tags SATISFIES t > 'v' AND t < 'x' END", "tags"),
            ("SELECT id FROM Owner WHERE ANY c IN cards SATISFIES c.address.city = 'mob' END", "cities"),
            (
                "SELECT id FROM Owner WHERE ANY c IN cards SATISFIES ANY l IN c.lines SATISFIES l.number = 3 END END",
                "numbers"
            ),
            ("SELECT id FROM Owner WHERE ANY AND EVERY m IN marks SATISFIES m > 54 END", "marks"),
        ])
    func answered(text: String, index: String) throws {
        var generator = SeededGenerator(seed: 5)
        let database = try database(owners(&generator, 300, rarity: 50))
        let before = try json(database, text)
        #expect(!before.isEmpty)
        #expect(try !plan(database, text).contains("index"))
        try createIndexes(database)
        let found = try plan(database, text)
        #expect(found.contains("index \(index), "), "\(found)")
        #expect(try json(database, text) == before)
    }

    @Test("with indexes the rows are the same as without, in the same order", arguments: SeededGenerator.seeds(3))
    func differential(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let owners = owners(&generator, 60, rarity: 8)
        let (plain, indexed) = (try database(owners), try database(owners))
        try createIndexes(indexed)
        func condition(_ depth: Int) -> String {
            if depth > 0, generator.oneIn(2) {
                let (left, right) = (condition(depth - 1), condition(depth - 1))
                return generator.oneIn(6) ? "NOT (\(left))" : "(\(left) \(generator.oneIn(3) ? "OR" : "AND") \(right))"
            }
            let subject = ["line.kind", "line.number", "card.kind", "card.address.city", "t", "m", "o.id"][
                generator.below(7)]
            let value = { () -> String in
                ["'mobile'", "'mob'", "'é'", "''", "3", "5", "2.5", "NULL", "o.id"][generator.below(9)]
            }
            switch generator.below(6) {
            case 0: return "\(subject) BETWEEN \(value()) AND \(value())"
            case 1: return "\(subject) \(generator.oneIn(4) ? "NOT " : "")IN (\(value()), \(value()))"
            case 2: return "\(subject) LIKE '\(["mo%", "h_m%", "%", "é%"][generator.below(4)])'"
            case 3: return "ANY x IN o.tags SATISFIES x = \(value()) END"
            case 4: return "ANY x IN o.cards SATISFIES x.address.city \(["=", "<"][generator.below(2)]) \(value()) END"
            default: return "\(subject) \(["=", "<", "<=", ">", ">=", "!="][generator.below(6)]) \(value())"
            }
        }
        for _ in 0..<120 {
            let arrays = ["cards AS card", "card.lines AS line", "o.tags AS t", "marks AS m"]
            let joins = arrays.map { (generator.oneIn(2) ? "LEFT " : "") + "UNNEST \($0)" }.joined(separator: " ")
            let text = "SELECT o.id, card.kind, line.number, t, m FROM Owner o \(joins) WHERE \(condition(2))"
            #expect(try json(plain, text) == json(indexed, text), "\(text)")
        }
    }

    @Test("an index of properties that have other names in JSON isn't used for these names")
    func renamed() throws {
        let database = try database([])
        try database.createIndex(
            Strange.self, withName: "kinds", config: ArrayIndexConfiguration(path: "things", expressions: ["kind"]))
        let text = "SELECT id FROM Strange UNNEST things AS t WHERE t.kind = 'b'"
        #expect(try json(database, text).isEmpty)
        try database.write { (context) throws in
            try Strange(id: 1, things: [Renamed(kind: "a", other: "b")]).save(to: &context)
            try Strange(id: 2, things: []).save(to: &context)
        }
        #expect(try json(database, text) == [#"{"id":1}"#])
        #expect(try !plan(database, text).contains("index"))
        // The typed query refers to the property.
        let typed = Strange.query().unnest(\.things).filter { $0.kind == "a" }
        #expect(try database.read { try typed.resolve(in: $0) }.count == 1)
    }

    @Test("elements without a value don't determine the JSON of elements with one")
    func nothingSeen() throws {
        let database = try database([])
        try database.createIndex(
            Quiet.self, withName: "kinds", config: ArrayIndexConfiguration(path: "things", expressions: ["kind"]))
        try database.write { (context) throws in
            try Quiet(id: 1, things: [Lowered(kind: nil)]).save(to: &context)
        }
        let text = "SELECT id FROM Quiet WHERE ANY t IN things SATISFIES t.kind = 'home' END"
        #expect(try json(database, text).isEmpty)
        try database.write { (context) throws in
            try Quiet(id: 2, things: [Lowered(kind: "HOME")]).save(to: &context)
        }
        #expect(try json(database, text) == [#"{"id":2}"#])
    }

    @Test("elements of an aborted write don't determine it either")
    func aborted() throws {
        struct Enough: Error {}
        let database = try database([])
        try database.createIndex(
            Quiet.self, withName: "kinds", config: ArrayIndexConfiguration(path: "things", expressions: ["kind"]))
        let statement = try Statement("SELECT id FROM Quiet WHERE ANY t IN things SATISFIES t.kind = '7' END")
        #expect(throws: Enough.self) {
            try database.write { (context) throws in
                // Digits have no case.
                try Quiet(id: 1, things: [Lowered(kind: "7")]).save(to: &context)
                #expect(try statement.resolve(in: context, []).count == 1)
                throw Enough()
            }
        }
        try database.write { (context) throws in
            try Quiet(id: 2, things: [Lowered(kind: "HOME")]).save(to: &context)
        }
        #expect(
            try json(database, "SELECT id FROM Quiet WHERE ANY t IN things SATISFIES t.kind = 'home' END") == [
                #"{"id":2}"#
            ])
    }

    @Test("IN and NOT IN with a given list, or one of an earlier row, use an index of the column")
    func givenLists() throws {
        var generator = SeededGenerator(seed: 9)
        let database = try database(owners(&generator, 60, rarity: 0))
        try database.createIndex(ValueIndex("names", \Owner.name))
        let text = "SELECT id FROM Owner WHERE name IN ?"
        #expect(try plan(database, text, ["n1", "n7", "x"]).contains("index names"))
        #expect(try json(database, text, ["n7", "n1", "x"]) == [#"{"id":1}"#, #"{"id":7}"#])
        #expect(try json(database, text, [String]()).isEmpty)
        #expect(try json(database, "SELECT id FROM Owner WHERE name IN ['n3']") == [#"{"id":3}"#])
        let others = "SELECT COUNT(*) AS n FROM Owner WHERE name NOT IN ?"
        #expect(try plan(database, others, ["n1", "n7"]).contains("count rows by the query"))
        #expect(try json(database, others, ["n1", "n7"]) == [#"{"n":58}"#])
        #expect(try json(database, others, [Optional<String>.none, "n1"]) == [#"{"n":0}"#])
        #expect(try json(database, "SELECT COUNT(*) AS n FROM Owner WHERE id IN 5") == [#"{"n":0}"#])
        let join =
            "SELECT o.id, p.id AS other FROM Owner o JOIN Owner p ON p.id IN o.marks WHERE o.id IN (3, 4) "
            + "ORDER BY o.id, other"
        #expect(try plan(database, join).contains("for each, query Owner as p"))
        let expected = try database.read { (context) throws in
            try [3, 4].flatMap { id in
                Set(try Owner.query().resolve(in: context).first { $0.id == id }?.marks ?? []).sorted().map {
                    #"{"id":\#(id),"other":\#($0)}"#
                }
            }
        }
        #expect(try json(database, join) == expected)
    }
}
