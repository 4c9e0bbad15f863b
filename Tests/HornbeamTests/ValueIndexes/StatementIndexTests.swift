// SPDX-License-Identifier: Apache-2.0
// Value indexes by names: `ValueIndexConfiguration` with a condition, and with expressions of the query language,
// which statements use.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

struct StreetAddress: Codable, Equatable {
    var city: String?
    var floor: Int?
}

@EntityModel
struct Boarder: Equatable {
    let id: Int
    var name: String?
    var age: Int?
    var weight = 0.0
    var born = Date(timeIntervalSinceReferenceDate: 0)
    var tags: [String] = []
    var address = StreetAddress()
}

@Suite("value indexes by names")
struct StatementIndexTests {
    private func guests(_ count: Int = 200) throws -> Database {
        let database = try Database.inMemory(models: Boarder.self)
        try database.write { (context) throws in
            for id in 0..<count {
                try Boarder(
                    id: id, name: id % 7 == 0 ? nil : "N\(id % 20)", age: id % 5 == 0 ? nil : id % 90,
                    weight: Double(id) / 4, tags: id % 3 == 0 ? ["vip"] : [],
                    address: StreetAddress(city: id % 4 == 0 ? nil : "City \(id % 9)", floor: id % 6)
                ).save(to: &context)
            }
        }
        return database
    }

    private func ids(_ database: Database, _ condition: String, order: String = "id") throws -> [Int] {
        let statement = try Statement("SELECT id FROM Boarder WHERE \(condition) ORDER BY \(order)")
        return try database.read { context in
            try statement.resolve(in: context).compactMap { row in
                if case .int(let id)? = row["id"] { Int(id) } else { nil }
            }
        }
    }

    private func plan(_ database: Database, _ condition: String, order: String = "id") throws -> String {
        let statement = try Statement("SELECT id FROM Boarder WHERE \(condition) ORDER BY \(order)")
        return try database.read { context in try statement.explain(in: context) }
    }

    @Test("an index with a condition in words has only matching entities, and serves queries that imply it")
    func partial() throws {
        let database = try guests()
        // As `guests` makes them; computed here because a query might use the index.
        let adults = (0..<200).filter { $0 % 7 != 0 && $0 % 5 != 0 && $0 % 90 > 17 }
        let narrow = "age > 30 AND name = 'N4'"
        let before = try ids(database, narrow)
        #expect(before == adults.filter { $0 % 90 > 30 && $0 % 20 == 4 } && !before.isEmpty)
        let config = ValueIndexConfiguration(["name", "age desc"], where: "age > 17 AND name IS VALUED")
        try database.createIndex(Boarder.self, withName: "adults", config: config)
        #expect(try database.index(withName: "adults")?.entries == adults.count)
        #expect(try ids(database, "age > 17 AND name IS VALUED") == adults)
        #expect(try ids(database, narrow) == before)
        #expect(try plan(database, narrow).contains("index adults"))
        #expect(try plan(database, "age > 3 AND name = 'N4'").contains("scan of 200 rows"))
        #expect(try plan(database, "name = 'N4'").contains("scan of 200 rows"))
        // A comparison with the key implies that it IS VALUED, which can also be a condition itself.
        let ordered = try Statement("SELECT id FROM Boarder WHERE name IS VALUED AND age > 17 ORDER BY name LIMIT 3")
        #expect(try database.read { context in try ordered.explain(in: context) }.contains("index adults"))
        // Typed queries use the index as well, and the file contains its whole definition.
        let typed = Boarder.filter(\.age > 30 && \.name == "N4")
        #expect(try database.plan(typed).indexes == ["adults"])
        #expect(try database.results(typed).map(\.id) == before)
        #expect(try database.isWhole())
    }

