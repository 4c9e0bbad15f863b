// SPDX-License-Identifier: Apache-2.0
// SQLite used directly: one connection for each thread, prepared statements, texts bound without a copy. On disk it
// uses WAL with synchronous=FULL, a memory map and 64 MB of cache.

#if PEER_SQLITE
    import BenchHarness
    import CSQLite

    final class SQLiteConnection {
        private let connection: OpaquePointer
        private var statements: [OpaquePointer] = []
        private let beginImmediate: SQLiteStatement
        private let commit: SQLiteStatement

        /// `path` is nil for a database in memory.
        init(path: String?, schema: [String]) throws {
            var opened: OpaquePointer?
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
            let code = sqlite3_open_v2(path ?? ":memory:", &opened, flags, nil)
            guard code == SQLITE_OK, let connection = opened else {
                sqlite3_close(opened)
                throw BenchError("sqlite: can't be opened, code \(code)")
            }
            self.connection = connection
            let settings =
                path == nil
                ? []
                : [
                    "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA mmap_size=8589934592",
                    "PRAGMA cache_size=-65536",
                ]
            for text in settings + schema {
                guard sqlite3_exec(connection, text, nil, nil, nil) == SQLITE_OK else {
                    throw BenchError("sqlite: \(String(cString: sqlite3_errmsg(connection))) in \(text)")
                }
            }
            beginImmediate = try SQLiteStatement("BEGIN IMMEDIATE", connection)
            commit = try SQLiteStatement("COMMIT", connection)
            statements = [beginImmediate.pointer, commit.pointer]
        }

        func prepare(_ text: String) throws -> SQLiteStatement {
            let statement = try SQLiteStatement(text, connection)
            statements.append(statement.pointer)
            return statement
        }

        func transaction(_ body: () throws -> Void) throws {
            try beginImmediate.run()
            try body()
            try commit.run()
        }

        func close() {
            for statement in statements { sqlite3_finalize(statement) }
            statements = []
            sqlite3_close(connection)
        }
    }

    struct SQLiteStatement {
        let pointer: OpaquePointer
        private let connection: OpaquePointer

        fileprivate init(_ text: String, _ connection: OpaquePointer) throws {
            var statement: OpaquePointer?
            let code = sqlite3_prepare_v3(connection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
            guard code == SQLITE_OK, let statement else {
                throw BenchError("sqlite: \(String(cString: sqlite3_errmsg(connection))) in \(text)")
            }
            pointer = statement
            self.connection = connection
        }

        private func check(_ code: Int32) throws {
            guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
                throw BenchError("sqlite: \(String(cString: sqlite3_errmsg(connection)))")
            }
        }

        /// Runs a statement that returns no rows.
        func run() throws {
            let code = sqlite3_step(pointer)
            sqlite3_reset(pointer)
            try check(code)
        }

        func each(_ body: () -> Void) throws {
            defer { sqlite3_reset(pointer) }
            var code = sqlite3_step(pointer)
            while code == SQLITE_ROW {
                body()
                code = sqlite3_step(pointer)
            }
            try check(code)
        }

        func bind(_ place: Int32, _ value: Int) { sqlite3_bind_int64(pointer, place, Int64(value)) }

        func bind(_ place: Int32, _ value: Double) { sqlite3_bind_double(pointer, place, value) }

        /// Binds a text that SQLite doesn't copy, for as long as the body runs.
        func bind<Result>(_ place: Int32, _ text: String, _ body: () throws -> Result) rethrows -> Result {
            var text = text
            return try text.withUTF8 { bytes in
                _ = bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text(pointer, place, $0.baseAddress, Int32($0.count), nil)
                }
                return try body()
            }
        }

        func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(pointer, column)) }

        func double(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

        func text(_ column: Int32) -> String {
            let start = sqlite3_column_text(pointer, column)
            let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
