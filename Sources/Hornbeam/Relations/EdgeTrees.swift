// SPDX-License-Identifier: Apache-2.0
// The links between entities. Each side of a relation has its own trees (see EntityType.swift); a mutual relation has
// two sides that are changed together, so that neither ever says something the other doesn't. A one-way relation has
// a reverse look-up instead, so that deleting its target leaves no link behind.
//
// The order of a to-many side is the order of linking; linking what is linked already changes nothing.

import HornbeamPages
import HornbeamTree

/// One side of a relation with its trees resolved. A class, because every link that is read or made hands it on.
package final class EdgeSide: Sendable {
    package let type: String
    package let description: RelationDescription
    /// The other side's name in the target type: declared here or there.
    package let inverse: String?
    let forward: TreeID
    /// To-many sides only.
    let lookup: TreeID?
    /// One-way relations only.
    let reverse: TreeID?

    init(
        type: String, description: RelationDescription, inverse: String?, forward: TreeID, lookup: TreeID?,
        reverse: TreeID?
    ) {
        self.type = type
        self.description = description
        self.inverse = inverse
        self.forward = forward
        self.lookup = lookup
        self.reverse = reverse
    }

    package var name: String { description.name }
    package var target: String { description.target }
    package var isToMany: Bool { description.toMany }
}

