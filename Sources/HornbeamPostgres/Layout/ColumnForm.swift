// SPDX-License-Identifier: Apache-2.0
// The form of values in columns of PostgreSQL: the column's type, and the text in which the server reads and writes a
// value. If a column can't hold a value, it holds the nearest one, and `_exact` holds the value itself.
//
//     bool → boolean            float → real                  data → bytea
//     int8, int16, uint8 → smallint    double → double precision     decimal → numeric
//     int32, uint16 → integer   date → timestamptz (µs)       json → json
//     int64, uint32 → bigint    uuid → uuid                   [T] → T[], or json where T is json or an array itself
//     uint64 → numeric(20)      string, url → text (NFC, collation "C")
//
// Texts are in their canonical composition, so that the server's order of bytes is the store's order of texts. The
// server's texts can't have U+0000: it is two U+0001 there, and U+0001 is U+0001 U+0002, which keeps the order too. Ids
// with U+0000 are refused, and others are as they are. Ids that are dates are seconds since 2001 as double precision,
// because an id must be exact.

import FoundationEssentials
import Hornbeam
import HornbeamKeys
import HornbeamPages

/// The form of one column.
struct ColumnForm: Hashable {
    private let type: ColumnType
    private let isID: Bool

    init(_ type: ColumnType, isID: Bool = false) {
        self.type = type.unwrapped
        self.isID = isID
    }

    /// The column's type in a statement.
    var sql: String {
        switch type {
        case .bool: "boolean"
        case .int8, .int16, .uint8: "smallint"
        case .int32, .uint16: "integer"
        case .int64, .uint32: "bigint"
        case .uint64: "numeric(20)"
        case .float: "real"
        case .double: "double precision"
        case .date: isID ? "double precision" : "timestamp with time zone"
        case .uuid: "uuid"
        case .string, .url: #"text COLLATE "C""#
        case .data: "bytea"
        case .decimal: "numeric"
        case .json, .optional: "json"
        case .array(let element): isList ? "\(ColumnForm(element).plainSQL)[]" : "json"
        }
    }

    /// The type without a collation, for elements of arrays and for parameters.
    var plainSQL: String { sql.hasPrefix("text") ? "text" : sql }

    /// Whether it is an array of the server's own.
    var isList: Bool {
        guard case .array(let element) = type else { return false }
        switch element.unwrapped {
        case .json, .array: return false
        default: return true
        }
    }

    // MARK: Writing

    /// Appends the text of a value that is not null. Returns false if the column can't hold the value exactly.
    func append(_ value: Value, to text: inout [UInt8]) -> Bool {
        switch value {
        case .null: return true
        case .bool(let flag): text.append(UInt8(ascii: flag ? "t" : "f"))
        case .int(let number): text.append(contentsOf: String(number).utf8)
        case .uint(let number): text.append(contentsOf: String(number).utf8)
        case .double(let number): return append(number, to: &text)
        case .date(let seconds): return isID ? append(seconds, to: &text) : append(date: seconds, to: &text)
        case .uuid(let id): text.append(contentsOf: id.uuidString.utf8)
        case .string(let string): return append(string, to: &text)
        case .data(let data): append(data, to: &text)
        case .decimal(let number):
            let written = number.isNaN ? "NaN" : number.description
            text.append(contentsOf: written.utf8)
            return number.isNaN || JSONRows.value(.number(written), as: .decimal) == value
        case .json(let json): text.append(contentsOf: json.utf8)
        case .array(let values):
            if isList { return append(values, to: &text) }
            text.append(contentsOf: JSONRows.node(value).text.utf8)
        }
        return true
    }

