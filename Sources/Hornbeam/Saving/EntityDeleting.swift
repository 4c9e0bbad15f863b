// SPDX-License-Identifier: Apache-2.0
// Deleting has these steps: check rules that deny it; make the `Deleted`; call `willDelete`; remove the row with its
// index entries and links; delete the entities of cascading relations, in order of declaration; store the `Deleted`;
// call `didDelete`. The row is removed before the cascade, so that relations in a circle don't cascade for ever.

extension EntityModelProtocol {
    /// Deletes the entity and, by its delete rules, related entities. If it isn't stored, its hooks still run, and
    /// links from and to its id are removed, but delete rules don't apply.
    ///
    /// The stored entity is kept as a `Deleted` of its type, unless `asDeleted` returns nil. If a hook of a related
    /// entity throws, nothing is deleted, and the write can go on. Changes of this entity's `willDelete` are undone
    /// too, unless the entity had nothing to cascade to before that hook.
    ///
    /// Throws `.deleteDenied`, with nothing changed, if a relation with the rule `deny` still leads to stored entities.
    /// It may be a relation of this entity, or of one that would be deleted with it.
    public func delete(from context: inout Context) throws {
        let row = try context.session.run { session in
            try session.storedRow(of: id.columnValue, Self.self)
        }
        try Deletion(self, at: row).runWhole(in: &context)
    }

    /// Deletes the stored entity with this id. Has no effect, and runs no hooks, if there is none. An entity that can't
    /// be read (`.undecodable`) is deleted too, and its delete rules apply, but its hooks don't run and it leaves no
    /// `Deleted`.
    public static func delete(id: ID, from context: inout Context) throws {
        guard let row = try context.session.run({ try $0.store(Self.self).rowID(ofAny: id.columnValue) }),
            let deletion = try deletion(of: row, in: context)
        else { return }
        try deletion.runWhole(in: &context)
    }

    /// Returns the step that deletes the entity of a row, or nil if none is stored there.
    static func deletion(of row: RowID, in context: Context) throws -> DeletionStep? {
        // Written without an optional entity, whose type would be looked up each time.
        try context.session.run { session in
            guard let reader = try session.store(Self.self).row(row) else { return nil }
            do throws(HornbeamError) {
                return Deletion(try Self(row: reader), at: row)
            } catch {
                guard error.code == .undecodable, let id = try session.store(Self.self).id(of: row) else { throw error }
                return UnreadDeletion<Self>(id, at: row)
            }
        }
    }
}

// MARK: - Relations

extension EntityModelProtocol {
    /// Removes the links of a relation. The entities stay.
    public func detach<Target, C, K>(
        _ keyPath: WritableKeyPath<Self, OneWayRelation<Target, C, K>>, in context: inout Context
    ) throws {
        try detach(keyPath, only: nil, in: context)
    }

    /// Removes the links of a mutual relation. The entities stay. Throws `.invalid` if `inverse` isn't its other side.
    public func detach<Target, C, K, InverseC, InverseK>(
        _ keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>,
        inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>, in context: inout Context
    ) throws {
        try Self.requireInverse(inverse, of: keyPath)
        try detach(keyPath, only: nil, in: context)
    }

    /// Removes the links to these entities. The entities stay.
    public func detach<Target, C, K>(
        _ ids: Target.ID..., relation keyPath: WritableKeyPath<Self, OneWayRelation<Target, C, K>>,
        in context: inout Context
    ) throws {
        try detach(keyPath, only: ids, in: context)
    }

    public func detach<Target, C, K, InverseC, InverseK>(
        _ ids: Target.ID..., relation keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>,
        inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>, in context: inout Context
    ) throws {
        try Self.requireInverse(inverse, of: keyPath)
        try detach(keyPath, only: ids, in: context)
    }

    /// Removes the links to these entities. The entities stay.
    public func detach<Target, C, K>(
        _ ids: [Target.ID], relation keyPath: WritableKeyPath<Self, OneWayRelation<Target, C, K>>,
        in context: inout Context
    ) throws {
        try detach(keyPath, only: ids, in: context)
    }

    public func detach<Target, C, K, InverseC, InverseK>(
        _ ids: [Target.ID], relation keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>,
        inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>, in context: inout Context
    ) throws {
        try Self.requireInverse(inverse, of: keyPath)
        try detach(keyPath, only: ids, in: context)
    }

