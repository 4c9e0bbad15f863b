// SPDX-License-Identifier: Apache-2.0
// The output of each mode, to the byte: null, missing and empty values, wide characters, and texts that try to be more.

import HornbeamTestSupport
import Testing

@Suite("Modes of results")
struct ResultModeTests {
    private let library: Library

    init() throws {
        library = try Library()
        let rows = #"""
            {"id":"evil","title":"a\u001b[31mb, \"q\"\n| <i>\t\\","year":-1}
            {"id":"none","title":""}

            """#
        _ = try CommandRun("import", library.file, "Book", "-", input: rows)
    }

    private func output(_ mode: String) throws -> String {
        let statement = "SELECT id, title, year FROM Book WHERE id IN ('anon', 'evil', 'none', 'sol') ORDER BY id"
        let run = try CommandRun(library.file, "--mode", mode, "-c", statement)
        #expect(run.code == 0 && run.errors.isEmpty)
        return run.output
    }

    @Test("table has lines around its columns")
    func table() throws {
        #expect(
            try output("table")
                == #"""
                ┌──────┬─────────────────────────────┬──────┐
                │ id   │ title                       │ year │
                ├──────┼─────────────────────────────┼──────┤
                │ anon │ 日本の昔話                  │ NULL │
                │ evil │ a\u{1b}[31mb, "q"\n| <i>\t\ │   -1 │
                │ none │                             │ NULL │
                │ sol  │ Solaris                     │ 1961 │
                └──────┴─────────────────────────────┴──────┘

                """#)
    }

    @Test("column has the columns alone")
    func column() throws {
        #expect(
            try output("column") == #"""
                id    title                        year
                ────  ───────────────────────────  ────
                anon  日本の昔話                   NULL
                evil  a\u{1b}[31mb, "q"\n| <i>\t\    -1
                none                               NULL
                sol   Solaris                      1961

                """#)
    }

    @Test("line has a line for each value")
    func line() throws {
        #expect(
            try output("line").hasPrefix(
                #"""
                   id = anon
                title = 日本の昔話
                 year = NULL

                   id = evil
                title = a\u{1b}[31mb, "q"\n| <i>\t\
                 year = -1

                   id = none
                title = 
                """#))
    }

    @Test("json is an array, jsonl an object a line, and both read back exactly")
    func json() throws {
        let lines = #"""
            {"id":"anon","title":"日本の昔話","year":null}
            {"id":"evil","title":"a\u001b[31mb, \"q\"\n| <i>\t\\","year":-1}
            {"id":"none","title":"","year":null}
            {"id":"sol","title":"Solaris","year":1961}

            """#
        #expect(try output("jsonl") == lines)
        #expect(try output("json") == "[" + lines.dropLast().replacing("\n", with: ",\n ") + "]\n")
        #expect(try CommandRun(library.file, "-m", "json", "-c", "SELECT id FROM Book LIMIT 0").output == "[]\n")
    }

    @Test("csv quotes what needs it; null is an empty field, an empty text is not")
    func csv() throws {
        #expect(
            try output("csv")
                == "id,title,year\nanon,日本の昔話,\nevil,\"a\u{1B}[31mb, \"\"q\"\"\n| <i>\t\\\",-1\n"
                + "none,\"\",\nsol,Solaris,1961\n"
        )
    }

    @Test("tsv escapes tabs, line ends and backslashes")
    func tsv() throws {
        #expect(
            try output("tsv")
                == "id\ttitle\tyear\nanon\t日本の昔話\t\nevil\ta\u{1B}[31mb, \"q\"\\n| <i>\\t\\\\\t-1\n"
                + "none\t\t\nsol\tSolaris\t1961\n"
        )
    }

    @Test("markdown is a table whose texts are no markup")
    func markdown() throws {
        #expect(
            try output("markdown") == #"""
                | id | title | year |
                | --- | --- | --- |
                | anon | 日本の昔話 | NULL |
                | evil | a\\u{1b}\[31mb, "q"<br>\| &lt;i>\\t\\ | -1 |
                | none |  | NULL |
                | sol | Solaris | 1961 |

                """#)
    }

    @Test("a missing value is no null, and values that aren't texts have the forms of JSON in csv")
    func kinds() throws {
        let statement =
            "SELECT [1, 'x'] AS list, {\"a\": 1} AS object, MISSING AS gone, 0.5 AS half, TRUE AS yes "
            + "FROM Author LIMIT 1"
        let csv = try CommandRun(library.file, "-m", "csv", "-c", statement).output
        #expect(csv == "list,object,gone,half,yes\n\"[1,\"\"x\"\"]\",\"{\"\"a\"\":1}\",,0.5,true\n")
        let line = try CommandRun(library.file, "-m", "line", "-c", statement).output
        #expect(line.contains("  gone = \n") && line.contains("  half = 0.5\n"))
    }

    @Test("an unknown mode is an error that names the nearest")
    func unknown() throws {
        let run = try CommandRun(library.file, "--mode", "cvs", "-c", "SELECT 1")
        #expect(run.code == 1 && run.errors == "hornbeam: there is no mode “cvs”; did you mean csv?\n")
    }

    @Test("hornbeam sql prints in the same modes")
    func sql() throws {
        let statement = "SELECT id FROM Author ORDER BY id"
        #expect(try CommandRun("sql", library.file, statement, "--mode", "csv").output == "id\n1\n2\n")
        let both = try CommandRun("sql", library.file, statement, "--json", "--mode", "csv")
        #expect(both.code == 2)
    }
}
