// SPDX-License-Identifier: Apache-2.0
// The beginning of live queries: at the database.

extension Database {
    /// The result of a query, now and after each commit that changes it.
    ///
    /// The cost of an element depends on the query. For a query without a limit, unsorted or sorted by properties or
    /// numbers of related entities, only rows are read that changed, or that have to do with changed links or related
    /// entities. Then the array is made, in O(n). That holds for conditions on properties, stored or computed
    /// (`User.filter(\.age > 18)`), and on related entities, for the entities of one entity's relation
    /// (`Chat.query(1).related(\.$messages)`), and with nested ones. With a limit the query is asked again, if such a
    /// row can have touched the part that the limit leaves. All others (by relevance, along the relations of several
    /// entities) are asked again when something changed that they read.
    ///
    /// Only commits made through this `Database` count, not those of other processes.
    public func observe<Entity>(_ query: QueryList<Entity>) -> LiveQuery<LiveList<Entity>> {
        LiveQuery(self) { ListResult(query) }
    }

    /// The changes of a query's result alone. Without a limit the cost of an element depends on the number of changes,
    /// however long the list is, except for the queries that are asked again (see `observe`). It keeps 40 bytes for
    /// each of the list's rows, and the key it is sorted by, and twice that if relations are involved.
    public func changes<Entity>(of query: QueryList<Entity>) -> LiveQuery<LiveChanges<Entity>> {
        LiveQuery(self) { ChangesResult(query) }
    }

    /// One entity, now and after each commit that changes it. When it goes, one element says so, with its last value.
    public func observe<Entity>(_ query: Query<Entity>) -> LiveQuery<LiveEntity<Entity>> {
        LiveQuery(self) { EntityResult(query) }
    }

    /// The number of entities that a query finds, now and whenever it changes. For a query on properties alone only the
    /// number is kept, and changed rows are read. With conditions on related entities the query's rows are kept.
    public func observeCount<Entity>(_ query: QueryList<Entity>) -> LiveQuery<Int> {
        LiveQuery(self) { CountResult(query) }
    }

    /// A list of lists, now and after each commit that changes one of them. Only the sections in which an entity or a
    /// link changed are read anew, if the list of their owners is one that is followed without being asked again.
    public func observe<Entity>(_ query: QueryGroup<Entity>) -> LiveQuery<LiveGroup<Entity>> {
        LiveQuery(self) { GroupResult(query) }
    }
}
