// SPDX-License-Identifier: Apache-2.0
// The output of each mode, to the byte: null, missing and empty values, wide characters, and texts that try to be more.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

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

    @Test("a column of JSON in csv and tsv is its value, alone or beside an expression")
    func storedJSON() throws {
        let schema = #"""
            {"entities": [{"name": "T", "columns": [{"name": "id", "type": "int64"}, {"name": "j", "type": "json?"},
              {"name": "list", "type": "[json]?"}]}]}
            """#
        let file = library.folder.path("json.hornbeam")
        #expect(try CommandRun("schema", "apply", file, try library.folder.write("json.json", schema)).code == 0)
        let row = #"{"id":1,"j":"a, b","list":["c",{"k":1}]}"#
        #expect(try CommandRun("import", file, "T", "-", input: row).code == 0)
        let list = #""[""c"",{""k"":1}]""#
        for (columns, output) in [
            ("j", "j\n\"a, b\"\n"), ("j, 1 AS n", "j,n\n\"a, b\",1\n"),
            ("list", "list\n\(list)\n"), ("list, 1 AS n", "list,n\n\(list),1\n"),
        ] {
            #expect(try CommandRun(file, "-m", "csv", "-c", "SELECT \(columns) FROM T").output == output)
        }
        #expect(try CommandRun(file, "-m", "tsv", "-c", "SELECT j FROM T").output == "j\na, b\n")
    }

    @Test("a stored row that can't be read leaves nothing of its line in csv")
    func damagedRow() throws {
        let layout = RowLayout(columns: [.init(name: "id", type: .int64), .init(name: "name", type: .string)])
        defer { withExtendedLifetime(layout) {} }
        var row = RowWriter(layout: layout)
        row.setInt(7, 0)
        row.setString("ab", 1)
        var bytes = try row.finish()
        let file = try CommandRun.file(library.folder, "rows")
        let sink = ByteSink(descriptor: file.fileDescriptor, path: "rows")
        let console = Console()
        console.target = sink
        var writer = try SeparatedValues(["id", "name"], .comma, console)
        let fields: [SeparatedValues.Field] = [.init(column: 0, form: .int), .init(column: 1, form: .text)]
        try bytes.withUnsafeBytes { try writer.add(RowReader($0, layout: layout), fields) }
        // The text is no UTF-8.
        bytes[bytes.count - 1] = 0xFF
        #expect(throws: HornbeamError.self) {
            try bytes.withUnsafeBytes { try writer.add(RowReader($0, layout: layout), fields) }
        }
        try writer.finish()
        try sink.flush()
        try file.close()
        #expect(try library.folder.read("rows") == "id,name\n7,ab\n")
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
