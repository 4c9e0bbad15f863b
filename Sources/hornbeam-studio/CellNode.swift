// SPDX-License-Identifier: Apache-2.0
// Values as JSON for the page. Numbers are sent as texts, because JavaScript has only doubles. A long text is cut, and
// its size is sent with it.
//
//     null  true  "text"  {"n":"12"}  {"k":"date","t":"2024-01-31T…"}  {"k":"string","t":"beginn…","size":10000000}

import Hornbeam

enum CellNode {
    /// Maximum number of Unicode scalars sent for a cell of a table, and for a value of an entity.
    static let cellLimit = 200
    static let valueLimit = 20_000

    static func node(_ value: Value, limit: Int = cellLimit) -> JSONNode {
        switch value {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .int, .uint, .double, .decimal: .object([("n", .string(plain(value)))])
        case .date, .uuid: .object([("k", .string(kind(value))), ("t", .string(plain(value)))])
        case .string(let text): cut(text, limit, as: "string") ?? .string(text)
        case .data(let data):
            .object([
                ("k", .string("data")), ("t", .string(hexadecimal(data.prefix(limit / 2)))),
                ("size", .number("\(data.count)")),
            ])
        case .json(let text): cut(text, limit, as: "json") ?? .object([("k", .string("json")), ("t", .string(text))])
        case .array:
            cut(value.json, limit, as: "array") ?? .object([("k", .string("array")), ("t", .string(value.json))])
        }
    }

    /// Returns the beginning of a text that is too long, or nil if it isn't. The limit counts scalars, because a
    /// character may have any number of them.
    private static func cut(_ text: String, _ limit: Int, as kind: String) -> JSONNode? {
        guard text.utf8.count > limit, text.unicodeScalars.count > limit else { return nil }
        return .object([
            ("k", .string(kind)), ("t", .string(String(text.unicodeScalars.prefix(limit)))),
            ("size", .number("\(text.utf8.count)")),
        ])
    }

    /// Returns a value's JSON, without quotes around it unless the value itself is JSON.
    static func plain(_ value: Value) -> String {
        if case .json = value { return value.json }
        if case .string(let text) = JSONRows.node(value) { return text }
        return value.json
    }

    private static func kind(_ value: Value) -> String { if case .date = value { "date" } else { "uuid" } }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension JSONNode {
    /// A number that a double holds exactly.
    static func count(_ number: some BinaryInteger) -> JSONNode { .number("\(number)") }

    static func milliseconds(since start: ContinuousClock.Instant) -> JSONNode {
        milliseconds(start.duration(to: .now))
    }

    static func milliseconds(_ duration: Duration) -> JSONNode {
        let duration = duration.components
        return .number(Spelling.fixed(Double(duration.seconds) * 1e3 + Double(duration.attoseconds) * 1e-15, 3))
    }
}
