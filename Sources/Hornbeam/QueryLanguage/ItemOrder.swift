// SPDX-License-Identifier: Apache-2.0
// When items are equal, and which comes first. There are two such questions: what `=` and `<` say, which compare like
// with like, and the order of all items, by which ORDER BY sorts and MIN and MAX choose:
//
//     missing < null < false < true < numbers < dates < strings < UUIDs < data < arrays < objects
//
// Numbers compare by what they are, whatever their types; −0 is 0, and NaN equals itself, after all others. Strings
// compare as in keys: by the scalars of their canonical composition.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages

extension Item {
    /// Its place among the kinds.
    private var rank: Int {
        switch self {
        case .missing: 0
        case .value(let value):
            switch value {
            case .null: 1
            case .bool: 2
            case .int, .uint, .double, .decimal: 3
            case .date: 4
            case .string, .json: 5
            case .uuid: 6
            case .data: 7
            case .array: 8
            }
        case .array: 8
        case .object: 9
        }
    }

    /// Negative, zero or positive: the order of all items.
    func order(_ other: Item) -> Int {
        if rank != other.rank { return rank - other.rank }
        switch (self, other) {
        case (.value(let left), .value(let right)): return Self.order(left, right)
        case (.array(let left), .array(let right)):
            for (first, second) in zip(left, right) {
                let order = first.order(second)
                if order != 0 { return order }
            }
            return left.count - right.count
        case (.object(let left), .object(let right)):
            let (left, right) = (Self.sorted(left), Self.sorted(right))
            for (first, second) in zip(left, right) {
                let order = Self.order(text: first.name, second.name)
                if order != 0 { return order }
                let inner = first.item.order(second.item)
                if inner != 0 { return inner }
            }
            return left.count - right.count
        default: return 0
        }
    }

    private static func sorted(_ fields: [ItemField]) -> [ItemField] {
        fields.sorted { order(text: $0.name, $1.name) < 0 }
    }

    /// The order of two that may be compared by `<`: of one kind, or one of them a string that says what the other is.
    /// Nil for others.
    func comparable(_ other: Item) -> Int? {
        if rank == other.rank { return order(other) }
        if case .value(.string(let text)) = other, let read = read(text) { return order(read) }
        if case .value(.string(let text)) = self, let read = other.read(text) { return read.order(other) }
        return nil
    }

    /// The date, UUID or data that a text stands for, if this is one.
    private func read(_ text: String) -> Item? {
        switch self {
        case .value(.date): ISODate.seconds(text).map { .value(.date($0)) }
        case .value(.uuid): UUID(uuidString: text).map { .value(.uuid($0)) }
        case .value(.data): Data(base64Encoded: text).map { .value(.data($0)) }
        default: nil
        }
    }

    /// Whether `=` holds of two that are known.
    func equals(_ other: Item) -> Bool { comparable(other) == 0 }

    // MARK: Values

    private static func order(_ left: Value, _ right: Value) -> Int {
        switch (left, right) {
        case (.bool(let left), .bool(let right)): return (left ? 1 : 0) - (right ? 1 : 0)
        case (.string(let left), .string(let right)): return order(text: left, right)
        case (.date(let left), .date(let right)): return order(left, right)
        case (.uuid(let left), .uuid(let right)):
            return withUnsafeBytes(of: left.uuid) { left in withUnsafeBytes(of: right.uuid) { left.order($0) } }
        case (.data(let left), .data(let right)):
            return Array(left).withUnsafeBytes { left in Array(right).withUnsafeBytes { left.order($0) } }
        case (.null, .null): return 0
        default: return order(numbers: left, right)
        }
    }

    static func order(text left: String, _ right: String) -> Int {
        if left.utf8.allSatisfy({ $0 < 0x80 }), right.utf8.allSatisfy({ $0 < 0x80 }) {
            return left == right ? 0 : left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
        }
        var (first, second) = (KeyWriter(), KeyWriter())
        first.append(left)
        second.append(right)
        return first.bytes.withUnsafeBytes { first in second.bytes.withUnsafeBytes { first.order($0) } }
    }

