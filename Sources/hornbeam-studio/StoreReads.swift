// SPDX-License-Identifier: Apache-2.0
// The reads and writes that answer requests: each in a transaction of its own, and for a bounded time. A thread looks
// four times a second for work that takes too long, and for new states, if someone wants to hear of them.

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
        /// The work that uses the store; without an end it may take any time.
        var running: [Int: (interruption: Interruption, end: ContinuousClock.Instant?)] = [:]
        var listeners: [EventStream] = []
        /// The event that all listeners have heard last.
        var told: String?
        var isChecking = false
        var isEnding = false
    }
    private let shared = Mutex(Shared())

    /// Seconds that a read or a write may take.
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
        try bounded { interruption in
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            transaction.interruption = interruption
            return try body(try StoreTransaction(reading: transaction))
        }
    }

    /// One write, after those that run; committed if `body` doesn't throw. Throws `.readOnly` without `--write`,
    /// `.cancelled` if it takes longer than `patience`.
    func write<Result>(_ body: (StoreTransaction) throws -> Result) throws -> Result {
        guard options.isWritable else { throw Self.noWrites }
        return try bounded { interruption in
            try store.changing { core in
                core.transaction.interruption = interruption
                // Once all is changed, it is committed.
                defer { core.transaction.interruption = nil }
                return try body(core)
            }
        }
    }

    static let noWrites = HornbeamError(
        .readOnly, "nothing was changed: the studio was started without --write, and only reads")

    /// Checks the store: one check at a time, because it reads all of it. Takes any time.
    func check<Result>(_ interruption: Interruption, _ body: () throws -> Result) throws -> Result {
        let isFirst = shared.withLock { shared in
            defer { shared.isChecking = true }
            return !shared.isChecking
        }
        guard isFirst else { throw HornbeamError(.busy, "the store is being checked for another page") }
        defer { shared.withLock { $0.isChecking = false } }
        return try bounded(seconds: nil, by: interruption) { _ in try body() }
    }

    /// Runs work that is interrupted after a time, if one is given, and when the studio ends.
    private func bounded<Result>(
        seconds: Int? = patience, by interruption: Interruption = Interruption(),
        _ body: (Interruption) throws -> Result
    ) throws -> Result {
        let end = seconds.map { ContinuousClock.now.advanced(by: .seconds($0)) }
        let number = try shared.withLock { shared in
            guard !shared.isEnding else { throw Self.ending }
            shared.nextNumber += 1
            shared.running[shared.nextNumber] = (interruption, end)
            return shared.nextNumber
        }
        defer { shared.withLock { $0.running[number] = nil } }
        do {
            return try body(interruption)
        } catch {
            guard interruption.isSet else { throw error }
            if shared.withLock({ $0.isEnding }) { throw Self.ending }
            throw HornbeamError(
                .cancelled, "this took longer than \(Self.patience) s and was ended; 'hornbeam sql' has no such limit")
        }
    }

    private static let ending = HornbeamError(.cancelled, "the studio is ending")

    /// Interrupts all work, and waits until none uses the store, so that it can be closed.
    func end() {
        shared.withLock { shared in
            shared.isEnding = true
            for work in shared.running.values { work.interruption.set() }
        }
        var turns = 0
        while turns < Self.endingTurns, shared.withLock({ !$0.running.isEmpty }) {
            usleep(10_000)
            turns += 1
        }
    }

    /// Hundredths of a second that the end waits for interrupted work.
    private static let endingTurns = 1_000

    /// A stream that hears of new states, beginning with the one at hand. Throws `.busy` if there are too many.
    func listen() throws -> EventStream {
        let stream = EventStream()
        try shared.withLock { shared in
            guard shared.listeners.count < Self.listenerLimit else {
                throw HornbeamError(.busy, "\(Self.listenerLimit) pages of this store are open: close one")
            }
            shared.listeners.append(stream)
            // All hear it once more: that changes nothing.
            shared.told = nil
        }
        return stream
    }

    private func look() {
        let now = ContinuousClock.now
        let isHeard = shared.withLock { shared in
            for work in shared.running.values where work.end.map({ $0 < now }) ?? false { work.interruption.set() }
            shared.listeners.removeAll { !$0.isOpen }
            return !shared.listeners.isEmpty
        }
        guard isHeard else { return }
        do {
            let version = try read { $0.transaction.version }
            tell("state", .object([("transaction", .count(version))]))
        } catch {
            tell("failure", .object([("error", .string("\(error)"))]))
        }
    }

    /// Sends an event, unless it is the one that was sent last.
    private func tell(_ event: String, _ data: JSONNode) {
        let told = event + data.text
        let listeners = shared.withLock { shared -> [EventStream] in
            guard shared.told != told else { return [] }
            shared.told = told
            return shared.listeners
        }
        for listener in listeners { listener.send(event, data) }
    }
}
