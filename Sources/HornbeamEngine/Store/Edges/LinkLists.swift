// SPDX-License-Identifier: Apache-2.0
// The links of a level of a nested query. All lists share one array, because an array for each source took more than
// reading its links. Targets that sources share are referred to by numbers, so that they are read once.

/// The targets of several sources, one source after the other.
package struct LinkLists {
    package private(set) var targets: [RowID] = []
    /// The end of each source's targets.
    package private(set) var ends: [Int] = []

    init(sources: Int) {
        ends.reserveCapacity(sources)
    }

    package init(_ lists: [[RowID]]) {
        self.init(sources: lists.count)
        for list in lists { append(list) }
    }

    /// Number of lists.
    package var count: Int { ends.count }

    mutating func reserveTargets(_ count: Int) { targets.reserveCapacity(count) }

    /// Adds a target to the list that `endList` will end.
    @inline(__always)
    mutating func append(_ target: RowID) { targets.append(target) }

    @inline(__always)
    mutating func endList() { ends.append(targets.count) }

    mutating func append(_ list: [RowID]) {
        targets += list
        endList()
    }

    package func list(_ number: Int) -> ArraySlice<RowID> {
        targets[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
    }

    package var lists: [[RowID]] { (0..<count).map { Array(list($0)) } }
}

/// Rows without repeats in ascending order, and for each of the given rows its index among them.
package struct DistinctRows {
    package private(set) var rows: [RowID] = []
    package private(set) var places: [Int] = []

    package init(_ given: [RowID]) {
        guard let first = given.first else { return }
        var least = first
        var greatest = first
        for row in given {
            if row < least { least = row }
            if row > greatest { greatest = row }
        }
        // Row ids are mostly close together: numbering them by a table takes 20 instructions a row.
        if greatest.rawValue - least.rawValue < UInt64(given.count) * 4 + 64 {
            number(given, from: least, through: greatest)
        } else {
            sort(given)
        }
    }

    package var hasRepeats: Bool { rows.count != places.count }

    private mutating func number(_ given: [RowID], from least: RowID, through greatest: RowID) {
        var table = [Int32](repeating: -1, count: Int(greatest.rawValue - least.rawValue) + 1)
        for row in given { table[Int(row.rawValue - least.rawValue)] = 0 }
        rows.reserveCapacity(min(given.count, table.count))
        for offset in table.indices where table[offset] == 0 {
            table[offset] = Int32(truncatingIfNeeded: rows.count)
            rows.append(RowID(rawValue: least.rawValue + UInt64(offset)))
        }
        places = given.map { Int(table[Int($0.rawValue - least.rawValue)]) }
    }

    private mutating func sort(_ given: [RowID]) {
        rows.reserveCapacity(given.count)
        for row in given.sorted() where row != rows.last { rows.append(row) }
        places = given.map { rows.place(of: $0) }
    }

    /// Keeps only the rows in `stored`, which must be some of `rows` in the same order. The index of a removed row
    /// becomes -1.
    package mutating func keep(_ stored: [RowID]) {
        guard stored.count != rows.count else { return }
        var kept = 0
        let moved = rows.map { row in
            guard kept < stored.count, stored[kept] == row else { return -1 }
            kept += 1
            return kept - 1
        }
        places = places.map { moved[$0] }
        rows = stored
    }
}

extension [RowID] {
    /// Whether a row occurs twice.
    package var hasRepeats: Bool {
        guard count > 1 else { return false }
        // Mostly they ascend.
        var place = 1
        while place < count, self[place - 1] < self[place] { place += 1 }
        if place == count { return false }
        let sorted = sorted()
        return (1..<count).contains { sorted[$0] == sorted[$0 - 1] }
    }

    /// Whether the rows ascend in steps of less than `distance` on average, so that the entry after one of them in a
    /// tree is mostly the next one, or in the same leaf.
    func isRun(distance: UInt64 = 4) -> Bool {
        guard count > 8, let first, let last, last >= first,
            (last.rawValue - first.rawValue) / distance < UInt64(count)
        else { return false }
        for place in 1..<count where self[place] < self[place - 1] { return false }
        return true
    }

    /// Returns the index of a row of this list, which ascends.
    fileprivate func place(of row: RowID) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < row { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
