// SPDX-License-Identifier: Apache-2.0
// The content of a grouped index: a list of ids for each group. A group exists as long as its list has an id.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// Lists of ids in a transaction, grouped by other entities or by keys. See `OrderedIDs` for the operations on each
/// list.
public struct GroupedIDs<Group: Sendable, Entity: EntityModelProtocol> {
    private let context: Context
    private let access: KeptAccess<Entity>
    private let trees: KeptTrees
    private let coding: any GroupCoding<Group>

    init(_ context: Context, _ trees: KeptTrees, _ coding: any GroupCoding<Group>) {
        self.context = context
        access = KeptAccess(context: context, name: trees.name)
        self.trees = trees
        self.coding = coding
    }

    /// The number of entries in all lists together. O(1).
    public var count: Int {
        get throws { try access.read { _ in Int(entries: try trees.transaction.count(trees.entries)) } }
    }

    public var isEmpty: Bool {
        get throws { try count == 0 }
    }

    /// Returns the groups that have an id, in the order of their keys or of their entities' rows. O(log n) for each.
    public func groups() throws -> [Group] {
        var groups: [Group] = []
        try access.read { session in
            try forEachSection { section in
                groups.append(try section.withUnsafeBytes { try coding.group($0, trees, session) })
            }
        }
        return groups
    }

    /// Returns the number of groups that have an id. O(log n) for each of them.
    public func groupCount() throws -> Int {
        var count = 0
        try access.read { _ in try forEachSection { _ in count += 1 } }
        return count
    }

    private func forEachSection(_ body: ([UInt8]) throws -> Void) throws {
        var cursor = try trees.transaction.cursor(trees.entries)
        var isValid = try cursor.first()
        while isValid {
            let section = Array(cursor.key.dropLast(8))
            try body(section)
            guard let next = KeyWriter.successor(ofPrefix: section) else { return }
            isValid = try cursor.seek(next)
        }
    }

    /// Returns the list of a group, which may be empty.
    public func orderedID(in group: Group) throws -> OrderedIDs<Entity> {
        try access.read { session in
            guard let section = try coding.section(group, trees, session) else {
                return OrderedIDs(context, trees.name, lacking: coding.lack(group, in: trees.name))
            }
            return OrderedIDs(context, KeptList(trees, section: section))
        }
    }

    /// The list of a group: `orderedID(in:)` as a subscript.
    public subscript(group: Group) -> OrderedIDs<Entity> {
        get throws { try orderedID(in: group) }
    }

    /// Changes the list of a group. Throws `.notStored` if the list changes and the group's entity isn't stored.
    @discardableResult
    public func update<Result>(
        in group: Group, _ change: (OrderedIDs<Entity>) throws -> Result
    ) throws -> Result {
        try change(try orderedID(in: group))
    }

    /// Removes all ids of a group. Then the group no longer exists.
    public func removeGroup(_ group: Group) throws { try orderedID(in: group).removeAll() }

    public func removeAll() throws {
        try access.change { _ in try trees.removeAll() }
    }

    /// Returns the groups that an id is in, in their order. O(log n) for each entry of the id.
    public func groups(of id: Entity.ID) throws -> [Group] {
        var groups: [Group] = []
        try access.read { session in
            guard let row = try access.row(id, session) else { return }
            var last: [UInt8] = []
            try trees.forEachKey(of: row) { key in
                let section = Array(key.dropLast(8))
                if section != last {
                    groups.append(try section.withUnsafeBytes { try coding.group($0, trees, session) })
                }
                last = section
                return true
            }
        }
        return groups
    }

    /// Removes an id from all groups. Returns the number of removed entries.
    @discardableResult
    public func remove(_ id: Entity.ID) throws -> Int {
        try access.change { session in
            guard let row = try access.row(id, session) else { return 0 }
            return try KeptList(trees).removeAll(of: row)
        }
    }

    /// Removes an id from all other groups, and appends it to the list of this group unless it is already there. Throws
    /// `.notStored` if its entity or the group's entity isn't stored.
    public func move(_ id: Entity.ID, to group: Group) throws {
        try access.change { session in
            let target = try orderedID(in: group)
            let section = try coding.section(group, trees, session)
            let row = try access.storedRow(id, session)
            var isThere = false
            var others: [[UInt8]] = []
            try trees.forEachKey(of: row) { key in
                if key.dropLast(8).elementsEqual(section ?? []) { isThere = true } else { others.append(Array(key)) }
                return true
            }
            if !isThere { try target.append(id) }
            for key in others { try trees.remove(key, row) }
        }
    }

    /// Returns the entities of a group, in the order of its list.
    public func entities(in group: Group) throws -> [Entity] { try orderedID(in: group).entities() }
}

/// The coding of groups in keys.
protocol GroupCoding<Group>: Sendable {
    associatedtype Group

    /// Returns the bytes of a group in keys, or nil if there can't be such a group.
    func section(_ group: Group, _ trees: KeptTrees, _ session: TypedTransaction) throws -> [UInt8]?
    func group(_ section: Bytes, _ trees: KeptTrees, _ session: TypedTransaction) throws -> Group
    /// Returns the error with the reason why there can't be such a group.
    func lack(_ group: Group, in index: String) -> HornbeamError
}

/// Codes groups that are entities by their rows.
struct EntityGroupCoding<Entity: EntityModelProtocol>: GroupCoding {
    func section(_ group: Entity.ID, _ trees: KeptTrees, _ session: TypedTransaction) throws -> [UInt8]? {
        let store = try session.store(Entity.self)
        guard let row = try store.rowID(ofAny: group.columnValue), try store.isSaved(row) else { return nil }
        return row.key
    }

    func group(_ section: Bytes, _ trees: KeptTrees, _ session: TypedTransaction) throws -> Entity.ID {
        guard section.count == 8, let row = RowID(key: section), let id = try session.id(of: row, Entity.self) else {
            throw trees.damaged("a group is no stored \(Entity.entityName)")
        }
        return id
    }

    func lack(_ group: Entity.ID, in index: String) -> HornbeamError {
        .notStored(Entity.self, group, in: index)
    }
}

/// Codes groups that are keys by the keys' bytes.
struct KeyGroupCoding<Key: IndexKey>: GroupCoding {
    func section(_ group: Key, _ trees: KeptTrees, _ session: TypedTransaction) throws -> [UInt8]? {
        try KeptKey.bytes(group, trees)
    }

    func group(_ section: Bytes, _ trees: KeptTrees, _ session: TypedTransaction) throws -> Key {
        try KeptKey.read(section, trees)
    }

    func lack(_ group: Key, in index: String) -> HornbeamError {
        HornbeamError(.invalid, "index “\(index)” can't have the group \("\(group)".shown())")
    }
}
