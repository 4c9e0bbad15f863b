// SPDX-License-Identifier: Apache-2.0
// Queries begin at the entity type. They get the context at the end (`resolve(in:)`) or at the beginning.

extension EntityModelProtocol {
    /// Returns a query for the entity with this id.
    public static func query(_ id: ID) -> Query<Self> { Query(id: id) }
    public static func query(_ id: ID, in context: Context) -> Query<Self> { Query(context: context, id: id) }

    /// Returns a query for the entities with these ids, in the order given.
    public static func query(_ ids: [ID]) -> QueryList<Self> { QueryList(context: nil, ids: ids) }
    public static func query(_ ids: [ID], in context: Context) -> QueryList<Self> {
        QueryList(context: context, ids: ids)
    }

    /// Returns a query for all entities of the type.
    public static func query() -> QueryList<Self> { QueryList() }
    public static func query(in context: Context) -> QueryList<Self> { QueryList(context: context) }

    /// Returns a query for all entities with their relations, one element of `nested` for each level.
    public static func queryAll(with nested: Nested...) -> QueryList<Self> { QueryList().with(nested) }
    public static func queryAll(with nested: Nested..., in context: Context) -> QueryList<Self> {
        QueryList(context: context).with(nested)
    }

    /// Returns a query for the entities that pass the condition: `Note.filter(\.age > 3)`.
    public static func filter(_ predicate: Predicate<Self>) -> QueryList<Self> { QueryList().filter(predicate) }
    public static func filter(_ predicate: Predicate<Self>, in context: Context) -> QueryList<Self> {
        QueryList(context: context).filter(predicate)
    }

    /// Returns a query for the stored entity with this one's id.
    public func query() -> Query<Self> { Query(id: id) }
    public func query(in context: Context) -> Query<Self> { Query(context: context, id: id) }
}
