// SPDX-License-Identifier: Apache-2.0
// Aggregates, groups and different rows from an index alone: the results equal those without one, in the same order.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Sale {
    let id: Int
    var section: String?
    var year: Int
    var price: Double?
    var cost: Decimal?
    var isOpen: Bool
}

@Suite("Groups from an index alone")
struct KnownGroupsTests {
    private func sales(_ generator: inout SeededGenerator, _ count: Int) -> [Sale] {
        let sections = ["net", "net", "libs", "é", "e\u{301}", "doc", ""]
        return (0..<count).map { id in
            Sale(
                id: id, section: generator.oneIn(6) ? nil : sections[generator.below(7)],
                year: 2000 + generator.below(6),
                price: generator.oneIn(5) ? nil : Double(generator.below(40)) / 8,
                cost: generator.oneIn(4) ? nil : Decimal(generator.below(30)) / 4, isOpen: generator.oneIn(2))
        }
    }

    private func database(_ sales: [Sale], indexed: Bool) throws -> Database {
        let database = try Database.inMemory(models: Sale.self)
        try database.write { (context) throws in for sale in sales { try sale.save(to: &context) } }
        if indexed {
            try database.createIndex(ValueIndex("bySection", \Sale.section, \.year))
            try database.createIndex(ValueIndex("byYear", \Sale.year, \.price, \.cost))
            try database.createIndex(ValueIndex("byPrice", \Sale.price))
            try database.createIndex(ValueIndex("byCost", \Sale.cost.desc))
        }
        return database
    }

    private func plan(_ database: Database, _ text: String) throws -> String {
        try database.read { try Statement(text).explain(in: $0) }
    }

    @Test(
        "groups in an index are read only from the index",
        arguments: [
            ("SELECT MIN(price) AS v FROM Sale", "read the first and the last row of an order"),
            ("SELECT MAX(price) AS v, MIN(cost) AS c, COUNT(*) AS n FROM Sale", "read the first and the last row"),
            ("SELECT MAX(price) AS v FROM Sale WHERE year = 2003", "read the first and the last row"),
            ("SELECT SUM(price) AS s, AVG(cost) AS a FROM Sale WHERE year > 2003", "covering"),
            ("SELECT AVG(price) AS a, COUNT(price) AS n FROM Sale", "covering"),
            ("SELECT section, COUNT(*) AS n FROM Sale GROUP BY section", "count groups by index bySection"),
            (
                "SELECT section, year, COUNT(*) AS n FROM Sale GROUP BY section, year ORDER BY n DESC LIMIT 3",
                "count groups by index bySection"
            ),
            (
                "SELECT year, COUNT(*) AS n FROM Sale WHERE section = 'net' GROUP BY year HAVING COUNT(*) > 1",
                "count groups by index bySection"
            ),
            ("SELECT DISTINCT section FROM Sale", "distinct rows by index bySection"),
            (
                "SELECT DISTINCT section, year FROM Sale ORDER BY year DESC, section LIMIT 4 OFFSET 1",
                "distinct rows by index bySection"
            ),
            ("SELECT COUNT(DISTINCT section) AS n FROM Sale", "count groups by index bySection"),
        ])
    func plans(text: String, expected: String) throws {
        var generator = SeededGenerator(seed: 3)
        let sales = sales(&generator, 400)
        let (plain, indexed) = (try database(sales, indexed: false), try database(sales, indexed: true))
        #expect(try !plan(plain, text).contains("index"))
        let found = try plan(indexed, text)
        #expect(found.contains(expected), "\(found)")
        #expect(try indexed.query(text).map(\.json) == plain.query(text).map(\.json))
    }

    @Test("random aggregates are the same with and without indexes", arguments: SeededGenerator.seeds(3))
    func differential(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let sales = sales(&generator, 120)
        let (plain, indexed) = (try database(sales, indexed: false), try database(sales, indexed: true))
        func pick(_ texts: [String]) -> String { texts[generator.below(texts.count)] }
        let columns = ["section", "year", "price", "cost", "isOpen"]
        for _ in 0..<150 {
            let condition = pick([
                "", " WHERE year = 2002", " WHERE year > 2003 AND price IS NOT NULL", " WHERE section = 'net'",
                " WHERE price < 2 OR price > 4", " WHERE isOpen", " WHERE section LIKE 'n%'", " WHERE id > 500",
                " WHERE year + 0 > 2002",
            ])
            let aggregates = (0...generator.below(3)).map { place in
                let column = pick(columns)
                let text = pick([
                    "COUNT(*)", "COUNT(\(column))", "COUNT(DISTINCT \(column))", "MIN(\(column))", "MAX(\(column))",
                    "SUM(price)", "AVG(cost)", "SUM(year)", "MAX(year + 1)",
                ])
                return "\(text) AS v\(place)"
            }.joined(separator: ", ")
            let keys = Array(Set((0...generator.below(2)).map { _ in pick(columns) })).sorted().joined(separator: ", ")
            let order = pick(["", " ORDER BY v0", " ORDER BY v0 DESC LIMIT 3", " LIMIT 2 OFFSET 1"])
            let text =
                switch generator.below(4) {
                case 0: "SELECT \(aggregates) FROM Sale\(condition)"
                case 1: "SELECT \(keys), \(aggregates) FROM Sale\(condition) GROUP BY \(keys)\(order)"
                case 2: "SELECT \(keys), COUNT(*) AS v0 FROM Sale\(condition) GROUP BY \(keys)\(order)"
                default:
                    "SELECT DISTINCT \(keys) FROM Sale\(condition)"
                        + pick(["", " ORDER BY \(keys)", " LIMIT 3", " ORDER BY \(keys) DESC LIMIT 3 OFFSET 1"])
                }
            // Equal texts may stand for each other.
            func rows(_ database: Database) throws -> [String] {
                try database.query(text).map { $0.json.precomposedStringWithCanonicalMapping }
            }
            #expect(try rows(plain) == rows(indexed), "\(text)")
        }
    }

