// SPDX-License-Identifier: Apache-2.0
// The service's log, on standard error, where systemd and containers read it; and the health that the log shows.

import Hornbeam
import Synchronization

/// Receives the database's log. Any thread may call.
public final class Health: Sendable {
    private let hasFailed = Atomic(false)
    private let write: @Sendable (String) -> Void

    /// - Parameter write: receives each line of the log.
    public init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    /// Whether the database takes writes, according to its log.
    public var isGood: Bool { !hasFailed.load(ordering: .relaxed) }

    /// Receives an entry of the database's log.
    public func take(_ entry: Database.LogEntry) {
        if entry.event == .failed { hasFailed.store(true, ordering: .relaxed) }
        if entry.level > .debug { write("<\(Self.priority(entry.level))>\(entry)") }
    }

    func report(_ error: any Error, of request: String) { write("<3>\(request) failed: \(error)") }

    public func say(_ text: String) { write("<6>\(text)") }

    /// Returns the syslog priority. journald reads it at the beginning of a line.
    private static func priority(_ level: Database.LogEntry.Level) -> Int {
        switch level {
        case .debug: 7
        case .info: 6
        case .warning: 4
        case .error: 3
        }
    }
}
