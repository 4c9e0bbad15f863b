// SPDX-License-Identifier: Apache-2.0
// Spans: the beginning and the end of transactions and queries, for tracing and for measuring.

extension Database {
    /// A transaction or a query that begins.
    public struct Span: Sendable {
        public enum Kind: String, Sendable {
            case read, write
            /// A query of an entity type. A look-up by id or by unique key, which takes a microsecond, has no span, nor
            /// does a query within another one.
            case query
            case statement
        }

        /// A number that no other span of the database has.
        public let id: UInt64
        /// The id of the transaction of a query. Nil for a transaction, and for a query in a long-lived read.
        public let parent: UInt64?
        public let kind: Kind
        /// The entity type of a query, or the text of a statement. Empty for a transaction.
        public let name: String
    }

    /// The end of a span.
    public struct SpanEnd: Sendable {
        /// The time since the span's beginning. For a transaction it includes the wait for its turn, and for a write
        /// the wait until it is durable.
        public let duration: Duration
        /// The error with which a transaction ended, or nil. It is nil for queries.
        public let error: (any Error)?
        /// The number of rows that passed a query's conditions, or nil if they weren't counted.
        public let rows: Int?
    }

    /// A function that gets the beginning of a span. It returns a closure that gets its end, or nil if it doesn't need
    /// the end.
    ///
    /// It is called in the thread or task that begins the transaction or runs the query. A query's closures are called
    /// within its transaction: they must be fast, must not write and must not wait for a write. Their own use of the
    /// database makes no spans.
    public typealias SpanHandler = @Sendable (Span) -> (@Sendable (SpanEnd) -> Void)?
}
