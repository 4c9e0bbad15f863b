// SPDX-License-Identifier: Apache-2.0
// Secondary indexes: their content and their answers; no value is lost on the way.

import Foundation
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Secondary indexes")
struct SecondaryIndexTests {
    @Test("a condition, an order, a limit")
    func queries() throws {
        let idx = payroll()
        try staffed(idx).read { (context) throws in
            #expect(try idx.query(salary >= 100_000).ids(in: context) == [1, 3, 5])
            let marketing = idx.query(department == "marketing").sorted(by: salary.descending)
            #expect(try marketing.resolve(in: context).map(\.name) == ["Cem", "Dag"])
            #expect(try marketing.limit(1).offset(1).ids(in: context) == [4])
            #expect(try idx.query(department == nil).ids(in: context) == [5])
            #expect(try idx.query(salary > 87_850 && salary <= 183_250).count(in: context) == 4)
            #expect(try idx.query(department.isIn(["engineering"]) || salary < 90_000).ids(in: context) == [1, 2, 4])
            let rows = try idx.query(department == "engineering").rows(in: context)
            #expect(rows.map { $0[salary] } == [150_000, 95_000] && rows.map(\.id) == [1, 2])
        }
    }

    @Test("value indexes over the same entities are none of its columns")
    func beside() throws {
        let idx = payroll()
        let database = try staffed(idx)
        // The column has the number of the index's salaries.
        try database.register(ValueIndex<Employee>("byDepartment", \.department))
        try database.register(ValueIndex<Employee>("byName", \.name))
        try database.read { (context) throws in
            #expect(try idx.query(department == "marketing").ids(in: context) == [3, 4])
            #expect(try idx.query(salary == 100_000).sorted(by: department.descending).ids(in: context) == [3, 5])
            let plan = "\(try idx.query(department == "marketing").explain(in: context))"
            #expect(!plan.contains("byDepartment") && !plan.contains("byName"))
        }
    }

    @Test("a number between two integers of a column, or beyond all of them")
    func fractions() throws {
        for type in [ColumnType.int8, .int64, .uint8, .uint64] {
            let plays = UntypedColumn("plays", type)
            let idx = SecondaryIndex<Track>("idx", version: "1", columns: [plays]) { (track, row) in
                row["plays"] = .int(track.plays)
            }
            let database = try Database.inMemory(models: Track.self, indexes: [idx])
            try database.write { (context) throws in
                for number in 1...4 { try Track(id: "\(number)", plays: Int64(number)).save(to: &context) }
            }
            func ids(_ condition: String, _ number: Double) throws -> [String] {
                try database.read { context in
                    try idx.query("WHERE plays \(condition) ? ORDER BY plays", number).ids(in: context)
                }
            }
            #expect(try ids("<", 2.5) == ["1", "2"] && ids("<=", 2.5) == ["1", "2"], "\(type)")
            #expect(try ids(">", 2.5) == ["3", "4"] && ids(">=", 2.5) == ["3", "4"], "\(type)")
            #expect(try ids("=", 2.5) == [] && ids("!=", 2.5).count == 4, "\(type)")
            #expect(try ids("<", 1e300).count == 4 && ids(">", -1e300).count == 4, "\(type)")
            #expect(try ids(">", 1e300) == [] && ids("<", -1e300) == [], "\(type)")
        }
    }
}
