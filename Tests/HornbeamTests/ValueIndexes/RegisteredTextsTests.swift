// SPDX-License-Identifier: Apache-2.0
// Registered indexes over texts: optional and other ones, under names that are words of the query language, and for
// lists of texts.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// An entity whose properties have words of the query language as names.
@EntityModel
struct Mailing: Equatable {
    let id: Int
    var from = ""
    var order: String?
}

@Suite("Registered indexes over texts")
struct RegisteredTextsTests {
    private static let names = ["Ada", "ada", "Åsa", "asa", "Émile", "emile", "Zoë", "zoe", "Straße", "STRASSE"]

    private func put(_ database: Database) throws {
        try database.write { context in
            for id in 0..<600 {
                let name = id < 20 ? Self.names[id / 2] : "n\(id)"
                try Mailing(id: id, from: name, order: id % 3 == 0 ? nil : name).save(to: &context)
            }
        }
    }

    @Test("an index by a collation over a property with a reserved name is kept by programs that don't register it")
    func reserved() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open([Mailing.self]) { database in
            try put(database)
            try database.createIndex(ValueIndex("byFrom", \Mailing.from, \.order, collation: .caseInsensitive))
        }
        try file.open([Mailing.self]) { database in
            try database.registerStored(nil)
            try database.write { try Mailing(id: 700, from: "STRASSE").save(to: &$0) }
            let query = Mailing.filter(\.from == "strasse".collated(.caseInsensitive))
            #expect(try database.plan(query).indexes == ["byFrom"])
            #expect(try database.results(query).map(\.id).sorted() == [16, 17, 18, 19, 700])
            #expect(try database.isWhole())
        }
    }

    @Test("an index over an optional text serves prefixes")
    func prefixes() throws {
        let database = try Database.inMemory(models: Mailing.self)
        try put(database)
        try database.createIndex(ValueIndex("byOrder", \Mailing.order))
        let query = Mailing.filter(.string(\.order, hasPrefix: "n59", caseSensitive: true))
        #expect(try database.plan(query).indexes == ["byOrder"])
        #expect(try database.results(query).map(\.id).sorted() == [59, 590, 592, 593, 595, 596, 598, 599])
        #expect(try database.plan(Mailing.filter(\.order == "n59")).remarks == [])
    }

    private func ids(_ database: Database, _ condition: String) throws -> (plan: String, ids: [Int]) {
        let statement = try Statement("SELECT id FROM Mailing WHERE \(condition) ORDER BY id")
        return try database.read { context in
            let ids = try statement.resolve(in: context).compactMap { row in
                if case .int(let id)? = row["id"] { Int(id) } else { nil }
            }
            return (try statement.explain(in: context), ids)
        }
    }

    @Test("lists of texts by a collation, and of computed values, are one condition, with an index and without")
    func lists() throws {
        let database = try Database.inMemory(models: Mailing.self)
        try put(database)
        let many = (0..<1_200).map { "'N\($0)'" }.joined(separator: ", ")
        let asked: [(String, [Int])] = [
            ("`from` COLLATE FOLDED IN ('ADA', 'zoë', 'none')", [0, 1, 2, 3, 12, 13]),
            ("`from` COLLATE FOLDED IN ('ADA', 5, NULL)", [0, 1, 2, 3]),
            ("`from` COLLATE FOLDED IN (5)", []),
            ("`from` COLLATE FOLDED IN (\(many))", Array(20..<600)),
            ("`from` COLLATE FOLDED NOT IN (\(many))", Array(0..<20)),
            ("`from` COLLATE FOLDED NOT IN ('ada', NULL)", []),
            (
                "id < 60 AND `order` COLLATE FOLDED NOT IN ('ada', 7) AND id < 10",
                (4..<10).filter { $0 % 3 != 0 }
            ),
            ("lower(`from`) IN ('ada', 'n30', 7)", [0, 1, 2, 3, 30]),
            ("lower(`from`) NOT IN ('ada', 7) AND id < 6", [4, 5]),
        ]
        for (condition, expected) in asked { #expect(try ids(database, condition).ids == expected, "\(condition)") }
        #expect(try ids(database, asked[0].0).plan.contains("in [a text, a text, a text]"))
        try database.createIndex(ValueIndex("folded", \Mailing.from, collation: .caseInsensitive))
        try database.createIndex(
            Mailing.self, withName: "lowered", config: ValueIndexConfiguration(["lower(`from`)"]))
        for (condition, expected) in asked {
            let (plan, found) = try ids(database, condition)
            #expect(found == expected, "\(condition)")
            if !condition.contains("NOT"), !expected.isEmpty, expected.count < 10 {
                #expect(plan.contains("index folded") || plan.contains("index lowered"), "\(condition): \(plan)")
            }
        }
    }
}
