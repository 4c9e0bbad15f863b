// SPDX-License-Identifier: Apache-2.0
// The changes of a transaction or a commit by Swift types.

extension StoreChanges {
    /// Returns whether the changes include all changed entities of the type. If not, there were too many to keep: read
    /// the entities anew.
    public func isComplete<Entity: EntityModelProtocol>(for _: Entity.Type) -> Bool {
        !unknown.contains(Entity.entityName)
    }

    /// The ids of inserted entities, in the order of row ids.
    public func inserted<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.inserted)
    }

    /// The ids of entities whose stored properties changed or that were touched, in the order of row ids. A changed
    /// link is no update.
    public func updated<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.updated)
    }

    /// The ids of deleted entities, in the order of row ids.
    public func deleted<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.deleted)
    }

    private func ids<ID: ColumnValue>(_ values: [Value]?) -> [ID] {
        (values ?? []).compactMap { ID(columnValue: $0) }
    }

    /// The entities that a transaction has inserted or updated so far, in the order in which each was saved last.
    package func saved<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.saved)
    }

    /// Finds the changes of one type between the states of two reads.
    init<Entity: EntityModelProtocol>(of _: Entity.Type, from old: TypedTransaction, to new: TypedTransaction) throws {
        self.init()
        try add(try new.store(Entity.self)) { body in
            try new.forEachChangedRow(of: Entity.self, since: old, body)
            return true
        }
    }
}

/// The changes of one entity type.
public struct EntityChanges<Entity: EntityModelProtocol>: Sendable {
    private enum Kind { case inserted, updated, deleted }

    /// The ids of inserted entities, in the order of row ids.
    public let inserted: [Entity.ID]
    /// The ids of entities whose stored properties changed or that were touched, in the order of row ids.
    public let updated: [Entity.ID]
    /// The ids of deleted entities, in the order of row ids.
    public let deleted: [Entity.ID]
    private let kinds: [Entity.ID: Kind]

    fileprivate init(_ changes: StoreChanges) {
        inserted = changes.inserted(Entity.self)
        updated = changes.updated(Entity.self)
        deleted = changes.deleted(Entity.self)
        var kinds: [Entity.ID: Kind] = [:]
        for (ids, kind) in [(inserted, Kind.inserted), (updated, .updated), (deleted, .deleted)] {
            for id in ids { kinds[id] = kind }
        }
        self.kinds = kinds
    }

    /// Whether no entity of the type was changed.
    public var isEmpty: Bool { kinds.isEmpty }
    /// Returns whether the entity was inserted. O(1).
    public func wasInserted(_ id: Entity.ID) -> Bool { kinds[id] == .inserted }
    /// Returns whether the entity was updated. O(1).
    public func wasUpdated(_ id: Entity.ID) -> Bool { kinds[id] == .updated }
    /// Returns whether the entity was deleted. O(1).
    public func wasDeleted(_ id: Entity.ID) -> Bool { kinds[id] == .deleted }
    /// Returns whether the entity was inserted, updated or deleted.
    public func contains(_ id: Entity.ID) -> Bool { kinds[id] != nil }
}

extension StoreChanges {
    /// The changes of one entity type: `changes[Book.self].inserted`.
    public subscript<Entity: EntityModelProtocol>(_: Entity.Type) -> EntityChanges<Entity> { EntityChanges(self) }
}
