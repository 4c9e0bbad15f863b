// SPDX-License-Identifier: Apache-2.0
// Scans ranges of an index from run to run. A run is a number of entries that are equal in their leading components.
// Short runs are walked through. The length of a long run comes from the counted tree, and the cursor moves past it. So
// the cost grows with the number of different values, and never exceeds that of reading all entries. This is known as a
// loose index scan, or skip scan. It answers queries that need only values and their counts.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// Rows that are equal in all columns that are read.
package struct EqualRows {
    /// Number of rows.
    package let count: Int
    /// Whether no other rows are equal to them.
    package let isAll: Bool

    package static var one: EqualRows { EqualRows(count: 1, isAll: false) }
}

/// Ranges of an index whose leading components hold all columns that are read.
package struct GroupScan {
    let index: EntityIndex
    let ranges: [EntryRange]
    /// Number of leading components that are equal within a run.
    let leading: Int
    /// Number of leading components that distinguish runs: the fewer there are, the longer the runs.
    let width: Int
    /// The leading components that rows are made of.
    private let read: Range<Int>
    /// The offset at which these components begin in a key.
    private let offset: Int
    /// Whether a run contains all rows with its values: its components are exactly the requested ones.
    let isExact: Bool
    /// Whether a run may extend past the end of its range.
    private let isCut: Bool
    private let covering: Covering
    /// The conditions that are tested on a row of each run.
    private let residual: Filter
    private let store: EntityStore

    /// Number of entries of a run that are read before the rest is counted. Reading that many costs about as much as
    /// counting and skipping them.
    private static let walked = 16

    /// - Parameters:
    ///   - match: its ranges hold exactly the query's rows, apart from `residual`.
    ///   - needs: the columns that are read.
    /// - Returns: nil if the index doesn't hold all of these columns.
    init?(_ match: IndexMatch, _ needs: RowNeeds, leaving residual: Filter = .all, _ store: EntityStore) {
        let index = match.index
        guard match.isCounted, !index.isHashed, residual.isOfColumns,
            let all = residual.needs.map({ needs.union($0) })
        else { return nil }
        var leading = match.fixed
        var asked: Set<Int> = []
        for column in all.columns {
            guard let place = index.columns.firstIndex(of: column) else { return nil }
            leading = max(leading, place + 1)
            if needs.columns.contains(column), place >= match.fixed { asked.insert(place) }
        }
        // The components that the ranges fix are the same in all rows. They are skipped if no column of them is needed
        // and their size is known.
        let isPrefixRead =
            match.prefix.isEmpty || match.prefix.count >= IndexKeyBytes.keptSize
            || index.columns[..<match.fixed].contains { all.columns.contains($0) }
        read = (isPrefixRead ? 0 : match.fixed)..<leading
        offset = isPrefixRead ? 0 : match.prefix.count
        guard leading > 0, CoveredRow.covers(index, read, store.type) else { return nil }
        self.index = index
        ranges = match.ranges
        self.leading = leading
        width = leading - match.fixed
        isCut = leading <= match.fixed
        isExact = asked.count == width && (!isCut || ranges.count == 1)
        // Texts that aren't requested only distinguish runs.
        let isWritten = needs.wantsTextOfOne && CoveredRow.hasText(needs.columns, store.type)
        covering = all.wantsExactText || isWritten ? .exactValues : .values
        self.residual = residual
        self.store = store
    }

    /// Calls `body` with a row of each run and the number of its rows. The row may lack columns that aren't read.
    /// - Parameter limit: maximum number of runs.
    func run(atMost limit: Int? = nil, _ body: (RowReader, EqualRows) throws -> Void) throws {
        let covered = CoveredRow(index, store.type, covering, read, from: offset)
        let filter = try RowFilter(residual, type: store.type, core: store.core)
        var left = limit ?? .max
        try withUnsafeTemporaryAllocation(byteCount: IndexKeyBytes.cutSize, alignment: 8) { memory in
            var equal = Run(memory)
            for range in ranges where range.count > 0 && left > 0 {
                try run(range, &equal, covered, filter, &left, body)
            }
        }
    }

    private func run(
        _ range: EntryRange, _ equal: inout Run, _ covered: CoveredRow, _ filter: RowFilter, _ left: inout Int,
        _ body: (RowReader, EqualRows) throws -> Void
    ) throws {
        let isUnique = index.isUnique
        let acceptsAll = filter.acceptsAll
        var cursor = try store.transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        try range.to.withUnsafeBytes { end in
            while isValid, left > 0, let entry = try cursor.entry(), end.isEmpty || entry.key.order(end) < 0 {
                guard let rowID = EntityIndex.rowID(key: entry.key, value: entry.value, isUnique: isUnique) else {
                    throw store.corrupt("index \(index.description.name)", "an entry names no row")
                }
                let row: RowReader
                var size: Int?
                if let made = try covered.row(of: entry.key) {
                    row = made
                    size = covered.readSize
                } else {
                    size = index.leadingSize(entry.key, leading)
                    guard let found = try store.row(rowID) else {
                        throw store.corrupt("e:\(store.type.name)", "an index names \(rowID), which has no row")
                    }
                    row = found
                }
                if let size { equal.begin(Bytes(rebasing: entry.key[..<size])) }
                var count = 1
                isValid = try cursor.next()
                // An entry whose key doesn't hold these components is a run of its own.
                if size != nil {
                    while isValid, count < Self.walked, let next = try cursor.entry(), equal.takes(next.key),
                        !isCut || end.isEmpty || next.key.order(end) < 0
                    {
                        count += 1
                        isValid = try cursor.next()
                    }
                    if isValid, count == Self.walked { (count, isValid) = try skip(equal.bytes, range, &cursor) }
                }
                // Runs of such entries may repeat and be out of order, so the limit doesn't apply.
                if size == nil { left = .max } else if left != .max { left -= 1 }
                if try acceptsAll || filter.accepts(rowID, row) {
                    try body(row, EqualRows(count: count, isAll: isExact && size != nil))
                }
            }
        }
    }

    /// The bytes with which the entries of a run begin.
    private struct Run: ~Copyable {
        private let memory: UnsafeMutableRawBufferPointer
        private var size = 0

        init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

        var key: Bytes { Bytes(start: memory.baseAddress, count: size) }
        var bytes: [UInt8] { Array(key) }

        /// - Parameter key: shorter than a cut key.
        @inline(__always)
        mutating func begin(_ key: Bytes) {
            if let target = memory.baseAddress, let source = key.baseAddress { target.copyShort(source, key.count) }
            size = key.count
        }

        @inline(__always)
        func takes(_ entry: Bytes) -> Bool {
            entry.count >= size && Bytes(rebasing: entry[..<size]).order(key) == 0
        }
    }

    /// Counts the part of a run that is in its range, and moves past it.
    private func skip(_ run: [UInt8], _ range: EntryRange, _ cursor: inout Cursor) throws -> (Int, Bool) {
        var (from, to) = (run, KeyWriter.successor(ofPrefix: run) ?? [])
        if from.lexicographicallyPrecedes(range.from) { from = range.from }
        if !range.to.isEmpty, to.isEmpty || range.to.lexicographicallyPrecedes(to) { to = range.to }
        let count = try from.withBytes { (from) throws(StorageError) in
            try to.withBytes { (to) throws(StorageError) in
                try store.transaction.count(index.tree, from: from, to: to)
            }
        }
        return (Int(entries: count), to.isEmpty ? false : try cursor.seek(to))
    }

    /// Calls `body` with the first row of each group. Returns false if a key is so long that the index alone doesn't
    /// distinguish groups; the calls made so far are invalid then.
    package func forEachFirst(_ body: (RowID) throws -> Void) throws -> Bool {
        for range in ranges {
            var cursor = try store.transaction.cursor(index.tree)
            var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
            while isValid, let entry = try cursor.entry(),
                range.to.isEmpty || range.to.withUnsafeBytes({ entry.key.order($0) < 0 })
            {
                guard let rowID = index.rowID(key: entry.key, value: entry.value) else {
                    throw store.corrupt("index \(index.description.name)", "an entry names no row")
                }
                guard entry.key.count < IndexKeyBytes.keptSize, let size = index.leadingSize(entry.key, leading) else {
                    return false
                }
                let next = KeyWriter.successor(ofPrefix: Array(entry.key.prefix(size)))
                try body(rowID)
                guard let next else { break }
                isValid = try cursor.seek(next)
            }
        }
        return true
    }

    /// Whether runs come in ascending order of exactly these columns.
    func isAscending(_ columns: [Int]) -> Bool {
        isExact && ranges.count == 1 && index.columns[..<leading].suffix(columns.count).elementsEqual(columns)
            && index.components[..<leading].suffix(columns.count).allSatisfy { !$0.descending }
    }
}

