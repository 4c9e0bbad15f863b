// SPDX-License-Identifier: Apache-2.0
// A write that tells what it has changed, and the number of the state that a context sees.

import HornbeamTree

/// What a batch of updates gave, and what it has changed.
public struct BatchUpdates<Value> {
    /// What the closure returned.
    public let value: Value
    /// By entity types, with what middleware, hooks and delete rules changed: `changes[Book.self].updated`.
    public let changes: StoreChanges
}

extension BatchUpdates: Sendable where Value: Sendable {}

extension BatchUpdates {
    fileprivate init(value: Value, told changes: StoreChanges?) throws {
        guard let changes else {
            throw HornbeamError(.failed, "the changes of a batch of updates, which was committed, were not told")
        }
        self.init(value: value, changes: changes)
    }
}

extension Database {
    /// A write that tells what it has changed: all that `updates` does to entities and indexes is committed as one
    /// step, or, if it throws, none of it. Within it, reads see what it has done so far. Takes memory as `onWillCommit`
    /// does.
    @discardableResult
    public func performBatchUpdates<Value>(
        _ updates: (inout Context) throws -> Value
    ) throws -> BatchUpdates<Value> {
        var changes: StoreChanges?
        let value = try run(nil, telling: { changes = $0 }, updates)
        return try BatchUpdates(value: value, told: changes)
    }

    /// A write that tells what it has changed, without blocking the caller's thread. Its turn, and what becomes of it
    /// when the task is cancelled, are as with an asynchronous `write`.
    @discardableResult
    public func performBatchUpdates<Value: Sendable>(
        _ updates: @escaping @Sendable (inout Context) throws -> Value
    ) async throws -> BatchUpdates<Value> {
        let (value, changes) = try await enqueueTelling(updates)
        return try BatchUpdates(value: value, told: changes)
    }

    /// The number of the newest committed state. It grows with each commit that has changed something, and with no
    /// other: equal numbers mean equal content.
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
