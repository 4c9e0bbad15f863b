// SPDX-License-Identifier: Apache-2.0
// Looks up rows together, for speed: groups of keys go down the tree side by side, and nodes are fetched from memory
// while others are searched. In a nested query of 200 rows each row then takes 400 instructions fewer than with a
// look-up of its own.

import HornbeamPages
import HornbeamTree

/// Row ids that wait for their rows. A value: it holds no page.
package struct RowLookups {
    /// Maximum number of look-ups: as many as a tree makes side by side.
    static var size: Int { 16 }

    private var ids = InlineArray<16, UInt64>(repeating: 0)
    private(set) var count = 0

    package init() {}

    package var isFull: Bool { count == Self.size }

    /// Adds a row id. There must be room: see `isFull`.
    @inline(__always)
    package mutating func add(_ rowID: RowID) {
        ids[count] = rowID.rawValue
        count &+= 1
    }

    /// Calls `body` with each row in the order of the ids, or with nil if there is none, until it returns false.
    /// Returns false if `body` did. Afterwards no id waits. `body` must not change the store.
    package mutating func finish(in store: EntityStore, _ body: (RowID, RowReader?) throws -> Bool) throws -> Bool {
        let count = count
        self.count = 0
        let ids = ids
        var found = InlineArray<16, Bytes?>(repeating: nil)
        // If that fails, rows are read one by one, so that an error is thrown at its row, or not at all if the caller
        // stops before it.
        guard count > 1, Self.lookUp(ids, count, in: store, &found) else {
            for index in 0..<count {
                let rowID = RowID(rawValue: ids[index])
                guard try body(rowID, try store.row(rowID)) else { return false }
            }
            return true
        }
        // It is outside the loop, which would count a reference to it each time.
        let layout = store.type.layout
        for index in 0..<count {
            var row: RowReader?
            if let bytes = found[index] { row = try RowReader(bytes, layout: layout) }
            guard try body(RowID(rawValue: ids[index]), row) else { return false }
        }
        return true
    }

    /// Looks up all rows. Returns whether all could be read.
    private static func lookUp(
        _ ids: InlineArray<16, UInt64>, _ count: Int, in store: EntityStore, _ found: inout InlineArray<16, Bytes?>
    ) -> Bool {
        do throws(StorageError) {
            var rows = found.mutableSpan
            try rows.withUnsafeMutableBufferPointer { (rows) throws(StorageError) in
                try ids.span.withUnsafeBufferPointer { (ids) throws(StorageError) in
                    try store.transaction.getMany(
                        store.type.rows, numbers: UnsafeBufferPointer(rebasing: ids[..<count]), into: rows)
                }
            }
            return true
        } catch {
            return false
        }
    }
}
