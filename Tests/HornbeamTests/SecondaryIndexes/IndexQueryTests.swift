// SPDX-License-Identifier: Apache-2.0
// Queries of secondary indexes as text: the supported part of the query language, and the errors for the rest.

import Foundation
import Hornbeam
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import Testing

@Suite("Secondary indexes: queries as text")
struct IndexQueryTests {
    /// Returns the employees for whom a condition is true, and those for whom its negation is.
    private func found(_ condition: String, _ arguments: any ColumnValue...) throws -> [[Int]] {
        let idx = payroll()
        let database = try staffed(idx)
        return try database.read { (context) throws in
            try ["WHERE \(condition)", "WHERE NOT (\(condition))"].map { text in
                try idx.query(try IndexQuery(text), arguments).ids(in: context)
            }
        }
    }

    @Test("values stand on either side of a comparison")
    func sides() throws {
        #expect(try found("100000 < salary") == [[1], [2, 3, 4, 5]])
        #expect(try found("100000 <= salary") == [[1, 3, 5], [2, 4]])
        #expect(try found("? > salary", 95_000) == [[4], [1, 2, 3, 5]])
        #expect(try found("95000 >= salary") == [[2, 4], [1, 3, 5]])
        #expect(try found("\"marketing\" = department") == [[3, 4], [1, 2]])
        #expect(try found("NULL = department") == [[], []])
    }

    @Test("a comparison with nil is neither true nor false, in lists and ranges too")
    func unknown() throws {
        #expect(try found("department <> 'marketing'") == [[1, 2], [3, 4]])
        #expect(try found("department IN ('marketing', NULL)") == [[3, 4], []])
        #expect(try found("department BETWEEN 'f' AND 'z'") == [[3, 4], [1, 2]])
        #expect(try found("department BETWEEN 'f' AND NULL") == [[], [1, 2]])
        #expect(try found("department = 'sales' OR salary = 100000") == [[3, 5], [1, 2, 4]])
        #expect(try found("department = 'marketing' AND salary = 100000") == [[3], [1, 2, 4]])
        #expect(try found("department IS NULL") == [[5], [1, 2, 3, 4]])
        #expect(try found("department IS VALUED") == [[1, 2, 3, 4], [5]])
        #expect(try found("department IS MISSING") == [[], [1, 2, 3, 4, 5]])
        #expect(try found("TRUE AND salary > 95000") == [[1, 3, 5], [2, 4]])
        #expect(try found("NULL OR salary > 95000") == [[1, 3, 5], []])
    }

