// SPDX-License-Identifier: Apache-2.0
// Rewrites all rows of a type by the steps that apply to them, in one pass: from the old tree into a new one that
// replaces it, so that memory holds one row at a time.

import HornbeamPages
import HornbeamTree

/// The steps of one type's rows.
struct RowMigration {
    enum Step {
        /// Converts the column at a position. With `onlyUnreadable` it leaves values that the new type can read; the
        /// new type is then stored like the old one.
        case convert(Int, MigrationStep.Conversion, onlyUnreadable: Bool)
        /// Adds a column after all others, with the columns that its closure sees.
        case fill([ColumnDescription], String, @Sendable (StoredRow) throws -> Value)
        case forget(Int)
    }

    /// The columns of the rows in the file. Their names don't matter.
    let stored: [ColumnDescription]
    /// The columns afterwards.
    var columns: [ColumnDescription]
    private(set) var steps: [Step] = []

    init(stored: [ColumnDescription]) {
        self.stored = stored
        columns = stored
    }

    mutating func add(_ step: Step, columns: [ColumnDescription]) {
        steps.append(step)
        self.columns = columns
    }

    /// Rewrites the rows of the type called `type`. Indexes over unchanged columns stay valid.
    func run(_ type: String, in transaction: Transaction, _ progress: MigrationProgress.Handler?) throws {
        let name = "e:\(type)"
        let (old, new) = (RowLayout(columns: stored), RowLayout(columns: columns))
        let total = try transaction.tree(name).map { Int(clamping: try transaction.count($0)) } ?? 0
        guard total > 0 else { return }
        var reports = StepProgress(.migratingRows, type, total: total, progress)
        try transaction.rewriteTree(name) { key, value, append in
            guard let rowID = RowID(key: key) else {
                throw StorageError.corrupt(Corruption(tree: name, reason: "a key is no row id"))
            }
            try append(rowID.key, try rewritten(try RowReader(value, layout: old), type, new))
            try reports.advance()
        }
        try reports.finish()
    }

    /// Whether the new type of a conversion can't read some stored value of the column, in a row or in a deleted
    /// entity. Reads rows until it finds such a value.
    static func hasUnreadable(
        _ conversion: MigrationStep.Conversion, _ type: EntityDescription, _ place: Int, deleted: EntityDescription?,
        in transaction: Transaction
    ) throws -> Bool {
        func contains(_ type: EntityDescription, _ isMet: (RowReader) throws -> Bool) throws -> Bool {
            guard let rows = try transaction.tree("e:\(type.name)") else { return false }
            let layout = RowLayout(columns: type.columns)
            defer { withExtendedLifetime(layout) {} }
            var cursor = try transaction.cursor(rows)
            while try cursor.next() {
                if try isMet(try RowReader(cursor.value, layout: layout)) { return true }
            }
            return false
        }
        if try contains(type, { try !conversion.isReadable($0.value(place)) }) { return true }
        guard let deleted, let entity = deleted.column("entity") else { return false }
        let column = type.columns[place]
        return try contains(deleted) { row in
            let member = try TombstoneMigration.members(row, entity).first { $0.name == column.name }
            // A missing value leaves nothing to convert.
            guard let value = member.flatMap({ JSONRows.value($0.value, as: column.type) }) else { return false }
            return !conversion.isReadable(value)
        }
    }

    private func rewritten(_ reader: RowReader, _ type: String, _ layout: RowLayout) throws -> [UInt8] {
        var row = MigratingRow(reader, stored)
        for step in steps {
            try apply(step, to: &row) { row, property, body in try made(type, property, row, body) }
        }
        return try made(type, nil, row) { try row.write(layout) }
    }

    /// Applies the steps to a deleted entity. A deleted entity never makes an opening fail: a value that can't be
    /// converted becomes null.
    func apply(toDeleted row: inout MigratingRow) throws {
        for step in steps {
            try apply(step, to: &row) { _, _, body in (try? body()) ?? .null }
        }
    }

    /// - Parameter make: calls the closure that makes the value of a property.
    private func apply(
        _ step: Step, to row: inout MigratingRow,
        _ make: (_ row: MigratingRow, _ property: String, _ body: () throws -> Value) throws -> Value
    ) throws {
        switch step {
        case .convert(let place, let conversion, let onlyUnreadable):
            let value = try row.value(place)
            if onlyUnreadable, conversion.isReadable(value) { return }
            row.cells[place] = .value(
                try make(row, conversion.column.name) {
                    if value == .null, !conversion.from.isOptional {
                        if conversion.column.type.isOptional { return .null }
                        throw HornbeamError(
                            .schemaMismatch, "there is no value to convert: convert it from an optional type")
                    }
                    return try conversion.convert(value)
                })
        case .fill(let columns, let name, let value):
            row.columns = columns
            row.cells.append(.value(try make(row, name) { [row] in try value(StoredRow(row: row)) }))
        case .forget(let place):
            row.cells.remove(at: place)
        }
    }

    /// Returns the result of a closure of the program. Adds the row and the property to its errors.
    private func made<Result>(
        _ type: String, _ property: String?, _ row: MigratingRow, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch {
            let id = (try? row.value(0).text) ?? "?"
            let place = "\(type) \(id)" + (property.map { ", property “\($0)”" } ?? "")
            throw HornbeamError.ofMigration(place, error)
        }
    }
}

extension Transaction {
    /// Rewrites a tree: calls `body` with each entry, which appends new entries in ascending order.
    func rewriteTree(
        _ name: String,
        _ body: (_ key: Bytes, _ value: Bytes, _ append: (_ key: [UInt8], _ value: [UInt8]) throws -> Void) throws ->
            Void
    ) throws {
        guard let old = try tree(name) else { return }
        let (temporary, new) = try makeTree("new:\(name)")
        var cursor = try cursor(old)
        while try cursor.next() {
            try body(cursor.key, cursor.value) { key, value in try append(new, key, value) }
        }
        _ = try dropTree(name)
        _ = try renameTree(temporary, to: name)
    }
}
