// SPDX-License-Identifier: Apache-2.0
// The service's log, on standard error, where systemd and containers look for it; and what the log says of its health.

import Hornbeam
import Synchronization

/// Takes the database's log. Any thread.
public final class Health: Sendable {
    private let hasFailed = Atomic(false)
    private let write: @Sendable (String) -> Void

    /// - Parameter write: gets each line of the log.
    public init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    /// Whether the database takes writes, as far as it has said.
    public var isGood: Bool { !hasFailed.load(ordering: .relaxed) }

    /// Takes an entry of the database's log.
    public func take(_ entry: Database.LogEntry) {
        if entry.event == .failed { hasFailed.store(true, ordering: .relaxed) }
        if entry.level > .debug { write("<\(Self.priority(entry.level))>\(entry)") }
    }

    func report(_ error: any Error, of request: String) { write("<3>\(request) failed: \(error)") }

    public func say(_ text: String) { write("<6>\(text)") }

    /// Priorities of syslog. journald takes them from the beginning of a line.
    private static func priority(_ level: Database.LogEntry.Level) -> Int {
        switch level {
        case .debug: 7
        case .info: 6
        case .warning: 4
        case .error: 3
        }
    }
}
