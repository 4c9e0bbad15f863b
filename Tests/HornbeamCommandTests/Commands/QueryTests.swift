// SPDX-License-Identifier: Apache-2.0
// Queries and searches as a user types them, their output compared exactly.

import HornbeamTestSupport
import Testing

@Suite("hornbeam query and search")
struct QueryTests {
    private let library: Library

    init() throws { library = try Library() }

    @Test("a table shows all columns, numbers on the right")
    func table() throws {
        #expect(
            try library.lines("query", "Book", "--sort", "year") == [
                "id    title                      year  price",
                "────  ─────────────────────────  ────  ─────",
                "anon  日本の昔話",
                "sol   Solaris                    1961",
                "cyb   The Cyberiad               1965     12",
                "left  The Left Hand of Darkness  1969    8.5",
                "disp  The Dispossessed           1974   9.99",
            ])
    }

    @Test("filter, sort, limit, offset and columns work together")
    func options() throws {
        #expect(
            try library.lines(
                "query", "Book", "-w", "STARTS_WITH(title, 'The') AND year < 1974", "--sort", "-year", "-c", "year,id")
                == ["year  id", "────  ────", "1969  left", "1965  cyb"])
        #expect(
            try library.lines("query", "Book", "--sort", "-year", "--limit", "2", "--offset", "1", "-c", "id", "-j")
                == [#"{"id":"left"}"#, #"{"id":"cyb"}"#])
        #expect(try library.lines("query", "Book", "-w", "year IS NULL", "-c", "id", "--json") == [#"{"id":"anon"}"#])
    }

    @Test("JSON lines hold the values exactly")
    func json() throws {
        #expect(
            try library.lines("query", "Book", "-w", "id = 'disp'", "--json")
                == [#"{"id":"disp","title":"The Dispossessed","year":1974,"price":9.99}"#])
    }

    @Test("related entities are ids in a table and whole in JSON, to any depth")
    func relations() throws {
        #expect(
            try library.lines("query", "Author", "--with", "books", "-c", "name") == [
                "name               books",
                "─────────────────  ──────────",
                "Ursula K. Le Guin  disp, left",
                "Stanisław Lem      sol, cyb",
            ])
        #expect(
            try library.lines("query", "Book", "-w", "id = 'sol'", "-c", "id", "--with", "author.books", "--json")
                == [
                    #"{"id":"sol","author":{"id":2,"name":"Stanisław Lem","books":["#
                        + #"{"id":"sol","title":"Solaris","year":1961,"price":null},"#
                        + #"{"id":"cyb","title":"The Cyberiad","year":1965,"price":12}]}}"#
                ])
        #expect(
            try library.lines("query", "Book", "-w", "id = 'anon'", "-c", "id", "--with", "author", "--json")
                == [#"{"id":"anon","author":null}"#])
    }

    @Test("the count is a number, and the plan goes to standard error")
    func explain() throws {
        let more = (1...500).map { #"{"id":"b\#($0)","title":"Book \#($0)","year":\#(1000 + $0)}"# + "\n" }.joined()
        try #require(CommandRun("import", library.file, "Book", "-", input: more).code == 0)
        let run = try CommandRun("query", library.file, "Book", "-w", "year >= 1490", "--count", "--explain")
        #expect(run.output == "15\n" && run.code == 0)
        #expect(run.errors.contains("index byYear, one range of 15 entries"))
        #expect(run.errors.firstMatch(of: /\ntime: [0-9.]+ (µs|ms|s) for 15 results\n$/) != nil)
        let timed = try CommandRun("query", library.file, "Book", "--count", "--time")
        #expect(timed.output == "505\n" && timed.errors.wholeMatch(of: /time: .* for 505 results\n/) != nil)
    }

    @Test("a search ranks, the best first")
    func search() throws {
        let lines = try library.lines("search", "Book", "darkness the")
        #expect(lines[0] == "rank   score  id    title                      year  price")
        #expect(lines[2].hasPrefix("   1  ") && lines[2].contains("left  The Left Hand of Darkness"))
        #expect(lines.count == 5)
        let scores = try library.lines("search", "Book", "search", "darkness the", "--json", "-c", "id", "-n", "2")
            .map { try #require($0.wholeMatch(of: /\{"rank":([12]),"score":([0-9.]+),"entity":\{"id":"(\w+)"\}\}/)) }
        try #require(scores.map(\.1) == ["1", "2"] && scores[0].3 == "left")
        #expect((Double(scores[0].2) ?? 0) > (Double(scores[1].2) ?? 0))
        #expect(try library.lines("search", "Book", "the", "--where", "year < 1966", "-j", "-c", "id").count == 1)
    }

    @Test("searching without a full-text index is an error that says so")
    func noIndex() throws {
        let none = try CommandRun("search", library.file, "Author", "x")
        #expect(none.code == 1 && none.errors == "hornbeam: Author has no full-text index\n")
        let wrong = try CommandRun("search", library.file, "Book", "byYear", "x")
        #expect(wrong.errors == "hornbeam: Book has no full-text index “byYear”; it has search\n")
    }

    @Test("info counts the entities")
    func info() throws {
        let lines = try library.lines("info")
        #expect(
            lines.suffix(5) == [
                "Author               entities        2",
                "  byName             unique          2  name",
                "Book                 entities        5",
                "  byYear             value           5  year, title",
                "  search             text            5  title",
            ])
        #expect(lines.contains { $0.hasPrefix("cache ") && $0.contains(" hits, ") && $0.hasSuffix(" evictions") })
        #expect(lines.contains { $0.hasPrefix("pinned ") && $0.hasSuffix(" by the writer") })
        let json = try library.lines("info", "--json")
        #expect(json.contains(#"  "pageSize" : 8192,"#))
        #expect(json.contains(#"  "cache" : {"#) && json.contains(#"      "pinnedSize" : 0,"#))
    }

    @Test("A full-text index is applied with an analyzer, shown with it and searched by it; an unknown one is refused")
    func analyzers() throws {
        let library = try Library()
        func apply(_ analyzer: String) throws -> CommandRun {
            let plain = #""kind": "text", "components": ["title"]"#
            let schema = Library.schema.replacing(plain, with: plain + #", "analyzer": "\#(analyzer)""#)
            return try CommandRun(
                "schema", "apply", library.file, try library.folder.write("\(analyzer).json", schema))
        }
        #expect(try library.lines("schema").contains { $0.contains("search") && $0.contains("unicode+accents") })
        #expect(try CommandRun("search", library.file, "Book", "昔話", "--json").output.contains("anon"))
        #expect(try apply("words").code == 0)
        #expect(try CommandRun("search", library.file, "Book", "昔話", "--json").output == "")
        #expect(try apply("unicode").code == 0)
        #expect(try CommandRun("search", library.file, "Book", "昔話", "--json").output.contains("anon"))
        #expect(try library.lines("schema").contains { $0.contains("search") && $0.contains("analyzer unicode") })
        #expect(try CommandRun("check", library.file).code == 0)
        let refused = try apply("klingon")
        #expect(refused.code != 0 && refused.errors.contains("klingon") && refused.errors.contains("search"))
        #expect(try apply("words").code == 0)
        #expect(try library.lines("schema").contains { $0.contains("search") && $0.contains("analyzer words") })
        // A schema that names no analyzer keeps it.
        let unnamed = try library.folder.write("unnamed.json", Library.schema)
        #expect(try CommandRun("schema", "apply", library.file, unnamed).code == 0)
        #expect(try library.lines("schema").contains { $0.contains("search") && $0.contains("analyzer words") })
    }

    @Test("A full-text index of some entities is applied, shown, searched and checked")
    func partialTextIndex() throws {
        let library = try Library()
        let plain = #""kind": "text", "components": ["title"]"#
        let schema = Library.schema.replacing(plain, with: plain + #", "where": "year < 1966""#)
        #expect(try library.lines("schema").contains { $0.contains("search") && !$0.contains("where") })
        let path = try library.folder.write("partial.json", schema)
        #expect(try CommandRun("schema", "apply", library.file, path).code == 0)
        #expect(try library.lines("schema").contains { $0.hasSuffix("where year < 1966") })
        #expect(try library.lines("schema", "--json").contains { $0.contains(#""where" : "year < 1966""#) })
        #expect(try CommandRun("check", library.file).code == 0)
        let refused = try CommandRun("search", library.file, "Book", "the")
        #expect(refused.code != 0 && refused.errors.contains("year < 1966"))
        let found = try CommandRun("search", library.file, "Book", "the", "--where", "year < 1966", "--json")
        #expect(found.code == 0 && found.output.contains("cyb") && !found.output.contains("left"))
    }
}
