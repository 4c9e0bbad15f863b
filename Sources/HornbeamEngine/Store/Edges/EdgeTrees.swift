// SPDX-License-Identifier: Apache-2.0
// Makes links between entities. Both ends of a link are changed together, so that they always agree (see
// EdgeSide.swift).
//
// The order of a to-many side is the order of linking; linking two entities again changes nothing.

import HornbeamPages
import HornbeamTree

/// The links of all entities in one transaction. New ones wait before they are put: see WaitingLinks.swift.
package final class EdgeTrees {
    /// Limits on the links that are gathered and cached.
    package struct Limits: Sendable {
        /// Number of waiting entries beyond which they are put. They take a third of a megabyte, which fits into the
        /// processor's caches.
        var leastWaiting = 1 << 13
        /// The greatest value to which that number grows. If very many links are made, larger batches have more
        /// adjacent entries.
        var mostWaiting = 1 << 17
        /// Maximum number of positions that are remembered of a list: a megabyte or two.
        var mostPositions = 1 << 16
        /// Number of links that are so few that putting them at once takes less than gathering them.
        var fewLinks = 8
        /// Number of an entity's links beyond which removing them as a range takes less than gathering them.
        var rangeWorthwhile = 1024

        package init() {}
    }

    // The transaction owns the edge trees and outlives every use of them.
    unowned let core: StoreTransaction
    let transaction: Transaction
    /// Collects the entities whose links change, if there are observers.
    private let capture: RowCapture?
    let limits: Limits
    /// The cursors of the trees that were read last. They are few, because each takes memory and may keep a page in the
    /// cache.
    private var ends: [LastLinks] = []
    private var oldestEnds = 0
    private static var endsKept: Int { 8 }
    /// The known links of the lists in which links were made.
    @exclusivity(unchecked) private var known: [KnownLinks] = []
    /// The numbers of these lists. A search in them counts no references.
    @exclusivity(unchecked) private var lists: [UInt16] = []
    /// The waiting entries of each tree. Trees are few.
    @exclusivity(unchecked) private var entries: [WaitingEntries] = []
    /// The trees of these entries, for a search that counts no references.
    @exclusivity(unchecked) private var trees: [UInt32] = []
    /// Number of entries that wait.
    @exclusivity(unchecked) private(set) var waiting = 0
    /// Number of waiting entries beyond which they are put. Grows from `leastWaiting` to `mostWaiting`.
    @exclusivity(unchecked) private var bound: Int
    /// Number of times that the bound was reached.
    @exclusivity(unchecked) private var timesFull = 0
    /// Whether the entries wait to be removed, not to be put.
    @exclusivity(unchecked) private(set) var isRemoving = false
    /// By the number of a side's list: whether all linked entities at both ends are stored.
    @exclusivity(unchecked) var storedEnds: [Bool] = []
    /// Rows whose related ids don't follow their links yet.
    @exclusivity(unchecked) var moved = MovedIDs()
    /// Number of links that were requested so far.
    @exclusivity(unchecked) private var asked = 0
    /// In a read: links to entities that aren't stored, for the sides whose missing links were looked up.
    @exclusivity(unchecked) var missing: [MissingLinks] = []

    init(core: StoreTransaction, limits: Limits) {
        self.core = core
        self.limits = limits
        bound = min(limits.leastWaiting, limits.mostWaiting)
        transaction = core.transaction
        capture = core.capture
    }

    /// Must be called when a row gets or loses a link in a list, or the link is moved.
    @inline(__always)
    func note(_ list: LinkList, _ row: RowID) {
        if let capture { capture.note(list, row) }
    }

    package func inverse(of side: EdgeSide) throws(HornbeamError) -> EdgeSide? {
        guard let name = side.inverse else { return nil }
        return try core.schema.type(side.target).relation(name)
    }

    /// Returns the targets' end of a side's links. Throws if the schema lacks the target type or its relation.
    @inline(__always)
    package func other(of side: EdgeSide) throws(HornbeamError) -> EdgeSide.Other {
        if let other = side.other { return other }
        // Throws an error that names the missing type.
        _ = try core.schema.type(side.target)
        throw HornbeamError(.schemaMismatch, "\(side.target) has no relation “\(side.inverse ?? "")”")
    }

    func damaged(_ side: EdgeSide, _ reason: String) -> StorageError {
        .corrupt(Corruption(tree: "l:\(side.type)", reason: "\(side.name): \(reason)"))
    }

    // MARK: Links that wait

    /// Puts the links that wait into the trees, or removes those that wait for removal. Every read of links does this
    /// first. It changes trees: a query does it before it begins.
    @inline(__always)
    func settle() throws {
        if waiting > 0 { try settleWaiting() }
    }

    private func settleWaiting() throws {
        // After a failure all are processed again: repeated puts and removals have no effect.
        for tree in entries { try isRemoving ? tree.remove(in: transaction) : tree.put(in: transaction) }
        for tree in entries { tree.removeAll() }
        for list in known { list.forgetIfMany() }
        waiting = 0
        core.hasWaitingLinks = false
    }

    private func settleFull() throws {
        try settleWaiting()
        timesFull += 1
        if timesFull % 4 == 0 { bound = min(2 * bound, limits.mostWaiting) }
    }

    /// Must be called before entries are gathered to be put, or to be removed: entries of the other kind are settled
    /// first.
    @inline(__always)
    private func gather(removing: Bool) throws {
        if waiting > 0, isRemoving == removing { return }
        try settle()
        guard transaction.isWritable else {
            throw StorageError.readOnly("linking entities needs a write transaction")
        }
        core.hasWaitingLinks = true
        isRemoving = removing
    }

    /// Must be called when the transaction went back to a state in which no links waited.
    func forget() {
        waiting = 0
        core.hasWaitingLinks = false
        known = []
        lists = []
        entries = []
        trees = []
        moved = MovedIDs()
    }

    /// Returns the entries that wait for a tree, or nil if none ever did.
    @inline(__always)
    private func waiting(for tree: TreeID) -> WaitingEntries? {
        for place in trees.indices where trees[place] == tree.rawValue { return entries[place] }
        return nil
    }

    @inline(__always)
    private func gathered(for tree: TreeID) -> WaitingEntries {
        if let known = waiting(for: tree) { return known }
        core.hasGathered = true
        let made = WaitingEntries(tree)
        entries.append(made)
        trees.append(tree.rawValue)
        return made
    }

    /// Gathers an entry to be removed.
    @inline(__always)
    func removeLater(_ list: LinkList, _ end: LinkEnd) throws {
        try gather(removing: true)
        gathered(for: list.tree).add(list, end, end)
        waiting &+= 1
        if waiting > bound { try settleFull() }
    }

    /// Gathers a new link of two entities of different types.
    private func linkLater(
        _ side: EdgeSide, _ own: KnownLinks, _ far: KnownLinks, _ form: EdgeSide.Other.Form, _ from: LinkEnd,
        _ to: LinkEnd
    ) throws {
        try gather(removing: false)
        noteMoved(side, from.row, to.row, isLinked: true)
        note(own.list, from.row)
        note(far.list, to.row)
        own.entries.add(own.list, from, to)
        far.entries.add(far.list, to, from)
        waiting &+= 2
        if let pairs = side.pairs {
            let pair = side.pair(from, to)
            // Not a conditional expression: the compiler crashes on it where this is inlined.
            if side.beginsPairs {
                own.entries.add(pairs, pair.key, pair.value)
            } else {
                far.entries.add(pairs, pair.key, pair.value)
            }
            waiting &+= 1
        }
        own.note(from.row, at: from.place)
        if form != .reverse { far.note(to.row, at: to.place) }
        if waiting > bound { try settleFull() }
    }

    /// Settles the waiting links, unless they are removals and none of them belongs to the source in this list.
    func settle(_ list: LinkList, _ source: RowID) throws {
        if waiting == 0 { return }
        if isRemoving {
            guard let entries = waiting(for: list.tree), entries.has(list, source) != false else { return }
        }
        try settleWaiting()
    }

    /// Whether all links of a source in a to-one list wait to be removed. Returns false if that takes too long to find
    /// out.
    func isLeaving(_ list: LinkList, _ source: RowID) -> Bool {
        waiting > 0 && isRemoving && waiting(for: list.tree)?.has(list, source) == true
    }

    /// Puts waiting links. Links that wait to be removed stay in the trees: a caller may only read them to remove them.
    func settleLinked() throws {
        if waiting > 0, !isRemoving { try settleWaiting() }
    }

    // MARK: Positions

    /// Whether it is worthwhile to gather links, now that `count` more are requested.
    private func gathers(_ count: Int) -> Bool {
        asked &+= count
        return asked > limits.fewLinks
    }

    @inline(__always)
    private func knownLinks(of list: LinkList) -> KnownLinks? {
        for place in lists.indices where lists[place] == list.number { return known[place] }
        return nil
    }

    @inline(__always)
    private func links(of list: LinkList) throws -> KnownLinks {
        if let known = knownLinks(of: list) { return known }
        return try beginLinking(list)
    }

    private func beginLinking(_ list: LinkList) throws -> KnownLinks {
        core.hasGathered = true
        let made = try KnownLinks(
            list, gathered(for: list.tree), in: transaction, mostPositions: limits.mostPositions)
        known.append(made)
        lists.append(list.number)
        return made
    }

    /// The position after a row's last link.
    private func nextPosition(_ links: KnownLinks, _ row: RowID) throws -> UInt64 {
        if let known = links.nextPosition(row) { return known }
        // None of its links waits to be put: otherwise the position would be known.
        let position = try storedPosition(links.list, row)
        if links.remembersMany { try settleWaiting() }
        links.remember(position, of: row)
        return position
    }

    /// The position after the last of a row's links in the tree.
    private func storedPosition(_ list: LinkList, _ row: RowID) throws -> UInt64 {
        guard let last = try ends(of: list.tree).last(list, row) else { return 0 }
        // No list can be that long, so a greater place is damaged.
        guard last.end.place < 1 << 62 else { throw list.damaged("a link has no position") }
        return last.end.place + 1
    }

    private func ends(of tree: TreeID) throws -> LastLinks {
        for known in ends where known.tree.rawValue == tree.rawValue { return known }
        core.hasGathered = true
        let made = LastLinks(tree, try transaction.cursor(tree))
        if ends.count < Self.endsKept {
            ends.append(made)
        } else {
            ends[oldestEnds] = made
            oldestEnds = (oldestEnds + 1) % Self.endsKept
        }
        return made
    }

    /// Returns the place of a new link of a row in a list.
    private func place(_ row: RowID, in list: LinkList, isToMany: Bool) throws -> UInt64 {
        guard isToMany else { return 0 }
        guard let known = knownLinks(of: list) else { return try storedPosition(list, row) }
        return try nextPosition(known, row)
    }

    // MARK: Linking

    /// Links two entities on both sides, at the end of the order. A to-one end that is linked elsewhere is unlinked
    /// there first.
    package func append(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        let other = try other(of: side)
        if try linkNew(side, other, source, target) { return }
        try settle()
        if !side.isToMany, let to = try transaction.link(side.list, LinkEnd(source, 0)) {
            if to.row == target { return }
            try release(side, LinkEnd(source, 0), to)
        }
        if other.form == .one, let from = try transaction.link(other.list, LinkEnd(target, 0)) {
            if from.row == source { return }
            try release(side, from, LinkEnd(target, 0))
        }
        if side.isToMany, other.form != .one, try ends(side, source, target) != nil { return }
        let from = LinkEnd(source, try place(source, in: side.list, isToMany: side.isToMany))
        var to = from
        if !side.isOwnInverse || source != target {
            let isToMany = other.form == .many
            to = LinkEnd(
                target, other.form == .reverse ? source.rawValue : try place(target, in: other.list, isToMany: isToMany)
            )
        }
        try put(side, other, from, to)
        knownLinks(of: side.list)?.note(source, at: from.place)
        if other.form != .reverse { knownLinks(of: other.list)?.note(target, at: to.place) }
    }

    /// Puts a link at once while nothing is waiting, or puts a link again whose ends have moved.
    private func put(_ side: EdgeSide, _ other: EdgeSide.Other, _ from: LinkEnd, _ to: LinkEnd) throws {
        noteMoved(side, from.row, to.row, isLinked: true)
        note(side.list, from.row)
        note(other.list, to.row)
        try transaction.put(side.list, from, to)
        // If the two sides are one, and the entity is linked to itself, that entry is there already.
        if from != to || !side.isOwnInverse { try transaction.put(other.list, to, from) }
        guard let pairs = side.pairs else { return }
        let pair = side.pair(from, to)
        try transaction.put(pairs, pair.key, pair.value)
    }

    /// Removes a link that is in the way of another one.
    private func release(_ side: EdgeSide, _ from: LinkEnd, _ to: LinkEnd) throws {
        try removeLater(side, from, to)
        try settle()
    }

    /// Links two entities of different types if they are known not to be linked to each other, nor by a to-one side to
    /// others. Otherwise returns false and changes nothing.
    private func linkNew(
        _ side: EdgeSide, _ other: EdgeSide.Other, _ source: RowID, _ target: RowID
    ) throws -> Bool {
        guard side.type != side.target, gathers(1) else { return false }
        let own = try links(of: side.list)
        let from = LinkEnd(source, try nextPosition(own, source))
        if !side.isToMany, from.place > 0 { return false }
        let far = try links(of: other.list)
        let to = LinkEnd(target, other.form == .reverse ? source.rawValue : try nextPosition(far, target))
        if other.form == .one, to.place > 0 { return false }
        // If either end has no links, the two aren't linked.
        guard from.place == 0 || other.form != .reverse && to.place == 0 else { return false }
        try linkLater(side, own, far, other.form, from, to)
        return true
    }

    // MARK: Setting

    /// Makes the targets of a source exactly `wanted`, in this order. Repeated targets count once. A to-one side takes
    /// the last target.
    package func set(_ side: EdgeSide, _ source: RowID, _ wanted: [RowID]) throws {
        guard side.isToMany else {
            guard let target = wanted.last else { return try clear(side, source) }
            return try append(side, source, target)
        }
        let wanted = Self.distinct(wanted)
        if try linkFirst(side, source, wanted) { return }
        let current = try targets(side, of: source)
        if current == wanted { return }
        let seen = Set(wanted)
        for target in current where !seen.contains(target) { try remove(side, source, target) }
        for target in wanted { try append(side, source, target) }
        let linked = try targets(side, of: source)
        if linked != wanted { try renumber(side, source, to: wanted) }
    }

    /// Returns each row once, at its first position.
    private static func distinct(_ rows: [RowID]) -> [RowID] {
        // Mostly the rows ascend, and then they are distinct.
        if isAscending(rows) { return rows }
        // Comparing a few rows takes less than a set.
        if rows.count <= 16 {
            let isDistinct = rows.indices.allSatisfy { place in !rows[..<place].contains(rows[place]) }
            if isDistinct { return rows }
        }
        var seen: Set<RowID> = []
        return rows.filter { seen.insert($0).inserted }
    }

    private static func isAscending(_ rows: [RowID]) -> Bool {
        for place in rows.indices.dropFirst() where rows[place] <= rows[place - 1] { return false }
        return true
    }

    /// Links a source that has no links to distinct targets of another type. Otherwise returns false and changes
    /// nothing. Entities of one type may be linked to themselves, or to each other twice.
    private func linkFirst(_ side: EdgeSide, _ source: RowID, _ targets: [RowID]) throws -> Bool {
        guard side.type != side.target, gathers(targets.count) else { return false }
        let other = try other(of: side)
        let own = try links(of: side.list)
        guard try nextPosition(own, source) == 0 else { return false }
        let far = try links(of: other.list)
        // New rows have the greatest row ids. So, in the order of rows, the targets that may have another source come
        // first, and settling for them is done before links wait.
        var places = Array(targets.indices)
        if other.form == .one, !Self.isAscending(targets) { places.sort { targets[$0] < targets[$1] } }
        for place in places {
            let from = LinkEnd(source, UInt64(place))
            var to = LinkEnd(targets[place], other.form == .reverse ? source.rawValue : 0)
            if other.form != .reverse { to.place = try nextPosition(far, to.row) }
            if other.form == .one, to.place > 0 {
                to.place = 0
                try settle()
                if let held = try transaction.link(other.list, to) { try release(side, held, to) }
            }
            try linkLater(side, own, far, other.form, from, to)
        }
        // Targets may have been linked in another order.
        if !targets.isEmpty { own.note(source, at: UInt64(targets.count - 1)) }
        return true
    }

    /// Reorders the links of a source, which lead to `wanted`, as `wanted` is.
    private func renumber(_ side: EdgeSide, _ source: RowID, to wanted: [RowID]) throws {
        try settle()
        let other = try other(of: side)
        var links: [RowID: (from: LinkEnd, to: LinkEnd)] = [:]
        try forEachLink(side.list, of: source) { link in
            links[link.other.row] = (link.end, link.other)
            return true
        }
        var next = try storedPosition(side.list, source)
        for target in wanted {
            guard var (from, to) = links[target] else { throw damaged(side, "a link is not where it was") }
            try transaction.delete(side.list, from)
            if side.isOwnInverse, from == to { to.place = next }
            from.place = next
            try put(side, other, from, to)
            next += 1
        }
        if next > 0 { knownLinks(of: side.list)?.note(source, at: next - 1) }
    }

    /// Must be called for a source that is about to lose a link.
    func touch(_ side: EdgeSide, _ source: RowID) {
        if side.description.required { core.required?.touch(side.type, source) }
    }

    /// Must be called for a target that is about to lose a link.
    func touch(targetOf side: EdgeSide, _ target: RowID) {
        if let other = side.other, other.isRequired { core.required?.touch(side.target, target) }
    }
}

/// Finds the last link of a row. It keeps its cursor for the next row: making a cursor takes as long as moving it.
private final class LastLinks {
    let tree: TreeID
    private var cursor: Cursor

    init(_ tree: TreeID, _ cursor: consuming Cursor) {
        self.tree = tree
        self.cursor = cursor
    }

    /// The last of a row's entries in a list.
    func last(_ list: LinkList, _ row: RowID) throws -> LinkEntry? {
        let isThere = try LinkKey(list, LinkEnd(row, .max)).withBytes { (key) throws(StorageError) in
            try cursor.seekLast(key)
        }
        guard isThere, let entry = try cursor.entry(), RowID(key: entry.key) == row else { return nil }
        guard let link = LinkEntry(entry) else { throw list.damaged("an entry is not readable") }
        return link.list == list.number ? link : nil
    }
}
