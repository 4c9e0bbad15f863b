// SPDX-License-Identifier: Apache-2.0
// The content of a set index.

import HornbeamTree

/// A set of ids in a transaction.
public struct IDSet<Entity: EntityModelProtocol> {
    private let access: KeptAccess<Entity>
    private let trees: KeptTrees

    init(_ context: Context, _ trees: KeptTrees) {
        access = KeptAccess(context: context, name: trees.name)
        self.trees = trees
    }

    /// The entities as a query, in the order of their rows: see `OrderedIDs.query()`.
    public func query() -> QueryList<Entity> {
        let name = access.name
        return QueryList(context: access.context, list: name) { session in
            KeptSet(trees: try session.keptTrees(named: name, over: Entity.self))
        }
    }

    /// The set as rows for the planner.
    var rowList: any RowList { KeptSet(trees: trees) }

    /// The number of ids. O(1).
    public var count: Int {
        get throws { try access.read { _ in Int(entries: try trees.transaction.count(trees.entries)) } }
    }

    public var isEmpty: Bool {
        get throws { try count == 0 }
    }

    /// Whether the set has an id. O(log n).
    public func contains(_ id: Entity.ID) throws -> Bool {
        try access.read { session in try access.row(id, session).map { try has($0) } ?? false }
    }

    private func has(_ row: RowID) throws -> Bool { try trees.transaction.get(trees.entries, row.key) != nil }

    /// Adds an id. Returns whether it was new. Throws `.notStored` if no such entity is stored. O(log n).
    @discardableResult
    public func insert(_ id: Entity.ID) throws -> Bool {
        try access.change { session in
            let row = try access.storedRow(id, session)
            guard try !has(row) else { return false }
            try trees.put(row.key, row)
            return true
        }
    }

    /// Removes an id. Returns whether it was in the set. O(log n).
    @discardableResult
    public func remove(_ id: Entity.ID) throws -> Bool {
        try access.change { session in
            guard let row = try access.row(id, session) else { return false }
            return try trees.transaction.delete(trees.entries, row.key)
        }
    }

    /// Inserts ids. Throws `.notStored`, and inserts none, if an entity isn't stored.
    public func formUnion(_ ids: some Sequence<Entity.ID>) throws {
        try access.change { session in
            for row in try access.rows(ids, session) where try !has(row) { try trees.put(row.key, row) }
        }
    }

    /// Removes ids.
    public func subtract(_ ids: some Sequence<Entity.ID>) throws { for id in ids { try remove(id) } }

    /// Removes all ids except these. Takes time proportional to the set.
    public func formIntersection(_ ids: some Sequence<Entity.ID>) throws {
        let kept = Set(ids)
        try forEach { id in if !kept.contains(id) { try remove(id) } }
    }

    /// Returns the ids that are in the set, or among these, or both.
    public func union(_ ids: some Sequence<Entity.ID>) throws -> Set<Entity.ID> { Set(try self.ids).union(ids) }

    /// Returns the ids that are in the set and not among these.
    public func subtracting(_ ids: some Sequence<Entity.ID>) throws -> Set<Entity.ID> {
        Set(try self.ids).subtracting(ids)
    }

    public func removeAll() throws {
        try access.change { _ in try trees.removeAll() }
    }

    /// Calls `body` with each id, in the order of `ids`. The ids are collected first, eight bytes each, so changes that
    /// `body` makes don't affect them.
    public func forEach(_ body: (Entity.ID) throws -> Void) throws {
        try access.forEach(try access.read { _ in try rows() }, body)
    }

    /// The ids in the order of their rows: integer ids by value, others in the order in which the store first saw them.
    public var ids: [Entity.ID] {
        get throws { try access.read { try access.ids(try rows(), $0) } }
    }

    /// Returns the ids, sorted by value.
    public func sorted() throws -> [Entity.ID] where Entity.ID: Comparable { try ids.sorted() }

    /// Returns the entities, in the order of `ids`.
    public func entities() throws -> [Entity] { try access.read { try access.entities(try rows(), $0) } }

    func rows() throws -> [RowID] {
        var rows: [RowID] = []
        try trees.forEach { _, row in
            rows.append(row)
            return true
        }
        return rows
    }
}

/// The rows of a set, in their order.
private struct KeptSet: RowList {
    let trees: KeptTrees

    func count() throws -> Int { Int(entries: try trees.transaction.count(trees.entries)) }

    func forEach(from place: Int, _ body: (RowID) throws -> Bool) throws {
        var cursor = try trees.transaction.cursor(trees.entries)
        var isValid = try cursor.seek(index: UInt64(clamping: place))
        while isValid {
            guard let row = RowID(key: cursor.key) else { throw trees.damaged("an entry names no row") }
            guard try body(row) else { return }
            isValid = try cursor.next()
        }
    }

    func indices(of row: RowID, limit: Int) throws -> [Int] {
        guard limit > 0, try trees.transaction.get(trees.entries, row.key) != nil else { return [] }
        return [Int(entries: try trees.transaction.count(trees.entries, from: [], to: row.key))]
    }
}
