// SPDX-License-Identifier: Apache-2.0
// Equality and order of items. There are two relations: the operators `=` and `<`, which compare values of one kind,
// and the order of all items, by which ORDER BY sorts and MIN and MAX choose:
//
//     missing < null < false < true < numbers < dates < strings < UUIDs < data < arrays < objects
//
// Numbers compare by their values, whatever their types (`NumberOrder`), NaN after all others. Strings compare as in
// keys: by the scalars of their canonical composition.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages

extension StatementValue {
    /// The position of its kind among the kinds.
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

    /// Compares by the order of all items. The result is negative, zero or positive.
    func order(_ other: StatementValue) -> Int {
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

    private static func sorted(_ fields: [StatementField]) -> [StatementField] {
        fields.sorted { order(text: $0.name, $1.name) < 0 }
    }

    /// Returns the order of two values that may be compared by `<`, or nil for others. They are of one kind, or one of
    /// them is a string that can be read as the other's kind.
    func comparable(_ other: StatementValue) -> Int? {
        if rank == other.rank { return order(other) }
        if case .value(.string(let text)) = other, let read = read(text) { return order(read) }
        if case .value(.string(let text)) = self, let read = other.read(text) { return read.order(other) }
        return nil
    }

    /// The date, UUID or data that a text stands for, if this is one.
    func read(_ text: String) -> StatementValue? {
        switch self {
        case .value(.date): ISODate.seconds(text).map { .value(.date($0)) }
        case .value(.uuid): UUID(uuidString: text).map { .value(.uuid($0)) }
        case .value(.data): Data(base64Encoded: text).map { .value(.data($0)) }
        default: nil
        }
    }

    /// Whether `=` is true of two known values.
    func equals(_ other: StatementValue) -> Bool { comparable(other) == 0 }

    /// Whether no value of a column of this type can be compared with this one. Then `=` is false, and `<` neither true
    /// nor false.
    func isApart(from type: ColumnType) -> Bool {
        let (texts, numbers) = (5, 3)
        let kind: Int
        switch type.unwrapped {
        case .bool: kind = 2
        case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double, .decimal: kind = numbers
        case .date: kind = 4
        case .string, .url: kind = texts
        case .uuid: kind = 6
        case .data: kind = 7
        // JSON has values of any kind.
        case .json, .array, .optional: return false
        }
        // Texts can spell dates, UUIDs and data, but no numbers.
        if kind == texts { return rank != texts && (rank <= numbers || rank > 7) }
        return rank == texts ? kind <= numbers : rank != kind
    }

    // MARK: Keys of indexes

    /// Bytes that sort as items do. No key is the prefix of another one. An index over an expression holds them.
    var orderedKey: [UInt8] {
        var key = KeyWriter(capacity: 24)
        appendOrdered(to: &key)
        return key.bytes
    }

    /// The byte with which the keys of all values of its kind begin.
    var kindPrefix: UInt8 { UInt8(rank) }

    /// Appends the ordered key.
    func appendOrdered(to key: inout KeyWriter) {
        key.bytes.append(UInt8(rank))
        switch self {
        case .missing: break
        case .value(let value): Self.appendOrdered(value, to: &key)
        // Each part follows a byte above that of the end, so a shorter array comes first.
        case .array(let items):
            for item in items {
                key.bytes.append(1)
                item.appendOrdered(to: &key)
            }
            key.bytes.append(0)
        case .object(let fields):
            for field in Self.sorted(fields) {
                key.bytes.append(1)
                key.append(field.name)
                field.item.appendOrdered(to: &key)
            }
            key.bytes.append(0)
        }
    }

    /// Appends the ordered keys of several items.
    static func appendOrdered(_ items: [StatementValue], to key: inout KeyWriter) {
        for item in items { item.appendOrdered(to: &key) }
    }

    private static func appendOrdered(_ value: Value, to key: inout KeyWriter) {
        switch value {
        case .null, .array: break
        case .bool(let flag): key.append(flag)
        case .string(let text), .json(let text): key.append(text)
        case .date(let seconds): key.append(seconds)
        case .uuid(let id): key.append(uuid: id.uuid)
        case .data(let data): key.append(bytes: Array(data))
        case .int, .uint, .double, .decimal:
            let number = NumberOrder.Parts(value)
            key.bytes.append(UInt8(number.range + 2))
            key.append(number.decimal)
        }
    }

    // MARK: Values

    private static func order(_ left: Value, _ right: Value) -> Int {
        switch (left, right) {
        case (.bool(let left), .bool(let right)): return (left ? 1 : 0) - (right ? 1 : 0)
        case (.string(let left), .string(let right)): return order(text: left, right)
        case (.date(let left), .date(let right)): return NumberOrder.order(left, right)
        case (.uuid(let left), .uuid(let right)):
            return withUnsafeBytes(of: left.uuid) { left in withUnsafeBytes(of: right.uuid) { left.order($0) } }
        case (.data(let left), .data(let right)):
            return Array(left).withUnsafeBytes { left in Array(right).withUnsafeBytes { left.order($0) } }
        case (.null, .null): return 0
        default: return NumberOrder.order(left, right)
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
}

// MARK: - Keys of groups

extension StatementValue {
    /// Bytes that are equal exactly if the items are equal by their order: DISTINCT and GROUP BY compare them.
    static func key(_ items: [StatementValue]) -> [UInt8] {
        var key: [UInt8] = []
        for item in items { item.append(to: &key) }
        return key
    }

    /// The key of one item alone.
    var key: [UInt8] {
        var key: [UInt8] = []
        append(to: &key)
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

    /// Equal numbers of different types have the same bytes.
    private static func append(number: Value, to key: inout [UInt8]) {
        if let integer = NumberOrder.integer(number) {
            key.append(0)
            withUnsafeBytes(of: integer.littleEndian) { key.append(contentsOf: $0) }
            return
        }
        let number = NumberOrder.Parts(number)
        key.append(UInt8(number.range + 2))
        var writer = KeyWriter()
        writer.append(number.decimal)
        key += writer.bytes
    }
}
