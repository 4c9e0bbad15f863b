// SPDX-License-Identifier: Apache-2.0
// Reads links: those of one entity, and for nested queries those of many at once, where adjacent lists are read in one
// pass.

import HornbeamPages
import HornbeamTree

extension EdgeTrees {
    /// Returns at most `limit` targets in the order of linking, from `offset` on. O(log n) and the targets.
    package func targets(
        _ side: EdgeSide, of source: RowID, offset: Int = 0, limit: Int = .max
    ) throws -> [RowID] {
        guard limit > 0, offset >= 0 else { return [] }
        var found: [RowID] = []
        try forEachTarget(side, of: source, offset: offset) { target in
            found.append(target)
            return found.count < limit
        }
        return found
    }

    /// Calls `body` with the targets in the order of linking, until it returns false. Begins at `offset`, in O(log n),
    /// counted from the first target after `last` if `last` is linked. `body` must not change links.
    package func forEachTarget(
        _ side: EdgeSide, of source: RowID, offset: Int = 0, behind last: RowID? = nil, _ body: (RowID) throws -> Bool
    ) throws {
        guard side.isToMany else {
            guard offset == 0, let target = try target(side, of: source), target != last else { return }
            _ = try body(target)
            return
        }
        try settle(side.list, source)
        var start: UInt64 = 0
        if let last, let ends = try ends(side, source, last) { start = ends.from.place + 1 }
        try forEachLink(side.list, of: source, from: start, offset: offset) { try body($0.other.row) }
    }

    /// The targets of all relations of an entity, in the order of its type's relations, each in the order of linking.
    /// An entity's entries are adjacent, so one pass reads them, skipping the entries of other lists.
    func targets(ofAll type: EntityType, of source: RowID) throws -> [[RowID]] {
        var found = [[RowID]](repeating: [], count: type.relations.count)
        if found.isEmpty { return found }
        for side in type.relations where side.isToMany || !isLeaving(side.list, source) {
            try settle(side.list, source)
        }
        var cursor = try transaction.cursor(type.links)
        var isValid = try RowKey(source).withBytes { (key) throws(StorageError) in try cursor.seek(key) }
        var list: UInt16?
        var place: Int?
        while isValid, let entry = try cursor.entry(), RowID(key: entry.key) == source {
            guard let link = LinkEntry(entry) else { throw type.damagedLinks("an entry is not readable") }
            if list != link.list {
                guard core.schema.role(of: link.list, in: type) != nil else {
                    throw type.damagedLinks("there is no list \(link.list)")
                }
                list = link.list
                place = type.relations.firstIndex { side in
                    side.list.number == link.list && (side.isToMany || !isLeaving(side.list, source))
                }
            } else if place == nil {
                // This is the second entry of a list that doesn't matter. There may be many, so a seek skips them.
                isValid = try LinkKey(behind: LinkList(type.links, number: link.list), source)
                    .withBytes { (key) throws(StorageError) in try cursor.seek(key) }
                continue
            }
            if let place { found[place].append(link.other.row) }
            isValid = try cursor.next()
        }
        return found
    }

    /// Calls `body` with the entries of a row in a list, in order, until it returns false.
    package func forEachLink(
        _ list: LinkList, of row: RowID, from place: UInt64 = 0, offset: Int = 0, _ body: (LinkEntry) throws -> Bool
    ) throws {
        var cursor = try transaction.cursor(list.tree)
        var isValid = try LinkKey(list, LinkEnd(row, place)).withBytes { (key) throws(StorageError) in
            guard offset > 0 else { return try cursor.seek(key) }
            let before = try transaction.count(list.tree, from: Bytes(start: nil, count: 0), to: key)
            let (index, overflow) = before.addingReportingOverflow(UInt64(offset))
            return overflow ? false : try cursor.seek(index: index)
        }
        while isValid, let entry = try cursor.entry(), RowID(key: entry.key) == row {
            guard let link = LinkEntry(entry) else { throw list.damaged("an entry is not readable") }
            guard link.list == list.number, try body(link) else { return }
            isValid = try cursor.next()
        }
    }

