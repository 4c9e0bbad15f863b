// SPDX-License-Identifier: Apache-2.0
// Where live queries begin: at the database.

extension Database {
    /// The result of a query, now and after each commit that changes it.
    ///
    /// What an element costs depends on the query. Of one without a limit, unsorted or sorted by properties or numbers
    /// of related entities, only rows are read that changed, or that have to do with links or related entities that
    /// did; then the array is made, in O(n). That holds for conditions on properties, stored or computed
    /// (`User.filter(\.age > 18)`), and on related entities, for the entities of one entity's relation
    /// (`Chat.query(1).related(\.$messages)`), and with nested ones. With a limit the query is asked again, if such a
    /// row can have touched what the limit leaves. All others (by relevance, along the relations of several entities)
    /// are asked again when something changed that they read.
    ///
    /// Only commits made through this `Database` count, not those of other processes.
    public func observe<Entity>(_ query: QueryList<Entity>) -> LiveQuery<LiveList<Entity>> {
        LiveQuery(self) { ListResult(query) }
    }

    /// The changes of a query's result alone: without a limit an element costs as much as has changed, however long the
    /// list is, but for the queries that are asked again (see `observe`). Kept are 40 bytes for each of its rows, and
    /// the key it is sorted by; twice that where relations are in play.
    public func changes<Entity>(of query: QueryList<Entity>) -> LiveQuery<LiveChanges<Entity>> {
        LiveQuery(self) { ChangesResult(query) }
    }

    /// One entity, now and after each commit that changes it. When it goes, one element says so, with its last value.
    public func observe<Entity>(_ query: Query<Entity>) -> LiveQuery<LiveEntity<Entity>> {
        LiveQuery(self) { EntityResult(query) }
    }

    /// How many entities a query has, now and whenever that is another number. Of a query that looks at properties
    /// alone nothing but the number is kept, and changed rows are read; with conditions on related entities, its rows.
    public func observeCount<Entity>(_ query: QueryList<Entity>) -> LiveQuery<Int> {
        LiveQuery(self) { CountResult(query) }
    }

    /// A list of lists, now and after each commit that changes one of them. Read anew are the sections in which an
    /// entity or a link changed, if the list whose relation they are is one that is followed without being asked again.
    public func observe<Entity>(_ query: QueryGroup<Entity>) -> LiveQuery<LiveGroup<Entity>> {
        LiveQuery(self) { GroupResult(query) }
    }
}
