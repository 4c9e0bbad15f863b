// SPDX-License-Identifier: Apache-2.0
// Clauses and words that users of SQL expect: numbers of columns, one NOW() for a run, signs before operands, texts
// that begin with any scalar, and errors that name the right things.

import Foundation
import Hornbeam
import Testing

@EntityModel
private struct Ware {
    let id: Int
    var name: String
    var kind: Int?
    var value: Int = 0
    var array: [Int] = []
    @Relationship(inverse: \.ware)
    var parts: [WarePart]?
}

@EntityModel
private struct WarePart {
    let id: Int
    @Relationship(inverse: \.parts)
    var ware: Ware?
}

@Suite("Clauses and words of statements")
struct StatementClauseTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(models: Ware.self, WarePart.self)
        try database.write { (context) throws in
            for (id, name, kind) in [(1, "tea", 2), (2, "Milk", 1), (3, "bread", 2), (4, "Ale", nil)] {
                try Ware(id: id, name: name, kind: kind, value: 10 * id, array: [id, 5]).save(to: &context)
            }
        }
        return database
    }

    private func json(_ text: String, _ parameters: any ColumnValue...) throws -> [String] {
        let statement = try Statement(text)
        return try database().read { try statement.resolve(in: $0, parameters) }.map(\.json)
    }

    private func message(_ text: String, _ parameters: any ColumnValue...) -> String {
        let error = #expect(throws: HornbeamError.self, "\(text)") {
            let statement = try Statement(text)
            _ = try database().read { try statement.resolve(in: $0, parameters) }
        }
        return error?.message ?? ""
    }

    // MARK: Numbers of columns

    @Test(
        "a number in ORDER BY and GROUP BY is the column of that number",
        arguments: [
            ("SELECT VALUE id FROM Ware ORDER BY 1 DESC", "SELECT VALUE id FROM Ware ORDER BY id DESC"),
            ("SELECT id, name FROM Ware ORDER BY 2", "SELECT id, name FROM Ware ORDER BY name"),
            (
                "SELECT id, name FROM Ware ORDER BY 2 COLLATE NOCASE",
                "SELECT id, name FROM Ware ORDER BY name COLLATE NOCASE"
            ),
            (
                "SELECT kind, id FROM Ware ORDER BY 1 NULLS LAST, 2 DESC",
                "SELECT kind, id FROM Ware ORDER BY kind NULLS LAST, id DESC"
            ),
            ("SELECT * FROM Ware ORDER BY 2 DESC", "SELECT * FROM Ware ORDER BY name DESC"),
            ("SELECT -id AS n, name FROM Ware ORDER BY 1", "SELECT -id AS n, name FROM Ware ORDER BY -id"),
            ("SELECT DISTINCT kind FROM Ware ORDER BY 1 DESC", "SELECT DISTINCT kind FROM Ware ORDER BY kind DESC"),
            ("SELECT COUNT(*) AS n, kind FROM Ware GROUP BY 2", "SELECT COUNT(*) AS n, kind FROM Ware GROUP BY kind"),
            (
                "SELECT kind % 2 AS k, COUNT(*) AS n FROM Ware GROUP BY 1 HAVING k = 0",
                "SELECT kind % 2 AS k, COUNT(*) AS n FROM Ware GROUP BY kind % 2 HAVING kind % 2 = 0"
            ),
            (
                "SELECT kind, COUNT(*) AS n FROM Ware GROUP BY 1 ORDER BY 2 DESC, 1 DESC",
                "SELECT kind, COUNT(*) AS n FROM Ware GROUP BY kind ORDER BY COUNT(*) DESC, kind DESC"
            ),
            (
                "SELECT kind, id FROM Ware ORDER BY 1, 2 LIMIT 2 OFFSET 1",
                "SELECT kind, id FROM Ware ORDER BY kind, id LIMIT 2 OFFSET 1"
            ),
            ("SELECT id FROM Ware ORDER BY NULL, id DESC", "SELECT id FROM Ware ORDER BY id DESC"),
        ])
    func numbers(numbered: String, named: String) throws {
        #expect(try json(numbered) == json(named))
    }

    @Test(
        "anything that is neither a column nor an expression is refused",
        arguments: [
            ("SELECT id, name FROM Ware ORDER BY 3", "there are 2"), ("SELECT id FROM Ware ORDER BY 0", "there is 1"),
            ("SELECT id FROM Ware ORDER BY -1", "there is 1"), ("SELECT id FROM Ware GROUP BY 2", "there is 1"),
            ("SELECT id FROM Ware ORDER BY 'name'", "backquotes"),
            ("SELECT id FROM Ware ORDER BY \"name\" DESC", "backquotes"),
            ("SELECT COUNT(*) AS n FROM Ware GROUP BY 'kind'", "backquotes"),
            ("SELECT id FROM Ware ORDER BY 1.5", "backquotes"),
            ("SELECT COUNT(*) AS n FROM Ware GROUP BY 1", "aggregate"), ("SELECT * FROM Ware GROUP BY 1", "*"),
        ])
    func noColumns(text: String, problem: String) {
        #expect(message(text).contains(problem), "\(message(text))")
        #expect(message(text).contains("at line 1, character"), "\(message(text))")
    }

    @Test("a parameter has one value for all rows, and gives no order")
    func parameters() {
        #expect(message("SELECT id FROM Ware ORDER BY ?", "name").contains("backquotes"))
    }

    @Test("the plan names the columns that numbers stand for")
    func explained() throws {
        let plan = try json("EXPLAIN SELECT kind, COUNT(*) AS n FROM Ware GROUP BY 1 ORDER BY 2").joined()
        #expect(plan.contains("group by kind") && plan.contains("sort by n in memory"), "\(plan)")
    }

    // MARK: NOW

    @Test("NOW() is one moment for a run")
    func now() throws {
        #expect(try json("SELECT VALUE NOW() = NOW() FROM Ware LIMIT 1") == ["true"])
        #expect(try json("SELECT COUNT(DISTINCT NOW()) AS n FROM Ware a JOIN Ware b ON NOW() = NOW()") == [#"{"n":1}"#])
        let statement = try Statement("SELECT VALUE NOW() FROM Ware LIMIT 1")
        try database().read { (context) throws in
            let (first, second) = (try statement.resolve(in: context)[0][0], try statement.resolve(in: context)[0][0])
            #expect(first != second)
        }
    }

    @Test("an index has no condition that changes with time")
    func timedIndex() throws {
        let database = try database()
        let config = ValueIndexConfiguration(["name"], where: "kind > 1 AND NOW() > '2020-01-01'")
        let error = #expect(throws: HornbeamError.self) {
            try database.createIndex(Ware.self, withName: "timed", config: config)
        }
        #expect(error?.message.contains("not the same at all times") == true, "\(error?.message ?? "")")
    }

    // MARK: Signs and words

    @Test(
        "a sign directly before an operand is its sign, also after VALUE and ARRAY",
        arguments: [
            ("SELECT VALUE -id FROM Ware WHERE id = 2", "-2"), ("SELECT VALUE +id FROM Ware WHERE id = 2", "2"),
            ("SELECT VALUE -(id + 1) FROM Ware WHERE id = 2", "-3"), ("SELECT RAW -id FROM Ware WHERE id = 2", "-2"),
            ("SELECT VALUE -1.5 FROM Ware WHERE id = 2", "-1.5"),
            ("SELECT value - -id FROM Ware WHERE id = 2", #"{"value - -id":22}"#),
            ("SELECT value - id AS d FROM Ware WHERE id = 2", #"{"d":18}"#),
            ("SELECT value-id AS d FROM Ware WHERE id = 2", #"{"d":18}"#),
            ("SELECT value -1 AS d FROM Ware WHERE id = 2", "-1"),
            ("SELECT `value` -id AS d FROM Ware WHERE id = 2", #"{"d":18}"#),
            ("SELECT value NOT IN (1) AS v FROM Ware WHERE id = 2", #"{"v":true}"#),
            ("SELECT VALUE NOT id = 2 FROM Ware WHERE id = 2", "false"),
            ("SELECT VALUE [id] FROM Ware WHERE id = 2", "[2]"), ("SELECT VALUE [1] FROM Ware WHERE id = 2", "[1]"),
            ("SELECT VALUE ARRAY -x FOR x IN array END FROM Ware WHERE id = 2", "[-2,-5]"),
            ("SELECT VALUE ARRAY NOT x = 5 FOR x IN array END FROM Ware WHERE id = 2", "[true,false]"),
            ("SELECT VALUE ARRAY [x, 1] FOR x IN array END FROM Ware WHERE id = 2", "[[2,1],[5,1]]"),
            ("SELECT VALUE array[0] FROM Ware WHERE id = 2", "2"),
            ("SELECT VALUE array[-1] FROM Ware WHERE id = 2", "5"),
            ("SELECT VALUE id FROM Ware WHERE array NOT IN ([1, 5], [2, 5]) ORDER BY array NULLS LAST LIMIT 1", "3"),
            ("SELECT VALUE id FROM Ware WHERE id = -(-2)", "2"),
            ("SELECT VALUE id FROM Ware WHERE id BETWEEN -1 AND +1", "1"),
            ("SELECT VALUE id FROM Ware WHERE id IN (-1, +2)", "2"),
            ("SELECT VALUE id * -1 FROM Ware WHERE id = 2", "-2"),
            ("SELECT VALUE id FROM Ware ORDER BY -id LIMIT 1", "4"),
        ])
    func signs(text: String, expected: String) throws {
        #expect(try json(text) == [expected])
    }

    @Test(
        "a text, and the text after a comment, may begin with any scalar",
        arguments: [
            "\u{301}", "\u{301}a", "\u{FE0F}", "\u{200D}x", "\u{338}", "\u{1F3FD}", "a\u{301}", "\u{E0001}", "'\u{301}",
        ])
    func marks(content: String) throws {
        for quote in ["'", "\""] {
            let written =
                quote + content.unicodeScalars.map { String($0) == quote ? quote + quote : String($0) }.joined() + quote
            #expect(try json("SELECT VALUE \(written) = ? FROM Ware LIMIT 1", content) == ["true"], "\(written)")
            #expect(
                try json("SELECT VALUE LENGTH(\(written) /* \(content)*/) FROM Ware LIMIT 1") == ["\(content.count)"])
        }
        #expect(try json("SELECT id AS `\(content.replacing("`", with: ""))` FROM Ware LIMIT 1").count == 1)
        #expect(try json("SELECT VALUE id FROM Ware -- \(content)\r\nLIMIT 1") == ["1"])
        #expect(try json("SELECT VALUE id FROM Ware /* x *\(content)*/ LIMIT 1") == ["1"])
    }

    @Test("names have marks and the signs between letters that some scripts need")
    func names() throws {
        #expect(try json("SELECT id AS e\u{301}tage FROM Ware LIMIT 1") == ["{\"e\u{301}tage\":1}"])
        #expect(try json("SELECT id AS हिन्दी, id AS می\u{200C}خواهم FROM Ware LIMIT 1").count == 1)
    }

    @Test("an error's position counts characters, in lines of any ending")
    func places() {
        #expect(message("SELECT 'e\u{301}\u{301}👩‍👩‍👧' FORM b").contains("at line 1, character 18:"))
        for ending in ["\n", "\r\n", "\r", "\u{2028}"] {
            #expect(message("SELECT id,\(ending)  titel FROM Ware").contains("at line 2, character 3:"))
        }
    }

    // MARK: Errors

    @Test(
        "errors name the known names",
        arguments: [
            ("SELECT xyzzy FROM Ware", "there are Ware, id, name, kind, value, array, parts"),
            ("SELECT part FROM Ware", "did you mean parts?"),
            ("SELECT w.xyzzy FROM Ware w", "there are id, name, kind, value, array, parts"),
            ("SELECT id.x FROM Ware", "Ware.id is an int64, which has no “x”"),
            ("SELECT id[0] FROM Ware", "Ware.id is an int64, and no array"),
            ("SELECT SUM(name) FROM Ware", "Ware.name is a string"),
            ("SELECT id FROM Ware WHERE MATCH(id, 'x')", "id is no text but an int64"),
            ("SELECT LOWER(name, name) FROM Ware", "LOWER takes 1 argument, not 2"),
            ("SELECT POWER(id) FROM Ware", "POWER takes 2 arguments, not 1"),
            ("SELECT id AS total FROM Ware WHERE total > 1", "“total” is a column of the result"),
            ("SELECT id AS total, total + 1 AS more FROM Ware", "“total” is a column of the result"),
        ])
    func errors(text: String, problem: String) {
        #expect(message(text).contains(problem), "\(message(text))")
    }
}
