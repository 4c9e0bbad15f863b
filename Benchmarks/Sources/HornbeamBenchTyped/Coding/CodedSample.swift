// SPDX-License-Identifier: Apache-2.0
// An entity with many kinds of properties: as a Codable struct, and in the row format.

import BenchHarness
import Foundation
import Hornbeam

@EntityModel
struct CodedSample: Codable, Equatable {
    let id: Int
    var name: String
    var title: String
    var note: String?
    var size: Int
    var price: Double
    var weight: Double?
    var isOpen: Bool
    var made: Date
    var changed: Date?
    var words: [String]
    var numbers: [Int]

    static func some(_ count: Int, seed: UInt64) -> [CodedSample] {
        var random = SplitMix(state: seed)
        func date() -> Date {
            Date(timeIntervalSince1970: Double(Int.random(in: 1_000_000_000..<1_700_000_000, using: &random)))
        }
        return (0..<count).map { id in
            CodedSample(
                id: id, name: "name-\(random.next() >> 40)", title: "An entity of many properties, number \(id)",
                note: random.next() & 1 == 0 ? "a note of \(id)" : nil,
                size: Int.random(in: 0..<100_000, using: &random),
                price: Double(Int.random(in: 0..<1_000_000, using: &random)) / 100,
                weight: random.next() & 1 == 0 ? 12.5 : nil, isOpen: random.next() & 1 == 0, made: date(),
                changed: random.next() & 1 == 0 ? date() : nil, words: ["one", "seventeen", "word \(id % 10)"],
                numbers: (0..<5).map { id &* 7 &+ $0 })
        }
    }
}

/// Reads the rows of a database with these samples. Rows are internal to the library, so this gets them when the
/// library passes them to an entity type. They are in their pages then, and the clock starts there.
final class RowProbe {
    private let database: Database
    private let samples: [CodedSample]

    init(_ samples: [CodedSample]) throws {
        self.samples = samples
        database = try Database.inMemory(models: CodedSample.self, CodedProbe.self)
        try database.write { context in
            for sample in samples {
                try sample.save(to: &context)
                try CodedProbe(sample).save(to: &context)
            }
        }
    }

    func roundTrip() throws -> [CodedSample] { try database.read { try $0.all() } }

    /// Returns the average bytes of a row.
    func bytes() throws -> Int {
        var sum = 0
        try rows { row in
            // Not public: only these figures use it.
            guard let size = Mirror(reflecting: row).descendant("size") as? Int else {
                throw BenchError("a row doesn't tell its size")
            }
            sum += size
        }
        return sum / samples.count
    }

    /// Returns the seconds for all samples, `rounds` times.
    func encode(rounds: Int) throws -> Double {
        var time: UInt64 = 0
        CodedProbe.whileWriting = { sample, row in
            let start = nanoseconds()
            for _ in 0..<rounds {
                // Only the library makes rows: a copy of the empty one allocates memory like a new one.
                var copy = row
                sample.write(to: &copy)
            }
            time += nanoseconds() - start
        }
        defer { CodedProbe.whileWriting = nil }
        try database.write { context in
            for sample in samples { try CodedProbe(sample).save(to: &context) }
        }
        return Double(time) * 1e-9
    }

    func decode(rounds: Int) throws -> Double {
        var time: UInt64 = 0
        try rows { row in
            let start = nanoseconds()
            for _ in 0..<rounds { _ = try CodedSample(row: row) }
            time += nanoseconds() - start
        }
        return Double(time) * 1e-9
    }

    /// Also returns the sum of the values.
    func column(rounds: Int) throws -> (seconds: Double, sum: Int) {
        var time: UInt64 = 0
        var sum = 0
        try rows { row in
            let start = nanoseconds()
            for _ in 0..<rounds {
                let size = try ColumnForms.of(\CodedSample.size).read(row, column: 4)
                sum &+= size
            }
            time += nanoseconds() - start
        }
        return (Double(time) * 1e-9, sum)
    }

    private func rows(_ body: @escaping (RowReader) throws -> Void) throws {
        CodedProbe.whileReading = body
        defer { CodedProbe.whileReading = nil }
        let count = try database.read { try CodedProbe.query().resolve(in: $0).count }
        guard count == samples.count else { throw BenchError("\(count) rows of \(samples.count)") }
    }
}

/// The entity without the macro, as the macro would write it, with access to its rows.
struct CodedProbe {
    let sample: CodedSample
    var id: Int { sample.id }

    init(_ sample: CodedSample) { self.sample = sample }

    // Safe, because the scenario has one thread.
    nonisolated(unsafe) static var whileWriting: ((CodedSample, RowWriter) -> Void)?
    nonisolated(unsafe) static var whileReading: ((RowReader) throws -> Void)?
}

extension CodedProbe: EntityModelProtocol {
    static var entityName: String { "CodedProbe" }

    static let entityShape = EntityShape<CodedProbe>(
        columns: [
            .init(.of("id", ColumnForms.of(\Self.id)), \Self.id),
            .init(.of("name", ColumnForms.of(\Self.sample.name)), \Self.sample.name),
            .init(.of("title", ColumnForms.of(\Self.sample.title)), \Self.sample.title),
            .init(.of("note", ColumnForms.of(\Self.sample.note)), \Self.sample.note),
            .init(.of("size", ColumnForms.of(\Self.sample.size)), \Self.sample.size),
            .init(.of("price", ColumnForms.of(\Self.sample.price)), \Self.sample.price),
            .init(.of("weight", ColumnForms.of(\Self.sample.weight)), \Self.sample.weight),
            .init(.of("isOpen", ColumnForms.of(\Self.sample.isOpen)), \Self.sample.isOpen),
            .init(.of("made", ColumnForms.of(\Self.sample.made)), \Self.sample.made),
            .init(.of("changed", ColumnForms.of(\Self.sample.changed)), \Self.sample.changed),
            .init(.of("words", ColumnForms.of(\Self.sample.words)), \Self.sample.words),
            .init(.of("numbers", ColumnForms.of(\Self.sample.numbers)), \Self.sample.numbers),
        ], indexes: [], relations: [])

    init(row: RowReader) throws(HornbeamError) {
        do { try Self.whileReading?(row) } catch { throw HornbeamError(.invalid, "\(error)") }
        sample = try CodedSample(row: row)
    }

    func write(to row: inout RowWriter) {
        Self.whileWriting?(sample, row)
        sample.write(to: &row)
    }

    mutating func normalize() {}
    func saveRelations(with saver: inout RelationSaver<Self>) throws {}
    static func setRelation(_ loaded: LoadedRelation, of entities: inout [[Self]]) {}
    static var patch: MergeStrategy<Self> { .replace }
}
