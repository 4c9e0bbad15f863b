// SPDX-License-Identifier: Apache-2.0
// The code of Docs/map-reduce.md.

import Foundation
import Hornbeam
import HornbeamMapReduce
import Testing

@EntityModel
struct Sale {
    let id: Int
    var product: String
    var tags: [String] = []
    var day: [Int]
    var cents: Int
}

let byDay = MapIndex("byDay", version: "1", reducer: .sum()) { (sale: Sale, emit: inout MapEmitter<Int>) in
    emit(key: .array(sale.day.map { .int($0) }), value: sale.cents)
}

let byTag = MapIndex("byTag", version: "1") { (sale: Sale, emit: inout MapEmitter<NoValue>) in
    for tag in sale.tags { emit(key: .string(tag)) }
}

struct Longest: Reducer {
    typealias Value = String
    var name: String { "longest" }
    var identity: String { "" }
    func map(key: MapKey, value: String?) -> String { value ?? "" }
    func combine(_ partial: inout String, with next: String) { if next.count > partial.count { partial = next } }
    func finish(_ partial: String) -> String { partial }
}

@Suite("Map/reduce indexes, as their page shows them")
struct MapReduceTests {
    private func shop() throws -> Database {
        let database = try Database.inMemory(models: Sale.self, indexes: [byDay])
        try database.register(byTag)
        try database.write { (context) throws in
            try Sale(id: 1, product: "Tea", tags: ["tea"], day: [2025, 12, 31], cents: 100).save(to: &context)
            try Sale(id: 2, product: "Chai", tags: ["tea", "milk"], day: [2026, 5, 1], cents: 200).save(to: &context)
            try Sale(id: 3, product: "Cup", day: [2026, 6, 1], cents: 300).save(to: &context)
        }
        return database
    }

    @Test("Rows")
    func rows() throws {
        try shop().read { (context) throws in
            let query = byDay.query()
            #expect(try query.key([2026, 5, 1]).resolve(in: context).map(\.source) == [2])
            #expect(try query.range(from: [2026, 5], below: [2026, 6]).count(in: context) == 1)
            #expect(try query.prefix([2026]).descending().limit(10).resolve(in: context).map(\.source) == [3, 2])
            #expect(try byTag.query().keys(["tea", "milk"]).resolve(in: context).map(\.source) == [2, 1, 2])
            let teas = try byTag.query().prefix("te").withEntities().resolve(in: context)
            #expect(teas.map(\.entity?.product) == ["Tea", "Chai"])
            let page = try query.limit(2).resolve(in: context)
            let next = try query.after(page.last?.cursor).limit(2).resolve(in: context)
            #expect(page.map(\.source) + next.map(\.source) == [1, 2, 3])
        }
    }

    @Test("Reductions")
    func reductions() throws {
        try shop().read { (context) throws in
            #expect(try byDay.query().reduced().resolve(in: context) == 600)
            #expect(try byDay.query().prefix([2026]).reduced().resolve(in: context) == 500)
            #expect(
                try byDay.query().grouped(level: 1).resolve(in: context)
                    == [MapGroup(key: [2025], value: 100), MapGroup(key: [2026], value: 500)])
            #expect(
                try byTag.query().grouped().limit(3).resolve(in: context)
                    == [MapGroup(key: "milk", value: 1), MapGroup(key: "tea", value: 2)])
        }
    }

    @Test("A custom reducer, and its check")
    func ownReducer() throws {
        let texts = MapIndex("texts", version: "1", reducer: Longest()) {
            (sale: Sale, emit: inout MapEmitter<String>) in
            emit(key: .int(sale.id), value: sale.product)
        }
        let database = try shop()
        try database.register(texts)
        try database.read { (context) throws in
            #expect(try texts.query().reduced().resolve(in: context) == "Chai")
            let rows = try texts.query().resolve(in: context).map { (key: $0.key, value: $0.value) }
            #expect(try Longest().findViolation(in: rows) == nil)
        }
    }

    @Test("Live queries")
    func live() async throws {
        let database = try shop()
        var days = database.observe(byDay.query().prefix([2026]).grouped(level: 2)).makeAsyncIterator()
        #expect(try await days.next()?.groups.map(\.value) == [200, 300])
        try await database.write { context in
            try Sale(id: 4, product: "Pot", day: [2026, 5, 2], cents: 50).save(to: &context)
        }
        let next = try await days.next()
        #expect(next?.groups.map(\.value) == [250, 300] && next?.changes?.updates == [0])
    }

    @Test("The life of an index")
    func life() throws {
        let database = try shop()
        #expect(try database.registeredIndexes().map(\.name) == ["byDay", "byTag"])
        #expect(try database.unregister("byTag"))
        #expect(try database.registeredIndexes().map(\.name) == ["byDay"])
        #expect(try database.check())
    }
}
