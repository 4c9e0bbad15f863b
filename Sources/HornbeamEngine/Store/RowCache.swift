// SPDX-License-Identifier: Apache-2.0
// Remembers which rows are stored and which are not, in a transaction that saves many. Entities that are saved together
// mostly have greater row ids than all before, and are linked to the same few others: looking their rows up took a
// tenth of a save.

import HornbeamPages
import HornbeamTree

/// Rows of one type. Writers note the rows that they store; the transaction's counter shows that rows were removed.
struct RowCache {
    /// Some of the rows that were stored when `removals` rows had been removed. A row id has one slot.
    private var stored: [UInt64] = []
    private var removals = 0
    /// A bound of the stored row ids: none is greater. It is nil while no bound is known.
    private var greatest: UInt64?
    /// Number of rows noted. A few are not worth remembering, nor worth a look-up of the greatest row id.
    private var told = 0

    /// Number of slots: a power of two that makes a kilobyte.
    private static var size: Int { 128 }
    private static var worthwhile: Int { 4 }

    /// Whether it is known that a row is not stored. Only saves may ask.
    mutating func isMissing(_ rowID: RowID, in store: EntityStore) throws(StorageError) -> Bool {
        if let greatest { return rowID.rawValue > greatest }
        guard told > Self.worthwhile else { return false }
        var cursor = try store.transaction.cursor(store.type.rows)
        // A damaged key counts as the greatest.
        greatest = try cursor.last() ? RowID(key: cursor.key)?.rawValue ?? .max : 0
        return false
    }

    /// Whether it is known that a row is stored.
    @inline(__always)
    func isStored(_ rowID: RowID, removals: Int) -> Bool {
        guard removals == self.removals, !stored.isEmpty else { return false }
        return stored[Int(truncatingIfNeeded: rowID.rawValue) & (Self.size &- 1)] == rowID.rawValue
    }

    /// Notes that a row is stored.
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
