// SPDX-License-Identifier: Apache-2.0
// Queries for one entity, which are lists of at most one, and queries for lists of lists.

/// A query for one entity: by id, the first of a list, or the target of a to-one relation.
public struct Query<Entity: EntityModelProtocol>: Sendable {
    var list: QueryList<Entity>

    init(_ list: QueryList<Entity>) {
        self.list = list
    }

    /// Makes a query for the entity with this id.
    public init(id: Entity.ID) {
        self.init(context: nil, ids: [id])
    }

    /// Makes a query for the entity with this id, which reads in this context.
    public init(context: Context, id: Entity.ID) {
        self.init(context: context, ids: [id])
    }

    init(context: Context?, ids: [Entity.ID]) {
        list = QueryList(context: context, ids: ids)
    }

    /// Returns the entity, or nil if the query finds none.
    public func resolve(in context: Context) throws -> Entity? {
        try list.resolve(in: context).first
    }

    /// Returns the entity, or nil if the query finds none. Throws `.invalid` unless the query began with a context.
    public func resolve() throws -> Entity? {
        try resolve(in: try list.boundContext())
    }

    /// Returns whether the query finds an entity.
    public func exists(in context: Context) throws -> Bool {
        try list.count(in: context) > 0
    }

    /// Finds the entity only if it passes the condition.
    public func filter(_ predicate: Predicate<Entity>) -> Self {
        Self(list.filter(predicate))
    }
}

extension QueryList {
    /// Makes a list of the entities that relations of other lists lead to. In a level of a nested query it has only
    /// those that are linked.
    /// - Parameter depth: the number of levels of lists within the others.
    init(
        context: Context?, within depth: Int,
        _ rows: @escaping @Sendable (TypedTransaction, NestedLevel?) throws -> [RowID]
    ) {
        let source = RowSource.steps { session, level in
            let found = try rows(session, level)
            return level?.linked(among: found, of: Entity.self) ?? found
        }
        parts = ListParts(source: source, context: context)
        parts.hold(depth)
    }

    /// The entities with these ids, in the order given.
    init(context: Context?, ids: [Entity.ID]) {
        let values = ids.map { $0.columnValue }
        let rows = { @Sendable (session: TypedTransaction) in
            let store = try session.store(Entity.self)
            return try values.compactMap { try store.rowID(ofAny: $0) }
        }
        parts = ListParts(
            source: .own(RowListSource(ids: values, rows)), singleID: values.count == 1 ? values[0] : nil,
            context: context)
    }
}

extension Collection where Self: Sendable {
    /// Returns the entities of many queries for one entity, in their order. Entities that aren't stored are left out.
    public func resolve<Entity>(in context: Context) throws -> [Entity] where Element == Query<Entity> {
        try compactMap { try $0.resolve(in: context) }
    }

    /// Returns the entities of many queries for one entity, read in the contexts that the queries began with.
    public func resolve<Entity>() throws -> [Entity] where Element == Query<Entity> {
        try compactMap { try $0.resolve() }
    }
}

/// A list of lists: the entities of a to-many relation for each of a list of entities.
public struct QueryGroup<Entity: EntityModelProtocol>: Sendable {
    let context: Context?
    /// Finds the lists, in a level of a nested query if there is one.
    let groups: @Sendable (TypedTransaction, NestedLevel?) throws -> [[RowID]]
    var members = QueryList<Entity>()
    /// The number of levels of lists within this one.
    var depth = 0
    /// The entities whose lists these are, in their order.
    var owners: (@Sendable (TypedTransaction) throws -> [RowID])?
    /// The groups as data, or nil if the relation isn't declared.
    var path: GroupPath?

    /// Returns the lists, in the order of their owners.
    public func resolve(in context: Context) throws -> [[Entity]] {
        try context.session.run { try members.load(eachOf: try groups($0, nil), $0) }
    }

    /// Returns the entities of all groups in one list, one group after the other.
    public func flatMap() -> QueryList<Entity> {
        let groups = groups
        var list = QueryList<Entity>(context: context, within: depth) { try groups($0, $1).flatMap { $0 } }
        list.nested = members.nested
        list.parts.hold(members.parts.depth)
        return list
    }

    /// Returns the targets of `transform` for all of these entities, in one list: `.flatMap { $0.related(\.$author) }`.
    public func flatMap<Target>(
        _ transform: @escaping @Sendable (Query<Entity>) -> Query<Target>
    ) -> QueryList<Target> {
        let groups = groups
        return QueryList<Target>(context: context, within: depth) { session, level in
            try groups(session, level).flatMap { group in
                try group.flatMap { row in
                    try session.id(of: row, Entity.self).map {
                        try transform(Query(id: $0)).list.rows(session, in: level)
                    } ?? []
                }
            }
        }
    }

    /// Returns the lists, in the order of their owners. Throws `.invalid` unless the query began with a context.
    public func resolve() throws -> [[Entity]] {
        guard let context else {
            throw HornbeamError(.invalid, "this query has no context: write resolve(in: context)")
        }
        return try resolve(in: context)
    }
}

/// The owners and the relation of a group's lists.
struct GroupPath: Sendable {
    let model: any EntityModelProtocol.Type
    let owners: ListParts
    let relation: String

    var type: String { model.entityName }
}

/// A hit of a full-text search.
public struct Ranked<Entity: EntityModelProtocol>: Sendable {
    /// The id of the entity that the search found.
    public let id: Entity.ID
    /// Greater is better.
    public let score: Double
    let row: RowID
    /// The row as it was found, if the query sorts equal scores by something else.
    let values: [UInt8]?
    private let search: RankedSearch

    // Inlined, so that generic code looks up the type's layout once for a list, not for each hit.
    @inline(__always)
    init(id: Entity.ID, score: Double, row: RowID, values: [UInt8]?, of search: RankedSearch) {
        (self.id, self.score, self.row, self.values, self.search) = (id, score, row, values, search)
    }

    var context: Context { search.context }
    /// The full-text match of the search.
    var match: TextMatch { search.match }

    /// The entity, read at each call, or nil if it is gone. Throws `.invalid` once the search's transaction has ended.
    public var entity: Entity? {
        get throws { try context.session.run { try $0.entity(at: row, Entity.self) } }
    }
}

/// The parts that all hits of a search share.
final class RankedSearch: Sendable {
    let context: Context
    let match: TextMatch

    init(_ match: TextMatch, in context: Context) { (self.match, self.context) = (match, context) }
}
