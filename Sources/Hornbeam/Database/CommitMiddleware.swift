// SPDX-License-Identifier: Apache-2.0
// Code that a program runs before each commit, in the same transaction: to keep indexes by rule, to complete entities,
// or to refuse a commit.

import Synchronization

/// A registration by `Database.onWillCommit`. Pass it to `Database.remove`.
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
    /// Registers `body` to run in each write transaction that has changed something, after the closure of the write and
    /// before the commit. It may change entities and indexes. If it throws, nothing of the transaction remains, and
    /// `write` throws the error.
    ///
    /// Each middleware runs once in a transaction, in the order of registration. `changes` has all changes of the
    /// transaction until then, including those of the middleware before it, but never its own, so that middleware can't
    /// cause itself to run again. Observers, `performBatchUpdates` and the next middleware see its changes. Middleware
    /// registered during a write runs from the next write on.
    ///
    /// While any middleware is registered, each write keeps in memory the former content of the rows that it changes:
    /// about 100 bytes for each new entity, and the former row of each changed one.
    @discardableResult
    public func onWillCommit(
        _ body: @escaping @Sendable (_ context: inout Context, _ changes: StoreChanges) throws -> Void
    ) -> CommitMiddleware {
        middleware.add(body)
    }

    /// Removes a registration made by `onWillCommit` or `keep`. Returns whether it was registered. A write that is
    /// running may still call it.
    @discardableResult
    public func remove(_ middleware: CommitMiddleware) -> Bool { self.middleware.remove(middleware) }
}
