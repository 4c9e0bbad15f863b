// SPDX-License-Identifier: Apache-2.0
// BEGIN, COMMIT and ROLLBACK in the shell, without a terminal.

import Foundation
import HornbeamTestSupport
import Testing

@Suite("hornbeam shell, several statements in one transaction")
struct TransactionTests {
    private let library: Library
    private let file: String

    init() throws {
        library = try Library()
        file = library.file
    }

    private func shell(_ words: String..., input: String = "") throws -> CommandRun {
        try CommandRun([file, "--mode", "csv"] + words, input: input)
    }

    private func authors() throws -> [String] { try library.lines("query", "Author", "--count") }

    private static let insertion = "INSERT INTO Author (id, name) VALUES (7, 'Ada');\n"
    private static let count = "SELECT COUNT(*) AS n FROM Author;\n"

    @Test("COMMIT keeps the changes of all statements since BEGIN; statements and commands between see them")
    func commit() throws {
        let run = try shell(
            input: "BEGIN;\n\(Self.insertion)\(Self.count).export Author --where 'id = 7'\n.indexes Author\n.stats -q\n"
                + "DELETE FROM Author WHERE id = 1;\nCOMMIT;\n\(Self.count)")
        #expect(run.code == 0, "\(run)")
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines[0...2] == ["n", "3", #"{"id":7,"name":"Ada"}"#], "\(run)")
        #expect(lines.contains { $0.hasPrefix("Author       byName  unique        3") }, "\(run)")
        #expect(lines.suffix(2) == ["n", "2"], "\(run)")
        #expect(try authors() == ["2"])
        #expect(try CommandRun("check", file).code == 0)
    }

    @Test("ROLLBACK undoes them, and the words are understood in all their forms")
    func rollBack() throws {
        for (begin, end) in [
            ("begin", "rollback"), ("BEGIN TRANSACTION", "ROLLBACK WORK"),
            ("START TRANSACTION", "ROLLBACK TRANSACTION"),
        ] {
            let run = try shell(input: "\(begin) ; \(Self.insertion)\(end);\n\(Self.count)")
            #expect(run.code == 0 && run.output == "n\n2\n" && run.errors == "1 entity changed\n", "\(run)")
        }
    }

    @Test("the first error of a script rolls all back, and says so")
    func errors() throws {
        let run = try shell(
            input: "BEGIN;\n\(Self.insertion)INSERT INTO Author (id, name) VALUES (8, 'Ada');\nCOMMIT;\n")
        #expect(run.code == 1, "\(run)")
        #expect(run.errors.contains("hornbeam: standard input, line 3: Author 8 can't be saved"), "\(run)")
        #expect(run.errors.hasSuffix("\nthe transaction is rolled back\n"), "\(run)")
        #expect(try authors() == ["2"])
    }

    @Test("a COMMIT that fails says that the transaction is rolled back")
    func failedCommit() throws {
        // More than the file has room for. Random, because text that repeats is compressed.
        let name = Data((0..<100_000).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        try library.folder.write("in.sql", "BEGIN;\nINSERT INTO Author (id, name) VALUES (7, '\(name)');\nCOMMIT;\n")
        // In units of 512 bytes.
        let run = try CommandRun(
            shell: "trap '' XFSZ && ulimit -f 512 && hornbeam library.hornbeam -f in.sql", in: library.folder.path)
        #expect(run.code == 1, "\(run)")
        #expect(run.errors.hasPrefix("1 entity changed\nhornbeam: in.sql, line 3: no space left for "), "\(run)")
        #expect(run.errors.hasSuffix("; the transaction is rolled back\n"), "\(run)")
        #expect(try authors() == ["2"])
    }

    @Test("the end of the input within a transaction is an error; .quit is none")
    func ends() throws {
        let cut = try shell(input: "BEGIN;\n\(Self.insertion)")
        #expect(cut.code == 1, "\(cut)")
        #expect(
            cut.errors
                == "1 entity changed\nhornbeam: the input ends before COMMIT\nthe transaction is rolled back\n")
        // A pipe that broke within the word, or right behind it.
        let word = try shell(input: "BEGIN;\n\(Self.insertion)COMMIT")
        #expect(word.code == 1 && word.errors.contains("ends with a semicolon"), "\(word)")
        let quit = try shell(input: "BEGIN;\n\(Self.insertion).quit\n")
        #expect(quit.code == 0 && quit.errors == "1 entity changed\nthe transaction is rolled back\n", "\(quit)")
        #expect(try authors() == ["2"])
    }

    @Test("a transaction may go on from one -c or -f to the next")
    func commandLine() throws {
        let script = try library.folder.write("end.sql", "COMMIT;")
        let run = try shell("-c", "BEGIN", "-c", Self.insertion, "-f", script)
        #expect(run.code == 0 && run.errors == "1 entity changed\n", "\(run)")
        #expect(try authors() == ["3"])
    }

    @Test(
        "commands that need the file alone are refused within a transaction",
        arguments: [".import /dev/null Author", ".check", ".backup copy.hornbeam"])
    func commands(_ command: String) throws {
        let run = try shell(input: "BEGIN;\n\(command)\n")
        #expect(run.code == 1, "\(run)")
        #expect(
            run.errors.hasPrefix(
                "hornbeam: standard input, line 2: this can't run within a transaction: COMMIT or ROLLBACK ends it\n"),
            "\(run)")
    }

    @Test("a second BEGIN, and COMMIT or ROLLBACK without one, are errors; --readonly refuses BEGIN")
    func misplaced() throws {
        let twice = try shell(input: "BEGIN;\nBEGIN;\n")
        #expect(twice.code == 1 && twice.errors.contains("line 2: a transaction is open already"), "\(twice)")
        for word in ["COMMIT", "ROLLBACK"] {
            let run = try shell(input: "\(word);\n")
            #expect(run.code == 1 && run.errors.contains("no transaction is open: BEGIN opens one"), "\(run)")
        }
        let refused = try shell("--readonly", input: "BEGIN;\n")
        #expect(refused.code == 1 && refused.errors.contains("started with --readonly"), "\(refused)")
        let statement = try CommandRun("sql", file, "BEGIN")
        #expect(statement.code == 1 && statement.errors.contains("between BEGIN and COMMIT in 'hornbeam shell'"))
    }

    @Test("every signal of a lost terminal after the first is ignored while the transaction is rolled back")
    func hangUps() throws {
        let input = Pipe()
        let run = try RunningCommand([file], input: input)
        try input.fileHandleForWriting.write(contentsOf: Data("BEGIN;\n\(Self.insertion)".utf8))
        try run.waitUntilItReads()
        for _ in 0..<3 {
            run.hangUp()
            usleep(200)
        }
        try input.fileHandleForWriting.close()
        let ended = try run.wait()
        #expect(ended.code == 130 && ended.errors.hasSuffix("\nthe transaction is rolled back\n"), "\(ended)")
        #expect(try authors() == ["2"])
    }

    @Test("another process reads the committed state while a transaction is open, and can't write")
    func beside() throws {
        let input = Pipe()
        let run = try RunningCommand([file], input: input)
        try input.fileHandleForWriting.write(contentsOf: Data("BEGIN;\n\(Self.insertion)".utf8))
        try run.waitUntilItReads()
        #expect(try authors() == ["2"])
        let refused = try CommandRun("sql", file, "DELETE FROM Book")
        #expect(refused.code == 1, "\(refused)")
        try input.fileHandleForWriting.write(contentsOf: Data("COMMIT;\n".utf8))
        try input.fileHandleForWriting.close()
        #expect(try run.wait().code == 0)
        #expect(try authors() == ["3"])
    }
}
