// SPDX-License-Identifier: Apache-2.0
// A small JSON reader and writer that keeps numbers as they are written, so that 64-bit integers and decimals pass
// through exactly. Input may be anything: errors name the byte, nesting is bounded, nothing traps.

package import HornbeamPages

/// A JSON value. The members of an object keep their order.
package enum JSONNode: Sendable {
    case null
    case bool(Bool)
    /// The number's text.
    case number(String)
    case string(String)
    case array([JSONNode])
    case object([(name: String, value: JSONNode)])

    /// Compact text, without line feeds.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .number(let number): text += number
        case .string(let string): Self.write(string, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    static func write(_ string: String, to text: inout String) {
        text += "\""
        if string.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) {
            text += string
        } else {
            for scalar in string.unicodeScalars {
                switch scalar {
                case "\"": text += "\\\""
                case "\\": text += "\\\\"
                case "\n": text += "\\n"
                case "\r": text += "\\r"
                case "\t": text += "\\t"
                case "\u{0}"..<"\u{20}":
                    let hex = String(scalar.value, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
                default: text.unicodeScalars.append(scalar)
                }
            }
        }
        text += "\""
    }
}

extension JSONNode: Equatable {
    package static func == (left: JSONNode, right: JSONNode) -> Bool { left.text == right.text }
}

/// Reads one JSON value from bytes.
package struct JSONParser {
    private let bytes: Bytes
    private var at = 0
    /// Maximum number of arrays and objects inside one another: the depth of a column's value, and 32 levels around it
    /// for the object of an entity's line, the JSON of a deleted entity in it, and the arrays of a column's type.
    static let maximumDepth = CodedJSON.maximumDepth + 32
    /// The byte at which the value of each member of the outermost object begins.
    private var places: [Int] = []

    private init(_ bytes: Bytes) { self.bytes = bytes }

    /// Parses bytes that hold one value. White space may surround it.
    package static func parse(_ bytes: Bytes) throws(HornbeamError) -> JSONNode {
        var parser = JSONParser(bytes)
        return try parser.whole()
    }

    private mutating func whole() throws(HornbeamError) -> JSONNode {
        let node = try value(depth: 0)
        skipSpace()
        guard at == bytes.count else { throw failure("text after the value") }
        return node
    }

    /// The members of an object, each with the byte at which its value begins; nil if the bytes are no object.
    static func members(_ bytes: Bytes) throws(HornbeamError) -> [(name: String, value: JSONNode, at: Int)]? {
        var parser = JSONParser(bytes)
        guard case .object(let members) = try parser.whole() else { return nil }
        return zip(members, parser.places).map { (name: $0.name, value: $0.value, at: $1) }
    }

    package static func parse(_ text: String) throws(HornbeamError) -> JSONNode {
        try Array(text.utf8).withBytes { (bytes) throws(HornbeamError) in try parse(bytes) }
    }

    private func failure(_ what: String) -> HornbeamError {
        HornbeamError(.invalid, "not JSON: \(what), \(Self.place(at, in: bytes))")
    }

    /// A byte's position in words: `at character 5`, or `at line 2, character 5` in a text of several lines.
    static func place(_ at: Int, in bytes: Bytes) -> String {
        let start = bytes[..<at].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let character = "character \(String(decoding: bytes[start..<at], as: UTF8.self).count + 1)"
        guard bytes.contains(0x0A) else { return "at \(character)" }
        return "at line \(bytes[..<at].count { $0 == 0x0A } + 1), \(character)"
    }

    private var tooDeep: HornbeamError {
        failure("more than \(Self.maximumDepth) levels of nesting (a property may have \(CodedJSON.maximumDepth))")
    }

    private mutating func skipSpace() {
        while at < bytes.count, bytes[at] == 0x20 || (0x09...0x0D).contains(bytes[at]) { at += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard at < bytes.count, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    private mutating func takeWord(_ word: StaticString) -> Bool {
        guard at + word.utf8CodeUnitCount <= bytes.count else { return false }
        for index in 0..<word.utf8CodeUnitCount where bytes[at + index] != word.utf8Start[index] { return false }
        at += word.utf8CodeUnitCount
        return true
    }

    private mutating func value(depth: Int) throws(HornbeamError) -> JSONNode {
        skipSpace()
        guard at < bytes.count else { throw failure("the end instead of a value") }
        switch bytes[at] {
        case 0x22: return .string(try string())
        case 0x5B: return try array(depth)
        case 0x7B: return try object(depth)
        case 0x2D, 0x30...0x39: return .number(try number())
        default:
            if takeWord("null") { return .null }
            if takeWord("true") { return .bool(true) }
            if takeWord("false") { return .bool(false) }
            throw failure("no value")
        }
    }

    private mutating func array(_ depth: Int) throws(HornbeamError) -> JSONNode {
        guard depth < Self.maximumDepth else { throw tooDeep }
        at += 1
        var values: [JSONNode] = []
        skipSpace()
        if take(0x5D) { return .array(values) }
        while true {
            values.append(try value(depth: depth + 1))
            skipSpace()
            if take(0x5D) { return .array(values) }
            guard take(0x2C) else { throw failure("neither , nor ]") }
        }
    }

    private mutating func object(_ depth: Int) throws(HornbeamError) -> JSONNode {
        guard depth < Self.maximumDepth else { throw tooDeep }
        at += 1
        var members: [(name: String, value: JSONNode)] = []
        skipSpace()
        if take(0x7D) { return .object(members) }
        while true {
            skipSpace()
            guard at < bytes.count, bytes[at] == 0x22 else { throw failure("no name") }
            let name = try string()
            skipSpace()
            guard take(0x3A) else { throw failure("no : after a name") }
            if depth == 0 {
                skipSpace()
                places.append(at)
            }
            members.append((name, try value(depth: depth + 1)))
            skipSpace()
            if take(0x7D) { return .object(members) }
            guard take(0x2C) else { throw failure("neither , nor }") }
        }
    }

    private mutating func number() throws(HornbeamError) -> String {
        let start = at
        _ = take(0x2D)
        let digits = at
        skipDigits()
        guard at > digits, bytes[digits] != 0x30 || at == digits + 1 else { throw failure("no number") }
        if take(0x2E) {
            let fraction = at
            skipDigits()
            guard at > fraction else { throw failure("no digit after the point") }
        }
        if take(0x65) || take(0x45) {
            if !take(0x2B) { _ = take(0x2D) }
            let exponent = at
            skipDigits()
            guard at > exponent else { throw failure("no digit in the exponent") }
        }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private mutating func skipDigits() {
        while at < bytes.count, (0x30...0x39).contains(bytes[at]) { at += 1 }
    }

    private mutating func string() throws(HornbeamError) -> String {
        at += 1
        let start = at
        while at < bytes.count, bytes[at] != 0x22, bytes[at] != 0x5C { at += 1 }
        guard at < bytes.count else { throw failure("a string without an end") }
        if bytes[at] == 0x22 {
            guard let text = ValueBytes.string(Bytes(rebasing: bytes[start..<at])) else { throw failure("no UTF-8") }
            at += 1
            return text
        }
        var content = Array(bytes[start..<at])
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            if byte == 0x22 {
                guard let text = String(validating: content, as: UTF8.self) else { throw failure("no UTF-8") }
                return text
            }
            if byte == 0x5C { try escape(&content) } else { content.append(byte) }
        }
        throw failure("a string without an end")
    }

    private mutating func escape(_ content: inout [UInt8]) throws(HornbeamError) {
        guard at < bytes.count else { throw failure("a string without an end") }
        let byte = bytes[at]
        at += 1
        switch byte {
        case 0x22, 0x5C, 0x2F: content.append(byte)
        case 0x62: content.append(0x08)
        case 0x66: content.append(0x0C)
        case 0x6E: content.append(0x0A)
        case 0x72: content.append(0x0D)
        case 0x74: content.append(0x09)
        case 0x75:
            var code = try hex4()
            if (0xD800..<0xDC00).contains(code) {
                guard take(0x5C), take(0x75), case let low = try hex4(), (0xDC00..<0xE000).contains(low) else {
                    throw failure("half a surrogate pair")
                }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw failure("half a surrogate pair") }
            content.append(contentsOf: Array(String(Character(scalar)).utf8))
        default: throw failure("an unknown escape")
        }
    }

    private mutating func hex4() throws(HornbeamError) -> UInt32 {
        guard at + 4 <= bytes.count, let code = UInt32(String(decoding: bytes[at..<at + 4], as: UTF8.self), radix: 16)
        else { throw failure("no four hexadecimal digits") }
        at += 4
        return code
    }
}
