// SPDX-License-Identifier: Apache-2.0
// The functions of a database that begin live queries.

extension Database {
    /// Observes the result of a query. The sequence has the present result, and a new one after each commit that
    /// changes it.
    ///
    /// The cost of an element depends on the query. A query without a limit that is unsorted, or sorted by properties
    /// or numbers of related entities, reads only rows that changed, or whose links or related entities changed, and
    /// then makes the array in O(n). This includes conditions on properties, stored or computed
    /// (`User.filter(\.age > 18)`), and on related entities, the entities of one entity's relation
    /// (`Chat.query(1).related(\.$messages)`), and nested entities. A query with a limit is run again if such a row may
    /// be within the limit. Other queries (by relevance, along the relations of several entities) are run again when
    /// something changes that they read.
    ///
    /// Only commits made through this `Database` count, not those of other processes.
    public func observe<Entity>(_ query: QueryList<Entity>) -> LiveQuery<LiveList<Entity>> {
        LiveQuery(self) { ListResult(query) }
    }

    /// Observes only the changes of a query's result. Without a limit the cost of an element depends on the number of
    /// changes, not on the length of the list, except for queries that are run again (see `observe`). It keeps 40 bytes
    /// and the sort key of each row in the list, and twice that if relations are involved.
    public func changes<Entity>(of query: QueryList<Entity>) -> LiveQuery<LiveChanges<Entity>> {
        LiveQuery(self) { ChangesResult(query) }
    }

    /// Observes one entity. The sequence has its present state, and a new one after each commit that changes it. If the
    /// entity is deleted, an element has its last value and `isLive` false.
    public func observe<Entity>(_ query: Query<Entity>) -> LiveQuery<LiveEntity<Entity>> {
        LiveQuery(self) { EntityResult(query) }
    }

    /// Observes the number of entities that a query finds. The sequence has the present number, and a new one after
    /// each commit that changes it. For conditions only on properties, it keeps only the number and reads changed rows.
    /// With conditions on related entities it keeps the query's rows.
    public func observeCount<Entity>(_ query: QueryList<Entity>) -> LiveQuery<Int> {
        LiveQuery(self) { CountResult(query) }
    }

    /// Observes a list of lists. The sequence has the present lists, and new ones after each commit that changes one.
    /// Only sections with a changed entity or link are read again, unless the list of their owners must be run again.
    public func observe<Entity>(_ query: QueryGroup<Entity>) -> LiveQuery<LiveGroup<Entity>> {
        LiveQuery(self) { GroupResult(query) }
    }
}
