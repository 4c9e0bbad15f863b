// SPDX-License-Identifier: Apache-2.0
// Comparisons of columns with numbers that the columns can't hold.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamSecondaryIndexes

@Suite("Numbers that a column can't hold")
struct NumberPlaceTests {
    private static let columns: [any SecondaryColumn] = [
        .integer("whole"), .real("real"), IndexColumn<Float>("float"), .numeric("exact"), .date("day"),
        IndexColumn<UInt8>("byte"),
    ]

    /// The columns of each row, by id.
    private static let rows: [Int: [String: Value]] = [
        1: [
            "whole": .int(-3), "real": .double(0x1p53), "float": .double(0x1p24), "exact": .decimal(-1),
            "day": .date(0x1p53), "byte": .uint(0),
        ],
        2: [
            "whole": .int(2), "real": .double(0x1p53 + 2), "float": .double(0x1p24 + 2), "exact": .decimal(0),
            "day": .date(0x1p53 + 2), "byte": .uint(255),
        ],
        3: [
            "whole": .int(.max), "real": .double(0.1), "float": .double(Double(Float(0.1))),
            "exact": .decimal(Decimal(string: "1e100") ?? 0), "day": .date(-.infinity), "byte": .uint(7),
        ],
        4: ["real": .double(.nan), "float": .double(.nan), "exact": .decimal(.nan), "day": .date(.nan)],
        // A row whose other columns are all null.
        5: ["whole": .int(0)],
    ]

    private static let index = SecondaryIndex("numbers", version: "1", columns: columns) {
        (employee: Employee, row: inout IndexRowWriter) in
        for (name, value) in NumberPlaceTests.rows[employee.id] ?? [:] { row[name] = value }
    }

    struct Case: CustomTestStringConvertible {
        let column: String
        let number: Value
        /// The rows that are less, equal and greater.
        let less: [Int]
        let equal: [Int]
        let greater: [Int]

        init(_ column: String, _ number: Value, _ less: [Int], _ equal: [Int], _ greater: [Int]) {
            (self.column, self.number, self.less, self.equal, self.greater) = (column, number, less, equal, greater)
        }

        var testDescription: String { "\(column), \(number.text)" }
    }

    private static func decimal(_ text: String) -> Value { .decimal(Decimal(string: text) ?? 0) }

