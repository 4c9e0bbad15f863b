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

    /// Waits until the handler has had all entries. Returns at once if the handler asks.
    func drain() {
        if !isHandling { queue.sync {} }
    }

    /// Hands on the entries that wait now. Later ones come behind what is queued meanwhile: a database that is closed
    /// must not wait as long as others log.
    private func serve() {
        let (entries, dropped) = waiting.withLock { waiting in
            defer {
                waiting.isServed = !waiting.entries.isEmpty
                waiting.entries = []
                waiting.dropped = 0
            }
            return (waiting.entries, waiting.dropped)
        }
        if entries.isEmpty { return }
        for entry in entries { handler(entry) }
        if dropped > 0 {
            handler(
                Database.LogEntry(
                    .warning, .dropped, "the log's handler is too slow: \(dropped) entries were left out",
                    ["entries": .int(Int64(dropped))]))
        }
        queue.async { self.serve() }
    }
}