    /// Appends a number in the shortest text that reads back as it. Returns false for a NaN with other bits than the
    /// default one.
    private func append(_ number: Double, to text: inout [UInt8]) -> Bool {
        if number.isFinite {
            text.append(contentsOf: (type == .float ? Float(number).description : number.description).utf8)
            return true
        }
        text.append(contentsOf: (number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity").utf8)
        return !number.isNaN || number.bitPattern == Double.nan.bitPattern
    }

    private func append(date seconds: Double, to text: inout [UInt8]) -> Bool {
        guard let microseconds = Self.microseconds(seconds), let written = ISODate.text(microseconds: microseconds)
        else {
            text.append(contentsOf: (seconds < 0 ? "-infinity" : "infinity").utf8)
            return seconds.isInfinite
        }
        text.append(contentsOf: written.utf8)
        return Self.seconds(microseconds).bitPattern == seconds.bitPattern
    }

    /// Returns the microseconds since 1970, rounded to the nearest. Returns nil for a date beyond the years 1 to 9999.
    private static func microseconds(_ seconds: Double) -> Int? {
        guard seconds > -63_113_904_000, seconds < 252_423_993_600 else { return nil }
        return Int((seconds * 1e6).rounded()) + ISODate.referenceOffset * 1_000_000
    }

    /// Returns the date at a number of microseconds since 1970.
    static func seconds(_ microseconds: Int) -> Double {
        Double(microseconds - ISODate.referenceOffset * 1_000_000) / 1e6
    }

    private func append(_ string: String, to text: inout [UInt8]) -> Bool {
        var string = string
        let isPlain = string.withUTF8 { bytes in
            for byte in bytes where byte < 2 || byte >= 0x80 { return false }
            text.append(contentsOf: bytes)
            return true
        }
        if isPlain { return true }
        var composed = string.composed
        let start = text.count
        composed.withUTF8 { text.append(contentsOf: $0) }
        let isExact = string.utf8.elementsEqual(text[start...])
        guard text[start...].contains(where: { $0 < (isID ? 1 : 2) }) else { return isExact }
        let zero = isID ? Array("\u{FFFD}".utf8) : [1, 1]
        let bytes = text[start...].flatMap { byte in byte == 0 ? zero : byte == 1 && !isID ? [1, 2] : [byte] }
        text.replaceSubrange(start..., with: bytes)
        return false
    }

    private func append(_ data: Data, to text: inout [UInt8]) {
        text.append(contentsOf: #"\x"#.utf8)
        let digits = Array("0123456789abcdef".utf8)
        for byte in data {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
    }

    private func append(_ values: [Value], to text: inout [UInt8]) -> Bool {
        guard case .array(let element) = type else { return false }
        return ColumnForm(element).appendList(values, to: &text)
    }

    /// Appends an array of the server, with elements of this form. Returns false if it isn't exact.
    func appendList(_ values: [Value], to text: inout [UInt8]) -> Bool {
        var isExact = true
        text.append(UInt8(ascii: "{"))
        for (place, value) in values.enumerated() {
            if place > 0 { text.append(UInt8(ascii: ",")) }
            if value == .null {
                text.append(contentsOf: "NULL".utf8)
                continue
            }
            var part: [UInt8] = []
            isExact = append(value, to: &part) && isExact
            text.append(UInt8(ascii: "\""))
            for byte in part {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
                text.append(byte)
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        return isExact
    }

    /// Returns the value's text, or nil for null. If the column can't hold the value, it is the text of the nearest
    /// one.
    func text(_ value: Value) -> String? {
        if value == .null { return nil }
        var text: [UInt8] = []
        _ = append(value, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether the column holds the value exactly.
    func isExact(_ value: Value) -> Bool {
        var text: [UInt8] = []
        return append(value, to: &text)
    }

    // MARK: Reading

    /// Reads a value from its text. Returns nil if the text isn't a value of the column.
    func value(_ text: Bytes) -> Value? {
        let string = String(decoding: text, as: UTF8.self)
        switch type {
        case .bool: return string == "t" ? .bool(true) : string == "f" ? .bool(false) : nil
        case .int8, .int16, .int32, .int64: return Int64(string).flatMap { Value.int($0).converted(to: type) }
        case .uint8, .uint16, .uint32, .uint64: return UInt64(string).flatMap { Value.uint($0).converted(to: type) }
        case .float: return Float(string).map { .double(Double($0)) }
        case .double: return Double(string).map { .double($0) }
        case .date: return date(string).map { .date($0) }
        case .uuid: return UUID(uuidString: string).map { .uuid($0) }
        case .string, .url: return .string(string)
        case .data: return data(text).map { .data($0) }
        case .decimal:
            return string == "NaN" ? .decimal(.nan) : JSONRows.value(.number(string), as: .decimal)
        case .json, .optional: return .json(string)
        case .array(let element):
            if isList { return list(text, ColumnForm(element)) }
            return (try? JSONParser.parse(text)).flatMap { JSONRows.value($0, as: type) }
        }
    }

    private func date(_ text: String) -> Double? {
        if isID { return Double(text) }
        switch text {
        case "infinity": return .infinity
        case "-infinity": return -.infinity
        default: break
        }
        // The session's zone is UTC: the text ends in +00, without minutes.
        guard text.hasSuffix("+00") else { return nil }
        return ISODate.microseconds(String(text.dropLast(3))).map { Self.seconds($0) }
    }

    private func data(_ text: Bytes) -> Data? {
        guard text.count >= 2, text.count % 2 == 0, text[0] == UInt8(ascii: "\\"), text[1] == UInt8(ascii: "x")
        else { return nil }
        var data = Data(capacity: text.count / 2 - 1)
        for place in stride(from: 2, to: text.count, by: 2) {
            guard let high = Self.digit(text[place]), let low = Self.digit(text[place + 1]) else { return nil }
            data.append(high << 4 | low)
        }
        return data
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Reads `{1,NULL,"a \"b\""}`.
    private func list(_ text: Bytes, _ form: ColumnForm) -> Value? {
        guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}") else { return nil }
        var values: [Value] = []
        var place = 1
        let end = text.count - 1
        while place < end {
            var part: [UInt8] = []
            let isQuoted = text[place] == UInt8(ascii: "\"")
            if isQuoted { place += 1 }
            while place < end, text[place] != UInt8(ascii: isQuoted ? "\"" : ",") {
                if text[place] == UInt8(ascii: "\\") { place += 1 }
                part.append(text[place])
                place += 1
            }
            if isQuoted { place += 1 }
            if place < end, text[place] != UInt8(ascii: ",") { return nil }
            place += 1
            if !isQuoted, part == Array("NULL".utf8) {
                values.append(.null)
            } else {
                guard let value = part.withUnsafeBytes({ form.value($0) }) else { return nil }
                values.append(value)
            }
        }
        return .array(values)
    }
}

// MARK: - Exact values

/// The column `_exact`: an object with the values that their columns don't hold exactly, by the names of properties.
enum ExactValues {
    static let notANumber = "NaN:"

    /// Returns the JSON of a value that a column can't hold.
    static func node(_ value: Value) -> JSONNode {
        switch value {
        case .double(let number) where number.isNaN:
            .string(notANumber + String(number.bitPattern, radix: 16))
        case .date(let seconds) where seconds.isNaN:
            .string(notANumber + String(seconds.bitPattern, radix: 16))
        case .array(let values): .array(values.map(node))
        default: JSONRows.node(value)
        }
    }

    /// Returns the value of a column's JSON, or nil if it isn't a value of the type.
    static func value(_ node: JSONNode, as type: ColumnType) -> Value? {
        switch (type.unwrapped, node) {
        case (.float, .string(let text)) where text.hasPrefix(notANumber): number(text).map { .double($0) }
        case (.double, .string(let text)) where text.hasPrefix(notANumber): number(text).map { .double($0) }
        case (.date, .string(let text)) where text.hasPrefix(notANumber): number(text).map { .date($0) }
        case (.array(let element), .array(let nodes)): list(nodes, element)
        default: JSONRows.value(node, as: type)
        }
    }

    private static func list(_ nodes: [JSONNode], _ element: ColumnType) -> Value? {
        var values: [Value] = []
        for node in nodes {
            guard let value = node == .null ? .null : value(node, as: element) else { return nil }
            values.append(value)
        }
        return .array(values)
    }

    private static func number(_ text: String) -> Double? {
        UInt64(text.dropFirst(notANumber.count), radix: 16).map { Double(bitPattern: $0) }
    }

    /// Reads the whole column. Returns nil if it isn't such an object.
    static func read(_ text: Bytes) -> [String: JSONNode]? {
        guard case .object(let members) = try? JSONParser.parse(text) else { return nil }
        return Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
    }
}
