// SPDX-License-Identifier: Apache-2.0
// The built command and what it answers when nothing, or nonsense, was asked.

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

    @Test("a store that isn't there is an error with what to do, and no file appears")
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
