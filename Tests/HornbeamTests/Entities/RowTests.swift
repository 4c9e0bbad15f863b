// SPDX-License-Identifier: Apache-2.0
// Rows: every storable type comes back unchanged, older rows stay readable, and garbage gives errors.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private enum Mood: String { case calm, wild }
private enum Level: Int, IndexKey { case low = 1, high = 9 }
private enum Tone: String, Codable { case soft, loud }
private struct Point: Codable, Equatable {
    var x: Int
    var y: Double
}

private struct Everything {
    var id: Int = -5
    var small: Int8 = -128
    var word: UInt16 = 65535
    var big: UInt64 = .max
    var ratio: Double = -0.0
    var single: Float = 1.5
    var flag = true
    var name = "Zoë\u{0}e\u{301}"
    var when = Date(timeIntervalSinceReferenceDate: 12345.678)
    var blob = Data([0, 255, 1])
    var uid = UUID()
    var link: URL? = URL(string: "https://example.org/a?b=c")
    var price: Decimal = Decimal(string: "-12345678901234567890.123456789")!
    var mood: Mood = .wild
    var maybeMood: Mood?
    var moods: [Mood] = [.calm, .wild]
    var maybeMoods: [Mood]? = [.calm]
    var level: Level = .high
    var maybeLevel: Level? = .low
    var levels: [Level] = [.low, .low]
    var tone: Tone = .loud
    var maybeTone: Tone? = .soft
    var point = Point(x: 3, y: 0.1)
    var maybePoint: Point?
    var points: [Point] = [Point(x: 1, y: 2)]
    var byName: [String: Int] = ["a": 1]
    var numbers: [Int?] = [1, nil, 3]
    var words: [String]? = ["", "x"]
    var nested: [[String]] = [[], ["a", "b"]]
    var nothing: Int?
}

private let columns: [ColumnDescription] = [
    .of("id", ColumnForms.of(\Everything.id)), .of("small", ColumnForms.of(\Everything.small)),
    .of("word", ColumnForms.of(\Everything.word)),
    .of("big", ColumnForms.of(\Everything.big)), .of("ratio", ColumnForms.of(\Everything.ratio)),
    .of("single", ColumnForms.of(\Everything.single)),
    .of("flag", ColumnForms.of(\Everything.flag)), .of("name", ColumnForms.of(\Everything.name)),
    .of("when", ColumnForms.of(\Everything.when)),
    .of("blob", ColumnForms.of(\Everything.blob)), .of("uid", ColumnForms.of(\Everything.uid)),
    .of("link", ColumnForms.of(\Everything.link)),
    .of("price", ColumnForms.of(\Everything.price)), .of("mood", ColumnForms.of(\Everything.mood)),
    .of("maybeMood", ColumnForms.of(\Everything.maybeMood)),
    .of("moods", ColumnForms.of(\Everything.moods)), .of("maybeMoods", ColumnForms.of(\Everything.maybeMoods)),
    .of("level", ColumnForms.of(\Everything.level)),
    .of("maybeLevel", ColumnForms.of(\Everything.maybeLevel)), .of("levels", ColumnForms.of(\Everything.levels)),
    .of("tone", ColumnForms.of(\Everything.tone)),
    .of("maybeTone", ColumnForms.of(\Everything.maybeTone)), .of("point", ColumnForms.of(\Everything.point)),
    .of("maybePoint", ColumnForms.of(\Everything.maybePoint)), .of("points", ColumnForms.of(\Everything.points)),
    .of("byName", ColumnForms.of(\Everything.byName)),
    .of("numbers", ColumnForms.of(\Everything.numbers)), .of("words", ColumnForms.of(\Everything.words)),
    .of("nested", ColumnForms.of(\Everything.nested)),
    .of("nothing", ColumnForms.of(\Everything.nothing)),
]

