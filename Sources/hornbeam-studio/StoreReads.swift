// SPDX-License-Identifier: Apache-2.0
// The reads that answer requests: each in a transaction of its own, on the newest state, and for a bounded time. A
// thread looks four times a second for reads that take too long, and for new states, if someone wants to hear of them.

import Foundation
import Hornbeam
import HornbeamCommand
import HornbeamPages
import HornbeamTree
import Synchronization

final class StoreReads: Sendable {
    let options: StudioOptions
    let store: TreeStore
    let lists = RowLists()

    private struct Shared {
        var nextNumber = 0
        var running: [Int: (interruption: Interruption, end: ContinuousClock.Instant)] = [:]
        var listeners: [EventStream] = []
        var version: UInt64?
    }
    private let shared = Mutex(Shared())

    /// Seconds that a read may take.
    static let patience = 30
    /// Streams of events at once: each has a connection of its own.
    private static let listenerLimit = 24
    private static let interval: UInt32 = 250_000

    init(_ store: TreeStore, _ options: StudioOptions) {
        self.store = store
        self.options = options
        Thread.detachNewThread { [self] in
            while true {
                usleep(Self.interval)
                look()
            }
        }
    }

    /// One read of the newest state. Throws `.cancelled` if it takes longer than `patience`.
    func read<Result>(_ body: (StoreTransaction) throws -> Result) throws -> Result {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let interruption = Interruption()
        transaction.interruption = interruption
        let end = ContinuousClock.now.advanced(by: .seconds(Self.patience))
        let number = shared.withLock { shared in
            shared.nextNumber += 1
            shared.running[shared.nextNumber] = (interruption, end)
            return shared.nextNumber
        }
        defer { shared.withLock { $0.running[number] = nil } }
        do {
            return try body(try StoreTransaction(reading: transaction))
        } catch {
            guard interruption.isSet else { throw error }
            throw HornbeamError(
                .cancelled, "this took longer than \(Self.patience) s and was ended; 'hornbeam sql' has no such limit")
        }
    }

    /// A stream that hears of new states, beginning with the one at hand. Throws `.busy` if there are too many.
    func listen() throws -> EventStream {
        let stream = EventStream()
        try shared.withLock { shared in
            guard shared.listeners.count < Self.listenerLimit else {
                throw HornbeamError(.busy, "\(Self.listenerLimit) pages of this store are open: close one")
            }
            shared.listeners.append(stream)
            // All hear it once more: that changes nothing.
            shared.version = nil
        }
        return stream
    }

    private func look() {
        let now = ContinuousClock.now
        let isHeard = shared.withLock { shared in
            for read in shared.running.values where read.end < now { read.interruption.set() }
            shared.listeners.removeAll { !$0.isOpen }
            return !shared.listeners.isEmpty
        }
        guard isHeard else { return }
        do {
            let read = try store.beginRead()
            let version = read.version
            read.abort()
            tell("state", version, .object([("transaction", .number("\(version)"))]))
        } catch {
            tell("failure", nil, .object([("error", .string(error.description))]))
        }
    }

    private func tell(_ event: String, _ version: UInt64?, _ data: JSONNode) {
        let listeners = shared.withLock { shared -> [EventStream] in
            guard version == nil || shared.version != version else { return [] }
            shared.version = version
            return shared.listeners
        }
        for listener in listeners { listener.send(event, data) }
    }
}
