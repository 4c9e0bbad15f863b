// SPDX-License-Identifier: Apache-2.0
// Subqueries after IN and in EXISTS, and UNION: results, plans, and refused forms.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

@EntityModel
private struct Song {
    @Index<Self>(\.album) private var byAlbum
    let id: Int
    var title: String
    var album: Int?
    var length: Int
}

@EntityModel
private struct Album {
    let id: Int
    var year: Int
}

@Suite("Subqueries and UNION")
struct SubqueryTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(models: Song.self, Album.self)
        try database.execute("INSERT INTO Album (id, year) VALUES (1, 1970), (2, 1980), (3, 1990)")
        try database.execute(
            """
            INSERT INTO Song (id, title, album, length)
            VALUES (1, 'a', 1, 100), (2, 'B', 2, 200), (3, 'c', 2, 300), (4, 'd', NULL, 400), (5, 'a', 3, 500)
            """)
        return database
    }

    private func json(_ text: String, _ parameters: any ColumnValue...) throws -> [String] {
        let statement = try Statement(text)
        return try database().read { try statement.resolve(in: $0, parameters) }.map(\.json)
    }

    @Test(
        "IN takes the only column of a subquery",
        arguments: [
            ("album IN (SELECT id FROM Album WHERE year >= 1980)", ["2", "3", "5"]),
            ("album NOT IN (SELECT id FROM Album WHERE year >= 1980)", ["1"]),
            ("album IN (SELECT id FROM Album WHERE year > 2000)", []),
            ("album NOT IN (SELECT id FROM Album WHERE year > 2000)", ["1", "2", "3", "4", "5"]),
            // If null is in the list, it is unknown whether another value is in it.
            ("id NOT IN (SELECT album FROM Song)", []),
            ("id NOT IN (SELECT album FROM Song WHERE album IS NOT NULL)", ["4", "5"]),
            ("album IN (SELECT id FROM Album ORDER BY year DESC LIMIT 1)", ["5"]),
            ("title IN (SELECT title FROM Song GROUP BY title HAVING COUNT(*) > 1)", ["1", "5"]),
            ("album IN (SELECT id FROM Album WHERE id IN (SELECT album FROM Song WHERE length > 400))", ["5"]),
            ("title COLLATE NOCASE IN (SELECT UPPER(title) FROM Song WHERE id < 3)", ["1", "2", "5"]),
            ("id + 1 IN (SELECT id FROM Album) AND length > 100", ["2"]),
            ("album IN (SELECT id FROM Album WHERE id = 1 UNION ALL SELECT album FROM Song WHERE id = 5)", ["1", "5"]),
            ("EXISTS (SELECT id FROM Album WHERE year = 1970) AND id < 3", ["1", "2"]),
            ("EXISTS (SELECT id FROM Album WHERE year = 1971)", []),
            ("NOT EXISTS (SELECT id FROM Album WHERE year = 1971) AND id = 4", ["4"]),
            ("(EXISTS (SELECT 1 FROM Album)) = TRUE AND id = 4", ["4"]),
        ])
    func membership(_ condition: String, _ expected: [String]) throws {
        #expect(try json("SELECT VALUE id FROM Song WHERE \(condition) ORDER BY id") == expected)
    }

    @Test("a subquery's values are looked up in an index, like those of a list")
    func index() throws {
        let text = "SELECT id FROM Song WHERE album IN (SELECT id FROM Album WHERE year = ?) AND length > ?"
        #expect(try json(text, 1980, 250) == [#"{"id":3}"#])
        let plan = try json("EXPLAIN " + text, 1980, 250).joined()
        #expect(plan.contains("album in [2] && length > 250"), "\(plan)")
        let database = try database()
        try database.write { (context) throws in
            for id in 10..<300 { try Song(id: id, title: "", album: id, length: 0).save(to: &context) }
        }
        let rows = try database.query(
            "EXPLAIN SELECT id FROM Song WHERE album IN (SELECT id FROM Album WHERE year >= 1980)")
        #expect(rows.map(\.json).joined().contains("index byAlbum"), "\(rows)")
    }

    @Test("parameters are numbered through the whole text, and NOW() is one moment in all of it")
    func inputs() throws {
        let text =
            "SELECT VALUE id FROM Song WHERE length > ? AND album IN (SELECT id FROM Album WHERE year > ?) AND id < ?"
        #expect(try json(text, 100, 1970, 3) == ["2"])
        let error = #expect(throws: HornbeamError.self) { try json(text, 100, 1970) }
        #expect(error?.message.contains("no value is given for parameter 3") == true)
        #expect(throws: HornbeamError.self) { try json(text, 100, 1970, 3, 4) }
        #expect(try json("SELECT VALUE id FROM Song WHERE NOW() IN (SELECT NOW() FROM Album) AND id = 1") == ["1"])
    }

    @Test(
        "UNION puts results after each other",
        arguments: [
            ("SELECT id FROM Album WHERE id = 1 UNION ALL SELECT album FROM Song WHERE id < 3", ["1", "1", "2"]),
            ("SELECT id FROM Album WHERE id = 1 UNION SELECT album FROM Song WHERE id < 4", ["1", "2"]),
            ("SELECT id FROM Album UNION ALL SELECT length FROM Song ORDER BY id DESC LIMIT 2", ["500", "400"]),
            ("SELECT id FROM Album UNION ALL SELECT length FROM Song ORDER BY 1 LIMIT 2 OFFSET 2", ["3", "100"]),
            (
                "SELECT album AS id FROM Song UNION SELECT id FROM Album ORDER BY id NULLS LAST",
                ["1", "2", "3", "null"]
            ),
            (
                "SELECT id FROM Album UNION ALL SELECT id FROM Album UNION ALL SELECT id FROM Album LIMIT 7 OFFSET 5",
                ["3", "1", "2", "3"]
            ),
            ("SELECT COUNT(*) AS id FROM Album UNION ALL SELECT COUNT(*) FROM Song", ["3", "5"]),
            ("SELECT id FROM Album UNION ALL SELECT id FROM Song LIMIT 0", []),
        ])
    func unions(_ text: String, _ expected: [String]) throws {
        #expect(try json(text) == expected.map { #"{"id":\#($0)}"# })
    }

    @Test(
        "the rows of a subquery in FROM and JOIN, and of one that WITH names, are a source",
        arguments: [
            (
                "SELECT * FROM (SELECT id, year - 1970 AS age FROM Album) AS a WHERE age > 0 ORDER BY age DESC",
                [#"{"id":3,"age":20}"#, #"{"id":2,"age":10}"#]
            ),
            (
                "SELECT COUNT(*) AS n, MAX(n) AS most FROM (SELECT album, COUNT(*) AS n FROM Song GROUP BY album) AS a",
                [#"{"n":4,"most":2}"#]
            ),
            (
                "SELECT n, COUNT(*) AS c FROM (SELECT album, COUNT(*) AS n FROM Song GROUP BY album) a GROUP BY n",
                [#"{"n":1,"c":3}"#, #"{"n":2,"c":1}"#]
            ),
            (
                "SELECT DISTINCT a.title FROM (SELECT title FROM Song) AS a LIMIT 2",
                [#"{"title":"a"}"#, #"{"title":"B"}"#]
            ),
            ("SELECT VALUE x FROM (SELECT VALUE id * 2 FROM Album) AS x WHERE x > 2", ["4", "6"]),
            (
                "SELECT s.id, a.n FROM Song AS s JOIN (SELECT album, COUNT(*) AS n FROM Song GROUP BY album) AS a "
                    + "ON a.album = s.album WHERE s.id < 3", [#"{"id":1,"n":1}"#, #"{"id":2,"n":2}"#]
            ),
            (
                "SELECT s.id, a.year FROM Song AS s LEFT JOIN (SELECT id, year FROM Album WHERE id < 2) AS a "
                    + "ON a.id = s.album WHERE s.id IN (1, 4)", [#"{"id":1,"year":1970}"#, #"{"id":4,"year":null}"#]
            ),
            (
                "SELECT a.id, s.title FROM (SELECT id FROM Album WHERE id > 1) AS a JOIN Song AS s ON s.album = a.id "
                    + "ORDER BY s.title",
                [#"{"id":2,"title":"B"}"#, #"{"id":3,"title":"a"}"#, #"{"id":2,"title":"c"}"#]
            ),
            (
                "WITH long AS (SELECT id, length FROM Song WHERE length > ?), two AS (SELECT id FROM long LIMIT 2) "
                    + "SELECT COUNT(*) AS n, SUM(long.length) AS sum FROM long JOIN two ON two.id = long.id",
                [#"{"n":2,"sum":700}"#]
            ),
            ("WITH Album AS (SELECT 7 AS id FROM Song LIMIT 1) SELECT VALUE id FROM Album", ["7"]),
            (
                "WITH a AS (SELECT 1 AS id FROM Album) SELECT VALUE id FROM Song WHERE album IN (SELECT id FROM a)",
                ["1"]
            ),
            (
                "SELECT VALUE id FROM Song WHERE id IN (WITH a AS (SELECT id FROM Album) "
                    + "SELECT id FROM a UNION SELECT 5 FROM a)",
                ["1", "2", "3", "5"]
            ),
            ("SELECT VALUE a FROM (SELECT id FROM Album LIMIT 1) AS a", [#"{"id":1}"#]),
            ("SELECT VALUE id FROM (SELECT id FROM Album) AS a WHERE FALSE", []),
            ("SELECT VALUE id FROM (SELECT id FROM Album) AS a LIMIT 1 OFFSET 1", ["2"]),
            ("SELECT VALUE n FROM (SELECT COUNT(*) AS n FROM Album WHERE id > 9) AS a", ["0"]),
        ])
    func sources(_ text: String, _ expected: [String]) throws {
        #expect(try text.contains("?") ? json(text, 200) == expected : json(text) == expected)
    }

    @Test("the plan of a statement has the rows of its subqueries")
    func sourcePlan() throws {
        let plan = try json("EXPLAIN SELECT * FROM (SELECT id FROM Album) AS a JOIN Song AS s ON s.album = a.id")
        #expect(plan.first == #"{"plan":"3 rows of a subquery as a"}"# && plan.count == 2, "\(plan)")
    }

    @Test("a query that WITH names is run once, also if other named queries use it", .timeLimit(.minutes(2)))
    func namedOnce() throws {
        let names = (1...25).map { "n\($0) AS (SELECT a.id FROM n\($0 - 1) AS a JOIN n\($0 - 1) AS b ON a.id = b.id)" }
        let text = "WITH n0 AS (SELECT id FROM Album), \(names.joined(separator: ", ")) SELECT VALUE id FROM n25"
        #expect(try json(text) == ["1", "2", "3"])
    }

    @Test("the plan of a UNION shows those of its parts")
    func unionPlan() throws {
        let plan = try json(
            "EXPLAIN SELECT id FROM Album UNION SELECT album FROM Song WHERE album = 1 ORDER BY 1 LIMIT 3")
        #expect(plan.count >= 4)
        #expect(plan.contains(#"{"plan":"and others of"}"#) && plan.joined().contains("byAlbum"), "\(plan)")
        #expect(plan.suffix(2) == [#"{"plan":"sort by id in memory"}"#, #"{"plan":"limit 3"}"#])
    }

    @Test(
        "unsupported forms are refused, with the form to write instead",
        arguments: [
            ("SELECT id FROM (SELECT id FROM Album)", "a subquery needs a name", 38),
            ("SELECT year FROM (SELECT id FROM Album) AS a", "a has no “year”; there are a, id", 8),
            ("SELECT a.year FROM (SELECT id FROM Album) AS a", "a has no “year”; there are id", 8),
            ("SELECT id FROM Song JOIN (SELECT id FROM Album) AS a", "expected ON and what joins a", 53),
            ("SELECT id FROM Song AS s JOIN (SELECT id FROM Album) AS a ON TRUE", "“id” may be s.id or a.id", 8),
            (
                "SELECT s.id FROM Song AS s JOIN (SELECT id FROM Album WHERE id = s.album) AS a ON TRUE",
                "“s” belongs to", 66
            ),
            (
                "SELECT id FROM Song WHERE album = (SELECT id FROM Album)",
                "a subquery stands in parentheses", 36
            ),
            ("SELECT (SELECT 1 FROM Album) FROM Song", "a subquery stands in parentheses", 9),
            ("WITH a AS (SELECT id FROM Album)", "expected SELECT", 33),
            ("WITH RECURSIVE a AS (SELECT id FROM Album) SELECT id FROM a", "there is no WITH RECURSIVE", 6),
            ("WITH a (SELECT id FROM Album) SELECT id FROM a", "WITH needs a name and a query", 1),
            ("WITH a AS (SELECT id FROM Album) SELECT id FROM b", "there is no entity type “b”", 49),
            ("UPDATE (SELECT id FROM Album) SET id = 1", "expected the name of an entity type", 8),
            ("SELECT id FROM Song EXCEPT SELECT id FROM Album", "NOT IN (SELECT …)", 21),
            ("SELECT id FROM Song INTERSECT SELECT id FROM Album", "IN (SELECT …)", 21),
            ("SELECT id FROM Song LIMIT 1 UNION SELECT id FROM Album", "behind the last SELECT", 29),
            ("SELECT id FROM Song UNION SELECT id FROM Song UNION ALL SELECT id FROM Song", "aren't mixed", 57),
            ("SELECT id FROM Song UNION SELECT id, year FROM Album", "the first has 1, this one 2", 34),
            ("SELECT id FROM Song UNION SELECT id FROM Album ORDER BY year", "names and numbers of its columns", 57),
            ("SELECT id FROM Song UNION SELECT id FROM Album ORDER BY 2", "there is 1", 57),
            ("SELECT id FROM Song WHERE album IN (SELECT id, year FROM Album)", "one column, not 2", 37),
            ("SELECT id FROM Song WHERE album IN (SELECT id FROM Album", "to end the subquery", 57),
            (
                "SELECT s.id FROM Song AS s WHERE EXISTS (SELECT id FROM Album WHERE id = s.album)",
                "“s” belongs to the statement around this subquery", 74
            ),
            (
                "SELECT id FROM Song WHERE EXISTS (SELECT id FROM Album WHERE id = album)",
                "“album” belongs to the statement around this subquery", 67
            ),
            ("CREATE TABLE Song (id)", "there is no CREATE", 1),
            ("BEGIN", "in one database.write are one transaction", 1),
            ("MERGE INTO Song", "UPSERT INTO", 1), ("TRUNCATE Song", "DELETE FROM", 1),
            ("INSERT OR REPLACE INTO Song (id) VALUES (1)", "UPSERT INTO", 8),
            ("INSERT INTO Song (id) VALUES (1) ON CONFLICT DO NOTHING", "UPSERT INTO", 34),
            ("INSERT INTO Song VALUES (1)", "VALUES need names", 18),
            ("INSERT INTO Song (id, title) VALUES (1)", "2 names, and 1 value", 37),
            ("INSERT INTO Song (id) (SELECT id FROM Album)", "expected VALUES or SELECT", 23),
            ("INSERT Song (id) VALUES (1)", "expected INTO", 8),
            ("UPDATE Song title = 'x'", "expected SET", 19), ("UPDATE Song SET title 'x'", "expected “=”", 23),
            ("UPDATE Song SET title = 'x' FROM Album", "UPDATE is of one type", 29),
            ("DELETE Song WHERE id = 1", "expected FROM", 8),
            ("DELETE FROM Song WHERE id = 1 LIMIT 1", "DELETE has no ORDER BY, LIMIT or OFFSET", 31),
            ("EXPLAIN DROP TABLE Song", "there is no DROP", 9), ("SHOW TABLES", "expected SELECT, INSERT", 1),
        ])
    func refusals(_ text: String, _ words: String, _ character: Int) throws {
        let error = try #require(#expect(throws: HornbeamError.self, "\(text)") { try json(text) })
        #expect(error.message.contains(words), "\(error.message)")
        #expect(error.message.contains("at line 1, character \(character):"), "\(error.message)")
    }

    @Test("keywords of statements that change data are names elsewhere")
    func names() throws {
        #expect(try json("SELECT id AS `insert`, title AS `values` FROM Song AS returning_ WHERE id = 1").count == 1)
        #expect(throws: Never.self) { _ = try Statement("SELECT update, delete, into, values, upsert FROM set") }
        #expect(throws: Never.self) { _ = try Statement("UPDATE set SET set = values RETURNING returning") }
        #expect(throws: Never.self) { _ = try Statement("INSERT INTO values (values) VALUES (exists)") }
    }

    @Test("nested subqueries have a limit, on a small stack too")
    func depth() async throws {
        try await inSmallThread {
            func nested(_ count: Int) -> String {
                String(repeating: "SELECT id FROM Song WHERE id IN (", count: count) + "1"
                    + String(repeating: ")", count: count)
            }
            func named(_ count: Int) -> String {
                let names = (1...count).map { "n\($0) AS (SELECT id FROM n\($0 - 1) WHERE id + 1 + 1 > 0)" }
                return "WITH n0 AS (SELECT id FROM Album), \(names.joined(separator: ", ")) SELECT id FROM n\(count)"
            }
            let database = try self.database()
            _ = try database.query(nested(8))
            _ = try database.query(named(8))
            for text in [nested(60), nested(5_000), named(500), named(10_000)] {
                let error = #expect(throws: HornbeamError.self) { try database.query(text) }
                #expect(error?.code == .invalid || error?.code == .tooLarge)
            }
        }
    }
}
