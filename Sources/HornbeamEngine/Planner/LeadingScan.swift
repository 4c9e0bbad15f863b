// SPDX-License-Identifier: Apache-2.0
// Walks a range of an index whose leading components alone, or these and the id, are the query's order. Entries that
// are equal in these components are adjacent, in the order of their other components. They are collected and sorted by
// their row ids, or by their ids, so that ties have the same order with every index.

import HornbeamPages
import HornbeamTree

/// A scan in ascending or descending order of the leading components. It holds the row ids of one group at a time.
struct LeadingScan {
    private let scan: IndexScan
    private let leading: Int
    private let isReversed: Bool
    private let ties: IndexWalk.Ties

    init(_ scan: IndexScan, leading: Int, isReversed: Bool, ties: IndexWalk.Ties) {
        self.scan = scan
        self.leading = leading
        self.isReversed = isReversed
        self.ties = ties
    }

    /// - Parameter skipped: number of entries to skip. Only those that share the group of the first wanted entry are
    ///   read.
    func run(skipping skipped: Int, _ body: (RowID, Bytes?) throws -> Bool) throws {
        guard skipped > 0 else { return try run(passing: 0, body) }
        let rest = try scan.rest(skipping: skipped, isReversed: isReversed) { key in
            scan.index.leadingSize(key, leading) ?? min(key.count, IndexKeyBytes.keptSize)
        }
        guard let rest else { return }
        try LeadingScan(rest.scan, leading: leading, isReversed: isReversed, ties: ties)
            .run(passing: rest.skipped, body)
    }

    /// - Parameter passed: number of entries of the first group to skip.
    private func run(passing passed: Int, _ body: (RowID, Bytes?) throws -> Bool) throws {
        var passed = passed
        let index = scan.index
        let (from, to) = (scan.range.from, scan.range.to)
        var cursor = try scan.store.transaction.cursor(index.tree)
        var isValid = try begin(&cursor)
        // The bytes with which the group's entries begin, and whether they are the whole leading components.
        var group: [UInt8] = []
        var isWhole = true
        var rowIDs: [RowID] = []
        while isValid, let entry = try cursor.entry() {
            guard
                isReversed
                    ? from.withUnsafeBytes({ entry.key.order($0) >= 0 })
                    : to.isEmpty || to.withUnsafeBytes({ entry.key.order($0) < 0 })
            else { break }
            guard let rowID = index.rowID(key: entry.key, value: entry.value) else { throw scan.damaged() }
            let size = index.leadingSize(entry.key, leading)
            let isSame =
                !rowIDs.isEmpty && entry.key.starts(with: group) && isWhole == (size != nil)
                && (size ?? group.count) == group.count
            if !isSame {
                guard try finish(&rowIDs, isWhole, &passed, body) else { return }
                group = Array(entry.key.prefix(size ?? IndexKeyBytes.keptSize))
                isWhole = size != nil
            }
            rowIDs.append(rowID)
            isValid = isReversed ? try cursor.previous() : try cursor.next()
        }
        _ = try finish(&rowIDs, isWhole, &passed, body)
    }

    private func begin(_ cursor: inout Cursor) throws -> Bool {
        let (from, to) = (scan.range.from, scan.range.to)
        if !isReversed { return from.isEmpty ? try cursor.first() : try cursor.seek(from) }
        if !to.isEmpty, try cursor.seek(to) { return try cursor.previous() }
        return try cursor.last()
    }

    /// Calls `body` with a group in its order, and empties the group. Returns false if `body` did.
    private func finish(
        _ rowIDs: inout [RowID], _ isWhole: Bool, _ passed: inout Int, _ body: (RowID, Bytes?) throws -> Bool
    ) throws -> Bool {
        if rowIDs.isEmpty { return true }
        defer {
            rowIDs.removeAll(keepingCapacity: true)
            passed = 0
        }
        try sort(&rowIDs, isWhole)
        for rowID in rowIDs.dropFirst(passed) where try !body(rowID, nil) { return false }
        return true
    }

    /// - Parameter isWhole: whether the rows are equal in the leading components. If not, these are longer than the
    ///   kept part of a key, and their order comes from the rows.
    private func sort(_ rowIDs: inout [RowID], _ isWhole: Bool) throws {
        if rowIDs.count == 1 { return }
        if isWhole, case .rows(let descending) = ties {
            return descending ? rowIDs.sort { $1 < $0 } : rowIDs.sort()
        }
        var places: [Place] = []
        for rowID in rowIDs {
            guard let row = try scan.store.row(rowID) else { throw scan.damaged() }
            let key = try isWhole ? [] : scan.index.leadingKey(of: row, leading)
            let id = if case .ids = ties { try scan.store.idKey(try row.value(0)) } else { rowID.key }
            places.append(Place(key: key, tie: id, rowID: rowID))
        }
        let descending =
            switch ties {
            case .rows(let descending), .ids(let descending): descending
            }
        places.sort { left, right in
            if left.key != right.key { return left.key.lexicographicallyPrecedes(right.key) != isReversed }
            return left.tie.lexicographicallyPrecedes(right.tie) != descending
        }
        rowIDs = places.map(\.rowID)
    }

    private struct Place {
        let key: [UInt8]
        let tie: [UInt8]
        let rowID: RowID
    }
}
