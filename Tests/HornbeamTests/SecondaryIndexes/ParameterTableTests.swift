// SPDX-License-Identifier: Apache-2.0
// Parameters of text queries of a secondary index: for every column type and every comparable value, the query agrees
// with a statement over the entities.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamSecondaryIndexes

@EntityModel
private struct Sample {
    let id: Int
    var flag: Bool?
    var int8: Int8?
    var int16: Int16?
    var int32: Int32?
    var int64: Int64?
    var uint8: UInt8?
    var uint16: UInt16?
    var uint32: UInt32?
    var uint64: UInt64?
    var float: Float?
    var double: Double?
    var decimal: Decimal?
    var date: Date?
    var uuid: UUID?
    var text: String?
    var data: Data?
}

@Suite("Parameters of text queries")
struct ParameterTableTests {
    private static let index = SecondaryIndex(
        "samples", version: "1",
        columns: [
            IndexColumn<Bool>("flag"), IndexColumn<Int8>("int8"), IndexColumn<Int16>("int16"),
            IndexColumn<Int32>("int32"), IndexColumn<Int64>("int64"), IndexColumn<UInt8>("uint8"),
            IndexColumn<UInt16>("uint16"), IndexColumn<UInt32>("uint32"), IndexColumn<UInt64>("uint64"),
            IndexColumn<Float>("float"), IndexColumn<Double>("double"), IndexColumn<Decimal>("decimal"),
            IndexColumn<Date>("date"), IndexColumn<UUID>("uuid"), IndexColumn<String>("text"),
            IndexColumn<Data>("data"),
        ]
    ) { (sample: Sample, row: inout IndexRowWriter) in
        row["flag"] = sample.flag.columnValue
        row["int8"] = sample.int8.columnValue
        row["int16"] = sample.int16.columnValue
        row["int32"] = sample.int32.columnValue
        row["int64"] = sample.int64.columnValue
        row["uint8"] = sample.uint8.columnValue
        row["uint16"] = sample.uint16.columnValue
        row["uint32"] = sample.uint32.columnValue
        row["uint64"] = sample.uint64.columnValue
        row["float"] = sample.float.columnValue
        row["double"] = sample.double.columnValue
        row["decimal"] = sample.decimal.columnValue
        row["date"] = sample.date.columnValue
        row["uuid"] = sample.uuid.columnValue
        row["text"] = sample.text.columnValue
        row["data"] = sample.data.columnValue
    }

    private static let integers = [0, 1, -1, 127, 128, -129, 255, 256, 65_535, 70_000, Int.max, Int.min]
    private static let fractions: [Double] = [
        0, -0.0, 0.5, 1.5, -1.5, 2, 127.5, 1e30, -1e30, 1e300, -1e300, .infinity, -.infinity, .nan,
    ]
    private static let decimals = ["0", "1", "1.5", "-0.25", "1e80", "-1e80"].compactMap { Decimal(string: $0) }

    private static let numbers: [any ColumnValue] =
        integers.map { $0 as any ColumnValue } + fractions.map { $0 as any ColumnValue }
        + decimals.map { $0 as any ColumnValue } + [UInt64.max, Float(1.5), Decimal.nan]

    /// Columns by the kind of their values.
    private static let table: [(columns: [String], parameters: [any ColumnValue])] = [
        (
            [
                "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double", "decimal",
            ], numbers
        ),
        (["flag"], [true, false]),
        (["text"], ["", "a", "b", "zzz", "\u{e9}", "e\u{301}", "\0"]),
        (["date"], [Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: 1.5)]),
        (["uuid"], [uuid(0), uuid(7)]),
        (["data"], [Data(), Data([0]), Data([1, 2])]),
    ]

    private static func uuid(_ last: UInt8) -> UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last)) }

    private static func filled() throws -> Database {
        let database = try Database.inMemory(models: Sample.self, indexes: [index])
        try database.write { context in
            try Sample(id: 0).save(to: &context)
            try Sample(
                id: 1, flag: true, int8: 1, int16: 1, int32: 1, int64: 1, uint8: 1, uint16: 1, uint32: 1, uint64: 1,
                float: 1.5, double: 1.5, decimal: Decimal(string: "1.5"), date: Date(timeIntervalSinceReferenceDate: 0),
                uuid: uuid(7), text: "a", data: Data([1, 2])
            ).save(to: &context)
            try Sample(
                id: 2, flag: false, int8: -128, int16: .min, int32: .min, int64: .min, uint8: 0, uint16: 0, uint32: 0,
                uint64: 0, float: -.infinity, double: -.infinity, decimal: Decimal(string: "-1e80"),
                date: Date(timeIntervalSinceReferenceDate: -1e9), uuid: uuid(0), text: "", data: Data()
            ).save(to: &context)
            try Sample(
                id: 3, flag: true, int8: 127, int16: .max, int32: .max, int64: .max, uint8: 255, uint16: .max,
                uint32: .max, uint64: .max, float: .infinity, double: .infinity, decimal: Decimal(string: "1e100"),
                date: Date(timeIntervalSinceReferenceDate: 1.5), uuid: uuid(200), text: "\u{e9}t\u{e9}", data: Data([0])
            ).save(to: &context)
            try Sample(id: 4, int64: 0, float: .nan, double: .nan, decimal: .nan, text: "b").save(to: &context)
            try Sample(id: 5, float: 0, double: -0.0, decimal: 0).save(to: &context)
        }
        return database
    }

    private static let conditions = [
        "= ?1", "== ?1", "!= ?1", "<> ?1", "< ?1", "<= ?1", "> ?1", ">= ?1", "BETWEEN ?1 AND ?2",
        "NOT BETWEEN ?1 AND ?2",
        "IN (?1, ?2)", "NOT IN (?1, ?2)",
    ]

    @Test("find the same as statements, for any number, including NaN", arguments: conditions)
    func table(_ condition: String) throws {
        let database = try Self.filled()
        let usesBoth = condition.contains("?2")
        try database.read { context in
            for (columns, parameters) in Self.table {
                for column in columns {
                    for (place, parameter) in parameters.enumerated() {
                        let other = parameters[(place * 7 + 3) % parameters.count]
                        let values = usesBoth ? [parameter, other] : [parameter]
                        for prefix in ["", "NOT "] {
                            let text = "WHERE \(prefix)\(column) \(condition)"
                            let query = try Self.index.query(try IndexQuery(text), values)
                            let found = try query.ids(in: context).map { "{\"id\":\($0)}" }
                            let statement = try Statement("SELECT id FROM Sample \(text) ORDER BY id")
                            let wanted = try statement.resolve(in: context, values).map(\.json)
                            #expect(found == wanted, "\(text), \(values.map(\.columnValue.text))")
                        }
                    }
                }
            }
        }
    }

    @Test("NaN is a number like others in the typed conditions")
    func typed() throws {
        let database = try Self.filled()
        try database.read { (context) throws in
            let isLess = ColumnCondition.compare(column: "int64", .less, .double(.nan))
            #expect(try Self.index.query(isLess).ids(in: context) == [1, 2, 3, 4])
            let isIn = ColumnCondition.isIn(column: "int64", [.double(.nan), .int(1)])
            #expect(try Self.index.query(isIn).ids(in: context) == [1])
        }
    }

    @Test("a value of another kind is refused, and its text is not shown as a whole")
    func otherKinds() throws {
        let long = String(repeating: "x", count: 100_000)
        let error = #expect(throws: HornbeamError.self) { _ = try Self.index.query("WHERE int64 = ?", long) }
        #expect(error?.code == .invalid && (error?.message.utf8.count ?? .max) < 1_000)
    }
}
