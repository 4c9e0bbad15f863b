// SPDX-License-Identifier: Apache-2.0
// A live query as a sequence. Each iteration is an observation of its own, which ends with its iterator.

/// A sequence of the results of a query: the present one, and a new one whenever a commit changes it.
///
/// The first element comes at once, then one for each commit that changes the result, in order. A slow consumer gets
/// several commits as one element. The sequence ends when the task is cancelled or the database is closed, and throws a
/// `HornbeamError` if the store can't be read.
///
/// Between two elements the sequence keeps no transaction and no old pages of the store.
public struct LiveQuery<Element: Sendable>: AsyncSequence, Sendable {
    private let begin: @Sendable () -> Subscription<Element>

    package init<Result: LiveResult>(
        _ database: Database, _ result: @escaping @Sendable () -> Result
    ) where Result.Element == Element {
        begin = {
            let observation = Observation(result(), of: database)
            observation.start()
            return Subscription(next: { try await observation.next() }, end: { observation.finish() })
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(begin: begin) }

    /// Begins to observe at the first call of `next`, and ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let begin: @Sendable () -> Subscription<Element>
        private var subscription: Subscription<Element>?

        fileprivate init(begin: @escaping @Sendable () -> Subscription<Element>) {
            self.begin = begin
        }

        public mutating func next() async throws -> Element? {
            let subscription = subscription ?? begin()
            self.subscription = subscription
            return try await subscription.next()
        }
    }
}

/// The observation of an iterator, without its type.
final class Subscription<Element: Sendable>: Sendable {
    let next: @Sendable () async throws -> Element?
    private let end: @Sendable () -> Void

    init(next: @escaping @Sendable () async throws -> Element?, end: @escaping @Sendable () -> Void) {
        self.next = next
        self.end = end
    }

    deinit { end() }
}
