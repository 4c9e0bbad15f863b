// SPDX-License-Identifier: Apache-2.0
// The value of an expression while a statement runs: a `Value`, a JSON array or object, or missing. JSON texts are
// parsed once, when a row is read, so that paths lead into them.

import FoundationEssentials

/// The value of an expression.
enum StatementValue: Sendable, Equatable {
    /// The value of a path that leads to nothing. Unlike null it is left out of a row's JSON.
    case missing
    /// Neither JSON nor an array: these are the cases below.
    case value(Value)
    case array([StatementValue])
    case object([StatementField])

    static var null: StatementValue { .value(.null) }

    static func bool(_ flag: Bool) -> StatementValue { .value(.bool(flag)) }
    static func int(_ number: Int) -> StatementValue { .value(.int(Int64(number))) }
    static func double(_ number: Double) -> StatementValue { .value(.double(number)) }
    static func string(_ text: String) -> StatementValue { .value(.string(text)) }
}

struct StatementField: Sendable, Equatable {
    var name: String
    var item: StatementValue
}

extension StatementValue {
    /// Makes the value of a column. JSON that can't be read, which no row should have, becomes a string.
    init(_ value: Value) {
        switch value {
        case .json(let text): self = (try? JSONParser.parse(text)).map { StatementValue($0) } ?? .string(text)
        case .array(let values): self = .array(values.map { StatementValue($0) })
        default: self = .value(value)
        }
    }

    init(_ node: JSONNode) {
        switch node {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .number(let text): self = .value(Self.number(text))
        case .string(let text): self = .string(text)
        case .array(let nodes): self = .array(nodes.map { StatementValue($0) })
        case .object(let members):
            self = .object(members.map { StatementField(name: $0.name, item: StatementValue($0.value)) })
        }
    }

    /// Integers exactly if they fit 64 bits; other numbers as doubles.
    private static func number(_ text: String) -> Value {
        if let number = Int64(text) { return .int(number) }
        if let number = UInt64(text) { return .uint(number) }
        return .double(Double(text) ?? .nan)
    }

    /// The value of a number in a statement: an integer if it is one of 64 bits, a decimal if it has more digits than a
    /// double needs, else a double. Returns nil if the text is no number, or beyond all doubles.
    static func written(_ text: String) -> Value? {
        if let number = Int64(text) { return .int(number) }
        if let number = UInt64(text) { return .uint(number) }
        guard let double = Double(text), double.isFinite else { return nil }
        let digits = text.prefix { $0 != "e" && $0 != "E" }.utf8.filter { (48...57).contains($0) }
        let significant = digits.drop { $0 == 48 }.reversed().drop { $0 == 48 }.count
        let sign = text.prefix { $0 == "-" || $0 == "+" }
        guard significant > maxDigits, text.utf8.allSatisfy({ (48...57).contains($0) || "+-.eE".utf8.contains($0) }),
            // `Decimal` needs a digit before the point, hence the zero.
            let decimal = Decimal(string: (sign == "-" ? "-0" : "0") + text.dropFirst(sign.count)), !decimal.isNaN
        else { return .double(double) }
        return .decimal(decimal)
    }

    /// Digits that are enough to tell any double from all others.
    private static let maxDigits = 17

    /// The value as a cell of a result; nil if it is missing.
    var result: Value? {
        switch self {
        case .missing: nil
        case .value(let value): value
        case .array(let items): .array(items.map { $0.result ?? .null })
        case .object: .json(node.text)
        }
    }

    var node: JSONNode {
        switch self {
        case .missing: .null
        case .value(let value): JSONRows.node(value)
        case .array(let items): .array(items.map(\.node))
        case .object(let fields):
            .object(fields.filter { $0.item != .missing }.map { (name: $0.name, value: $0.item.node) })
        }
    }

    // MARK: Size

    /// Maximum number of bytes that the values computed for one row may take at a time, 16 MiB. Otherwise a short
    /// statement could fill the memory by doubling a text again and again.
    static let maxSize = 16 << 20

    static var tooLarge: HornbeamError {
        HornbeamError(.tooLarge, "what is computed of a row takes more than \(maxSize) bytes")
    }

    static func requireSize(_ size: Int) throws(HornbeamError) {
        if size > maxSize { throw tooLarge }
    }

    /// Number of bytes that it takes besides its own inline storage, including parts that it shares with others.
    /// Counting stops beyond `limit`, because parts that are shared many times would take as long as separate ones.
    func size(upTo limit: Int) -> Int {
        switch self {
        case .missing: return 0
        case .value(.string(let text)), .value(.json(let text)): return text.utf8.count
        case .value(.data(let data)): return data.count
        case .value: return 0
        case .array(let items):
            var size = items.count * MemoryLayout<StatementValue>.stride
            for item in items where size <= limit { size += item.size(upTo: limit - size) }
            return size
        case .object(let fields):
            var size = fields.count * MemoryLayout<StatementField>.stride
            for field in fields where size <= limit {
                size += field.name.utf8.count + field.item.size(upTo: limit - size)
            }
            return size
        }
    }

    // MARK: Parts

    /// `item.name`: missing if the item is no object, but null for null.
    func field(_ name: String) -> StatementValue {
        switch self {
        case .object(let fields): fields.first { $0.name == name }?.item ?? .missing
        case .value(.null): .null
        default: .missing
        }
    }

    /// `item[2]`; negative indexes count from the end.
    func element(_ index: Int) -> StatementValue {
        switch self {
        case .array(let items):
            // For an index that no array has, the sum may overflow.
            if index >= 0 {
                index < items.count ? items[index] : .missing
            } else {
                index >= -items.count ? items[items.count + index] : .missing
            }
        case .value(.null): .null
        default: .missing
        }
    }

    var isUnknown: Bool { self == .missing || self == .null }

    /// The truth of a condition, nil where it is neither true nor false.
    var truth: Bool? { if case .value(.bool(let flag)) = self { flag } else { nil } }

    /// A string's text.
    var text: String? { if case .value(.string(let text)) = self { text } else { nil } }

    /// A number as the nearest double.
    var number: Double? {
        switch self {
        case .value(.int(let number)): Double(number)
        case .value(.uint(let number)): Double(number)
        case .value(.double(let number)): number
        case .value(.decimal(let number)): Double(number.description)
        default: nil
        }
    }

    /// A number without a fraction.
    var integer: Int128? { if case .value(let value) = self { NumberOrder.integer(value) } else { nil } }
}
