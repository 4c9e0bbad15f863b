// SPDX-License-Identifier: Apache-2.0
// Passes log entries from the threads of a database to the program's handler. Nothing else happens under the lock of
// the queue, so an entry can be added while any other lock is held. The handler runs in a thread of its own.

import Dispatch
import Synchronization

/// Passes entries to a handler, one at a time and in order.
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

    /// Runs `body` in the handler's thread, after the present entries.
    func run(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    /// Waits until the handler has got all present entries, but not for later ones, because a database can be closed
    /// while other threads log. Returns at once if the handler calls it.
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

    /// Passes the waiting entries to the handler. Returns whether there were any.
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
