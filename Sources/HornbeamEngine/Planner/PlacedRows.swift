// SPDX-License-Identifier: Apache-2.0
// Reads many rows whose requested order isn't the stored order. It reads all rows in stored order and puts each
// requested one into its position. For many rows that is faster than a look-up for each.

import HornbeamPages
import HornbeamTree

extension EntityStore {
    /// Whether reading all rows in stored order costs less than looking up this number of rows.
    package func places(_ count: Int) throws -> Bool {
        guard count >= 256 else { return false }
        return Double(count) * Price.scatteredRow > Double(try self.count()) * Price.placedRow
    }

    /// Calls `body` with each stored row of `order` and its index in `order`, by ascending row id. `body` must not
    /// change the store. Reads all rows between the lowest and the highest row id.
    /// - Parameter order: row ids without duplicates.
    package func forEachPlaced(_ order: [RowID], _ body: (Int, RowReader) throws -> Void) throws {
        guard let first = order.min()?.rawValue, let last = order.max()?.rawValue else { return }
        if last - first < 4 * UInt64(order.count), order.count < Int(UInt32.max) {
            try forEachOfDense(order, first, last, body)
        } else {
            try forEachOfSparse(order, first, last, body)
        }
    }

    /// Finds indices by a table with an entry for each row id of the range.
    private func forEachOfDense(
        _ order: [RowID], _ first: UInt64, _ last: UInt64, _ body: (Int, RowReader) throws -> Void
    ) throws {
        var places = [UInt32](repeating: .max, count: Int(last - first) + 1)
        for place in 0..<order.count { places[Int(order[place].rawValue - first)] = UInt32(place) }
        try forEachRow(from: first, through: last) { rowID, row in
            let place = places[Int(rowID.rawValue - first)]
            if place != .max { try body(Int(place), row) }
            return true
        }
    }

    /// Finds indices by a sorted list of the row ids.
    private func forEachOfSparse(
        _ order: [RowID], _ first: UInt64, _ last: UInt64, _ body: (Int, RowReader) throws -> Void
    ) throws {
        let places = KeySort.sorted(order.count) { order[$0].rawValue }
        var next = 0
        try forEachRow(from: first, through: last) { rowID, row in
            while next < places.count, places[next].head < rowID.rawValue { next += 1 }
            guard next < places.count, places[next].head == rowID.rawValue else { return next < places.count }
            try body(places[next].number, row)
            next += 1
            return next < places.count
        }
    }

    private func forEachRow(
        from first: UInt64, through last: UInt64, _ body: (RowID, RowReader) throws -> Bool
    ) throws {
        try forEachRow(
            from: RowID(rawValue: first).key, to: RowID(rawValue: last).next?.key ?? [], skipping: 0, body)
    }
}
