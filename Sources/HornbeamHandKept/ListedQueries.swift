// SPDX-License-Identifier: Apache-2.0
// Queries for the entities in hand-kept indexes: they can be filtered, sorted, paged and observed like all others.
// ListedRows answers them.

extension EntityModelProtocol {
    /// Returns a query for the entities of a list, in its order. An entity that is listed twice comes twice.
    public static func query(in index: OrderedIDIndex<Self>) -> QueryList<Self> {
        QueryList(list: index.name) { session in try index.content(in: Context(session)).rowList }
    }

    /// Returns a query for the entities of a group, in the order of its list.
    public static func query<Key: IndexKey>(
        in index: GroupByKeyIndex<Key, Self>, group: Key
    ) -> QueryList<Self> {
        QueryList(list: index.name) { session in try index.content(in: Context(session))[group].rowList }
    }

    /// Returns a query for the entities of a group, in the order of its list.
    public static func query<Group: EntityModelProtocol>(
        in index: GroupByEntityIndex<Group, Self>, group: Group.ID
    ) -> QueryList<Self> {
        QueryList(list: index.name) { session in try index.content(in: Context(session))[group].rowList }
    }

    /// Returns a query for the entity that a key leads to, if there is one.
    public static func query<Key: IndexKey>(in index: HashIDIndex<Key, Self>, key: Key) -> QueryList<Self> {
        QueryList(listed: index.name) { session in
            try index.content(in: Context(session)).row(key).map { [$0] } ?? []
        }
    }

    /// Returns a query for the entities of a set, in the order of their rows.
    public static func query(in index: SetIndex<Self>) -> QueryList<Self> {
        QueryList(list: index.name) { session in try index.content(in: Context(session)).rowList }
    }
}

extension Context {
    /// Returns the entities of a list, in its order.
    public func find<Entity>(in index: OrderedIDIndex<Entity>) throws -> [Entity] { try self[index].entities() }

    /// Returns the entities of a set, in the order of their rows.
    public func find<Entity>(in index: SetIndex<Entity>) throws -> [Entity] { try self[index].entities() }
}
