// SPDX-License-Identifier: Apache-2.0
// Value indexes through their lives: compared with scans of random data, from one opening of the file to the next,
// and seen by observers.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

@Suite("Value indexes")
struct ValueIndexTests {
    /// An index of every kind.
    private func indexes() -> [ValueIndex<IndexedThing>] {
        [
            ValueIndex("name", \.name), ValueIndex("size, name desc", \.size, \.name.desc),
            ValueIndex("note desc, size", \.note.desc, \.size), ValueIndex("weight", \.weight),
            ValueIndex("rank, note", \.rank, \.note), ValueIndex("lower", \.lowerName),
            ValueIndex("half, size", \.half, \.size), ValueIndex("tag", \.firstTag),
            ValueIndex("city, floor", \.place.city, \.place.floor),
            ValueIndex("noted", \.note, where: \IndexedThing.note != nil),
            ValueIndex("large", \.size, \.name, where: \IndexedThing.size > 0),
            ValueIndex("a", \.size, where: .string(\.name, hasPrefix: "a", caseSensitive: true)),
            ValueIndex("tagged", \.name, where: .array(\.tags, containsAny: ["a", "b"])),
            ValueIndex("some", \.lowerName, where: \IndexedThing.rank >= .middle || \IndexedThing.note == nil),
        ]
    }

