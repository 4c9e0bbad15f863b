// SPDX-License-Identifier: Apache-2.0
// Code that a program runs before each commit, in the same transaction: to keep indexes by rule, to complete entities,
// or to refuse a commit.

import Synchronization

/// A handle to a registration by `Database.onWillCommit`, to remove it.
public struct CommitMiddleware: Sendable, Hashable {
    fileprivate let number: Int
}

/// The middleware of a database.
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

    /// All hooks, in the order of their registration.
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
    /// Registers `body` to run in each write transaction that has changed something, when the transaction's own closure
    /// is done and before it is committed. It may change entities and indexes in turn. If it throws, nothing of the
    /// transaction remains, and `write` throws the error.
    ///
    /// Each middleware runs once in a transaction, in the order of registration. `changes` has everything that the
    /// transaction has changed until then, including the changes of the middleware that ran before, but never its own:
    /// no chain of effects can go in circles. Observers, `performBatchUpdates` and the next middleware see its changes.
    /// Middleware registered during a write runs from the next write on.
    ///
    /// As long as there is any middleware, each write keeps in memory the former content of the rows that it changes.
    /// For a large import this takes about 100 bytes for each new entity, and the former row of each changed one.
    @discardableResult
    public func onWillCommit(
        _ body: @escaping @Sendable (_ context: inout Context, _ changes: StoreChanges) throws -> Void
    ) -> CommitMiddleware {
        middleware.add(body)
    }

    /// Removes a registration made by `onWillCommit` or `keep`. Returns whether it was there. A write that is under way
    /// still uses it.
    @discardableResult
    public func remove(_ middleware: CommitMiddleware) -> Bool { self.middleware.remove(middleware) }
}
