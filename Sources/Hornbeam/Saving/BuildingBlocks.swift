// SPDX-License-Identifier: Apache-2.0
// Parts of a save: one relation, the time of the last save.

public import FoundationEssentials

// MARK: - One relation

extension EntityModelProtocol {
    /// Saves one relation of this value: its links and the entities in it. Nothing else of the value is saved, and it
    /// need not be stored. If something throws, nothing is saved.
    public func save<Target, C, K>(
        _ keyPath: WritableKeyPath<Self, OneWayRelation<Target, C, K>>, to context: inout Context
    ) throws {
        try saveRelation(keyPath, to: &context)
    }

    /// Saves one mutual relation of this value. Throws `.invalid` if `inverse` isn't its other side.
    public func save<Target, C, K, InverseC, InverseK>(
        _ keyPath: WritableKeyPath<Self, MutualRelation<Target, C, K>>,
        inverse: WritableKeyPath<Target, MutualRelation<Self, InverseC, InverseK>>, to context: inout Context
    ) throws {
        try Self.requireInverse(inverse, of: keyPath)
        try saveRelation(keyPath, to: &context)
    }

    private func saveRelation<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Self, Relation<Target, D, C, K>>, to context: inout Context
    ) throws {
        let shape = Self.entityShape
        let name = try shape.relation(keyPath).description.name
        guard let number = shape.relations.firstIndex(where: { $0.description.name == name }) else { return }
        let session = context.session
        try session.descend("saved", of: "the relation “\(name)” of \(Self.entityName) \(id)")
        defer { session.running.depth -= 1 }
        let relation = self[keyPath: keyPath]
        try context.transaction { context in
            // An unset relation saves nothing, and doesn't even assign a row id.
            if case .none = relation.content { return }
            // The keys of nested entities are checked together, as in the save of a whole entity.
            var check = RelationSaver<Self>(checking: context, batch: nil)
            if session.mayHaveUniqueKeys { try session.run { _ in try check.save(relation, relation: number) } }
            guard let batch = check.batch else { return try saveAlone(relation, number, in: context) }
            try session.saving(batch) { try saveAlone(relation, number, in: context) }
        }
    }

    private func saveAlone<Target, D, C, K>(
        _ relation: Relation<Target, D, C, K>, _ number: Int, in context: Context
    ) throws {
        func row() throws -> RowID {
            try context.session.run { session in
                let store = try session.store(Self.self)
                let row = try store.ensureRowID(of: id.columnValue)
                // The relation may turn out to have no links.
                try store.noteUnlinked(row)
                return row
            }
        }
        var saver = RelationSaver<Self>(context: context, row: try row(), isByID: true)
        try saver.save(relation, relation: number)
        guard saver.isLost else { return }
        // Saving the entities in the relation has deleted this one, or released its row id.
        saver = RelationSaver(again: saver.renamed, context: context, row: try row(), isByID: true)
        try saver.save(relation, relation: number)
        if saver.isLost { throw Self.keepsGoing("a relation of \(Self.entityName) \(id)") }
    }
}

extension Relation {
    /// Saves the entities in this value, all of them or none, like `Context.saveAll`. Fragments are merged. Links don't
    /// change: they belong to the entity with the relation.
    public func save(_ context: inout Context) throws {
        guard let entities else { return }
        try context.saveAll(
            entities, options: isFragment ? Entity.fragmentMergeStrategy : Entity.defaultMergeStrategy)
    }
}

// MARK: - Touching

extension EntityModelProtocol {
    /// Marks the stored entity as changed without changing a property: for `updatedAt`, views, live queries and the
    /// changes that a write reports. Lists that show the entity show it anew; counts and aggregates don't change. No
    /// hook is called. Returns false if no entity is stored under the id.
    @discardableResult
    public static func touch(_ id: ID, in context: inout Context) throws -> Bool {
        try context.session.change("touched", of: "\(entityName) \(id)") { session in
            guard let entity = try session.entity(id, Self.self) else { return false }
            let row = try session.save(entity, time: .touched, isLinked: false)
            try session.store(Self.self).noteTouch(row)
            return true
        }
    }
}

// MARK: - The time of the last save

extension EntityModelProtocol {
    /// Removes the time of the last save from the stored entity.
    public func deleteMetadata(from context: inout Context) throws {
        try removeFromMetadata(.updatedAt, valueType: Date.self, in: &context)
    }

    /// Sets the time of the last save of the stored entity to `value`, for data that has its own times. Its properties
    /// don't change, and no hook is called. Has no effect if the entity isn't stored. Throws `.invalid` for other
    /// metadata than `.updatedAt`, and for a date that is NaN or infinite.
    public func updateMetadata(_ metadata: Metadata, value: Date, in context: inout Context) throws {
        try metadata.requireLastSave()
        try setLastSave(value, in: context)
    }

    /// Removes the time of the last save from the stored entity. Throws `.invalid` for other metadata than
    /// `.updatedAt`.
    public func removeFromMetadata(
        _ metadata: Metadata, valueType: Date.Type = Date.self, in context: inout Context
    ) throws {
        try metadata.requireLastSave()
        try setLastSave(nil, in: context)
    }

    private func setLastSave(_ date: Date?, in context: Context) throws {
        if let date, !date.timeIntervalSinceReferenceDate.isFinite {
            throw HornbeamError(
                .invalid,
                "the last save of \(Self.entityName) \(id) can't have been at \(date.columnValue.text), which is no "
                    + "date: give one, or remove it by deleteMetadata")
        }
        try context.session.change("changed", of: "the last save of \(Self.entityName) \(id)") {
            session in
            let store = try session.store(Self.self)
            guard let column = store.type.updatedAt,
                let row = try store.rowID(ofAny: id.columnValue),
                let stored = try session.entity(at: row, Self.self)
            else { return }
            var writer = store.makeRow()
            stored.write(to: &writer)
            if let date { writer.setDouble(date.timeIntervalSinceReferenceDate, column) }
            try store.save(try writer.finish(), row, time: .given)
        }
    }
}

extension Metadata {
    /// Throws `.invalid` unless this is the time of the last save. A program can't change the other metadata, which
    /// record facts.
    fileprivate func requireLastSave() throws(HornbeamError) {
        guard column == Metadata.updatedAt.column else {
            throw HornbeamError(
                .invalid, "\(ColumnDescription.label(column)) is set by the store: only updatedAt can be given")
        }
    }
}
