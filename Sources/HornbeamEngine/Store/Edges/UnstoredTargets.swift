// SPDX-License-Identifier: Apache-2.0
// Reads lists with some targets that aren't stored. Entities may be linked before they are saved; the store remembers
// the missing ones by their type, not by their links. If they are few, each is looked up in a list. So the list can be
// counted, and positions in it found, without reading all of its targets. If many lists are read, all missing links are
// found at once: see MissingLinks.swift.

import HornbeamPages
import HornbeamTree

extension EdgeTrees {
    /// Whether every link leads to a stored entity.
    package func isWhole(_ side: EdgeSide) throws -> Bool {
        try !core.store(side.target).mayMiss()
    }

    /// Counts the stored targets of a source after `last`, in O(log n) for each of its links to entities that aren't
    /// stored. Until a read knows these links, it takes a look-up for each entity of the target type that is linked by
    /// any entity and not stored, but no more look-ups than the source has links.
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

    /// Returns the number of links before the stored target with this number, counted after `last`. Returns nil if
    /// reading one target after the other takes no longer.
    func links(
        before number: Int, _ side: EdgeSide, of source: RowID, behind last: RowID? = nil
    ) throws -> Int? {
        if try isWhole(side) { return number }
        guard let gaps = try gaps(side, of: source, atMost: number) else { return nil }
        var first = 0
        if let last { first = try count(side, of: source) - count(side, of: source, behind: last) }
        var links = number
        for gap in gaps where gap >= first && gap - first <= links {
            // No list is longer than an `Int` can count.
            guard links < .max else { break }
            links += 1
        }
        return links
    }

    /// At most `limit` stored targets in the order of linking, from number `offset` on.
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

    /// A part of each source's list, with stored targets only.
    package func storedLinks(_ side: EdgeSide, ofEach sources: [RowID], offset: Int, limit: Int) throws -> LinkLists {
        var links = LinkLists(sources: sources.count)
        for source in sources { links.append(try storedTargets(side, of: source, offset: offset, limit: limit)) }
        return links
    }

    /// Returns for each link to an entity that isn't stored the number of links before it, ascending. Returns nil if
    /// that takes more than `most` look-ups.
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

    /// The places of a source's links to entities that aren't stored, ascending. Returns nil if looking up each entity
    /// takes less.
    private func knownGaps(
        _ side: EdgeSide, of source: RowID, among all: Int, cost: Int
    ) throws -> [UInt64]? {
        // In a write the links change.
        guard side.isToMany, !transaction.isWritable else { return nil }
        if let known = missing.first(where: { $0.list == side.list }) {
            return try known.places(side, of: source, among: all, cost: cost, in: self)
        }
        missing.append(MissingLinks(side.list))
        return try missing.last?.places(side, of: source, among: all, cost: cost, in: self)
    }
}