    private static func order(_ left: Double, _ right: Double) -> Int {
        if left.isNaN || right.isNaN { return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0) }
        return left < right ? -1 : left > right ? 1 : 0
    }

    private static func order(numbers left: Value, _ right: Value) -> Int {
        if let first = integer(left), let second = integer(right) {
            return first < second ? -1 : first > second ? 1 : 0
        }
        switch (left, right) {
        case (.double(let left), .double(let right)): return order(left, right)
        case (.double(let left), _): return -order(right, left)
        case (_, .double(let right)): return order(left, right)
        default:
            guard let left = decimal(left), let right = decimal(right) else { return 0 }
            if left.isNaN || right.isNaN { return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0) }
            return left < right ? -1 : left > right ? 1 : 0
        }
    }

    private static func integer(_ value: Value) -> Int128? {
        switch value {
        case .int(let number): Int128(number)
        case .uint(let number): Int128(number)
        default: nil
        }
    }

    static func decimal(_ value: Value) -> Decimal? {
        switch value {
        case .int(let number): Decimal(number)
        case .uint(let number): Decimal(number)
        case .decimal(let number): number
        // The decimal that it is written as.
        case .double(let number): number.isFinite && abs(number) < 1e120 ? Decimal(string: number.description) : nil
        default: nil
        }
    }

    /// An integer or a decimal against a double: exactly, but that a decimal compares with what the double is written
    /// as, so that 0.1 is 0.1.
    private static func order(_ left: Value, _ right: Double) -> Int {
        if case .decimal(let number) = left, number.isNaN { return right.isNaN ? 0 : 1 }
        if right.isNaN { return -1 }
        if let integer = integer(left) {
            guard abs(right) < 0x1p100 else { return right < 0 ? 1 : -1 }
            let whole = right.rounded(.down)
            let floor = Int128(whole)
            return integer < floor ? -1 : integer > floor ? 1 : right > whole ? -1 : 0
        }
        guard let first = decimal(left), let second = decimal(.double(right)) else {
            return order(Item.value(left).number ?? 0, right)
        }
        return first < second ? -1 : first > second ? 1 : 0
    }
}

// MARK: - Keys of groups

extension Item {
    /// Bytes that are the same exactly for items without an order between them: what DISTINCT and GROUP BY go by.
    static func key(_ items: [Item]) -> [UInt8] {
        var key: [UInt8] = []
        for item in items { item.append(to: &key) }
        return key
    }

    private func append(to key: inout [UInt8]) {
        key.append(UInt8(rank))
        switch self {
        case .missing: break
        case .value(let value): Self.append(value, to: &key)
        case .array(let items):
            Self.append(count: items.count, to: &key)
            for item in items { item.append(to: &key) }
        case .object(let fields):
            Self.append(count: fields.count, to: &key)
            for field in Self.sorted(fields) {
                Self.append(text: field.name, to: &key)
                field.item.append(to: &key)
            }
        }
    }

    private static func append(count: Int, to key: inout [UInt8]) {
        ValueBytes.appendLittle(UInt64(count), 8, to: &key)
    }

    private static func append(text: String, to key: inout [UInt8]) {
        var writer = KeyWriter()
        writer.append(text)
        append(count: writer.bytes.count, to: &key)
        key += writer.bytes
    }

    private static func append(_ value: Value, to key: inout [UInt8]) {
        switch value {
        case .null, .array: break
        case .bool(let flag): key.append(flag ? 1 : 0)
        case .string(let text), .json(let text): append(text: text, to: &key)
        case .date(let seconds): ValueBytes.appendLittle((seconds == 0 ? 0 : seconds).bitPattern, 8, to: &key)
        case .uuid(let id): withUnsafeBytes(of: id.uuid) { key.append(contentsOf: $0) }
        case .data(let data):
            append(count: data.count, to: &key)
            key += data
        case .int, .uint, .double, .decimal: append(number: value, to: &key)
        }
    }

    /// Equal numbers of different types have the same bytes: an integer's if it is one, else a double's if that is
    /// written as the number is.
    private static func append(number: Value, to key: inout [UInt8]) {
        if let integer = Item.value(number).integer {
            key.append(0)
            withUnsafeBytes(of: integer.littleEndian) { key.append(contentsOf: $0) }
            return
        }
        var double = Item.value(number).number ?? .nan
        if case .decimal(let decimal) = number, !decimal.isNaN, Self.decimal(.double(double)) != decimal {
            key.append(2)
            append(text: decimal.description, to: &key)
            return
        }
        key.append(1)
        if double.isNaN { double = .nan }
        ValueBytes.appendLittle(double.bitPattern, 8, to: &key)
    }
}
