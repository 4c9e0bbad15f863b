// SPDX-License-Identifier: Apache-2.0
// Where a statement ends: at a semicolon that is no part of a text, a name or a comment.

import Testing

@testable import HornbeamCommand

@Suite("Cutting scripts into statements")
struct StatementSplitterTests {
    private typealias Piece = StatementSplitter.Piece

    /// All pieces of a script, the unfinished one last.
    private func pieces(_ script: String) -> [Piece] {
        var splitter = StatementSplitter()
        var pieces: [Piece] = []
        for line in script.split(separator: "\n", omittingEmptySubsequences: false) {
            pieces += splitter.add(line.utf8)
        }
        if let last = splitter.finish() { pieces.append(last) }
        return pieces
    }

    @Test("a statement ends with its semicolon, over as many lines as it takes, and knows where it began")
    func lines() {
        #expect(
            pieces("SELECT 1;\n\n  SELECT a\nFROM T; SELECT 2 ;") == [
                Piece(text: "SELECT 1;", line: 1), Piece(text: "SELECT a\nFROM T;", line: 3, column: 2),
                Piece(text: "SELECT 2 ;", line: 4, column: 8),
            ])
    }

    @Test(
        "a semicolon in a text, a name or a comment ends nothing",
        arguments: [
            "SELECT 'a;b'", "SELECT \"a;b\"", "SELECT `a;b`", "SELECT 'it''s;'", "SELECT 1 -- one; two\n+ 2",
            "SELECT 1 /* one; two\n; three */ + 2", "SELECT '\n;\n'", "SELECT '--;'", "SELECT \"/*;\"",
        ])
    func within(_ statement: String) {
        #expect(pieces(statement + ";SELECT 2").map(\.text) == [statement + ";", "SELECT 2"])
    }

    @Test("empty statements, and comments alone, are nothing")
    func empty() {
        #expect(pieces("").isEmpty)
        #expect(pieces(" ;;\n ; -- nothing;\n/* ; */ ;\n").isEmpty)
        #expect(pieces("-- first\nSELECT 1") == [Piece(text: "SELECT 1", line: 2)])
    }

    @Test("a line that begins with a dot is a command, unless a statement has begun")
    func commands() {
        #expect(
            pieces("  .mode csv  \nSELECT 1;") == [
                Piece(text: ".mode csv", line: 1), Piece(text: "SELECT 1;", line: 2),
            ])
        #expect(pieces("SELECT a\n.b FROM T") == [Piece(text: "SELECT a\n.b FROM T", line: 1)])
        #expect(pieces("/* \n.mode csv\n*/").isEmpty)
    }

    @Test("a dot command may stand behind a statement, and takes the rest of its line")
    func behind() {
        #expect(
            pieces("SELECT 1; .quit ; x\n/* y */ .mode csv\nSELECT 2") == [
                Piece(text: "SELECT 1;", line: 1), Piece(text: ".quit ; x", line: 1),
                Piece(text: ".mode csv", line: 2), Piece(text: "SELECT 2", line: 3),
            ])
    }

    @Test("a question mark alone is .help, and within a statement a parameter")
    func questionMark() {
        #expect(pieces(" ? \nSELECT\n?\n;").map(\.text) == [".help", "SELECT\n?\n;"])
    }

    @Test("an unfinished text or comment is open, and whole at the end of the input")
    func open() {
        var splitter = StatementSplitter()
        #expect(splitter.add("SELECT 'a".utf8).isEmpty && splitter.isOpen)
        #expect(splitter.add("b'".utf8).isEmpty && splitter.isOpen)
        #expect(splitter.add("; -- done".utf8) == [Piece(text: "SELECT 'a\nb'\n;", line: 1)])
        #expect(!splitter.isOpen && splitter.finish() == nil)
        _ = splitter.add("/* never".utf8)
        #expect(splitter.finish()?.text == "/* never", "so that the parser can say what is wrong")
        _ = splitter.add("SELECT".utf8)
        splitter.clear()
        #expect(!splitter.isOpen && splitter.finish() == nil)
    }
}
