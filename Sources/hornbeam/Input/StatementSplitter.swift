// SPDX-License-Identifier: Apache-2.0
// Splits the input of a shell into statements, which end with a semicolon, and dot commands, which end with their line.
// A semicolon in a text, a name in backquotes or a comment ends nothing. The rules are those of `StatementLexer`.

/// Takes one line after the other.
struct StatementSplitter {
    /// A whole statement or dot command, and where it begins.
    struct Piece: Equatable {
        var text: String
        /// From 1.
        var line: Int
        /// Characters before it in that line.
        var column = 0

        /// Whether it is a dot command.
        var isCommand: Bool { text.first == "." }
    }

    private enum State: Equatable {
        case words
        /// In a text or a name, up to this quote.
        case quoted(UInt8)
        case lineComment, blockComment
    }

    private var state = State.words
    private var text: [UInt8] = []
    /// Whether the text has anything but space and comments.
    private var hasWords = false
    private var start = (line: 1, column: 0)
    private var line = 0

    /// Whether a statement or a comment has begun and isn't whole.
    var isOpen: Bool { hasWords || state != .words }

    /// Whether a text or a name in quotes has begun and isn't whole.
    var isQuoted: Bool { if case .quoted = state { true } else { false } }

    /// The beginning of a statement that isn't whole, or of a comment.
    var pending: String { String(decoding: text, as: UTF8.self) }

    /// Takes a line without its end. Returns the statements and dot commands that it completes.
    mutating func add(_ new: some Sequence<UInt8>) -> [Piece] {
        let bytes = Array(new)
        line += 1
        if !isOpen { text = [] }
        // A line with only a question mark is no statement.
        if !isOpen, String(decoding: bytes, as: UTF8.self).trimmed == "?" { return [Piece(text: ".help", line: line)] }
        var pieces: [Piece] = []
        if !text.isEmpty { text.append(0x0A) }
        var place = 0
        while place < bytes.count {
            // No statement begins with a dot.
            if state == .words, !hasWords, bytes[place] == UInt8(ascii: ".") {
                pieces.append(Piece(text: String(String(decoding: bytes[place...], as: UTF8.self).trimmed), line: line))
                clear()
                return pieces
            }
            let next = place + 1 < bytes.count ? bytes[place + 1] : nil
            let taken = take(bytes[place], next, before: bytes[..<place])
            text.append(contentsOf: bytes[place..<place + taken])
            if state == .words, bytes[place] == UInt8(ascii: ";") {
                if hasWords { pieces.append(whole()) }
                clear()
            }
            place += taken
        }
        if state == .lineComment { state = .words }
        return pieces
    }

    /// Returns the rest of the input if it is a statement without a semicolon or a comment without an end. Returns nil
    /// if only space and complete comments are left.
    mutating func finish() -> Piece? {
        defer { clear() }
        return isOpen && (hasWords || state == .blockComment) ? whole() : nil
    }

    /// Forgets a statement or comment that isn't whole.
    mutating func clear() {
        text = []
        state = .words
        hasWords = false
    }

    /// Takes one byte, or two that belong together, and returns their number.
    private mutating func take(_ byte: UInt8, _ next: UInt8?, before: ArraySlice<UInt8>) -> Int {
        switch state {
        case .quoted(let quote):
            if byte == quote { state = .words }
            return 1
        case .lineComment:
            // A line comment also ends at these characters, which don't end a line of the input.
            if (0x0A...0x0D).contains(byte) { state = .words }
            return 1
        case .blockComment:
            guard byte == UInt8(ascii: "*"), next == UInt8(ascii: "/") else { return 1 }
            state = .words
            return 2
        case .words: break
        }
        switch (byte, next) {
        case (UInt8(ascii: "-"), UInt8(ascii: "-")):
            state = .lineComment
            return 2
        case (UInt8(ascii: "/"), UInt8(ascii: "*")):
            if !hasWords { begin(before) }
            state = .blockComment
            return 2
        case (0x20, _), (0x09...0x0D, _): return 1
        case (UInt8(ascii: ";"), _): return 1
        case (UInt8(ascii: "'"), _), (UInt8(ascii: "\""), _), (UInt8(ascii: "`"), _): state = .quoted(byte)
        default: break
        }
        if !hasWords { begin(before) }
        hasWords = true
        return 1
    }

    /// Begins a statement or comment here. Space and comments before it don't belong to it.
    private mutating func begin(_ before: ArraySlice<UInt8>) {
        text = []
        start = (line, String(decoding: before, as: UTF8.self).count)
    }

    private func whole() -> Piece { Piece(text: pending, line: start.line, column: start.column) }
}
