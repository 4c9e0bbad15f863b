// SPDX-License-Identifier: Apache-2.0
// Operations on a relation for code that doesn't know the related type: bulk queries, deleted entities, metadata.

import FoundationEssentials

/// A relation's key path behind closures. An object, so that a declared relation stays small.
final class RelationAccess<Entity: EntityModelProtocol>: Sendable {
    /// Returns the step that loads the relation as one level of `with(.entities, .ids)`, with `below` for the levels
    /// below.
    let step: @Sendable (_ level: Nested, _ below: [Nested]) -> NestedStep<Entity>
    /// Returns the ids in the value's relation, or nil if it is unset.
    let ids: @Sendable (Entity) -> [Value]?
    /// Puts ids into the value's relation.
    let link: @Sendable (_ entity: inout Entity, _ ids: [Value]) -> Void
    /// Returns the related type. A closure, because types may be related in circles.
    let target: @Sendable () -> EntityDescription
    /// Returns the text after the related type in the description of a key path to its id. It isn't always `.id`: Swift
    /// names the first property at this offset, which may be the wrapper of an index, whose size is zero.
    let idText: @Sendable () -> Substring?
    /// The column type of the related type's ids.
    let idType: ColumnType
    /// Turns the ids of a to-many relation into additions to the present links.
    let keepOthers: @Sendable (inout Entity) -> Void
    /// Copies the relation of another value to a value.
    let copy: @Sendable (_ entity: inout Entity, _ other: Entity) -> Void
    /// Returns the latest time at which an entity in the value's relation was saved.
    let latestUpdate: @Sendable (_ entity: Entity, _ levels: Int, _ session: TypedTransaction) throws -> Date?

    init<Target, D, C, K>(_ path: RelationPath<Entity, Target, D, C, K>) {
        step = { level, below in level.step(path, below) }
        ids = { entity in entity[keyPath: path.keyPath].linkedIds?.map(\.columnValue) }
        link = { entity, ids in
            // If the entity was deleted when the relation was to-many, there may be several ids. Migrations keep the
            // first, and so does this.
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
