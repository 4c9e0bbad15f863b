// SPDX-License-Identifier: Apache-2.0
// A program that doesn't know a property saves entities without it. If the property can't be nil, a later program reads
// its default, and filters, which read rows, must find that value. So the store remembers the types that such programs
// have opened for writing, and the next program that knows all properties completes the rows.

import HornbeamTree

/// The work that an opening has with rows that may lack columns which can't be null.
struct RowGaps {
    /// Types whose rows may lack columns from now on.
    private(set) var begun: [String] = []
    /// Types whose rows may lack columns that this program knows, with these columns.
    private(set) var ended: [(type: String, columns: [ColumnDescription])] = []
    /// The types among these whose rows are complete afterwards.
    private(set) var closed: [String] = []

    var isSettled: Bool { begun.isEmpty && ended.isEmpty }

    /// - Parameters:
    ///   - declared: names of the types that have models.
    ///   - canSave: whether this opening may lead to incomplete rows; false for a read-only opening.
    ///   - canComplete: whether there are models that give the missing values.
    init(
        _ merged: [Merged], declared: Set<String>, stored: [String: EntityDescription], canSave: Bool,
        canComplete: Bool, in transaction: Transaction
    ) throws {
        for type in merged where declared.contains(type.description.name) {
            let name = type.description.name
            guard let old = stored[name] else { continue }
            let unknown = type.description.columns[type.declared...].contains { !$0.type.isOptional }
            let isMarked = try SchemaCatalogue.mayHaveGaps(name, in: transaction)
            if canSave, unknown, !isMarked { begun.append(name) }
            // A read transaction completes nothing, but reports that it is needed.
            guard isMarked, !unknown, canComplete || !transaction.isWritable else { continue }
            // Columns that this opening adds are completed as added ones.
            let columns = type.description.columns.filter { !$0.type.isOptional && old.column($0.name) != nil }
            ended.append((name, columns))
            closed.append(name)
        }
    }
}
