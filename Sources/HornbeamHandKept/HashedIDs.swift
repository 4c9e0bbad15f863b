// SPDX-License-Identifier: Apache-2.0
// The content of a hash index: an id for a key.

import HornbeamTree

/// Ids in a transaction, one for each key. Several keys may lead to the same id.
public struct HashedIDs<Key: IndexKey, Entity: EntityModelProtocol> {
    private let access: KeptAccess<Entity>
    private let trees: KeptTrees

    init(_ context: Context, _ trees: KeptTrees) {
        access = KeptAccess(context: context, name: trees.name)
        self.trees = trees
    }

    /// The number of keys. O(1).
    public var count: Int {
        get throws { try access.read { _ in Int(entries: try trees.transaction.count(trees.entries)) } }
    }

    public var isEmpty: Bool {
        get throws { try count == 0 }
    }

    /// The id of a key. Nil if there is none. O(log n).
    public subscript(key: Key) -> Entity.ID? {
        get throws { try access.read { session in try row(key).map { try access.id($0, session) } } }
    }

    func row(_ key: Key) throws -> RowID? {
        guard let stored = try trees.transaction.get(trees.entries, try KeptKey.bytes(key, trees)) else { return nil }
        guard let row = RowID(stored: stored) else { throw trees.damaged("an entry names no row") }
        return row
    }

    /// Returns the entity of a key, or nil if there is none.
    public func entity(_ key: Key) throws -> Entity? {
        try access.read { session in try row(key).flatMap { try session.entity(at: $0, Entity.self) } }
    }

    /// Maps a key to this id, which replaces a former one. Throws `.notStored` if no such entity is stored. O(log n).
    public func set(_ id: Entity.ID, for key: Key) throws {
        try access.change { session in
            let row = try access.storedRow(id, session)
            let former = try self.row(key)
            guard former != row else { return }
            let key = try KeptKey.bytes(key, trees)
            if let former { try trees.remove(key, former) }
            try trees.put(key, row)
        }
    }

    /// Removes a key. Returns the id that it led to, or nil if there was none. O(log n).
    @discardableResult
    public func remove(_ key: Key) throws -> Entity.ID? {
        try access.change { session in
            guard let row = try row(key) else { return nil }
            let id = try access.id(row, session)
            try trees.remove(try KeptKey.bytes(key, trees), row)
            return id
        }
    }

    /// Returns the keys that lead to an id, in their order.
    public func keys(of id: Entity.ID) throws -> [Key] {
        try access.read { session in
            var keys: [Key] = []
            guard let row = try access.row(id, session) else { return keys }
            try trees.forEachKey(of: row) { key in
                keys.append(try KeptKey.read(key, trees))
                return true
            }
            return keys
        }
    }

    /// Removes the keys that lead to an id.
    public func removeKeys(of id: Entity.ID) throws {
        try access.change { session in
            if let row = try access.row(id, session) { try trees.removeAll(of: row) }
        }
    }

    /// Calls `body` with each key and its id, in the order of the keys. The ids are collected first, so changes that
    /// `body` makes don't affect them. Ids of entities that it deletes meanwhile are skipped.
    public func forEach(_ body: (Key, Entity.ID) throws -> Void) throws {
        try access.read { session in
            guard trees.transaction.isWritable else {
                return try trees.forEach { key, row in
                    try body(try KeptKey.read(key, trees), try access.id(row, session))
                    return true
                }
            }
            var entries: [(key: Key, row: RowID)] = []
            try trees.forEach { key, row in
                entries.append((try KeptKey.read(key, trees), row))
                return true
            }
            for (key, row) in entries {
                if try session.store(Entity.self).isSaved(row) { try body(key, try access.id(row, session)) }
            }
        }
    }

    public func removeAll() throws {
        try access.change { _ in try trees.removeAll() }
    }
}