    @Test("LIKE with % at the ends: equal texts, prefixes, suffixes and parts")
    func like() throws {
        #expect(try found("department LIKE 'mark%'") == [[3, 4], [1, 2]])
        #expect(try found("department LIKE '%eering'") == [[1, 2], [3, 4]])
        #expect(try found("department LIKE '%e%'") == [[1, 2, 3, 4], []])
        #expect(try found("department LIKE ?", "%ket%") == [[3, 4], [1, 2]])
        #expect(try found("department LIKE 'marketing'") == [[3, 4], [1, 2]])
        #expect(try found("department LIKE 'market'") == [[], [1, 2, 3, 4]])
        #expect(try found("department LIKE 'MARK%'") == [[], [1, 2, 3, 4]])
        #expect(try found("department LIKE ''") == [[], [1, 2, 3, 4]])
        for all in ["%", "%%"] { #expect(try found("department LIKE '\(all)'") == [[1, 2, 3, 4], []]) }
        #expect(try found("department LIKE NULL") == [[], []])
    }

    @Test("parameters by number and lists of values")
    func parameters() throws {
        #expect(try found("department = ?2 AND salary > ?1", 90_000, "marketing") == [[3], [1, 2, 4]])
        #expect(try found("salary BETWEEN ? AND ?1", 95_000) == [[2], [1, 3, 4, 5]])
        #expect(try found("department IN ?", ["marketing", "sales"]) == [[3, 4], [1, 2]])
        #expect(try found("department IN ['marketing', ?]", "sales") == [[3, 4], [1, 2]])
        #expect(try IndexQuery("WHERE a = ?3 OR a = ?").parameterCount == 3)
        #expect(throws: HornbeamError.self) { try found("department IN ?", "marketing") }
        #expect(throws: HornbeamError.self) { try found("salary = ?2", 1) }
    }

    @Test("a column of type bool is a condition")
    func flags() throws {
        let old = IndexColumn<Bool>("isOld")
        let idx = SecondaryIndex("ages", version: "1", columns: [old]) {
            (employee: Employee, row: inout IndexRowWriter) in
            if employee.id != 3 { row[old] = employee.id > 3 }
        }
        let database = try staffed(idx)
        try database.read { (context) throws in
            #expect(try idx.query("WHERE isOld").ids(in: context) == [4, 5, 6])
            #expect(try idx.query("WHERE NOT isOld").ids(in: context) == [1, 2])
        }
    }

    @Test("OFFSET needs no LIMIT; nulls have the index's order")
    func order() throws {
        let idx = payroll()
        let database = try staffed(idx)
        try database.read { (context) throws in
            #expect(try idx.query("ORDER BY salary OFFSET 3").ids(in: context) == [5, 1])
            #expect(try idx.query("ORDER BY salary OFFSET 3 LIMIT 1").ids(in: context) == [5])
            #expect(try idx.query("ORDER BY department NULLS FIRST LIMIT 1").ids(in: context) == [5])
            #expect(try idx.query("ORDER BY `department` DESC NULLS LAST LIMIT 1").ids(in: context) == [3])
        }
    }

    @Test(
        "unanswerable parts are an error at their position",
        arguments: [
            ("WHERE LOWER(department) = 'x'", 7), ("WHERE salary > 1 AND ABS(salary) > 2", 22),
            ("WHERE salary * 2 > 5", 7), ("WHERE 2 * salary > 5", 7), ("WHERE salary > salary", 16),
            ("WHERE salary = LOWER('a')", 16), ("WHERE MATCH(department, 'x')", 7), ("WHERE RANK() > 1", 7),
            ("WHERE META().id = 1", 7), ("WHERE tags[0] = 1", 7), ("WHERE owner.name = 'x'", 7),
            ("WHERE ANY x IN salary SATISFIES x = 1 END", 16), ("WHERE CASE WHEN salary > 1 THEN TRUE END", 17),
            ("WHERE department || 'a' = 'b'", 7), ("WHERE (salary = 1) IS NULL", 8), ("WHERE salary", 7),
            ("WHERE department LIKE 'a_b'", 7), ("WHERE department LIKE 'a%b'", 7), ("WHERE salary LIKE 'a%'", 7),
            ("WHERE department LIKE 'a!%' ESCAPE '!'", 7), ("WHERE salary IN department", 17),
            ("WHERE playz = 1", 7), ("WHERE department = 7", 7), ("GROUP BY department HAVING COUNT(*) > 1", 28),
            ("GROUP BY LOWER(department)", 10), ("ORDER BY LENGTH(department)", 10), ("ORDER BY playz", 10),
            ("ORDER BY salary NULLS LAST", 10), ("ORDER BY salary DESC NULLS FIRST", 10), ("LIMIT salary", 7),
            ("WHERE salary = $pay", 16), ("WHERE salary = :pay", 16), ("UNNEST tags AS tag", 1), ("WHERE 1 = 1", 7),
            ("WHERE 'a'", 7), ("LIMIT -1", 7), ("LIMIT 'many'", 7),
            (#"WHERE {"a": 1} = 1"#, 7),
        ])
    func refused(text: String, character: Int) throws {
        let idx = payroll()
        let error = #expect(throws: HornbeamError.self) { try idx.query(text) }
        #expect(error?.code == .invalid)
        #expect(error?.message.contains(", at line 1, character \(character):\n  \(text)\n") == true, "\(text)")
    }

    @Test("long conditions, and chains of operators of the greatest length, neither trap nor exhaust the stack")
    func long() throws {
        let idx = payroll()
        let database = try staffed(idx)
        let parts = (0..<5_000).map { "salary = \($0 * 20)" }.joined(separator: " OR ")
        let query = try idx.query("WHERE \(parts)")
        #expect(try database.read { context in try query.ids(in: context) } == [2, 4])
        #expect(throws: HornbeamError.self) {
            try idx.query("WHERE " + String(repeating: "NOT ", count: 1_000) + "salary = 1")
        }
        #expect(throws: HornbeamError.self) {
            try idx.query("WHERE " + Array(repeating: "1", count: 400).joined(separator: " + "))
        }
    }

    @Test(
        "aggregates as text are one function of one column",
        arguments: [
            "", "salary", "SUM", "SUM(", "SUM()", "SUM(salary, 1)", "SUM(salary) + 1", "SUM(a.b)", "COUNT(DISTINCT *)",
            "AVG(DISTINCT salary)", "GROUP_CONCAT(salary, 5)", "GROUP_CONCAT(salary, ',', 1)", "MEDIAN(salary)",
            "SUM(LOWER(salary))",
        ])
    func aggregates(text: String) {
        let error = #expect(throws: HornbeamError.self) { try IndexAggregate(text) }
        #expect(error?.code == .invalid && error?.message.contains(", at line 1, character ") == true)
    }
}
