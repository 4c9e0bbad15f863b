// SPDX-License-Identifier: Apache-2.0
// The log of a database for programs: entries with a level, an event, a message and values.

extension Database {
    /// Reports the events of a database: openings, recoveries, checkpoints, migrations, index builds, slow queries,
    /// slow transactions, reads that keep old pages, and errors.
    ///
    ///     options.log = Database.Log { entry in print(entry) }
    ///
    /// The handler gets one entry at a time, in order, in a thread of the log and shortly after the event. No
    /// transaction or lock of the database is held, so the handler may use the database. `close` waits until it has got
    /// all entries, so it must not wait for the caller of `close`. If a handler is more than 1,000 entries behind,
    /// further ones are left out, and an entry with the event `.dropped` has their number.
    ///
    /// The handler's own use of the database isn't logged, except for checkpoints. A handler that writes to this
    /// database should ignore entries of the level `.debug`: otherwise each checkpoint's entry causes another
    /// checkpoint.
    public struct Log: Sendable {
        public typealias Handler = @Sendable (LogEntry) -> Void

        /// Queries and statements that take at least this time are logged, with their plan. Nil for none. The plan
        /// contains the values in the query's conditions.
        public var slowQuery: Duration?
        /// Reads and writes that take at least this time are logged when they end. Nil for none.
        public var slowTransaction: Duration?
        /// A read that is open for at least this time is logged once, at the end of a checkpoint, if the file keeps old
        /// pages for reads. Nil for none.
        public var longRead: Duration?
        let handler: Handler

        /// Makes a log with bounds for slow operations.
        public init(
            slowQuery: Duration? = .milliseconds(200), slowTransaction: Duration? = .seconds(1),
            longRead: Duration? = .seconds(60), handler: @escaping Handler
        ) {
            self.slowQuery = slowQuery
            self.slowTransaction = slowTransaction
            self.longRead = longRead
            self.handler = handler
        }
    }

    /// An entry of a database's log.
    public struct LogEntry: Sendable {
        /// The importance of an entry.
        public enum Level: String, Sendable, CaseIterable, Comparable {
            /// Work in the background that succeeded.
            case debug
            /// A step in the database's life: opened, recovered, migrated, closed.
            case info
            /// Slow work, or a failure that a later attempt may repair.
            case warning
            /// A failure that a person must handle.
            case error

            public static func < (left: Level, right: Level) -> Bool {
                guard let first = allCases.firstIndex(of: left), let second = allCases.firstIndex(of: right) else {
                    return false
                }
                return first < second
            }
        }

        /// The kind of an entry. Later versions may add events.
        public struct Event: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            init(_ description: String) { self.description = description }

            /// The database is open. Values: `path`, `seconds`, `fileBytes`, `usedBytes`, `transaction`.
            public static let opened = Event("opened")
            /// The last program didn't close the file. Its commits were read from the journal. Values: `commits`,
            /// `transaction`.
            public static let recovered = Event("recovered")
            /// The database is closed. Values: `path`.
            public static let closed = Event("closed")
            /// A checkpoint is durable. Values: `transaction`, the `pageBytes` that the one before lacked, the
            /// `journalBytes` that are no longer needed, `seconds`.
            public static let checkpoint = Event("checkpoint")
            /// A checkpoint failed, and will be repeated. The journal has all commits. Values: `error`.
            public static let checkpointFailed = Event("checkpointFailed")
            /// The file was shortened. Values: `bytesBefore`, `bytesAfter`.
            public static let shrunk = Event("shrunk")
            /// Shortening the file in the background failed, and will be repeated. Values: `error`.
            public static let shrinkingFailed = Event("shrinkingFailed")
            /// The file doesn't fit the models and is being changed.
            public static let migrationBegan = Event("migrationBegan")
            /// The file fits the models. Values: `seconds`.
            public static let migrated = Event("migrated")
            /// A registered index is being built. Values: `index`, `entity`.
            public static let indexBuildBegan = Event("indexBuildBegan")
            /// A registered index was built. Values: `index`, `entity`, `seconds`.
            public static let indexBuilt = Event("indexBuilt")
            /// A build was cancelled, stopped by `close`, or failed. Values: `index`, `entity`, `seconds`, `error`.
            public static let indexBuildEnded = Event("indexBuildEnded")
            /// A query or statement took long. Values: `name` (of the entity type, or the statement), `seconds`,
            /// `plan`, and `rowsRead` and `rowsPassed` if they were counted.
            public static let slowQuery = Event("slowQuery")
            /// A transaction took long. Values: `kind` (`read` or `write`) and `seconds`; for a write also parts of
            /// these, `secondsWaited` for its turn and `secondsCommitted`.
            public static let slowTransaction = Event("slowTransaction")
            /// The file keeps old pages for a read that is open for long. Values: `kind` (`read`, or `longLivedRead`),
            /// `seconds` since it began, and `snapshotBytes` that the file keeps for all reads.
            public static let longRead = Event("longRead")
            /// An operation failed because of damage, a failing system call or a full disk. Values: `operation`,
            /// `code`, `error`.
            public static let operationFailed = Event("operationFailed")
            /// The file accepts no more writes: open the database anew. Values: `error`.
            public static let failed = Event("failed")
            /// The handler was too slow. Values: `entries`, the number of entries that were left out.
            public static let dropped = Event("dropped")
        }

        public let level: Level
        public let event: Event
        /// A readable description of the event.
        public let message: String
        /// Details of the event for programs. `Event` documents their names.
        public let values: [String: Value]

        /// The values as text, for logs that accept only text.
        public var metadata: [String: String] {
            values.mapValues { value in
                if case .string(let text) = value { text } else { value.text }
            }
        }

        init(_ level: Level, _ event: Event, _ message: String, _ values: [String: Value] = [:]) {
            self.level = level
            self.event = event
            self.message = message.shownAsMessage()
            self.values = values
        }
    }
}

extension Database.LogEntry: CustomStringConvertible {
    /// One line: level, message, and the values by name, strings in quotes.
    public var description: String {
        let fields = values.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value.text)" }
        return ("\(level.rawValue): \(message)" + fields.joined()).replacing("\n", with: " ")
    }
}
