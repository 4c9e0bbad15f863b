// SPDX-License-Identifier: Apache-2.0
// Entries of unique indexes that their rows have released, so that other rows of the same batch can take their keys.

import HornbeamPages
import HornbeamTree

/// The rows of a type that a unique index lacks, by index. Each is found in O(1), because all entities of a type may
/// exchange their keys in one batch.
struct ReleasedKeys {
    private struct Entry: Hashable {
        let index: ObjectIdentifier
        let rowID: RowID
    }

    private var entries: [Entry: (index: EntityIndex, number: Int, toLink: Bool)] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// - Parameters:
    ///   - number: increases from entry to entry.
    ///   - toLink: whether the other row gets the key by a link.
    mutating func insert(_ index: EntityIndex, _ rowID: RowID, at number: Int, toLink: Bool) {
        entries[Entry(index: ObjectIdentifier(index), rowID: rowID)] = (index, number, toLink)
    }

    /// Notes that the index has the row again. Returns whether it lacked the row.
    mutating func remove(_ index: EntityIndex, _ rowID: RowID) -> Bool {
        entries.removeValue(forKey: Entry(index: ObjectIdentifier(index), rowID: rowID)) != nil
    }

    /// The entries with a number greater than `number`, in the order of their numbers.
    func all(since number: Int) -> [(index: EntityIndex, rowID: RowID, toLink: Bool)] {
        let later = entries.filter { $0.value.number > number }.sorted { $0.value.number < $1.value.number }
        return later.map { ($0.value.index, $0.key.rowID, $0.value.toLink) }
    }
}

extension EntityStore {
    /// Removes a row from a unique index, so that another row can be saved with its key. The index lacks the row until
    /// the row is saved with another key, or deleted.
    /// - Parameter toLink: whether the other row gets the key by a link.
    package func yield(_ index: IndexDescription, _ rowID: RowID, toLink: Bool = false) throws {
        guard let index = type.indexes.first(where: { $0.description.name == index.name }), let row = try row(rowID)
        else { return }
        try index.withEntry(try index.key(of: row), rowID) { (key, _) throws(StorageError) in
            _ = try transaction.delete(index.tree, key)
        }
        core.counts.yields += 1
        yielded.insert(index, rowID, at: core.counts.yields, toLink: toLink)
    }

    /// Restores the entries of the rows that released a key after the first `yields` releases, if no other row has
    /// taken it. Returns the error for the first row whose key another row has now, nil if there is none.
    func takeBack(since yields: Int) throws -> HornbeamError? {
        for left in yielded.all(since: yields) {
            guard let row = try row(left.rowID) else { continue }
            let key = try left.index.key(of: row)
            guard let other = try holder(of: key, row, left.index, except: left.rowID) else {
                try left.index.withEntry(key, left.rowID) { (key, value) throws(StorageError) in
                    try transaction.put(left.index.tree, key, value)
                }
                _ = yielded.remove(left.index, left.rowID)
                continue
            }
            if left.toLink, let new = try self.row(other) {
                return try violation(left.index.description, of: new, by: left.rowID)
            }
            return try left.index.description.violation(
                of: row, type, by: try id(of: other) ?? .null,
                remark: ", a key that it had given up: a hook changed the entity during the save")
        }
        return nil
    }
}
