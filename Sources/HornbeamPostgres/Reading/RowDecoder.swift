// SPDX-License-Identifier: Apache-2.0
// Rows of the mirror as rows of the store, from which entities are read as from the store's own. A value that its
// column doesn't hold exactly comes from the column of exact values.

import Hornbeam
import HornbeamPages

/// Reads some columns of a type's table.
struct RowDecoder {
    let table: ModelTable
    /// The columns that are read, with the way to read each. Other columns of a row are nil.
    private let columns: [(number: Int, form: Form)]
    /// The columns that may have an exact value beside them.
    private let inexact: [Int]

    /// A small enum, because it is switched over for each value.
    private enum Form {
        case text, integer, bool, float, date
        /// Read through `Value`.
        case other

        init(_ type: ColumnType, isID: Bool) {
            switch type {
            case .string, .url: self = .text
            case .int8, .int16, .int32, .int64: self = .integer
            case .bool: self = .bool
            case .double, .float: self = .float
            case .date: self = isID ? .other : .date
            default: self = .other
            }
        }
    }

    /// - Parameters:
    ///   - columns: the columns that are needed; nil for all.
    ///   - isRounded: whether the values in the columns are enough, without the exact values.
    init(_ table: ModelTable, columns: Set<Int>? = nil, isRounded: Bool = false) {
        self.table = table
        let read = table.columns.indices.filter { number in
            table.columns[number].name != nil && (columns?.contains(number) ?? true)
        }
        self.columns = read.map { ($0, Form(table.columns[$0].type, isID: $0 == 0)) }
        inexact = isRounded ? [] : read.filter { table.columns[$0].mayBeInexact }
    }

    /// Number of columns of a result that it reads.
    var width: Int { columns.count + (inexact.isEmpty ? 0 : 1) }

    /// Returns the columns for SELECT, separated by commas.
    func selection(_ named: NamedTable) -> SQLText {
        var text = ""
        for (column, _) in columns {
            guard let name = table.columns[column].name else { continue }
            text += text.isEmpty ? "" : ", "
            text += named.alias
            text += "."
            text += name
        }
        let columns = SQLText.trusted(text)
        return inexact.isEmpty ? columns : "\(columns), \(named.place(table.layout.exact))"
    }

    /// Returns the row in the store's form.
    func row(_ result: PostgresResult, _ number: Int) throws(HornbeamError) -> [UInt8] {
        var writer = RowWriter(layout: table.type.layout)
        let exact = inexact.isEmpty ? [] : try exactValues(result.bytes(number, columns.count))
        for place in columns.indices {
            guard let bytes = result.bytes(number, place) else { continue }
            let (column, form) = columns[place]
            if !exact.isEmpty, let known = exact.first(where: { $0.column == column }) {
                writer.set(known.value, column)
            } else {
                try decode(bytes, form, column, &writer)
            }
        }
        return try writer.finish()
    }

    /// Returns the exact values of columns that are read.
    private func exactValues(_ bytes: Bytes?) throws(HornbeamError) -> [(column: Int, value: Value)] {
        guard let bytes else { return [] }
        guard let values = ExactValues.read(bytes) else {
            throw HornbeamError(
                .server, "the exact values of \(table.description.name.withArticle) were changed by hand: reconcile")
        }
        var found: [(column: Int, value: Value)] = []
        for column in inexact {
            guard let node = values[table.columns[column].property] else { continue }
            guard let value = ExactValues.value(node, as: table.columns[column].type) else {
                throw undecodable(table.columns[column], bytes)
            }
            found.append((column, value))
        }
        return found
    }

    private func decode(
        _ bytes: Bytes, _ form: Form, _ column: Int, _ writer: inout RowWriter
    ) throws(HornbeamError) {
        switch form {
        case .text: writer.setRaw(bytes, column)
        case .integer:
            guard let number = Self.integer(bytes) else { throw undecodable(table.columns[column], bytes) }
            writer.setInt(number, column)
        case .bool: writer.setBool(bytes.first == UInt8(ascii: "t"), column)
        case .float:
            guard let number = Double(String(decoding: bytes, as: UTF8.self)) else {
                throw undecodable(table.columns[column], bytes)
            }
            writer.setDouble(number, column)
        case .date:
            guard let seconds = Self.date(bytes) ?? table.columns[column].form.value(bytes)?.seconds else {
                throw undecodable(table.columns[column], bytes)
            }
            writer.setDouble(seconds, column)
        case .other:
            guard let value = table.columns[column].form.value(bytes) else {
                throw undecodable(table.columns[column], bytes)
            }
            writer.set(value, column)
        }
    }

    private static func integer(_ bytes: Bytes) -> Int64? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        var number: Int64 = 0
        guard bytes.count > (isNegative ? 1 : 0) else { return nil }
        for byte in bytes.dropFirst(isNegative ? 1 : 0) {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let (tens, isLarge) = number.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (sum, isLarger) = tens.addingReportingOverflow(isNegative ? -digit : digit)
            if isLarge || isLarger { return nil }
            number = sum
        }
        return number
    }

    /// Reads `2024-05-02 17:30:00.123456+00`. Returns nil for dates before year 1, after year 9999, and infinite ones.
    private static func date(_ bytes: Bytes) -> Double? {
        func number(_ places: Range<Int>) -> Int? {
            var number = 0
            for place in places {
                let digit = Int(bytes[place]) - Int(UInt8(ascii: "0"))
                guard digit >= 0, digit < 10 else { return nil }
                number = number * 10 + digit
            }
            return number
        }
        guard bytes.count >= 22, bytes.count <= 29, bytes[4] == UInt8(ascii: "-"),
            bytes[bytes.count - 3] == UInt8(ascii: "+"), number(bytes.count - 2..<bytes.count) == 0,
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
        else { return nil }
        var fraction = 0
        if bytes.count > 22 {
            let digits = bytes.count - 23
            guard let written = number(20..<20 + digits) else { return nil }
            fraction = (digits..<6).reduce(written) { number, _ in number * 10 }
        }
        // Years begin in March here, so that leap days are at their ends.
        let from = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days = from * 365 + from / 4 - from / 100 + from / 400 + dayOfYear - 719_468
        return ColumnForm.seconds(
            (days * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000 + fraction)
    }

    private func undecodable(_ column: ModelTable.Column, _ bytes: Bytes) -> HornbeamError {
        HornbeamError(
            .server,
            "\(table.description.name).\(column.property), \(column.type.withArticle), can't be "
                + "“\(String(decoding: bytes.prefix(60), as: UTF8.self))”: the mirror was changed, by a migration of "
                + "the store or by hand")
    }
}

extension Value {
    /// The seconds of a date. Nil for other values.
    fileprivate var seconds: Double? { if case .date(let seconds) = self { seconds } else { nil } }
}
