// SPDX-License-Identifier: Apache-2.0
// Couchbase Lite's document on indexing, feature by feature: its data, its calls, its results, and its open
// questions.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@Suite("Couchbase Lite's indexes")
struct CouchbaseDocumentTests {
    private func hotels() throws -> Database {
        let database = try Database.inMemory(models: Hotel.self)
        try database.write { (context) throws in
            try Hotel(
                id: "hotel123", name: "The Michigander",
                overview: "Ideally situated for exploration of the Motor City and the wider state of Michigan.",
                state: "Michigan"
            ).save(to: &context)
            for number in 0..<200 {
                let type = ["hotel", "landmark", "airport", "route"][number % 4]
                let name = String(UnicodeScalar(UInt8(65 + number % 26))) + "-\(number)"
                try Hotel(id: "\(number)", type: type, name: name, state: "S\(number % 5)").save(to: &context)
            }
        }
        return database
    }

    private let config = ValueIndexConfiguration(["type", "name"])

    @Test("an index over type and name is made, listed, used for both together, and dropped")
    func valueIndex() throws {
        let database = try hotels()
        let query = Hotel.filter(\.type == "hotel" && \.name > "M").sorted(by: \.name)
        let before = try database.results(query)
        #expect(try database.plan(query).access == .rowScan(rows: 201))
        try database.createIndex(Hotel.self, withName: "TypeNameIndex", config: config)
        #expect(try database.indexes() == ["TypeNameIndex"])
        #expect(try database.index(withName: "TypeNameIndex")?.settings == ["properties": "type, name"])
        let plan = try database.plan(query)
        let access = Plan.Access.index(name: "TypeNameIndex", ranges: 1, entries: before.count, reversed: false)
        #expect(plan.access == access)
        #expect(plan.filter == nil && plan.order == .byAccess && plan.isCountKnown)
        #expect(try database.results(query) == before)
        #expect(before.contains { $0.name == "The Michigander" })
        // Each condition alone: the first component alone can use the index, the second can't.
        #expect(try database.plan(Hotel.filter(\.type == "museum")).indexes == ["TypeNameIndex"])
        #expect(try database.plan(Hotel.filter(\.name == "M-12")).indexes == [])
        #expect(try database.deleteIndex(withName: "TypeNameIndex"))
        #expect(try !database.deleteIndex(withName: "TypeNameIndex"))
        #expect(try database.index(withName: "TypeNameIndex") == nil)
        #expect(try database.results(query) == before)
        #expect(try database.isWhole())
    }

    @Test("an index is made by key paths too, and with one of them descending")
    func keyPaths() throws {
        let database = try hotels()
        let query = Hotel.filter(\.type == "hotel").sorted(by: \.name.desc).limit(3)
        let expected = try database.results(query)
        try database.createIndex(ValueIndex("byName", \Hotel.type, \.name.desc))
        try database.createIndex(
            Hotel.self, withName: "byName", config: ValueIndexConfiguration(["type", "name desc"]))
        #expect(try database.plan(query).indexes == ["byName"])
        #expect(try database.plan(query).order == .byAccess)
        #expect(try database.results(query) == expected && expected.map(\.name) == ["Y-76", "Y-24", "Y-180"])
    }

    @Test("an index reports the number of its entries and bytes")
    func cost() throws {
        let database = try hotels()
        try database.createIndex(Hotel.self, withName: "TypeNameIndex", config: config)
        let index = try #require(try database.index(withName: "TypeNameIndex"))
        #expect(index.entries == 201 && index.state == .current && index.kind == "value")
        #expect(index.bytes >= 201 * 20 && index.bytes % 4_096 == 0)
        try database.createIndex(ValueIndex("few", \Hotel.name, where: \Hotel.state == "Michigan"))
        #expect(try database.index(withName: "few")?.entries == 1)
    }

