// SPDX-License-Identifier: Apache-2.0
// EXPLAIN ANALYZE and explain(.analyze) of statements: the counts of each step.

import Testing

@testable import Hornbeam

@EntityModel
private struct Writer {
    let id: Int
    var name: String
    @Relationship(inverse: \.writer) var tales: [Tale]?
}

@EntityModel
private struct Tale {
    @Index<Self>(\.year) private var byYear
    let id: Int
    var year: Int
    var kind: String
    var tags: [String]
    @Relationship(inverse: \.tales) var writer: Writer?
}

@Suite("Statements that are analysed")
struct StatementAnalysisTests {
    private let database: Database

    /// 40 tales of the years 0 to 39, every fourth with two tags. Writer 1 has the first ten, writer 2 the next ten,
    /// writer 3 none.
    init() throws {
        database = try Database.inMemory(models: Writer.self, Tale.self)
        try database.write { (context) throws in
            for id in 0..<40 {
                let tags = id % 4 == 0 ? ["a", "b"] : []
                try Tale(id: id, year: id, kind: "k\(id % 5)", tags: tags).save(to: &context)
            }
            try Writer(id: 1, name: "Ada", tales: .ids(Array(0..<10))).save(to: &context)
            try Writer(id: 2, name: "Bo", tales: .ids(Array(10..<20))).save(to: &context)
            try Writer(id: 3, name: "Cy").save(to: &context)
        }
    }

    private func analysis(_ text: String) throws -> StatementAnalysis {
        let statement = try Statement(text)
        return try database.read { try statement.explain(.analyze, in: $0) }
    }

    @Test(
        "have the counts of each step",
        arguments: [
            (
                "SELECT id FROM Tale WHERE year >= 10 AND year < 30 AND kind = 'k1' ORDER BY id LIMIT 3",
                """
                Tale: scan of 40 rows → 22 rows
                  filter rows by (year >= 10 && year < 30 && kind == "k1") → 3 rows from 22
                  limit 3 → 3 rows
                  3 results
                """
            ),
            (
                "SELECT id FROM Tale WHERE year < 20 AND LENGTH(kind) + year > 15 ORDER BY kind || 'x' LIMIT 2",
                """
                Tale: scan of 40 rows → 40 rows
                  filter rows by year < 20 → 20 rows from 40
                  test a condition of WHERE year < 20 AND (LENGTH(kind) + year) > 15 → 6 rows from 20
                  sort by kind || "x" in memory → 2 rows from 6
                  limit 2 → 2 rows
                  2 results
                """
            ),
            (
                "SELECT t.id FROM Writer w JOIN w.tales AS t WHERE LENGTH(w.name) > 2 AND LENGTH(t.kind) + t.year > 8",
                """
                Writer: scan of 3 rows → 3 rows
                  count known without reading
                  test a condition of WHERE LENGTH(w.name) > 2 AND (LENGTH(t.kind) + t.year) > 8 → 1 row from 3
                  follow w.tales to Tale as t → 10 rows in 1 run
                  test 1 more of WHERE → 3 rows from 10
                  3 results
                """
            ),
            (
                "SELECT w.id, t.id AS tale FROM Writer w JOIN Tale t ON t.year = w.id * 10",
                """
                Writer: scan of 3 rows → 3 rows
                  count known without reading
                  for each, query Tale as t → 3 rows in 3 runs
                  3 results
                """
            ),
            (
                "SELECT w.id, t.id AS tale FROM Writer w LEFT JOIN w.tales AS t",
                """
                Writer: scan of 3 rows → 3 rows
                  count known without reading
                  follow w.tales to Tale as t, or nothing → 21 rows from 20 in 3 runs
                  21 results
                """
            ),
            (
                "SELECT t.id, tag FROM Tale t UNNEST t.tags AS tag WHERE t.year < 8 LIMIT 3",
                """
                Tale: index byYear, one range of 8 entries → 5 rows from 8
                  gathered by index byYear, one range of 8 entries → 8 rows
                  count known without reading
                  unnest as tag → 3 rows in 5 runs
                  limit 3 → 3 rows
                  3 results
                """
            ),
            (
                "SELECT kind, SUM(year) AS s FROM Tale GROUP BY kind HAVING SUM(year) > 150 ORDER BY s DESC LIMIT 2",
                """
                Tale: scan of 40 rows → 40 rows
                  count known without reading
                  group by kind → 5 rows
                  groups having SUM(year) > 150 → 3 rows from 5
                  sort by s DESC in memory → 2 rows from 3
                  limit 2 → 2 rows
                  2 results
                """
            ),
        ])
    func steps(_ text: String, _ expected: String) throws {
        #expect("\(try analysis(text))" == expected)
    }

