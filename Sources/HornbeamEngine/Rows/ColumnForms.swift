// SPDX-License-Identifier: Apache-2.0
// The forms of a property's values in a column. Code written by the macro calls `ColumnForms.of` with the property's
// key path, and the compiler picks one form: for the column's description, for writing and for reading. The type of a
// key path is exact. If the form were picked by a value or by a result, description, writing and reading could get
// different forms, because the compiler converts values (`CGFloat` to `Double`, `[Enum]` to `[Enum?]`, `T` to `T?`).
//
// In order of preference: column values, raw-representable types (by raw value), any Codable type (as JSON). All other
// types are an error at compile time that says what to do. Types that are both column values and raw-representable
// have overloads of their own because the compiler could not choose between two otherwise.

public import FoundationEssentials

/// The form of a property's values in a column.
public protocol ColumnForm {
    associatedtype Property
    /// The type of the column.
    static var columnType: ColumnType { get }
    /// Writes the property's value into a column of a row. `RowWriter` keeps an error.
    static func write(_ value: Property, to row: inout RowWriter, column: Int)
    /// Reads the property's value. Throws `.undecodable` if the type doesn't have the stored value.
    static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Property
    /// Reads the property's value. Returns nil if the type doesn't know the stored value although it fits the column:
    /// an enum may have lost the case of a stored raw value.
    static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> Property?
}

/// Finds the form of a property by its key path.
public enum ColumnForms {
    @inlinable @inline(__always)
    public static func of<E, V: ColumnValue>(_: KeyPath<E, V>) -> ValueForm<V>.Type { ValueForm<V>.self }

    @inlinable @inline(__always)
    public static func of<E, V: RawRepresentable>(_: KeyPath<E, V>) -> RawForm<V>.Type
    where V.RawValue: ColumnValue { RawForm<V>.self }

    @inlinable @inline(__always)
    public static func of<E, V: RawRepresentable>(_: KeyPath<E, V?>) -> OptionalForm<RawForm<V>>.Type
    where V.RawValue: ColumnValue { OptionalForm<RawForm<V>>.self }

    @inlinable @inline(__always)
    public static func of<E, V: RawRepresentable>(_: KeyPath<E, [V]>) -> RawListForm<V>.Type
    where V.RawValue: ColumnValue { RawListForm<V>.self }

    @inlinable @inline(__always)
    public static func of<E, V: RawRepresentable>(_: KeyPath<E, [V]?>) -> OptionalForm<RawListForm<V>>.Type
    where V.RawValue: ColumnValue { OptionalForm<RawListForm<V>>.self }

    @inlinable @inline(__always)
    public static func of<E, V: ColumnValue & RawRepresentable>(_: KeyPath<E, V>) -> ValueForm<V>.Type
    where V.RawValue: ColumnValue { ValueForm<V>.self }

    @inlinable @inline(__always)
    public static func of<E, V: ColumnValue & RawRepresentable>(_: KeyPath<E, V?>) -> ValueForm<V?>.Type
    where V.RawValue: ColumnValue { ValueForm<V?>.self }

    @inlinable @inline(__always)
    public static func of<E, V: ColumnValue & RawRepresentable>(_: KeyPath<E, [V]>) -> ValueForm<[V]>.Type
    where V.RawValue: ColumnValue { ValueForm<[V]>.self }

    @inlinable @inline(__always)
    public static func of<E, V: ColumnValue & RawRepresentable>(_: KeyPath<E, [V]?>) -> ValueForm<[V]?>.Type
    where V.RawValue: ColumnValue { ValueForm<[V]?>.self }

    @_disfavoredOverload @inlinable @inline(__always)
    public static func of<E, V: Codable>(_: KeyPath<E, V>) -> JSONForm<V>.Type { JSONForm<V>.self }

    @_disfavoredOverload @inlinable @inline(__always)
    public static func of<E, V: Codable>(_: KeyPath<E, V?>) -> OptionalJSONForm<V>.Type { OptionalJSONForm<V>.self }

    @available(*, unavailable, message: "this type can't be stored: make it Codable, or conform it to ColumnValue")
    public static func of<E, V>(_: KeyPath<E, V>) -> NoForm<V>.Type { NoForm<V>.self }
}

extension ColumnDescription {
    /// Describes the column of a property with a form. Code written by the macro calls this.
    public static func of<Form: ColumnForm>(_ name: String, _: Form.Type) -> ColumnDescription {
        ColumnDescription(name: name, type: Form.columnType)
    }
}

// MARK: - The forms

/// The form of a type that conforms to `ColumnValue`.
public enum ValueForm<Property: ColumnValue>: ColumnForm {
    public static var columnType: ColumnType { Property.columnType }

    @inlinable
    public static func write(_ value: Property, to row: inout RowWriter, column: Int) {
        value.write(to: &row, column: column)
    }

    @inlinable
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Property {
        try Property.read(from: row, column: column)
    }

    @inlinable
    public static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> Property? {
        try Property.readIfKnown(from: row, column: column)
    }
}

/// The form of a type with a raw value, such as an enum: the column holds the raw value.
public enum RawForm<Property: RawRepresentable>: ColumnForm where Property.RawValue: ColumnValue {
    public static var columnType: ColumnType { Property.RawValue.columnType }

    @inlinable
    public static func write(_ value: Property, to row: inout RowWriter, column: Int) {
        value.rawValue.write(to: &row, column: column)
    }

    @inlinable
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Property {
        try row.represented(try Property.RawValue.read(from: row, column: column), column)
    }

    @inlinable
    public static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> Property? {
        try Property.RawValue.readIfKnown(from: row, column: column).flatMap { Property(rawValue: $0) }
    }
}

