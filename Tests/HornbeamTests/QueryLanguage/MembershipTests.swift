// SPDX-License-Identifier: Apache-2.0
// IN with lists that are written or given as a parameter, long and short. It agrees with `=`, and its time doesn't
// grow with the list.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

@EntityModel
private struct Ticket {
    let id: Int
    var code: Int
    var text: String
    var day: Date?
    var tags: [String]
}

@Suite("Lists after IN")
struct MembershipTests {
    private func database(_ count: Int = 6) throws -> Database {
        let database = try Database.inMemory(models: Ticket.self)
        try database.write { (context) throws in
            for id in 0..<count {
                try Ticket(
                    id: id, code: id, text: id % 2 == 0 ? "S\(id)" : "s\(id)",
                    day: id == 3 ? nil : Date(timeIntervalSinceReferenceDate: Double(id) * 86_400),
                    tags: id == 1 ? ["a", "b"] : ["c"]
                ).save(to: &context)
            }
        }
        return database
    }

    private func ids(
        _ database: Database, _ condition: String, _ parameters: [any ColumnValue] = []
    ) throws -> [Int] {
        let statement = try Statement("SELECT id FROM Ticket WHERE \(condition) ORDER BY id")
        return try database.read { (context) throws in
            try statement.resolve(in: context, parameters).map { try $0.value("id", as: Int.self) }
        }
    }

    @Test("a list as the only parameter in parentheses is the list")
    func parameters() throws {
        let database = try database()
        for subject in ["code", "code + 0"] {
            for list in ["?", "(?)", "(?1)"] {
                #expect(try ids(database, "\(subject) IN \(list)", [[1, 4, 9]]) == [1, 4], "\(subject) IN \(list)")
                #expect(try ids(database, "\(subject) NOT IN \(list)", [[1, 4, 9]]) == [0, 2, 3, 5])
                #expect(try ids(database, "\(subject) IN \(list)", [[Int]()]).isEmpty)
                #expect(try ids(database, "\(subject) NOT IN \(list)", [[Int]()]) == [0, 1, 2, 3, 4, 5])
            }
            #expect(try ids(database, "\(subject) IN (?)", [4]) == [4])
            #expect(try ids(database, "\(subject) IN (?, ?)", [4, 5]) == [4, 5])
            #expect(try ids(database, "\(subject) IN [?]", [4]) == [4])
        }
        #expect(try ids(database, "LOWER(text) IN (?)", [["s1", "s2"]]) == [1, 2])
        // In brackets, the list is the only element.
        #expect(try ids(database, "tags IN [?]", [["a", "b"]]) == [1])
        #expect(try ids(database, "tags = ?", [["a", "b"]]) == [1])
        #expect(try ids(database, "tags[0] IN (?)", [["a", "b"]]) == [1])
        #expect(try ids(database, "ARRAY_CONTAINS(?, code + 0)", [[1, 4, 9]]) == [1, 4])
        #expect(try ids(database, "NOT ARRAY_CONTAINS(?, code)", [[1, 4, 9]]) == [0, 2, 3, 5])
    }

    @Test("a list is compared by the collation of its value")
    func collations() throws {
        let database = try database()
        for (list, parameter, expected) in [
            ("?", ["s2", "S3"], [2, 3]), ("(?)", ["s2", "S3"], [2, 3]), ("[?]", "s2", [2]), ("(?1, 'x')", "s2", [2]),
        ] as [(String, any ColumnValue, [Int])] {
            #expect(try ids(database, "text COLLATE NOCASE IN \(list)", [parameter]) == expected, "\(list)")
            let others = [0, 1, 2, 3, 4, 5].filter { !expected.contains($0) }
            #expect(try ids(database, "text COLLATE NOCASE NOT IN \(list)", [parameter]) == others, "\(list)")
        }
        let long = (0..<20).map { "s\($0)" }
        #expect(try ids(database, "text COLLATE NOCASE IN ?", [long]) == [0, 1, 2, 3, 4, 5])
        #expect(try ids(database, "text IN ?", [long]) == [1, 3, 5])
        let error = #expect(throws: HornbeamError.self) { try ids(database, "text COLLATE NOCASE IN tags") }
        #expect(error?.message.contains("the same for all rows") == true, "\(error?.message ?? "")")
    }

