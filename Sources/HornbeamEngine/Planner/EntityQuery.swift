// SPDX-License-Identifier: Apache-2.0
// The query that the planner plans.

/// A query over one entity type. Without a sort the order is that of the first `ids` or `related` condition, else by
/// row id. A limit of nil means no limit; negative limits and offsets give no results.
package struct EntityQuery: Sendable {
    package var type: String
    package var filter: Filter
    package var sort: [SortTerm]
    package var limit: Int?
    package var offset: Int
    /// The position in the query's order after which results begin; the offset counts from there.
    package var after: (@Sendable (EntityStore) throws -> QueryPosition)?
    /// The data that is read of rows; nil for whole rows. It is ignored if only ids are wanted.
    package var needs: RowNeeds?
    /// Whether rows that are equal in the sort may come in any order.
    package var ignoresTies = false
    /// Whether it is an error to test or sort all rows of the type.
    package var requiresIndex = false
    /// Whether the caller gets rows, row ids or the number of results.
    package var wanted = Wanted.rows
    /// Whether the caller accepts rows in stored order, each with its position in the query's order.
    package var placesRows = false
    /// Whether the caller may stop before the last result. The planner then prefers a path in the query's order to a
    /// sort in memory.
    package var mayStop = false

    package enum Wanted { case rows, rowIDs, count }

    var wantsRows: Bool { wanted == .rows }

    /// Whether the filter alone determines the results.
    package var isWhole: Bool { limit == nil && offset == 0 && after == nil }

    package init(
        type: String, filter: Filter = .all, sort: [SortTerm] = [], limit: Int? = nil, offset: Int = 0
    ) {
        self.type = type
        self.filter = filter
        self.sort = sort
        self.limit = limit
        self.offset = offset
    }
}
