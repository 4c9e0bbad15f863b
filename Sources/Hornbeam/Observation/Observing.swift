// SPDX-License-Identifier: Apache-2.0
// Where live queries begin: at the database.

extension Database {
    /// The result of a query, now and after each commit that changes it.
    ///
    /// What an element costs depends on the query. Of one that looks at stored or computed properties alone and has no
    /// limit (`User.filter(\.age > 18).sorted(by: \.name)`), only changed rows are read; then the array is made, in
    /// O(n). With a limit the query is asked again, if a changed row can have touched what the limit leaves. All others
    /// (along relations, with nested entities, by relevance) are asked again when something changed that they read.
    ///
    /// Only commits made through this `Database` count, not those of other processes.
    public func observe<Entity>(_ query: QueryList<Entity>) -> LiveQuery<LiveList<Entity>> {
        LiveQuery(self) { ListResult(query) }
    }

    /// The changes of a query's result alone: where no limit and no relation is in play, an element costs as much as
    /// has changed, however long the list is. Kept are 40 bytes for each of its rows, and the key it is sorted by.
    public func changes<Entity>(of query: QueryList<Entity>) -> LiveQuery<LiveChanges<Entity>> {
        LiveQuery(self) { ChangesResult(query) }
    }

    /// One entity, now and after each commit that changes it. When it goes, one element says so, with its last value.
    public func observe<Entity>(_ query: Query<Entity>) -> LiveQuery<LiveEntity<Entity>> {
        LiveQuery(self) { EntityResult(query) }
    }

    /// How many entities a query has, now and whenever that is another number. Of a query that looks at properties
    /// alone nothing but the number is kept, and changed rows are read.
    public func observeCount<Entity>(_ query: QueryList<Entity>) -> LiveQuery<Int> {
        LiveQuery(self) { CountResult(query) }
    }

    /// A list of lists, now and after each commit that changes one of them. Asked again when something changed that it
    /// read.
    public func observe<Entity>(_ query: QueryGroup<Entity>) -> LiveQuery<LiveGroup<Entity>> {
        LiveQuery(self) { GroupResult(query) }
    }
}
