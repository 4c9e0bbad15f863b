// SPDX-License-Identifier: Apache-2.0
// Rules for hand-kept indexes: middleware that adds changed entities according to a rule. Deleted entities are removed
// without a rule.

extension Database {
    /// Appends each entity that is inserted from now on to a list, in the order of their saves. An entity that is
    /// deleted and saved again in one write counts as changed, not inserted, and has left the list. The rule with a
    /// condition appends it again.
    @discardableResult
    public func keep<Entity>(_ index: OrderedIDIndex<Entity>) -> CommitMiddleware {
        onWillCommit { context, changes in
            let list = try context[index]
            let changed = changes[Entity.self]
            for id in changes.saved(Entity.self) where changed.wasInserted(id) {
                if try !list.contains(id) { try list.append(id) }
            }
        }
    }

    /// Keeps each entity that is saved from now on in a list while the condition holds for it. An entity for which it
    /// begins to hold is appended.
    @discardableResult
    public func keep<Entity>(
        _ index: OrderedIDIndex<Entity>, where condition: @escaping @Sendable (Entity) throws -> Bool
    ) -> CommitMiddleware {
        keep(Entity.self) { context, entity in
            let list = try context[index]
            if try !condition(entity) {
                try list.remove(entity.id)
            } else if try !list.contains(entity.id) {
                try list.append(entity.id)
            }
        }
    }

    /// Keeps each entity that is saved from now on in the group that `key` gives, and in no other. An entity that
    /// enters a group is appended: `database.keep(byGenre, by: \.genre)`.
    @discardableResult
    public func keep<Key, Entity>(
        _ index: GroupByKeyIndex<Key, Entity>, by key: @escaping @Sendable (Entity) throws -> Key
    ) -> CommitMiddleware {
        keep(Entity.self) { context, entity in try context[index].move(entity.id, to: try key(entity)) }
    }

    /// Puts each entity that is saved from now on into the group of the entity that `group` gives, and into no other.
    /// The entity is in no group if `group` gives nil, or if the group's entity isn't stored when the write ends. Its
    /// next save calls `group` again.
    @discardableResult
    public func keep<Group, Entity>(
        _ index: GroupByEntityIndex<Group, Entity>, by group: @escaping @Sendable (Entity) throws -> Group.ID?
    ) -> CommitMiddleware {
        keep(Entity.self) { context, entity in
            let groups = try context[index]
            // A group that isn't stored must not prevent the save.
            if let group = try group(entity),
                try context.session.run({ try $0.storedRow(of: group.columnValue, Group.self) != nil })
            {
                try groups.move(entity.id, to: group)
            } else {
                try groups.remove(entity.id)
            }
        }
    }

    /// Maps the entity's key to it on every save from now on, and removes its other keys. If `key` returns nil, no key
    /// leads to the entity. If several entities have the same key, the last saved one counts.
    @discardableResult
    public func keep<Key, Entity>(
        _ index: HashIDIndex<Key, Entity>, by key: @escaping @Sendable (Entity) throws -> Key?
    ) -> CommitMiddleware {
        keep(Entity.self) { context, entity in
            let keys = try context[index]
            let wanted = try key(entity)
            if let wanted, try keys[wanted] == entity.id, try keys.keys(of: entity.id).count == 1 { return }
            try keys.removeKeys(of: entity.id)
            if let wanted { try keys.set(entity.id, for: wanted) }
        }
    }

    /// Keeps each entity that is saved from now on in a set while the condition holds for it.
    @discardableResult
    public func keep<Entity>(
        _ index: SetIndex<Entity>, where condition: @escaping @Sendable (Entity) throws -> Bool
    ) -> CommitMiddleware {
        keep(Entity.self) { context, entity in
            let set = try context[index]
            if try condition(entity) { try set.insert(entity.id) } else { try set.remove(entity.id) }
        }
    }

    /// Calls `body` with each entity of a type that a write has inserted or updated, in the order of their last saves.
    private func keep<Entity: EntityModelProtocol>(
        _: Entity.Type, _ body: @escaping @Sendable (Context, Entity) throws -> Void
    ) -> CommitMiddleware {
        onWillCommit { context, changes in
            for id in changes.saved(Entity.self) {
                if let entity: Entity = try context.find(id) { try body(context, entity) }
            }
        }
    }
}