private func row(of e: Everything, layout: RowLayout) throws -> [UInt8] {
    var row = RowWriter(layout: layout)
    ColumnForms.of(\Everything.id).write(e.id, to: &row, column: 0)
    ColumnForms.of(\Everything.small).write(e.small, to: &row, column: 1)
    ColumnForms.of(\Everything.word).write(e.word, to: &row, column: 2)
    ColumnForms.of(\Everything.big).write(e.big, to: &row, column: 3)
    ColumnForms.of(\Everything.ratio).write(e.ratio, to: &row, column: 4)
    ColumnForms.of(\Everything.single).write(e.single, to: &row, column: 5)
    ColumnForms.of(\Everything.flag).write(e.flag, to: &row, column: 6)
    ColumnForms.of(\Everything.name).write(e.name, to: &row, column: 7)
    ColumnForms.of(\Everything.when).write(e.when, to: &row, column: 8)
    ColumnForms.of(\Everything.blob).write(e.blob, to: &row, column: 9)
    ColumnForms.of(\Everything.uid).write(e.uid, to: &row, column: 10)
    ColumnForms.of(\Everything.link).write(e.link, to: &row, column: 11)
    ColumnForms.of(\Everything.price).write(e.price, to: &row, column: 12)
    ColumnForms.of(\Everything.mood).write(e.mood, to: &row, column: 13)
    ColumnForms.of(\Everything.maybeMood).write(e.maybeMood, to: &row, column: 14)
    ColumnForms.of(\Everything.moods).write(e.moods, to: &row, column: 15)
    ColumnForms.of(\Everything.maybeMoods).write(e.maybeMoods, to: &row, column: 16)
    ColumnForms.of(\Everything.level).write(e.level, to: &row, column: 17)
    ColumnForms.of(\Everything.maybeLevel).write(e.maybeLevel, to: &row, column: 18)
    ColumnForms.of(\Everything.levels).write(e.levels, to: &row, column: 19)
    ColumnForms.of(\Everything.tone).write(e.tone, to: &row, column: 20)
    ColumnForms.of(\Everything.maybeTone).write(e.maybeTone, to: &row, column: 21)
    ColumnForms.of(\Everything.point).write(e.point, to: &row, column: 22)
    ColumnForms.of(\Everything.maybePoint).write(e.maybePoint, to: &row, column: 23)
    ColumnForms.of(\Everything.points).write(e.points, to: &row, column: 24)
    ColumnForms.of(\Everything.byName).write(e.byName, to: &row, column: 25)
    ColumnForms.of(\Everything.numbers).write(e.numbers, to: &row, column: 26)
    ColumnForms.of(\Everything.words).write(e.words, to: &row, column: 27)
    ColumnForms.of(\Everything.nested).write(e.nested, to: &row, column: 28)
    ColumnForms.of(\Everything.nothing).write(e.nothing, to: &row, column: 29)
    return try row.finish()
}

private func decode(_ row: RowReader) throws -> Everything {
    var e = Everything()
    e.id = try ColumnForms.of(\Everything.id).read(row, column: 0)
    e.small = try ColumnForms.of(\Everything.small).read(row, column: 1)
    e.word = try ColumnForms.of(\Everything.word).read(row, column: 2)
    e.big = try ColumnForms.of(\Everything.big).read(row, column: 3)
    e.ratio = try ColumnForms.of(\Everything.ratio).read(row, column: 4)
    e.single = try ColumnForms.of(\Everything.single).read(row, column: 5)
    e.flag = try ColumnForms.of(\Everything.flag).read(row, column: 6)
    e.name = try ColumnForms.of(\Everything.name).read(row, column: 7)
    e.when = try ColumnForms.of(\Everything.when).read(row, column: 8)
    e.blob = try ColumnForms.of(\Everything.blob).read(row, column: 9)
    e.uid = try ColumnForms.of(\Everything.uid).read(row, column: 10)
    e.link = try ColumnForms.of(\Everything.link).read(row, column: 11)
    e.price = try ColumnForms.of(\Everything.price).read(row, column: 12)
    e.mood = try ColumnForms.of(\Everything.mood).read(row, column: 13)
    e.maybeMood = try ColumnForms.of(\Everything.maybeMood).read(row, column: 14)
    e.moods = try ColumnForms.of(\Everything.moods).read(row, column: 15)
    e.maybeMoods = try ColumnForms.of(\Everything.maybeMoods).read(row, column: 16)
    e.level = try ColumnForms.of(\Everything.level).read(row, column: 17)
    e.maybeLevel = try ColumnForms.of(\Everything.maybeLevel).read(row, column: 18)
    e.levels = try ColumnForms.of(\Everything.levels).read(row, column: 19)
    e.tone = try ColumnForms.of(\Everything.tone).read(row, column: 20)
    e.maybeTone = try ColumnForms.of(\Everything.maybeTone).read(row, column: 21)
    e.point = try ColumnForms.of(\Everything.point).read(row, column: 22)
    e.maybePoint = try ColumnForms.of(\Everything.maybePoint).read(row, column: 23)
    e.points = try ColumnForms.of(\Everything.points).read(row, column: 24)
    e.byName = try ColumnForms.of(\Everything.byName).read(row, column: 25)
    e.numbers = try ColumnForms.of(\Everything.numbers).read(row, column: 26)
    e.words = try ColumnForms.of(\Everything.words).read(row, column: 27)
    e.nested = try ColumnForms.of(\Everything.nested).read(row, column: 28)
    e.nothing = try ColumnForms.of(\Everything.nothing).read(row, column: 29)
    return e
}

