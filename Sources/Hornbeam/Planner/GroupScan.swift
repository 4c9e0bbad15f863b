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

    /// Calls `body` with a row of each group, which may hold nothing but what the index does, and the number of its
    /// entries; false if a key is so long that the index alone doesn't tell.
    /// - Parameter limit: so many groups are enough.
    func run(atMost limit: Int? = nil, _ body: (RowReader, Int) throws -> Void) throws -> Bool {
        var left = limit ?? .max
        let columns = Set(index.columns.prefix(leading))
        let covered = CoveredRow.covers(index, columns, store.type) ? CoveredRow(index, store.type, .exactValues) : nil
        var cursor = try store.transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        while isValid, left > 0, let entry = try cursor.entry(), isInside(entry.key) {
            left -= 1
            guard let rowID = index.rowID(key: entry.key, value: entry.value) else {
                throw store.corrupt("index \(index.description.name)", "an entry names no row")
            }
            guard let size = index.leadingSize(entry.key, leading) else { return false }
            let group = Array(entry.key.prefix(size))
            let row = try covered?.row(of: entry.key) ?? store.row(rowID)
            guard let row else {
                throw store.corrupt("e:\(store.type.name)", "an index names \(rowID), which has no row")
            }
            var count = 1
            isValid = try cursor.next()
            while isValid, count < Self.walked, let next = try cursor.entry(), isInside(next.key),
                next.key.starts(with: group)
            {
                count += 1
                isValid = try cursor.next()
            }
            if count == Self.walked { (count, isValid) = try skip(group, &cursor) }
            try body(row, count)
        }
        return true
    }

    /// Calls `body` with the first row of each group, going from one to the next; false if a key is so long that the
    /// index alone doesn't tell: then what it was called with doesn't count.
    func forEachFirst(_ body: (RowID) throws -> Void) throws -> Bool {
        var cursor = try store.transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        while isValid, let entry = try cursor.entry(), isInside(entry.key) {
            guard let rowID = index.rowID(key: entry.key, value: entry.value) else {
                throw store.corrupt("index \(index.description.name)", "an entry names no row")
            }
            guard entry.key.count < IndexKeyBytes.keptSize, let size = index.leadingSize(entry.key, leading) else {
                return false
            }
            let next = KeyWriter.successor(ofPrefix: Array(entry.key.prefix(size)))
            try body(rowID)
            guard let next else { return true }
            isValid = try cursor.seek(next)
        }
        return true
    }

    /// Whether groups come in the ascending order of so many components, the last of those they are of.
    func isAscending(_ count: Int) -> Bool {
        index.components[..<leading].suffix(count).allSatisfy { !$0.descending }
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
        return (Int(entries: count), to.isEmpty ? false : try cursor.seek(to))
    }
}

extension EntityStore {
    /// Calls `group` with a row of each combination of values in some columns and the number of the query's rows that
    /// have it, if an index tells that; else `body` with each row in the query's order. The rows may hold nothing but
    /// what the query says it needs. Planned once.
    /// - Parameters:
    ///   - columns: nil where rows must be seen one by one.
    ///   - limit: so many groups are enough, which must be the first in ascending order of these columns. `group` may
    ///     get more.
    /// - Returns: whether `group` got all there is; if not, what it was called with doesn't count.
    func forEach(
        _ query: EntityQuery, groupedBy columns: [Int]?, atMost limit: Int? = nil,
        _ group: (RowReader, Int) throws -> Void,
        else body: (RowReader) throws -> Void
    ) throws -> Bool {
        let planner = try Planner(query, self)
        if let columns, let scan = try planner.groupScan(by: columns),
            try scan.run(atMost: scan.isAscending(columns.count) ? limit : nil, group)
        {
            return true
        }
        try Executor(planner, self).run(needsRows: true) { _, row, _ in
            if let row { try body(row) }
            return true
        }
        return false
    }
}