    @Test("have the steps of subqueries, which are run before, last")
    func subqueries() throws {
        let found = try analysis("SELECT id FROM Tale WHERE id IN (SELECT id FROM Tale WHERE year > 35)")
        #expect(
            "\(found)" == """
                Tale: look-up of 4 ids → 4 rows
                  subquery of IN → 4 rows
                    Tale: index byYear, one range of 4 entries → 4 rows
                      gathered by index byYear, one range of 4 entries → 4 rows
                      count known without reading
                  4 results
                """)
    }

    @Test("have the steps of each part of a UNION")
    func union() throws {
        let found = try analysis("SELECT id FROM Tale WHERE year < 3 UNION SELECT id FROM Writer ORDER BY id LIMIT 3")
        #expect(
            "\(found)" == """
                Tale: index byYear, one range of 3 entries → 3 rows
                  gathered by index byYear, one range of 3 entries → 3 rows
                  count known without reading
                and others of
                Writer: scan of 3 rows → 3 rows
                  count known without reading
                sort by id in memory → 3 rows
                limit 3 → 3 rows
                  3 results
                """)
    }

    @Test("have no counts of rows that an index tells without them")
    func known() throws {
        let all = try analysis("SELECT COUNT(*) FROM Tale WHERE year > 30")
        #expect(all.steps.map(\.rows) == [nil, nil, nil, 1] && all.results == 1)
        let some = try analysis("SELECT COUNT(*) FROM Tale WHERE kind = 'k1'")
        #expect(some.steps.map(\.rows) == [40, 8, 1])
        let groups = try analysis("SELECT year, COUNT(*) FROM Tale GROUP BY year")
        #expect(groups.steps.last?.rows == 40)
    }

    @Test("are rows with columns of numbers after EXPLAIN ANALYZE")
    func rows() throws {
        let rows = try database.query("EXPLAIN ANALYZE SELECT id FROM Tale WHERE kind = 'k1' LIMIT 2")
        #expect(rows.first?.names == ["plan", "runs", "read", "rows"])
        #expect(
            rows.dropLast().map(\.json) == [
                #"{"plan":"Tale: scan of 40 rows → 7 rows","runs":null,"read":7,"rows":7}"#,
                #"{"plan":"  filter rows by kind == \"k1\" → 2 rows from 7","runs":null,"read":7,"rows":2}"#,
                #"{"plan":"  limit 2 → 2 rows","runs":null,"read":2,"rows":2}"#,
            ])
        #expect(try rows.last?.value("plan", as: String.self).hasPrefix("  2 results, ") == true)
        #expect(try rows.last?.value("rows", as: Int.self) == 2)
    }

    @Test("are refused if they change data, which EXPLAIN doesn't do")
    func changes() throws {
        let error = #expect(throws: HornbeamError.self) { try Statement("EXPLAIN ANALYZE DELETE FROM Tale") }
        #expect(error?.message.contains("EXPLAIN ANALYZE runs the statement") == true)
        let refused = #expect(throws: HornbeamError.self) { try analysis("DELETE FROM Tale") }
        #expect(refused?.message.contains("explain(.analyze) runs the statement") == true)
        #expect(try database.query("SELECT COUNT(*) AS n FROM Tale").first?["n"] == .int(40))
    }

    @Test("have the counts of a statement that changes data, where it is run for them")
    func change() throws {
        let statement = try Statement("UPDATE Tale SET year = year + 100 WHERE year < 10 AND kind = 'k1' RETURNING id")
        let result = try database.write { context in
            try context.session.run {
                try statement.execute(in: try $0.core, StatementParameters(), isAnalysed: true)
            }
        }
        #expect(
            result.analysis?.steps.lines == [
                "Tale: index byYear, one range of 10 entries → 10 rows",
                "  gathered by index byYear, one range of 10 entries → 10 rows",
                #"  filter rows by kind == "k1" → 2 rows from 10"#,
                "  set year → 2 rows", "  return id → 2 rows",
            ])
    }

    @Test("give the rows that they would give without counts")
    func sameRows() throws {
        let statement = try Statement("SELECT id FROM Tale WHERE year > 3 AND kind IN ('k1', 'k2') ORDER BY kind, id")
        try database.read { context in
            try context.session.run { session in
                var rows: [String] = []
                _ = try statement.analysis(in: try session.core, StatementParameters()) {
                    rows.append($0.json)
                    return true
                }
                #expect(try rows == statement.resolve(in: context).map(\.json))
            }
        }
    }

    @Test("of typed queries have the counts of each step, too")
    func typed() throws {
        let query = Tale.filter(\.year >= 10 && \.kind == "k1").sorted(by: \.id).limit(2)
        let run = try database.read { try query.explain(.analyze, in: $0) }
        #expect(
            "\(run)" == """
                Tale: scan of 40 rows → 17 rows
                  filter rows by (year >= 10 && kind == "k1") → 2 rows from 17
                  limit 2 → 2 rows
                  2 results
                """)
        #expect(run.entriesRead == 17 && run.rowsRead == 17)
    }
}
