// SPDX-License-Identifier: Apache-2.0
// Rows: every storable type round trips, older rows stay readable, and garbage gives errors.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam

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
    .of("id", \Everything.id), .of("small", \Everything.small), .of("word", \Everything.word),
    .of("big", \Everything.big), .of("ratio", \Everything.ratio), .of("single", \Everything.single),
    .of("flag", \Everything.flag), .of("name", \Everything.name), .of("when", \Everything.when),
    .of("blob", \Everything.blob), .of("uid", \Everything.uid), .of("link", \Everything.link),
    .of("price", \Everything.price), .of("mood", \Everything.mood), .of("maybeMood", \Everything.maybeMood),
    .of("moods", \Everything.moods), .of("maybeMoods", \Everything.maybeMoods), .of("level", \Everything.level),
    .of("maybeLevel", \Everything.maybeLevel), .of("levels", \Everything.levels), .of("tone", \Everything.tone),
    .of("maybeTone", \Everything.maybeTone), .of("point", \Everything.point),
    .of("maybePoint", \Everything.maybePoint), .of("points", \Everything.points), .of("byName", \Everything.byName),
    .of("numbers", \Everything.numbers), .of("words", \Everything.words), .of("nested", \Everything.nested),
    .of("nothing", \Everything.nothing),
]

private func row(of e: Everything, layout: RowLayout) throws -> [UInt8] {
    var row = RowWriter(layout: layout)
    row.write(e.id, column: 0)
    row.write(e.small, column: 1)
    row.write(e.word, column: 2)
    row.write(e.big, column: 3)
    row.write(e.ratio, column: 4)
    row.write(e.single, column: 5)
    row.write(e.flag, column: 6)
    row.write(e.name, column: 7)
    row.write(e.when, column: 8)
    row.write(e.blob, column: 9)
    row.write(e.uid, column: 10)
    row.write(e.link, column: 11)
    row.write(e.price, column: 12)
    row.write(e.mood, column: 13)
    row.write(e.maybeMood, column: 14)
    row.write(e.moods, column: 15)
    row.write(e.maybeMoods, column: 16)
    row.write(e.level, column: 17)
    row.write(e.maybeLevel, column: 18)
    row.write(e.levels, column: 19)
    row.write(e.tone, column: 20)
    row.write(e.maybeTone, column: 21)
    row.write(e.point, column: 22)
    row.write(e.maybePoint, column: 23)
    row.write(e.points, column: 24)
    row.write(e.byName, column: 25)
    row.write(e.numbers, column: 26)
    row.write(e.words, column: 27)
    row.write(e.nested, column: 28)
    row.write(e.nothing, column: 29)
    return try row.finish()
}

private func decode(_ row: RowReader) throws -> Everything {
    var e = Everything()
    e.id = try row.read(column: 0)
    e.small = try row.read(column: 1)
    e.word = try row.read(column: 2)
    e.big = try row.read(column: 3)
    e.ratio = try row.read(column: 4)
    e.single = try row.read(column: 5)
    e.flag = try row.read(column: 6)
    e.name = try row.read(column: 7)
    e.when = try row.read(column: 8)
    e.blob = try row.read(column: 9)
    e.uid = try row.read(column: 10)
    e.link = try row.read(column: 11)
    e.price = try row.read(column: 12)
    e.mood = try row.read(column: 13)
    e.maybeMood = try row.read(column: 14)
    e.moods = try row.read(column: 15)
    e.maybeMoods = try row.read(column: 16)
    e.level = try row.read(column: 17)
    e.maybeLevel = try row.read(column: 18)
    e.levels = try row.read(column: 19)
    e.tone = try row.read(column: 20)
    e.maybeTone = try row.read(column: 21)
    e.point = try row.read(column: 22)
    e.maybePoint = try row.read(column: 23)
    e.points = try row.read(column: 24)
    e.byName = try row.read(column: 25)
    e.numbers = try row.read(column: 26)
    e.words = try row.read(column: 27)
    e.nested = try row.read(column: 28)
    e.nothing = try row.read(column: 29)
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

    @Test("a row of an older schema reads as null where columns came later")
    func olderRows() throws {
        let old = RowLayout(columns: Array(columns.prefix(8)))
        var writer = RowWriter(layout: old)
        writer.write(7, column: 0)
        writer.write("name", column: 7)
        let bytes = try writer.finish()
        try bytes.withUnsafeBytes { raw in
            let layout = RowLayout(columns: columns)
            defer { withExtendedLifetime(layout) {} }
            let reader = try RowReader(raw, layout: layout)
            #expect(try reader.int(0) == 7)
            #expect(try reader.string(7) == "name")
            #expect(try reader.value(12) == .null)
            #expect(reader.contains(column: 7) && !reader.contains(column: 8))
            #expect(throws: HornbeamError.self) { let _: Date = try reader.read(column: 8) }
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
