// SPDX-License-Identifier: Apache-2.0
// Sorts rows that no index gives in order, keeping only as many as the limit can need.

struct SortedRows {
    private let order: RowOrder
    private let limit: Int?
    /// Only what comes after it.
    private let position: RowOrder.Place?
    private var entries: [RowOrder.Place] = []
    /// The worst entry that may still be among the best `limit`.
    private var threshold: RowOrder.Place?

    init(_ order: RowOrder, limit: Int?, after position: RowOrder.Place?) {
        self.order = order
        self.limit = limit
        self.position = position
    }

    mutating func insert(_ rowID: RowID, _ row: RowReader) throws {
        let entry = try order.place(rowID, row)
        if let threshold, !order.precedes(entry, threshold) { return }
        if let position, try !order.isBehind(position, entry) { return }
        entries.append(entry)
        if let limit, limit < 1 << 40, entries.count >= 2 * limit + 256 { prune(to: limit) }
    }

    private mutating func prune(to limit: Int) {
        let order = order
        entries.sort { order.precedes($0, $1) }
        entries.removeLast(max(0, entries.count - limit))
        threshold = entries.last
    }

    /// The row ids in order, at most `limit`.
    mutating func finish() -> [RowID] {
        prune(to: limit ?? .max)
        return entries.map(\.rowID)
    }
}
