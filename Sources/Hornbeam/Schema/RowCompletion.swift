// SPDX-License-Identifier: Apache-2.0
// Rows that are older than a property get the value that their model reads there, its default, so that filters, sorts
// and indexes, which look at rows, agree with what is read. Only columns that a row lacks are written: no index that is
// already there can change by it.

import HornbeamPages
import HornbeamTree

package struct RowCompletion {
    /// A row as the type's model writes it after reading it.
    package typealias Rewrite = (EntityType, RowReader) throws -> [UInt8]

    let type: EntityType
    let transaction: Transaction
    let rewrite: Rewrite

    /// `.schemaMismatch` if a row can't be read with the added properties.
    /// - Parameter added: the columns that the rows lack.
    func run(added: [ColumnDescription]) throws {
        guard !added.isEmpty else { return }
        let rowIDs = try rowIDs()
        guard let first = rowIDs.first else { return }
        // Rows without an optional property need nothing: nil is what they read as. Unless it has another default,
        // which any one row shows.
        if added.allSatisfy(\.type.isOptional), try !hasDefault(added, first) { return }
        for rowID in rowIDs {
            guard let row = try completed(rowID, added) else { continue }
            try transaction.put(type.rows, rowID.key, row)
        }
    }

    private func rowIDs() throws -> [RowID] {
        var rowIDs: [RowID] = []
        var cursor = try transaction.cursor(type.rows)
        var isValid = try cursor.first()
        while isValid {
            guard let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
            }
            rowIDs.append(rowID)
            isValid = try cursor.next()
        }
        return rowIDs
    }

    private func row(_ rowID: RowID) throws -> RowReader? {
        guard let bytes = try transaction.get(type.rows, rowID.key) else { return nil }
        return try RowReader(bytes, of: type)
    }

    private func hasDefault(_ added: [ColumnDescription], _ rowID: RowID) throws -> Bool {
        // A row that was unreadable before is no reason to refuse properties that it doesn't need.
        guard let old = try row(rowID), let new = try? rewrite(type, old) else { return false }
        return try new.withBytes { bytes in
            let new = try RowReader(bytes, of: type)
            return try added.contains { try !new.isNull(column: type.column($0.name)) }
        }
    }

    /// The row with all that it lacks.
    private func completed(_ rowID: RowID, _ added: [ColumnDescription]) throws -> [UInt8]? {
        guard let old = try row(rowID) else { return nil }
        let new: [UInt8]
        do {
            new = try rewrite(type, old)
        } catch let error as HornbeamError where error.code == .undecodable {
            let names = added.map { "“\($0.name)”" }.joined(separator: ", ")
            throw HornbeamError(
                .schemaMismatch,
                "\(type.name) \(try old.value(0).text) was stored before \(names) and can't be read with it: "
                    + error.message)
        }
        return try new.withBytes { bytes in
            let new = try RowReader(bytes, of: type)
            var row = RowWriter(layout: type.layout)
            for column in type.layout.columns {
                row.set(try (old.contains(column: column) ? old : new).value(column), column)
            }
            return try row.finish()
        }
    }
}
