// SPDX-License-Identifier: Apache-2.0
// The types that the row format knows, and how each maps to a column. `Int` is an int64 column on every machine. By
// default a value is written and read through `Value`; integers, floats, booleans and strings go straight to the row's
// bytes.

public import FoundationEssentials

extension ColumnValue {
    public func write(to row: inout RowWriter, column: Int) {
        row.set(columnValue, column)
    }

    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Self {
        guard let value = Self(columnValue: try row.value(column)) else {
            throw row.undecodable(column, as: "\(Self.self)")
        }
        return value
    }

    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Self? {
        let value = try row.value(column)
        // Null doesn't count as an unknown value: `read` accepts or refuses it.
        if value == .null { return try read(from: row, column: column) }
        return Self(columnValue: value)
    }
}

/// Raw-representable types, such as enums, take all requirements from their raw value: declaring the conformance is
/// enough.
extension ColumnValue where Self: RawRepresentable, RawValue: ColumnValue {
    public static var columnType: ColumnType { RawValue.columnType }
    public var columnValue: Value { rawValue.columnValue }

    public init?(columnValue: Value) {
        guard let raw = RawValue(columnValue: columnValue) else { return nil }
        self.init(rawValue: raw)
    }

    @inlinable
    public func write(to row: inout RowWriter, column: Int) { rawValue.write(to: &row, column: column) }

    @inlinable
    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Self {
        try row.represented(try RawValue.read(from: row, column: column), column)
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Self? {
        try RawValue.readIfKnown(from: row, column: column).flatMap { Self(rawValue: $0) }
    }
}

extension ColumnValue where Self: FixedWidthInteger & SignedInteger {
    public var columnValue: Value { .int(Int64(self)) }

    public init?(columnValue: Value) {
        guard case .int(let value) = columnValue else { return nil }
        self.init(exactly: value)
    }

    @inlinable
    public func write(to row: inout RowWriter, column: Int) { row.setInt(Int64(self), column) }

    @inlinable
    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Self {
        guard let stored = try row.int(column), let value = Self(exactly: stored) else {
            throw row.undecodable(column, as: "\(Self.self)")
        }
        return value
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Self? {
        try read(from: row, column: column)
    }
}

extension ColumnValue where Self: FixedWidthInteger & UnsignedInteger {
    public var columnValue: Value { .uint(UInt64(self)) }

    public init?(columnValue: Value) {
        guard case .uint(let value) = columnValue else { return nil }
        self.init(exactly: value)
    }

    @inlinable
    public func write(to row: inout RowWriter, column: Int) { row.setUInt(UInt64(self), column) }

    @inlinable
    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Self {
        guard let stored = try row.uint(column), let value = Self(exactly: stored) else {
            throw row.undecodable(column, as: "\(Self.self)")
        }
        return value
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Self? {
        try read(from: row, column: column)
    }
}

extension Int: IndexKey { public static var columnType: ColumnType { .int64 } }
extension Int8: IndexKey { public static var columnType: ColumnType { .int8 } }
extension Int16: IndexKey { public static var columnType: ColumnType { .int16 } }
extension Int32: IndexKey { public static var columnType: ColumnType { .int32 } }
extension Int64: IndexKey { public static var columnType: ColumnType { .int64 } }
extension UInt: IndexKey { public static var columnType: ColumnType { .uint64 } }
extension UInt8: IndexKey { public static var columnType: ColumnType { .uint8 } }
extension UInt16: IndexKey { public static var columnType: ColumnType { .uint16 } }
extension UInt32: IndexKey { public static var columnType: ColumnType { .uint32 } }
extension UInt64: IndexKey { public static var columnType: ColumnType { .uint64 } }

extension Double: IndexKey {
    public static var columnType: ColumnType { .double }
    public var columnValue: Value { .double(self) }

    public init?(columnValue: Value) {
        guard case .double(let value) = columnValue else { return nil }
        self = value
    }

    public func write(to row: inout RowWriter, column: Int) { row.setDouble(self, column) }

    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Double {
        guard let value = try row.double(column) else { throw row.undecodable(column, as: "Double") }
        return value
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Double? {
        try read(from: row, column: column)
    }
}

extension Float: IndexKey {
    public static var columnType: ColumnType { .float }
    public var columnValue: Value { .double(Double(self)) }

    public init?(columnValue: Value) {
        guard case .double(let value) = columnValue else { return nil }
        self = Float(value)
    }

    public func write(to row: inout RowWriter, column: Int) { row.setDouble(Double(self), column) }

    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Float {
        guard let value = try row.double(column) else { throw row.undecodable(column, as: "Float") }
        return Float(value)
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Float? {
        try read(from: row, column: column)
    }
}

extension Bool: IndexKey {
    public static var columnType: ColumnType { .bool }
    public var columnValue: Value { .bool(self) }

