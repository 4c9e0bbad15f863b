// SPDX-License-Identifier: Apache-2.0
// The beginning of queries: at the entity type, with the context at the end (`resolve(in:)`) or at the head.

extension EntityModelProtocol {
    public static func query(_ id: ID) -> Query<Self> { Query(id: id) }
    public static func query(_ id: ID, in context: Context) -> Query<Self> { Query(context: context, id: id) }

    /// A query for entities by their ids, in the order given.
    public static func query(_ ids: [ID]) -> QueryList<Self> { QueryList(context: nil, ids: ids) }
    public static func query(_ ids: [ID], in context: Context) -> QueryList<Self> {
        QueryList(context: context, ids: ids)
    }

    /// A query for all entities of the type.
    public static func query() -> QueryList<Self> { QueryList() }
    public static func query(in context: Context) -> QueryList<Self> { QueryList(context: context) }

    /// A query for all entities with their relations, one element of `nested` a level.
    public static func queryAll(with nested: Nested...) -> QueryList<Self> { QueryList().with(nested) }
    public static func queryAll(with nested: Nested..., in context: Context) -> QueryList<Self> {
        QueryList(context: context).with(nested)
    }

    public static func filter(_ predicate: Predicate<Self>) -> QueryList<Self> { QueryList().filter(predicate) }
    public static func filter(_ predicate: Predicate<Self>, in context: Context) -> QueryList<Self> {
        QueryList(context: context).filter(predicate)
    }

    /// A query for the stored entity with this one's id.
    public func query() -> Query<Self> { Query(id: id) }
    public func query(in context: Context) -> Query<Self> { Query(context: context, id: id) }
}
