// SPDX-License-Identifier: Apache-2.0
// What queries of a secondary index cost: pages that are looked at, and whose they are.

import Foundation
import HornbeamPages
import HornbeamTree
import Testing

@testable import Hornbeam

@Suite("What queries of secondary indexes cost")
struct SecondaryPagesTests {
    private static let count = 30_000

    private func filled(_ idx: SecondaryIndex<Employee>) throws -> Database {
        let database = try Database.inMemory(models: Employee.self)
        try database.write { (context) throws in
            for id in 0..<Self.count {
                try Employee(id: id, department: "d\(id % 100)", salary: Double(id)).save(to: &context)
            }
        }
        try database.register(idx)
        return database
    }

    private func looks(_ database: Database, _ body: (Context) throws -> Void) throws -> UInt64 {
        let before = database.store.statistics.cache
        try database.read(body)
        let after = database.store.statistics.cache
        return after.hits + after.misses - before.hits - before.misses
    }

    @Test("Y11, Y13, Y18: the first, a count, the least: some pages; a known set: a look-up each")
    func few() throws {
        let idx = payroll(orders: [[department, salary]])
        let database = try filled(idx)
        // Catalogue, trees of the index, and a way down.
        let bound: UInt64 = 60
        var pages = try looks(database) { (context) throws in
            #expect(try idx.query().sorted(by: salary.descending).firstID(in: context) == Self.count - 1)
        }
        #expect(pages <= bound, "first: \(pages)")
        pages = try looks(database) { (context) throws in
            #expect(try idx.query(salary >= 100 && salary < 20_100).count(in: context) == 20_000)
        }
        #expect(pages <= bound, "count: \(pages)")
        pages = try looks(database) { (context) throws in
            #expect(try idx.query(department == "d7").min(salary, in: context) == 7)
        }
        #expect(pages <= bound, "least: \(pages)")
        pages = try looks(database) { (context) throws in
            let query = try idx.query("WHERE department = ? ORDER BY salary DESC LIMIT 2 OFFSET 200", "d7")
            #expect(try query.ids(in: context) == [9_907, 9_807])
        }
        #expect(pages <= bound, "page: \(pages)")
        pages = try looks(database) { (context) throws in
            let ids = (0..<500).map { $0 * 13 }
            #expect(try idx.query().ids(ids).sum(salary, in: context) == Double(ids.reduce(0, +)))
        }
        #expect(pages <= 500 * 5 + bound, "known set: \(pages)")
        pages = try looks(database) { (context) throws in
            let counts = try idx.query().grouped(by: department).count(in: context)
            #expect(counts.count == 100 && counts.allSatisfy { $0.count == Self.count / 100 })
        }
        #expect(pages <= 100 * 10 + bound, "groups: \(pages)")
    }

    @Test("Y12: what is indexed is read without a page of the entities")
    func covered() throws {
        let idx = payroll()
        let database = try filled(idx)
        // Without the rows of the entities, nothing that asks for them would be answered.
        try database.write { (context) throws in
            let transaction = try context.session.entities().transaction
            let rows = try #require(try transaction.tree("e:Employee"))
            _ = try transaction.deleteRange(rows, from: [], to: [])
            let query = idx.query(salary >= 29_998)
            #expect(try query.rows(in: context).map { $0[department] } == ["d98", "d99"])
            #expect(try query.ids(in: context) == [29_998, 29_999])
            #expect(try query.sum(salary, in: context) == 59_997)
            #expect(try query.resolve(in: context).isEmpty)
        }
    }

    @Test("E11: a save that changes no column doesn't touch a tree of the index; one column, its own tree and the rows")
    func untouched() throws {
        let database = try staffed(payroll())
        func changed(_ employee: Employee) throws -> [String] {
            var names: [String] = []
            try database.write { (context) throws in
                try employee.save(to: &context)
                let transaction = try context.session.entities().transaction
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
