// SPDX-License-Identifier: Apache-2.0
// The code of Docs/indexes.md on secondary indexes.

import Foundation
import Hornbeam
import HornbeamSecondaryIndexes
import Testing

@EntityModel
struct StaffMember {
    let id: Int
    var name: String
    var department: String?
    var salary: Double
    var hasLeft = false
}

private let department = IndexColumn<String>("department")
private let salary = IndexColumn<Double>("salary")

private let payroll = SecondaryIndex(
    "payroll", version: "1", columns: [department, salary], orders: [[department, salary]]
) {
    (member: StaffMember, row: inout IndexRowWriter) in
    guard !member.hasLeft else { return }
    row[department] = member.department
    row[salary] = member.salary
}

@Suite("Secondary indexes, as their page shows them")
struct SecondaryIndexesTests {
    private func staff() throws -> Database {
        let database = try Database.inMemory(models: StaffMember.self)
        try database.register(payroll)
        try database.write { (context) throws in
            try StaffMember(id: 1, name: "Ada", department: "engineering", salary: 100_000).save(to: &context)
            try StaffMember(id: 2, name: "Bea", department: "marketing", salary: 50_000).save(to: &context)
            try StaffMember(id: 3, name: "Cem", department: "marketing", salary: 70_000).save(to: &context)
            try StaffMember(id: 4, name: "Dag", salary: 40_000).save(to: &context)
            try StaffMember(id: 5, name: "Eve", department: "marketing", salary: 1, hasLeft: true).save(to: &context)
        }
        return database
    }

    @Test("Queries")
    func queries() throws {
        try staff().read { (context) throws in
            #expect(try payroll.query(department == "marketing" && salary >= 50_000).ids(in: context) == [2, 3])
            let best = try payroll.query(salary > 90_000).sorted(by: salary.descending).limit(1).resolve(in: context)
            #expect(best.map(\.name) == ["Ada"])
            #expect(try payroll.query(department.isIn(["marketing", "sales"])).count(in: context) == 2)
            #expect(try payroll.query(department.isNil).first(in: context)?.name == "Dag")
            #expect(try payroll.query().rows(in: context).map { $0[salary] } == [100_000, 50_000, 70_000, 40_000])
            var names: [String] = []
            try payroll.query(salary > 0).forEach(in: context) { _, member, stop in
                names.append(member.name)
                if member.name == "Bea" { stop = true }
            }
            #expect(names == ["Ada", "Bea"])
            var ids: [Int] = []
            var cursor = try payroll.query().sorted(by: salary.ascending).cursor(in: context)
            while let row = try cursor.next(), row[salary] ?? 0 < 60_000 { ids.append(row.id) }
            #expect(ids == [4, 2])
        }
    }

    @Test("Queries as text")
    func texts() throws {
        try staff().read { (context) throws in
            let query = try payroll.query(
                "WHERE department = ? AND salary > ? ORDER BY salary DESC", "marketing", 50_000)
            #expect(try query.ids(in: context) == [3])
            let list = try payroll.query(
                "WHERE department IN (?) ORDER BY salary LIMIT 10 OFFSET 0", ["marketing", "sales"])
            #expect(try list.ids(in: context) == [2, 3])
            let prepared = try IndexQuery("WHERE salary BETWEEN ? AND ?")
            #expect(try payroll.query(prepared, 40_000, 70_000).ids(in: context) == [2, 3, 4])
        }
    }

    @Test("Aggregates")
    func aggregates() throws {
        try staff().read { (context) throws in
            #expect(try payroll.query(department == "marketing").sum(salary, in: context) == 120_000)
            #expect(try payroll.query().average(salary, in: context) == 65_000)
            let counts = try payroll.query().grouped(by: department).count(in: context)
            #expect(counts.map(\.key) == [nil, "engineering", "marketing"] && counts.map(\.count) == [1, 1, 2])
            let cost = try payroll.aggregate("SUM(salary)", "WHERE department = ?", "marketing", in: context)
            #expect(cost == .double(120_000))
            let highest = try payroll.query("GROUP BY department ORDER BY department DESC")
                .groups("MAX(salary)", in: context)
            #expect(highest.map(\.values) == [[.double(70_000)], [.double(100_000)], [.double(40_000)]])
            #expect(try payroll.query().ids([1, 2]).sum(salary, in: context) == 150_000)
        }
    }

    @Test("Code that has changed without its version")
    func drift() throws {
        let database = try staff()
        try database.register(payroll, onDrift: .throw)
        try database.register(payroll, onDrift: .rebuild)
        try database.repair(index: "payroll")
        let count = try database.read { context in try payroll.query().count(in: context) }
        #expect(try count == 4 && database.check())
    }
}