    @Test(
        "unknown values make an answer unknown, in lists of any length",
        arguments: [
            ("1 IN (2, NULL)", nil), ("1 IN (1, NULL)", true), ("NULL IN ()", false), ("MISSING IN []", false),
            ("1 IN (2, 3, 4, 5, 6, 7, 8, 9, NULL)", nil), ("1 IN (1, 3, 4, 5, 6, 7, 8, 9, NULL)", true),
            ("1 NOT IN (2, 3, 4, 5, 6, 7, 8, 9, NULL)", nil), ("1 NOT IN (1, 3, 4, 5, 6, 7, 8, 9, NULL)", false),
            ("1 NOT IN (2, 3, 4, 5, 6, 7, 8, 9)", true), ("NULL IN (2, 3, 4, 5, 6, 7, 8, 9)", nil),
            ("1.0 IN (1, 3, 4, 5, 6, 7, 8, 9)", true), ("'1' IN (1, 3, 4, 5, 6, 7, 8, 9)", false),
            ("'é' IN ('e\u{301}', 'b', 'c', 'd', 'e', 'f', 'g', 'h')", true),
            ("'2024-01-01' IN (DATE('2024-01-01'), 3, 4, 5, 6, 7, 8, 9)", true),
            ("DATE('2024-01-01') IN ('2024-01-01T00:00:00Z', 3, 4, 5, 6, 7, 8, 9)", true),
            ("'2024-01-01' IN ('2024-01-01T00:00:00Z', 3, 4, 5, 6, 7, 8, 9)", false),
            ("[1] IN ([1.0], 3, 4, 5, 6, 7, 8, 9)", true), ("ARRAY_CONTAINS([1, NULL], 2)", false),
            ("ARRAY_CONTAINS([NULL], 2)", false), ("ARRAY_CONTAINS([1], NULL)", nil),
        ] as [(String, Bool?)])
    func unknown(expression: String, expected: Bool?) throws {
        let row = try database(1).query("SELECT VALUE \(expression) FROM Ticket")[0]
        #expect(row[0] == expected.map { Value.bool($0) } ?? .null)
    }

    /// Returns items of all kinds, many of which equal items of other types.
    private static func item(_ generator: inout SeededGenerator) -> StatementValue {
        let texts = [
            "2001-01-01", "2001-01-01T00:00:00Z", "2001-01-01T00:00:00", "AQID", "", "1", "é", "e\u{301}",
            "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-00000000000A",
            "00000000-0000-0000-0000-00000000000a", "AAAA",
        ]
        let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        let ten = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10))
        let others: [StatementValue] = [
            .missing, .null, .bool(true), .bool(false), .int(0), .int(1), .value(.uint(1)), .double(1), .double(-0.0),
            .double(0.1), .value(.decimal(Decimal(string: "0.1") ?? 0)), .value(.decimal(1)), .double(.nan),
            .value(.date(0)), .value(.date(-0.0)), .value(.date(86_400)), .value(.uuid(zero)), .value(.uuid(ten)),
            .value(.data(Data([1, 2, 3]))), .value(.data(Data())), .value(.data(Data([0, 0, 0]))),
            .array([.int(1)]), .array([.double(1)]), .array([]),
            .object([StatementField(name: "a", item: .int(1)), StatementField(name: "b", item: .null)]),
            .object([StatementField(name: "b", item: .null), StatementField(name: "a", item: .double(1))]),
        ]
        return generator.oneIn(3) ? .string(texts[generator.below(texts.count)]) : others[generator.below(others.count)]
    }

    @Test("a long list contains values that are equal to one of its items", arguments: SeededGenerator.seeds(4))
    func equality(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let items = (0..<generator.below(20)).map { _ in Self.item(&generator) }
            let list = StatementValueList(items)
            for _ in 0..<20 {
                let value = Self.item(&generator)
                if value.isUnknown { continue }
                let expected = items.contains { !$0.isUnknown && $0.equals(value) }
                #expect(list.contains(value) == expected, "\(value) in \(items)")
            }
        }
    }

    @Test("twenty thousand values are looked up in twenty thousand without comparing each")
    func long() throws {
        let database = try database(2_000)
        let start = ContinuousClock.now
        let codes = (0..<20_000).map { $0 * 2 }
        #expect(try ids(database, "code + 0 IN ?", [codes]).count == 1_000)
        #expect(try ids(database, "code + 0 NOT IN (?)", [codes]).count == 1_000)
        #expect(try ids(database, "ARRAY_CONTAINS(?, code + 0)", [codes]).count == 1_000)
        let texts = (0..<20_000).map { "s\($0)" }
        #expect(try ids(database, "LOWER(text) IN ?", [texts]).count == 2_000)
        let written = codes.prefix(5_000).map(String.init).joined(separator: ", ")
        #expect(try ids(database, "code + 0 IN (\(written))").count == 1_000)
        // Comparing each row with each value would take two hundred million comparisons.
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test("a subquery without parentheses is refused in words")
    func subqueries() throws {
        let error = #expect(throws: HornbeamError.self) { try ids(database(1), "code IN SELECT id FROM Ticket") }
        #expect(error?.message.contains("a subquery stands in parentheses") == true, "\(error?.message ?? "")")
    }
}
