// SPDX-License-Identifier: Apache-2.0
// The shell at a terminal: editing, completion, history, Ctrl-C and Ctrl-D, the pager.

import Foundation
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

@Suite("hornbeam shell, at a terminal")
struct ShellTerminalTests {
    private let library: Library
    private let home: String

    init() throws {
        library = try Library()
        home = library.folder.path
    }

    private func session(rows: UInt16 = 24, environment: [String: String] = [:]) throws -> TerminalSession {
        let session = try TerminalSession([library.file], home: home, rows: rows, environment: environment)
        try session.read(until: ".help lists commands, Ctrl-D ends.\nhornbeam> ")
        return session
    }

    @Test("a statement of several lines is answered when it is whole; Ctrl-D ends the shell")
    func statements() throws {
        let session = try session()
        session.type("SELECT name FROM Author\n")
        try session.read(until: "     ...> ")
        #expect(try session.answer("WHERE id = 2;").hasSuffix("name\n─────────────\nStanisław Lem"))
        #expect(try session.answer("SELECT 'größe 日本' AS x FROM Author LIMIT 1;").hasSuffix("x\n──────────\ngröße 日本"))
        session.type("\u{4}")
        #expect(session.wait() == 0)
    }

    @Test("an error is shown with its place, and the shell goes on")
    func errors() throws {
        let session = try session()
        let error = try session.answer("SELECT nmae FROM Author;")
        #expect(error.contains("did you mean name?, at line 1, character 8:\n  SELECT nmae FROM Author;\n         ^"))
        #expect(try session.answer(".modes").contains("did you mean .mode?"))
        #expect(try session.answer("SELECT COUNT(*) AS n FROM Author;").hasSuffix("n\n─\n2"))
    }

    @Test("Tab completes keywords, types, properties and dot commands, and lists what can follow")
    func completion() throws {
        let session = try session()
        #expect(try session.answer("sel\tcount(*) as n fr\tAut\twhere na\t= 'x';").hasSuffix("n\n─\n0"))
        #expect(try session.answer(".ta\t").contains("Author              2        1"))
        session.type("SELECT * FROM \t")
        try session.read(until: "\nAuthor  Book\n")
        session.type("\u{3}")
        try session.read(until: "^C\nhornbeam> ")
    }

    @Test("the arrow brings statements back, also of the last shell; nobody else may read the file")
    func history() throws {
        let first = try session()
        first.type("SELECT name\n")
        try first.read(until: "     ...> ")
        _ = try first.answer("FROM Author WHERE id = 1;")
        first.type("\u{1B}[A\n")
        #expect(try first.read(until: "\nhornbeam> ").contains("\nUrsula K. Le Guin\n"))
        first.type(".quit\n")
        #expect(first.wait() == 0)
        var information = stat()
        #expect(stat(home + "/.hornbeam_history", &information) == 0 && information.st_mode & 0o777 == 0o600)
        let second = try session()
        second.type("\u{1B}[A\u{1B}[A\n")
        #expect(try second.read(until: "\nhornbeam> ").contains("\nUrsula K. Le Guin\n"), ".quit is the last entry")
    }

    @Test("~/.editrc chooses the keys of vi, and Tab still completes")
    func keys() throws {
        _ = try library.folder.write(".editrc", "bind -v\n")
        let session = try session()
        // Back to the beginning of the line, a character away, and to its end again.
        #expect(try session.answer("XSELECT COUNT(*) AS n FROM Aut\t\u{1B}0xA;").hasSuffix("n\n─\n2"))
    }

    @Test("Ctrl-C at the prompt drops what was typed, and ends the statement that runs, but not the shell")
    func interruption() throws {
        let session = try session()
        session.type("SELECT nonsense\n")
        try session.read(until: "     ...> ")
        session.type("FROM")
        session.type("\u{3}")
        try session.read(until: "^C\nhornbeam> ")
        let many = "JOIN Book b ON true JOIN Book c ON true JOIN Book d ON true JOIN Book e ON true JOIN Book f ON true"
        _ = try session.answer(".output /dev/null")
        // One that has results, and one whose only result would come at the end.
        for columns in ["a.id", "SUM(a.year + i.year)"] {
            session.type("SELECT \(columns) FROM Book a \(many) JOIN Book g ON true")
            session.type(" JOIN Book h ON true JOIN Book i ON true JOIN Book j ON true;\n")
            try session.waitUntilItWorks()
            session.type("\u{3}")
            try session.read(until: "interrupted\nhornbeam> ")
        }
        _ = try session.answer(".output")
        #expect(try session.answer("SELECT COUNT(*) AS n FROM Author;").hasSuffix("n\n─\n2"))
    }

    @Test("Ctrl-C right after a key is heard, whether the key was read or not")
    func interruptedKeys() throws {
        let session = try session()
        // Rounds differ in the number of keys that the shell has read when Ctrl-C comes.
        for pause in UInt32(0)..<200 {
            session.type(String(repeating: "x", count: 60))
            usleep(pause * 10)
            session.type("\u{3}")
            try session.read(until: "^C\nhornbeam> ")
        }
        #expect(try session.answer("SELECT COUNT(*) AS n FROM Author;").hasSuffix("n\n─\n2"))
    }

