// SPDX-License-Identifier: Apache-2.0
// Where each column lies in a row. Offsets depend only on the columns stored before, so a row written by an older
// schema, which simply has fewer columns, stays readable: its missing columns read as null.
//
//     0        u16   columns in this row
//     2        null bitmap, (columns + 7) / 8 bytes, bit set = null
//     …        fixed area: fixed-width columns in place, little-endian;
//              of each other column the u32 end of its bytes in the variable area
//     …        variable area, in stored order; a column begins where the one before it ends
//
// Columns are numbered as declared; `stored` says at which position of the row each one lies.

/// Where the columns of one entity type lie. Immutable, shared by all readers and writers of its rows.
package final class RowLayout: Sendable {
    /// The place of one column.
    struct Field: Sendable {
        let name: String
        /// The column's type without its optionality.
        let type: ColumnType
        let isOptional: Bool
        /// Position in the row, counted from 0.
        let stored: Int
        /// In the fixed area.
        let offset: Int
        /// Bytes in the fixed area; 4 for a column of the variable area.
        let width: Int
        let isVariable: Bool
        /// Offset in the fixed area of the end of the variable column before this one; -1 if there is none.
        let previousEnd: Int
    }

    /// More columns than this are refused by the schema.
    package static let maximumColumns = 4096

    /// By column number.
    let fields: [Field]
    /// Column numbers by stored position.
    let columns: [Int]
    /// `fixedSizes[n]` is the size of the fixed area of a row with n columns.
    let fixedSizes: [Int]

    /// - Parameter stored: the position in the row of each column, a permutation; as declared if nil.
    package init(columns: [ColumnDescription], stored: [Int]? = nil) {
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
        self.columns = byPosition
        fixedSizes = sizes
        precondition(self.fields.count == columns.count, "stored positions must be a permutation")
    }

    /// Bytes before the fixed area of a row with `count` columns.
    static func headerSize(columns count: Int) -> Int { 2 + (count + 7) / 8 }
}
