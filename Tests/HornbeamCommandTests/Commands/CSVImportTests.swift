// SPDX-License-Identifier: Apache-2.0
// Entities from CSV: what a spreadsheet or the shell writes.

import Foundation
import HornbeamTestSupport
import Testing

@Suite("hornbeam import, from CSV")
struct CSVImportTests {
    private static let schema = #"""
        {"entities": [{"name": "T", "columns": [
          {"name": "id", "type": "int64"}, {"name": "s", "type": "string"}, {"name": "o", "type": "string?"},
          {"name": "b", "type": "bool"}, {"name": "d", "type": "double?"}, {"name": "at", "type": "date?"},
          {"name": "raw", "type": "data?"}, {"name": "m", "type": "decimal?"}, {"name": "j", "type": "json?"},
          {"name": "list", "type": "[int64]?"}]}]}
        """#

    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("t.hornbeam")
        _ = try CommandRun("schema", "apply", file, try folder.write("schema.json", Self.schema))
    }

    private func load(_ csv: String) throws -> CommandRun {
        try CommandRun("import", file, "T", try folder.write("t.csv", csv))
    }

    @Test("fields are values of their columns' types; an empty field is nil, an empty text is not")
    func types() throws {
        let run = try load(
            """
            id,s,o,b,d,at,raw,m,j,list
            1,"a ""b"",\r
            c",,true,0.5,2024-01-31T00:00:00Z,AAH/,12.50,"{""k"":[1]}","[1,2]"\r

            2,,"",0,NaN,,,,,
            """)
        #expect(run.code == 0 && run.output.hasPrefix("imported 2 T entities in "), "\(run)")
        #expect(
            try CommandRun("export", file, "T").output == #"""
                {"id":1,"s":"a \"b\",\r\nc","b":true,"d":0.5,"at":"2024-01-31T00:00:00Z","raw":"AAH/",\#
                "m":12.5,"j":{"k":[1]},"list":[1,2]}
                {"id":2,"s":"","o":"","b":false,"d":"NaN"}

                """#)
    }

    @Test("lines may end with a carriage return alone, and errors name them without a character of JSON")
    func carriageReturns() throws {
        let run = try load("id,s,b\r1,a,true\r2,b,false\r")
        #expect(run.code == 0 && run.output.hasPrefix("imported 2 T entities in "), "\(run)")
        let bad = try load("id,s,b,d\r1,a,true,1\r2,b,false,x\r")
        #expect(bad.errors.contains("t.csv, line 3: ") && !bad.errors.contains("at character"), "\(bad)")
    }

    @Test("spaces and tabs at the ends of a field belong to it")
    func spaces() throws {
        #expect(try load("id,s,b\n1, a\t,true\n").code == 0)
        #expect(try CommandRun("export", file, "T").output == #"{"id":1,"s":" a\t","b":true}"# + "\n")
    }

    @Test("Ctrl-C before the header ends the import")
    func interruptedHeader() throws {
        let run = try RunningCommand(["import", file, "T", "-", "--csv"], input: Pipe())
        try run.waitUntilItReads()
        run.interrupt()
        let ended = try run.wait()
        #expect(ended.code == 130, "\(ended)")
        #expect(ended.errors.hasPrefix("interrupted: 0 T entities committed; "), "\(ended)")
    }

    @Test("what the shell writes as CSV comes back exactly")
    func roundTrip() throws {
        let rows = #"""
            {"id":1,"s":" a,\"b\"\r\n\u0001 ","o":"","b":true,"d":"-Infinity","at":"1969-12-31T23:59:59.25Z",\#
            "raw":"AAH/","m":0.1,"j":"x","list":[]}
            {"id":-2,"s":"größe","b":false,"d":1e300}

            """#
        _ = try CommandRun("import", file, "T", "-", input: rows)
        let all = "SELECT id, s, o, b, d, at, raw, m, j, list FROM T"
        let csv = try CommandRun(file, "-m", "csv", "-c", all).output
        let before = try CommandRun("export", file, "T").output
        let copy = folder.path("copy.hornbeam")
        _ = try CommandRun("schema", "apply", copy, folder.path("schema.json"))
        let run = try CommandRun("import", copy, "T", "-", "--csv", input: csv)
        #expect(run.code == 0, "\(run)")
        #expect(try CommandRun("export", copy, "T").output == before)
    }

    @Test("relations are ids")
    func relations() throws {
        let library = try Library()
        let books = try library.folder.write("books.csv", "id,title,author\nnew,New,2\nold,Old,\n")
        #expect(try CommandRun("import", library.file, "Book", books).code == 0)
        let authors = "id,name,books\n3,Both,\"[\"\"new\"\",\"\"old\"\"]\"\n"
        #expect(try CommandRun("import", library.file, "Author", "-", "--csv", input: authors).code == 0)
        #expect(
            try library.lines("query", "Author", "--where", "id = 3", "--with", "books", "--json")[0].contains("Old"))
    }

    @Test("mistakes are errors with their line")
    func mistakes() throws {
        for (csv, error) in [
            ("", "is empty: CSV begins with the names of columns"),
            ("id,nmae\n1,x", "line 1: T has no “nmae”; "),
            ("id,s,b\n1,x", "line 2: 2 fields, and the header has 3"),
            ("id,s,b\none,x,true\n", "line 2: T.id, an int64, can't be \"one\""),
            ("id,s,b\n1,x,maybe\n", "line 2: T.b, a bool, can't be \"maybe\""),
            ("id,s,b\n1,\"x\"y,true\n", "line 2: a quote within a field: write it twice, in a quoted field"),
            ("id,s,b\n1,\"x,true\n", "line 2: a quoted field has no end"),
            ("id,s,b\n\"1,\"\"s\"\":2\",x,true\n", "line 2: T.id, an int64, can't be"),
        ] {
            let run = try load(csv)
            #expect(run.code == 1 && run.errors.contains(error), "\(csv): \(run.errors)")
        }
        #expect(try CommandRun("query", file, "T", "--count").output == "0\n")
    }
}
