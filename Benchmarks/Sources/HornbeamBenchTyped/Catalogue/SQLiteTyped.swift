// SPDX-License-Identifier: Apache-2.0
// The catalogue in SQLite, used directly: the same columns and indexes, prepared statements, a connection for each
// thread, WAL with synchronous=FULL, rows read into structs of the same shape.

#if PEER_SQLITE
    import BenchHarness
    import CSQLite
    import Foundation

    private struct PackageRow {
        let id: Int
        let name: String
        let version: String
        let source: String
        let section: String
        let summary: String
        let installedSize: Int
        let updated: Date

        var sum: Int { packageSum(id, name, version, source, section, summary, installedSize, updated) }
    }

    private struct MaintainerRow {
        let id: Int
        let name: String
        let email: String
        var packages: [PackageRow]
    }

    final class SQLiteTyped: TypedStore, @unchecked Sendable {
        // Sendable: one thread uses it; other threads get their own from `another`.
        private static let columns = "id, name, version, source, section, summary, installedSize, updated"
        private let path: String
        private var connection: OpaquePointer?
        private var statements: [OpaquePointer?] = []
        private var begin: OpaquePointer?
        private var beginImmediate: OpaquePointer?
        private var commit: OpaquePointer?
        private var putMaintainer: OpaquePointer?
        private var putPackage: OpaquePointer?
        private var byID: OpaquePointer?
        private var bySource: OpaquePointer?
        private var bySection: OpaquePointer?
        private var maintainers: OpaquePointer?
        private var byMaintainer: OpaquePointer?

        init(path: String) throws {
            self.path = path
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
            try check(sqlite3_open_v2(path, &connection, flags, nil))
            try check(sqlite3_busy_timeout(connection, 60_000))
            for text in [
                "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA mmap_size=8589934592",
                "PRAGMA cache_size=-65536",
                """
                CREATE TABLE IF NOT EXISTS maintainer
                (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL)
                """,
                """
                CREATE TABLE IF NOT EXISTS package (id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL,
                source TEXT NOT NULL, section TEXT NOT NULL, summary TEXT NOT NULL, installedSize INTEGER NOT NULL,
                updated REAL NOT NULL, maintainer INTEGER NOT NULL)
                """,
                "CREATE INDEX IF NOT EXISTS bySource ON package (source)",
                "CREATE INDEX IF NOT EXISTS bySection ON package (section, installedSize)",
                "CREATE INDEX IF NOT EXISTS byMaintainer ON package (maintainer)",
            ] { try check(sqlite3_exec(connection, text, nil, nil, nil)) }
            try prepareAll()
        }

        private func prepareAll() throws {
            begin = try prepare("BEGIN")
            beginImmediate = try prepare("BEGIN IMMEDIATE")
            commit = try prepare("COMMIT")
            putMaintainer = try prepare(
                """
                INSERT INTO maintainer VALUES (?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email
                """)
            putPackage = try prepare(
                """
                INSERT INTO package VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET name = excluded.name, version = excluded.version,
                source = excluded.source, section = excluded.section, summary = excluded.summary,
                installedSize = excluded.installedSize, updated = excluded.updated, maintainer = excluded.maintainer
                """)
            byID = try prepare("SELECT \(Self.columns) FROM package WHERE id = ?")
            bySource = try prepare("SELECT \(Self.columns) FROM package WHERE source = ?")
            bySection = try prepare(
                """
                SELECT \(Self.columns) FROM package WHERE section = ? AND installedSize >= ? AND installedSize < ?
                ORDER BY installedSize, id LIMIT ?
                """)
            maintainers = try prepare("SELECT id, name, email FROM maintainer WHERE id >= ? AND id < ? ORDER BY id")
            byMaintainer = try prepare(
                """
                SELECT \(Self.columns), maintainer FROM package WHERE maintainer >= ? AND maintainer < ?
                ORDER BY maintainer, id
                """)
        }

        func another() throws -> any TypedStore { try SQLiteTyped(path: path) }

        func close() throws {
            for statement in statements { sqlite3_finalize(statement) }
            statements = []
            sqlite3_close(connection)
            connection = nil
        }

        deinit { try? close() }

        // MARK: Saving

        func save(_ maintainers: ArraySlice<MaintainerSample>) throws {
            try writing(maintainers.count) {
                for sample in maintainers {
                    sqlite3_bind_int64(putMaintainer, 1, Int64(sample.id))
                    try bind(putMaintainer, 2, [sample.name, sample.email][...]) { try step(putMaintainer) }
                }
            }
        }

        func save(_ packages: ArraySlice<PackageSample>) throws {
            try writing(packages.count) {
                for sample in packages {
                    sqlite3_bind_int64(putPackage, 1, Int64(sample.id))
                    sqlite3_bind_int64(putPackage, 7, Int64(sample.installedSize))
                    sqlite3_bind_double(putPackage, 8, sample.updated.timeIntervalSince1970)
                    sqlite3_bind_int64(putPackage, 9, Int64(sample.maintainer))
                    let texts = [sample.name, sample.version, sample.source, sample.section, sample.summary]
                    try bind(putPackage, 2, texts[...]) { try step(putPackage) }
                }
            }
        }

        /// Runs the body in a transaction. A single statement is a transaction by itself.
        private func writing(_ count: Int, _ body: () throws -> Void) throws {
            guard count > 1 else { return try body() }
            try step(beginImmediate)
            try body()
            try step(commit)
        }

        // MARK: Reading

        func package(_ id: Int) throws -> Int {
            sqlite3_bind_int64(byID, 1, Int64(id))
            return try packages(byID).first?.sum ?? 0
        }

        func packages(ofSource source: String) throws -> Int {
            try bind(bySource, 1, [source][...]) { try packages(bySource) }.reduce(0) { $0 &+ $1.sum }
        }

        func packages(_ range: SectionRange, limit: Int) throws -> Int {
            sqlite3_bind_int64(bySection, 2, Int64(range.sizes.lowerBound))
            sqlite3_bind_int64(bySection, 3, Int64(range.sizes.upperBound))
            sqlite3_bind_int64(bySection, 4, Int64(limit))
            return try bind(bySection, 1, [range.section][...]) { try packages(bySection) }.reduce(0) { $0 &+ $1.sum }
        }

        func maintainers(_ ids: Range<Int>) throws -> Int {
            try step(begin)
            var rows: [MaintainerRow] = []
            sqlite3_bind_int64(maintainers, 1, Int64(ids.lowerBound))
            sqlite3_bind_int64(maintainers, 2, Int64(ids.upperBound))
            try each(maintainers) {
                rows.append(
                    MaintainerRow(
                        id: integer(maintainers, 0), name: text(maintainers, 1), email: text(maintainers, 2),
                        packages: []))
            }
            sqlite3_bind_int64(byMaintainer, 1, Int64(ids.lowerBound))
            sqlite3_bind_int64(byMaintainer, 2, Int64(ids.upperBound))
            var place = 0
            try each(byMaintainer) {
                let maintainer = integer(byMaintainer, 8)
                while rows[place].id < maintainer { place += 1 }
                rows[place].packages.append(row(byMaintainer))
            }
            try step(commit)
            return rows.reduce(0) { sum, row in
                let sample = MaintainerSample(id: row.id, name: row.name, email: row.email)
                return row.packages.reduce(sum &+ sample.sum) { $0 &+ $1.sum }
            }
        }

        private func packages(_ statement: OpaquePointer?) throws -> [PackageRow] {
            var rows: [PackageRow] = []
            try each(statement) { rows.append(row(statement)) }
            return rows
        }

        private func row(_ statement: OpaquePointer?) -> PackageRow {
            PackageRow(
                id: integer(statement, 0), name: text(statement, 1), version: text(statement, 2),
                source: text(statement, 3), section: text(statement, 4), summary: text(statement, 5),
                installedSize: integer(statement, 6),
                updated: Date(timeIntervalSince1970: sqlite3_column_double(statement, 7)))
        }

        // MARK: Statements

        private func check(_ code: Int32) throws {
            guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
                throw BenchError("sqlite: \(String(cString: sqlite3_errmsg(connection)))")
            }
        }

        private func prepare(_ text: String) throws -> OpaquePointer? {
            var statement: OpaquePointer?
            try check(sqlite3_prepare_v3(connection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
            statements.append(statement)
            return statement
        }

        private func step(_ statement: OpaquePointer?) throws {
            let code = sqlite3_step(statement)
            sqlite3_reset(statement)
            try check(code)
        }

        private func each(_ statement: OpaquePointer?, _ body: () -> Void) throws {
            defer { sqlite3_reset(statement) }
            var code = sqlite3_step(statement)
            while code == SQLITE_ROW {
                body()
                code = sqlite3_step(statement)
            }
            try check(code)
        }

        /// Binds texts that SQLite doesn't copy, for as long as the body runs.
        private func bind<Result>(
            _ statement: OpaquePointer?, _ column: Int32, _ texts: ArraySlice<String>, _ body: () throws -> Result
        ) throws -> Result {
            guard var text = texts.first else { return try body() }
            return try text.withUTF8 { bytes in
                _ = bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text(statement, column, $0.baseAddress, Int32($0.count), nil)
                }
                return try bind(statement, column + 1, texts.dropFirst(), body)
            }
        }

        private func integer(_ statement: OpaquePointer?, _ column: Int32) -> Int {
            Int(sqlite3_column_int64(statement, column))
        }

        private func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
            let bytes = UnsafeBufferPointer(
                start: sqlite3_column_text(statement, column), count: Int(sqlite3_column_bytes(statement, column)))
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
