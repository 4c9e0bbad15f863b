// SPDX-License-Identifier: Apache-2.0
// Writes a property's default into rows that are older than the property, so that filters, sorts and indexes, which
// read rows, agree with the models. Only missing columns are written, so existing indexes can't change.

import HornbeamPages
import HornbeamTree

package struct RowCompletion {
    /// Returns a row as the type's model writes it after reading it.
    package typealias Rewrite = (EntityType, RowReader) throws -> [UInt8]

    let type: EntityType
    let transaction: Transaction
    /// Rewrites a row by its model; nil if the models are unknown. Then rows keep null in the added columns.
    let rewrite: Rewrite?
    let progress: MigrationProgress.Handler?

    /// Completes all rows. Throws `.schemaMismatch` if a row can't be read with the added properties, or has null in a
    /// column that can't be null any more.
    /// - Parameters:
    ///   - added: the columns that the rows lack.
    ///   - narrowed: the columns that could be null until now.
    /// - Returns: whether a row was written.
    func run(added: [ColumnDescription], narrowed: [ColumnDescription]) throws -> Bool {
        guard !added.isEmpty || !narrowed.isEmpty else { return false }
        var wanted = narrowed
        if rewrite != nil, try needsValues(added) { wanted += added }
        if wanted.isEmpty { return false }
        let columns = try wanted.map { try type.column($0.name) }
        let total = Int(clamping: try transaction.count(type.rows))
        var reports = StepProgress(.completingRows, type.name, total: total, progress)
        var (next, count) = (RowID(rawValue: 0) as RowID?, 0)
        while let start = next { next = try completeSome(from: start, columns, &reports, &count) }
        if total > 0 { try reports.finish() }
        return count > 0
    }

    /// Whether rows without the added properties need values. An optional property is read as nil without one, unless
    /// it has another default, which any row shows.
    private func needsValues(_ added: [ColumnDescription]) throws -> Bool {
        guard !added.isEmpty else { return false }
        if !added.allSatisfy(\.type.isOptional) { return true }
        var cursor = try transaction.cursor(type.rows)
        guard try cursor.first() else { return false }
        // If the row was unreadable before, that is no reason to refuse properties that it doesn't need.
        guard let new = try? rewrite?(type, try RowReader(cursor.value, of: type)) else { return false }
        return try new.withBytes { bytes in
            let new = try RowReader(bytes, of: type)
            return try added.contains { try !new.isNull(column: type.column($0.name)) }
        }
    }

    /// Completes a part of the rows, from `start` on: as many as are held in memory at a time.
    /// - Returns: the row to continue with; nil at the end.
    private func completeSome(
        from start: RowID, _ columns: [Int], _ reports: inout StepProgress, _ count: inout Int
    ) throws -> RowID? {
        var rows: [(key: [UInt8], row: [UInt8])] = []
        var size = 0
        var cursor = try transaction.cursor(type.rows)
        var isValid = try cursor.seek(start.key)
        var next: RowID?
        while isValid {
            guard let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
            }
            if size >= 1 << 20 {
                next = rowID
                break
            }
            let old = try RowReader(cursor.value, of: type)
            if let column = columns.first(where: { !old.contains(column: $0) }) {
                let row = try completed(old, column)
                size += row.count + 64
                rows.append((rowID.key, row))
            }
            try reports.advance()
            isValid = try cursor.next()
        }
        for (key, row) in rows { try transaction.put(type.rows, key, row) }
        count += rows.count
        return next
    }

    /// Advice for a property that may have had another name, as the beginning of a sentence. Candidates are stored
    /// properties of the same type that no model declares. Empty if there are none.
    private func renaming(_ column: Int) -> String {
        let new = type.description.columns[column]
        let gone = type.description.columns[type.declared...].filter { old in
            !old.isHidden && old.type.unwrapped == new.type.unwrapped
        }
        guard let first = gone.first else { return "" }
        let names = gone.map { "“\($0.name)”" }.joined(separator: " or ")
        let step = ".rename(\(type.name).self, \"\(first.name)\", to: \\.\(new.name))"
        return "if it was called \(names), declare \(step); else "
    }

    /// The row with values in all missing columns. `column` is one of them.
    private func completed(_ old: RowReader, _ column: Int) throws -> [UInt8] {
        let name = type.description.columns[column].name
        let place = "\(type.name) \(try old.value(0).text) has no value for “\(name)”"
        guard let rewrite else {
            throw HornbeamError(.schemaMismatch, "\(place), which can't be null any more: give it one, or keep the “?”")
        }
        let new: [UInt8]
        do {
            new = try rewrite(type, old)
        } catch let error as HornbeamError where error.code == .undecodable {
            throw HornbeamError(
                .schemaMismatch,
                "\(place), which it needs: \(renaming(column))give the property a default, make it optional, "
                    + "or declare a migration that fills or converts it (\(error.message))")
        }
        return try new.withBytes { bytes in
            let new = try RowReader(bytes, of: type)
            var row = RowWriter(layout: type.layout)
            for column in type.layout.columns {
                row.setRaw(try (old.contains(column: column) ? old : new).rawBytes(column), column)
            }
            return try row.finish()
        }
    }
}
