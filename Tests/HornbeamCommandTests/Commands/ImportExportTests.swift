// SPDX-License-Identifier: Apache-2.0
// Data in and out: exact round trips, batches that are all or nothing, interruption.

import Foundation
import HornbeamTestSupport
import Testing

@Suite("hornbeam import and export")
struct ImportExportTests {
    /// Every column type at its edges.
    private static let allTypes = #"""
        {"entities": [{"name": "T", "columns": [
          {"name": "id", "type": "uuid"}, {"name": "b", "type": "bool"}, {"name": "i8", "type": "int8"},
          {"name": "i64", "type": "int64"}, {"name": "u64", "type": "uint64"}, {"name": "f", "type": "float"},
          {"name": "d", "type": "double?"}, {"name": "at", "type": "date"}, {"name": "s", "type": "string"},
          {"name": "link", "type": "url?"}, {"name": "raw", "type": "data"}, {"name": "m", "type": "decimal"},
          {"name": "j", "type": "json"}, {"name": "list", "type": "[int64?]"},
          {"name": "names", "type": "[string]?"}]}]}
        """#

    private static let rows = #"""
        {"id":"00000000-0000-0000-0000-000000000001","b":true,"i8":-128,"i64":-9223372036854775808,\#
        "u64":18446744073709551615,\#
        "f":0.1,"d":0.1,"at":"2024-05-02T00:00:00Z","s":"größe \"x\"\n\u0001",\#
        "link":"https://swift.org/a?b=c","raw":"AAH/","m":12345678901234567890.123,\#
        "j":{"a":[1,null,"x"]},"list":[1,null,-3],"names":null}
        {"id":"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF","b":false,"i8":127,"i64":9223372036854775807,"u64":0,\#
        "f":-1.5,"d":null,\#
        "at":"1969-12-31T23:59:59.25Z","s":"","link":null,"raw":"","m":0,"j":null,"list":[],"names":["a","b"]}

