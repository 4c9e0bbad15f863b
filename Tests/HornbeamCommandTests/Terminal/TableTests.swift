// SPDX-License-Identifier: Apache-2.0
// The appearance of tables, and their widths.

import Testing

@testable import HornbeamCommand

@Suite("Tables")
struct TableTests {
    private func lines(_ columns: [TableColumn], _ rows: [[String]], width: Int? = nil) throws -> [String] {
        let result = Lines()
        var table = Table(columns, lineWidth: width) { result.lines.append($0) }
        for row in rows { try table.add(row) }
        try table.finish()
        return result.lines
    }

    private final class Lines { var lines: [String] = [] }

    private let columns = [TableColumn(title: "name"), TableColumn(title: "size", alignment: .right)]

    @Test("numbers are aligned right, text left, under their titles")
    func alignment() throws {
        #expect(
            try lines(columns, [["zsh", "7"], ["libreoffice", "12345"]]) == [
                "name          size",
                "───────────  ─────",
                "zsh              7",
                "libreoffice  12345",
            ])
    }

    @Test("an empty table shows its titles")
    func empty() throws {
        #expect(try lines(columns, []) == ["name  size", "────  ────"])
    }

    @Test("wide characters fill two columns, combining ones none")
    func wide() throws {
        #expect(
            try lines(columns, [["日本", "1"], ["e\u{301}te", "2"], ["👩‍👩‍👧", "3"]]) == [
                "name  size",
                "────  ────",
                "日本     1",
                "e\u{301}te      2",
                "👩‍👩‍👧       3",
            ])
    }

    @Test("on a terminal the text shrinks and the numbers stay")
    func truncation() throws {
        let shown = try lines(columns, [["a very long name indeed", "12345"]], width: 20)
        #expect(shown.last == "a very long …  12345")
        #expect(shown.allSatisfy { DisplayWidth.of($0) <= 20 })
        #expect(try lines(columns, [["a very long name indeed", "12345"]]).last == "a very long name indeed  12345")
    }

    @Test("in a pipe a long text stands out of its column, and doesn't fill the other lines with space")
    func longTexts() throws {
        let long = String(repeating: "x", count: 1_000)
        let shown = try lines(columns, [["zsh", "7"], [long, "12345"]])
        #expect(shown[1].count == 207 && shown[2].count == 207 && shown[3] == long + "  12345")
    }

    @Test("no line is wider than the terminal, however narrow", arguments: 1...30)
    func narrow(width: Int) throws {
        let rows = [["日本語の長い名前です", "123456789"], ["short", "1"]]
        #expect(try lines(columns, rows, width: width).allSatisfy { DisplayWidth.of($0) <= width })
    }

    @Test("rows after the sample are streamed, and not cut in a pipe")
    func streaming() throws {
        let result = Lines()
        var table = Table(columns, lineWidth: nil) { result.lines.append($0) }
        for number in 0..<Table.sampleRows { try table.add(["x", "\(number)"]) }
        #expect(result.lines.count == Table.sampleRows + 2)
        try table.add(["much longer than the sample", "1"])
        #expect(result.lines.last == "much longer than the sample     1")
        try table.finish()
        #expect(result.lines.count == Table.sampleRows + 3)
    }

    @Test("control characters and changes of direction never reach the terminal")
    func printable() {
        #expect(DisplayWidth.printable("a\u{1B}[31m\nb\tc\u{202E}\u{9B}") == "a\\u{1b}[31m\\nb\\tc\\u{202e}\\u{9b}")
        #expect(DisplayWidth.printable("plain — text") == "plain — text")
    }

    @Test("texts are cut between characters, with an ellipsis")
    func cut() {
        #expect(DisplayWidth.truncate("abcdef", to: 6) == "abcdef")
        #expect(DisplayWidth.truncate("abcdef", to: 5) == "abcd…")
        #expect(DisplayWidth.truncate("日本語", to: 4) == "日…")
        #expect(DisplayWidth.truncate("abc", to: 0) == "")
    }
}