extension EntityStore {
    /// Calls `body` with rows that stand for all of the query's rows, each with the number of rows that are equal to it
    /// in the columns that the query needs. The rows may lack other columns. Rows come one by one in the query's order,
    /// unless the order doesn't matter and an index gives several at once. The query is planned once.
    /// - Parameters:
    ///   - limit: maximum number of groups, which must be the first in ascending order of `columns`. `body` may get
    ///     more.
    ///   - tally: takes the counts of each step; nil for a run that isn't analysed.
    package func forEach(
        _ query: EntityQuery, atMost limit: Int? = nil, by columns: [Int] = [], counting tally: PlanTally? = nil,
        _ body: (RowReader, EqualRows) throws -> Void
    ) throws {
        let needs = query.needs
        let watched = watched(query)
        defer { withExtendedLifetime(watched) {} }
        func run(_ scan: GroupScan, atMost limit: Int?) throws {
            guard let tally else { return try scan.run(atMost: limit, body) }
            try scan.run(atMost: limit) { row, equal in
                tally.rows += 1
                tally.passed += 1
                try body(row, equal)
            }
        }
        tally?.isUsed = true
        let planner = try Planner(query, self)
        if let scan = try planner.groupScan() {
            return try run(scan, atMost: scan.isAscending(columns) ? limit : nil)
        }
        let executor = try Executor(planner, self, tally: tally)
        if let needs, let scan = executor.groupScan(needs) { return try run(scan, atMost: nil) }
        try executor.run(needsRows: true) { _, row, _ in
            if let row { try body(row, .one) }
            return true
        }
    }
}
