// SPDX-License-Identifier: Apache-2.0
// The watch over the queries of one transaction, for the log of slow queries and for spans. Nearly all transactions
// have none.

/// Reports the queries of a transaction. A query within another one, such as a join's, is part of the outer one.
/// Belongs to the transaction's thread.
package final class QueryWatch {
    /// A query that has ended.
    package struct Report {
        /// Returns the number of rows that were looked at, and of those that passed all conditions; nil if they aren't
        /// counted.
        package var rows: () -> (read: Int, passed: Int)? = { nil }
        /// Makes the plan of the query, as text. Returns nil if it can't be made any more.
        package var plan: () -> String? = { nil }
    }

    package enum Kind: Sendable {
        case query, statement
    }

    /// Is called at the end of a query.
    package typealias End = (Report) -> Void

    /// Is called at the beginning of a query, with the name of its entity type or the text of the statement. Returns
    /// the closure that is called at the query's end.
    package typealias Begin = (_ kind: Kind, _ name: String) -> End

    private var began: Begin
    private var isInside = false

    package init(_ began: @escaping Begin) { self.began = began }

    /// Replaces the closure that is called from now on, for the next read that uses the transaction.
    package func tell(_ began: @escaping Begin) { self.began = began }

    /// Begins a query. Returns nil inside another one.
    package func begin(_ kind: Kind, _ name: String) -> WatchedQuery? {
        if isInside { return nil }
        isInside = true
        return WatchedQuery(self, began(kind, name))
    }

    fileprivate func leave() { isInside = false }
}

/// A query that is running. It ends when its last reference is released.
package final class WatchedQuery {
    private let watch: QueryWatch
    private let end: QueryWatch.End
    package var report = QueryWatch.Report()

    fileprivate init(_ watch: QueryWatch, _ end: @escaping QueryWatch.End) {
        self.watch = watch
        self.end = end
    }

    deinit {
        // This comes before `leave`, because making the plan must not count as another query.
        end(report)
        watch.leave()
    }
}
