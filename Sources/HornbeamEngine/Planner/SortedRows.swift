// SPDX-License-Identifier: Apache-2.0
// Sorts rows that no index gives in order, keeping only as many as the limit can need. The places of rows in the order
// are bytes in one block, and the sort reads nothing else. Only properties whose order is Swift code are compared value
// by value.
//
// Without a limit small rows are copied after their keys, so that they need not be looked up again.

import HornbeamKeys
import HornbeamPages

package struct SortedRows {
    private let order: RowOrder
    /// Maximum number of rows, nil if all are wanted.
    private let limit: Int?
    /// The place after which rows are wanted, nil for all rows.
    private let position: RowOrder.Place?
    private let keepsRows: Bool
    /// The keys of the rows, with their row ids as numbers and maybe the rows as values.
    private var entries = EntryBuffer()
    /// The last key of the best `limit` rows so far.
    private var worst: (key: [UInt8], rowID: RowID)?
    /// The places of the rows, instead of `entries`, if the order has parts that aren't bytes.
    private var places: [RowOrder.Place] = []
    private var threshold: RowOrder.Place?

    /// Maximum size of a kept row, in bytes. Larger rows are looked up again.
    private static let keptRowSize = 512
    /// The size of all entries, in bytes, from which no more rows are kept.
    private static let keptSize = 1 << 27

    /// - Parameter needsRows: whether the caller will read the rows.
    package init(_ order: RowOrder, limit: Int?, after position: RowOrder.Place?, needsRows: Bool) {
        self.order = order
        self.limit = limit.flatMap { $0 < 1 << 40 ? $0 : nil }
        self.position = position
        keepsRows = needsRows && self.limit == nil
    }

    package mutating func insert(_ rowID: RowID, _ row: RowReader) throws {
        guard order.isBytes else { return try insertPlace(order.place(rowID, row)) }
        try order.append(rowID, row, to: &entries.keys)
        guard try isWanted(rowID) else { return entries.removeWritten() }
        let isKept = keepsRows && row.bytes.count <= Self.keptRowSize && entries.size < Self.keptSize
        entries.addWritten(number: rowID.rawValue, value: isKept ? row.bytes : Bytes(start: nil, count: 0))
        if let limit, entries.count >= 2 * limit + 256 {
            prune(to: limit)
            if limit > 0 { worst = (Array(entries.key(limit - 1)), RowID(rawValue: entries.number(limit - 1))) }
        }
    }

    /// Whether the row whose key was written last may be among the results.
    @inline(__always)
    private func isWanted(_ rowID: RowID) throws -> Bool {
        if worst == nil, position == nil { return true }
        return try entries.withWritten { key in
            if let worst {
                let order = worst.key.withUnsafeBytes { key.order($0) }
                if order > 0 || order == 0 && rowID >= worst.rowID { return false }
            }
            return try position.map { try order.isBehind($0, key, rowID) } ?? true
        }
    }

    private mutating func insertPlace(_ place: RowOrder.Place) throws {
        if let threshold, !order.precedes(place, threshold) { return }
        if let position, try !order.isBehind(position, place) { return }
        places.append(place)
        if let limit, places.count >= 2 * limit + 256 {
            prune(to: limit)
            threshold = places.last
        }
    }

    private mutating func prune(to limit: Int) {
        guard order.isBytes else {
            let order = order
            places.sort { order.precedes($0, $1) }
            return places.removeLast(max(0, places.count - limit))
        }
        entries.sort()
        guard entries.count > limit else { return }
        var left = limit
        entries.renumber { number in
            left -= 1
            return left >= 0 ? number : nil
        }
    }

    /// The row ids in order, at most `limit`.
    package mutating func finish() -> [RowID] {
        prune(to: limit ?? .max)
        guard order.isBytes else { return places.map(\.rowID) }
        return (0..<entries.count).map { RowID(rawValue: entries.number($0)) }
    }

    /// Calls `body` with the rows in order, without the first `skipped`, until it returns false. A row that no longer
    /// exists is nil. `body` must not change the store.
    mutating func finish(
        skipping skipped: Int = 0, in store: EntityStore, _ body: (RowID, RowReader?) throws -> Bool
    ) throws {
        var waiting = RowLookups()
        guard keepsRows, order.isBytes else {
            for rowID in finish().dropFirst(skipped) {
                waiting.add(rowID)
                if waiting.isFull, try !waiting.finish(in: store, body) { return }
            }
            _ = try waiting.finish(in: store, body)
            return
        }
        entries.sort()
        let layout = store.type.layout
        var goesOn = true
        try entries.forEachValue(from: skipped) { number, row in
            if row.isEmpty {
                waiting.add(RowID(rawValue: number))
                if waiting.isFull { goesOn = try waiting.finish(in: store, body) }
                return goesOn
            }
            if waiting.count > 0 { goesOn = try waiting.finish(in: store, body) }
            goesOn = try goesOn && body(RowID(rawValue: number), RowReader(row, layout: layout))
            return goesOn
        }
        if goesOn { _ = try waiting.finish(in: store, body) }
    }
}
