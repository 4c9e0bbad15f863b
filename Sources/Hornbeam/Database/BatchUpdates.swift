// SPDX-License-Identifier: Apache-2.0
// A write that reports its changes, and the number of the state that a context sees.

import HornbeamTree

/// The result of a batch of updates, and the changes that it has made.
public struct BatchUpdates<Value> {
    /// The value that the closure returned.
    public let value: Value
    /// The changes by entity type, including those of middleware, hooks and delete rules: `changes[Book.self].updated`.
    public let changes: StoreChanges
}

extension BatchUpdates: Sendable where Value: Sendable {}

extension BatchUpdates {
    fileprivate init(value: Value, told changes: StoreChanges?) throws {
        guard let changes else {
            throw HornbeamError(.failed, "a batch of updates was committed, but its changes are unknown")
        }
        self.init(value: value, changes: changes)
    }
}

extension Database {
    /// Runs a write and returns its changes. All changes of entities and indexes by `updates` are committed as one
    /// step, or none if it throws. Reads within it see the changes made so far. It needs as much memory as a write with
    /// `onWillCommit`.
    @discardableResult
    public func performBatchUpdates<Value>(
        _ updates: (inout Context) throws -> Value
    ) throws -> BatchUpdates<Value> {
        var changes: StoreChanges?
        let value = try run(nil, telling: { changes = $0 }, updates)
        return try BatchUpdates(value: value, told: changes)
    }

    /// Runs a write and returns its changes, without blocking the caller's thread. Waiting and cancellation work as in
    /// an asynchronous `write`.
    @discardableResult
    public func performBatchUpdates<Value: Sendable>(
        _ updates: @escaping @Sendable (inout Context) throws -> Value
    ) async throws -> BatchUpdates<Value> {
        let (value, changes) = try await enqueueTelling(updates)
        return try BatchUpdates(value: value, told: changes)
    }

    /// The number of the newest committed state. Only commits that change something increase it: equal numbers mean
    /// equal content.
    public var version: UInt64 {
        get throws { try newestState() }
    }
}

extension Context {
    /// The number of the state that a read sees, or that a write began with.
    public var version: UInt64 {
        get throws { try session.run { try $0.core.transaction.version } }
    }
}
