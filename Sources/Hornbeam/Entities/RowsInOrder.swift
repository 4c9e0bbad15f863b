// SPDX-License-Identifier: Apache-2.0
// Many row ids that are looked up in their order. Those of a level of a nested query mostly ascend without gaps: then
// each is the entry behind the last one, which a step of a cursor finds in a fifth of what a lookup takes.

import HornbeamPages
import HornbeamTree

/// Looks up row ids that ascend, in a tree whose keys are row ids.
struct AscendingLookups: ~Copyable {
    private var cursor: Cursor
    /// Where the cursor stands: at the first entry that isn't before the row that was looked up last.
    private var here: RowID?
    private var isAtEnd = false

    init(_ tree: TreeID, in transaction: Transaction) throws(StorageError) {
        cursor = try transaction.cursor(tree)
    }

    /// The value of a row, nil if it has none. Lives until the next lookup. `row` isn't before the last one.
    @inline(__always)
    mutating func value(of row: RowID) throws(StorageError) -> Bytes? {
        if isAtEnd { return nil }
        if here.map({ $0 < row }) ?? true { try move(to: row) }
        guard here == row, let entry = try cursor.entry() else { return nil }
        return entry.value
    }

    private mutating func move(to row: RowID) throws(StorageError) {
        if here != nil {
            // A leaf that can't be read matters only if the row is in it, which the seek tells.
            if let isThere = try? cursor.next() {
                note(isThere)
                if isAtEnd { return }
                if let here, here >= row { return }
            }
        }
        note(
            try RowKey(row).withBytes { (key) throws(StorageError) in
                try cursor.seek(key)
            })
    }

    @inline(__always)
    private mutating func note(_ isThere: Bool) {
        here = isThere ? RowID(key: cursor.key) : nil
        isAtEnd = !isThere
    }
}

extension EntityStore {
    /// Calls `body` with each row, nil where there is none, and its place in `rows`, in their order. `body` must not
    /// change the store.
    func forEach(_ rows: [RowID], _ body: (Int, RowReader?) throws -> Void) throws {
        if rows.isRun {
            var lookups = try AscendingLookups(type.rows, in: transaction)
            for place in 0..<rows.count {
                guard let bytes = try lookups.value(of: rows[place]) else {
                    try body(place, nil)
                    continue
                }
                try body(place, try RowReader(bytes, of: type))
            }
            return
        }
        var waiting = RowLookups()
        var place = 0
        func take(_: RowID, _ row: RowReader?) throws -> Bool {
            try body(place, row)
            place += 1
            return true
        }
        for row in rows {
            waiting.add(row)
            if waiting.isFull { _ = try waiting.finish(in: self, take) }
        }
        _ = try waiting.finish(in: self, take)
    }
}
