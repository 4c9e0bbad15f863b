// SPDX-License-Identifier: Apache-2.0
// The two protocols between Swift types and columns: what can be stored, and what can also be ordered.

/// A type whose values can be stored in a column.
///
/// The row format knows the integers, floats, `Bool`, `String`, `Date`, `Data`, `UUID`, `URL`, `Decimal`, optionals and
/// arrays of these; raw-representable enums are stored as their raw value and any other `Codable` type as JSON, all
/// without a conformance. Any other type conforms by naming the column type that it maps to.
public protocol ColumnValue: Sendable {
    /// The type of the columns that hold values of this type.
    static var columnType: ColumnType { get }
    /// The stored form. Must fit `columnType`.
    var columnValue: Value { get }
    /// Makes a value from its stored form. Returns nil if that doesn't fit.
    init?(columnValue: Value)
    /// Writes the value into `column` of a row. The default goes through `columnValue`.
    func write(to row: inout RowWriter, column: Int)
    /// Reads the value back. Throws `.undecodable` if the type doesn't have the stored value. The default goes through
    /// `columnValue`. The row is borrowed from its page: it must not be kept after the call.
    static func read(from row: RowReader, column: Int) throws(HornbeamError) -> Self
    /// Reads the value back. Returns nil if the type doesn't know the stored value although it fits the column. An
    /// optional property is nil then, and a property with a default has its default. The default implementation goes
    /// through `columnValue`.
    static func readIfKnown(from row: RowReader, column: Int) throws(HornbeamError) -> Self?
}

/// A column value with an order: it can be an index's key and an entity's id. The order of the values must be that of
/// their stored forms.
///
/// A struct or enum with a raw value doesn't conform by itself. To be an id, or a property in an index, it needs
/// `extension UserID: IndexKey {}`. If an enum's own order is that of its raw values, this conformance lets indexes
/// serve its sorts and ranges too.
public protocol IndexKey: ColumnValue {}
