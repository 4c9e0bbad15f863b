// SPDX-License-Identifier: Apache-2.0
// Builds indexes from the rows: one pass over them, the keys sorted, then appended in order, so that nodes come out
// packed.

import HornbeamPages
import HornbeamText
import HornbeamTree

struct IndexBuilder {
    let type: EntityType
    let transaction: Transaction
    /// Called now and then: index name, rows done, rows in all.
    let progress: ((String, Int, Int) -> Void)?

    /// - Parameter names: those of the indexes to build; their trees are there and empty.
    func build(_ names: Set<String>) throws {
        let total = Int(clamping: try transaction.count(type.rows))
        guard total > 0 else { return }
        for index in type.indexes where names.contains(index.description.name) {
            try build(index, total)
        }
        for index in type.textIndexes where names.contains(index.description.name) {
            let writer = try TextIndexWriter(index.index, in: transaction)
            try forEachRow(index.description.name, total) { rowID, row in
                try writer.insert(rowID.rawValue, text: try index.text(of: row))
            }
            try writer.flush()
        }
    }

    private func build(_ index: EntityIndex, _ total: Int) throws {
        var entries: [(key: [UInt8], value: [UInt8])] = []
        entries.reserveCapacity(total)
        try forEachRow(index.description.name, total) { rowID, row in
            entries.append(index.entry(try index.key(of: row), rowID))
        }
        entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for position in entries.indices {
            let entry = entries[position]
            if index.isUnique, position > 0, try collides(index, entries[position - 1], entry) {
                throw try duplicate(index, entries[position - 1].value, entry.value)
            }
            try entry.key.withBytes { (key) throws(StorageError) in
                try entry.value.withBytes { (value) throws(StorageError) in
                    try transaction.append(index.tree, key, value)
                }
            }
        }
    }

    /// Whether two neighbours in the order of their keys are the same key.
    private func collides(
        _ index: EntityIndex, _ first: (key: [UInt8], value: [UInt8]), _ second: (key: [UInt8], value: [UInt8])
    ) throws -> Bool {
        if first.key == second.key { return true }
        let cut = IndexKeyBytes.cutSize
        guard first.key.count == cut + 8, second.key.count == cut + 8,
            first.key.prefix(cut) == second.key.prefix(cut)
        else { return false }
        let whole = try [first.value, second.value].map { try row($0).map { try index.fullKey(of: $0) } }
        return whole[0]?.hasNil == false && whole[0]?.key == whole[1]?.key
    }

    /// The row that a stored row id names.
    private func row(_ stored: [UInt8]) throws -> RowReader? {
        guard let rowID = stored.withUnsafeBytes({ RowID(stored: $0) }),
            let bytes = try transaction.get(type.rows, rowID.key)
        else { return nil }
        return try RowReader(bytes, layout: type.layout)
    }

    private func duplicate(_ index: EntityIndex, _ first: [UInt8], _ second: [UInt8]) throws -> HornbeamError {
        let ids = try [first, second].map { try row($0)?.value(0).text ?? "?" }
        let columns = index.description.components.map(\.column).joined(separator: ", ")
        return HornbeamError(
            .uniqueViolation,
            "unique index “\(index.description.name)” of \(type.name) can't be built: \(ids[0]) and \(ids[1]) have the "
                + "same \(columns)")
    }

    private func forEachRow(_ name: String, _ total: Int, _ body: (RowID, RowReader) throws -> Void) throws {
        var cursor = try transaction.cursor(type.rows)
        var isValid = try cursor.first()
        var done = 0
        while isValid {
            guard let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
            }
            try body(rowID, try RowReader(cursor.value, layout: type.layout))
            done += 1
            if done.isMultiple(of: 1024) { progress?(name, done, total) }
            isValid = try cursor.next()
        }
        progress?(name, done, total)
    }
}
