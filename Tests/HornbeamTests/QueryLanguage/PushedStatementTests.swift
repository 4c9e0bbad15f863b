// SPDX-License-Identifier: Apache-2.0
// Statements that are equivalent to typed queries, and answered like them: parts of texts by full text, conditions on
// many related entities, the time of the last save, texts without accents.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Writer {
    let id: Int
    var name: String

    @Relationship(inverse: \.writer)
    var works: [Work]?
}

@EntityModel
private struct Work {
    @FullTextIndex<Self>(\.title, analyzer: .trigrams) private var titles
    @Index<Self>(\.year) private var byYear

    let id: Int
    var title: String
    var year: Int
    var note: String?

    @Relationship(inverse: \.works)
    var writer: Writer?
}

@Suite("Statements and the conditions pushed into the planner")
struct PushedStatementTests {
    private func library(_ count: Int = 60) throws -> Database {
        let database = try Database.inMemory(models: Writer.self, Work.self)
        let words = ["Solaris", "solar wind", "The Dispossessed", "Café", "cafe\u{301} noir", "", "A lathe"]
        try database.write { (context) throws in
            for id in 0..<count {
                var work = Work(
                    id: id, title: words[id % 7], year: 1950 + id, note: id % 4 == 0 ? nil : words[(id + 3) % 7])
                if id % 5 != 0 { work.$writer = .relation(Writer(id: id % 6, name: "w\(id % 6)")) }
                try work.save(to: &context)
            }
            try Writer(id: 9, name: "nobody").save(to: &context)
        }
        return database
    }

    private func plan(_ database: Database, _ text: String) throws -> String {
        try database.read { try Statement(text).explain(in: $0) }
    }

    @Test(
        "the planner searches for parts of texts, exactly where possible",
        arguments: [
            ("CONTAINS(title, 'olar')", true), ("NOT CONTAINS(title, 'olar')", true),
            ("CONTAINS(note, 'afé')", true), ("NOT CONTAINS(note, 'é')", true), ("ENDS_WITH(note, 'ris')", true),
            ("STARTS_WITH(title, 'Sol')", true), ("CONTAINS(LOWER(title), 'café')", true),
            ("NOT STARTS_WITH(LOWER(note), 'sol')", true), ("title LIKE '%athe%'", false), ("title LIKE '_he%'", false),
            ("CONTAINS(LOWER(title), 'Café')", false), ("CONTAINS(title, '')", false), ("CONTAINS(title, NULL)", false),
            ("note LIKE '%_%r_s'", false), ("writer.name LIKE '%1'", false),
        ])
    func texts(condition: String, isExact: Bool) throws {
        let database = try library()
        let text = "SELECT id FROM Work WHERE \(condition)"
        let found = try plan(database, text)
        #expect(found.contains("test a condition") == !isExact, "\(found)")
        // The query without the planner.
        let expected = try database.query("SELECT id FROM Work WHERE (\(condition)) = TRUE").map(\.json)
        #expect(try database.query(text).map(\.json) == expected)
    }

    @Test("a full-text index of trigrams answers parts of texts")
    func trigrams() throws {
        let database = try library(700)
        #expect(try plan(database, "SELECT id FROM Work WHERE CONTAINS(title, 'athe')").contains("titles"))
        #expect(try plan(database, "SELECT id FROM Work WHERE title LIKE '%athe%'").contains("titles"))
        #expect(try database.query("SELECT COUNT(*) AS n FROM Work WHERE title LIKE '%athe%'")[0]["n"] == .int(100))
    }

    @Test("ANY of a relation becomes a filter of the related entities", arguments: SeededGenerator.seeds(2))
    func relations(seed: UInt64) throws {
        let database = try library()
        let text = "SELECT id FROM Writer WHERE ANY w IN works SATISFIES w.year > 2006 AND LENGTH(w.title) > 3 END"
        let plan = try plan(database, text)
        #expect(plan.contains("any of works where year > 2006") || plan.contains("join along works"), "\(plan)")
        var generator = SeededGenerator(seed: seed)
        let parts = [
            "w.year > 2000", "w.year = 1960", "w.year BETWEEN 1955 AND 1957", "w.year IN (1951, 1999, 'x')",
            "w.title = 'Solaris'", "w.note = 'Café'", "w.note IS NULL", "w.year = 'x'", "w.year < NULL",
            "w.nothing = 1",
            "1990 < w.year", "w.year != 1960", "w.note = 5",
        ]
        for _ in 0..<60 {
            let some = (0...generator.below(3)).map { _ in parts[generator.below(parts.count)] }
            let condition = some.joined(separator: generator.oneIn(4) ? " OR " : " AND ")
            let quantifier = ["ANY", "EVERY", "ANY AND EVERY"][generator.below(3)]
            let any = "\(quantifier) w IN works SATISFIES \(condition) END"
            let found = try database.query("SELECT id FROM Writer WHERE \(any)").map(\.json)
            let expected = try database.query("SELECT id FROM Writer WHERE (\(any)) = TRUE").map(\.json)
            #expect(found == expected, "\(any)")
        }
    }

    @Test("META().updatedAt is the time of the last save")
    func updatedAt() throws {
        let database = try library(3)
        let before = Date()
        try database.write { (context) throws in
            try Work(id: 77, title: "new", year: 1, note: nil).save(to: &context)
        }
        let rows = try database.query(
            "SELECT id, META().updatedAt FROM Work WHERE META().updatedAt >= ? ORDER BY META().updatedAt DESC", before)
        #expect(try rows.map { try $0.value("id", as: Int.self) } == [77])
        #expect(try rows[0].value("updatedAt", as: Date.self) >= before)
        #expect(
            try database.query("SELECT META(w).updatedAt IS VALUED AS v FROM Work w LIMIT 1")[0]["v"] == .bool(true))
    }

    @Test("UNACCENT removes accents")
    func unaccent() throws {
        let found = try library(7).query("SELECT id FROM Work WHERE LOWER(UNACCENT(title)) LIKE 'cafe%'").map(\.json)
        #expect(found == [#"{"id":3}"#, #"{"id":4}"#])
    }
}
