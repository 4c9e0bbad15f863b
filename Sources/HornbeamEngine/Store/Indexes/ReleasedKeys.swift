// SPDX-License-Identifier: Apache-2.0
// Entries of unique indexes that their rows have released, so that others of the same batch can take their keys.

/// The rows of a type that a unique index lacks, by index. Each is found in O(1), however many there are: a batch may
/// have all entities of a type exchange their keys.
struct ReleasedKeys {
    private struct Entry: Hashable {
        let index: ObjectIdentifier
        let rowID: RowID
    }

    private var entries: [Entry: (index: EntityIndex, number: Int)] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// - Parameter number: grows from entry to entry.
    mutating func insert(_ index: EntityIndex, _ rowID: RowID, at number: Int) {
        entries[Entry(index: ObjectIdentifier(index), rowID: rowID)] = (index, number)
    }

    /// Whether the index lacked the row, which it does no more.
    mutating func remove(_ index: EntityIndex, _ rowID: RowID) -> Bool {
        entries.removeValue(forKey: Entry(index: ObjectIdentifier(index), rowID: rowID)) != nil
    }

    /// The first one with a number greater than `number`.
    func first(since number: Int) -> (index: EntityIndex, rowID: RowID)? {
        let later = entries.lazy.filter { $0.value.number > number }
        return later.min { $0.value.number < $1.value.number }.map { ($0.value.index, $0.key.rowID) }
    }
}
