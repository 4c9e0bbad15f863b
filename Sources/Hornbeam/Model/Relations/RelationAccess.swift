// SPDX-License-Identifier: Apache-2.0
// What is done with a relation by whoever doesn't know the related type: bulk queries, deleted entities, metadata.

import FoundationEssentials

/// A relation's key path behind closures. One object, so that a declared relation is no longer for it.
final class RelationAccess<Entity: EntityModelProtocol>: Sendable {
    /// The step that loads the relation as one level of `with(.entities, .ids)` says, with `below` for what lies below.
    let step: @Sendable (_ level: Nested, _ below: [Nested]) -> NestedStep<Entity>
    /// The ids in the value's relation; nil if it says nothing.
    let ids: @Sendable (Entity) -> [Value]?
    /// Puts ids into the value's relation.
    let link: @Sendable (_ entity: inout Entity, _ ids: [Value]) -> Void
    /// The related type. A closure, because types may be related in circles.
    let target: @Sendable () -> EntityDescription
    /// How the description of a key path to the related type's id goes on behind that type. Not always `.id`: Swift
    /// names the first property at the same offset, which may be an index's wrapper, of size zero.
    let idText: @Sendable () -> Substring?
    /// How ids of the related type are stored.
    let idType: ColumnType
    /// Makes ids in a to-many relation ones that are linked besides those that are linked already.
    let keepOthers: @Sendable (inout Entity) -> Void
    /// Has a value say about its relation what another one says.
    let copy: @Sendable (_ entity: inout Entity, _ other: Entity) -> Void
    /// The latest time at which an entity in the value's relation was saved.
    let latestUpdate: @Sendable (_ entity: Entity, _ levels: Int, _ session: TypedTransaction) throws -> Date?

    init<Target, D, C, K>(_ path: RelationPath<Entity, Target, D, C, K>) {
        step = { level, below in level.step(path, below) }
        ids = { entity in entity[keyPath: path.keyPath].linkedIds?.map(\.columnValue) }
        link = { entity, ids in
            // What was deleted when the relation led to many may have several: the first, as migrations keep it.
            let ids = C.isToMany ? ids : Array(ids.prefix(1))
            entity[keyPath: path.keyPath] = Relation(.ids(ids.compactMap { Target.ID(columnValue: $0) }))
        }
        target = { Target.entityShape.description }
        idText = {
            guard let id = Target.entityShape.properties.first?.keyPath else { return nil }
            let (text, beginning) = ("\(id)", "\\\(Target.self)")
            return text.hasPrefix(beginning) ? text.dropFirst(beginning.count) : nil
        }
        idType = Target.ID.columnType
        keepOthers = { entity in
            guard C.isToMany, case .ids(let ids) = entity[keyPath: path.keyPath].content else { return }
            entity[keyPath: path.keyPath] = Relation(.ids(ids), isSlice: true)
        }
        copy = { entity, other in entity[keyPath: path.keyPath] = other[keyPath: path.keyPath] }
        latestUpdate = { entity, levels, session in
            let relation = entity[keyPath: path.keyPath]
            let dates =
                if let entities = relation.entities {
                    try entities.map { try $0.latestUpdate(levels: levels, session) }
                } else {
                    try (relation.linkedIds ?? []).map { try session.updatedAt($0.columnValue, Target.self) }
                }
            return dates.compactMap { $0 }.max()
        }
    }
}
