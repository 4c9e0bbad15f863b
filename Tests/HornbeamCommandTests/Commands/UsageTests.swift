// SPDX-License-Identifier: Apache-2.0
// The built command and its answers to nothing, or nonsense.

import HornbeamTestSupport
import Testing

@Suite("The command's manners")
struct UsageTests {
    @Test("without a command it lists them and exits with 2; when asked, with 0")
    func overview() throws {
        let bare = try CommandRun()
        #expect(bare.code == 2)
        let asked = try CommandRun("--help")
        #expect(asked.code == 0 && asked.output == bare.output && asked.errors.isEmpty)
        for name in ["info", "check", "schema apply", "query", "search", "import", "export", "tree ls", "tree scan"] {
            #expect(asked.output.contains("\n  \(name) "), "\(name)")
        }
    }

    @Test("the version is one line")
    func version() throws {
        let run = try CommandRun("--version")
        #expect(run.output.wholeMatch(of: /hornbeam \d+\.\d+\.\d+\n/) != nil && run.code == 0)
    }

    @Test("usage errors go to standard error, exit with 2 and name the nearest")
    func usage() throws {
        let option = try CommandRun("query", "f", "T", "--limt", "3")
        #expect(option.code == 2 && option.output.isEmpty)
        #expect(option.errors == "hornbeam: unknown option --limt\n  did you mean --limit?\n")
        let command = try CommandRun("serach")
        #expect(command.code == 2)
        #expect(command.errors == "hornbeam: unknown command “serach”\n  did you mean search?\n")
        let operand = try CommandRun("query", "f")
        #expect(operand.code == 2)
        #expect(operand.errors == "hornbeam: TYPE is missing\n  Usage: hornbeam query [options] FILE TYPE\n")
    }

    @Test("a limit too large for an Int is no limit, and anything but a whole number is refused")
    func numbers() throws {
        let library = try Library()
        defer { library.folder.keep() }
        #expect(try library.lines("query", "Author", "--limit", "99999999999999999999", "--json").count == 2)
        let most = "\(Int.max)"
        #expect(try library.lines("query", "Author", "--limit", most, "--offset", most, "--json").isEmpty)
        #expect(try library.lines("query", "Author", "--limit", most, "--offset", "1", "--json").count == 1)
        for text in ["-1", "-99999999999999999999", "x", "1.5", "", "٣", "0x10"] {
            let run = try CommandRun("query", library.file, "Author", "--limit", text)
            #expect(run.code == 2)
            #expect(run.errors == "hornbeam: --limit is “\(text)”\n  it must be a whole number, 0 or more\n")
        }
    }

    @Test("an unknown name is answered with the known ones, relations too, or with the nearest")
    func names() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let none = try CommandRun("query", library.file, "Book", "--where", "pages > 5")
        #expect(
            none.errors.hasPrefix(
                "hornbeam: Book has no “pages”; there are Book, id, title, year, price, author, at line 1, character 1:"
            ))
        let near = try CommandRun("query", library.file, "Book", "--where", "athor = 5")
        #expect(near.errors.hasPrefix("hornbeam: Book has no “athor”; did you mean author?, at line 1, character 1:"))
        let values = try CommandRun("sql", library.file, "SELECT id FROM Book WHERE year > ?", "-p", "1", "-p", "2")
        #expect(values.errors == "hornbeam: the statement has 1 parameter, and 2 values are given\n")
    }

    @Test("a missing store is an error with a remedy, and no file appears")
    func missing() throws {
        let folder = try TemporaryFolder()
        let file = "\(folder.path)/none.hornbeam"
        for words in [
            ["info", file], ["check", file], ["tree", "ls", file], ["query", file, "T"], ["import", file, "T", "-"],
        ] {
            let run = try CommandRun(words)
            #expect(run.code == 1 && run.output.isEmpty, "\(words)")
            #expect(
                run.errors == "hornbeam: there is no file \(file); "
                    + "'hornbeam schema apply \(file) SCHEMA.json' makes a store\n",
                "\(words)")
            #expect(throws: (any Error).self) { try folder.read("none.hornbeam") }
        }
    }
}
