// SPDX-License-Identifier: Apache-2.0
// Values in the cells of a table. For reading only: what must survive a round trip goes through JSON rows.

import Foundation
import Hornbeam

enum CellText {
    /// Bytes of a data column that are shown.
    private static let shownBytes = 16

    /// The value's text; null is empty.
    static func show(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): "\(number)"
        case .uint(let number): "\(number)"
        case .double(let number): "\(number)"
        case .date(let seconds): date(seconds)
        case .uuid(let uuid): uuid.uuidString
        case .string(let text), .json(let text): text
        case .data(let data): self.data(data)
        case .decimal(let number): "\(number)"
        case .array(let values): "[" + values.map { $0 == .null ? "null" : show($0) }.joined(separator: ", ") + "]"
        }
    }

    /// Where the cells of a column stand.
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

    /// `2024-05-01 12:30:00`, UTC, milliseconds if there are any; dates far out as seconds.
    private static func date(_ seconds: Double) -> String {
        let milliseconds = (seconds * 1_000).rounded()
        guard milliseconds.magnitude < 6e13 else { return "\(seconds) s after 2001" }
        let whole = Int64(milliseconds)
        let (day, time) = floorDivide(whole, 86_400_000)
        let (year, month, dayOfMonth) = civil(daysSince1970: day + 11_323)
        let clock = "\(two(time / 3_600_000)):\(two(time / 60_000 % 60)):\(two(time / 1_000 % 60))"
        let rest = time % 1_000
        let fraction = rest == 0 ? "" : "." + String(String(1_000 + rest).dropFirst())
        return "\(year)-\(two(month))-\(two(dayOfMonth)) \(clock)\(fraction)"
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// The proleptic Gregorian calendar, by eras of 400 years that begin in March.
    private static func civil(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}
