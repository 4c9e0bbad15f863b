// SPDX-License-Identifier: Apache-2.0
// Caches the rows of index ranges that searches were restricted to. Reading a range, sorting its rows and finding their
// documents takes longer than most searches in them. Rows are valid as long as the index is unchanged, documents as
// long as the whole database is.

import HornbeamText
import HornbeamTree

/// The selections that one transaction used last.
struct RowSelectionCache {
    private struct Known {
        let index: EntityIndex
        /// The identity of the index's tree when its rows were read or tested.
        let entries: TreeIdentity
        let ranges: [EntryRange]
        let wanted: WantedValues?
        /// The rows of the ranges; nil while searches test the rows of their hits instead.
        var selection: RowSelection?
        /// Estimated number of rows that such searches have tested so far.
        var tests = 0

        var rowCount: Int { selection?.rows.count ?? 0 }
    }

    /// The cached entries. The one that was used last is at the end.
    private var known: [Known] = []
    private var rowCount = 0

    /// Maximum numbers of cached rows and of cached entries. With their documents the rows take 4 MiB.
    private static let rowLimit = 1 << 18
    private static let countLimit = 64
    /// Maximum number of values in a cached list of wanted values.
    private static let valueLimit = 1 << 12

    /// Whether a selection of this many rows is cached.
    private static func keeps(_ rows: Int) -> Bool { rows <= rowLimit / 2 }

    /// Whether the rows of a match are cached, with the values that they are found by. A long list of values isn't.
    static func keeps(_ match: IndexMatch) -> Bool {
        keeps(match.count) && (match.wanted?.values.count ?? 0) <= valueLimit
    }

    /// The rows of an index's ranges, ascending.
    /// - Parameters:
    ///   - entries: the identity of the index's tree now. The rows read are not cached if it is nil.
    ///   - read: reads the rows.
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

    /// Estimates the number of rows that searches in these ranges have tested. Returns `.max` if the rows are cached
    /// and need no test.
    func tests(_ match: IndexMatch, of entries: TreeIdentity) -> Int {
        guard let place = place(of: match), known[place].entries == entries else { return 0 }
        return known[place].selection == nil ? known[place].tests : .max
    }

    /// Adds to the number of rows that searches in these ranges have tested.
    mutating func note(tests: Int, _ match: IndexMatch, of entries: TreeIdentity) {
        var found = take(match, of: entries)
        found.tests &+= tests
        add(found)
    }

    private func place(of match: IndexMatch) -> Int? {
        let ranges = match.ranges
        return known.lastIndex { $0.index === match.index && $0.ranges == ranges && $0.wanted == match.wanted }
    }

    /// Takes the entry of these ranges out of the cache. Returns an empty entry if there is none.
    private mutating func take(_ match: IndexMatch, of entries: TreeIdentity) -> Known {
        // Entries from before the index changed are invalid, whatever their ranges.
        while let place = known.firstIndex(where: { $0.index === match.index && $0.entries != entries }) {
            remove(place)
        }
        guard let place = place(of: match) else {
            return Known(index: match.index, entries: entries, ranges: match.ranges, wanted: match.wanted)
        }
        return remove(place)
    }

    @discardableResult
    private mutating func remove(_ place: Int) -> Known {
        rowCount -= known[place].rowCount
        return known.remove(at: place)
    }

    private mutating func add(_ one: Known) {
        known.append(one)
        rowCount += one.rowCount
        while rowCount > Self.rowLimit { remove(known.firstIndex { $0.selection != nil } ?? 0) }
        // Entries without rows are removed first, because reading rows took time.
        while known.count > Self.countLimit { remove(known.dropLast().firstIndex { $0.selection == nil } ?? 0) }
    }

    /// Forgets the documents of all cached rows: in another state of the store the rows may have other documents.
    func forgetDocuments() {
        for one in known { one.selection?.forgetDocuments() }
    }
}
