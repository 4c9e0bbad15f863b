// SPDX-License-Identifier: Apache-2.0
// The groups of a range of an index: what its leading components are, and how many entries have each. Small groups are
// walked through; of a large one the counted tree tells the number, and the cursor goes straight to the next, so that
// the cost is that of the groups and not of the entries. (Known as a loose index scan, or skip scan.)

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// A range of an index whose leading components are the properties that a query groups by.
struct GroupScan {
    let index: EntityIndex
    let range: KeyRange
    /// Components that are equal within a group.
    let leading: Int
    let store: EntityStore

    /// Entries of a group that are walked through before the rest of it is counted.
    private static let walked = 8

    /// Calls `body` with a row of each group and the number of its entries; false if a key is so long that the index
    /// alone doesn't tell.
    func run(_ body: (RowID, Int) throws -> Void) throws -> Bool {
        var cursor = try store.transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        while isValid, let entry = try cursor.entry(), isInside(entry.key) {
            guard let rowID = index.rowID(key: entry.key, value: entry.value) else {
                throw store.corrupt("index \(index.description.name)", "an entry names no row")
            }
            guard let size = index.leadingSize(entry.key, leading) else { return false }
            let group = Array(entry.key.prefix(size))
            var count = 1
            isValid = try cursor.next()
            while isValid, count < Self.walked, let next = try cursor.entry(), isInside(next.key),
                next.key.starts(with: group)
            {
                count += 1
                isValid = try cursor.next()
            }
            if count == Self.walked { (count, isValid) = try skip(group, &cursor) }
            try body(rowID, count)
        }
        return true
    }

    private func isInside(_ key: Bytes) -> Bool {
        range.to.isEmpty || range.to.withUnsafeBytes { key.order($0) < 0 }
    }

    /// Counts a whole group and goes behind it. A group never lies across the range's ends: these are in components
    /// before it, or are its own.
    private func skip(_ group: [UInt8], _ cursor: inout Cursor) throws -> (Int, Bool) {
        var (from, to) = (group, KeyWriter.successor(ofPrefix: group) ?? [])
        if from.lexicographicallyPrecedes(range.from) { from = range.from }
        if !range.to.isEmpty, to.isEmpty || range.to.lexicographicallyPrecedes(to) { to = range.to }
        let count = try from.withBytes { (from) throws(StorageError) in
            try to.withBytes { (to) throws(StorageError) in
                try store.transaction.count(index.tree, from: from, to: to)
            }
        }
        return (Int(clamping: count), to.isEmpty ? false : try cursor.seek(to))
    }
}

extension EntitySession {
    /// How many rows of a query have each combination of values in some columns, with one of the rows; nil if no index
    /// tells without reading the rows.
    package func groupCounts(_ query: EntityQuery, by columns: [Int]) throws -> [(rowID: RowID, count: Int)]? {
        let store = try store(query.type)
        guard let scan = try Planner(query, store).groupScan(by: columns) else { return nil }
        var groups: [(rowID: RowID, count: Int)] = []
        let isWhole = try scan.run { groups.append(($0, $1)) }
        return isWhole ? groups : nil
    }
}
