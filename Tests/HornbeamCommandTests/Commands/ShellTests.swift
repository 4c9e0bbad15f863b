// SPDX-License-Identifier: Apache-2.0
// The shell without a terminal: pipes, scripts, statements of the command line, and the commands with a dot.

import Foundation
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

@Suite("hornbeam shell, from pipes and scripts")
struct ShellTests {
    private let library: Library
    private let file: String

    init() throws {
        library = try Library()
        file = library.file
    }

    private func shell(_ words: String..., input: String = "") throws -> CommandRun {
        try CommandRun([file] + words, input: input)
    }

    @Test("a file's name alone reads statements from a pipe; the last one needs no semicolon")
    func pipe() throws {
        let run = try shell(input: "SELECT name FROM Author\nWHERE id = 1; -- one\nSELECT COUNT(*) AS n FROM Book")
        #expect(
            run.output == """
                name
                ─────────────────
                Ursula K. Le Guin
                n
                ─
                5

                """)
        #expect(run.code == 0 && run.errors.isEmpty)
        #expect(try CommandRun("shell", file, input: "SELECT COUNT(*) AS n FROM Book;").output == "n\n─\n5\n")
    }

    @Test("the first error ends it, with its place in the script and exit code 1")
    func errors() throws {
        let run = try shell(
            input: "SELECT id FROM Author LIMIT 1;\n\nSELECT id FROM\n  Author WHERE nmae = 1;\nSELECT 1;")
        #expect(run.code == 1 && run.output == "id\n──\n 1\n")
        #expect(
            run.errors == """
                hornbeam: standard input, line 4, character 16: Author has no “nmae”; did you mean name?
                    Author WHERE nmae = 1;
                                 ^

                """)
        let second = try shell(input: "SELECT id FROM Author LIMIT 0; SELECT nmae FROM Author;")
        #expect(second.errors.hasPrefix("hornbeam: standard input, line 1, character 39: Author has no “nmae”"))
        let unknown = try shell(input: "\n.tabels\n")
        #expect(unknown.code == 1)
        #expect(
            unknown.errors == """
                hornbeam: standard input, line 2: there is no command “.tabels”
                  did you mean .tables?

                """)
        let text = try shell(input: "SELECT 'a\n;")
        #expect(text.code == 1 && text.errors.contains("line 1, character 8: the string has no end"))
    }

    @Test("a change whose rows can't be printed says that it is made")
    func unprintedRows() throws {
        let run = try CommandRun(
            shell: "hornbeam library.hornbeam -c 'DELETE FROM Book RETURNING id' >/dev/full", in: library.folder.path)
        #expect(run.code == 1, "\(run)")
        #expect(run.errors.hasPrefix("5 entities changed\nhornbeam: --command, line 1: write failed on "), "\(run)")
        #expect(try library.lines("query", "Book", "--count") == ["0"])
    }

    @Test("-c runs statements and commands in their order, -f a script; both end at the first error")
    func commandLine() throws {
        let run = try shell("-c", ".mode csv", "-c", "SELECT id FROM Author; SELECT title FROM Book WHERE id = 'sol'")
        #expect(run.output == "id\n1\n2\ntitle\nSolaris\n" && run.code == 0)
        let script = try library.folder.write(
            "ask.sql", ".mode tsv\nSELECT id\nFROM Author;\nSELECT 'x' AS x FROM Bok;")
        let failed = try shell("-f", script, "-f", script)
        #expect(failed.code == 1 && failed.output == "id\n1\n2\n")
        #expect(failed.errors.hasPrefix("hornbeam: \(script), line 4, character 22: "))
        let missing = try shell("-f", "/no/such/file")
        #expect(missing.code == 1 && missing.errors.contains("/no/such/file"))
    }

    @Test("scripts run scripts, and one that reads itself is an error")
    func scripts() throws {
        let inner = try library.folder.write("inner.sql", "SELECT id FROM Author LIMIT 1;")
        #expect(try shell("--mode", "csv", "-c", ".read '\(inner)'").output == "id\n1\n")
        let loop = library.folder.path + "/loop.sql"
        _ = try library.folder.write("loop.sql", ".read \(loop)")
        let run = try shell("-f", loop)
        #expect(run.code == 1 && run.errors.contains("scripts read each other 32 deep"))
        #expect(run.errors.split(separator: "\n").count == 1, "it is reported once")
    }

    @Test("$name has the value of .params or --set; a statement without it doesn't mind")
    func params() throws {
        let run = try shell(
            "--set", "least=1970", "--mode", "csv",
            input: """
                SELECT id FROM Book WHERE year > $least;
                .params set least 1966
                .params set $word "Left Hand"
                SELECT id FROM Book WHERE year > $least AND CONTAINS(title, $word);
                SELECT COUNT(*) AS n FROM Author;
                .params
                .params clear least
                .params clear least
                """)
        #expect(
            run.output == """
                id
                disp
                id
                left
                n
                2
                name    value
                ──────  ───────────
                $least  1966
                $word   "Left Hand"

                """)
        #expect(
            run.errors == "hornbeam: standard input, line 8: $least has no value; .params lists those that have one\n")
    }

    @Test("? has the value of .params by its number; one without a value is an error that says how to give it")
    func positions() throws {
        let run = try shell(
            "--mode", "csv",
            input: """
                .params set 2 1966
                .params set ?1 sol
                .params set year 1970
                SELECT id FROM Book WHERE id = ? OR year > ? AND year < $year;
                SELECT id FROM Book WHERE year < ?2;
                .params
                .params set 0 1
                """)
        #expect(
            run.output == """
                id
                left
                sol
                id
                sol
                cyb
                name   value
                ─────  ─────
                ?1     "sol"
                ?2     1966
                $year  1970

                """)
        #expect(run.errors.contains("line 7: “0” is no name of a parameter"), "\(run)")
        let missing = try shell(input: ".params set 1 1\nSELECT id FROM Book WHERE year < ? AND year > ?;")
        #expect(
            missing.errors.contains(
                "line 2, character 47: no value is given for ?2: “.params set 2 VALUE” gives it one\n"), "\(missing)")
        let name = try shell(input: "SELECT id FROM Book WHERE year < $y;")
        #expect(name.errors.contains("no value is given for $y: “.params set y VALUE” gives it one\n"), "\(name)")
    }

    @Test(".output sends results to a file, which appears when it is whole")
    func output() throws {
        let target = library.folder.path + "/out.csv"
        let run = try shell(
            input: ".mode csv\n.output \(target)\nSELECT id FROM Author;\n.output\nSELECT 1 AS one FROM Author LIMIT 1;"
        )
        #expect(run.output == "one\n1\n" && run.code == 0, "\(run)")
        #expect(try library.folder.read("out.csv") == "id\n1\n2\n")
        let again = try shell(input: ".output \(target)\n")
        #expect(again.code == 1 && again.errors.contains("exists already: --force replaces it"))
        let broken = try shell(input: ".mode csv\n.output \(target) --force\nSELECT id FROM Author;\nSELECT;")
        #expect(broken.code == 1)
        #expect(try library.folder.read("out.csv") == "id\n1\n2\n", "an error leaves the file as it was")
        #expect(try !library.folder.names().contains { $0.hasPrefix(".hornbeam-") }, "and nothing beside it")
    }

    @Test(".timer and .explain tell on standard error, with counts of the run")
    func remarks() throws {
        let run = try shell(
            input: ".timer on\n.explain on\nSELECT id FROM Book WHERE year > 1960 AND LENGTH(title) < 8;")
        #expect(run.output == "id\n───\nsol\n")
        let lines = run.errors.split(separator: "\n").map(String.init)
        #expect(lines.first == "Book: scan of 5 rows → 5 rows", "\(run.errors)")
        #expect(lines.contains("  filter rows by year > 1960 → 4 rows from 5"), "\(run.errors)")
        #expect(lines.contains { $0.hasPrefix("  test a condition of WHERE ") && $0.hasSuffix(" → 1 row from 4") })
        #expect(lines.contains { $0.hasPrefix("  1 result, ") })
        #expect(lines.last?.wholeMatch(of: /time: [0-9.]+ (µs|ms|s) for 1 result/) != nil)
    }

    @Test("commands of the command line work on the shell's store, reading and writing in turn")
    func commands() throws {
        let data = try library.folder.write("more.jsonl", #"{"id":3,"name":"Jorge Luis Borges"}"#)
        let copy = library.folder.path + "/copy.hornbeam"
        let run = try shell(
            "--mode", "csv",
            input: """
                SELECT COUNT(*) AS n FROM Author;
                .import \(data) Author
                SELECT COUNT(*) AS n FROM Author;
                .export Author --where 'id = 3'
                .check -q
                .backup \(copy)
                .tables
                .indexes Book
                """)
        #expect(run.code == 0 && run.errors.isEmpty, "\(run)")
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines[0...1] == ["n", "2"] && lines[2].hasPrefix("imported 1 Author entity in "))
        #expect(lines[3...5] == ["n", "3", #"{"id":3,"name":"Jorge Luis Borges"}"#])
        #expect(lines[6].hasPrefix("no problems: ") && lines[7].hasPrefix("\(copy): "))
        #expect(
            lines[8...] == [
                "entity type  entities  indexes", "───────────  ────────  ───────", "Author              3        1",
                "Book                5        2", "entity type  index   kind   entries  columns",
                "───────────  ──────  ─────  ───────  ───────────", "Book         byYear  value        5  year, title",
                "Book         search  text         5  title",
            ])
        #expect(try CommandRun("check", copy).code == 0)
    }

    @Test("statements change data, each in a transaction, and later ones see it")
    func changes() throws {
        let run = try shell(
            "--mode", "jsonl",
            input: "INSERT INTO Author (name) VALUES ('Ada') RETURNING name;\n"
                + "SELECT COUNT(*) AS n FROM Author WHERE name = 'Ada';\n"
                + ".explain on\nDELETE FROM Author WHERE name = 'Ada';")
        #expect(run.code == 0 && run.output == #"{"name":"Ada"}"# + "\n" + #"{"n":1}"# + "\n", "\(run)")
        #expect(run.errors.hasPrefix("1 entity changed\n") && run.errors.hasSuffix("\n1 entity changed\n"), "\(run)")
        #expect(run.errors.contains("\n  delete → 1 row\n"), "\(run)")
        // A pipe that broke before WHERE.
        let cut = try shell(input: "SELECT id FROM Author;\nDELETE FROM Book")
        #expect(cut.code == 1 && cut.errors.contains("line 2: a statement that changes data ends with"), "\(cut)")
        let refused = try shell("--readonly", input: "DELETE FROM Book;")
        #expect(refused.code == 1 && refused.errors.contains("the shell was started with --readonly"), "\(refused)")
        #expect(try library.lines("query", "Book", "--count") == ["5"])
    }

    @Test("--readonly refuses what would write")
    func readOnly() throws {
        let run = try shell("--readonly", input: ".import /dev/null Author")
        #expect(run.code == 1)
        #expect(
            run.errors
                == "hornbeam: standard input, line 1: .import would write, and the shell was started with --readonly\n")
    }

    @Test("every command is in .help, and explains itself")
    func help() throws {
        let run = try shell(input: ".help\n.help export\n.help .mode\n.quit\nSELECT nothing;")
        #expect(run.code == 0 && run.errors.isEmpty)
        for command in DotCommands.all {
            #expect(("\n" + run.output).contains("\n\(command.usage) "), "\(command.name)")
        }
        #expect(run.output.contains("\nUsage: .export [options] TYPE\n") && run.output.contains("\n.mode [MODE]: "))
    }

    @Test("a store that isn't there, or no statement's name for a file, is an error")
    func files() throws {
        let missing = try CommandRun("\(library.folder.path)/none.hornbeam", "-c", "SELECT 1")
        #expect(missing.code == 1 && missing.errors.hasPrefix("hornbeam: there is no file "))
        let command = try CommandRun("nonsense")
        #expect(command.code == 2 && command.errors.hasPrefix("hornbeam: unknown command “nonsense”"))
    }

    @Test("another process may write while a shell is open, and the shell sees it")
    func beside() throws {
        let input = Pipe()
        let run = try RunningCommand([file, "--mode", "csv"], input: input)
        try input.fileHandleForWriting.write(contentsOf: Data("SELECT COUNT(*) AS n FROM Author;\n".utf8))
        try run.waitUntilItReads()
        _ = try CommandRun("import", file, "Author", "-", input: #"{"id":9,"name":"N"}"#)
        try input.fileHandleForWriting.write(contentsOf: Data("SELECT COUNT(*) AS n FROM Author;\n".utf8))
        try input.fileHandleForWriting.close()
        #expect(try run.wait().output == "n\n2\nn\n3\n")
    }
}