    static let cases = [
        Case("whole", .double(-2.5), [1], [], [2, 3, 5]), Case("whole", decimal("-2.5"), [1], [], [2, 3, 5]),
        Case("whole", decimal("2"), [1, 5], [2], [3]), Case("whole", decimal("1e80"), [1, 2, 3, 5], [], []),
        Case("whole", decimal("-1e80"), [], [], [1, 2, 3, 5]), Case("whole", .double(.infinity), [1, 2, 3, 5], [], []),
        Case("whole", .double(.nan), [1, 2, 3, 5], [], []), Case("whole", .decimal(.nan), [1, 2, 3, 5], [], []),
        Case("byte", .double(.nan), [1, 2, 3], [], []), Case("whole", .uint(.max), [1, 2, 3, 5], [], []),
        Case("whole", decimal("-0.5"), [1], [], [2, 3, 5]),
        Case("byte", .int(-1), [], [], [1, 2, 3]), Case("byte", .double(6.5), [1], [], [2, 3]),
        Case("byte", .int(256), [1, 2, 3], [], []), Case("byte", decimal("7.0"), [1], [3], [2]),
        Case("real", .int(9_007_199_254_740_993), [1, 3], [], [2, 4]),
        Case("real", .uint(9_007_199_254_740_993), [1, 3], [], [2, 4]),
        Case("real", .int(9_007_199_254_740_992), [3], [1], [2, 4]),
        Case("real", .int(-9_007_199_254_740_993), [], [], [1, 2, 3, 4]),
        Case("real", decimal("0.1"), [], [3], [1, 2, 4]),
        Case("real", decimal("0.10000000000000000001"), [3], [], [1, 2, 4]),
        Case("real", decimal("0.0999999999999999999"), [], [], [1, 2, 3, 4]),
        Case("real", .decimal(.nan), [1, 2, 3], [4], []),
        Case("float", .int(16_777_217), [1, 3], [], [2, 4]), Case("float", .double(0.1), [], [3], [1, 2, 4]),
        Case("float", .double(0.1000001), [3], [], [1, 2, 4]), Case("float", .double(1e300), [1, 2, 3], [], [4]),
        Case("float", .double(-1e300), [], [], [1, 2, 3, 4]), Case("float", .double(1e-300), [], [], [1, 2, 3, 4]),
        Case("float", .int(.max), [1, 2, 3], [], [4]), Case("float", decimal("16777216"), [3], [1], [2, 4]),
        Case("exact", .double(1e300), [1, 2, 3], [], [4]), Case("exact", .double(-1e300), [], [], [1, 2, 3, 4]),
        Case("exact", .double(1e-300), [1, 2], [], [3, 4]), Case("exact", .double(-1e-300), [1], [], [2, 3, 4]),
        Case("exact", .double(.infinity), [1, 2, 3], [], [4]), Case("exact", .double(.nan), [1, 2, 3], [4], []),
        Case("exact", .double(1e150), [1, 2, 3], [], [4]), Case("exact", .double(-1e150), [], [], [1, 2, 3, 4]),
        Case("exact", .double(1e100), [1, 2], [3], [4]), Case("exact", .double(-0.0), [1], [2], [3, 4]),
        Case("exact", .uint(.max), [1, 2], [], [3, 4]),
        Case("day", .int(9_007_199_254_740_993), [1, 3], [], [2, 4]), Case("day", .double(0x1p53), [3], [1], [2, 4]),
    ]

    @Test("still have a position among its values", arguments: cases)
    func places(_ test: Case) throws {
        let database = try Database.inMemory(models: Employee.self, Track.self, indexes: [Self.index])
        try database.write { (context) throws in
            for id in Self.rows.keys { try Employee(id: id).save(to: &context) }
        }
        let all = Self.rows.filter { $0.value[test.column] != nil }.keys.sorted()
        #expect((test.less + test.equal + test.greater).sorted() == all)
        try database.read { (context) throws in
            func ids(_ comparison: ColumnCondition.ColumnComparison) throws -> [Int] {
                try Self.index.query(.compare(column: test.column, comparison, test.number)).ids(in: context)
            }
            #expect(try ids(.less) == test.less)
            #expect(try ids(.lessOrEqual) == (test.less + test.equal).sorted())
            #expect(try ids(.equal) == test.equal)
            #expect(try ids(.greaterOrEqual) == (test.equal + test.greater).sorted())
            #expect(try ids(.greater) == test.greater)
            #expect(try ids(.notEqual) == Self.rows.keys.filter { !test.equal.contains($0) }.sorted())
            let among = ColumnCondition.isIn(column: test.column, [test.number])
            #expect(try Self.index.query(among).ids(in: context) == test.equal)
        }
    }

    @Test("are compared in text queries too")
    func text() throws {
        let database = try Database.inMemory(models: Employee.self, Track.self, indexes: [Self.index])
        try database.write { (context) throws in
            for id in Self.rows.keys { try Employee(id: id).save(to: &context) }
        }
        try database.read { (context) throws in
            let wanted = try Self.index.query("WHERE real > 9007199254740993").ids(in: context)
            #expect(wanted == [2, 4])
            #expect(try Self.index.query("WHERE exact < 1e300 AND exact > -1e300").ids(in: context) == [1, 2, 3])
        }
        // A value that isn't a number has no position.
        let isText = ColumnCondition.compare(column: "real", .less, .string("1"))
        #expect(codeThrown { try database.read { _ = try Self.index.query(isText).ids(in: $0) } } == .invalid)
    }
}
