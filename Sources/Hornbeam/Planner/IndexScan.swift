// SPDX-License-Identifier: Apache-2.0
// Walks one range of an index, either way. In order means: by the whole keys of the rows, and where these are equal by
// ascending row ids, also when walking backwards. Keys too long for the tree are cut (see IndexEntries.swift), so
// entries that share all that is kept are put in order by their rows.

import HornbeamPages
import HornbeamTree

struct IndexScan {
    let index: EntityIndex
    let range: KeyRange
    let store: EntityStore
    private let transaction: Transaction

    init(_ index: EntityIndex, _ range: KeyRange, _ store: EntityStore) {
        self.index = index
        self.range = range
        self.store = store
        transaction = store.transaction
    }

    func damaged() -> StorageError {
        store.corrupt("index \(index.description.name)", "an entry names no row")
    }

    /// All entries as they lie in the tree: in order but for cut keys.
    func entries(_ body: (RowID) throws -> Bool) throws {
        let isUnique = index.isUnique
        var cursor = try transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        try range.to.withUnsafeBytes { end in
            // By `entry`, not by `key`: that copies the whole cursor in a closure.
            while isValid, let entry = try cursor.entry(), end.isEmpty || entry.key.order(end) < 0 {
                guard let rowID = EntityIndex.rowID(key: entry.key, value: entry.value, isUnique: isUnique) else {
                    throw damaged()
                }
                guard try body(rowID) else { return }
                isValid = try cursor.next()
            }
        }
    }

    /// - Parameter skipped: entries to pass over, without reading them; only where no key can be cut.
    func forward(skipping skipped: Int = 0, _ body: (RowID) throws -> Bool) throws {
        var cursor = try transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        if skipped > 0, isValid {
            let before = try transaction.count(index.tree, from: [], to: range.from)
            let start = range.from.isEmpty ? 0 : before
            // Counts may be damaged.
            let (place, overflow) = start.addingReportingOverflow(UInt64(skipped))
            isValid = overflow ? false : try cursor.seek(index: place)
        }
        let isUnique = index.isUnique
        try range.to.withUnsafeBytes { end in
            while isValid, let entry = try cursor.entry(), end.isEmpty || entry.key.order(end) < 0 {
                if entry.key.count >= IndexKeyBytes.keptSize, isLong(entry.key) {
                    let kept = Array(entry.key.prefix(IndexKeyBytes.keptSize))
                    guard try longGroup(kept, descending: false, body) else { return }
                    // A key of the group's bytes and nothing but 0xFF would be longer than any key can be.
                    let beyond = kept + [UInt8](repeating: 0xFF, count: 32)
                    isValid = try cursor.seek(beyond)
                    continue
                }
                guard let rowID = EntityIndex.rowID(key: entry.key, value: entry.value, isUnique: isUnique) else {
                    throw damaged()
                }
                guard try body(rowID) else { return }
                isValid = try cursor.next()
            }
        }
    }

    /// - Parameter last: entries of its key come only if they are behind it.
    func backward(behind last: IndexPlace? = nil, _ body: (RowID) throws -> Bool) throws {
        var cursor = try transaction.cursor(index.tree)
        var isValid: Bool
        if !range.to.isEmpty, try cursor.seek(range.to) {
            isValid = try cursor.previous()
        } else {
            isValid = try cursor.last()
        }
        while isValid, let entry = try cursor.entry(), range.from.withUnsafeBytes({ entry.key.order($0) >= 0 }) {
            guard let size = index.keySize(entry.key), let rowID = index.rowID(key: entry.key, value: entry.value)
            else { throw damaged() }
            let isLong = isLong(entry.key)
            let isAlone = size == entry.key.count && !isLong
            let key = Array(entry.key.prefix(isLong ? IndexKeyBytes.keptSize : size))
            isValid = try cursor.previous()
            if isAlone || !isLong && !(isValid && isEntry(cursor.key, of: key)) {
                guard try body(rowID) else { return }
                continue
            }
            let start = last.flatMap { $0.key == key ? $0.rowID : nil }
            guard try isLong ? longGroup(key, descending: true, body) : group(key, behind: start, body) else { return }
            isValid = try cursor.seek(key) ? try cursor.previous() : try cursor.last()
        }
    }

    private func isEntry(_ entry: Bytes, of key: [UInt8]) -> Bool {
        entry.count == key.count + 8 && entry.starts(with: key)
    }

    /// All entries of one key, or those behind one row, in the order of the row ids. False if `body` ended it.
    private func group(_ key: [UInt8], behind last: RowID?, _ body: (RowID) throws -> Bool) throws -> Bool {
        var cursor = try transaction.cursor(index.tree)
        var isValid = try cursor.seek(last.flatMap(\.next).map { key + $0.key } ?? key)
        while isValid, let entry = try cursor.entry(), isEntry(entry.key, of: key) {
            guard let rowID = index.rowID(key: entry.key, value: entry.value) else { throw damaged() }
            guard try body(rowID) else { return false }
            isValid = try cursor.next()
        }
        return true
    }

    // MARK: Long keys

    /// Whether the entry's bytes may not tell its whole order.
    private func isLong(_ entry: Bytes) -> Bool {
        entry.count >= IndexKeyBytes.keptSize && (index.keySize(entry) ?? 0) >= IndexKeyBytes.keptSize
    }

    /// All entries that begin with `kept`, in the order of their rows' keys. Ranges never end within such a group:
    /// their bounds are no longer than what is kept. False if `body` ended it.
    private func longGroup(
        _ kept: [UInt8], descending: Bool, _ body: (RowID) throws -> Bool
    ) throws -> Bool {
        var found: [(key: [UInt8], rowID: RowID)] = []
        var cursor = try transaction.cursor(index.tree)
        var isValid = try cursor.seek(kept)
        while isValid, cursor.key.starts(with: kept) {
            guard let rowID = index.rowID(key: cursor.key, value: cursor.value), let row = try store.row(rowID) else {
                throw damaged()
            }
            found.append((try index.fullKey(of: row).key, rowID))
            isValid = try cursor.next()
        }
        found.sort { left, right in
            if left.key == right.key { return left.rowID < right.rowID }
            return left.key.lexicographicallyPrecedes(right.key) != descending
        }
        for entry in found where try !body(entry.rowID) { return false }
        return true
    }
}
