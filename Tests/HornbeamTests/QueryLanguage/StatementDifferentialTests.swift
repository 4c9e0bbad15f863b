// SPDX-License-Identifier: Apache-2.0
// Random conditions: a statement's results agree with three-valued logic for each row, implemented anew here, with
// indexes, without them, and without pushing conditions into the planner.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct IndexedSample {
    @Index<Self>(\.number) private var byNumber
    @Index<Self>(\.text, \.number) private var byText
    @Index<Self>(\.flag) private var byFlag

    let id: Int
    var number: Int?
    var real: Double
    var text: String?
    var flag: Bool
    var tags: [String]
}

@EntityModel
private struct PlainSample {
    let id: Int
    var number: Int?
    var real: Double
    var text: String?
    var flag: Bool
    var tags: [String]
}

/// A condition as text, and its value for a row; nil means unknown.
private struct Condition {
    var text: String
    var truth: @Sendable (IndexedSample) -> Bool?

    static func random(_ generator: inout SeededGenerator, depth: Int = 3) -> Condition {
        if depth > 0, generator.below(10) < 6 {
            let left = random(&generator, depth: depth - 1)
            switch generator.below(3) {
            case 0: return Condition(text: "NOT (\(left.text))") { left.truth($0).map { !$0 } }
            case 1:
                let right = random(&generator, depth: depth - 1)
                return Condition(text: "(\(left.text) AND \(right.text))") { row in
                    let (first, second) = (left.truth(row), right.truth(row))
                    if first == false || second == false { return false }
                    return first == nil || second == nil ? nil : true
                }
            default:
                let right = random(&generator, depth: depth - 1)
                return Condition(text: "(\(left.text) OR \(right.text))") { row in
                    let (first, second) = (left.truth(row), right.truth(row))
                    if first == true || second == true { return true }
                    return first == nil || second == nil ? nil : false
                }
            }
        }
        return leaf(&generator)
    }

    private static func leaf(_ generator: inout SeededGenerator) -> Condition {
        let signs: [(String, @Sendable (Double, Double) -> Bool)] = [
            ("=", { $0 == $1 }), ("!=", { $0 != $1 }), ("<", { $0 < $1 }), ("<=", { $0 <= $1 }), (">", { $0 > $1 }),
            (">=", { $0 >= $1 }),
        ]
        let (sign, holds) = signs[generator.below(6)]
        let number = generator.below(12)
        let letter = ["a", "b", "ab", "B", "é", ""][generator.below(6)]
        switch generator.below(12) {
        case 0:
            return Condition(text: "number \(sign) \(number)") { $0.number.map { holds(Double($0), Double(number)) } }
        case 1:
            return Condition(text: "\(number).5 \(sign) number") {
                $0.number.map { holds(Double(number) + 0.5, Double($0)) }
            }
        case 2: return Condition(text: "real \(sign) \(number) / 2") { holds($0.real, Double(number) / 2) }
        case 3: return Condition(text: "number IS NULL") { $0.number == nil }
        case 4: return Condition(text: "text IS VALUED") { $0.text != nil }
        case 5: return Condition(text: "text = '\(letter)'") { $0.text.map { $0 == letter } }
        case 6: return Condition(text: "text LIKE '\(letter)%'") { $0.text.map { $0.hasPrefix(letter) } }
        case 7: return Condition(text: "flag") { $0.flag }
        case 8: return Condition(text: "'\(letter)' IN tags") { $0.tags.contains(letter) }
        case 9:
            return Condition(text: "number IN (\(number), \(number + 2), 'x')") {
                $0.number.map { $0 == number || $0 == number + 2 }
            }
        case 10:
            return Condition(text: "number BETWEEN \(number) AND \(number + 3)") {
                $0.number.map { $0 >= number && $0 <= number + 3 }
            }
        default:
            return Condition(text: "number \(sign) real") { row in row.number.map { holds(Double($0), row.real) } }
        }
    }
}

@Suite("Statements compared with their meaning")
struct StatementDifferentialTests {
    private func rows(_ generator: inout SeededGenerator) -> [IndexedSample] {
        let texts = ["a", "b", "ab", "abc", "B", "é", "e\u{301}x", ""]
        return (0..<80).map { id in
            IndexedSample(
                id: id, number: generator.oneIn(5) ? nil : generator.below(12), real: Double(generator.below(24)) / 4,
                text: generator.oneIn(5) ? nil : texts[generator.below(texts.count)], flag: generator.oneIn(2),
                tags: (0..<generator.below(3)).map { _ in texts[generator.below(texts.count)] })
        }
    }

