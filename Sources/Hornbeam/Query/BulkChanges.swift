// SPDX-License-Identifier: Apache-2.0
// Deleting and changing all that a query finds. What it finds is settled before anything is changed, so that a
// condition on relations, which each deletion may change, isn't asked of what the deletions before have left.

extension QueryList {
    /// Deletes the entities that the query finds, in its order, and by their delete rules those related to them: hooks,
    /// observers and what is left behind (`Deleted`) as for single deletions. All of it or, if something throws,
    /// nothing; the write can go on either way. Needs memory for one entity at a time and eight bytes for each that
    /// was found.
    ///
    /// It is one deletion: a relation with the rule `deny` (`.deleteDenied`) denies nothing where it leads to what is
    /// deleted with it. Where there are such relations, all that goes is looked through, and held by its row, first.
    ///
    /// - Returns: how many entities the query found, each counted once; those deleted by rules are not among them.
    @discardableResult
    public func delete(from context: inout Context) throws -> Int { try delete(from: &context, leavingNothing: false) }

    /// - Parameter leavingNothing: whether no `Deleted` is to be left of those found.
    func delete(from context: inout Context, leavingNothing: Bool) throws -> Int {
        try context.transaction { context in
            let rows = try context.session.run { unique(try self.rows($0)) }
            try Entity.delete(rows, in: &context, leavingNothing: leavingNothing)
            return rows.count
        }
    }

    /// Changes the entities that the query finds, in its order, and saves them in place of what was stored: hooks,
    /// indexes and observers as for single saves. All of them or, if something throws, none; the write can go on
    /// either way. Relations are as after reading: what isn't set in them stays as it is.
    ///
    /// Reads and saves a thousand at a time; of an entity type with unique indexes all at once, because keys may change
    /// hands: what counts is which they have in the end. `.identityChanged` if `change` gives an entity
    /// another id.
    ///
    /// - Returns: how many entities the query found, each counted once.
    @discardableResult
    public func update(in context: inout Context, _ change: (inout Entity) throws -> Void) throws -> Int {
        try context.transaction { context in
            let rows = try context.session.run { unique(try self.rows($0)) }
            let size = Entity.entityShape.hasResolvers ? Swift.max(1, rows.count) : 1_000
            var count = 0
            for start in stride(from: 0, to: rows.count, by: size) {
                let part = Array(rows[start..<Swift.min(start + size, rows.count)])
                var none: [RowID]?
                var entities: [Entity] = try context.session.run { try $0.entities(at: part, stored: &none) }
                for place in entities.indices {
                    let id = entities[place].id
                    try change(&entities[place])
                    guard entities[place].id == id else {
                        throw HornbeamError.identityChanged(of: id, to: entities[place])
                    }
                }
                try context.saveAll(entities, options: .replace)
                count += entities.count
            }
            return count
        }
    }

    private func unique(_ rows: [RowID]) -> [RowID] {
        if case .all = source { return rows }
        var seen: Set<RowID> = []
        return rows.filter { seen.insert($0).inserted }
    }
}

extension Query {
    /// Deletes the entity that the query finds, as its own `delete` does; whether there was one.
    @discardableResult
    public func delete(from context: inout Context) throws -> Bool { try list.delete(from: &context) > 0 }

    /// Changes and saves the entity that the query finds; whether there was one. See `QueryList.update`.
    @discardableResult
    public func update(in context: inout Context, _ change: (inout Entity) throws -> Void) throws -> Bool {
        try list.update(in: &context, change) > 0
    }
}

extension HornbeamError {
    static func identityChanged<Entity: EntityModelProtocol>(of id: Entity.ID, to entity: Entity) -> HornbeamError {
        HornbeamError(
            .identityChanged,
            "\(Entity.entityName) \(id) can't be updated: its id was changed to \(entity.id); save what shall have "
                + "another id as an entity of its own")
    }
}
