// SPDX-License-Identifier: Apache-2.0
// Reads and writes for requests, each in its own transaction and with a time limit. Four times a second, a thread
// interrupts work that takes too long, and looks for a new state of the store if a page listens.

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
        /// Work that is using the store. It has no time limit if `end` is nil.
        var running: [Int: (interruption: Interruption, end: ContinuousClock.Instant?)] = [:]
        var listeners: [EventStream] = []
        /// The last event, which all listeners have received; nil if a listener has not.
        var told: String?
        var isChecking = false
        var isEnding = false
    }
    private let shared = Mutex(Shared())

    /// Time limit of a read or a write, in seconds.
    static let patience = 30
    /// Maximum number of streams of events. Each has a connection of its own.
    private static let listenerLimit = 24
    /// In microseconds.
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

    /// Reads the newest state. Throws `.cancelled` if that takes longer than `patience`.
    func read<Result>(_ body: (StoreTransaction) throws -> Result) throws -> Result {
        try bounded { interruption in
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            transaction.interruption = interruption
            return try body(try StoreTransaction(reading: transaction))
        }
    }

    /// Changes the store in a transaction that waits its turn and is committed if `body` doesn't throw. Returns the
    /// number of the state after it too. Throws `.readOnly` without `--write`, `.cancelled` if `body` takes longer than
    /// `patience`.
    func write<Result>(_ body: (StoreTransaction) throws -> Result) throws -> (result: Result, version: UInt64) {
        guard options.isWritable else { throw Self.noWrites }
        // Time that passes before the turn or during the commit doesn't count.
        return try bounded(seconds: nil) { interruption in
            try store.changing { core in
                let result = try bounded(by: interruption) { interruption in
                    core.transaction.interruption = interruption
                    // The commit that follows must not be interrupted.
                    defer { core.transaction.interruption = nil }
                    return try body(core)
                }
                // A commit without changes makes no new state.
                let made = try core.hasChanged() ? core.transaction.number : nil
                return (result: result, version: made ?? core.transaction.version)
            }
        }
    }

    static let noWrites = HornbeamError(
        .readOnly, "nothing was changed: the studio was started without --write, and only reads")

    /// Runs a check of the store without a time limit. Only one runs at a time, because it reads the whole store:
    /// throws `.busy` if another one is running.
    func check<Result>(_ interruption: Interruption, _ body: () throws -> Result) throws -> Result {
        let isFirst = shared.withLock { shared in
            defer { shared.isChecking = true }
            return !shared.isChecking
        }
        guard isFirst else { throw HornbeamError(.busy, "the store is being checked for another page") }
        defer { shared.withLock { $0.isChecking = false } }
        return try bounded(seconds: nil, by: interruption) { _ in try body() }
    }

    /// Runs work that is interrupted when the studio ends, and after a time limit unless `seconds` is nil.
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
            // Work that is interrupted may fail for another reason before it notices.
            guard interruption.isSet, (HornbeamError.typed(error) as? HornbeamError)?.code == .cancelled else {
                throw error
            }
            if shared.withLock({ $0.isEnding }) { throw Self.ending }
            guard let seconds else { throw error }
            throw HornbeamError(
                .cancelled, "this took longer than \(seconds) s and was ended; 'hornbeam sql' has no such limit")
        }
    }

    private static let ending = HornbeamError(.cancelled, "the studio is ending")

    /// Interrupts all work, and waits until none uses the store, so that it can be closed. Gives up after ten seconds.
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

    /// Maximum time that `end` waits for interrupted work, in hundredths of a second.
    private static let endingTurns = 1_000

    /// Returns a stream of events about new states, beginning with the current one. Throws `.busy` if too many streams
    /// are open.
    func listen() throws -> EventStream {
        let stream = EventStream()
        try shared.withLock { shared in
            guard shared.listeners.count < Self.listenerLimit else {
                throw HornbeamError(.busy, "\(Self.listenerLimit) pages of this store are open: close one")
            }
            shared.listeners.append(stream)
            // The other listeners get the current state once more, which does no harm.
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

    /// Sends an event to all listeners, unless it equals the last one.
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
