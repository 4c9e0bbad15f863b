// SPDX-License-Identifier: Apache-2.0
// Values in the cells of a table. For reading only: values for a round trip go through JSON rows.

import Foundation
import Hornbeam

enum CellText {
    /// Maximum number of bytes of a data value that are shown.
    private static let shownBytes = 16

    /// The value's text; null is empty.
    static func show(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): "\(number)"
        case .uint(let number): "\(number)"
        case .double(let number): "\(number)"
        // ISO 8601, as in filters; without the quotes.
        case .date: String(value.text.dropFirst().dropLast())
        case .uuid(let uuid): uuid.uuidString
        case .string(let text), .json(let text): text
        case .data(let data): self.data(data)
        case .decimal(let number): "\(number)"
        case .array(let values): "[" + values.map { $0 == .null ? "null" : show($0) }.joined(separator: ", ") + "]"
        }
    }

    /// The alignment of a column's cells.
    static func alignment(_ type: ColumnType) -> TableColumn.Alignment {
        switch type.unwrapped {
        case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double, .decimal: .right
        default: .left
        }
    }

    private static func data(_ data: Data) -> String {
        let digits = data.prefix(shownBytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return data.count > shownBytes ? "0x\(digits)… (\(Spelling.bytes(UInt64(data.count))))" : "0x\(digits)"
    }
}
