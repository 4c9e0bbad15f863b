// SPDX-License-Identifier: Apache-2.0
// Finds the last result of a query without reading those before it. Counted trees give its position, or the order is
// walked from its other end.

extension StoreTransaction {
    /// The last result of a query without limit and offset; nil if there is none. If neither counts nor a sort help,
    /// all results are read.
    package func lastRow(_ query: EntityQuery) throws -> RowID? {
        let store = try store(query.type)
        var one = query
        one.limit = 1
        let known = try Executor(one, store).last()
        if known.isKnown { return known.rowID }
        var last: RowID?
        if let flipped = one.flipped {
            var position: QueryPosition?
            try Executor(flipped, store).forEach { rowID, row, _ in
                last = rowID
                position = QueryPosition(id: try row.value(0), row: Array(row.bytes))
                return false
            }
            guard let position else { return nil }
            // This is the first row of the last group of equal rows. The walk continues to the last row of the group,
            // in the order of row ids.
            one = query
            one.after = { _ in position }
        } else {
            one = query
        }
        try Executor(one, store).run(needsRows: false) { rowID, _, _ in
            last = rowID
            return true
        }
        return last
    }
}

extension EntityQuery {
    /// The query in the opposite order, in which equal rows keep their order. Returns nil if there is no such query.
    fileprivate var flipped: EntityQuery? {
        guard !sort.isEmpty, after == nil else { return nil }
        var flipped = self
        for place in sort.indices {
            if case .score = sort[place].key { return nil }
            flipped.sort[place].descending.toggle()
        }
        return flipped
    }
}
