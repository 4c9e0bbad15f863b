// SPDX-License-Identifier: Apache-2.0
// Builds indexes from the rows: each index takes one pass over the rows, its keys are sorted and appended in order, so
// that nodes are packed. Memory is bounded for any number of rows.

import HornbeamPages
import HornbeamText
package import HornbeamTree

package struct IndexBuilder {
    /// A row's key in an index, with the row id always appended for sorting.
    private struct Entry {
        let sorted: [UInt8]
        /// Whether the tree has the key without the row id.
        let isExclusive: Bool

        var key: ArraySlice<UInt8> { sorted.dropLast(8) }
        var rowID: RowID? { sorted.withUnsafeBytes { RowID(key: $0, at: sorted.count - 8) } }
    }

    package let type: EntityType
    package let transaction: Transaction
    var sortBound = EntrySorter.standardBound
    package let progress: MigrationProgress.Handler?

    package init(
        type: EntityType, transaction: Transaction, sortBound: Int = EntrySorter.standardBound,
        progress: MigrationProgress.Handler?
    ) {
        self.type = type
        self.transaction = transaction
        self.sortBound = sortBound
        self.progress = progress
    }

    /// Builds indexes. Throws `.uniqueViolation` if two rows have the same key in a unique index.
    /// - Parameter names: the indexes to build. Their trees exist and are empty.
    package func build(_ names: Set<String>) throws {
        let total = Int(clamping: try transaction.count(type.rows))
        guard total > 0 else { return }
        for index in type.indexes where names.contains(index.description.name) {
            try build(index, total)
        }
        for index in type.textIndexes where names.contains(index.description.name) {
            let writer = try TextIndexWriter(index.index, in: transaction)
            try forEachRow(index.description.name, total) { rowID, row in
                guard try index.has(row) else { return }
                if let place = try index.place(in: row) {
                    try writer.insert(rowID.rawValue, utf8: Bytes(rebasing: row.bytes[place]))
                } else {
                    try writer.insert(rowID.rawValue, try index.text(of: row))
                }
            }
            try writer.flush()
        }
    }

    private func build(_ index: EntityIndex, _ total: Int) throws {
        var sorter = EntrySorter(transaction, bound: sortBound)
        try forEachRow(index.description.name, total) { rowID, row in
            let key = try index.key(of: row)
            try sorter.add(key.bytes + rowID.key, flag: index.isExclusive(key) ? 1 : 0)
        }
        var group: [Entry] = []
        try sorter.finish { sorted, flag, _ in
            let entry = Entry(sorted: sorted, isExclusive: flag == 1)
            if index.isUnique, let other = try holder(of: entry, index, &group) {
                throw try duplicate(index, other, entry)
            }
            guard let rowID = entry.rowID else { return }
            try rowID.withStored { (stored) throws(StorageError) in
                try sorted.withBytes { (bytes) throws(StorageError) in
                    let key = entry.isExclusive ? Bytes(rebasing: bytes.dropLast(8)) : bytes
                    try transaction.append(index.tree, key, index.isUnique ? stored : Bytes(start: nil, count: 0))
                }
            }
        }
    }

    /// An entry before `entry`, in the order of the keys, that has the same key; nil if there is none.
    /// - Parameter group: the entries since the last different key. Several whole keys may share a cut key. Its entries
    ///   are in the order of row ids, so equal whole keys need not be adjacent.
    private func holder(of entry: Entry, _ index: EntityIndex, _ group: inout [Entry]) throws -> Entry? {
        let isCut = entry.key.count == IndexKeyBytes.cutSize
        guard let first = group.first, first.key == entry.key else {
            group = entry.isExclusive || isCut ? [entry] : []
            return nil
        }
        guard isCut else { return entry.isExclusive ? first : nil }
        guard let whole = try wholeKey(entry, index) else { return nil }
        for other in group where try wholeKey(other, index) == whole { return other }
        group.append(entry)
        return nil
    }

    /// The whole key behind a cut one. Returns nil if a component is nil, which exempts the key.
    private func wholeKey(_ entry: Entry, _ index: EntityIndex) throws -> [UInt8]? {
        guard let whole = try row(entry).map({ try index.fullKey(of: $0) }), !whole.isExempt else { return nil }
        return whole.key
    }

    private func row(_ entry: Entry) throws -> RowReader? {
        guard let rowID = entry.rowID, let bytes = try transaction.get(type.rows, rowID) else { return nil }
        return try RowReader(bytes, of: type)
    }

    private func duplicate(_ index: EntityIndex, _ first: Entry, _ second: Entry) throws -> HornbeamError {
        let ids = try [first, second].map { try row($0)?.value(0) ?? .null }
        let texts = ids.map { $0.text.shown() }
        let holder = try row(second)
        let values = try holder.map { try index.description.text(of: $0, type) } ?? "?"
        return HornbeamError(
            .uniqueViolation,
            "unique index “\(index.description.name)” of \(type.name) can't be built: \(texts[0]) and "
                + "\(texts[1]) have the same \(values): change or delete one of them first, or open the store "
                + "without the index",
            violation: UniqueViolation(
                entityName: type.name, indexName: index.description.name, existing: ids[0], new: ids[1],
                values: try holder.map { try index.description.values(of: $0, type) } ?? []))
    }

    private func forEachRow(_ name: String, _ total: Int, _ body: (RowID, RowReader) throws -> Void) throws {
        var steps = StepProgress(.buildingIndex, type.name, name, total: total, progress)
        var cursor = try transaction.cursor(type.rows)
        var isValid = try cursor.first()
        while isValid {
            guard let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
            }
            try body(rowID, try RowReader(cursor.value, of: type))
            try steps.advance()
            isValid = try cursor.next()
        }
        try steps.finish()
    }
}
