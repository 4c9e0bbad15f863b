// SPDX-License-Identifier: Apache-2.0
// Nested queries: steps that load relations into entities that were just read. Each step handles all entities of its
// level at once and reads each related entity once, however many entities share it.

/// A level of relations to load: `with(.entities, .ids)` loads entities, and the ids of their relations.
public enum Nested: Hashable, Sendable {
    /// Loads the ids of the related entities.
    case ids
    /// Loads the related entities, or only those that meet a condition. If `schemaQuery` is true, all entities of the
    /// type are loaded, linked or not.
    case entities(MetadataPredicate?, schemaQuery: Bool)
    /// Like `entities`, but marked as incomplete: saving them merges.
    case fragments(MetadataPredicate?, schemaQuery: Bool)

    /// Loads the related entities.
    public static var entities: Nested { .entities(nil, schemaQuery: false) }
    /// Loads the related entities, marked as incomplete: saving them merges.
    public static var fragments: Nested { .fragments(nil, schemaQuery: false) }
    /// Loads all entities of a to-many relation's type, linked or not, in the order of their last saves. A to-one
    /// relation gets none.
    public static var schemaEntities: Nested { .entities(nil, schemaQuery: true) }
    /// Like `schemaEntities`, but with the entities marked as incomplete.
    public static var schemaFragments: Nested { .fragments(nil, schemaQuery: true) }

    /// Loads the related entities that meet a condition.
    public static func entities(filter: MetadataPredicate) -> Nested { .entities(filter, schemaQuery: false) }
    /// Loads the related entities that meet a condition, marked as incomplete.
    public static func fragments(filter: MetadataPredicate) -> Nested { .fragments(filter, schemaQuery: false) }
    /// Loads all entities of a to-many relation's type that meet a condition, linked or not.
    public static func schemaEntities(filter: MetadataPredicate) -> Nested { .entities(filter, schemaQuery: true) }
    /// Loads all entities of a to-many relation's type that meet a condition, linked or not, marked as incomplete.
    public static func schemaFragments(filter: MetadataPredicate) -> Nested { .fragments(filter, schemaQuery: true) }

    /// Returns the step that loads a relation as this level, with `below` for the levels below it.
    func step<Entity, Target, D, C, K>(
        _ path: RelationPath<Entity, Target, D, C, K>, _ below: [Nested]
    ) -> NestedStep<Entity> {
        switch self {
        case .ids: NestedStep(ids: path, isSlice: false)
        case .entities(let filter, let isSchema): step(path, below, filter, isSchema, isFragment: false)
        case .fragments(let filter, let isSchema): step(path, below, filter, isSchema, isFragment: true)
        }
    }

    private func step<Entity, Target, D, C, K>(
        _ path: RelationPath<Entity, Target, D, C, K>, _ below: [Nested], _ filter: MetadataPredicate?,
        _ isSchema: Bool, isFragment: Bool
    ) -> NestedStep<Entity> {
        var query = isSchema ? C.schemaQuery(Target.self) : QueryList<Target>()
        if let filter { query = query.filter(filter.predicate(for: Target.self)) }
        return NestedStep(entities: path, query.with(below), isSlice: false, isFragment: isFragment)
    }
}

extension CardinalityProtocol {
    fileprivate static func schemaQuery<Target>(_: Target.Type) -> QueryList<Target> {
        isToMany ? QueryList().schemaQuery() : QueryList().limit(0)
    }
}

extension QueryList {
    /// Returns all entities of the type in the order of their last saves, regardless of earlier selections. Nested in
    /// `with(\.$relation) { $0.schemaQuery() }`, it returns them whether they are linked or not.
    public func schemaQuery() -> Self {
        var list = Self(context: context).sorted(by: .updatedAt)
        list.nested = nested
        list.parts.ignoresLinks = true
        return list
    }
}

extension Query {
    /// Loads nothing: all entities of a type don't fit a query for one.
    public func schemaQuery() -> Self { Self(list.limit(0)) }
}

extension EntityModelProtocol {
    /// All entities of the type in the order of their last saves.
    public static func schemaQuery() -> QueryList<Self> { QueryList().schemaQuery() }
}

/// The steps of one level. A class, so that generic code needs no look-up of their type for a list without steps.
final class NestedSteps<Entity: EntityModelProtocol>: Sendable {
    let steps: [NestedStep<Entity>]

    init(_ steps: [NestedStep<Entity>]) {
        self.steps = steps
    }
}

/// Loads one relation into the entities of a level.
struct NestedStep<Entity: EntityModelProtocol>: Sendable {
    /// Loads the relation into entities. Their row ids are in the order of the entities.
    let load: @Sendable (_ entities: inout [[Entity]], _ rows: [RowID], _ session: TypedTransaction) throws -> Void
    /// Returns the relations that the step reads, or nil if they aren't known before.
    let dependency: @Sendable () -> LinkDependency?

    /// Loads only ids, including those of entities that aren't stored.
    init<Target, D, C, K>(ids path: RelationPath<Entity, Target, D, C, K>, isSlice: Bool) {
        load = { entities, rows, session in
            let number = try Entity.entityShape.relationNumber(path.keyPath)
            let side = try session.side(number, of: Entity.self)
            let links = try session.core.edges.links(side, ofEach: rows)
            let found = try session.ids(of: links, isToMany: C.isToMany, Target.self)
            Entity.setRelation(LoadedRelation(number, ids: found, isSlice: isSlice), of: &entities)
        }
        dependency = {
            path.name.map { .along(relation: $0, RowDependency(rows: .none, links: [])) }
        }
    }

    /// Loads the entities that `query` selects, in its order and with the relations that it loads.
    init<Target, D, C, K>(
        entities path: RelationPath<Entity, Target, D, C, K>, _ query: QueryList<Target>, isSlice: Bool,
        isFragment: Bool
    ) {
        // Saving a part of a list must not remove the links to the rest.
        let isPart = C.isToMany && (isSlice || query.parts.leavesOut)
        load = { entities, rows, session in
            let number = try Entity.entityShape.relationNumber(path.keyPath)
            let relation = Entity.entityShape.relations[number]
            var query = query
            let (edges, side) = (try session.core.edges, try session.side(relation))
            let links = try query.takeLimit(of: rows, side, session) ?? edges.links(side, ofEach: rows)
            // No entity is linked to another twice.
            let hasOneSource = try edges.inverse(of: side).map { !$0.isToMany } ?? false
            let isUnshared = rows.count == 1 || hasOneSource && !rows.hasRepeats
            let found = try query.lists(ofEach: links, isUnshared: isUnshared, isToMany: C.isToMany, session)
            let lacking = C.isToMany && !isPart ? found.lacking(links) : nil
            Entity.setRelation(
                LoadedRelation(number, entities: found, isSlice: isPart, lacking: lacking, isFragment: isFragment),
                of: &entities)
        }
        dependency = {
            guard let name = path.name, let target = query.parts.dependencyOfLinked else { return nil }
            return .along(relation: name, target)
        }
    }
}
