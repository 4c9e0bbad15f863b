// SPDX-License-Identifier: Apache-2.0
// The JSON of `Codable` values: it is the text that Foundation's encoder writes, equal values have equal texts, and
// no value is nested deeper than its readers accept.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

private enum Color: String, Codable { case red, green, blue }
private enum Choice: Codable, Hashable { case none, some(Int, name: String) }

private struct Sample: Codable {
    var names: [String: Int] = ["b": 1, "B": 2, "a10": 3, "é": 4, "_": 5]
    var numbers: [Double] = [1, 0.1, 1e16, 1e20, -0.0, .nan, .infinity, -.infinity, .leastNonzeroMagnitude]
    var single: Float = 0.1
    var integers: [Int64] = [.min, .max]
    var large = UInt64.max
    var small: Int8 = -3
    var text = "a/\"\\\n\r\t\u{1}\u{1F}\u{7F}\u{2028}é👍"
    var amount = Decimal(string: "12345678901234567890.12") ?? 0
    var url = URL(string: "https://a.org/b")
    var date = Date(timeIntervalSinceReferenceDate: 1.5)
    var data = Data([0, 1, 255])
    var id = UUID()
    var nothing: Int?
    var gaps: [Int?] = [1, nil]
    var byNumber = [10: "x", 9: "y"]
    var choice = Choice.some(1, name: "n")
    var nested = [[Choice.none], []]
}

private class Base: Codable { var x = 1 }
private final class Derived: Base {
    enum Keys: CodingKey { case y }
    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var list = container.nestedUnkeyedContainer(forKey: .y)
        try list.encode(2)
        try list.encodeNil()
        try super.encode(to: container.superEncoder())
    }
}

private struct Empty: Codable {}
private struct Silent: Encodable { func encode(to encoder: any Encoder) throws {} }

@EntityModel
private struct Bag {
    static let storedMetadata: [Metadata] = [.version]
    let id: Int
    var tags: Set<String>
    var counts: [Color: Set<Int>] = [:]
}

private struct Tags: EmittedValue, Equatable { var tags: Set<String> }

private struct Comment: Codable, Equatable {
    var replies: [Comment] = []

    /// A comment with `levels` arrays and objects inside one another.
    init(levels: Int) { if levels > 2 { replies = [Comment(levels: levels - 2)] } }
}

@EntityModel
private struct Topic: Equatable {
    let id: Int
    var top: Comment
    var other: [Comment?] = []
}

@Suite("JSON of Codable values")
struct CodedJSONTests {
    private func expectSame(_ value: some Encodable, _ location: SourceLocation = #_sourceLocation) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        let expected = String(decoding: try encoder.encode(value), as: UTF8.self)
        #expect(try CodedJSON.text(value) == expected, sourceLocation: location)
    }

    @Test("is the text of Foundation's encoder")
    func asFoundation() throws {
        try expectSame(Sample())
        try expectSame([Sample(), Sample()])
        try expectSame(Derived())
        try expectSame(Empty())
        try expectSame([Empty()])
        try expectSame([Silent()])
        try expectSame(3)
        try expectSame("x")
        try expectSame(nil as Int?)
        #expect(throws: EncodingError.self) { try CodedJSON.text(Silent()) }
        #expect(throws: EncodingError.self) { try CodedJSON.text([Decimal.nan]) }
        let wide = ["x": [Int128.max]]
        #expect(try CodedJSON.value([String: [Int128]].self, of: CodedJSON.text(wide)) == wide)
    }

    @Test("is one text for equal sets, and for equal dictionaries whose keys are no strings", .seeded)
    func unordered() throws {
        var random = SeededGenerator()
        struct Whole: Codable { var words: Set<String>, sets: Set<Set<Int>>, counts: [Color: [Choice: Int]] }
        var texts: Set<String> = []
        for capacity in [1, 10, 100, 1_000] {
            var words = Set<String>(minimumCapacity: capacity)
            var sets = Set<Set<Int>>(minimumCapacity: capacity)
            var counts = [Color: [Choice: Int]](minimumCapacity: capacity)
            for number in (0..<40).shuffled(using: &random) {
                words.insert("w\(number)")
                sets.insert(Set((0...number).shuffled(using: &random)))
            }
            for color in [Color.red, .green, .blue].shuffled(using: &random) {
                var choices = [Choice: Int](minimumCapacity: capacity)
                for number in (0..<20).shuffled(using: &random) { choices[.some(number, name: "n")] = number }
                counts[color] = choices
            }
            texts.insert(try CodedJSON.text(Whole(words: words, sets: sets, counts: counts)))
        }
        #expect(texts.count == 1)
        #expect(try CodedJSON.text(Set(["b", "a"])) == #"["a","b"]"#)
        #expect(try CodedJSON.text([Color.red: 1, .blue: 2]) == #"["blue",2,"red",1]"#)
    }

