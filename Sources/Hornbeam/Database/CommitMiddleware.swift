// SPDX-License-Identifier: Apache-2.0
// What a program has run before each commit, in the same transaction: to keep indexes by rule, to complete entities, to
// refuse what must not be.

import Synchronization

/// What `Database.onWillCommit` registered, to remove it by.
public struct CommitMiddleware: Sendable, Hashable {
    fileprivate let number: Int
}

/// Those of a database.
final class CommitMiddlewareList: Sendable {
    struct Hook: Sendable {
        fileprivate let number: Int
        let body: @Sendable (inout Context, StoreChanges) throws -> Void
    }

    private struct State {
        var hooks: [Hook] = []
        var last = 0
    }

    private let state = Mutex(State())

    /// In the order of their registering.
    var all: [Hook] { state.withLock { $0.hooks } }

    fileprivate func add(_ body: @escaping @Sendable (inout Context, StoreChanges) throws -> Void) -> CommitMiddleware {
        state.withLock { state in
            state.last += 1
            state.hooks.append(Hook(number: state.last, body: body))
            return CommitMiddleware(number: state.last)
        }
    }

    fileprivate func remove(_ middleware: CommitMiddleware) -> Bool {
        state.withLock { state in
            let count = state.hooks.count
            state.hooks.removeAll { $0.number == middleware.number }
            return state.hooks.count < count
        }
    }
}

extension Database {
    /// Has `body` run in each write transaction that has changed something, when its own closure is done and before it
    /// is committed. It may change entities and indexes in turn; if it throws, nothing of the transaction remains, and
    /// `write` throws the error.
    ///
    /// Each runs once in a transaction, in the order in which they were registered. `changes` is what the transaction
    /// has changed until then, with the changes of those that ran before, never with its own: no chain of effects can
    /// go in circles. Observers, `performBatchUpdates` and the next middleware see what it changes. Registered during a
    /// write, it runs from the next one on.
    ///
    /// As long as there is one, each write keeps in memory what the rows that it changes were before: to hold all of a
    /// large import takes about 100 bytes for each new entity, and the former row of each changed one.
    @discardableResult
    public func onWillCommit(
        _ body: @escaping @Sendable (_ context: inout Context, _ changes: StoreChanges) throws -> Void
    ) -> CommitMiddleware {
        middleware.add(body)
    }

    /// Removes what `onWillCommit` or `keep` registered; whether it was there. A write that is under way still has it.
    @discardableResult
    public func remove(_ middleware: CommitMiddleware) -> Bool { self.middleware.remove(middleware) }
}
