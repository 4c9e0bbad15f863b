// SPDX-License-Identifier: Apache-2.0
// The way of log entries from the threads of a database to the program's handler. Adding an entry takes a lock that
// nothing else is done under, so it can be done with any lock held; the handler runs in a thread of its own.

import Dispatch
import Synchronization

/// Hands entries to a handler, one at a time and in order.
final class LogQueue: Sendable {
    private struct Waiting {
        var entries: [Database.LogEntry] = []
        var dropped = 0
        /// Whether the handler's thread takes more entries before it ends.
        var isServed = false
    }

    private static let capacity = 1_000
    /// Marks the thread that runs a queue's handler.
    private static let mark = DispatchSpecificKey<ObjectIdentifier>()

    private let handler: Database.Log.Handler
    private let queue = DispatchQueue(label: "hornbeam.log")
    private let waiting = Mutex(Waiting())

    init(_ handler: @escaping Database.Log.Handler) {
        self.handler = handler
        queue.setSpecific(key: Self.mark, value: ObjectIdentifier(self))
    }

    /// Whether this thread runs the handler.
    var isHandling: Bool { DispatchQueue.getSpecific(key: Self.mark) == ObjectIdentifier(self) }

    func add(_ entry: Database.LogEntry) {
        let begins = waiting.withLock { waiting in
            guard waiting.entries.count < Self.capacity else {
                waiting.dropped += 1
                return false
            }
            waiting.entries.append(entry)
            defer { waiting.isServed = true }
            return !waiting.isServed
        }
        if begins { queue.async { self.serve() } }
    }

    /// Runs `body` in the handler's thread, behind the entries that are there.
    func run(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    /// Waits until the handler has had all entries that there are now, but for no later ones: a database is closed also
    /// while others log. Returns at once if the handler asks.
    func drain() {
        if !isHandling { queue.sync { _ = handOn() } }
    }

    private func serve() {
        let goesOn =
            handOn()
            || waiting.withLock { waiting in
                waiting.isServed = !waiting.entries.isEmpty
                return waiting.isServed
            }
        if goesOn { queue.async { self.serve() } }
    }

    /// Hands on the entries that wait now. Returns whether there were any.
    private func handOn() -> Bool {
        let (entries, dropped) = waiting.withLock { waiting in
            defer {
                waiting.entries = []
                waiting.dropped = 0
            }
            return (waiting.entries, waiting.dropped)
        }
        for entry in entries { handler(entry) }
        if dropped > 0 {
            handler(
                Database.LogEntry(
                    .warning, .dropped, "the log's handler is too slow: \(dropped) entries were left out",
                    ["entries": .int(Int64(dropped))]))
        }
        return !entries.isEmpty
    }
}
