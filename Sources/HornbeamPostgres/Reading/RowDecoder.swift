// SPDX-License-Identifier: Apache-2.0
// Rows of the mirror as rows of the store, from which entities are read as from the store's own. A value that its
// column doesn't hold exactly comes from the column of exact values.

import Hornbeam
import HornbeamPages

/// Reads some columns of a type's table.
struct RowDecoder {
    let table: ModelTable
    /// The numbers of the columns that are read. The others of a row are nil.
    private let columns: [Int]

    /// - Parameter columns: those that are needed, nil for all.
    init(_ table: ModelTable, columns: Set<Int>? = nil) {
        self.table = table
        self.columns = table.columns.indices.filter { number in
            table.columns[number].name != nil && (columns?.contains(number) ?? true)
        }
    }

    /// Number of columns of a result that it reads.
    var width: Int { columns.count + 1 }

    /// The columns as SELECT has them.
    func selection(_ named: NamedTable) -> [SQLText] {
        columns.compactMap { table.columns[$0].name }.map(named.place) + [named.place(table.layout.exact)]
    }

    /// The row as the store has it.
    func row(_ result: PostgresResult, _ number: Int) throws(HornbeamError) -> [UInt8] {
        var writer = RowWriter(layout: table.type.layout)
        let exact = try exactValues(result.bytes(number, columns.count))
        for (place, column) in columns.enumerated() {
            guard let bytes = result.bytes(number, place) else { continue }
            let description = table.columns[column]
            if let node = exact?[description.property] {
                guard let value = ExactValues.value(node, as: description.type) else {
                    throw undecodable(description, bytes)
                }
                writer.set(value, column)
            } else {
                try decode(bytes, description, column, &writer)
            }
        }
        return try writer.finish()
    }

    private func exactValues(_ bytes: UnsafeRawBufferPointer?) throws(HornbeamError) -> [String: JSONNode]? {
        guard let bytes else { return nil }
        guard let values = ExactValues.read(bytes) else {
            throw HornbeamError(
                .server, "the exact values of \(table.description.name.withArticle) were changed by hand: reconcile")
        }
        return values
    }

    private func decode(
        _ bytes: Bytes, _ description: ModelTable.Column, _ column: Int, _ writer: inout RowWriter
    ) throws(HornbeamError) {
        switch description.type {
        case .string, .url: writer.setRaw(bytes, column)
        case .int8, .int16, .int32, .int64:
            guard let number = Self.integer(bytes) else { throw undecodable(description, bytes) }
            writer.setInt(number, column)
        case .bool: writer.setBool(bytes.first == UInt8(ascii: "t"), column)
        case .double, .float:
            guard let number = Double(String(decoding: bytes, as: UTF8.self)) else {
                throw undecodable(description, bytes)
            }
            writer.setDouble(number, column)
        default:
            guard let value = description.form.value(bytes) else { throw undecodable(description, bytes) }
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

    private func undecodable(_ column: ModelTable.Column, _ bytes: Bytes) -> HornbeamError {
        HornbeamError(
            .server,
            "\(table.description.name).\(column.property), \(column.type.withArticle), can't be "
                + "“\(String(decoding: bytes.prefix(60), as: UTF8.self))”: the mirror was changed, by a migration of "
                + "the store or by hand")
    }
}
