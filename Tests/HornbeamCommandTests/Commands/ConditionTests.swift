// SPDX-License-Identifier: Apache-2.0
// --where of query, search and export: the same condition finds the same entities in each of them, and in a statement.

import HornbeamTestSupport
import Testing

@Suite("Conditions of the command")
struct ConditionTests {
    private let library: Library

    init() throws { library = try Library() }

    private func ids(_ lines: [String]) -> [String] {
        lines.compactMap { $0.firstMatch(of: /"id":"?(\w+)/).map { String($0.1) } }
    }

    private static let books: [(condition: String, ids: [String])] = [
        ("STARTS_WITH(title, 'The') AND year < 1974", ["left", "cyb"]),
        ("CONTAINS(FOLD(title), 'dark') OR price >= 10", ["left", "cyb"]),
        ("year == 1961", ["sol"]), ("year IN (1961, 1974)", ["disp", "sol"]), ("year in [1961]", ["sol"]),
        ("year NOT IN (1961, 1974)", ["left", "cyb"]), ("year IS NULL", ["anon"]),
        ("NOT year < 1969", ["disp", "left"]),
        ("year BETWEEN 1960 AND 1966", ["sol", "cyb"]), ("price = 9.99", ["disp"]), ("title LIKE '%s%ed'", ["disp"]),
        ("MATCH(title, 'dark* OR cyberiad')", ["left", "cyb"]), ("MATCH(search, 'the -hand')", ["disp", "cyb"]),
        ("author = 1", ["disp", "left"]), ("author IS NULL", ["anon"]),
        ("author.name = 'Stanisław Lem'", ["sol", "cyb"]),
        ("LENGTH(author.name) > 13", ["disp", "left"]), ("LENGTH(title) > 12", ["disp", "left"]),
        ("MATCH(title, 'solaris') OR LENGTH(title) = 5", ["sol", "anon"]), ("year % 2 = 1", ["left", "sol", "cyb"]),
        ("Book.id = 'sol'", ["sol"]), ("META().id = 'sol'", ["sol"]), ("TRUE", ["disp", "left", "sol", "cyb", "anon"]),
        ("NULL", []),
    ]

    @Test("every command accepts any condition of a statement", arguments: books)
    func conditions(_ condition: String, _ expected: [String]) throws {
        #expect(ids(try library.lines("sql", "SELECT id FROM Book WHERE \(condition)", "--json")) == expected)
        #expect(ids(try library.lines("query", "Book", "-w", condition, "--json")) == expected)
        #expect(ids(try library.lines("export", "Book", "-w", condition)) == expected)
        #expect(try library.lines("query", "Book", "-w", condition, "--count") == ["\(expected.count)"])
        let found = ids(try library.lines("search", "Book", "the OR solaris", "-w", condition, "--json"))
        #expect(found.sorted() == expected.filter { $0 != "anon" }.sorted())
    }

    @Test(
        "a to-many relation is an array of ids, and of entities after ANY",
        arguments: [
            ("'sol' IN books", ["2"]), ("ANY b IN books SATISFIES b.year > 1970 END", ["1"]),
            ("ANY b IN books SATISFIES LENGTH(b.title) = 7 END", ["2"]), ("ARRAY_LENGTH(books) = 2", ["1", "2"]),
        ])
    func toMany(_ condition: String, _ expected: [String]) throws {
        #expect(ids(try library.lines("query", "Author", "-w", condition, "-c", "id", "--json")) == expected)
    }

    @Test("order, limit, offset and count apply to the entities that meet the condition")
    func cut() throws {
        // The planner answers the first condition, and rows are tested for the second.
        for condition in ["price > 8", "ROUND(price) > 8"] {
            func lines(_ options: String...) throws -> [String] {
                let run = try CommandRun(["query", library.file, "Book", "-w", condition, "-c", "id"] + options)
                try #require(run.code == 0, "\(run)")
                return run.output.split(separator: "\n").map(String.init)
            }
            #expect(ids(try lines("-s", "-price", "-j")) == ["cyb", "disp", "left"])
            #expect(ids(try lines("-s", "-price", "-j", "-n", "2")) == ["cyb", "disp"])
            #expect(ids(try lines("-s", "price", "-j", "-n", "1", "-o", "1")) == ["disp"])
            #expect(try lines("-j", "-n", "0").isEmpty && lines("-j", "-o", "3").isEmpty)
            #expect(try lines("--count") == ["3"] && lines("--count", "-n", "2") == ["2"])
            #expect(try lines("--count", "-n", "2", "-o", "2") == ["1"])
        }
    }

    @Test("a search continues until enough of its hits pass")
    func search() throws {
        let all = ids(try library.lines("search", "Book", "the", "-j", "-n", "3"))
        try #require(all.count == 3)
        for condition in ["year > 0", "LENGTH(title) > 0"] {
            let lines = try library.lines("search", "Book", "the", "-w", condition, "-j", "-n", "1", "-o", "1")
            #expect(ids(lines) == [all[1]] && lines[0].hasPrefix(#"{"rank":2,"score":"#))
        }
        #expect(ids(try library.lines("search", "Book", "the", "-w", "LENGTH(title) = 12", "-j", "-n", "1")) == ["cyb"])
    }

    @Test("RANK() in a condition belongs to the condition's own MATCH")
    func rank() throws {
        func score(_ words: String) throws -> Double {
            let line = try library.lines("search", "Book", words, "-w", "id = 'cyb'", "-j").first ?? ""
            return Double(line.firstMatch(of: /"score":([0-9.]+)/).map { String($0.1) } ?? "") ?? 0
        }
        let (rare, common) = (try score("cyberiad"), try score("the"))
        try #require(rare > common && common > 0)
        let condition = "MATCH(title, 'cyberiad') AND RANK() > \((rare + common) / 2)"
        #expect(ids(try library.lines("query", "Book", "-w", condition, "-j")) == ["cyb"])
        #expect(ids(try library.lines("search", "Book", "the", "-w", condition, "-j")) == ["cyb"])
    }

    @Test("--explain shows the plan and what is tested on rows")
    func explain() throws {
        func plan(_ condition: String) throws -> String {
            let run = try CommandRun("query", library.file, "Book", "-w", condition, "--explain", "--limit", "1")
            try #require(run.code == 0, "\(run)")
            return run.errors
        }
        #expect(try !plan("year > 1960").contains("WHERE"))
        let tested = try plan("year > 1960 AND LENGTH(title) = 7")
        #expect(tested.contains("\n  test a condition of WHERE year > 1960 AND LENGTH(title) = 7 → 1 row"), "\(tested)")
        #expect(tested.contains("\n  limit 1 → 1 row\ntime: "), "\(tested)")
    }

    @Test("parameters get their values from --param and --set")
    func parameters() throws {
        let condition = "year > ? AND title != $title"
        let options = ["-w", condition, "-p", "1960", "--set", "title=Solaris"]
        for command in [["query", library.file, "Book", "-j"], ["export", library.file, "Book"]] {
            let run = try CommandRun(command + options)
            #expect(ids(run.output.split(separator: "\n").map(String.init)) == ["disp", "left", "cyb"])
        }
        let run = try CommandRun(["search", library.file, "Book", "the", "-j"] + options)
        #expect(ids(run.output.split(separator: "\n").map(String.init)).sorted() == ["cyb", "disp", "left"])
        #expect(try library.lines("query", "Book", "-w", "id IN ?", "-p", #"["sol", "cyb"]"#, "--count") == ["2"])
        let spare = try CommandRun("query", library.file, "Book", "-p", "1")
        #expect(spare.code == 1 && spare.output.isEmpty && spare.errors.contains("0 parameters, and 1 value is given"))
        let nameless = try CommandRun("query", library.file, "Book", "--set", "1")
        #expect(nameless.code == 2 && nameless.errors.hasPrefix("hornbeam: --set is “1”"))
    }

    @Test(
        "an unreadable condition is an error that points at the position",
        arguments: [
            ("year >> 5", "expected a value", 7), ("yaer > 5", "did you mean year?", 1), ("", "expected a value", 1),
            ("year > 5 && price > 3", "unexpected “&”: write AND for &&", 10),
            ("title contains \"x\"", "“contains” is a function here: CONTAINS(", 7),
            ("year == nil", "nil is NULL here", 9), ("COUNT(*) > 1", "aggregate", 1),
            ("year > ?", "no value is given for parameter 1", 8), ("year > 5 LIMIT 3", "expected the end", 10),
            ("MATCH(year, 'x')", "year is no text", 7), ("MATCH(title, 'a AND')", "in what MATCH looks for", 1),
        ])
    func failures(_ condition: String, _ words: String, _ character: Int) throws {
        for command in [["query", library.file, "Book"], ["search", library.file, "Book", "the"]] {
            let run = try CommandRun(command + ["--where", condition])
            #expect(run.code == 1 && run.output.isEmpty && run.errors.hasPrefix("hornbeam: "), "\(run)")
            let place = "at line 1, character \(character):\n  \(condition)\n"
            let caret = "  \(String(repeating: " ", count: character - 1))^\n"
            #expect(run.errors.contains(words) && run.errors.hasSuffix(place + caret), "\(run)")
        }
        let target = library.folder.path + "/out.jsonl"
        let run = try CommandRun("export", library.file, "Book", "-w", condition, "-o", target)
        #expect(run.code == 1 && run.errors.contains(words))
        #expect(throws: (any Error).self) { try library.folder.read("out.jsonl") }
    }
}
