// SPDX-License-Identifier: Apache-2.0
// Beneath the entities: trees, checks, and the manners of output in pipes, on terminals and full disks.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@Suite("hornbeam tree, check and schema")
struct StoreTests {
    /// Changes a store in this process; it is closed and released when this returns.
    private func change(_ file: String, _ body: (Transaction) throws -> Void) throws {
        let store = try TreeStore.open(at: file)
        let transaction = try store.beginWrite()
        try body(transaction)
        try transaction.commit()
        try store.close()
    }

    @Test("trees are listed with their counts and scanned in either direction")
    func trees() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let file = folder.path + "/trees.hornbeam"
        try change(file) { transaction in
            let tree = try #require(try transaction.tree("words", create: true))
            for word in ["alpha", "beta", "betray", "gamma"] {
                try transaction.put(tree, Array(word.utf8), Array(word.uppercased().utf8))
            }
            try transaction.put(tree, [0xFF, 0x01], [0])
        }
        #expect(try CommandRun("tree", "ls", file).output == "tree   entries\n─────  ───────\nwords        5\n")
        let scan = { (words: String...) in
            let run = try CommandRun(["tree", "scan", file, "words", "--keys-only"] + words)
            #expect(run.code == 0 && run.errors.isEmpty)
            return run.output.split(separator: "\n").map(String.init)
        }
        #expect(try scan() == [#""alpha""#, #""beta""#, #""betray""#, #""gamma""#, "0xff01"])
        #expect(try scan("--reverse", "--limit", "2") == ["0xff01", #""gamma""#])
        #expect(try scan("--from", "b", "--to", "gamma") == [#""beta""#, #""betray""#])
        #expect(try scan("--from", "b", "--to", "gamma", "-r") == [#""betray""#, #""beta""#])
        #expect(try scan("--from", "b", "--to", "f", "-r") == [#""betray""#, #""beta""#])
        #expect(try scan("--prefix", "bet", "--hex") == ["0x62657461", "0x626574726179"])
        #expect(try scan("--prefix", "0xff", "-r") == ["0xff01"])
        #expect(try scan("--to", "a") == [] && scan("--from", "zz", "--to", "zz") == [])
        #expect(try CommandRun("tree", "scan", file, "words", "-p", "beta").output == "\"beta\"\t\"BETA\"\n")
        #expect(try CommandRun("tree", "scan", file, "words", "--count", "--from", "b").output == "4\n")
        let missing = try CommandRun("tree", "scan", file, "word")
        #expect(missing.code == 1 && missing.errors == "hornbeam: there is no tree “word”: did you mean words?\n")
        #expect(try CommandRun("tree", "scan", file, "words", "--from", "0x0").code == 2)
    }

    @Test("a sound store passes the check, and a line tells its scope")
    func sound() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let run = try CommandRun("check", library.file)
        #expect(run.code == 0 && run.errors.isEmpty)
        let line = /no problems: \d+ trees with [0-9,]+ entries, 7 entities of 2 types, 3 indexes verified in .*\n/
        #expect(run.output.wholeMatch(of: line) != nil, "\(run.output)")
    }

    @Test("a missing index entry is reported line by line, with exit code 1")
    func damaged() throws {
        let library = try Library()
        defer { library.folder.keep() }
        try change(library.file) { transaction in
            let tree = try #require(try transaction.tree("x:Book:byYear"))
            var cursor = try transaction.cursor(tree)
            try #require(try cursor.last())
            #expect(try transaction.delete(tree, Array(cursor.key)))
        }
        let run = try CommandRun("check", library.file)
        #expect(run.code == 1 && run.errors.isEmpty)
        #expect(
            run.output.hasPrefix(
                """
                Book "disp": index “byYear” lacks it
                index “byYear” of Book has 4 entries for 5 rows
                2 problems: 17 trees with 50 entries, 7 entities of 2 types, 3 indexes read

                """))
        #expect(try CommandRun("check", library.file, "--structure").code == 0)
    }

    @Test("the schema is printed as text and as the input of schema apply")
    func schema() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        #expect(
            try CommandRun("schema", library.file).output == """
                Author
                  columns    id    int64
                             name  string
                  indexes    byName  unique  name
                  relations  books  [Book]  inverse author

                Book
                  columns    id     string
                             title  string
                             year   int32?
                             price  decimal?
                  indexes    byYear  value  year, title
                             search  text   title        analyzer unicode+accents
                  relations  author  Author?  inverse books

                """)
        let json = try CommandRun("schema", library.file, "--json").output
        let copy = library.folder.path + "/copy.hornbeam"
        let applied = try CommandRun("schema", "apply", copy, try library.folder.write("copy.json", json))
        #expect(applied.output == "2 entity types created or changed, 2 in all\n")
        #expect(try CommandRun("schema", copy, "--json").output == json)
    }

    @Test("a schema that doesn't fit is refused and the store stays as it was")
    func mismatch() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let changed = Library.schema.replacing(#""year", "type": "int32?""#, with: #""year", "type": "string?""#)
        let run = try CommandRun("schema", "apply", library.file, try library.folder.write("new.json", changed))
        #expect(run.code == 1 && run.errors.contains("new.json: ") && run.errors.contains("Book.year"))
        #expect(try CommandRun("check", library.file).code == 0)
    }

    @Test("an index that is added later is built from the rows")
    func newIndex() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let changed = Library.schema.replacing(
            #"{"name": "byYear","#, with: #"{"name": "byTitle", "components": ["title"]}, {"name": "byYear","#)
        let run = try CommandRun("schema", "apply", library.file, try library.folder.write("new.json", changed))
        #expect(run.output == "1 entity type created or changed, 2 in all\n")
        #expect(try library.lines("info").contains("  byTitle            value           5  title"))
        #expect(try CommandRun("check", library.file).code == 0)
    }

    @Test("progress shows on a terminal and is silent in a pipe and with --quiet")
    func progress() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        let lines = (1...3_000).map { #"{"id":\#($0),"name":"N\#($0)"}"# + "\n" }.joined()
        let data = try library.folder.write("authors.jsonl", lines)
        let terminal = try PseudoTerminal()
        let shown = try CommandRun(["import", library.file, "Author", data], errorsTo: terminal.slave)
        let text = terminal.read()
        #expect(shown.code == 0 && text.contains("importing Author  ") && text.contains(" %  ") && text.contains("░"))
        #expect(text.hasSuffix("\r\u{1B}[K"), "the line is gone at the end")
        let quiet = try CommandRun(["import", library.file, "Author", data, "-q"], errorsTo: terminal.slave)
        #expect(quiet.code == 0 && terminal.read().isEmpty)
        #expect(try CommandRun("import", library.file, "Author", data).errors.isEmpty)
    }

    @Test("a reader that closes its pipe ends the command quietly; a full disk is an error")
    func outputs() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        let lines = (1...3_000).map { #"{"id":\#($0),"name":"\#(String(repeating: "x", count: 100))\#($0)"}"# + "\n" }
        _ = try CommandRun("import", library.file, "Author", "-", input: lines.joined())
        let head = try CommandRun(
            shell: "hornbeam export library.hornbeam Author | head -1", in: library.folder.path)
        #expect(head.errors.isEmpty && head.output.split(separator: "\n").count == 1)
        let full = try CommandRun(shell: "hornbeam export library.hornbeam Author >/dev/full", in: library.folder.path)
        #expect(full.code == 1)
        #expect(full.errors == "hornbeam: write failed on standard output: No space left on device (errno 28)\n")
    }

    @Test("a standard descriptor that is closed is an error, and never the store")
    func closedDescriptors() throws {
        let library = try Library(filled: false)
        defer { library.folder.keep() }
        try library.folder.write("one.jsonl", "{\"id\":1,\"name\":\"a\"}\n")
        for (line, problem) in [
            ("import library.hornbeam Author - <&-", "read failed on standard input: Bad file descriptor (errno 9)"),
            (
                "import library.hornbeam Author one.jsonl >&-",
                "write failed on standard output: Bad file descriptor (errno 9)"
            ),
            ("query library.hornbeam Author >&-", "write failed on standard output: Bad file descriptor (errno 9)"),
        ] {
            let run = try CommandRun(shell: "hornbeam \(line)", in: library.folder.path)
            #expect(run.code == 1 && run.errors.contains(problem), "\(line): \(run)")
        }
        #expect(try CommandRun(shell: "hornbeam query library.hornbeam X 2>&-", in: library.folder.path).code == 1)
        #expect(try CommandRun("check", library.file).code == 0)
    }

    @Test("a file that is no store is refused by name")
    func noStore() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let text = try folder.write("text", "This is no store, but it is long enough to look at.\n")
        for words in [["info", text], ["check", text], ["tree", "ls", text], ["info", folder.path]] {
            let run = try CommandRun(words)
            #expect(run.code == 1 && run.output.isEmpty, "\(words)")
            #expect(run.errors.hasPrefix("hornbeam: ") && run.errors.contains(words.last ?? ""), "\(run.errors)")
        }
    }

    /// A library whose newest commit is only in its journal, as a crash would leave it.
    private func crashedLibrary() throws -> (Library, [UInt8]) {
        let library = try Library()
        var options = StoreOptions()
        options.idleMilliseconds = 0
        let store = try TreeStore.open(at: library.file, options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("notes", create: true))
        try write.put(tree, [1], Array("written last".utf8))
        try write.commit()
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: library.file)))
        try store.close()
        return (library, bytes)
    }

    @Test("a killed program's store that may only be read is reported as needing recovery")
    func killedAndReadOnly() throws {
        let (library, image) = try crashedLibrary()
        defer { library.folder.keep() }
        let crashed = try library.folder.write("crashed.hornbeam", image)
        // Root may write everywhere.
        let user = getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : ""
        chmod(crashed, 0o444)
        chmod(library.folder.path, 0o755)
        let run = try CommandRun(shell: "\(user)$(command -v hornbeam) info \(crashed)", in: library.folder.path)
        try #require(!run.errors.contains("setpriv"), "\(run.errors)")
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(
            run.errors
                == "hornbeam: \(crashed) was not closed: open it once with the right to write, to recover it\n")
        chmod(crashed, 0o644)
        #expect(try CommandRun("query", crashed, "Book", "--count").output == "5\n")
    }

    @Test("salvage saves the journal's commits too, with a header and without")
    func salvage() throws {
        let (library, image) = try crashedLibrary()
        defer { library.folder.keep() }
        let crashed = try library.folder.write("crashed.hornbeam", image)
        let whole = try CommandRun("salvage", crashed, library.folder.path("whole.hornbeam"))
        #expect(whole.code == 0, "\(whole)")
        #expect(whole.output.hasSuffix(" saved, 1 commit of the journal with them, nothing is lost\n"), "\(whole)")

        let headless = try library.folder.write(
            "headless.hornbeam", [UInt8](repeating: 0, count: 8192) + image[8192...])
        #expect(try CommandRun("check", headless).code == 1)
        let new = library.folder.path("saved.hornbeam")
        let run = try CommandRun("salvage", headless, new)
        #expect(run.code == 1, "\(run)")
        #expect(run.output.contains("both header slots are lost"), "\(run)")
        #expect(run.output.hasSuffix(" saved, 1 commit of the journal with them\n"), "\(run)")
        #expect(try CommandRun("check", new).code == 0)
        #expect(try CommandRun("tree", "scan", new, "notes").output.contains("written last"))
        #expect(try CommandRun("query", new, "Book", "--count").output == "5\n")
    }
}
