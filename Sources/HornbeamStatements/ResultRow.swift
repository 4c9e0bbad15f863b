// SPDX-License-Identifier: Apache-2.0
// A row of a statement's result: values by name and by position, as JSON, and as a type of the program.

import FoundationEssentials

/// The columns that all rows of a result share.
final class ResultColumns: Sendable {
    let names: [String]
    /// Whether the rows are values: `SELECT VALUE`.
    let isValue: Bool
    private let places: [String: Int]

    init(_ names: [String], isValue: Bool = false) {
        self.names = names
        self.isValue = isValue
        places = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
    }

    func place(_ name: String) -> Int? { places[name] }
}

/// A row of a result. It has copies of its values, so it may outlive the transaction.
public struct ResultRow: Sendable {
    private let columns: ResultColumns
    private let items: [StatementValue]

    init(_ columns: ResultColumns, _ items: [StatementValue]) {
        self.columns = columns
        self.items = items
    }

    /// Names of the columns, in order: their aliases, else the last name of a path, else the text of the expression.
    public var names: [String] { columns.names }

    /// The values in order; nil for a missing value, as opposed to null.
    public var values: [Value?] { items.map(\.result) }

    /// The value of a column; nil if it is missing, or there is no such column.
    public subscript(_ name: String) -> Value? { columns.place(name).flatMap { items[$0].result } }

    /// The value of the column at a position, from 0; nil if it is missing, or there is no such column.
    public subscript(_ place: Int) -> Value? { items.indices.contains(place) ? items[place].result : nil }

    /// The value of a column as a type of the program. In an optional type nil stands for null and for a missing value.
    /// Throws `.invalid` if there is no such column, `.undecodable` if the value doesn't fit the type.
    public func value<Property: ColumnValue>(_ name: String, as _: Property.Type = Property.self) throws -> Property {
        guard let place = columns.place(name) else {
            throw HornbeamError(
                .invalid, "the result has no column “\(name)”; it has \(columns.names.joined(separator: ", "))")
        }
        let value = items[place].result ?? .null
        guard let converted = Self.converted(value, to: Property.columnType),
            let property = Property(columnValue: converted)
        else { throw HornbeamError(.undecodable, "“\(name)” is \(value.text), and no \(Property.self)") }
        return property
    }

    /// Converts a value. Also reads texts that spell a date, a UUID or data, as in JSON.
    private static func converted(_ value: Value, to type: ColumnType) -> Value? {
        value.converted(to: type) ?? StatementValue(value).literal(type)
    }

    /// The row as JSON: an object without missing values, or the value of `SELECT VALUE`. Numbers and texts are as in
    /// `hornbeam export`: dates in ISO 8601, data in base64.
    public var json: String {
        if columns.isValue, let item = items.first { return item.node.text }
        return StatementValue.object(zip(columns.names, items).map { StatementField(name: $0, item: $1) }).node.text
    }

    /// The row as a type of the program, from its JSON. Dates are read from ISO 8601 and from seconds since 2001.
    /// Throws `.undecodable` if the JSON doesn't fit the type.
    public func decode<Row: Decodable>(_: Row.Type = Row.self) throws -> Row {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            if let seconds = try? container.decode(Double.self) { return Date(timeIntervalSinceReferenceDate: seconds) }
            guard let seconds = ISODate.seconds(try container.decode(String.self)) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "no date in ISO 8601"))
            }
            return Date(timeIntervalSinceReferenceDate: seconds)
        }
        do {
            return try decoder.decode(Row.self, from: Data(json.utf8))
        } catch {
            throw HornbeamError(.undecodable, "the row \(json.shown()) can't be read as \(Row.self): \(error)")
        }
    }
}

extension ResultRow: CustomStringConvertible {
    /// The row as JSON.
    public var description: String { json }
}