    @Test("the prompt shows an open transaction; an error undoes its statement alone, and the end undoes all")
    func transactions() throws {
        let session = try session()
        session.type("BEGIN;\n")
        try session.read(until: "\nhornbeam*> ")
        session.type("INSERT INTO Author (id, name)\n")
        try session.read(until: "\n      ...> ")
        session.type("VALUES (7, 'Ada');\n")
        try session.read(until: "1 entity changed\nhornbeam*> ")
        session.type("INSERT INTO Author (id, name) VALUES (8, 'Bea'), (9, 'Ada');\n")
        let shown = try session.read(until: "the transaction is still open\nhornbeam*> ")
        #expect(shown.contains("Author 9 can't be saved"), "\(shown)")
        session.type(".check\n")
        try session.read(until: "COMMIT or ROLLBACK ends it\nthe transaction is still open\nhornbeam*> ")
        session.type("SELECT COUNT(*) AS n FROM Author;\n")
        try session.read(until: "n\n─\n3\nhornbeam*> ")
        // Ctrl-C at the prompt drops the line and nothing else.
        session.type("SEL\u{3}")
        try session.read(until: "^C\nhornbeam*> ")
        session.type("COMMIT;\n")
        try session.read(until: "\nhornbeam> ")
        session.type("BEGIN; DELETE FROM Author;\n")
        try session.read(until: "3 entities changed\nhornbeam*> ")
        session.type("\u{4}")
        try session.read(until: "the transaction is rolled back\n")
        #expect(session.wait() == 0)
        #expect(try library.lines("query", "Author", "--count") == ["3"])
    }

    @Test("a terminal that is gone rolls the transaction back")
    func lostTerminal() throws {
        let session = try session()
        session.type("BEGIN; DELETE FROM Book;\n")
        try session.read(until: "5 entities changed\nhornbeam*> ")
        session.hangUp()
        #expect(session.wait() != 0)
        #expect(try library.lines("query", "Book", "--count") == ["5"])
    }

    @Test("a dot command may stand behind a statement, and ? alone is .help")
    func lines() throws {
        let session = try session()
        #expect(try session.answer("?").contains("\n.help [COMMAND]"))
        session.type("SELECT id FROM Author LIMIT 1; .quit\n")
        try session.read(until: "id\n──\n 1\n")
        #expect(session.wait() == 0)
    }

    @Test("Ctrl-C in the pager leaves the command alone")
    func pagerInterruption() throws {
        let pager = try library.folder.write(
            "pager", "#!/bin/sh\ntrap 'echo caught' INT\ncat\nread x </dev/tty\necho left\n")
        chmod(pager, 0o755)
        let session = try TerminalSession(
            ["sql", library.file, "SELECT a.id FROM Book a JOIN Book b ON true"], home: home, rows: 8,
            environment: ["PAGER": pager])
        for _ in 0..<25 { try session.read(until: "\n") }
        session.type("\u{3}")
        try session.read(until: "caught")
        session.type("\n")
        try session.read(until: "left")
        #expect(session.wait() == 0)
    }

    @Test("what is longer than the screen goes through the pager, and what fits doesn't")
    func pager() throws {
        let session = try session(rows: 8, environment: ["PAGER": "sed 's/^/paged: /'"])
        let long = try session.answer("SELECT a.id AS a, b.id AS b FROM Book a JOIN Book b ON true;")
        #expect(long.contains("paged: a     b\n") && long.split(separator: "\n").count { $0.contains("paged: ") } == 27)
        #expect(try !session.answer("SELECT id FROM Author;").contains("paged"))
        // A person who leaves the pager early ends the statement and nothing else.
        let early = try self.session(rows: 8, environment: ["PAGER": "head -n 2"])
        let many = "JOIN Book b ON true JOIN Book c ON true JOIN Book d ON true JOIN Book e ON true JOIN Book f ON true"
        #expect(try early.answer("SELECT a.id FROM Book a \(many) JOIN Book g ON true;").hasSuffix("id\n────"))
        #expect(try early.answer("SELECT COUNT(*) AS n FROM Author;").hasSuffix("n\n─\n2"))
    }

    @Test(
        "control characters and changes of direction never reach the terminal",
        arguments: ResultMode.allCases)
    func hostile(_ mode: ResultMode) throws {
        let hostile = #"{"id":"evil","title":"a\u001b[31mb\u009b2J\u202ec\u0007\u0000d"}"#
        _ = try CommandRun("import", library.file, "Book", "-", input: hostile)
        let session = try session()
        _ = try session.answer(".mode \(mode.rawValue)")
        let shown = try session.answer("SELECT title FROM Book WHERE id = 'evil';")
        let answer = shown.split(separator: "\n").drop { !$0.hasPrefix("title") && !$0.contains("a\\") }
            .joined(separator: "\n")
        #expect(answer.contains("[31mb"), "\(shown)")
        let raw = answer.unicodeScalars.filter { $0.value < 0x20 && $0 != "\n" || (0x7F...0x9F).contains($0.value) }
        #expect(raw.isEmpty && !answer.contains("\u{202E}"), "\(answer.debugDescription)")
    }

    @Test("neither do they in JSON lines of query, search and export", arguments: ["query", "search", "export"])
    func hostileLines(_ command: String) throws {
        let hostile = #"{"id":"evil","title":"a\u202ec evil"}"#
        _ = try CommandRun("import", library.file, "Book", "-", input: hostile)
        let words = ["query": ["--json"], "search": ["--json", "evil"], "export": []][command] ?? []
        let session = try TerminalSession([command, library.file, "Book"] + words, home: home)
        let shown = try session.read(until: #"a\u202ec"#)
        #expect(!shown.contains("\u{202E}"))
    }
}
