// SPDX-License-Identifier: Apache-2.0
// The layout of the columns in a row. Offsets depend only on the columns stored before, so a row written by an older
// schema, which simply has fewer columns, stays readable: its missing columns read as null.
//
//     0        u16   columns in this row
//     2        null bitmap, (columns + 7) / 8 bytes, bit set = null
//     …        fixed area: fixed-width columns in place, little-endian;
//              of each other column the u32 end of its bytes in the variable area
//     …        variable area, in stored order; a column begins where the one before it ends
//
// Columns are numbered as declared; `stored` has the position of each one in the row.

/// The positions of one entity type's columns. Immutable, shared by all readers and writers of its rows.
package final class RowLayout: Sendable {
    /// One column of the layout.
    struct Field: Sendable {
        let name: String
        /// The column's type without its optionality.
        let type: ColumnType
        let isOptional: Bool
        /// Position in the row, counted from 0.
        let stored: Int
        /// Offset in the fixed area.
        let offset: Int
        /// Bytes in the fixed area; 4 for a column of the variable area.
        let width: Int
        let isVariable: Bool
        /// Offset in the fixed area at which the end of the previous variable column is stored; -1 if there is none.
        let previousEnd: Int
    }

    /// The part of a field that reading a known type needs. It consists of plain numbers, so that a read counts no
    /// references.
    struct Place {
        enum Kind: UInt8 {
            case bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float, double, date
            /// A string, URL or JSON.
            case text
            /// A column that is read through `Value`.
            case other
        }
        let kind: Kind
        let stored: Int
        let offset: Int
        let previousEnd: Int
        let isOptional: Bool
        let isVariable: Bool
        /// The byte of the null bitmap, from the row's start, and its bit there.
        let nullByte: Int
        let nullBit: UInt8

        init(_ field: Field) {
            kind = Kind(field.type)
            isOptional = field.isOptional
            isVariable = field.isVariable
            nullByte = 2 + field.stored / 8
            nullBit = 1 << UInt8(field.stored % 8)
            stored = field.stored
            offset = field.offset
            previousEnd = field.previousEnd
        }
    }

    /// Maximum number of columns; the schema refuses more.
    package static let maximumColumns = 4096

    /// The entity type, for messages; empty where it is not known.
    let type: String
    /// The fields by column number.
    let fields: [Field]
    /// The places by column number, as many as fields. Constant as long as the layout lives.
    nonisolated(unsafe) let places: UnsafePointer<Place>
    let count: Int
    /// Columns of the variable area.
    let variableCount: Int
    /// Column numbers by stored position.
    let columns: [Int]
    /// `sizes[n]` is the size of the fixed area of a row with n columns. A pointer, because reading an array counts
    /// references. Constant as long as the layout lives.
    nonisolated(unsafe) let sizes: UnsafePointer<Int>
    /// The beginning of a row of all columns, each null.
    let emptyRow: [UInt8]

    /// - Parameter stored: the position of each column in the row, a permutation; nil for the declared order.
    package init(columns: [ColumnDescription], stored: [Int]? = nil, type: String = "") {
        self.type = type
        let stored = stored ?? Array(columns.indices)
        var byPosition = [Int](repeating: 0, count: columns.count)
        for (column, position) in stored.enumerated() { byPosition[position] = column }
        var fields = [Field?](repeating: nil, count: columns.count)
        var sizes = [0]
        var offset = 0
        var previousEnd = -1
        for (position, column) in byPosition.enumerated() {
            let type = columns[column].type.unwrapped
            let width = type.fixedWidth
            fields[column] = Field(
                name: columns[column].name, type: type, isOptional: columns[column].type.isOptional, stored: position,
                offset: offset, width: width ?? 4,
                isVariable: width == nil, previousEnd: previousEnd)
            if width == nil { previousEnd = offset }
            offset += width ?? 4
            sizes.append(offset)
        }
        self.fields = fields.compactMap { $0 }
        count = self.fields.count
        variableCount = self.fields.count { $0.isVariable }
        let places = UnsafeMutablePointer<Place>.allocate(capacity: Swift.max(1, count))
        for (column, field) in self.fields.enumerated() { (places + column).initialize(to: Place(field)) }
        self.places = UnsafePointer(places)
        self.columns = byPosition
        let copied = UnsafeMutablePointer<Int>.allocate(capacity: sizes.count)
        copied.initialize(from: sizes, count: sizes.count)
        self.sizes = UnsafePointer(copied)
        emptyRow =
            [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)]
            + [UInt8](repeating: 0xFF, count: Self.headerSize(columns: count) - 2)
            + [UInt8](repeating: 0, count: sizes.last ?? 0)
        precondition(self.fields.count == columns.count, "stored positions must be a permutation")
    }

    deinit {
        places.deallocate()
        sizes.deallocate()
    }

    /// Bytes before the fixed area of a row with `count` columns.
    static func headerSize(columns count: Int) -> Int { 2 + (count + 7) / 8 }
}

extension RowLayout.Place.Kind {
    init(_ type: ColumnType) {
        self =
            switch type {
            case .bool: .bool
            case .int8: .int8
            case .int16: .int16
            case .int32: .int32
            case .int64: .int64
            case .uint8: .uint8
            case .uint16: .uint16
            case .uint32: .uint32
            case .uint64: .uint64
            case .float: .float
            case .double: .double
            case .date: .date
            case .string, .url, .json: .text
            case .uuid, .data, .decimal, .array, .optional: .other
            }
    }
}