        """#

    @Test("exporting, importing elsewhere and exporting again gives the same bytes, for every type")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let schema = try folder.write("schema.json", Self.allTypes)
        let first = "\(folder.path)/a.hornbeam"
        let second = "\(folder.path)/b.hornbeam"
        let data = try folder.write("rows.jsonl", Self.rows)
        let imported = try CommandRun("import", first, "T", data, "--schema", schema)
        try #require(imported.code == 0, "\(imported)")
        #expect(imported.output.wholeMatch(of: /imported 2 T entities in [0-9.]+ (µs|ms|s)\n/) != nil)
        let exported = try CommandRun("export", first, "T")
        #expect(exported.code == 0 && exported.errors.isEmpty)
        #expect(exported.output.contains("-9223372036854775808") && exported.output.contains("18446744073709551615"))
        #expect(exported.output.contains("12345678901234567890.123") && exported.output.contains(#""raw":"AAH/""#))
        _ = try CommandRun("import", second, "T", "-", "--schema", schema, input: exported.output)
        #expect(try CommandRun("export", second, "T").output == exported.output)
    }

    @Test("relations survive the round trip, in their order")
    func relations() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let books = try CommandRun("export", library.file, "Book").output
        let authors = try CommandRun("export", library.file, "Author").output
        #expect(authors.contains(#""books":["disp","left"]"#) && books.contains(#""author":2"#))
        let copy = try Library(filled: false)
        defer { copy.folder.keep() }
        _ = try CommandRun("import", copy.file, "Book", "-", input: books)
        _ = try CommandRun("import", copy.file, "Author", "-", input: authors)
        #expect(try CommandRun("export", copy.file, "Author").output == authors)
        #expect(try CommandRun("export", copy.file, "Book").output == books)
        #expect(try CommandRun("check", copy.file).code == 0)
    }

    @Test("importing the same again replaces and changes nothing")
    func again() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let before = try CommandRun("export", library.file, "Book").output
        #expect(try CommandRun("import", library.file, "Book", "-", input: Library.books).code == 0)
        #expect(try CommandRun("export", library.file, "Book").output == before)
    }

    @Test("a bad line is reported by number, its batch leaves nothing, the batches before it stay")
    func badLine() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        let lines = (1...5).map { #"{"id":\#($0),"name":"N\#($0)"}"# }.joined(separator: "\n")
        let run = try CommandRun(
            "import", library.file, "Author", "-", "--batch", "2", input: lines + "\n{\"id\":6,\"name\":}\n")
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("hornbeam: standard input, line 6"))
        #expect(run.errors.hasSuffix("; 4 entities are committed, this batch is not\n"))
        #expect(try library.lines("query", "Author", "--count") == ["4"])
    }

    @Test("wrong kinds, unknown keys and missing ids are errors with their line")
    func mistakes() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        for line in [
            #"{"id":"x","name":"a"}"#, #"{"id":1,"nmae":"a"}"#, #"{"name":"a"}"#, "[1]", #"{"id":1,"name":5}"#,
        ] {
            let run = try CommandRun("import", library.file, "Author", "-", input: "\n\(line)\n")
            #expect(run.code == 1 && run.errors.hasPrefix("hornbeam: standard input, line 2"), "\(line): \(run)")
        }
        #expect(try library.lines("query", "Author", "--count") == ["0"])
    }

    @Test("a number that its property can't hold is an error with its position, and never another number")
    func numbers() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let file = folder.path + "/n.hornbeam"
        let schema = try folder.write(
            "schema.json",
            #"""
            {"entities": [{"name": "T", "columns": [{"name": "id", "type": "int64"}, {"name": "n", "type": "int64?"},
              {"name": "d", "type": "double?"}, {"name": "f", "type": "float?"}, {"name": "m", "type": "decimal?"}]}]}
            """#)
        #expect(try CommandRun("schema", "apply", file, schema).code == 0)
        for (member, problem) in [
            (#""d":1e400"#, "T.d, a double?, can't be 1e400: the greatest number it holds is 1.7976931348623157e+308"),
            (#""f":1e39"#, "T.f, a float?, can't be 1e39: the greatest number it holds is 3.4028235e+38"),
            (#""n":1.5"#, "T.n, an int64?, can't be 1.5: it must be a whole number"),
            (
                #""m":1234567890123456789012345678901234567890.5"#,
                "T.m, a decimal?, can't be 1234567890123456789012345678901234567890.5: a decimal holds 38 digits"
            ),
        ] {
            let run = try CommandRun("import", file, "T", "-", input: "{\"id\":1}\n{\"id\":2,\(member)}\n")
            let rest = "; 0 entities are committed, this batch is not\n"
            #expect(run.code == 1)
            #expect(run.errors == "hornbeam: standard input, line 2: \(problem), at character 13\(rest)")
        }
        let run = try CommandRun("import", file, "T", "-", input: #"{"id":1.0,"n":1e3,"d":1e3,"m":1e3}"#)
        #expect(run.code == 0, "\(run)")
        #expect(try CommandRun("export", file, "T").output == "{\"id\":1,\"n\":1000,\"d\":1000.0,\"m\":1000}\n")
    }

    @Test("a byte order mark is skipped; UTF-16 is called by its name")
    func marks() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        let marked = try library.folder.write("marked", "\u{FEFF}{\"id\":1,\"name\":\"\u{FEFF}a\"}\n")
        #expect(try CommandRun("import", library.file, "Author", marked).code == 0)
        #expect(try CommandRun("export", library.file, "Author").output == "{\"id\":1,\"name\":\"\u{FEFF}a\"}\n")
        let wide = try library.folder.write("wide", [0xFF, 0xFE, 0x7B, 0x00])
        let run = try CommandRun("import", library.file, "Author", wide)
        #expect(run.code == 1 && run.errors.contains("\(wide) is UTF-16: convert it to UTF-8"), "\(run)")
        let schema = try library.folder.write("schema.json", "\u{FEFF}" + Library.schema)
        #expect(try CommandRun("schema", "apply", library.file, schema).code == 0)
    }

    @Test("a unique key that is taken refuses the batch and names the index")
    func unique() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let run = try CommandRun("import", library.file, "Author", "-", input: #"{"id":9,"name":"Stanisław Lem"}"#)
        #expect(run.code == 1 && run.errors.contains("byName") && run.errors.contains("line 1"))
        #expect(try library.lines("query", "Author", "--count") == ["2"])
    }

    @Test("an export to a file appears whole or not at all")
    func output() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let target = library.folder.path + "/out.jsonl"
        let run = try CommandRun("export", library.file, "Book", "-o", target)
        #expect(run.code == 0 && run.output.isEmpty && run.errors.isEmpty)
        let terminal = try PseudoTerminal()
        _ = try CommandRun(["export", library.file, "Book", "-f", "-o", target], errorsTo: terminal.slave)
        #expect(terminal.read().firstMatch(of: /exported 5 Book entities in [0-9.]+ m?s\r\n$/) != nil)
        #expect(try library.folder.read("out.jsonl") == CommandRun("export", library.file, "Book").output)
        let failed = try CommandRun("export", library.file, "Bok", "-o", target + "2")
        #expect(failed.code == 1)
        #expect(throws: (any Error).self) { try library.folder.read("out.jsonl2") }
        #expect(try library.folder.names() == ["books.jsonl", "library.hornbeam", "out.jsonl", "schema.json"])
    }

    @Test("an export filters")
    func filter() throws {
        let library = try Library()
        defer { library.folder.keep() }
        #expect(try library.lines("export", "Book", "--where", "year < 1966").count == 2)
    }

    @Test("a store whose program was killed is recovered by the next reader")
    func killed() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        let input = Pipe()
        let run = try RunningCommand(["import", library.file, "Author", "-", "--batch", "10"], input: input)
        let lines = (1...25).map { #"{"id":\#($0),"name":"N\#($0)"}"# + "\n" }.joined()
        try input.fileHandleForWriting.write(contentsOf: Data(lines.utf8))
        try run.waitUntilItReads()
        run.kill()
        #expect(try run.wait().code != 0)
        #expect(try library.lines("query", "Author", "--count") == ["20"], "two batches were committed")
        #expect(try CommandRun("check", library.file).code == 0)
    }

    @Test("SIGINT commits the lines that were read and exits with 130")
    func interruption() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        let input = Pipe()
        let run = try RunningCommand(["import", library.file, "Author", "-"], input: input)
        let lines = (1...1_000).map { #"{"id":\#($0),"name":"N\#($0)"}"# + "\n" }.joined()
        try input.fileHandleForWriting.write(contentsOf: Data(lines.utf8))
        // It has read all lines when it blocks on the pipe; the signal ends the wait.
        try run.waitUntilItReads()
        run.interrupt()
        let result = try run.wait()
        #expect(result.code == 130 && result.output.isEmpty)
        let counted = result.errors.firstMatch(of: /^interrupted: ([0-9,]+) Author entit(y|ies) committed; .*\n$/)
        let count = String(try #require(counted?.1)).replacing(",", with: "")
        #expect(try library.lines("query", "Author", "--count") == [count])
        #expect(count == "1000")
    }
}