/// The form of an array of values with raw values: the column holds the array of their raw values.
public enum RawListForm<Element: RawRepresentable>: ColumnForm where Element.RawValue: ColumnValue {
    public typealias Property = [Element]

    public static var columnType: ColumnType { [Element.RawValue].columnType }

    @inlinable
    public static func write(_ value: [Element], to row: inout RowWriter, column: Int) {
        value.map(\.rawValue).write(to: &row, column: column)
    }

    @inlinable
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> [Element] {
        guard let values = try readIfKnown(row, column: column) else {
            throw row.undecodable(column, as: "\(Element.self)")
        }
        return values
    }

    @inlinable
    public static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> [Element]? {
        guard let raw = try [Element.RawValue].readIfKnown(from: row, column: column) else { return nil }
        var values: [Element] = []
        values.reserveCapacity(raw.count)
        for one in raw {
            guard let value = Element(rawValue: one) else { return nil }
            values.append(value)
        }
        return values
    }
}

/// The form of an optional: nil is stored as null. A value that the type doesn't know is read as nil.
public enum OptionalForm<Wrapped: ColumnForm>: ColumnForm {
    public typealias Property = Wrapped.Property?

    public static var columnType: ColumnType { .optional(Wrapped.columnType) }

    @inlinable
    public static func write(_ value: Wrapped.Property?, to row: inout RowWriter, column: Int) {
        if let value { Wrapped.write(value, to: &row, column: column) } else { row.setNull(column) }
    }

    @inlinable
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Wrapped.Property? {
        try row.isNull(column: column) ? nil : try Wrapped.readIfKnown(row, column: column)
    }

    @inlinable
    public static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> Wrapped.Property?? {
        if try row.isNull(column: column) { return .some(nil) }
        guard let value = try Wrapped.readIfKnown(row, column: column) else { return nil }
        return .some(value)
    }
}

/// The form of any other `Codable` type: JSON.
public enum JSONForm<Property: Codable>: ColumnForm {
    public static var columnType: ColumnType { .json }

    public static func write(_ value: Property, to row: inout RowWriter, column: Int) {
        row.setCoded(value, column)
    }

    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Property {
        guard let text = try row.string(column) else { throw row.undecodable(column, as: "\(Property.self)") }
        return try row.decoded(text, column)
    }

    /// The type's own `init(from:)` decides which JSON it accepts: a value that it refuses is an error, not an unknown
    /// value.
    public static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> Property? {
        try read(row, column: column)
    }
}

/// The form of an optional `Codable` type: JSON. Nil is stored as null, and so is a value that encodes as JSON's null.
public enum OptionalJSONForm<Wrapped: Codable>: ColumnForm {
    public typealias Property = Wrapped?

    public static var columnType: ColumnType { .optional(.json) }

    public static func write(_ value: Wrapped?, to row: inout RowWriter, column: Int) {
        if let value { row.setCoded(value, column, nullIsNone: true) } else { row.setNull(column) }
    }

    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Wrapped? {
        guard let text = try row.string(column) else { return nil }
        // Decoded as an optional, because the row may have JSON's null for nil.
        return try row.decoded(text, column)
    }

    public static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> Wrapped?? {
        .some(try read(row, column: column))
    }
}

/// The form of a type that can't be stored. It lets the compiler report one error for the property instead of several.
public enum NoForm<Property>: ColumnForm {
    public static var columnType: ColumnType { .json }
    public static func write(_ value: Property, to row: inout RowWriter, column: Int) {}

    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Property {
        throw row.undecodable(column, as: "\(Property.self)")
    }

    public static func readIfKnown(_ row: RowReader, column: Int) throws(HornbeamError) -> Property? { nil }
}

// MARK: - Helpers

extension RowWriter {
    /// - Parameter nullIsNone: whether a value that encodes as JSON's null is stored as the column's null.
    mutating func setCoded<V: Encodable>(_ value: V, _ column: Int, nullIsNone: Bool = false) {
        do {
            let text = try CodedJSON.text(value)
            if nullIsNone, text == "null" { return setNull(column) }
            setString(text, column)
        } catch let error as HornbeamError {
            fail(column: column, error.message)
        } catch {
            fail(
                column: column,
                "can't be stored: its type \(V.self) doesn't encode it as JSON (\(error)); correct its "
                    + "encode(to:), or give another value")
        }
    }
}

extension RowReader {
    func decoded<V: Decodable>(_ text: String, _ column: Int) throws(HornbeamError) -> V {
        do {
            return try CodedJSON.value(V.self, of: text)
        } catch {
            throw undecodable(column, as: "\(V.self) (\(error))", isCoded: true)
        }
    }

    @inlinable
    func represented<V: RawRepresentable>(_ raw: V.RawValue, _ column: Int) throws(HornbeamError) -> V {
        guard let value = V(rawValue: raw) else { throw undecodable(column, as: "\(V.self)") }
        return value
    }
}

// Functions of their own for the commonest types. The compiler calls them directly instead of through a conformance,
// which saves a fifteenth of the instructions of reading a row with five strings and three numbers.

extension ValueForm where Property == Int {
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Int {
        guard let stored = try row.int(column), let value = Int(exactly: stored) else {
            throw row.undecodable(column, as: "Int")
        }
        return value
    }
}

extension ValueForm where Property == String {
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> String {
        guard let value = try row.string(column) else { throw row.undecodable(column, as: "String") }
        return value
    }
}

extension ValueForm where Property == Double {
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Double {
        guard let value = try row.double(column) else { throw row.undecodable(column, as: "Double") }
        return value
    }
}

extension ValueForm where Property == Date {
    public static func read(_ row: RowReader, column: Int) throws(HornbeamError) -> Date {
        guard let seconds = try row.double(column) else { throw row.undecodable(column, as: "Date") }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }
}