    @Test("a condition that no file can store is refused, and the error says which can")
    func refusedConditions() throws {
        let database = try guests(5)
        for condition in ["lower(name) = 'x'", "name LIKE 'a%'", "age > ?", "nmae = 'x'", "age >", "age + 1 > 3"] {
            let error = #expect(throws: HornbeamError.self, "\(condition)") {
                try database.createIndex(
                    Boarder.self, withName: "x", config: ValueIndexConfiguration(["name"], where: condition))
            }
            #expect(error?.code == .invalid, "\(condition)")
        }
        for condition in [
            "age BETWEEN 1 AND 5", "name IN ('a', 'b')", "NOT (age = 4)", "age IS NULL OR name = 'x'",
            "ARRAY_CONTAINS(tags, 'vip')", "CONTAINS(name, 'a')", "weight >= 1.5", "age IS NOT NULL",
        ] {
            let narrow = "(\(condition)) AND name = 'N1'"
            let expected = try (all: ids(database, condition), narrow: ids(database, narrow))
            let config = ValueIndexConfiguration(["name"], where: condition)
            try database.createIndex(Boarder.self, withName: "x", config: config)
            #expect(try database.index(withName: "x")?.entries == expected.all.count, "\(condition)")
            #expect(try plan(database, narrow).contains("index x"), "\(condition)")
            #expect(try ids(database, condition) == expected.all, "\(condition)")
            #expect(try ids(database, narrow) == expected.narrow, "\(condition)")
            #expect(try database.isWhole())
            try database.deleteIndex(withName: "x")
        }
    }

    @Test("lower(name) = … uses the index over lower(name), and only that does")
    func expression() throws {
        let database = try guests()
        let conditions = [
            "lower(name) = 'n4'", "LOWER( name ) = 'n4'", "'n4' = lower(name)", "lower(name) > 'n8'",
            "lower(name) BETWEEN 'n2' AND 'n3'", "lower(name) IN ('n4', 'n7', 5)", "NOT (lower(name) = 'n4')",
            "lower(name) IS NULL", "lower(name) IS VALUED", "NOT (lower(name) < 'n4')", "lower(name) != 'n4'",
            "lower(name) = 5", "lower(name) < 5", "lower(name) NOT IN ('n4')",
        ]
        let before = try conditions.map { try ids(database, $0) }
        try database.createIndex(Boarder.self, withName: "lower", config: ValueIndexConfiguration(["lower(name)"]))
        for (condition, expected) in zip(conditions, before) {
            #expect(try ids(database, condition) == expected, "\(condition)")
        }
        for condition in conditions.prefix(6) {
            #expect(try plan(database, condition).contains("index lower"), "\(condition)")
            #expect(try !plan(database, condition).contains("test a condition"), "\(condition)")
        }
        #expect(try plan(database, "lower(name) = 'n4'").contains("one range of 9 entries"))
        #expect(try plan(database, "upper(name) = 'N4'").contains("scan of 200 rows"))
        #expect(try plan(database, "name = 'N4'").contains("scan of 200 rows"))
        // The index gives its order too.
        let ordered = "SELECT id FROM Boarder ORDER BY lower(name) DESC LIMIT 3"
        let text = try database.read { context in try Statement(ordered).explain(in: context) }
        #expect(text.contains("index lower") && text.contains("backwards") && !text.contains("sort by"))
        // Each spelling gives the same index, and it follows its entities.
        try database.createIndex(Boarder.self, withName: "lower", config: ValueIndexConfiguration([" LOWER(name)"]))
        try database.write { (context) throws in
            try Boarder(id: 1, name: "QUITE NEW").save(to: &context)
            _ = try Boarder.query(4).delete(from: &context)
        }
        #expect(try ids(database, "lower(name) = 'quite new'") == [1])
        #expect(try database.isWhole())
    }

    @Test("paths into a property, numbers and compounds", arguments: SeededGenerator.seeds(4))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let plain = try guests(120)
        let indexed = try guests(120)
        let configs = [
            "city": ValueIndexConfiguration(["address.city", "age"]),
            "sum": ValueIndexConfiguration(["age + weight desc"]),
            "text": ValueIndexConfiguration(["name || '!'"]),
            "tags": ValueIndexConfiguration(["array_length(tags)", "name"]),
            "case": ValueIndexConfiguration(["CASE WHEN age > 40 THEN 'old' ELSE address.floor END"]),
            "some": ValueIndexConfiguration(["address.floor"], where: "age > 10"),
        ]
        for (name, config) in configs { try indexed.createIndex(Boarder.self, withName: name, config: config) }
        let left = [
            "address.city", "age + weight", "name || '!'", "array_length(tags)", "address.floor", "age",
            "CASE WHEN age > 40 THEN 'old' ELSE address.floor END",
        ]
        let right = ["'City 3'", "20", "44.5", "'N4!'", "1", "'old'", "NULL", "true", "3.0", "'City'", "-1"]
        var used = 0
        for _ in 0..<150 {
            func condition() -> String {
                let (operand, value) = (left[random.below(left.count)], right[random.below(right.count)])
                return switch random.below(8) {
                case 0: "\(operand) IS VALUED"
                case 1: "\(operand) IS MISSING"
                case 2: "\(operand) IN (\(value), \(right[random.below(right.count)]))"
                case 3: "NOT (\(operand) > \(value))"
                default: "\(operand) \(["=", "!=", "<", "<=", ">", ">="][random.below(6)]) \(value)"
                }
            }
            let (first, second) = (condition(), condition())
            let text =
                switch random.below(4) {
                case 0: "\(first) AND \(second)"
                case 1: "\(first) OR \(second)"
                case 2: "age > 10 AND \(first)"
                default: first
                }
            let order =
                random.oneIn(3) ? "\(left[random.below(left.count)])\(random.oneIn(2) ? " DESC" : ""), id" : "id"
            #expect(try ids(indexed, text, order: order) == ids(plain, text, order: order), "\(text) by \(order)")
            if try plan(indexed, text, order: order).contains(": index ") { used += 1 }
            if random.oneIn(5) {
                let id = random.below(120)
                for database in [plain, indexed] {
                    try database.write { (context) throws in
                        try Boarder(id: id, name: "N4", age: id, address: StreetAddress(city: "City 3", floor: 1))
                            .save(to: &context)
                    }
                }
            }
        }
        #expect(used > 20)
        #expect(try indexed.isWhole())
    }

    @Test("a UUID given as text is found by the UUID, with the index as without")
    func kinds() throws {
        let database = try guests(5)
        let uuid = UUID()
        try database.write { (context) throws in
            try Boarder(id: 900, name: uuid.uuidString).save(to: &context)
        }
        let text = "SELECT id FROM Boarder WHERE lower(name) = ? OR lower(name) IN (?)"
        let before = try database.query(text, uuid, uuid).map { $0["id"] }
        #expect(before == [.int(900)])
        try database.createIndex(Boarder.self, withName: "lower", config: ValueIndexConfiguration(["lower(name)"]))
        #expect(try database.query(text, uuid, uuid).map { $0["id"] } == before)
    }

    @Test("an unsuitable expression for an index is refused, with the reason")
    func refusedExpressions() throws {
        let database = try guests(3)
        for (expression, reason) in [
            ("now()", "all times"), ("1 + 2", "same for all"), ("lower(nmae)", "nmae"), ("count(name)", "aggregate"),
            ("lower(name", "expected"), ("ANY t IN tags SATISFIES t = 'a' END", "elements"), ("?", "parameter"),
            ("coalesce(born, name)", "date"), ("age COLLATE UNICODE", "String"),
            ("name COLLATE (UNICODE 'qqq')", "qqq"),
            ("weigth", "weight"),
        ] {
            let error = #expect(throws: HornbeamError.self, "\(expression)") {
                try database.createIndex(Boarder.self, withName: "x", config: ValueIndexConfiguration([expression]))
            }
            #expect(
                error?.code == .invalid && error?.message.contains(reason) == true, "\(expression): \(error as Any)")
        }
        #expect(try database.indexes() == [])
    }

    @Test("an index made from a statement keeps working after reopening, without the code that made it")
    func reopened() throws {
        let disk = try SimulatedDisk()
        let database = try MigratedFile.open(disk, [Boarder.self], [])
        try database.write { (context) throws in
            for id in 0..<200 { try Boarder(id: id, name: "N\(id % 20)").save(to: &context) }
        }
        try database.createIndex(
            Boarder.self, withName: "both",
            config: ValueIndexConfiguration(
                ["lower(name) desc", "name COLLATE UNICODE", "age"], where: "name IS VALUED"))
        #expect(
            try database.index(withName: "both")?.settings["expressions"]
                == #"["LOWER(name) desc","name COLLATE UNICODE","age"]"#)
        try database.close()
        let again = try MigratedFile.open(try SimulatedDisk(image: disk.killedImage()), [Boarder.self], [])
        try again.registerStored(nil)
        try again.write { (context) throws in try Boarder(id: 999, name: "n3").save(to: &context) }
        let condition = "lower(name) = 'n3' AND name COLLATE UNICODE >= 'a' AND name IS VALUED"
        let found = try plan(again, condition)
        #expect(found.contains("index both, one range of 11 entries"), "\(found)")
        #expect(try ids(again, condition).count == 11)
        #expect(try again.isWhole())
        try again.close()
    }
}
