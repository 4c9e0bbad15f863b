// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Coming from YapDatabase”.

import Hornbeam
import HornbeamMapReduce
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import Testing

@EntityModel
private struct Employee {
    @FullTextIndex<Self>(\.name) private var search

    let id: String
    var name: String
    var department: String
    var salary: Double
}

private let departmentColumn = IndexColumn<String>("department")
private let salaryColumn = IndexColumn<Double>("salary")

private let wages = SecondaryIndex("idx", version: "1", columns: [departmentColumn, salaryColumn]) {
    (employee: Employee, row: inout IndexRowWriter) in
    row[departmentColumn] = employee.department
    row[salaryColumn] = employee.salary
}

private let teams = View<Employee, String>(
    "teams", version: "1", groupedBy: \.department, sortedBy: .ascending(\.name))

@Suite("The guide “Coming from YapDatabase”", .timeLimit(.minutes(30)))
struct ComingFromYapDatabaseTests {
    private func filled(_ path: String) throws -> Database {
        let database = try Database(at: path, models: Employee.self)
        try database.register(wages)
        try database.register(teams)
        let ada = Employee(id: "1", name: "Ada", department: "sales", salary: 60_000)
        try database.write { context in
            try ada.save(to: &context)
            try Employee(id: "2", name: "Bob", department: "sales", salary: 40_000).save(to: &context)
        }
        return database
    }

    @Test("Employees are found by key, by column and by position")
    func finding() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let database = try filled(folder.path("a.hornbeam"))
        try database.read { (context) throws in
            #expect(try Employee.query("1").resolve(in: context)?.name == "Ada")
            #expect(try wages.query("WHERE salary > ?", 50_000).ids(in: context) == ["1"])
            #expect(try wages.query().sum(salaryColumn, in: context) == 100_000)
            #expect(try teams["sales"].count(in: context) == 2)
            #expect(try teams["sales"].entity(at: 0, in: context)?.name == "Ada")
        }
        try database.write { context in
            try Employee.touch("1", in: &context)
            try Employee.delete(id: "1", from: &context)
        }
        #expect(try database.unregister("idx"))
    }

    @Test("A list moves from state to state")
    func mappings() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let database = try filled(folder.path("a.hornbeam"))
        var list = ViewMappings(teams, groups: ["sales"])
        let reader = try database.longLivedRead()
        try reader.read { context in try list.load(in: context) }
        try database.write { try Employee.delete(id: "1", from: &$0) }
        try reader.moveForward { step in
            let changes = try list.move(step)
            #expect(changes.deletions == [ListPath(0, 0)])
        }
        try reader.close()
    }

    @Test("A list on a screen follows the store")
    func observed() async throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let database = try filled(folder.path("a.hornbeam"))
        try await database.write { context in
            try Employee(id: "3", name: "Cy", department: "sales", salary: 1).save(to: &context)
        }
        let list = ViewMappings(teams, groups: ["sales"])
        var rows: [[Employee]] = []
        for try await element in database.observe(list) {
            rows = element.applied(to: rows)
            break
        }
        #expect(rows.map { $0.map(\.name) } == [["Ada", "Bob", "Cy"]])
    }
}
