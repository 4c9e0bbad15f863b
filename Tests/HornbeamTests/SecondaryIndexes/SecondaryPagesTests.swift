// SPDX-License-Identifier: Apache-2.0
// The costs of a secondary index's queries: the number of pages read, and their trees.

import Foundation
import HornbeamPages
import HornbeamSecondaryIndexes
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("The costs of queries of secondary indexes")
struct SecondaryPagesTests {
    private static let count = 30_000

    private func filled(_ idx: SecondaryIndex<Employee>) throws -> Database {
        let database = try Database.counting(Employee.self)
        try database.write { (context) throws in
            for id in 0..<Self.count {
                try Employee(id: id, department: "d\(id % 100)", salary: Double(id)).save(to: &context)
            }
        }
        try database.register(idx)
        return database
    }

    /// Returns the pages that a read needs in addition: the catalogue's path and the schema's.
    private func overhead(_ database: Database, _ idx: SecondaryIndex<Employee>) throws -> Int {
        try database.pagesRead { (context) throws in
            #expect(try idx.query(salary == -1).firstID(in: context) == nil)
        }
    }

    @Test("the first, a count and the least cost a path down a tree each, a known set a look-up each")
    func few() throws {
        let idx = payroll(orders: [[department, salary]])
        let database = try filled(idx)
        let overhead = try overhead(database, idx)
        /// Returns the pages that `body` reads, without those of any query.
        func pages(_ body: (Context) throws -> Void) throws -> Int { try database.pagesRead(body) - overhead }
        // The trees have a root, perhaps a level of branches, and leaves.
        let height = 3
        // Proves that pages are counted: reading all rows takes far more than each of these bounds.
        let scan = try pages { (context) throws in #expect(try idx.query().rows(in: context).count == Self.count) }
        #expect(scan > 100, "\(scan)")

        var found = try pages { (context) throws in
            #expect(try idx.query().sorted(by: salary.descending).firstID(in: context) == Self.count - 1)
        }
        #expect(found <= height + 1, "first: \(found)")
        found = try pages { (context) throws in
            #expect(try idx.query(salary >= 100 && salary < 20_100).count(in: context) == 20_000)
        }
        #expect(found <= 2 * height, "count: \(found)")
        found = try pages { (context) throws in
            #expect(try idx.query(department == "d7").min(salary, in: context) == 7)
        }
        #expect(found <= 4 * height, "least: \(found)")
        found = try pages { (context) throws in
            let query = try idx.query("WHERE department = ? ORDER BY salary DESC LIMIT 2 OFFSET 200", "d7")
            #expect(try query.ids(in: context) == [9_907, 9_807])
        }
        // The beginning and end of the department and of the page, and its two entities.
        #expect(found <= 5 * height, "page: \(found)")
        found = try pages { (context) throws in
            let ids = (0..<50).map { $0 * 130 }
            #expect(try idx.query().ids(ids).sum(salary, in: context) == Double(ids.reduce(0, +)))
        }
        #expect(found <= 50 * height, "known set: \(found)")
        found = try pages { (context) throws in
            let counts = try idx.query().grouped(by: department).count(in: context)
            #expect(counts.count == 100 && counts.allSatisfy { $0.count == Self.count / 100 })
        }
        #expect(found <= 100 * 2 * height, "groups: \(found)")
    }

    @Test("500 of many entities are looked up, without the others")
    func known() throws {
        let idx = payroll()
        let database = try filled(idx)
        let ids = (0..<500).map { $0 * 13 }
        try database.read { (context) throws in
            let plan = try idx.query().ids(ids).explain(in: context)
            #expect(plan.access == .ids(count: 500), "\(plan)")
        }
        let found = try database.pagesRead { (context) throws in
            #expect(try idx.query().ids(ids).sum(salary, in: context) == Double(ids.reduce(0, +)))
        }
        #expect(found > 0 && found <= 500 * 3, "\(found)")
    }

    @Test("a partial index has only entries and pages of its own entities")
    func partial() throws {
        let few = SecondaryIndex("few", version: "1", columns: [salary]) {
            (employee: Employee, row: inout IndexRowWriter) in
            if employee.id % 30 == 0 { row[salary] = employee.salary }
        }
        let database = try filled(payroll())
        try database.register(few)
        let indexes = try database.registeredIndexes()
        let part = try #require(indexes.first { $0.name == "few" })
        let whole = try #require(indexes.first { $0.name == "idx" })
        #expect(part.entries == Self.count / 30 && whole.entries == Self.count)
        #expect(part.bytes > 0 && part.bytes * 15 < whole.bytes, "\(part.bytes) of \(whole.bytes)")
    }

    @Test("indexed values are read without a page of the entities")
    func covered() throws {
        let idx = payroll()
        let database = try filled(idx)
        // Without the entities' rows, a query that needs them would fail.
        try database.write { (context) throws in
            let transaction = try context.session.core.transaction
            let rows = try #require(try transaction.tree("e:Employee"))
            _ = try transaction.deleteRange(rows, from: [], to: [])
            let query = idx.query(salary >= 29_998)
            #expect(try query.rows(in: context).map { $0[department] } == ["d98", "d99"])
            #expect(try query.ids(in: context) == [29_998, 29_999])
            #expect(try query.sum(salary, in: context) == 59_997)
            #expect(try query.resolve(in: context).isEmpty)
        }
    }

    @Test("a save that changes no column doesn't touch a tree of the index; one column, its own tree and the rows")
    func untouched() throws {
        let database = try staffed(payroll())
        func changed(_ employee: Employee) throws -> [String] {
            var names: [String] = []
            try database.write { (context) throws in
                try employee.save(to: &context)
                let transaction = try context.session.core.transaction
                for name in ["m:Employee:idx", "m1:Employee:idx", "m2:Employee:idx"] {
                    let tree = try #require(try transaction.tree(name))
                    if transaction.treesChanged.contains(tree) { names.append(name) }
                }
            }
            return names
        }
        #expect(try changed(Employee(id: 1, name: "other", department: "engineering", salary: 150_000)) == [])
        #expect(
            try changed(Employee(id: 1, department: "engineering", salary: 1)) == ["m:Employee:idx", "m2:Employee:idx"])
    }
}
