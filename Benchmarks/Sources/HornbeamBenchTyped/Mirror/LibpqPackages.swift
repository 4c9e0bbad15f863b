// SPDX-License-Identifier: Apache-2.0
// Packages read from the mirror's tables directly with libpq: the statements of `PostgresReader`, with every column
// converted to the program's type.

#if PEER_POSTGRES
    import BenchHarness
    import CLibpq
    import Foundation

    /// `@unchecked Sendable`: one task at a time uses it.
    final class LibpqPackages: @unchecked Sendable {
        private let connection: OpaquePointer?
        private static let columns =
            "id, name, version, source, section, summary, \"installedSize\", updated, maintainer"

        init(_ address: String) throws {
            connection = PQconnectdb(address)
            guard PQstatus(connection) == CONNECTION_OK else { throw failure }
            for setting in ["TimeZone = 'UTC'", "DateStyle = 'ISO, YMD'"] {
                PQclear(PQexec(connection, "SET \(setting)"))
            }
        }

        deinit { PQfinish(connection) }

        private var failure: BenchError { BenchError(String(cString: PQerrorMessage(connection))) }

        func package(_ id: Int) throws -> Int {
            try sum("SELECT \(Self.columns) FROM bench.\"Package\" WHERE id = $1", "\(id)")
        }

        func packages(ofSection section: String, limit: Int) throws -> Int {
            try sum(
                "SELECT \(Self.columns) FROM bench.\"Package\" WHERE section = $1 ORDER BY \"installedSize\", id "
                    + "LIMIT \(limit)", section)
        }

        private func sum(_ sql: String, _ parameter: String) throws -> Int {
            let result = parameter.withCString { PQexecParams(connection, sql, 1, nil, [$0], nil, nil, 0) }
            defer { PQclear(result) }
            guard PQresultStatus(result) == PGRES_TUPLES_OK else { throw failure }
            var packages: [PackageSample] = []
            for row in 0..<PQntuples(result) { packages.append(package(result, row)) }
            return packages.reduce(0) { $0 &+ $1.sum }
        }

        private func package(_ result: OpaquePointer?, _ row: Int32) -> PackageSample {
            func text(_ column: Int32) -> String { String(cString: PQgetvalue(result, row, column)) }
            func number(_ column: Int32) -> Int { atol(PQgetvalue(result, row, column)) }
            // 2024-05-02 17:30:00+00
            func part(_ start: Int) -> Int32 { atoi(PQgetvalue(result, row, 7) + start) }
            var time = tm()
            (time.tm_year, time.tm_mon, time.tm_mday) = (part(0) - 1900, part(5) - 1, part(8))
            (time.tm_hour, time.tm_min, time.tm_sec) = (part(11), part(14), part(17))
            return PackageSample(
                id: number(0), name: text(1), version: text(2), source: text(3), section: text(4), summary: text(5),
                installedSize: number(6), updated: Date(timeIntervalSince1970: Double(timegm(&time))),
                maintainer: number(8))
        }
    }
#endif