    @Test("doesn't report saving an equal set again", .seeded)
    func equalSets() throws {
        var random = SeededGenerator()
        let database = try Database.inMemory(models: Bag.self)
        let words = (0..<40).map { "w\($0)" }
        try database.write { try Bag(id: 1, tags: Set(words), counts: [.red: [1, 2, 3]]).save(to: &$0) }
        for _ in 0..<20 {
            var again = Set<String>(minimumCapacity: .random(in: 1...500, using: &random))
            for word in words.shuffled(using: &random) { again.insert(word) }
            let numbers = Set([3, 1, 2].shuffled(using: &random))
            let changes = try database.performBatchUpdates { context in
                try Bag(id: 1, tags: again, counts: [.red: numbers]).save(to: &context)
            }.changes
            #expect(changes[Bag.self].updated.isEmpty)
        }
        #expect(try database.read { try Bag.version(id: 1, in: $0) } == 1)
    }

    @Test("in a map index is compared by value with JSON of earlier programs, in any order")
    func emittedSets() throws {
        let index = MapIndex("tags", version: "1") { (bag: Bag, emit: inout MapEmitter<Tags>) in
            emit(key: .int(bag.id), value: Tags(tags: bag.tags))
        }
        let database = try Database.inMemory(models: Bag.self)
        try database.register(index)
        try database.write { context in
            for id in 0..<10 { try Bag(id: id, tags: ["a", "b", "c"]).save(to: &context) }
        }
        let stored = Array(#"{"tags":["c","a","b"]}"#.utf8)
        let trees = try #require(database.registered.maintained["tags"]?.trees)
        let write = { (value: [UInt8]) in
            try database.write { context in
                let transaction = try context.session.core.transaction
                var cursor = try transaction.cursor(trees.first)
                var keys: [[UInt8]] = []
                while try cursor.next() { keys.append(Array(cursor.key)) }
                let entry = try #require(MapEntryValue.bytes(id: nil, link: nil, value: value))
                for key in keys { try transaction.put(trees.first, key, entry) }
            }
        }
        try write(stored)
        var problems: [String] = []
        #expect(try database.check { problems.append($0) }, "\(problems)")
        try database.register(index, onDrift: .throw)
        try write(Array(#"{"tags":["c","a"]}"#.utf8))
        #expect(try !database.check { problems.append($0) })
        #expect(throws: HornbeamError.self) { try database.register(index, onDrift: .throw) }
    }

    @Test("is saved, restored, listed, exported and imported up to 128 levels")
    func depth() async throws {
        try await inSmallThread {
            let database = try Database.inMemory(models: Topic.self, keepsDeleted: .forever)
            let whole = Topic(id: 1, top: Comment(levels: 128), other: [Comment(levels: 126), nil])
            try database.write { try whole.save(to: &$0) }
            #expect(try database.read { try $0.find(1) } == whole)
            try database.write { context in
                try whole.delete(from: &context)
                #expect(try Deleted<Topic>.query().resolve(in: context).map(\.entity) == [whole])
                try Deleted<Topic>.query(1).resolve(in: context)?.restore(in: &context)
                #expect(try context.find(1) == whole)
                let core = try context.session.core
                let rows = try JSONRows("Topic", core: core)
                let line = try rows.line(
                    RowID(rawValue: 1), try #require(try core.store("Topic").row(RowID(rawValue: 1))))
                try context.remove(Topic.self, id: 1)
                _ = try Array(line.utf8).withBytes { try rows.save(line: $0) }
                #expect(try context.find(1) == whole)
                try whole.delete(from: &context)
                let (kept, deleted) = (
                    try core.store("Deleted<Topic>"), try JSONRows("Deleted<Topic>", core: core)
                )
                let copy = try deleted.line(RowID(rawValue: 1), try #require(try kept.row(RowID(rawValue: 1))))
                #expect(try Array(copy.utf8).withBytes { try deleted.save(line: $0) } == RowID(rawValue: 1))
                #expect(try Deleted<Topic>.query().resolve(in: context).map(\.entity) == [whole])
            }
            #expect(try database.check())
        }
    }

    @Test("is refused with the limit beyond 128 levels, when it is saved and when it is imported")
    func tooDeep() throws {
        let database = try Database.inMemory(models: Topic.self, keepsDeleted: .forever)
        for deep in [Topic(id: 2, top: Comment(levels: 130)), Topic(id: 2, top: Comment(levels: 6_000))] {
            let error = #expect(throws: HornbeamError.self) { try database.write { try deep.save(to: &$0) } }
            #expect(error?.message.contains("“top”") == true && error?.message.contains("128 levels") == true)
        }
        try database.write { context in
            let rows = try JSONRows("Topic", core: context.session.core)
            for levels in [129, 200, 100_000] {
                let nested = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
                let line = Array(#"{"id":3,"top":\#(nested),"other":[]}"#.utf8)
                let error = #expect(throws: HornbeamError.self) { try line.withBytes { _ = try rows.save(line: $0) } }
                #expect(error?.message.contains("128") == true, "\(error?.message ?? "")")
            }
        }
        #expect(try database.read { try Topic.query().count(in: $0) } == 0)
    }
}
