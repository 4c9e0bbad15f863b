// SPDX-License-Identifier: Apache-2.0
// Saving many entities as a unit, and raw operations on rows and indexes without hooks and relations.

extension Context {
    /// Saves all entities, or none: if one can't be saved, all changes are undone, and the write can go on.
    ///
    /// Only their final unique keys count: two entities may exchange keys, and one may take a key that another one
    /// gives up. Throws `.uniqueViolation`, which names both entities, if two have equal final keys and the index
    /// refuses that. `willSave` of all entities runs first.
    public mutating func saveAll<Entity: EntityModelProtocol>(
        _ entities: [Entity], options: MergeStrategy<Entity> = Entity.defaultMergeStrategy
    ) throws {
        let session = session
        try session.descend("saved", of: "\(entities.count) \(Entity.entityName)")
        defer { session.running.depth -= 1 }
        try session.run { session in
            try session.whole {
                var context = Context(session)
                var changed = entities
                for place in changed.indices { try changed[place].willSave(to: &context) }
                var batch: UniqueBatch? = UniqueBatch(isList: true)
                for entity in changed { try entity.join(&batch, in: context, options: options, isFinal: true) }
                func save() throws {
                    for entity in changed { try entity.store(in: &context, options: options) }
                }
                guard let batch else { return try save() }
                try session.saving(batch, save)
            }
        }
    }

    // MARK: - Raw forms

    /// Stores an entity, merged with the stored one by `options`, and its index entries. No hooks, relations or
    /// collision resolvers are involved. Throws `.uniqueViolation` if another entity holds one of its keys in an index
    /// that is `.throw`, `.update` or `.replace`. A `Deleted` with this id is removed.
    public mutating func insert<Entity: EntityModelProtocol>(
        _ entity: Entity, options: MergeStrategy<Entity> = .replace
    ) throws {
        try session.change("saved", of: "\(Entity.entityName) \(entity.id)") { session in
            _ = try session.save(try entity.merged(options, session), isLinked: false)
        }
    }

    /// Inserts an entity, or does nothing for nil.
    public mutating func insert<Entity: EntityModelProtocol>(
        _ entity: Entity?, options: MergeStrategy<Entity> = .replace
    ) throws {
        if let entity { try insert(entity, options: options) }
    }

    /// Inserts entities one after the other.
    public mutating func insert<Entity: EntityModelProtocol>(
        _ entities: [Entity], options: MergeStrategy<Entity> = .replace
    ) throws {
        for entity in entities { try insert(entity, options: options) }
    }

    /// Removes an entity and its index entries, without hooks and delete rules, and leaves no `Deleted`. Its links stay
    /// and lead to an id that isn't stored, like links to an entity that isn't saved yet. Has no effect if no entity
    /// has this id.
    public mutating func remove<Entity: EntityModelProtocol>(_: Entity.Type, id: Entity.ID) throws {
        try session.change("removed", of: "\(Entity.entityName) \(id)") { try $0.remove([id], Entity.self) }
    }

    /// Removes several entities and their index entries, like `remove`.
    public mutating func removeAll<Entity: EntityModelProtocol>(_: Entity.Type, ids: [Entity.ID]) throws {
        try session.change("removed", of: Entity.entityName) { try $0.remove(ids, Entity.self) }
    }
}

extension Collection where Element: EntityModelProtocol {
    /// Saves all entities, or none, like `Context.saveAll`.
    public func save(
        to context: inout Context, options: MergeStrategy<Element> = Element.defaultMergeStrategy
    ) throws {
        try context.saveAll(Array(self), options: options)
    }
}