    /// A condition that can't become a filter makes the statement read all rows.
    @Test("different rows come in the requested order, with any order", arguments: SeededGenerator.seeds(3))
    func distinctOrders(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let sales = sales(&generator, 60)
        let (plain, indexed) = (try database(sales, indexed: false), try database(sales, indexed: true))
        func some() -> [String] {
            let columns = ["section", "year", "price", "cost", "isOpen"].shuffled(using: &generator)
            return Array(columns.prefix(1 + generator.below(3)))
        }
        func rows(_ database: Database, _ text: String) throws -> [String] {
            try database.query(text).map { $0.json.precomposedStringWithCanonicalMapping }
        }
        for _ in 0..<200 {
            let keys = some()
            // With the last term it is a total order of the rows.
            let terms = (some() + [generator.oneIn(2) ? "id" : keys.joined(separator: ", ")]).map { column in
                let direction = ["", " DESC"][generator.below(2)]
                return column + direction + ["", " NULLS FIRST", " NULLS LAST"][generator.below(3)]
            }
            let select = "SELECT DISTINCT \(keys.joined(separator: ", ")) FROM Sale"
            let cut = ["", " LIMIT 3", " LIMIT 4 OFFSET 2"][generator.below(3)]
            let tail = " ORDER BY \(terms.joined(separator: ", "))\(cut)"
            let expected = try rows(plain, select + " WHERE id + 0 >= 0" + tail)
            for database in [plain, indexed] {
                #expect(try rows(database, select + tail) == expected, "\(select)\(tail)")
            }
            let first = try rows(plain, select + " WHERE id + 0 >= 0")
            for database in [plain, indexed] {
                let cut = try rows(database, select + " LIMIT 3 OFFSET 1")
                #expect(cut == Array(try rows(database, select).dropFirst().prefix(3)))
                #expect(Set(try rows(database, select)) == Set(first))
            }
        }
    }

    @Test("the first different rows of an index are read without the others")
    func firstRows() throws {
        var generator = SeededGenerator(seed: 5)
        let sales = (0..<4_000).map { id in
            Sale(id: id, section: "s\(generator.below(9))", year: id, price: nil, cost: nil, isOpen: true)
        }
        let database = try database(sales, indexed: true)
        let text = "SELECT DISTINCT year FROM Sale LIMIT 3 OFFSET 1"
        let pages = try database.pagesRead { (context) throws in
            #expect(try Statement(text).resolve(in: context).map(\.json) == [1, 2, 3].map { "{\"year\":\($0)}" })
        }
        #expect(pages < 40, "\(pages)")
    }

    @Test("columns of the sort come before columns of DISTINCT")
    func distinctByAnother() throws {
        let database = try database([], indexed: false)
        try database.write { (context) throws in
            for (id, section, price) in [(1, "b", 5.0), (2, "a", 2), (3, "b", 1)] {
                try Sale(id: id, section: section, year: 1, price: price, cost: nil, isOpen: true).save(to: &context)
            }
        }
        for order in ["price", "price NULLS LAST, section", "price + 0"] {
            let rows = try database.query("SELECT DISTINCT section FROM Sale ORDER BY \(order)")
            #expect(try rows.map { try $0.value("section", as: String.self) } == ["b", "a"], "\(order)")
        }
    }

    @Test("groups come in the order of their keys, null first")
    func order() throws {
        let database = try database([], indexed: false)
        try database.write { (context) throws in
            for (id, section) in ["b", nil, "a", "b", "c", "a"].enumerated() {
                try Sale(id: id, section: section, year: 1, price: nil, cost: nil, isOpen: true).save(to: &context)
            }
        }
        #expect(
            try database.query("SELECT section, MAX(id) AS m FROM Sale GROUP BY section").map(\.json) == [
                #"{"section":null,"m":1}"#, #"{"section":"a","m":5}"#, #"{"section":"b","m":3}"#,
                #"{"section":"c","m":4}"#,
            ])
    }
}
