// SPDX-License-Identifier: Apache-2.0
// A stored row in the steps of a migration: columns by name, with the values that earlier steps have made.

import HornbeamPages

/// A stored entity in a migration, before its model can read it. It is valid only during the call that receives it.
public struct StoredRow {
    let row: MigratingRow

    /// The value of a stored property, whose stored type must be that of `Property`. `name` is its name in the store,
    /// after the renames that come before this step. An optional type gives nil for null. Throws `.invalid` if there is
    /// no property of that name or it has another type, and `.undecodable` if the value is null and the type isn't
    /// optional, or doesn't fit the type.
    public func value<Property>(_ name: String, as _: Property.Type = Property.self) throws -> Property {
        let form = try StoredForm<Property>.find()
        guard let place = row.columns.firstIndex(where: { $0.name == name }) else {
            let known = row.columns.map(\.name).joined(separator: ", ")
            throw HornbeamError(.invalid, "the stored rows have no property “\(name)”; they have \(known)")
        }
        let stored = row.columns[place].type
        guard stored.unwrapped == form.type.unwrapped else {
            throw HornbeamError(.invalid, "property “\(name)” is stored as \(stored), not as \(form.type)")
        }
        guard let value = form.decode(try row.value(place)) else {
            throw HornbeamError(
                .undecodable, "property “\(name)” can't be read as \(Property.self): it is null or doesn't fit")
        }
        return value
    }

    /// Whether the rows have a property of this name.
    public func has(_ name: String) -> Bool { row.columns.contains { $0.name == name } }
}

/// A row between two steps of a migration: its columns as the last step left them. The first one is the id.
struct MigratingRow {
    enum Cell {
        /// Unchanged: the bytes of a column of the stored row.
        case stored(Int)
        case value(Value)
    }

    let reader: RowReader
    var columns: [ColumnDescription]
    var cells: [Cell]

    init(_ reader: RowReader, _ columns: [ColumnDescription]) {
        self.reader = reader
        self.columns = columns
        cells = columns.indices.map { .stored($0) }
    }

    /// Makes a row of given values, for rows in another form than the reader's.
    init(_ reader: RowReader, _ columns: [ColumnDescription], values: [Value]) {
        self.reader = reader
        self.columns = columns
        cells = values.map { .value($0) }
    }

    func value(_ place: Int) throws(HornbeamError) -> Value {
        switch cells[place] {
        case .stored(let column): try reader.value(column)
        case .value(let value): value
        }
    }

    /// The row's bytes in another layout, which has these columns in their order.
    func write(_ layout: RowLayout) throws(HornbeamError) -> [UInt8] {
        var row = RowWriter(layout: layout)
        for (place, cell) in cells.enumerated() {
            switch cell {
            case .stored(let column):
                // If the row is older than the column, the column is null from now on.
                row.setRaw(try reader.rawBytes(column), place)
            case .value(let value): row.set(value, place)
            }
        }
        return try row.finish()
    }
}