    @Test("creating an index again does nothing; another one under its name is refused, or replaces it on request")
    func sameName() throws {
        let database = try hotels()
        let other = ValueIndexConfiguration(["name"])
        try database.createIndex(Hotel.self, withName: "one", config: config)
        let version = try database.newestState()
        try database.createIndex(Hotel.self, withName: "one", config: config)
        try database.createIndex(ValueIndex("one", \Hotel.type, \.name))
        #expect(try database.plan(Hotel.filter(\.type == "museum")).indexes == ["one"])
        let error = #expect(throws: HornbeamError.self) {
            try database.createIndex(Hotel.self, withName: "one", config: other)
        }
        #expect(error?.code == .indexMismatch)
        #expect(error?.message.contains("type, name") == true && error?.message.contains("replace: true") == true)
        #expect(try database.index(withName: "one")?.settings["properties"] == "type, name")
        try database.createIndex(Hotel.self, withName: "one", config: other, replace: true)
        #expect(try database.index(withName: "one")?.settings["properties"] == "name")
        #expect(try database.plan(Hotel.filter(\.type == "museum")).indexes == [])
        #expect(try database.plan(Hotel.filter(\.name == "x")).indexes == ["one"])
        #expect(try database.newestState() > version)
        // An index of another kind.
        let map = MapIndex("one", version: "1") { (hotel: Hotel, emit: inout MapEmitter<Int>) in
            emit(key: .string(hotel.name))
        }
        #expect(throws: HornbeamError.self) { try database.createIndex(map) }
        try database.createIndex(map, replace: true)
        #expect(try database.index(withName: "one")?.kind == "map")
        #expect(try database.isWhole())
    }

    @Test("an unknown property is refused, with the nearest known one", arguments: ["tpye", "Name", "nothing"])
    func unknown(property: String) throws {
        let database = try hotels()
        let error = #expect(throws: HornbeamError.self) {
            try database.createIndex(
                Hotel.self, withName: "x", config: ValueIndexConfiguration(["state", property]))
        }
        #expect(error?.code == .invalid)
        let hints = ["tpye": "did you mean type?", "Name": "did you mean name?", "nothing": "it has id, type, name"]
        #expect(error?.message.contains(hints[property] ?? "-") == true, "\(error?.message ?? "")")
        #expect(try database.indexes() == [])
    }

    @Test("definitions that make no index are refused")
    func flaws() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        let configs: [[String]] = [[], [""], ["name", "name desc"], ["tags"], ["place"], ["name", "size", "size"]]
        for names in configs {
            let error = #expect(throws: HornbeamError.self, "\(names)") {
                try database.createIndex(IndexedThing.self, withName: "x", config: ValueIndexConfiguration(names))
            }
            #expect(error?.code == .invalid, "\(names)")
        }
        let many = ValueIndexConfiguration((0..<17).map { "p\($0)" })
        #expect(throws: HornbeamError.self) { try database.createIndex(IndexedThing.self, withName: "x", config: many) }
        #expect(throws: HornbeamError.self) { try database.createIndex(ValueIndex("", \IndexedThing.name)) }
        #expect(throws: HornbeamError.self) { try database.createIndex(ValueIndex("x", \IndexedThing.place)) }
        #expect(throws: HornbeamError.self) {
            try database.createIndex(ValueIndex("x", \IndexedThing.name, where: \IndexedThing.lowerName == "a"))
        }
        #expect(throws: HornbeamError.self) { try database.createIndex(ValueIndex("x", \Hotel.name)) }
        #expect(try database.indexes() == [])
    }

    @Test("a partial index serves only queries that imply its condition")
    func partial() throws {
        let database = try hotels()
        try database.createIndex(ValueIndex("hotels", \Hotel.name, where: \Hotel.type == "hotel"))
        let all = try database.results(Hotel.filter(\.type == "hotel" && \.name > "M"))
        #expect(try database.index(withName: "hotels")?.entries == 51)
        let plan = try database.plan(Hotel.filter(\.type == "hotel" && \.name > "M"))
        #expect(plan.indexes == ["hotels"] && plan.filter == nil && plan.isCountKnown)
        #expect(plan.candidates == all.count)
        // Only the index's condition, in the index's order.
        let ordered = Hotel.filter(\.type == "hotel").sorted(by: \.name).limit(2)
        #expect(try database.plan(ordered).indexes == ["hotels"])
        #expect(try database.plan(ordered).order == .byAccess)
        #expect(try database.results(ordered).map(\.name) == ["A-0", "A-104"])
        // Other queries need entities that the index lacks.
        #expect(try database.plan(Hotel.filter(\.name > "M")).indexes == [])
        #expect(try database.plan(Hotel.filter(\.type == "route" && \.name > "M")).indexes == [])
        #expect(try database.plan(Hotel.filter(\.type == "hotel" || \.name > "M")).indexes == [])
        #expect(try database.plan(Hotel.query().sorted(by: \.name)).indexes == [])
        // A change of the condition's property adds an entity to the index or removes it.
        try database.write { (context) throws in
            try Hotel(id: "hotel123", type: "ruin", name: "The Michigander").save(to: &context)
            try Hotel(id: "1", type: "hotel", name: "New").save(to: &context)
        }
        #expect(try database.index(withName: "hotels")?.entries == 51)
        let names = try database.results(Hotel.filter(\.type == "hotel" && \.name > "M")).map(\.name)
        #expect(names.contains("New") && !names.contains("The Michigander"))
        #expect(try database.isWhole())
    }

    @Test("a condition that a value is present is implied by a comparison with the value, as IS VALUED is")
    func valued() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        try database.write { (context) throws in
            for id in 0..<100 { try IndexedThing(id: id, note: id % 10 == 0 ? "n\(id)" : nil).save(to: &context) }
        }
        try database.createIndex(ValueIndex("noted", \IndexedThing.note, where: \IndexedThing.note != nil))
        #expect(try database.index(withName: "noted")?.entries == 10)
        for query in [
            IndexedThing.filter(\.note == "n20"), IndexedThing.filter(\.note > "n2"),
            IndexedThing.filter(\.note != nil),
            IndexedThing.filter(.value(\.note, in: ["n10", "n20"])),
            IndexedThing.filter(.string(\.note, hasPrefix: "n2")),
        ] {
            #expect(try database.plan(query).indexes == ["noted"])
            #expect(try database.results(query).count > 0)
        }
        for query in [
            IndexedThing.filter(\.note == nil), IndexedThing.filter(\.note != "n20"),
            IndexedThing.filter(.value(\.note, in: ["n10", nil])), IndexedThing.query().sorted(by: \.note),
        ] {
            #expect(try database.plan(query).indexes == [])
            #expect(try database.results(query).count >= 90)
        }
    }

    @Test("an index over an expression serves the queries that compare exactly that expression")
    func expression() throws {
        let database = try hotels()
        try database.createIndex(ValueIndex("lower", \Hotel.lowerName))
        let query = Hotel.filter(\.lowerName == "the michigander")
        #expect(try database.plan(query).indexes == ["lower"])
        #expect(try database.plan(query).filter == nil)
        #expect(try database.results(query).map(\.id) == ["hotel123"])
        let range = Hotel.filter(\.lowerName >= "x" && \.lowerName < "y")
        #expect(try database.plan(range).access == .index(name: "lower", ranges: 1, entries: 7, reversed: false))
        #expect(try database.plan(Hotel.filter(\.name == "The Michigander")).indexes == [])
        // An expression inside a stored property.
        let things = try Database.inMemory(models: IndexedThing.self)
        try things.write { (context) throws in
            for id in 0..<50 {
                try IndexedThing(id: id, place: ValuedPlace(city: "c\(id % 25)", floor: id)).save(to: &context)
            }
        }
        try things.createIndex(ValueIndex("city", \IndexedThing.place.city, \.place.floor, version: "2"))
        let nested = IndexedThing.filter(\.place.city == "c3" && \.place.floor > 3)
        #expect(try things.plan(nested).indexes == ["city"])
        #expect(try things.results(nested).map(\.id) == [28])
        #expect(try things.isWhole())
    }

    @Test("nil is in no range, and a negated range includes it, with the index and without")
    func nils() throws {
        let database = try hotels()
        try database.write { (context) throws in
            for number in 0..<20 {
                try Hotel(id: "r\(number)", type: "rated", rating: number % 4 == 0 ? nil : number).save(to: &context)
            }
        }
        let queries = [
            Hotel.filter(\.rating > 18), Hotel.filter(!(\.rating > 18)), Hotel.filter(\.rating == nil),
            Hotel.filter(\.rating != 3), Hotel.filter(!(\.rating == nil)), Hotel.filter(\.rating < 3),
        ]
        let before = try queries.map { try database.results($0) }
        try database.createIndex(Hotel.self, withName: "rating", config: ValueIndexConfiguration(["rating"]))
        for (query, expected) in zip(queries, before) { #expect(try database.results(query) == expected) }
        #expect(try database.plan(queries[0]).indexes == ["rating"])
        #expect(before[1].contains { $0.rating == nil })
    }

    @Test("results stay those of their snapshot while others commit")
    func snapshot() throws {
        let database = try hotels()
        try database.createIndex(Hotel.self, withName: "TypeNameIndex", config: config)
        let query = Hotel.filter(\.type == "hotel" && \.name > "M")
        try database.read { (context) throws in
            let before = try query.resolve(in: context)
            try database.write { (context) throws in
                try Hotel(id: "late", name: "Zed").save(to: &context)
            }
            #expect(try query.resolve(in: context) == before)
        }
        #expect(try database.results(query).contains { $0.id == "late" })
    }

    @Test("a query that was made with an index is planned anew without it, also while it is being read")
    func dropped() throws {
        let database = try hotels()
        let query = Hotel.filter(\.type == "hotel" && \.name > "M")
        let expected = try database.results(query)
        try database.createIndex(Hotel.self, withName: "TypeNameIndex", config: config)
        try database.read { (context) throws in
            #expect(try query.explain(in: context).indexes == ["TypeNameIndex"])
            try database.deleteIndex(withName: "TypeNameIndex")
            // The read's state of the file still has the index, and the query may use it.
            #expect(try query.resolve(in: context) == expected)
            try database.createIndex(Hotel.self, withName: "TypeNameIndex", config: config)
            #expect(try query.resolve(in: context) == expected)
        }
        try database.deleteIndex(withName: "TypeNameIndex")
        #expect(try database.plan(query).indexes == [])
        #expect(try database.results(query) == expected)
        // A read from before the index works without it.
        try database.read { (context) throws in
            try database.createIndex(Hotel.self, withName: "TypeNameIndex", config: config)
            #expect(try query.explain(in: context).indexes == [])
            #expect(try query.resolve(in: context) == expected)
        }
        #expect(try database.plan(query).indexes == ["TypeNameIndex"])
        // In the transaction that writes, too.
        try database.write { (context) throws in
            try Hotel(id: "late", name: "Zed").save(to: &context)
            #expect(try query.explain(in: context).indexes == ["TypeNameIndex"])
            #expect(try query.resolve(in: context).map(\.id) == expected.map(\.id) + ["late"])
        }
    }

    @Test("of two indexes the one with fewer entries is used, even with skewed data, at once")
    func selectivity() throws {
        let database = try Database.inMemory(models: IndexedThing.self)
        try database.createIndex(ValueIndex("size", \IndexedThing.size))
        try database.createIndex(ValueIndex("name", \IndexedThing.name))
        try database.write { (context) throws in
            for id in 0..<1_000 {
                try IndexedThing(id: id, name: id == 7 ? "rare" : "common", size: id < 990 ? 1 : 2).save(to: &context)
            }
        }
        #expect(try database.plan(IndexedThing.filter(\.name == "rare" && \.size == 1)).indexes == ["name"])
        #expect(try database.plan(IndexedThing.filter(\.name == "common" && \.size == 2)).indexes == ["size"])
    }

    @Test("an index follows each change within its transaction, and rolls back with it")
    func transactions() throws {
        struct Undone: Error {}
        let database = try hotels()
        try database.createIndex(Hotel.self, withName: "TypeNameIndex", config: config)
        let query = Hotel.filter(\.type == "hotel" && \.name == "Inn")
        #expect(throws: Undone.self) {
            try database.write { (context) throws in
                try Hotel(id: "new", name: "Inn").save(to: &context)
                #expect(try query.resolve(in: context).map(\.id) == ["new"])
                do {
                    try context.transaction { (context) throws in
                        _ = try Hotel.query("new").delete(from: &context)
                        #expect(try query.resolve(in: context) == [])
                        throw Undone()
                    }
                } catch is Undone {}
                #expect(try query.resolve(in: context).map(\.id) == ["new"])
                throw Undone()
            }
        }
        #expect(try database.results(query) == [])
        #expect(try database.isWhole())
    }
}
