// SPDX-License-Identifier: Apache-2.0
// A caller that stops after the first rows of an index's order reads a few pages, with any number of rows, with and
// without a limit.

import HornbeamSecondaryIndexes
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Clerk {
    @Index<Self>(\.salary) private var bySalary
    @Index<Self>(\.floor, \.salary) private var byFloor

    let id: Int
    var salary: Int
    var floor: Int
    var room: Int
}

private let pay = IndexColumn<Int>("pay")

@Suite("Stopping at the first rows of an order")
struct EarlyStopTests {
    private static let count = 8_000
    private static let index = SecondaryIndex("pays", version: "1", columns: [pay]) {
        (clerk: Clerk, row: inout IndexRowWriter) in row[pay] = clerk.salary
    }

    private static func database() throws -> Database {
        let database = try Database.counting(Clerk.self)
        try database.write { context in
            for id in 0..<count {
                try Clerk(id: id, salary: id * 7_919 % count / 2, floor: id % 4, room: id % 50).save(to: &context)
            }
        }
        try database.register(index)
        return database
    }

    @Test(
        "of a statement",
        arguments: [
            ("SELECT id FROM Clerk ORDER BY salary DESC", 1),
            ("SELECT * FROM Clerk ORDER BY salary DESC LIMIT 3000 OFFSET 4000", 70),
            ("SELECT * FROM Clerk ORDER BY salary DESC LIMIT 9223372036854775807", 70),
            ("SELECT * FROM Clerk ORDER BY salary", 20),
            ("SELECT * FROM Clerk WHERE salary >= 0 ORDER BY salary DESC", 3),
            ("SELECT * FROM Clerk WHERE floor = 2 ORDER BY salary DESC", 3),
            ("SELECT * FROM Clerk WHERE room < 40 ORDER BY salary", 3),
            ("SELECT * FROM Clerk WHERE room * 2 < 80 ORDER BY salary LIMIT 3", 3),
            ("SELECT DISTINCT salary, room FROM Clerk ORDER BY salary DESC LIMIT 4", 4),
            ("SELECT a.id AS x, b.id AS y FROM Clerk a JOIN Clerk b ON b.id = a.room ORDER BY a.salary LIMIT 3", 3),
        ])
    func statements(text: String, wanted: Int) throws {
        let database = try Self.database()
        let pages = try database.pagesReadAgain { (context) throws in
            var rows = 0
            try Statement(text).forEach(in: context) { _ in
                rows += 1
                return rows < wanted
            }
            #expect(rows == wanted)
        }
        // The look-up of each further row reads two pages.
        #expect(pages < 60 + 2 * (wanted - 1), "\(text): \(pages) pages")
    }

    @Test("of a secondary index's query: ids, rows and entities, either way, with a condition or without one")
    func secondary() throws {
        let database = try Self.database()
        for text in ["ORDER BY pay DESC", "ORDER BY pay", "WHERE pay >= 0 ORDER BY pay DESC"] {
            func check(_ name: String, _ body: (SecondaryQuery<Clerk>, Context) throws -> Void) throws {
                let pages = try database.pagesReadAgain { try body(Self.index.query(text), $0) }
                #expect(pages < 60, "\(name) \(text): \(pages) pages")
            }
            try check("ids") { query, context in try query.forEachID(in: context) { _, stop in stop = true } }
            try check("rows") { query, context in try query.forEachRow(in: context) { _, stop in stop = true } }
            try check("entities") { query, context in try query.forEach(in: context) { _, _, stop in stop = true } }
            try check("cursor") { query, context in
                var cursor = try query.cursor(in: context)
                #expect(try cursor.next() != nil)
            }
        }
    }

    @Test("without stopping, all rows come once and in order, with few more reads than a sort has")
    func whole() throws {
        let database = try Self.database()
        for text in [
            "SELECT id, salary FROM Clerk ORDER BY salary DESC", "SELECT id, salary FROM Clerk ORDER BY salary",
            "SELECT id, salary FROM Clerk WHERE room < 30 ORDER BY salary",
            "SELECT id, salary FROM Clerk WHERE floor = 1 ORDER BY salary DESC",
        ] {
            var all: [[Value?]] = []
            let pages = try database.pagesRead { (context) throws in
                try Statement(text).forEach(in: context) { row in
                    all.append([row["id"], row["salary"]])
                    return true
                }
            }
            let sorted = try database.read { try Statement(text).resolve(in: $0).map { [$0["id"], $0["salary"]] } }
            #expect(all == sorted, "\(text)")
            // A quarter of the rows is on one floor. The look-up of each row reads two pages, in addition to the
            // index's pages.
            #expect(pages < Self.count / 2 + 60, "\(text): \(pages) pages")
        }
    }
}
