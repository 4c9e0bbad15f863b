// SPDX-License-Identifier: Apache-2.0
// Rows of index ranges that searches were restricted to, kept from one search to the next: to read a range, put its
// rows in order and find their documents takes longer than most searches among them. They are good as long as nobody
// changes the index, their documents as long as nobody changes anything.

import HornbeamText
import HornbeamTree

/// The last of them, for one transaction.
struct Selections {
    private struct Known {
        let index: EntityIndex
        /// Of the index when they were read.
        let entries: TreeIdentity
        let ranges: [KeyRange]
        /// Nil as long as searches rather test the rows of their hits.
        var selection: RowSelection?
        /// About how many rows they have tested so far.
        var tests = 0.0

        var rowCount: Int { selection?.rows.count ?? 0 }
    }

    /// Those asked for last at the end.
    private var known: [Known] = []
    private var rowCount = 0

    /// So many rows are kept at most, in so many selections: with their documents 4 MiB.
    private static let rowLimit = 1 << 18
    private static let countLimit = 64

    /// Whether so many rows would be kept.
    static func keeps(_ rows: Int) -> Bool { rows <= rowLimit / 2 }

    /// The rows of an index's ranges, ascending.
    /// - Parameters:
    ///   - entries: what the index holds now; what is read is not kept if that is nil.
    ///   - read: reads them.
    mutating func rows(
        _ match: IndexMatch, of entries: TreeIdentity?, _ read: () throws -> [UInt64]
    ) rethrows -> RowSelection {
        guard let entries else { return RowSelection(try read()) }
        var found = take(match, of: entries)
        if let selection = found.selection {
            add(found)
            return selection
        }
        let selection = RowSelection(try read())
        guard Self.keeps(selection.rows.count) else { return selection }
        found.selection = selection
        add(found)
        return selection
    }

    /// About how many rows searches among these ranges have tested, `more` of them now; infinite if the rows are known,
    /// which takes no test.
    mutating func tests(_ match: IndexMatch, of entries: TreeIdentity, more: Double) -> Double {
        var found = take(match, of: entries)
        found.tests += more
        add(found)
        return found.selection == nil ? found.tests : .infinity
    }

    /// What is known of the ranges, which is known no more.
    private mutating func take(_ match: IndexMatch, of entries: TreeIdentity) -> Known {
        let ranges = match.ranges
        if let place = known.lastIndex(where: { $0.index === match.index && $0.ranges == ranges }) {
            let found = known.remove(at: place)
            rowCount -= found.rowCount
            if found.entries == entries { return found }
        }
        return Known(index: match.index, entries: entries, ranges: ranges)
    }

    private mutating func add(_ one: Known) {
        known.append(one)
        rowCount += one.rowCount
        while rowCount > Self.rowLimit || known.count > Self.countLimit { rowCount -= known.removeFirst().rowCount }
    }

    /// The state is another one, in which the rows may have other documents.
    func forgetDocuments() {
        for one in known { one.selection?.forgetDocuments() }
    }
}
