// SPDX-License-Identifier: Apache-2.0
// The sales in SQLite, used directly: an index that covers the totals, and SUM and GROUP BY over it.

#if PEER_SQLITE
    import BenchHarness
    import CSQLite

    final class SQLiteSales: SalesStore {
        private let connection: SQLiteConnection
        private let put: SQLiteStatement
        private let sum: SQLiteStatement
        private let groups: SQLiteStatement

        init(path: String) throws {
            connection = try SQLiteConnection(
                path: path,
                schema: ["CREATE TABLE sale (id INTEGER PRIMARY KEY, year INT, month INT, day INT, cents INT)"])
            put = try connection.prepare("INSERT OR REPLACE INTO sale VALUES (?, ?, ?, ?, ?)")
            sum = try connection.prepare(
                "SELECT sum(cents) FROM sale WHERE (year, month) >= (?, ?) AND (year, month) < (?, ?)")
            groups = try connection.prepare(
                "SELECT sum(cents) FROM sale GROUP BY year, month ORDER BY year, month")
        }

        func save(_ sales: ArraySlice<SaleSample>) throws {
            try connection.transaction {
                for sale in sales {
                    for (place, value) in [sale.id, sale.year, sale.month, sale.day, sale.cents].enumerated() {
                        put.bind(Int32(place + 1), value)
                    }
                    try put.run()
                }
            }
        }

        func buildIndex() throws {
            try connection.prepare("CREATE INDEX saleByDay ON sale (year, month, day, cents)").run()
        }

        func total(_ months: Range<Int>) throws -> Int {
            for (place, months) in [months.lowerBound, months.upperBound].enumerated() {
                sum.bind(Int32(2 * place + 1), months / 12)
                sum.bind(Int32(2 * place + 2), months % 12 + 1)
            }
            var total = 0
            try sum.each { total = sum.integer(0) }
            return total
        }

        func totalsOfMonths() throws -> [Int] {
            var totals: [Int] = []
            try groups.each { totals.append(groups.integer(0)) }
            return totals
        }

        func close() { connection.close() }
    }
#endif