    public init?(columnValue: Value) {
        guard case .bool(let value) = columnValue else { return nil }
        self = value
    }

    public func write(to row: inout RowWriter, column: Int) { row.setBool(self, column) }

    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Bool {
        guard let value = try row.bool(column) else { throw row.undecodable(column, as: "Bool") }
        return value
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Bool? {
        try read(from: row, column: column)
    }
}

extension String: IndexKey {
    public static var columnType: ColumnType { .string }
    public var columnValue: Value { .string(self) }

    public init?(columnValue: Value) {
        guard case .string(let value) = columnValue else { return nil }
        self = value
    }

    public func write(to row: inout RowWriter, column: Int) { row.setString(self, column) }

    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> String {
        guard let value = try row.string(column) else { throw row.undecodable(column, as: "String") }
        return value
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> String? {
        try read(from: row, column: column)
    }
}

extension Date: IndexKey {
    public static var columnType: ColumnType { .date }
    public var columnValue: Value { .date(timeIntervalSinceReferenceDate) }

    public init?(columnValue: Value) {
        guard case .date(let seconds) = columnValue else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }

    public func write(to row: inout RowWriter, column: Int) {
        row.setDouble(timeIntervalSinceReferenceDate, column)
    }

    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Date {
        guard let value = try row.double(column) else { throw row.undecodable(column, as: "Date") }
        return Date(timeIntervalSinceReferenceDate: value)
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Date? {
        try read(from: row, column: column)
    }
}

extension Data: IndexKey {
    public static var columnType: ColumnType { .data }
    public var columnValue: Value { .data(self) }

    public init?(columnValue: Value) {
        guard case .data(let value) = columnValue else { return nil }
        self = value
    }
}

extension UUID: IndexKey {
    public static var columnType: ColumnType { .uuid }
    public var columnValue: Value { .uuid(self) }

    public init?(columnValue: Value) {
        guard case .uuid(let value) = columnValue else { return nil }
        self = value
    }
}

/// A URL is stored as its absolute string, and ordered as that string.
extension URL: IndexKey {
    public static var columnType: ColumnType { .url }
    public var columnValue: Value { .string(absoluteString) }

    public init?(columnValue: Value) {
        guard case .string(let text) = columnValue else { return nil }
        self.init(string: text)
    }

    public func write(to row: inout RowWriter, column: Int) { row.setString(absoluteString, column) }
}

extension Decimal: IndexKey {
    public static var columnType: ColumnType { .decimal }
    public var columnValue: Value { .decimal(self) }

    public init?(columnValue: Value) {
        guard case .decimal(let value) = columnValue else { return nil }
        self = value
    }
}

/// Distinguishes nil from a value that can't be encoded: the column value of both is null.
package protocol Nillable {
    var isNone: Bool { get }
}

extension Optional: Nillable {
    package var isNone: Bool { self == nil }
}

extension ColumnValue {
    package var isNil: Bool { (self as? any Nillable)?.isNone ?? false }
}

/// An optional value. Nil is stored as null at any depth: `Int??` has only one nil in the store.
extension Optional: ColumnValue where Wrapped: ColumnValue {
    public static var columnType: ColumnType { .optional(Wrapped.columnType) }
    public var columnValue: Value { self?.columnValue ?? .null }

    public init?(columnValue: Value) {
        if columnValue == .null {
            self = .none
        } else {
            guard let wrapped = Wrapped(columnValue: columnValue) else { return nil }
            self = .some(wrapped)
        }
    }

    @inlinable
    public func write(to row: inout RowWriter, column: Int) {
        guard let self else { return row.setNull(column) }
        self.write(to: &row, column: column)
    }

    @inlinable
    public static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Wrapped? {
        try row.isNull(column: column) ? nil : try Wrapped.readIfKnown(from: row, column: column)
    }

    @inlinable
    public static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Wrapped?? {
        if try row.isNull(column: column) { return .some(nil) }
        guard let value = try Wrapped.readIfKnown(from: row, column: column) else { return nil }
        return .some(value)
    }
}

extension Optional: IndexKey where Wrapped: IndexKey {}

extension Array: ColumnValue where Element: ColumnValue {
    public static var columnType: ColumnType { .array(Element.columnType) }
    public var columnValue: Value { .array(map { $0.columnValue }) }

    public init?(columnValue: Value) {
        guard case .array(let values) = columnValue else { return nil }
        self = []
        reserveCapacity(values.count)
        for value in values {
            guard let element = Element(columnValue: value) else { return nil }
            append(element)
        }
    }
}
