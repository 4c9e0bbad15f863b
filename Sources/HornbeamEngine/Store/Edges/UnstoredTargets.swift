// SPDX-License-Identifier: Apache-2.0
// Lists that lead to some entities that aren't stored. Entities may be linked before they are saved; which ones are
// missing the store remembers by their type, not by who links them. Where these are few, each is looked for in a list,
// so that the list is counted and places in it are found without a look at all of its targets. Where many lists are
// asked for, all that is missing is looked up once: see MissingLinks.swift.

import HornbeamPages
import HornbeamTree

extension EdgeTrees {
    /// Whether every link leads to a stored entity: nobody has linked one that isn't there.
    package func isWhole(_ side: EdgeSide) throws -> Bool {
        try !core.store(side.target).mayMiss()
    }

    /// Counts the stored entities that a source is linked to, of those behind `last`, in O(log n) for each of its links
    /// to what isn't stored. Until a read knows these links it takes a look for each entity of the target type that is
    /// linked by anybody and not stored, and never more than a look at each link.
    package func storedCount(_ side: EdgeSide, of source: RowID, behind last: RowID? = nil) throws -> Int {
        let count = try last.map { try self.count(side, of: source, behind: $0) } ?? self.count(side, of: source)
        if try count == 0 || isWhole(side) { return count }
        if let gaps = try gaps(side, of: source, atMost: count) {
            let first = try self.count(side, of: source) - count
            return max(0, count - gaps.count { $0 >= first })
        }
        let targets = try core.store(side.target)
        var found = 0
        try forEachTarget(side, of: source, behind: last) { target in
            if try targets.isSaved(target) { found += 1 }
            return true
        }
        return found
    }

    /// Returns the number of links before that to the stored target with this number, of those behind `last`. Returns
    /// nil if it takes no longer to go there from target to target.
    func links(
        before number: Int, _ side: EdgeSide, of source: RowID, behind last: RowID? = nil
    ) throws -> Int? {
        if try isWhole(side) { return number }
        guard let gaps = try gaps(side, of: source, atMost: number) else { return nil }
        var first = 0
        if let last { first = try count(side, of: source) - count(side, of: source, behind: last) }
        var links = number
        for gap in gaps where gap >= first && gap - first <= links {
            // Before any count that an `Int` can't hold there is an end of the list.
            guard links < .max else { break }
            links += 1
        }
        return links
    }

    /// The stored targets in the order of linking, from the one with the number `offset` on, at most `limit`.
    func storedTargets(_ side: EdgeSide, of source: RowID, offset: Int, limit: Int) throws -> [RowID] {
        if try isWhole(side) { return try targets(side, of: source, offset: offset, limit: limit) }
        guard limit > 0, offset >= 0 else { return [] }
        let store = try core.store(side.target)
        let passed = try links(before: offset, side, of: source)
        var skip = passed == nil ? offset : 0
        var found: [RowID] = []
        try forEachTarget(side, of: source, offset: passed ?? 0) { target in
            guard try store.isSaved(target) else { return true }
            if skip > 0 {
                skip -= 1
                return true
            }
            found.append(target)
            return found.count < limit
        }
        return found
    }

    /// A part of each list, of stored targets alone.
    package func storedLinks(_ side: EdgeSide, ofEach sources: [RowID], offset: Int, limit: Int) throws -> LinkLists {
        var links = LinkLists(sources: sources.count)
        for source in sources { links.append(try storedTargets(side, of: source, offset: offset, limit: limit)) }
        return links
    }

    /// Returns the number of links before each of those that lead to nothing stored, ascending. Returns nil if more
    /// than `most` entities would have to be looked for.
    private func gaps(_ side: EdgeSide, of source: RowID, atMost most: Int) throws -> [Int]? {
        let target = try core.store(side.target).type
        let missing = Int(entries: try transaction.count(target.unsaved))
        if let places = try knownGaps(side, of: source, among: missing, cost: min(missing, max(0, most))) {
            return try places.map { try gap(side, of: source, at: $0) }
        }
        guard missing <= max(0, most) else { return nil }
        try settle()
        var gaps: [Int] = []
        var cursor = try transaction.cursor(target.unsaved)
        while try cursor.next() {
            guard let ends = try ends(side, source, try target.unsavedRow(cursor.key)) else { continue }
            gaps.append(try gap(side, of: source, at: ends.from.place))
        }
        gaps.sort()
        return gaps
    }

    /// Returns the number of links of a source before the one at a place.
    private func gap(_ side: EdgeSide, of source: RowID, at place: UInt64) throws -> Int {
        guard side.isToMany else { return 0 }
        let behind = Int(entries: try transaction.count(side.list, of: source, from: place))
        return max(0, try count(side, of: source) - behind)
    }

    /// The places of a source's links to what isn't stored, ascending; nil if it is worthwhile to look each up.
    private func knownGaps(
        _ side: EdgeSide, of source: RowID, among all: Int, cost: Int
    ) throws -> [UInt64]? {
        // In a write links come and go.
        guard side.isToMany, !transaction.isWritable else { return nil }
        if let known = missing.first(where: { $0.list == side.list }) {
            return try known.places(side, of: source, among: all, cost: cost, in: self)
        }
        missing.append(MissingLinks(side.list))
        return try missing.last?.places(side, of: source, among: all, cost: cost, in: self)
    }
}
