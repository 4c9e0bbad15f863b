// SPDX-License-Identifier: Apache-2.0
// SQLite as a key-value store: a WITHOUT ROWID table, or an ordinary one for rows of more than a twentieth of a page,
// as its documentation advises; prepared statements, a connection for each thread, WAL with synchronous=FULL, or OFF
// if only the end of the process must be survived.

#if PEER_SQLITE
    import BenchHarness
    #if PEER_SQLCIPHER
        import CSQLCipher
    #else
        import CSQLite
    #endif

    final class SQLiteEngine: Engine {
        #if PEER_SQLCIPHER
            static let name = "sqlcipher"
            /// Encrypted with a key of its own, like `hornbeam-encrypted`.
            static let isDefault = false
        #else
            static let name = "sqlite"
        #endif
        static let features: Set<Feature> = [.typed]

        private let path: String
        private let settings: StoreSettings

        init(path: String, settings: StoreSettings) throws {
            self.path = path
            self.settings = settings
            let session = try SQLiteSession(path: path, settings: settings, isFirst: true)
            withExtendedLifetime(session) {}
        }

        func session() throws -> any Session { try SQLiteSession(path: path, settings: settings, isFirst: false) }

        /// Does nothing: the last connection to close has moved the log into the file.
        func close() throws {}
    }

    final class SQLiteSession: Session {
        private var connection: OpaquePointer?
        private var statements: [OpaquePointer?] = []
        private var insert: OpaquePointer?
        private var remove: OpaquePointer?
        private var select: OpaquePointer?
        private var ascending: OpaquePointer?
        private var descending: OpaquePointer?
        private var counting: OpaquePointer?
        private var placed: OpaquePointer?
        private var begin: OpaquePointer?
        private var beginImmediate: OpaquePointer?
        private var commit: OpaquePointer?

        init(path: String, settings: StoreSettings, isFirst: Bool) throws {
            // Each connection is used by one thread.
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
            try check(sqlite3_open_v2(path, &connection, flags, nil))
            try check(sqlite3_busy_timeout(connection, 60_000))
            #if PEER_SQLCIPHER
                try execute("PRAGMA key = \"x'\(String(repeating: "5a", count: 32))'\"")
            #endif
            try execute("PRAGMA journal_mode=WAL")
            try execute("PRAGMA synchronous=\(settings.durability == .full ? "FULL" : "OFF")")
            try execute("PRAGMA mmap_size=8589934592")
            try execute("PRAGMA cache_size=-65536")
            let form = settings.hasLongValues ? "" : "WITHOUT ROWID"
            try execute("CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB) \(form)")
            guard !isFirst else { return }
            begin = try prepare("BEGIN")
            beginImmediate = try prepare("BEGIN IMMEDIATE")
            commit = try prepare("COMMIT")
            // In an ordinary table, a replaced row would move in both trees.
            insert = try prepare(
                settings.hasLongValues
                    ? "INSERT INTO entries VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
                    : "INSERT OR REPLACE INTO entries VALUES (?, ?)")
            remove = try prepare("DELETE FROM entries WHERE key = ?")
            select = try prepare("SELECT value FROM entries WHERE key = ?")
            ascending = try prepare("SELECT key, value FROM entries WHERE key >= ? ORDER BY key")
            descending = try prepare("SELECT key, value FROM entries ORDER BY key DESC")
            counting = try prepare("SELECT count(*) FROM entries WHERE key >= ? AND key < ?")
            placed = try prepare("SELECT key FROM entries ORDER BY key LIMIT 1 OFFSET ?")
        }

        deinit {
            for statement in statements { sqlite3_finalize(statement) }
            sqlite3_close(connection)
        }

        private func check(_ code: Int32) throws {
            guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
                throw BenchError("sqlite: \(String(cString: sqlite3_errmsg(connection)))")
            }
        }

        private func execute(_ text: String) throws { try check(sqlite3_exec(connection, text, nil, nil, nil)) }

        private func prepare(_ text: String) throws -> OpaquePointer? {
            var statement: OpaquePointer?
            try check(sqlite3_prepare_v2(connection, text, -1, &statement, nil))
            statements.append(statement)
            return statement
        }

        @inline(__always)
        private func bind(_ statement: OpaquePointer?, _ column: Int32, _ bytes: UnsafeRawBufferPointer) {
            // A nil destructor means that the bytes stay valid during the step.
            sqlite3_bind_blob(statement, column, bytes.baseAddress, Int32(bytes.count), nil)
        }

        private func step(_ statement: OpaquePointer?) throws {
            let code = sqlite3_step(statement)
            sqlite3_reset(statement)
            try check(code)
        }

        /// Runs the body in a transaction. A single statement is a transaction by itself.
        private func writing(_ count: Int, _ body: () throws -> Void) throws {
            guard count > 1 else { return try body() }
            try step(beginImmediate)
            do {
                try body()
            } catch {
                try execute("ROLLBACK")
                throw error
            }
            try step(commit)
        }

        private func reading<Result>(_ count: Int, _ body: () throws -> Result) throws -> Result {
            guard count > 1 else { return try body() }
            try step(begin)
            let result = try body()
            try step(commit)
            return result
        }

        func put(_ entries: Entries, _ order: ArraySlice<Int>) throws {
            try writing(order.count) {
                for index in order {
                    let code = entries.withKey(index) { key in
                        entries.withValue(index) { value in
                            bind(insert, 1, key)
                            bind(insert, 2, value)
                            return sqlite3_step(insert)
                        }
                    }
                    sqlite3_reset(insert)
                    try check(code)
                }
            }
        }

        func delete(_ entries: Entries, _ order: ArraySlice<Int>) throws {
            try writing(order.count) {
                for index in order {
                    let code = entries.withKey(index) { key in
                        bind(remove, 1, key)
                        return sqlite3_step(remove)
                    }
                    sqlite3_reset(remove)
                    try check(code)
                }
            }
        }

        @inline(__always)
        private func find(_ entries: Entries, _ index: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
            entries.withKey(index) { key in
                bind(select, 1, key)
                if sqlite3_step(select) == SQLITE_ROW {
                    let blob = sqlite3_column_blob(select, 0)
                    body(UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_column_bytes(select, 0))))
                }
            }
            sqlite3_reset(select)
        }

        func get(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            try reading(order.count) {
                var sum = 0
                for index in order { find(entries, index) { sum &+= Int($0[0]) } }
                return sum
            }
        }

        func getEach(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            var sum = 0
            for index in order { find(entries, index) { sum &+= Int($0[0]) } }
            return sum
        }

        func copy(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            try reading(order.count) {
                var sum = 0
                withUnsafeTemporaryAllocation(byteCount: entries.valueSize, alignment: 8) { buffer in
                    for index in order {
                        find(entries, index) {
                            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(buffer.count)))
                        }
                        sum &+= Int(buffer[buffer.count - 1])
                    }
                }
                return sum
            }
        }

        func scan(isReverse: Bool) throws -> Int {
            sqlite3_bind_zeroblob(ascending, 1, 0)
            return steps(isReverse ? descending : ascending, limit: Int.max)
        }

        func scan(_ entries: Entries, from starts: ArraySlice<Int>, length: Int) throws -> Int {
            try reading(starts.count) {
                var bytes = 0
                for start in starts {
                    bytes += entries.withKey(start) { key in
                        bind(ascending, 1, key)
                        return steps(ascending, limit: length)
                    }
                }
                return bytes
            }
        }

        private func steps(_ statement: OpaquePointer?, limit: Int) -> Int {
            defer { sqlite3_reset(statement) }
            var bytes = 0
            var left = limit
            while left > 0, sqlite3_step(statement) == SQLITE_ROW {
                bytes += Int(sqlite3_column_bytes(statement, 0)) + Int(sqlite3_column_bytes(statement, 1))
                left -= 1
            }
            return bytes
        }

        func count(from: [UInt8], to: [UInt8]) throws -> Int {
            defer { sqlite3_reset(counting) }
            return try from.withUnsafeBytes { lower in
                try to.withUnsafeBytes { upper in
                    bind(counting, 1, lower)
                    bind(counting, 2, upper)
                    try check(sqlite3_step(counting))
                    return Int(sqlite3_column_int64(counting, 0))
                }
            }
        }

        func entry(at index: Int) throws -> Int {
            defer { sqlite3_reset(placed) }
            sqlite3_bind_int64(placed, 1, Int64(index))
            try check(sqlite3_step(placed))
            return Int(sqlite3_column_bytes(placed, 0))
        }
    }
#endif
