// SPDX-License-Identifier: Apache-2.0
// The entities of one type as a table in a transaction. Its methods say whether an entity must already be stored.

import HornbeamTree

/// The stored entities of a type in a transaction. All methods run the entity's hooks, and maintain indexes and
/// relations, like `save` and `delete`. A method that throws has changed nothing, and the write can continue.
public struct EntityTable<Entity: EntityModelProtocol> {
    private let context: Context

    fileprivate init(_ context: Context) { self.context = context }

    private func change<Result>(_ body: (inout Context) throws -> Result) throws -> Result {
        var context = context
        return try context.transaction(body)
    }

    // MARK: Reading

    public var count: Int {
        get throws { try context.session.run { try $0.store(Entity.self).count() } }
    }

    public var isEmpty: Bool {
        get throws { try count == 0 }
    }

    /// The ids of all entities, in the order of their row ids.
    public var allIDs: [Entity.ID] {
        get throws { try context.ids(Entity.self) }
    }

    /// Returns all entities, in the order of their row ids.
    public func all() throws -> [Entity] { try context.all() }

    /// Returns the entity with this id, or nil if it isn't stored.
    public func find(by id: Entity.ID) throws -> Entity? { try context.find(id) }

    /// Returns the stored entities in the order of the ids. An entity whose id is repeated comes several times.
    public func find(in ids: some Sequence<Entity.ID>) throws -> [Entity] {
        try context.findAllExisting(Array(ids))
    }

    /// Returns the entities of a list, in its order.
    public func find(in list: OrderedIDs<Entity>) throws -> [Entity] { try list.entities() }

    /// Returns the entities of a set, in the order of its ids.
    public func find(in set: IDSet<Entity>) throws -> [Entity] { try set.entities() }

    private func isStored(_ id: Entity.ID) throws -> Bool {
        try context.session.run { try $0.storedRow(of: id.columnValue, Entity.self) != nil }
    }

    // MARK: Changing

    /// Saves an entity that must not be stored yet. Throws `.alreadyStored` if it is.
    public func insert(_ entity: Entity) throws {
        try change { context in
            guard try !isStored(entity.id) else {
                throw HornbeamError(
                    .alreadyStored,
                    "\(Entity.entityName) \("\(entity.id)".shown()) is stored already: update it, or upsert to have "
                        + "either")
            }
            try entity.save(to: &context)
        }
    }

    /// Inserts several entities. Throws `.alreadyStored`, and inserts none, if one is stored already.
    public func insert(contentsOf entities: some Sequence<Entity>) throws {
        try change { _ in for entity in entities { try insert(entity) } }
    }

    /// Saves an entity, whether it is stored already or not.
    public func upsert(_ entity: Entity) throws { try change { context in try entity.save(to: &context) } }

    /// Saves several entities: all or none. Their unique keys count as they are after all saves.
    public func upsert(contentsOf entities: some Sequence<Entity>) throws {
        try change { context in try context.saveAll(Array(entities)) }
    }

    /// Changes a stored entity. Relations that `change` doesn't set stay as they are. Throws `.notStored` if the entity
    /// isn't stored, and `.identityChanged` if `change` gives it another id.
    /// - Returns: the entity as it is now.
    @discardableResult
    public func update(_ id: Entity.ID, _ change: (inout Entity) throws -> Void) throws -> Entity {
        guard let entity = try updateIfExists(id, change) else {
            throw HornbeamError(
                .notStored,
                "\(Entity.entityName) \("\(id)".shown()) isn't stored: insert it, or update it only if it exists")
        }
        return entity
    }

    /// Changes an entity if it is stored. Returns nil if it isn't. Throws `.identityChanged` if `change` gives it
    /// another id.
    @discardableResult
    public func updateIfExists(_ id: Entity.ID, _ change: (inout Entity) throws -> Void) throws -> Entity? {
        try self.change { context in
            guard var entity: Entity = try context.find(id) else { return nil }
            try change(&entity)
            guard entity.id == id else { throw HornbeamError.identityChanged(of: id, to: entity) }
            try entity.save(to: &context, options: .replace)
            // A hook may have changed it.
            return try context.find(id)
        }
    }

    /// Deletes the entity with this id, by its delete rules. Returns whether there was one.
    @discardableResult
    public func delete(_ id: Entity.ID) throws -> Bool {
        try change { context in try Entity.query(id).delete(from: &context) }
    }

    @discardableResult
    public func delete(_ entity: Entity) throws -> Bool { try delete(entity.id) }

    /// Deletes the entities with these ids, as one deletion. Returns the number of deleted entities.
    @discardableResult
    public func delete(_ ids: some Sequence<Entity.ID>) throws -> Int {
        try change { context in try Entity.query(Array(ids)).delete(from: &context) }
    }

    /// Deletes all entities of the type. Returns the number of deleted entities.
    @discardableResult
    public func deleteAll() throws -> Int {
        try change { context in try Entity.query().delete(from: &context) }
    }
}

extension Context {
    /// Returns the entities of a type as a table: `context.table(Book.self).find(by: id)`.
    public func table<Entity: EntityModelProtocol>(_: Entity.Type) -> EntityTable<Entity> { EntityTable(self) }
}
