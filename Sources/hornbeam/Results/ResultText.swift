// SPDX-License-Identifier: Apache-2.0
// Rows in the forms that hold nothing back: a line a value, JSON, separated values, Markdown. On a terminal control
// characters are spelt out; in a file they are what they are.

import Hornbeam

/// `name = value`, a blank line between rows.
struct ValueLines: ResultWriter {
    private let titles: [String]
    private let form: ResultForm
    private let console: Console
    private var isFirst = true

    init(_ names: [String], _ form: ResultForm, _ console: Console) {
        let names = names.map(DisplayWidth.printable)
        let width = names.map { DisplayWidth.of($0) }.max() ?? 0
        titles = names.map { String(repeating: " ", count: width - DisplayWidth.of($0)) + $0 + " = " }
        self.form = form
        self.console = console
    }

    mutating func add(_ row: ResultRow) throws {
        if !isFirst { try console.print("") }
        isFirst = false
        for (title, value) in zip(titles, row.values) {
            try console.print(title + DisplayWidth.printable(form.cell(value)))
        }
    }

    func finish() {}
}

struct JSONLines: ResultWriter {
    private let console: Console

    init(_ console: Console) { self.console = console }

    func add(_ row: ResultRow) throws { try console.print(console.harmlessJSON(row.json)) }
    func finish() {}
}

struct JSONArray: ResultWriter {
    private let console: Console
    private var isFirst = true

    init(_ console: Console) { self.console = console }

    mutating func add(_ row: ResultRow) throws {
        try console.write(isFirst ? "[" : ",\n ")
        isFirst = false
        try console.write(console.harmlessJSON(row.json))
    }

    func finish() throws { try console.print(isFirst ? "[]" : "]") }
}

/// CSV as RFC 4180 has it, but with `\n` at the ends of lines; or fields between tabs. The first line has the names. A
/// null or missing value is an empty field, in CSV an empty text is `""`.
struct SeparatedValues: ResultWriter {
    enum Separator { case comma, tab }

    private static let quote = UInt8(ascii: "\"")
    private static let comma = UInt8(ascii: ",")
    private static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")
    private static let return_ = UInt8(ascii: "\r")
    private static let backslash = UInt8(ascii: "\\")

    private let separator: Separator
    private let console: Console
    private let isShown: Bool
    private var line: [UInt8] = []

    init(_ names: [String], _ separator: Separator, _ console: Console) throws {
        self.separator = separator
        self.console = console
        isShown = console.showsOnTerminal
        for (place, name) in names.enumerated() { append(name, place) }
        try end()
    }

    mutating func add(_ row: ResultRow) throws {
        for (place, value) in row.values.enumerated() {
            switch value {
            case nil, .null?: separate(place)
            case .string(let text)?, .json(let text)?: append(text, place)
            case .int(let number)?: append(number, place)
            // As JSON has them: in base64, exact.
            case .data?, .array?, .double?, .date?: append(JSONText.plain(value ?? .null), place)
            case let value?: append(CellText.show(value), place)
            }
        }
        try end()
    }

    func finish() {}

    private mutating func end() throws {
        line.append(Self.newline)
        try console.write(line)
        line.removeAll(keepingCapacity: true)
    }

    private mutating func separate(_ place: Int) {
        if place > 0 { line.append(separator == .comma ? Self.comma : Self.tab) }
    }

    private mutating func append(_ number: Int64, _ place: Int) {
        separate(place)
        var digits = number.magnitude
        let start = line.count
        repeat {
            line.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digits % 10))
            digits /= 10
        } while digits > 0
        if number < 0 { line.append(UInt8(ascii: "-")) }
        line[start...].reverse()
    }

    private mutating func append(_ text: String, _ place: Int) {
        separate(place)
        var text = isShown ? DisplayWidth.printable(text) : text
        let separator = separator
        text.withUTF8 { bytes in
            switch separator {
            case .comma: Self.appendQuoted(bytes, to: &line)
            case .tab: Self.appendEscaped(bytes, to: &line)
            }
        }
    }

    private static func appendQuoted(_ bytes: UnsafeBufferPointer<UInt8>, to line: inout [UInt8]) {
        let needsQuotes =
            bytes.first.map { $0 == 0x20 } ?? true || bytes.last == 0x20
            || bytes.contains { $0 == comma || $0 == quote || $0 == newline || $0 == return_ }
        guard needsQuotes else { return line.append(contentsOf: bytes) }
        line.append(quote)
        for byte in bytes {
            if byte == quote { line.append(quote) }
            line.append(byte)
        }
        line.append(quote)
    }

    /// A tab, a line end or a backslash in a text has a backslash before it.
    private static func appendEscaped(_ bytes: UnsafeBufferPointer<UInt8>, to line: inout [UInt8]) {
        for byte in bytes {
            switch byte {
            case tab: line += [backslash, UInt8(ascii: "t")]
            case newline: line += [backslash, UInt8(ascii: "n")]
            case return_: line += [backslash, UInt8(ascii: "r")]
            case backslash: line += [backslash, backslash]
            default: line.append(byte)
            }
        }
    }
}

/// A table of GitHub's Markdown.
struct MarkdownTable: ResultWriter {
    private let form: ResultForm
    private let console: Console

    init(_ names: [String], _ form: ResultForm, _ console: Console) throws {
        self.form = form
        self.console = console
        try print(names)
        try print(names.map { _ in "---" })
    }

    func add(_ row: ResultRow) throws { try print(row.values.map(form.cell)) }
    func finish() {}

    private func print(_ cells: [String]) throws {
        try console.print("| " + cells.map(Self.escaped).joined(separator: " | ") + " |")
    }

    /// The text as one that no reader of Markdown takes for markup.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            if !result.isEmpty { result += "<br>" }
            for character in DisplayWidth.printable(String(line)) {
                switch character {
                case "&": result += "&amp;"
                case "<": result += "&lt;"
                case "|", "\\", "`", "*", "_", "[": result += "\\\(character)"
                default: result.append(character)
                }
            }
        }
        return result
    }
}

enum JSONText {
    /// The value as JSON has it, a text without its quotes.
    static func plain(_ value: Value) -> String {
        let json = value.json
        return json.first == "\"" ? String(json.dropFirst().dropLast()) : json
    }

    /// JSON whose texts spell out what a terminal would take for more than text. Control characters below the space are
    /// spelt out in all JSON.
    static func harmless(_ json: String) -> String {
        guard json.unicodeScalars.contains(where: DisplayWidth.needsEscape) else { return json }
        var result = ""
        for scalar in json.unicodeScalars {
            if DisplayWidth.needsEscape(scalar) {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Console {
    fileprivate func harmlessJSON(_ json: String) -> String { showsOnTerminal ? JSONText.harmless(json) : json }
}
