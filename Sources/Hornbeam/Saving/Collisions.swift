// SPDX-License-Identifier: Apache-2.0
// Look-ups of the entities that hold the unique keys of another. They only read, and assign no row id.

import HornbeamPages

extension TypedTransaction {
    /// Returns other entities that hold a key of this one in an index that admits each key once.
    func collisions<Entity: EntityModelProtocol>(
        of entity: Entity
    ) throws -> [(index: IndexDescription, id: Entity.ID)] {
        let store = try store(Entity.self)
        guard store.type.description.indexes.contains(where: { $0.kind == .unique }) else { return [] }
        let row = try store.rowID(of: entity.id.columnValue) ?? .unassigned
        return try store.uniqueConflicts(try encode(entity), rowID: row).compactMap { conflict in
            try id(of: conflict.rowID, Entity.self).map { (conflict.index, $0) }
        }
    }

    /// Returns another entity with this one's key in an index whose resolver may let both keep it, or nil if there is
    /// none. If nils are distinct, a key with a nil has no other holder.
    func holder<Entity: EntityModelProtocol>(ofKeyOf entity: Entity, _ index: IndexDescription) throws -> Entity.ID? {
        let store = try store(Entity.self)
        let own = try store.rowID(of: entity.id.columnValue)
        let conditions: [Filter]? = try encode(entity).withBytes { bytes in
            let row = try RowReader(bytes, of: store.type)
            var conditions: [Filter] = []
            for component in index.components {
                let column = try store.type.column(component.column)
                let value = try row.value(column)
                if value == .null, index.nilsDistinct { return nil }
                let type = store.type.description
                if let collation = try index.collation(of: type.columns[column].type) {
                    let place = try ComputedComponent(column: column, of: type, by: collation)
                    let key = try place.value(row)
                    conditions.append(.computed(ComputedTest(place, .equal, key, label: "\(place.label) == …")))
                    continue
                }
                conditions.append(value == .null ? .isNull(column: column) : .compare(column: column, .equal, value))
            }
            return conditions
        }
        guard let conditions else { return nil }
        // The entity itself may be one of two.
        let query = EntityQuery(type: Entity.entityName, filter: .and(conditions), limit: 2)
        guard let holder = try core(for: Entity.self).rowIDs(query).first(where: { $0 != own }) else { return nil }
        return try id(of: holder, Entity.self)
    }
}

extension RowID {
    /// Stands for an entity that has no row yet. It is never assigned: row ids count up from 2^40.
    static let unassigned = RowID(rawValue: .max)
}