    @Test("conditions find the right rows, however they are answered", arguments: SeededGenerator.seeds(4))
    func conditions(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let rows = rows(&generator)
        let database = try Database.inMemory(models: IndexedSample.self, PlainSample.self)
        try database.write { (context) throws in
            for row in rows {
                try row.save(to: &context)
                try PlainSample(
                    id: row.id, number: row.number, real: row.real, text: row.text, flag: row.flag, tags: row.tags
                ).save(to: &context)
            }
        }
        for _ in 0..<150 {
            let condition = Condition.random(&generator)
            let expected = rows.filter { condition.truth($0) == true }.map(\.id)
            for type in ["IndexedSample", "PlainSample"] {
                for text in [condition.text, "(\(condition.text)) = TRUE"] {
                    let found = try database.query("SELECT id FROM \(type) WHERE \(text) ORDER BY id")
                    #expect(try found.map { try $0.value("id", as: Int.self) } == expected, "\(type): \(text)")
                }
            }
        }
    }

    @Test("orders, limits and groups are those of a stable sort of the rows", arguments: SeededGenerator.seeds(2))
    func orders(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let rows = rows(&generator)
        let database = try Database.inMemory(models: IndexedSample.self)
        try database.write { (context) throws in for row in rows { try row.save(to: &context) } }
        func ids(_ text: String) throws -> [Int] {
            try database.query(text).map { try $0.value("id", as: Int.self) }
        }
        for _ in 0..<60 {
            let (first, second) = (generator.oneIn(2), generator.oneIn(2))
            let (limit, offset) = (generator.below(30), generator.below(10))
            // Null comes first, in descending order last; ties are ordered by id.
            let sorted = rows.sorted { left, right in
                let (one, other) = (left.number ?? -1, right.number ?? -1)
                if one != other { return first ? one > other : one < other }
                if left.real != right.real { return second ? left.real > right.real : left.real < right.real }
                return left.id < right.id
            }
            let expected = Array(sorted.map(\.id).dropFirst(offset).prefix(limit))
            let (one, two) = (first ? " DESC" : "", second ? " DESC" : "")
            let cut = "LIMIT \(limit) OFFSET \(offset)"
            #expect(try ids("SELECT id FROM IndexedSample ORDER BY number\(one), real\(two) \(cut)") == expected)
            #expect(
                try ids("SELECT id FROM IndexedSample ORDER BY number + 0\(one), real * 1\(two) \(cut)") == expected)
        }
        let groups = try database.query(
            """
            SELECT text, COUNT(*) AS n, COUNT(number) AS c, SUM(number) AS s, AVG(real) AS a, MIN(number) AS l
            FROM IndexedSample WHERE flag GROUP BY text HAVING COUNT(*) > 1 ORDER BY text
            """)
        var expected: [[Value?]] = []
        let parts = Dictionary(grouping: rows.filter(\.flag), by: \.text).filter { $0.value.count > 1 }
        for (text, part) in parts {
            let numbers = part.compactMap(\.number)
            expected.append([
                text.map { .string($0) } ?? .null, .int(Int64(part.count)), .int(Int64(numbers.count)),
                numbers.isEmpty ? .null : .int(Int64(numbers.reduce(0, +))),
                .double(part.map(\.real).reduce(0, +) / Double(part.count)),
                numbers.min().map { .int(Int64($0)) } ?? .null,
            ])
        }
        let found = groups.map(\.values)
        #expect(Set(found) == Set(expected) && found.count == expected.count)
    }

    @Test("a statement still works after its index was dropped")
    func dropped() throws {
        let statement = try Statement("SELECT id FROM Thing WHERE number = ?")
        let columns = ["id", "number"].map { ColumnDescription(name: $0, type: .int64) }
        let index = IndexDescription(name: "byNumber", kind: .value, components: [.init(column: "number")])
        let store = try TreeStore.inMemory()
        defer { try? store.close() }
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        for indexes in [[index], [], [index]] {
            let type = EntityDescription(name: "Thing", columns: columns, indexes: indexes)
            let schema = try #require(try SchemaCatalogue.open([type], in: transaction))
            let core = StoreTransaction(transaction, schema: schema)
            let line = Array(#"{"id":1,"number":7}"#.utf8)
            try line.withUnsafeBytes { _ = try JSONRows("Thing", core: core).save(line: $0) }
            try core.flush()
            var found: [String] = []
            try statement.run(in: core, StatementParameters(positions: [.int(7)])) { row in
                found.append(row.json)
                return true
            }
            #expect(found == [#"{"id":1}"#])
        }
    }
}