    /// Returns the places of the two ends of a link, or nil if the two aren't linked.
    package func ends(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws -> (from: LinkEnd, to: LinkEnd)? {
        guard side.isToMany else {
            let from = LinkEnd(source, 0)
            guard let to = try transaction.link(side.list, from), to.row == target else { return nil }
            return (from, to)
        }
        guard let other = side.other else { return nil }
        if let pairs = side.pairs {
            // In a pair the ends have the order of its key.
            let (key, _) = side.pair(LinkEnd(source, 0), LinkEnd(target, 0))
            guard let places = try transaction.link(pairs, key) else { return nil }
            let isFirst = key.row == source && key.place == target.rawValue && (side.isOwnInverse || side.beginsPairs)
            let (from, to) = isFirst ? (places.row.rawValue, places.place) : (places.place, places.row.rawValue)
            return try checked(side, LinkEnd(source, from), LinkEnd(target, to))
        }
        let to = LinkEnd(target, other.form == .reverse ? source.rawValue : 0)
        guard let from = try transaction.link(other.list, to), from.row == source else { return nil }
        return try checked(side, from, to)
    }

    /// Checks that a place can be counted on from.
    private func checked(_ side: EdgeSide, _ from: LinkEnd, _ to: LinkEnd) throws -> (from: LinkEnd, to: LinkEnd) {
        guard from.place < .max else { throw damaged(side, "a link has no position") }
        return (from, to)
    }

    /// The target of a to-one side, or the first target of a to-many side; nil if there is none.
    package func target(_ side: EdgeSide, of source: RowID) throws -> RowID? {
        if side.isToMany { return try targets(side, of: source, limit: 1).first }
        if isLeaving(side.list, source) { return nil }
        try settle(side.list, source)
        return try transaction.link(side.list, LinkEnd(source, 0))?.row
    }

    package func contains(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws -> Bool {
        try settle()
        return try ends(side, source, target) != nil
    }

    /// Returns the given rows that are targets of a source, in the order of linking. If `last` is linked, only targets
    /// after it. Takes O(log n) for each row.
    func targets(
        _ side: EdgeSide, of source: RowID, among rows: [UInt64], behind last: RowID?
    ) throws -> [RowID] {
        try settle()
        let start = try last.flatMap { try ends(side, source, $0)?.from.place }
        var found: [(place: UInt64, target: RowID)] = []
        for row in rows {
            let target = RowID(rawValue: row)
            guard let place = try ends(side, source, target)?.from.place else { continue }
            if let start, place <= start { continue }
            found.append((place, target))
        }
        found.sort { $0.place < $1.place }
        return found.map(\.target)
    }

    /// Calls `body` with every source that links to `target` by this side, until it returns false.
    package func forEachSource(_ side: EdgeSide, of target: RowID, _ body: (RowID) throws -> Bool) throws {
        try settle()
        guard let other = side.other else { return }
        try forEachLink(other.list, of: target) { link in try body(link.other.row) }
    }

    /// Whether any source links to `target` by this side, other than the target itself.
    package func hasOtherSource(_ side: EdgeSide, of target: RowID) throws -> Bool {
        var isFound = false
        try forEachSource(side, of: target) { source in
            isFound = source != target || side.type != side.target
            return !isFound
        }
        return isFound
    }

    /// Counts the sources that link to `target` by this side, in O(log n).
    package func sourceCount(_ side: EdgeSide, of target: RowID) throws -> Int {
        try settle()
        guard let other = side.other else { return 0 }
        return Int(entries: try transaction.count(other.list, of: target))
    }

    /// Whether any link leads from or to an entity.
    func isLinked(_ type: EntityType, _ rowID: RowID) throws -> Bool {
        try settle()
        var cursor = try transaction.cursor(type.links)
        let isThere = try RowKey(rowID).withBytes { (key) throws(StorageError) in try cursor.seek(key) }
        guard isThere, let entry = try cursor.entry() else { return false }
        return RowID(key: entry.key) == rowID
    }

    // MARK: Counting

    /// Counts the targets of a source, in O(log n).
    package func count(_ side: EdgeSide, of source: RowID) throws -> Int {
        try settle()
        guard side.isToMany else { return try transaction.link(side.list, LinkEnd(source, 0)) == nil ? 0 : 1 }
        return Int(entries: try transaction.count(side.list, of: source))
    }

    /// Counts the targets of a source after one of them, or all if that one isn't linked.
    func count(_ side: EdgeSide, of source: RowID, behind last: RowID) throws -> Int {
        guard side.isToMany else {
            return try target(side, of: source).map { $0 == last ? 0 : 1 } ?? 0
        }
        try settle()
        guard let ends = try ends(side, source, last) else { return try count(side, of: source) }
        return Int(entries: try transaction.count(side.list, of: source, from: ends.from.place + 1))
    }

    /// Estimates the number of links of a side: a share of all links of its type, unless each entity at one of the two
    /// ends has one link at most.
    func estimatedCount(_ side: EdgeSide) throws -> Int {
        let type = try core.schema.type(side.type)
        let all = Int(entries: try transaction.count(type.links))
        if !side.isToMany { return min(all, try core.store(side.type).count()) }
        if side.other?.form == .one { return min(all, try core.store(side.target).count()) }
        let pairs = type.relations.count { $0.beginsPairs }
        return all / (type.relations.count + pairs + (core.schema.incoming[type.name]?.count ?? 0))
    }

    // MARK: Many at once

    /// The targets of several sources. Fast if the sources ascend without large gaps.
    package func links(_ side: EdgeSide, ofEach sources: [RowID]) throws -> LinkLists {
        try settle()
        var links = LinkLists(sources: sources.count)
        if !side.isToMany {
            links.reserveTargets(sources.count)
            guard sources.isRun() else {
                try lookUp(side.list, sources, &links)
                return links
            }
        }
        var entries = try ListEntries(side.list, in: transaction)
        for source in sources {
            try entries.move(to: source)
            while entries.isAt(source) {
                guard let other = LinkEnd(stored: entries.value) else {
                    throw damaged(side, "an entry has no other end")
                }
                links.append(other.row)
                try entries.advance()
            }
            links.endList()
        }
        return links
    }

    /// Looks up the links of a to-one side whose sources are far apart: groups of them go down the tree side by side.
    private func lookUp(_ list: LinkList, _ sources: [RowID], _ links: inout LinkLists) throws {
        let stride = MemoryLayout<LinkKey>.stride
        let keys = UnsafeMutableRawPointer.allocate(byteCount: 16 * stride, alignment: 8)
        defer { keys.deallocate() }
        var place = 0
        while place < sources.count {
            let count = min(16, sources.count - place)
            for index in 0..<count {
                LinkKey(list, LinkEnd(sources[place + index], 0)).write(to: keys + index * stride)
            }
            var isDamaged = false
            try transaction.getMany(
                list.tree, count: count, key: { Bytes(start: keys + $0 &* stride, count: LinkKey.size) },
                { _, value in
                    if let value {
                        let other = LinkEnd(stored: value)
                        isDamaged = isDamaged || other == nil
                        if let other { links.append(other.row) }
                    }
                    links.endList()
                })
            if isDamaged { throw list.damaged("an entry has no other end") }
            place += count
        }
    }
}

/// Moves forward through the entries of one list, which are mixed with those of other lists.
private struct ListEntries: ~Copyable {
    private let list: LinkList
    private var entries: RowEntries
    /// The row that was moved to last.
    private var last: RowID?

    /// Maximum number of entries of other lists that are skipped one by one. After that a seek is made.
    private static var fewEntries: Int { 16 }

    init(_ list: LinkList, in transaction: Transaction) throws(StorageError) {
        self.list = list
        entries = try RowEntries(list.tree, in: transaction)
    }

    /// The entry's value. It is valid until the next move.
    var value: Bytes {
        @inline(__always) get { entries.value }
    }

    /// Whether the current entry is one of a row in the list.
    @inline(__always)
    func isAt(_ row: RowID) -> Bool { entries.row == row && entries.list == list.number }

    @inline(__always)
    mutating func advance() throws(StorageError) { try entries.advance() }

    /// Moves to the first entry that isn't before those of a row.
    @inline(__always)
    mutating func move(to row: RowID) throws(StorageError) {
        defer { last = row }
        // A row that isn't after the last one needs a seek.
        guard let last, last < row else { return try seek(row) }
        if entries.isAtEnd { return }
        var steps = 0
        while let here = entries.row, here < row || here == row && entries.list < list.number {
            guard steps < Self.fewEntries else { return try seek(row) }
            // An unreadable leaf matters only if the row is in it, which the seek decides.
            do throws(StorageError) { try entries.pass(to: row, list.number) } catch { return try seek(row) }
            steps &+= 1
        }
        if entries.row == nil, !entries.isAtEnd { try seek(row) }
    }

    private mutating func seek(_ row: RowID) throws(StorageError) {
        try LinkKey(list, row).withBytes { (key) throws(StorageError) in try entries.seek(key) }
    }
}
