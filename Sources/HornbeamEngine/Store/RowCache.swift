// SPDX-License-Identifier: Apache-2.0
// Which rows are stored and which are not, as far as a transaction that saves many knows without looking. Entities that
// are saved together mostly have greater row ids than all before, and are linked to the same few others: looking
// their rows up took a tenth of a save.

import HornbeamPages
import HornbeamTree

/// Rows of one type. Writers tell it what they store; the transaction's counter tells it that rows were removed.
struct RowCache {
    /// Some of those that were stored when as many rows had been removed as in `removals`: each has one place.
    private var stored: [UInt64] = []
    private var removals = 0
    /// No row beyond this one is stored. Nil if that isn't known.
    private var greatest: UInt64?
    /// Rows that were told. Few are not worth remembering, or looking up which row is the last one.
    private var told = 0

    /// Number of rows that are remembered: as many as make a kilobyte, and a power of two.
    private static var size: Int { 128 }
    private static var worthwhile: Int { 4 }

    /// Whether it is known that a row is not stored. To be asked by saves.
    mutating func isMissing(_ rowID: RowID, in store: EntityStore) throws(StorageError) -> Bool {
        if let greatest { return rowID.rawValue > greatest }
        guard told > Self.worthwhile else { return false }
        var cursor = try store.transaction.cursor(store.type.rows)
        // A key that is damaged stands for the greatest.
        greatest = try cursor.last() ? RowID(key: cursor.key)?.rawValue ?? .max : 0
        return false
    }

    /// Whether it is known that a row is stored.
    @inline(__always)
    func isStored(_ rowID: RowID, removals: Int) -> Bool {
        guard removals == self.removals, !stored.isEmpty else { return false }
        return stored[Int(truncatingIfNeeded: rowID.rawValue) & (Self.size &- 1)] == rowID.rawValue
    }

    /// A row is stored.
    /// - Parameter remembers: whether it is worth remembering.
    mutating func note(_ rowID: RowID, removals: Int, remembers: Bool = true) {
        if let greatest, rowID.rawValue > greatest { self.greatest = rowID.rawValue }
        told &+= 1
        guard remembers, told > Self.worthwhile else { return }
        if removals != self.removals || stored.isEmpty {
            // No row has the greatest number.
            stored = Array(repeating: .max, count: Self.size)
            self.removals = removals
        }
        stored[Int(truncatingIfNeeded: rowID.rawValue) & (Self.size &- 1)] = rowID.rawValue
    }
}
