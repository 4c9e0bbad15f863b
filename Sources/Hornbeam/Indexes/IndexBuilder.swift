// SPDX-License-Identifier: Apache-2.0
// Builds indexes from the rows: one pass over them, the keys sorted, then appended in order, so that nodes come out
// packed.

import HornbeamPages
import HornbeamText
import HornbeamTree

struct IndexBuilder {
    private typealias Entry = (key: [UInt8], value: [UInt8])

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
        var entries: [Entry] = []
        entries.reserveCapacity(total)
        try forEachRow(index.description.name, total) { rowID, row in
            entries.append(index.entry(try index.key(of: row), rowID))
        }
        entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
        var group: [Entry] = []
        for entry in entries {
            if index.isUnique, let other = try holder(of: entry, index, &group) {
                throw try duplicate(index, other.value, entry.value)
            }
            try entry.key.withBytes { (key) throws(StorageError) in
                try entry.value.withBytes { (value) throws(StorageError) in
                    try transaction.append(index.tree, key, value)
                }
            }
        }
    }

    /// The entry before `entry`, in the order of the keys, that has the same key.
    /// - Parameter group: the entries since the last other key in the tree. A cut key may stand for several whole ones,
    ///   and among its entries, which come by their row ids, equal ones need not be neighbours.
    private func holder(of entry: Entry, _ index: EntityIndex, _ group: inout [Entry]) throws -> Entry? {
        let cut = IndexKeyBytes.cutSize
        let isCut = entry.key.count == cut + 8
        guard let first = group.first, first.key.count == entry.key.count,
            isCut ? first.key.prefix(cut) == entry.key.prefix(cut) : first.key == entry.key
        else {
            group = [entry]
            return nil
        }
        guard isCut else { return first }
        guard let whole = try wholeKey(entry, index) else { return nil }
        for other in group where try wholeKey(other, index) == whole { return other }
        group.append(entry)
        return nil
    }

    /// The key that a cut one stands for; nil if a component is nil, which exempts it.
    private func wholeKey(_ entry: Entry, _ index: EntityIndex) throws -> [UInt8]? {
        guard let whole = try row(entry.value).map({ try index.fullKey(of: $0) }), !whole.hasNil else { return nil }
        return whole.key
    }

    /// The row that a stored row id names.
    private func row(_ stored: [UInt8]) throws -> RowReader? {
        guard let rowID = stored.withUnsafeBytes({ RowID(stored: $0) }),
            let bytes = try transaction.get(type.rows, rowID.key)
        else { return nil }
        return try RowReader(bytes, of: type)
    }

    private func duplicate(_ index: EntityIndex, _ first: [UInt8], _ second: [UInt8]) throws -> HornbeamError {
        let ids = try [first, second].map { try row($0)?.value(0).text ?? "?" }
        let values = try row(second).map { try index.description.text(of: $0, type) } ?? "?"
        return HornbeamError(
            .uniqueViolation,
            "unique index “\(index.description.name)” of \(type.name) can't be built: \(ids[0]) and \(ids[1]) have the "
                + "same \(values): change one of them, or open the store without the index")
    }

    private func forEachRow(_ name: String, _ total: Int, _ body: (RowID, RowReader) throws -> Void) throws {
        var cursor = try transaction.cursor(type.rows)
        var isValid = try cursor.first()
        var done = 0
        while isValid {
            guard let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
            }
            try body(rowID, try RowReader(cursor.value, of: type))
            done += 1
            if done.isMultiple(of: 1024) { progress?(name, done, total) }
            isValid = try cursor.next()
        }
        progress?(name, done, total)
    }
}
