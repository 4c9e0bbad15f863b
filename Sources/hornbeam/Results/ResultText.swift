// SPDX-License-Identifier: Apache-2.0
// Rows in the forms that need no sample of rows: one value per line, JSON, separated values, Markdown. Control
// characters are spelt out on a terminal and unchanged in a file.

import Hornbeam

/// Lines `name = value`, with a blank line between rows.
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

/// CSV by RFC 4180, but with `\n` at the ends of lines; or fields separated by tabs. The first line has the names. A
/// null or missing value is an empty field; an empty text is `""` in CSV.
struct SeparatedValues: ResultWriter {
    enum Separator { case comma, tab }

    private static let quote = UInt8(ascii: "\"")
    private static let comma = UInt8(ascii: ",")
    private static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")
    private static let return_ = UInt8(ascii: "\r")
    private static let backslash = UInt8(ascii: "\\")
    /// Lines are passed on in pieces of about this size, in bytes.
    private static let pieceSize = 1 << 15

    private let separator: Separator
    private let console: Console
    private let isShown: Bool
    private var lines: [UInt8] = []

    init(_ names: [String], _ separator: Separator, _ console: Console) throws {
        self.separator = separator
        self.console = console
        isShown = console.showsOnTerminal
        lines.reserveCapacity(2 * Self.pieceSize)
        for (place, name) in names.enumerated() {
            separate(place)
            append(name)
        }
        try end()
    }

    mutating func add(_ row: ResultRow) throws {
        for place in row.names.indices {
            separate(place)
            if let value = row[place] { append(value) }
        }
        try end()
    }

    mutating func finish() throws {
        try console.write(lines)
        lines.removeAll(keepingCapacity: true)
    }

    private mutating func end() throws {
        lines.append(Self.newline)
        if lines.count >= Self.pieceSize { try finish() }
    }

    private mutating func separate(_ place: Int) {
        if place > 0 { lines.append(separator == .comma ? Self.comma : Self.tab) }
    }

    // MARK: Stored rows

    /// Whether stored rows can be written without making values of them. On a terminal, texts need escapes.
    var takesStoredRows: Bool { !isShown }

    /// A column of stored rows.
    struct Field {
        enum Form { case int, uint, double, text, other }

        let column: Int
        let form: Form
    }

    /// The fields of rows with these columns.
    static func fields(_ columns: StoredColumns) -> [Field] {
        zip(columns.numbers, columns.types).map { column, type in
            switch type.unwrapped {
            case .int8, .int16, .int32, .int64: Field(column: column, form: .int)
            case .uint8, .uint16, .uint32, .uint64: Field(column: column, form: .uint)
            case .float, .double: Field(column: column, form: .double)
            case .string, .url: Field(column: column, form: .text)
            default: Field(column: column, form: .other)
            }
        }
    }

    /// Adds a row of these fields. If the row can't be read, throws and leaves no part of its line.
    mutating func add(_ row: RowReader, _ fields: [Field]) throws {
        let start = lines.count
        do {
            for place in fields.indices {
                separate(place)
                try append(row, fields[place])
            }
        } catch {
            lines.removeSubrange(start...)
            throw error
        }
        try end()
    }

    private mutating func append(_ row: RowReader, _ field: Field) throws {
        let column = field.column
        switch field.form {
        case .int: if let number = try row.int(column) { append(number) }
        case .uint: if let number = try row.uint(column) { append(number, isNegative: false) }
        case .double: if let number = try row.double(column) { append(number) }
        case .text: try appendText(row, column)
        case .other: append(try row.value(column))
        }
    }

    private mutating func appendText(_ row: RowReader, _ column: Int) throws {
        guard let bytes = try row.stringBytes(column) else { return }
        // Text beyond ASCII must be verified as UTF-8.
        if bytes.allSatisfy({ $0 < 0x80 }) { append(bytes) } else if let text = try row.string(column) { append(text) }
    }

    // MARK: Values

    private mutating func append(_ value: Value) {
        switch value {
        case .null: break
        case .string(let text), .json(let text): append(text)
        case .int(let number): append(number)
        case .double(let number): append(number)
        // In the form of JSON: data in base64, dates exact.
        case .data, .array, .date: append(JSONText.plain(value))
        default: append(CellText.show(value))
        }
    }

    private mutating func append(_ number: Int64) { append(number.magnitude, isNegative: number < 0) }

    private mutating func append(_ magnitude: UInt64, isNegative: Bool) {
        if isNegative { lines.append(UInt8(ascii: "-")) }
        // The greatest number has twenty digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (first, left) = (20, magnitude)
            repeat {
                first -= 1
                digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: left % 10)
                left /= 10
            } while left > 0
            lines.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    private mutating func append(_ number: Double) {
        guard number.isFinite else { return append(JSONText.plain(.double(number))) }
        var text = number.description
        text.withUTF8 { lines.append(contentsOf: $0) }
    }

    private mutating func append(_ text: String) {
        var text = isShown ? DisplayWidth.printable(text) : text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        switch separator {
        case .comma: appendQuoted(bytes)
        case .tab: appendEscaped(bytes)
        }
    }

    private mutating func appendQuoted(_ bytes: UnsafeRawBufferPointer) {
        let needsQuotes =
            bytes.first.map { $0 == 0x20 } ?? true || bytes.last == 0x20
            || bytes.contains { $0 == Self.comma || $0 == Self.quote || $0 == Self.newline || $0 == Self.return_ }
        guard needsQuotes else { return lines.append(contentsOf: bytes) }
        lines.append(Self.quote)
        for byte in bytes {
            if byte == Self.quote { lines.append(Self.quote) }
            lines.append(byte)
        }
        lines.append(Self.quote)
    }

    /// Writes a tab, a line end or a backslash as `\t`, `\n`, `\r` or `\\`.
    private mutating func appendEscaped(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes {
            switch byte {
            case Self.tab: lines += [Self.backslash, UInt8(ascii: "t")]
            case Self.newline: lines += [Self.backslash, UInt8(ascii: "n")]
            case Self.return_: lines += [Self.backslash, UInt8(ascii: "r")]
            case Self.backslash: lines += [Self.backslash, Self.backslash]
            default: lines.append(byte)
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

    /// Escapes a text so that Markdown doesn't read it as markup.
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
    /// The value as JSON; a text is without its quotes.
    static func plain(_ value: Value) -> String {
        let json = value.json
        return json.first == "\"" ? String(json.dropFirst().dropLast()) : json
    }

    /// Escapes characters in JSON that would control a terminal. Those below the space are escaped in all JSON.
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
    /// Returns JSON that is harmless where results appear: on a terminal it is escaped.
    func harmlessJSON(_ json: String) -> String { showsOnTerminal ? JSONText.harmless(json) : json }
}