    @Test("every query gives the same answer with and without indexes", arguments: SeededGenerator.seeds(6))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let plain = try Database.inMemory(models: IndexedThing.self)
        let indexed = try Database.inMemory(models: IndexedThing.self)
        let indexes = indexes()
        var used: Set<String> = []
        for round in 0..<6 {
            // Some indexes are created before their entities, some after them.
            for index in indexes where random.oneIn(3) || round == 3 { try indexed.createIndex(index) }
            for _ in 0..<60 {
                let thing = IndexedThing.random(random.below(80), &random)
                let deletes = random.oneIn(5)
                for database in [plain, indexed] {
                    try database.write { (context) throws in
                        if deletes {
                            _ = try IndexedThing.query(thing.id).delete(from: &context)
                        } else {
                            try thing.save(to: &context)
                        }
                    }
                }
            }
            for _ in 0..<60 {
                let query = query(&random)
                let expected = try plain.results(query)
                let found = try indexed.results(query)
                let plan = try indexed.plan(query)
                #expect(found.map(\.id) == expected.map(\.id), "\(plan)")
                let count = try indexed.read { context in try query.count(in: context) }
                #expect(count == expected.count, "\(plan)")
                let sum = try indexed.read { context in try query.sum(\.size, in: context) }
                #expect(sum == expected.reduce(0) { $0 + $1.size }, "\(plan)")
                used.formUnion(plan.indexes)
            }
            #expect(try indexed.isWhole())
        }
        #expect(used.count >= 9, "\(used)")
    }

    private func query(_ random: inout SeededGenerator) -> QueryList<IndexedThing> {
        var query = IndexedThing.query()
        for _ in 0..<random.below(4) {
            let condition = IndexedThing.condition(&random)
            switch random.below(6) {
            case 0: query = query.filter(condition || IndexedThing.condition(&random))
            case 1: query = query.filter(!condition)
            default: query = query.filter(condition)
            }
        }
        // The conditions of partial indexes.
        switch random.below(8) {
        case 0: query = query.filter(\.size > random.below(2))
        case 1: query = query.filter(.string(\.name, hasPrefix: "a", caseSensitive: true))
        case 2: query = query.filter(.array(\.tags, containsAny: ["a", "b"]))
        case 3: query = query.filter(\.rank >= .middle || \.note == nil)
        case 4: query = query.filter(\.rank == .high)
        default: break
        }
        switch random.below(8) {
        case 0: query = query.sorted(by: \.name)
        case 1: query = query.sorted(by: \.size, \.name.desc)
        case 2: query = query.sorted(by: \.note.desc, \.size)
        case 3: query = query.sorted(by: \.size.desc)
        case 4: query = query.sorted(by: \.lowerName)
        default: break
        }
        return random.oneIn(3) ? query.limit(random.below(8), offset: random.below(4)) : query
    }

    // MARK: Reopening

    @Test("an index stays, also for a program that doesn't declare it, and is used at once")
    func reopening() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("db")
        do {
            let database = try Database(at: path, models: IndexedThing.self)
            try database.createIndex(
                ValueIndex("large", \IndexedThing.name.desc, \.rank, where: \IndexedThing.size > 5))
            try database.createIndex(ValueIndex("lower", \IndexedThing.lowerName))
            try database.write { (context) throws in
                for id in 0..<100 { try IndexedThing(id: id, name: "N\(id)", size: id % 10).save(to: &context) }
            }
            try database.close()
        }
        let query = IndexedThing.filter(\.size > 7 && \.name < "N3")
        do {
            let database = try Database(at: path, models: IndexedThing.self)
            #expect(try database.plan(query).indexes == ["large"])
            #expect(try database.index(withName: "large")?.state == .current)
            // Indexes that need code wait for it.
            #expect(try database.index(withName: "lower")?.state == .unregistered(missed: 0))
            #expect(try database.plan(IndexedThing.filter(\.lowerName == "n7")).indexes == [])
            try database.write { (context) throws in
                try IndexedThing(id: 200, name: "N2x", size: 9).save(to: &context)
                try IndexedThing(id: 8, name: "N0x", size: 1).save(to: &context)
            }
            #expect(try database.results(query).map(\.id).contains(200))
            #expect(try database.index(withName: "lower")?.state == .unregistered(missed: 2))
            try database.createIndex(ValueIndex("lower", \IndexedThing.lowerName))
            #expect(try database.results(IndexedThing.filter(\.lowerName == "n2x")).map(\.id) == [200])
            #expect(try database.plan(IndexedThing.filter(\.lowerName == "n2x")).indexes == ["lower"])
            #expect(try database.isWhole())
            try database.close()
        }
        var options = Database.Options()
        options.isReadOnly = true
        let database = try Database(at: path, models: IndexedThing.self, options: options)
        #expect(try database.plan(query).indexes == ["large"])
        #expect(try database.results(query).map(\.id).contains(200))
        try database.close()
    }

    @Test("a changed version of a computed value makes the index be rebuilt")
    func versions() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        try database.write { (context) throws in try IndexedThing(id: 1, name: "A").save(to: &context) }
        try database.createIndex(ValueIndex("lower", \IndexedThing.lowerName, version: "1"))
        #expect(throws: HornbeamError.self) {
            try database.createIndex(ValueIndex("lower", \IndexedThing.lowerName, version: "2"))
        }
        try database.register(ValueIndex("lower", \IndexedThing.lowerName, version: "2"))
        #expect(try database.index(withName: "lower")?.version == "2")
        #expect(try database.results(IndexedThing.filter(\.lowerName == "a")).map(\.id) == [1])
    }

    @Test("another direction of a computed value makes the index be rebuilt")
    func directions() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        try database.write { (context) throws in
            for (id, name) in [(1, "A"), (2, "C"), (3, "B")] { try IndexedThing(id: id, name: name).save(to: &context) }
        }
        try database.createIndex(ValueIndex("lower", \IndexedThing.lowerName.desc, version: "1"))
        #expect(throws: HornbeamError.self) {
            try database.createIndex(ValueIndex("lower", \IndexedThing.lowerName, version: "1"))
        }
        try database.register(ValueIndex("lower", \IndexedThing.lowerName, version: "1"))
        #expect(try database.results(IndexedThing.query().sorted(by: \.lowerName)).map(\.id) == [1, 3, 2])
        #expect(try database.results(IndexedThing.query().sorted(by: \.lowerName.desc)).map(\.id) == [2, 3, 1])
    }

    @Test("a condition is read from the file as it was written", .seeded)
    func conditions() throws {
        let type = IndexedThing.entityShape.description
        let predicates: [Hornbeam.Predicate<IndexedThing>] = [
            \.name == "é\0", \.size > -3, \.weight <= .infinity, \.note == nil, \.note != nil, \.rank == .high,
            .value(\.note, in: ["a", nil]), .string(\.name, \.note, contains: "x"), !(\.size == 3),
            .array(\.tags, containsAll: ["a", "b"]), \.size > 1 && (\.size < 5 || \.note == "z"), \.note != "q",
        ]
        for predicate in predicates {
            let stored = try #require(StoredCondition(predicate.filter, type))
            let index = ValueIndexDefinition([.property("name", descending: false)], condition: stored)
            let read = try #require(ValueIndexDefinition(settings: index.settings)?.condition)
            #expect(read == stored)
            #expect(try read.filter(type).text(type) == predicate.filter.text(type))
        }
        // Bytes of any kind.
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<2_000 {
            let predicate = predicates[random.below(predicates.count)]
            let stored = try #require(StoredCondition(predicate.filter, type))
            let definition = ValueIndexDefinition([.property("name", descending: false)], condition: stored)
            var settings = definition.settings
            var bytes = Array((settings["where"] ?? "").utf8)
            for _ in 0...random.below(3) { bytes[random.below(bytes.count)] = UInt8(32 + random.below(95)) }
            settings["where"] = String(decoding: bytes, as: UTF8.self)
            guard let read = ValueIndexDefinition(settings: settings)?.condition else { continue }
            _ = try? read.filter(type)
        }
    }

    @Test("a condition implies another exactly when no value satisfies only the first", .seeded)
    func implications() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        let database = try Database.inMemory(models: IndexedThing.self)
        try database.write { (context) throws in
            for id in 0..<400 { try IndexedThing.random(id, &random).save(to: &context) }
        }
        let type = try #require(database.schema.types["IndexedThing"])
        var found = 0
        for _ in 0..<3_000 {
            var asked = IndexedThing.condition(&random)
            if random.oneIn(3) { asked = random.oneIn(2) ? asked && IndexedThing.condition(&random) : !asked }
            var condition = IndexedThing.condition(&random)
            if random.oneIn(3) {
                condition = random.oneIn(2) ? condition || IndexedThing.condition(&random) : !condition
            }
            guard let stored = StoredCondition(condition.filter, type.description) else { continue }
            let partial = try IndexCondition(stored, type)
            guard let answered = try partial.implied(by: asked.filter.conjuncts, type) else { continue }
            found += 1
            let all = try database.results(IndexedThing.filter(asked)).map(\.id)
            let within = try database.results(IndexedThing.filter(condition)).map(\.id)
            #expect(Set(all).isSubset(of: within), "\(asked.filter) implies \(condition.filter)")
            // A condition that the index answers holds for everything in it.
            for (place, conjunct) in asked.filter.conjuncts.enumerated() where answered.contains(place) {
                let holds = try database.results(IndexedThing.filter(Hornbeam.Predicate(conjunct))).map(\.id)
                #expect(Set(within).isSubset(of: holds), "\(condition.filter) implies \(conjunct)")
            }
        }
        #expect(found > 50)
    }

    @Test("an index of non-nil values isn't used for nil ones, also when the query compares with null")
    func comparedWithNull() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        let type = try #require(database.schema.types["IndexedThing"])
        let note = try type.column("note")
        let isNoted = Hornbeam.Predicate<IndexedThing>(.compare(column: note, .notEqual, .null))
        try database.createIndex(ValueIndex("noted", \IndexedThing.size, where: isNoted))
        try database.write { (context) throws in
            for id in 0..<40 {
                try IndexedThing(id: id, size: id % 4, note: id < 20 ? nil : "n").save(to: &context)
            }
        }
        for query in [
            IndexedThing.filter(\.note == nil && \.size == 1), .filter(.value(\.note, in: ["n", nil]) && \.size == 1),
        ] {
            #expect(try database.plan(query).indexes == [])
            #expect(try database.results(query).map(\.id).prefix(5) == [1, 5, 9, 13, 17])
        }
        let noted = IndexedThing.filter(\.note != nil && \.size == 1)
        #expect(try database.plan(noted).indexes == ["noted"])
        #expect(try database.results(noted).map(\.id) == [21, 25, 29, 33, 37])
        // Nothing is less than null.
        let none = try #require(StoredCondition(.compare(column: note, .less, .null), type.description))
        let asked = Filter.compare(column: note, .equal, .string("n"))
        #expect(try IndexCondition(none, type).implied(by: [asked], type) == nil)
    }

    @Test("the check finds entries without an entity, and missing ones")
    func damage() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        try database.createIndex(ValueIndex("part", \IndexedThing.name, where: \IndexedThing.size > 0))
        try database.write { (context) throws in
            for id in 0..<10 { try IndexedThing(id: id, name: "n\(id)", size: id % 2).save(to: &context) }
        }
        let write = try database.store.beginWrite()
        let tree = try #require(try write.tree("m:IndexedThing:part"))
        var cursor = try write.cursor(tree)
        #expect(try cursor.first())
        let key = Array(cursor.key)
        _ = try write.delete(tree, key)
        try write.put(tree, [1, 2, 3] + key, [])
        try write.commit()
        var problems: [String] = []
        #expect(try !database.check { problems.append($0) })
        #expect(problems.contains { $0.contains("part") && $0.contains("missing") }, "\(problems)")
    }

    @Test("an observer of a count by the index continues when the index is dropped, and when it is made")
    func observers() async throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        try await database.write { (context) throws in
            for id in 0..<50 { try IndexedThing(id: id, name: "n\(id % 2)").save(to: &context) }
        }
        try database.createIndex(ValueIndex("name", \IndexedThing.name))
        let query = IndexedThing.filter(\.name == "n1")
        var counts = database.observeCount(query).makeAsyncIterator()
        #expect(try await counts.next() == 25)
        try database.deleteIndex(withName: "name")
        try await database.write { (context) throws in try IndexedThing(id: 100, name: "n1").save(to: &context) }
        #expect(try await counts.next() == 26)
        try database.createIndex(ValueIndex("name", \IndexedThing.name))
        try await database.write { (context) throws in try IndexedThing(id: 101, name: "n1").save(to: &context) }
        #expect(try await counts.next() == 27)
    }

    @Test("a save that changes none of its properties doesn't touch the index's tree")
    func untouched() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        try database.createIndex(ValueIndex("name", \IndexedThing.name, \.size))
        try database.createIndex(ValueIndex("part", \IndexedThing.name, where: \IndexedThing.size > 0))
        try database.write { (context) throws in try IndexedThing(id: 1, name: "a", size: 1).save(to: &context) }
        try database.write { (context) throws in
            try IndexedThing(id: 1, name: "a", size: 1, note: "new").save(to: &context)
            let transaction = try context.session.core.transaction
            for name in ["m:IndexedThing:name", "m:IndexedThing:part"] {
                let tree = try #require(try transaction.tree(name))
                #expect(!transaction.treesChanged.contains(tree))
            }
        }
    }
}