    /// Deletes the entities of a relation and their links, as one deletion. If something throws, nothing is deleted.
    public func delete<Target, C, K>(
        _ keyPath: WritableKeyPath<Self, OneWayRelation<Target, C, K>>, from context: inout Context
    ) throws {
        try delete(keyPath, only: nil, from: &context)
    }

    /// Deletes the entities of a mutual relation and their links, as one deletion. Throws `.invalid` if `inverse` isn't
    /// its other side. If something throws, nothing is deleted.
    public func delete<Target, C, K, InverseC, InverseK>(
        _ keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>,
        inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>, from context: inout Context
    ) throws {
        try Self.requireInverse(inverse, of: keyPath)
        try delete(keyPath, only: nil, from: &context)
    }

    /// Deletes the linked entities among these, as one deletion. The cost depends on the number of these ids, not on
    /// the number of entities in the relation.
    public func delete<Target, C, K>(
        _ ids: Target.ID..., relation keyPath: WritableKeyPath<Self, OneWayRelation<Target, C, K>>,
        from context: inout Context
    ) throws {
        try delete(keyPath, only: ids, from: &context)
    }

    public func delete<Target, C, K, InverseC, InverseK>(
        _ ids: Target.ID..., relation keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>,
        inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>, from context: inout Context
    ) throws {
        try Self.requireInverse(inverse, of: keyPath)
        try delete(keyPath, only: ids, from: &context)
    }

    /// Deletes the linked entities among these, as one deletion.
    public func delete<Target, C, K>(
        _ ids: [Target.ID], relation keyPath: WritableKeyPath<Self, OneWayRelation<Target, C, K>>,
        from context: inout Context
    ) throws {
        try delete(keyPath, only: ids, from: &context)
    }

    public func delete<Target, C, K, InverseC, InverseK>(
        _ ids: [Target.ID], relation keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>,
        inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>, from context: inout Context
    ) throws {
        try Self.requireInverse(inverse, of: keyPath)
        try delete(keyPath, only: ids, from: &context)
    }

    /// Throws `.invalid` if the relation has another inverse than `inverse`. An inverse of another type doesn't
    /// compile.
    static func requireInverse<Target, C, K, InverseC, InverseK>(
        _ inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>,
        of keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>
    ) throws {
        let relation = try entityShape.relation(keyPath).description
        let name = try Target.entityShape.relation(inverse).description.name
        guard relation.inverse != name else { return }
        throw HornbeamError(
            .invalid,
            "the inverse of \(entityName).\(relation.name) is \(Target.entityName).\(relation.inverse ?? "?"), not "
                + "\(name): name that one")
    }

    private func detach<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Self, Relation<Target, D, C, K>>, only ids: [Target.ID]?, in context: Context
    ) throws {
        let relation = try Self.entityShape.relation(keyPath)
        try context.session.run { session in
            guard let row = try session.store(Self.self).rowID(ofAny: id.columnValue) else { return }
            let targets = try session.store(Target.self)
            let (core, side) = (try session.core, try session.side(relation))
            try core.changeLinks(of: side) {
                guard let ids else { return try core.edges.set(side, row, []) }
                for target in try ids.compactMap({ try targets.rowID(ofAny: $0.columnValue) }) {
                    try core.edges.remove(side, row, target)
                }
            }
        }
    }

    private func delete<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Self, Relation<Target, D, C, K>>, only ids: [Target.ID]?,
        from context: inout Context
    ) throws {
        let relation = try Self.entityShape.relation(keyPath)
        try context.transaction { context in
            let rows = try context.session.run { session -> [RowID] in
                guard let row = try session.store(Self.self).rowID(ofAny: id.columnValue) else { return [] }
                guard let ids else { return try session.core.edges.targets(session.side(relation), of: row) }
                return try session.linked(ids, Target.self, of: row, relation)
            }
            try Target.delete(rows, in: &context)
            // Links to entities that weren't stored still exist and are removed here. Links that hooks have added
            // meanwhile stay.
            try context.session.run { session in
                guard let row = try session.store(Self.self).rowID(ofAny: id.columnValue) else { return }
                let (core, side) = (try session.core, try session.side(relation))
                let targets = try session.store(Target.self)
                try core.changeLinks(of: side) {
                    for target in rows where try !targets.isSaved(target) { try core.edges.remove(side, row, target) }
                }
            }
        }
    }
}
