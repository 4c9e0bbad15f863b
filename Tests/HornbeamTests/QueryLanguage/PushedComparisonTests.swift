// SPDX-License-Identifier: Apache-2.0
// Comparisons of columns of every type with values of every type. A filter must agree with the result computed for
// each row: so each condition is run once as it is written, and once with the column inside an expression, which
// can't become a filter.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private struct Colour: Codable, Sendable {
    var name: String

    init(_ name: String) { self.name = name }
    init(from decoder: any Decoder) throws { name = try decoder.singleValueContainer().decode(String.self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

@EntityModel
private struct Shelf {
    let id: Int
    @Relationship(inverse: \.shelf)
    var things: [Thing]?
}

@EntityModel
private struct Thing {
    let id: Int
    var byte: Int8?
    var whole: Int?
    var natural: UInt64?
    var real: Double?
    var short: Float?
    var exact: Decimal?
    var day: Date?
    var text: String?
    var key: UUID?
    var bytes: Data?
    var flag: Bool?
    var colour: Colour?
    var tags: [String]
    var reals: [Double]
    @Relationship(inverse: \.things)
    var shelf: Shelf?
}

@Suite("Comparisons of all types with all values")
struct PushedComparisonTests {
    private static let columns = [
        "byte", "whole", "natural", "real", "short", "exact", "day", "text", "key", "bytes", "flag", "colour", "tags",
        "reals",
    ]

    private static func decimal(_ text: String) -> Decimal { Decimal(string: text) ?? .nan }

    private static let key = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    /// Numbers at the limits of types, and others that are equal but look different.
    private static let values: [Value] =
        [
            .int(0), .int(-1), .int(127), .int(128), .int(.max), .int(.min), .uint(.max), .uint(1 << 63),
            .int(9_007_199_254_740_993), .double(0.1), .double(Double(Float(0.1))), .double(-0.0), .double(1.5),
            .double(0x1p63), .double(0x1p64), .double(0x1p53), .double(1e125), .double(1e150), .double(-1e150),
            .double(1e300), .double(1e-140), .double(-1e-140), .double(1.234_567_890_123_456_7e-120),
            .double(.infinity), .double(-.infinity), .double(.nan),
        ]
        + [
            "0.1", "0.10000000000000000001", "1.5", "-0.5", "127", "9223372036854775808", "9007199254740993", "1e31",
            "1e125", "-1e125", "1e-128", "1.234567e-120", "340282366920938463463374607431768211455",
        ].map { .decimal(decimal($0)) }
        + [
            .decimal(.nan), .bool(true), .bool(false), .date(0), .date(86_400.5), .uuid(key), .data(Data([1, 2, 3])),
            .string("a"), .string(""), .string("é"), .string("e\u{301}"), .string("1970-01-01T00:00:00Z"),
            .string("1970-01-01"), .string(key.uuidString), .string(key.uuidString.lowercased()), .string("AQID"),
            .string("0"), .string("true"), .string("red"), .array([.string("a")]), .array([.double(0.1)]), .array([]),
            .null,
        ]

    private static func rows(_ generator: inout SeededGenerator) -> [Thing] {
        (0..<24).map { id in
            func one<Result>(_ choices: [Result]) -> Result? {
                generator.oneIn(5) ? nil : choices[generator.below(choices.count)]
            }
            let texts = [
                "a", "", "é", "e\u{301}", "1970-01-01", "1970-01-01T00:00:00Z", "0", "AQID", key.uuidString,
                key.uuidString.lowercased(),
            ]
            return Thing(
                id: id, byte: one([-1, 0, 127, -128]), whole: one([0, -1, 1, .max, .min, 9_007_199_254_740_993]),
                natural: one([0, .max, 1 << 63, 127]),
                real: one([0.1, 0, 1.5, 0x1p63, 0x1p53, 1e125, 1e300, .nan, .infinity, -.infinity]),
                short: one([0.1, 0, 1.5, 0x1p63, .nan]),
                exact: one(
                    ["0", "0.1", "1.5", "127", "1e125", "-1e125", "1e-128", "1.2345678e-120", "9223372036854775808"]
                        .map(decimal) + [.nan]),
                day: one([Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 86_400.5)]), text: one(texts),
                key: one([key, UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))]),
                bytes: one([Data([1, 2, 3]), Data()]), flag: one([true, false]),
                colour: one([Colour("red"), Colour("a")]), tags: one([["a"], ["a", "0"], ["é"]]) ?? [],
                reals: one([[0.1], [0x1p53, 1e125], [.infinity]]) ?? [])
        }
    }

    private func database(_ rows: [Thing], indexed: Bool) throws -> Database {
        let database = try Database.inMemory(models: Thing.self, Shelf.self)
        try database.write { (context) throws in
            // Each row is on a shelf of its own, which has the row's values.
            for var row in rows {
                row.$shelf = .relation(Shelf(id: row.id))
                try row.save(to: &context)
            }
        }
        guard indexed else { return database }
        try database.createIndex(ValueIndex("byByte", \Thing.byte))
        try database.createIndex(ValueIndex("byWhole", \Thing.whole))
        try database.createIndex(ValueIndex("byNatural", \Thing.natural.desc))
        try database.createIndex(ValueIndex("byReal", \Thing.real))
        try database.createIndex(ValueIndex("byShort", \Thing.short))
        try database.createIndex(ValueIndex("byExact", \Thing.exact))
        try database.createIndex(ValueIndex("byDay", \Thing.day.desc))
        try database.createIndex(ValueIndex("byText", \Thing.text))
        try database.createIndex(ValueIndex("byKey", \Thing.key))
        try database.createIndex(ValueIndex("byBytes", \Thing.bytes))
        try database.createIndex(ValueIndex("byFlag", \Thing.flag))
        try database.createIndex(ArrayIndex("byTags", \Thing.tags))
        try database.createIndex(ArrayIndex("byReals", \Thing.reals))
        return database
    }

    private func ids(_ database: Database, _ text: String, _ parameters: [Value]) throws -> [Int] {
        let statement = try Statement(text)
        return try database.read { (context) throws in
            var found: [Int] = []
            try statement.run(in: context.session.core, StatementParameters(positions: parameters)) { row in
                found.append(try row.value("id", as: Int.self))
                return true
            }
            return found
        }
    }

    /// Returns conditions in two forms: with the plain subject, and in a form that isn't pushed.
    private static func conditions(_ column: String) -> [(text: (String) -> String, count: Int)] {
        ["=", "!=", "<", "<=", ">", ">="].flatMap { sign -> [(text: (String) -> String, count: Int)] in
            [
                ({ "\($0) \(sign) ?" }, 1), ({ "? \(sign) \($0)" }, 1), ({ "NOT (\($0) \(sign) ?)" }, 1),
            ]
        }
            + [
                ({ "\($0) IN (?, ?)" }, 2), ({ "\($0) NOT IN (?, ?)" }, 2), ({ "\($0) BETWEEN ? AND ?" }, 2),
                ({ "NOT (\($0) BETWEEN ? AND ?)" }, 2), ({ "\($0) = ? OR \($0) = ?" }, 2),
            ]
            + (["tags", "reals"].contains(column)
                ? [
                    ({ "ARRAY_CONTAINS(\($0), ?)" }, 1), ({ "? IN \($0)" }, 1),
                    ({ "ANY e IN \($0) SATISFIES e = ? END" }, 1), ({ "ANY e IN \($0) SATISFIES e >= ? END" }, 1),
                ] : [])
    }

    private static func hidden(_ subject: String) -> String { "CASE WHEN o.id >= 0 THEN \(subject) END" }

    @Test("a condition finds the rows that it finds without pushing", arguments: SeededGenerator.seeds(2))
    func own(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let rows = Self.rows(&generator)
        let databases = [try database(rows, indexed: false), try database(rows, indexed: true)]
        for column in Self.columns {
            for condition in Self.conditions(column) {
                for value in Self.values where generator.oneIn(7) {
                    let parameters =
                        [value] + (1..<condition.count).map { _ in Self.values[generator.below(Self.values.count)] }
                    let select = "SELECT o.id FROM Thing AS o WHERE"
                    let tail = "ORDER BY o.id"
                    let text = "\(select) \(condition.text("o.\(column)")) \(tail)"
                    let plain = "\(select) \(condition.text(Self.hidden("o.\(column)"))) \(tail)"
                    let expected = try ids(databases[0], plain, parameters)
                    for database in databases {
                        #expect(try ids(database, text, parameters) == expected, "\(text): \(parameters)")
                    }
                }
            }
        }
    }

    @Test("a condition on a relation's target finds the same rows without pushing", arguments: SeededGenerator.seeds(1))
    func related(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let rows = Self.rows(&generator)
        let databases = [try database(rows, indexed: false), try database(rows, indexed: true)]
        for column in Self.columns {
            for condition in Self.conditions(column).filter({ !$0.text("").contains("ANY") }) {
                for value in Self.values where generator.oneIn(12) {
                    let parameters =
                        [value] + (1..<condition.count).map { _ in Self.values[generator.below(Self.values.count)] }
                    func select(_ subject: String) -> String {
                        "SELECT o.id FROM Shelf AS o WHERE ANY t IN o.things SATISFIES \(condition.text(subject)) END "
                            + "ORDER BY o.id"
                    }
                    let expected = try ids(databases[0], select(Self.hidden("t.\(column)")), parameters)
                    for database in databases {
                        let found = try ids(database, select("t.\(column)"), parameters)
                        #expect(found == expected, "\(select("t.\(column)")): \(parameters)")
                    }
                }
            }
        }
    }

    @Test("a decimal equals the double with that text, an array the array of equal elements")
    func examples() throws {
        let database = try Database.inMemory(models: Thing.self, Shelf.self)
        try database.write { (context) throws in
            try Thing(
                id: 1, byte: nil, whole: nil, natural: 1 << 63, real: 0.1, short: nil, exact: Self.decimal("1e125"),
                day: nil, text: nil, key: nil, bytes: nil, flag: nil, colour: Colour("red"), tags: ["a"], reals: []
            ).save(to: &context)
        }
        func count(_ condition: String, _ parameters: any ColumnValue...) throws -> Int {
            let statement = try Statement("SELECT id FROM Thing WHERE \(condition)")
            return try database.read { try statement.resolve(in: $0, parameters) }.count
        }
        #expect(try count("real = ?", Self.decimal("0.1")) == 1)
        #expect(try count("real IN ?", [Self.decimal("0.1")]) == 1)
        #expect(try count("real NOT IN ?", [Self.decimal("0.1")]) == 0)
        #expect(try count("natural = ?", Self.decimal("9223372036854775808")) == 1)
        #expect(try count("exact = 1e125") == 1)
        #expect(try count("tags = ['a']") == 1)
        #expect(try count("tags = ['a'] OR length(text) < 0") == 1)
        #expect(try count("NOT (tags != ['a'])") == 1)
        #expect(try count("colour = 'red'") == 1)
        let join = "SELECT a.id FROM Thing AS a JOIN Thing AS b ON b.tags = a.tags"
        #expect(try database.query(join).count == 1)
    }
}