/// The links of all entities in one transaction. New ones wait before they are put: see WaitingLinks.swift.
package final class EdgeTrees {
    // The session owns this and outlives every use of it.
    unowned let session: EntitySession
    let transaction: Transaction
    /// Other sides that were asked for. Few: an entity type has as many as relations.
    private var inverses: [(side: EdgeSide, inverse: EdgeSide)] = []
    /// Of the sides linked last, few: each has a cursor, and with it memory and maybe a page that stays in the cache.
    private var ends: [LinkEnds] = []
    private var oldestEnds = 0
    private static var endsKept: Int { 8 }
    /// Of the sides that were linked.
    @exclusivity(unchecked) private var links: [SideLinks] = []
    /// Keys that wait to be removed, by trees, which are few.
    @exclusivity(unchecked) private var removals: [WaitingEntries] = []
    /// The trees of these. Looking through them counts no references.
    @exclusivity(unchecked) private var removalTrees: [UInt32] = []
    /// Entries that wait in either.
    @exclusivity(unchecked) private var waiting = 0
    /// Whether they wait to be removed, not to be put.
    @exclusivity(unchecked) private var isRemoving = false
    /// Beyond so many they are put: they take three megabytes.
    private static var mostWaiting: Int { 1 << 17 }
    /// Links asked for so far.
    @exclusivity(unchecked) private var asked = 0
    /// So few links are sooner put than gathered.
    private static var fewLinks: Int { 8 }

    init(session: EntitySession) {
        self.session = session
        transaction = session.transaction
    }

    func inverse(of side: EdgeSide) throws(HornbeamError) -> EdgeSide? {
        guard let name = side.inverse else { return nil }
        for known in inverses where known.side === side { return known.inverse }
        let inverse = try session.schema.type(side.target).relation(name)
        inverses.append((side, inverse))
        return inverse
    }

    func damaged(_ tree: String, _ side: EdgeSide, _ reason: String) -> StorageError {
        .corrupt(Corruption(tree: "\(tree):\(side.type):\(side.name)", reason: reason))
    }

    // MARK: Links that wait

    /// Puts the links that wait into the trees, or removes those that wait for that, which all that reads links does
    /// first. It changes trees: a query does it before it begins.
    @inline(__always)
    func settle() throws {
        if waiting > 0 { try settleWaiting() }
    }

    private func settleWaiting() throws {
        // Again from the start if one fails: what is put or removed twice is there once, or gone.
        if isRemoving {
            for tree in removals { try tree.remove(in: transaction) }
            for tree in removals { tree.removeAll() }
        } else {
            for side in links { try side.put(in: transaction) }
            for side in links { side.removeWaiting() }
        }
        waiting = 0
        session.hasWaitingLinks = false
    }

    /// Counts entries that were gathered to be put, or to be removed; what waits for the other is settled.
    private func wait(_ count: Int, removing: Bool = false) throws {
        if waiting > 0, isRemoving != removing { try settleWaiting() }
        if waiting == 0 {
            guard transaction.isWritable else {
                throw StorageError.readOnly("linking entities needs a write transaction")
            }
            session.hasWaitingLinks = true
            isRemoving = removing
        }
        waiting += count
        if waiting > Self.mostWaiting { try settleWaiting() }
    }

    /// The transaction went back to where none waited.
    func forget() {
        waiting = 0
        session.hasWaitingLinks = false
        links = []
        removals = []
        removalTrees = []
    }

    /// The keys that wait to be removed from a tree.
    private func removals(of tree: TreeID) -> WaitingEntries? {
        for place in removalTrees.indices where removalTrees[place] == tree.rawValue { return removals[place] }
        return nil
    }

    /// Gathers the key of an entry to be removed.
    func removeLater(_ tree: TreeID, _ first: RowID, _ second: RowID? = nil) throws {
        if let known = removals(of: tree) {
            known.add(first, second?.rawValue ?? 0)
        } else {
            session.hasGathered = true
            let made = WaitingEntries(tree, second == nil ? .key : .bare)
            removals.append(made)
            removalTrees.append(tree.rawValue)
            made.add(first, second?.rawValue ?? 0)
        }
        try wait(1, removing: true)
    }

    /// Settles unless what waits is to be removed and none of it has to do with this source.
    private func settle(_ side: EdgeSide, _ source: RowID) throws {
        if waiting == 0 { return }
        if isRemoving {
            guard let tree = removals(of: side.forward), tree.has(source) != false else { return }
        }
        try settleWaiting()
    }

    /// Puts what waits for that. What waits to be removed may be read still, by whoever removes it once more.
    func settleLinked() throws {
        if waiting > 0, !isRemoving { try settleWaiting() }
    }

    /// Whether it is worthwhile to gather links, now that so many more are asked for.
    private func gathers(_ count: Int) -> Bool {
        asked &+= count
        return asked > Self.fewLinks
    }

    /// What is known of a side whose links are gathered.
    private func knownLinks(of side: EdgeSide) -> SideLinks? {
        for known in links where known.side === side { return known }
        return nil
    }

    private func links(of side: EdgeSide) throws -> SideLinks {
        if let known = knownLinks(of: side) { return known }
        session.hasGathered = true
        let made = try SideLinks(side, in: transaction)
        links.append(made)
        return made
    }

    /// The position behind a source's last link.
    private func nextPosition(_ links: SideLinks, _ source: RowID) throws -> UInt64 {
        if let known = links.nextPosition(source) { return known }
        // None of its links waits, or it would be known.
        let position = try storedPosition(links.side, source)
        if links.remembersMany { try settleWaiting() }
        links.remember(position, of: source)
        return position
    }

    /// The position behind the last of a source's links in the tree.
    private func storedPosition(_ side: EdgeSide, _ source: RowID) throws -> UInt64 {
        guard let last = try ends(of: side).last(source) else { return 0 }
        // So large that none can be counted up to it.
        guard last.rawValue < 1 << 62 else { throw damaged("f", side, "a link has no position") }
        return last.rawValue + 1
    }

    /// Links two entities of different types if it is known that they aren't linked, nor held by another; else false,
    /// with nothing done.
    private func linkNew(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws -> Bool {
        guard side.type != side.target, gathers(1) else { return false }
        let own = try links(of: side)
        guard let inverse = try inverse(of: side) else {
            let position = side.isToMany ? try nextPosition(own, source) : 0
            guard side.isToMany ? position == 0 : own.isBeyond(source) else { return false }
            try wait(own.add(source, target, at: position) + own.addReverse(target, source))
            return true
        }
        let other = try links(of: inverse)
        if !side.isToMany, !own.isBeyond(source) { return false }
        if !inverse.isToMany, !other.isBeyond(target) { return false }
        let position = side.isToMany ? try nextPosition(own, source) : 0
        let otherPosition = inverse.isToMany ? try nextPosition(other, target) : 0
        // Both sides say the same: where one end has no links, the other has none with it.
        let isNew = !side.isToMany || !inverse.isToMany || position == 0 || otherPosition == 0
        guard isNew else { return false }
        try wait(own.add(source, target, at: position) + other.add(target, source, at: otherPosition))
        return true
    }

    // MARK: Reading

    /// The targets in the order of linking, from `offset` on, at most `limit`.
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

    /// The targets in the order of linking until `body` returns false: from `offset` on, which takes O(log n), and only
    /// those behind `last`, if it is linked. `body` must not change links.
    func forEachTarget(
        _ side: EdgeSide, of source: RowID, offset: Int = 0, behind last: RowID? = nil, _ body: (RowID) throws -> Bool
    ) throws {
        guard side.isToMany else {
            guard offset == 0, let target = try target(side, of: source), target != last else { return }
            _ = try body(target)
            return
        }
        try settle(side, source)
        var start = source.key
        if let last, let position = try position(side, source, last) { start += RowID(rawValue: position + 1).key }
        var cursor = try transaction.cursor(side.forward)
        var isValid = try cursor.seek(start)
        if isValid, offset > 0 {
            let before = try transaction.count(side.forward, from: [], to: start)
            let (index, overflow) = before.addingReportingOverflow(UInt64(offset))
            isValid = overflow ? false : try cursor.seek(index: index)
        }
        while isValid, let entry = try cursor.entry(), RowID(key: entry.key) == source {
            guard let target = RowID(stored: entry.value) else { throw damaged("f", side, "a link has no target") }
            guard try body(target) else { return }
            isValid = try cursor.next()
        }
    }

    /// Where a target stands among those of a to-many side; nil if it isn't linked.
    func position(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws -> UInt64? {
        guard let lookup = side.lookup, let value = try transaction.get(lookup, RowKey(source, target)) else {
            return nil
        }
        guard let position = RowID(stored: value), position.rawValue < .max else {
            throw damaged("l", side, "an entry has no position")
        }
        return position.rawValue
    }

    /// How many targets a source has behind one of them; all if that one isn't linked.
    func count(_ side: EdgeSide, of source: RowID, behind last: RowID) throws -> Int {
        guard side.isToMany else {
            return try target(side, of: source).map { $0 == last ? 0 : 1 } ?? 0
        }
        try settle()
        guard let position = try position(side, source, last) else {
            return try count(side, of: source)
        }
        let end = source.rawValue == .max ? [] : RowID(rawValue: source.rawValue + 1).key
        let start = source.key + RowID(rawValue: position + 1).key
        return Int(entries: try transaction.count(side.forward, from: start, to: end))
    }

    /// Whether every link leads to a stored entity: nobody has linked one that isn't there.
    func isWhole(_ side: EdgeSide) throws -> Bool {
        try !session.store(side.target).mayMiss()
    }

    /// How many stored entities a source is linked to: in O(log n), unless links may lead to some that aren't stored.
    package func storedCount(_ side: EdgeSide, of source: RowID) throws -> Int {
        if try isWhole(side) { return try count(side, of: source) }
        let targets = try session.store(side.target)
        var count = 0
        try forEachTarget(side, of: source) { target in
            if try targets.isSaved(target) { count += 1 }
            return true
        }
        return count
    }

    /// The target of a to-one side, the first target of a to-many side.
    package func target(_ side: EdgeSide, of source: RowID) throws -> RowID? {
        if side.isToMany { return try targets(side, of: source, limit: 1).first }
        if waiting > 0, isRemoving, removals(of: side.forward)?.has(source) == true { return nil }
        try settle(side, source)
        guard let value = try transaction.get(side.forward, RowKey(source)) else { return nil }
        guard let target = RowID(stored: value) else { throw damaged("f", side, "a link has no target") }
        return target
    }

    package func contains(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws -> Bool {
        guard let lookup = side.lookup else { return try self.target(side, of: source) == target }
        try settle()
        return try transaction.get(lookup, RowKey(source, target)) != nil
    }

    /// How many targets a source has, in O(log n).
    package func count(_ side: EdgeSide, of source: RowID) throws -> Int {
        try settle()
        guard side.isToMany else {
            return try transaction.get(side.forward, RowKey(source)) == nil ? 0 : 1
        }
        let end = source.rawValue == .max ? [] : RowID(rawValue: source.rawValue + 1).key
        return Int(entries: try transaction.count(side.forward, from: source.key, to: end))
    }

    // MARK: Changing

    /// Links two entities on both sides, at the end of the order. A to-one end that was linked elsewhere is released
    /// there first, so the entity that held it no longer lists it.
    package func append(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        if try linkNew(side, source, target) { return }
        try settle()
        guard try addHalf(side, source, target) else { return }
        try addOtherHalf(side, source, target)
    }

    /// Makes the targets of a source exactly these, in this order; repeated ones count once. A to-one side takes the
    /// last of them.
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
        if linked != wanted { try renumber(side, source, linked, to: wanted) }
    }

    /// Each of them once, where it came first.
    private static func distinct(_ rows: [RowID]) -> [RowID] {
        // Mostly they come in order, and then it is plain that they are.
        if isAscending(rows) { return rows }
        // Fewer than a set is worth.
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

    /// Links a source that has no links to distinct targets of another type; false, with nothing done, for others.
    /// Entities of one type may be linked to themselves, or to each other twice.
    private func linkFirst(_ side: EdgeSide, _ source: RowID, _ targets: [RowID]) throws -> Bool {
        guard side.type != side.target, gathers(targets.count) else { return false }
        let own = try links(of: side)
        guard try nextPosition(own, source) == 0 else { return false }
        let inverse = try inverse(of: side)
        let other = try inverse.map { try links(of: $0) }
        for (place, target) in targets.enumerated() {
            try wait(own.add(source, target, at: UInt64(place)))
        }
        guard let inverse, let other else {
            for target in targets { try wait(own.addReverse(target, source)) }
            return true
        }
        // In the order of the rows those that may be held by another come first, and one look settles all.
        for target in Self.isAscending(targets) ? targets : targets.sorted() {
            if inverse.isToMany || other.isBeyond(target) {
                let position = inverse.isToMany ? try nextPosition(other, target) : 0
                try wait(other.add(target, source, at: position))
            } else {
                try settle()
                _ = try addHalf(inverse, target, source)
            }
        }
        return true
    }

    /// Every source that links to `target` by this side.
    func forEachSource(_ side: EdgeSide, of target: RowID, _ body: (RowID) -> Void) throws {
        if let inverse = try inverse(of: side) {
            try forEachTarget(inverse, of: target) { source in
                body(source)
                return true
            }
        } else {
            for source in try sources(side, of: target) { body(source) }
        }
    }

    /// Whether any link leads from or to an entity.
    func isLinked(_ type: EntityType, _ rowID: RowID) throws -> Bool {
        for side in type.relations where try count(side, of: rowID) > 0 { return true }
        for side in session.schema.incoming[type.name] ?? [] where try !sources(side, of: rowID).isEmpty { return true }
        return false
    }

    /// The sources of a one-way relation that link to `target`.
    package func sources(_ side: EdgeSide, of target: RowID) throws -> [RowID] {
        try settle()
        return try storedSources(side, of: target)
    }

    /// Those that the tree has.
    func storedSources(_ side: EdgeSide, of target: RowID) throws -> [RowID] {
        guard let reverse = side.reverse else { return [] }
        var found: [RowID] = []
        var cursor = try transaction.cursor(reverse)
        var isValid = try cursor.seek(target.key)
        while isValid, let entry = try cursor.entry(), RowID(key: entry.key) == target {
            guard let source = RowID(key: entry.key, at: 8) else {
                throw damaged("b", side, "an entry has no source")
            }
            found.append(source)
            isValid = try cursor.next()
        }
        return found
    }

    // MARK: One side alone

    /// Adds one side's half of a link, at the end of the order; false if it is there. A to-one side that leads
    /// elsewhere is released first, on both sides. Looks nothing up that the tree tells while it puts.
    private func addHalf(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws -> Bool {
        let links = knownLinks(of: side)
        if let lookup = side.lookup {
            let position = try links.map { try nextPosition($0, source) } ?? storedPosition(side, source)
            let place = RowID(rawValue: position)
            guard try transaction.insert(lookup, RowKey(source, target), place) else { return false }
            try transaction.put(side.forward, RowKey(source, place), target)
            links?.note(source, at: position)
            return true
        }
        if try transaction.insert(side.forward, RowKey(source), target) {
            links?.note(source, at: 0)
            return true
        }
        if let old = try self.target(side, of: source) {
            if old == target { return false }
            try remove(side, source, old)
            try settle()
        }
        try transaction.put(side.forward, RowKey(source), target)
        return true
    }

    /// Adds what the target knows of a link. Where the two sides are one, and the entity is linked to itself, that is
    /// there already.
    private func addOtherHalf(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        if let inverse = try inverse(of: side) {
            _ = try addHalf(inverse, target, source)
        } else if let reverse = side.reverse {
            try transaction.put(reverse, RowKey(target, source), Bytes(start: nil, count: 0))
        }
    }

    private func ends(of side: EdgeSide) throws -> LinkEnds {
        for known in ends where known.tree == side.forward { return known }
        session.hasGathered = true
        let made = LinkEnds(side.forward, try transaction.cursor(side.forward))
        if ends.count < Self.endsKept {
            ends.append(made)
        } else {
            ends[oldestEnds] = made
            oldestEnds = (oldestEnds + 1) % Self.endsKept
        }
        return made
    }

    /// To be called for a source that is about to lose a link.
    func touch(_ side: EdgeSide, _ source: RowID) {
        if side.description.required { session.required?.touch(side.type, source) }
    }

    /// At once, with nothing waiting.
    private func removeHalf(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        touch(side, source)
        guard let lookup = side.lookup else {
            guard try self.target(side, of: source) == target else { return }
            _ = try transaction.delete(side.forward, RowKey(source))
            return
        }
        let key = RowKey(source, target)
        guard let value = try transaction.get(lookup, key) else { return }
        guard let position = RowID(stored: value) else { throw damaged("l", side, "an entry has no position") }
        _ = try transaction.delete(side.forward, RowKey(source, position))
        _ = try transaction.delete(lookup, key)
    }

    private func renumber(_ side: EdgeSide, _ source: RowID, _ linked: [RowID], to wanted: [RowID])
        throws
    {
        try settle()
        for target in linked { try removeHalf(side, source, target) }
        for target in wanted { _ = try addHalf(side, source, target) }
    }
}

/// Where the links of a source end. Keeps its cursor for the next source: making one takes as long as moving it.
private final class LinkEnds {
    let tree: TreeID
    private var cursor: Cursor

    init(_ tree: TreeID, _ cursor: consuming Cursor) {
        self.tree = tree
        self.cursor = cursor
    }

    /// The position of the source's last link, nil if it has none; the greatest number for one that is damaged.
    func last(_ source: RowID) throws -> RowID? {
        let isThere = try RowKey(source, RowID(rawValue: .max)).withBytes { (key) throws(StorageError) in
            try cursor.seekLast(key)
        }
        guard isThere, let entry = try cursor.entry(), RowID(key: entry.key) == source else { return nil }
        return RowID(key: entry.key, at: 8) ?? RowID(rawValue: .max)
    }
}
