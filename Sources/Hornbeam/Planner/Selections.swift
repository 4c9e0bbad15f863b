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
        let selection: RowSelection
    }

    /// Those asked for last at the end.
    private var known: [Known] = []
    private var rowCount = 0

    /// So many rows are kept at most, in so many selections: with their documents 4 MiB.
    private static let rowLimit = 1 << 18
    private static let countLimit = 64

    /// The rows of an index's ranges, ascending.
    /// - Parameters:
    ///   - entries: what the index holds now; what is read is not kept if that is nil.
    ///   - read: reads them.
    mutating func rows(
        _ match: IndexMatch, of entries: TreeIdentity?, _ read: () throws -> [UInt64]
    ) rethrows -> RowSelection {
        guard let entries else { return RowSelection(try read()) }
        let ranges = match.ranges
        if let place = known.lastIndex(where: { $0.index === match.index && $0.ranges == ranges }) {
            let found = known.remove(at: place)
            if found.entries == entries {
                known.append(found)
                return found.selection
            }
            rowCount -= found.selection.rows.count
        }
        let selection = RowSelection(try read())
        guard selection.rows.count <= Self.rowLimit / 2 else { return selection }
        known.append(Known(index: match.index, entries: entries, ranges: ranges, selection: selection))
        rowCount += selection.rows.count
        while rowCount > Self.rowLimit || known.count > Self.countLimit {
            rowCount -= known.removeFirst().selection.rows.count
        }
        return selection
    }

    /// The state is another one, in which the rows may have other documents.
    func forgetDocuments() {
        for one in known { one.selection.forgetDocuments() }
    }
}