@Suite("Rows")
struct RowTests {
    @Test("every storable type comes back as it was, in any stored order")
    func roundTrip() throws {
        let original = Everything()
        let orders: [[Int]?] = [nil, Array(columns.indices.reversed())]
        for stored in orders {
            let layout = RowLayout(columns: columns, stored: stored)
            defer { withExtendedLifetime(layout) {} }
            let bytes = try row(of: original, layout: layout)
            try bytes.withUnsafeBytes { raw in
                let reader = try RowReader(raw, layout: layout)
                let copy = try decode(reader)
                #expect("\(copy)" == "\(original)")
                #expect(copy.ratio.sign == .minus)
                #expect(try reader.value(14) == .null)
                #expect(try reader.value(26) == .array([.int(1), .null, .int(3)]))
            }
        }
    }

    @Test("column types follow the property's type")
    func types() {
        let types = Dictionary(uniqueKeysWithValues: columns.map { ($0.name, $0.type.description) })
        #expect(types["id"] == "int64")
        #expect(types["mood"] == "string")
        #expect(types["maybeMoods"] == "[string]?")
        #expect(types["maybeLevel"] == "int64?")
        #expect(types["tone"] == "string")
        #expect(types["maybePoint"] == "json?")
        #expect(types["numbers"] == "[int64?]")
        #expect(types["nested"] == "[[string]]")
        #expect(types["link"] == "url?")
    }

    @Test("a row of an older schema has null in columns added later")
    func olderRows() throws {
        let old = RowLayout(columns: Array(columns.prefix(8)))
        var writer = RowWriter(layout: old)
        7.write(to: &writer, column: 0)
        "name".write(to: &writer, column: 7)
        let bytes = try writer.finish()
        try bytes.withUnsafeBytes { raw in
            let layout = RowLayout(columns: columns)
            defer { withExtendedLifetime(layout) {} }
            let reader = try RowReader(raw, layout: layout)
            #expect(try reader.int(0) == 7)
            #expect(try reader.string(7) == "name")
            #expect(try reader.value(12) == .null)
            #expect(reader.contains(column: 7) && !reader.contains(column: 8))
            #expect(throws: HornbeamError.self) { _ = try Date.read(from: reader, column: 8) }
        }
    }

    @Test("columns may be written in any order, again, as null after a value, and not at all", .seeded)
    func writingOrder() throws {
        let columns = ["int64", "string", "data?", "string?", "int32?", "string", "url?"].enumerated().map {
            ColumnDescription(name: "c\($0.offset)", type: ColumnType($0.element) ?? .data)
        }
        var random = SeededGenerator()
        for _ in 0..<2_000 {
            let layout = RowLayout(columns: columns, stored: Array(columns.indices).shuffled(using: &random))
            defer { withExtendedLifetime(layout) {} }
            var writer = RowWriter(layout: layout)
            var expected = [Value](repeating: .null, count: columns.count)
            let inOrder = Bool.random(using: &random)
            var order = (0..<Int.random(in: 0...10, using: &random)).map { _ in
                Int.random(in: 0..<columns.count, using: &random)
            }
            if inOrder { order = layout.columns.filter { _ in Int.random(in: 0..<4, using: &random) > 0 } }
            for column in order {
                let text = String(repeating: "é", count: Int.random(in: 0...300, using: &random))
                switch column {
                case 0, 4: expected[column] = .int(Int64.random(in: 0...1_000, using: &random))
                case 2: expected[column] = .data(Data(text.utf8))
                default: expected[column] = .string(text)
                }
                if Int.random(in: 0..<6, using: &random) == 0 { expected[column] = .null }
                switch expected[column] {
                case .string(let text): writer.setString(text, column)
                case .int(let number): writer.setInt(number, column)
                case let value: writer.set(value, column)
                }
            }
            try writer.finish().withUnsafeBytes { raw in
                let values = try RowReader(raw, layout: layout).values()
                #expect(values == expected)
            }
        }
    }

    @Test("mutated and cut rows give values or errors, never a trap", .seeded)
    func garbage() throws {
        let layout = RowLayout(columns: columns)
        defer { withExtendedLifetime(layout) {} }
        let valid = try row(of: Everything(), layout: layout)
        var random = SeededGenerator()
        for _ in 0..<5_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
            bytes.withUnsafeBytes { raw in
                guard let reader = try? RowReader(raw, layout: layout) else { return }
                for column in columns.indices { _ = try? reader.value(column) }
                _ = try? decode(reader)
            }
        }
    }

    @Test("a value that doesn't fit its column is refused with the property's name")
    func misfits() throws {
        var writer = RowWriter(layout: RowLayout(columns: columns))
        writer.set(.int(300), 1)
        #expect { try writer.finish() } throws: { "\($0)".contains("small") }
        #expect(Value.double(3).converted(to: .int8) == .int(3))
        #expect(Value.double(3.5).converted(to: .int8) == nil)
        #expect(Value.int(-1).converted(to: .uint64) == nil)
        #expect(Value.int(1 << 53 | 1).converted(to: .double) == nil)
    }
}
