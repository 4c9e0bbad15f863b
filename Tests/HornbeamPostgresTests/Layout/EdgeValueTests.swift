// SPDX-License-Identifier: Apache-2.0
// Values that columns of PostgreSQL can't hold, or can only just hold.

import Foundation
import Hornbeam
import HornbeamTestSupport
import HornbeamTree
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

@Suite("Values at the edges of their types")
struct EdgeValueTests {
    private static let doubles: [Double] = [
        0, -0.0, 1, -1.5, .pi, 1e-300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
        .infinity, -.infinity, .nan, Double(nan: 7, signaling: false), -.nan, 0.1, 1e22, 9_007_199_254_740_994,
    ]
    private static let floats: [Float] = [
        0, -0.0, 0.1, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity, .nan, 16_777_216,
    ]
    private static let dates: [Double] = [
        0, -0.0, 0.5, 0.000001, 0.0000001, 812_345_678.123456, 812_345_678.1234567, -1e9, -62_135_596_800, 1e10,
        252_423_993_599, 1e15, -1e15, .infinity, -.infinity, .nan, 1e300, 780_000_000.25,
    ]
    private static let texts = [
        "", " ", "a\tb\nc\rd\\e", "\\N", "\\.", "NULL", "{\"a\"}", "Zo\u{EB}", "Zoe\u{308}", "a\u{0}b", "\u{0}",
        "\u{FFFD}",
        "👨‍👩‍👧", "\u{7F}\u{1}\u{B}", "O'Brien\"; --", "'\u{301}\"\u{301}\\\u{301},\u{301}",
        String(repeating: "ab\\", count: 5000),
        "\u{1112}\u{1161}\u{11AB}",
    ]

    private static var samples: [Sample] {
        var samples: [Sample] = []
        func add(_ change: (inout Sample) -> Void) {
            var sample = Sample(id: samples.count * 7 - 3)
            change(&sample)
            samples.append(sample)
        }
        add {
            ($0.tiny, $0.short, $0.middle, $0.long) = (.min, .min, .min, .min)
            ($0.unsignedTiny, $0.unsignedShort, $0.unsignedMiddle, $0.unsignedLong) = (.max, .max, .max, .max)
            $0.flag = true
        }
        add { ($0.tiny, $0.short, $0.middle, $0.long) = (.max, .max, .max, .max) }
        for double in doubles {
            add {
                $0.double = double
                $0.maybe = double
                $0.doubles = [double, 1, double]
            }
        }
        for float in floats { add { $0.single = float } }
        for date in dates { add { $0.date = Date(timeIntervalSinceReferenceDate: date) } }
        for text in texts {
            add {
                $0.text = text
                $0.texts = [text, "x", text]
                $0.optionals = [nil, text, nil]
                $0.note = Note(text: text, stars: [1, 2])
                $0.data = Data(text.utf8) + [0, 255, 92]
            }
        }
        for decimal in ["0", "-0.1", "12345678901234567890123456789012345678", "1e127", "-1e-127", "NaN", "100.00"] {
            add { $0.decimal = Decimal(string: decimal) ?? .nan }
        }
        add {
            $0.url = URL(string: "https://example.org/%20?a=b#c")
            $0.numbers = [.min, 0, .max]
            $0.nested = [[], [1], [2, 3]]
            $0.uuid = UUID()
        }
        return samples
    }

    /// Returns the rows of a store, byte for byte.
    private func rows(_ database: Database) throws -> [Int64: [UInt8]] {
        try database.read { context in
            try context.session.run { session in
                var rows: [Int64: [UInt8]] = [:]
                try session.core.store("Sample").forEachRow { _, row in
                    guard case .int(let id) = try row.value(0) else { return true }
                    rows[id] = Array(row.bytes)
                    return true
                }
                return rows
            }
        }
    }

    @Test("come back bit for bit, from a first copy and from a batch")
    func roundTrip() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        let folder = try TemporaryFolder()
        let database = try Database.inMemory(models: Sample.self)
        let mirror = try PostgresMirror(of: database, named: "edges", to: url)
        let samples = Self.samples
        try await database.write { context in for sample in samples { try sample.save(to: &context) } }
        for round in 1...2 {
            try await mirror.update()
            let path = folder.path("\(round).hornbeam")
            _ = try await Database.restore(to: path, from: url) { _, _ in }
            let there = try Database(at: path, models: Sample.self)
            let (old, new) = try (rows(database), rows(there))
            #expect(new.count == samples.count)
            for (id, row) in old {
                #expect(new[id] == row, "sample \(id): \(samples.first { $0.id == Int(id) }.map { "\($0)" } ?? "")")
            }
            try await mirror.verify()
            try there.close()
            // All of them again, in a batch.
            try await database.write { context in
                for sample in samples {
                    var sample = sample
                    sample.flag.toggle()
                    try sample.save(to: &context)
                }
            }
        }
        folder.keep()
    }

    @Test("in statements: quotes with accents, which Swift sees as one character, end no text and no name")
    func accentedQuotes() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        let database = try Database.inMemory(models: Book.self, Writer.self)
        let schema = "a\"\u{301}b'\u{301}"
        let mirror = try PostgresMirror(of: database, named: "quotes", to: url, schema: schema)
        let ids = ["'\u{301}", "x\"\u{301}", "\\\u{301}", "',\u{301}('"]
        for title in ["first", "second"] {
            try await database.write { context in
                for id in ids { try Book(id: id, title: title + id, writers: .ids([1])).save(to: &context) }
            }
            try await mirror.update()
            #expect(try await restored(from: url, schema: schema) == exported(database))
        }
        let reader = try PostgresReader(url, schema: schema, models: Book.self, Writer.self)
        for id in ids {
            #expect(try await reader.find(Book.self, id)?.title == "second" + id)
            #expect(try await reader.ids(Book.filter(.string(\.title, contains: id))) == [id])
        }
        #expect(try await reader.count(Book.filter(.value(\.title, in: ids.map { "second" + $0 }))) == ids.count)
        try await database.write { context in for id in ids { try Book.delete(id: id, from: &context) } }
        try await mirror.update()
        #expect(try await reader.count(Book.query()) == 0)
    }

    @Test("in ids: equivalent texts are one id, dates are exact, U+0000 is refused by name")
    func ids() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        let database = try Database.inMemory(models: Book.self, Moment.self)
        let mirror = try PostgresMirror(of: database, named: "ids", to: url)
        try await database.write { context in
            try Book(id: "Zoe\u{308}", title: "first").save(to: &context)
            try Moment(id: Date(timeIntervalSinceReferenceDate: 0.1234567891), name: "now").save(to: &context)
        }
        try await mirror.update()
        try await database.write { try Book(id: "Zo\u{EB}", title: "second").save(to: &$0) }
        try await mirror.update()
        #expect(try await restored(from: url) == exported(database))
        try await database.write { try Book(id: "a\u{0}", title: "none").save(to: &$0) }
        await #expect {
            try await mirror.update()
        } throws: { error in
            "\(error)".contains("Book has an id with the character U+0000")
        }
    }
}

@EntityModel
struct Moment {
    let id: Date
    var name: String
}
