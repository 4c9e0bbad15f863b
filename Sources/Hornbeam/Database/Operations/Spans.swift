// SPDX-License-Identifier: Apache-2.0
// Spans: the beginning and the end of transactions and queries, for tracing and for measuring.

extension Database {
    /// A transaction or a query that begins.
    public struct Span: Sendable {
        public enum Kind: String, Sendable {
            case read, write
            /// A query of an entity type. A lookup by id or by unique key, which takes a microsecond, gives no span,
            /// nor does a query within another one.
            case query
            case statement
        }

        /// A number that no other span of the database has.
        public let id: UInt64
        /// The transaction of a query; nil for a transaction, and for a query in a long-lived read.
        public let parent: UInt64?
        public let kind: Kind
        /// The entity type of a query, or the text of a statement; empty for a transaction.
        public let name: String
    }

    /// The end of a span.
    public struct SpanEnd: Sendable {
        /// The time since the span's beginning. For a transaction it includes the wait for its turn, and for a write
        /// the wait until it is durable.
        public let duration: Duration
        /// The error with which a transaction ended, or nil. It is nil for queries.
        public let error: (any Error)?
        /// The number of rows that passed a query's conditions; nil if they weren't counted.
        public let rows: Int?
    }

    /// Takes the beginning of a span, and returns the closure that takes its end, or nil if it doesn't want the end.
    ///
    /// It is called in the thread or task that begins the transaction or runs the query. A query's closures are called
    /// within its transaction: they must be quick, must not write and must not wait for a write. What they do with the
    /// database gives no spans.
    public typealias SpanHandler = @Sendable (Span) -> (@Sendable (SpanEnd) -> Void)?
}
