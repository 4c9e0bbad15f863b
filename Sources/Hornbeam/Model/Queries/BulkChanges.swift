// SPDX-License-Identifier: Apache-2.0
// Deleting and changing all entities that a query finds. The query runs before anything is changed, because each
// deletion may change relations that the query's conditions test.

extension QueryList {
    /// Deletes the entities that the query finds, in its order, and related entities by their delete rules. Hooks,
    /// observers and `Deleted` work as in single deletions. If something throws, nothing is deleted, and the write can
    /// go on. Needs memory for one entity at a time and eight bytes for each that was found.
    ///
    /// Throws `.deleteDenied` if a relation with the rule `deny` forbids it. As this is one deletion, such a relation
    /// to an entity that is deleted too doesn't forbid it. If there are such relations, all entities to delete are
    /// found first, and their row ids are kept in memory.
    ///
    /// - Returns: the number of entities that the query found, each counted once. Entities that rules deleted don't
    /// count.
    @discardableResult
    public func delete(from context: inout Context) throws -> Int { try delete(from: &context, leavingNothing: false) }

    /// - Parameter leavingNothing: whether the found entities leave no `Deleted`.
    func delete(from context: inout Context, leavingNothing: Bool) throws -> Int {
        try context.transaction { context in
            let rows = try context.session.run { unique(try self.rows($0)) }
            try Entity.delete(rows, in: &context, leavingNothing: leavingNothing)
            return rows.count
        }
    }

    /// Changes the entities that the query finds, in its order, and saves them in place of the stored ones. Hooks,
    /// indexes and observers work as in single saves. If something throws, nothing is changed, and the write can go on.
    /// The entities have no relations loaded: links change only if `change` sets them.
    ///
    /// The query runs first, then each entity is changed and saved in turn. An entity that a hook, a cascade or
    /// `change` deletes before its turn is left out, and one that they change is read anew. It is changed even if the
    /// query wouldn't find it any more.
    ///
    /// A thousand entities are read at a time. If the type has unique indexes, all are read at once, because entities
    /// may exchange keys: only their final keys must be unique. `change` is then called for all entities first, and
    /// again for one that something else changes before its turn. Throws `.identityChanged` if `change` gives an entity
    /// another id.
    ///
    /// - Returns: the number of changed entities, each counted once.
    @discardableResult
    public func update(in context: inout Context, _ change: (inout Entity) throws -> Void) throws -> Int {
        let session = context.session
        try session.descend("updated", of: "the result of a query of \(Entity.entityName)")
        defer { session.running.depth -= 1 }
        return try session.run { session in
            try session.whole {
                let rows = unique(try self.rows(session))
                return try session.watching(Entity.self) { watch in
                    try Entity.entityShape.hasResolvers
                        ? updateTogether(rows, watch, &context, change)
                        : updateOneByOne(rows, watch, &context, change)
                }
            }
        }
    }

    private func updateOneByOne(
        _ rows: [RowID], _ watch: RowWatch, _ context: inout Context, _ change: (inout Entity) throws -> Void
    ) throws -> Int {
        let session = context.session
        var count = 0
        for start in stride(from: 0, to: rows.count, by: 1_000) {
            let part = Array(rows[start..<Swift.min(start + 1_000, rows.count)])
            watch.forget()
            var stored: [RowID]? = []
            let entities: [Entity] = try session.entities(at: part, stored: &stored)
            for (row, entity) in zip(stored ?? [], entities) {
                guard let entity = try changed(entity, row, watch, session, change) else { continue }
                try entity.saveCounted(to: &context, options: .replace)
                count += 1
            }
        }
        return count
    }

    /// Updates entities that may exchange unique keys: the keys of all must be known before the first is saved.
    private func updateTogether(
        _ rows: [RowID], _ watch: RowWatch, _ context: inout Context, _ change: (inout Entity) throws -> Void
    ) throws -> Int {
        let session = context.session
        var stored: [RowID]? = []
        let entities: [Entity] = try session.entities(at: rows, stored: &stored)
        var planned: [(row: RowID, entity: Entity)] = []
        for (row, entity) in zip(stored ?? [], entities) {
            guard let entity = try changed(entity, row, watch, session, change) else { continue }
            planned.append((row, entity))
        }
        var batch: UniqueBatch? = UniqueBatch(isList: true)
        for (_, entity) in planned { try entity.join(&batch, in: context, options: .replace, isFinal: false) }
        guard let batch else { return 0 }
        var count = 0
        try session.saving(batch, mayChange: true) {
            for (row, entity) in planned {
                var entity = entity
                if watch.takeChange(of: row) {
                    guard let now = try session.entity(at: row, Entity.self),
                        let again = try changed(now, row, watch, session, change)
                    else { continue }
                    entity = again
                }
                try entity.willSave(to: &context)
                try entity.store(in: &context, options: .replace)
                count += 1
            }
        }
        return count
    }

    /// Returns the changed entity of a row, or nil if it is gone. Reads the row anew if it was written meanwhile.
    private func changed(
        _ entity: Entity, _ row: RowID, _ watch: RowWatch, _ session: TypedTransaction,
        _ change: (inout Entity) throws -> Void
    ) throws -> Entity? {
        var entity = entity
        if watch.takeChange(of: row) {
            guard let now = try session.entity(at: row, Entity.self) else { return nil }
            entity = now
        }
        let id = entity.id
        try change(&entity)
        guard entity.id == id else { throw HornbeamError.identityChanged(of: id, to: entity) }
        return entity
    }

    private func unique(_ rows: [RowID]) -> [RowID] {
        if case .all = source { return rows }
        var seen: Set<RowID> = []
        return rows.filter { seen.insert($0).inserted }
    }
}

extension Query {
    /// Deletes the entity that the query finds. Returns whether there was one.
    @discardableResult
    public func delete(from context: inout Context) throws -> Bool { try list.delete(from: &context) > 0 }

    /// Changes and saves the entity that the query finds. Returns whether there was one. See `QueryList.update`.
    @discardableResult
    public func update(in context: inout Context, _ change: (inout Entity) throws -> Void) throws -> Bool {
        try list.update(in: &context, change) > 0
    }
}

extension HornbeamError {
    package static func identityChanged<Entity: EntityModelProtocol>(of id: Entity.ID, to entity: Entity)
        -> HornbeamError
    {
        HornbeamError(
            .identityChanged,
            "\(Entity.entityName) \(id) can't be updated: its id was changed to \(entity.id); save an entity "
                + "with another id by itself")
    }
}

extension TypedTransaction {
    /// Runs `body` with a watch over the rows of a type.
    func watching<Entity: EntityModelProtocol, Result>(
        _: Entity.Type, _ body: (RowWatch) throws -> Result
    ) throws -> Result {
        let core = try self.core
        let watch = RowWatch(try store(Entity.self).type.rows, within: core.watch)
        core.watch = watch
        defer { core.watch = watch.outer }
        return try body(watch)
    }
}
