// SPDX-License-Identifier: Apache-2.0
// SQLite as a key-value store: a WITHOUT ROWID table, prepared statements, WAL with synchronous=FULL.

#if PEER_SQLITE
    import CSQLite

    final class SQLiteEngine: Engine {
        static let name = "sqlite"

        private var connection: OpaquePointer?
        private var insert: OpaquePointer?
        private var select: OpaquePointer?
        private var range: OpaquePointer?
        private var counting: OpaquePointer?

        init(path: String) throws {
            try check(sqlite3_open(path, &connection))
            try execute("PRAGMA journal_mode=WAL")
            try execute("PRAGMA synchronous=FULL")
            try execute("PRAGMA mmap_size=8589934592")
            try execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
            insert = try prepare("INSERT OR REPLACE INTO entries VALUES (?, ?)")
            select = try prepare("SELECT value FROM entries WHERE key = ?")
            range = try prepare("SELECT key, value FROM entries WHERE key >= ? ORDER BY key")
            counting = try prepare("SELECT count(*) FROM entries WHERE key >= ? AND key < ?")
        }

        private func check(_ code: Int32) throws {
            guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
                throw EngineError("sqlite: \(String(cString: sqlite3_errmsg(connection)))")
            }
        }

        private func execute(_ text: String) throws {
            try check(sqlite3_exec(connection, text, nil, nil, nil))
        }

        private func prepare(_ text: String) throws -> OpaquePointer? {
            var statement: OpaquePointer?
            try check(sqlite3_prepare_v2(connection, text, -1, &statement, nil))
            return statement
        }

        private func bind(_ statement: OpaquePointer?, _ column: Int32, _ bytes: UnsafeRawBufferPointer) {
            // A nil destructor means that the bytes outlive the step.
            sqlite3_bind_blob(statement, column, bytes.baseAddress, Int32(bytes.count), nil)
        }

        func write(_ entries: Entries, _ range: Range<Int>) throws {
            try execute("BEGIN IMMEDIATE")
            for index in range {
                let code = entries.withKey(index) { key in
                    entries.withValue(index) { value in
                        bind(insert, 1, key)
                        bind(insert, 2, value)
                        return sqlite3_step(insert)
                    }
                }
                try check(code)
                sqlite3_reset(insert)
            }
            try execute("COMMIT")
        }

        func read(_ entries: Entries, _ order: [Int]) throws -> Int {
            try execute("BEGIN")
            var sum = 0
            for index in order {
                entries.withKey(index) { key in
                    bind(select, 1, key)
                    if sqlite3_step(select) == SQLITE_ROW, let blob = sqlite3_column_blob(select, 0) {
                        sum &+= Int(blob.load(as: UInt8.self))
                    }
                }
                sqlite3_reset(select)
            }
            try execute("COMMIT")
            return sum
        }

        func scan() throws -> Int {
            try steps(from: UnsafeRawBufferPointer(start: nil, count: 0), limit: Int.max)
        }

        func scan(_ entries: Entries, from starts: [Int], length: Int) throws -> Int {
            try execute("BEGIN")
            var bytes = 0
            for start in starts { bytes += try entries.withKey(start) { try steps(from: $0, limit: length) } }
            try execute("COMMIT")
            return bytes
        }

        private func steps(from key: UnsafeRawBufferPointer, limit: Int) throws -> Int {
            if key.isEmpty { sqlite3_bind_zeroblob(range, 1, 0) } else { bind(range, 1, key) }
            defer { sqlite3_reset(range) }
            var bytes = 0
            var left = limit
            while left > 0, sqlite3_step(range) == SQLITE_ROW {
                bytes += Int(sqlite3_column_bytes(range, 0)) + Int(sqlite3_column_bytes(range, 1))
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

        func close() throws {
            for statement in [insert, select, range, counting] { sqlite3_finalize(statement) }
            sqlite3_close(connection)
        }
    }
#endif
