// SPDX-License-Identifier: Apache-2.0
// Random queries, resolved in the store and read from its mirror: both give the same results.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@testable import HornbeamPostgres

@Suite("Reading a mirror gives the store's results")
struct ReadingDifferentialTests {
    @Test("lists, counts and aggregates of items", arguments: SeededGenerator.seeds(3))
    func lists(seed: UInt64) async throws {
        let store = try await MirroredStore(items: 120, seed: seed)
        var queries = RandomQueries(seed: seed &+ 77)
        for number in 0..<500 {
            let list = queries.items()
            let place = "seed \(seed), query \(number): \(list.parts.entityQuery(of: "Item").text)"
            let expected = try store.database.now { try list.resolve(in: $0) }
            let found = try await store.reader.resolve(list)
            try #require(found.map(\.id) == expected.map(\.id), "\(place)")
            try #require(found.map(\.whole) == expected.map(\.whole), "\(place)")
            #expect(try await store.reader.count(list) == expected.count, "\(place)")
            if number % 3 == 1 {
                #expect(try await store.reader.isEmpty(list) == expected.isEmpty, "\(place)")
                #expect(try await store.reader.ids(list) == expected.map(\.id), "\(place)")
            }
            if let last = expected.randomElement(using: &queries.random) {
                let after = list.after(last)
                let expected = try store.database.now { try after.resolve(in: $0).map(\.id) }
                try #require(try await store.reader.resolve(after).map(\.id) == expected, "\(place) after \(last.id)")
                #expect(try await store.reader.count(after) == expected.count, "\(place) after \(last.id)")
            }
            if number % 6 == 0 { try await compareAggregates(of: list, store, place) }
        }
    }

    private func compareAggregates(of list: QueryList<Item>, _ store: MirroredStore, _ place: String) async throws {
        func compare<Result: Sendable>(_ aggregate: Aggregate<Item, Result>) async throws {
            let expected = Swift.Result {
                try store.database.now { told(try list.aggregate(aggregate, in: $0)) }
            }
            let found: Swift.Result<String, any Error>
            do { found = .success(told(try await store.reader.aggregate(aggregate, of: list))) } catch {
                found = .failure(error)
            }
            switch (expected, found) {
            case (.success(let expected), .success(let found)): #expect(expected == found, "\(place)")
            case (.failure(let expected), .failure(let found)): #expect("\(expected)" == "\(found)", "\(place)")
            default: Issue.record("\(place): \(expected) in the store, \(found) in the mirror")
            }
        }
        try await compare(.sum(\.number))
        try await compare(.average(\.middle))
        try await compare(.sum(\.ratio))
        try await compare(.average(\.part))
        try await compare(.sum(\.price))
        try await compare(.min(\.made))
        try await compare(.max(\.seen))
        try await compare(.min(\.name))
        try await compare(.countDistinct(\.mass))
        try await compare(.countDistinct(\.seen))
        try await compare(.sum(\.half))
        let (least, greatest) = try store.database.now { context in
            (try list.min(\.seen, in: context), try list.max(\.ratio, in: context))
        }
        #expect(told(try await store.reader.min(\.seen, of: list)) == told(least), "\(place)")
        #expect(told(try await store.reader.max(\.ratio, of: list)) == told(greatest), "\(place)")
        if list.parts.entityQuery(of: "Item").sort.isEmpty { try await compare(.groupConcat(\.name, separator: "|")) }
    }

    @Test("nested lists", arguments: SeededGenerator.seeds(2))
    func nestedLists(seed: UInt64) async throws {
        let store = try await MirroredStore(items: 60, seed: seed)
        var queries = RandomQueries(seed: seed &+ 78)
        for number in 0..<150 {
            let items = queries.nested(queries.items())
            let place = "seed \(seed), query \(number)"
            let expected = try store.database.now { try items.resolve(in: $0).map(\.whole) }
            try #require(try await store.reader.resolve(items).map(\.whole) == expected, "\(place)")
            let shelves = queries.shelves()
            let expectedShelves = try store.database.now { try shelves.resolve(in: $0).map(\.whole) }
            try #require(try await store.reader.resolve(shelves).map(\.whole) == expectedShelves, "\(place)")
        }
    }

    @Test("lists of ids, and along one entity's relation", arguments: SeededGenerator.seeds(1))
    func listsOfIDs(seed: UInt64) async throws {
        let store = try await MirroredStore(items: 60, seed: seed)
        var queries = RandomQueries(seed: seed &+ 79)
        for number in 0..<200 {
            let place = "seed \(seed), query \(number)"
            let ids = (0..<8).map { _ in queries.random.below(80) * 3 }
            let shelf = 1 + queries.random.below(22)
            var lists = [Item.query(ids), Shelf.query(shelf).related(\.$items)]
            let (condition, sorts) = (queries.condition(), queries.sorts())
            if queries.random.oneIn(2) { lists = lists.map { $0.filter(condition) } }
            if queries.random.oneIn(2), !sorts.isEmpty { lists = lists.map { $0.sorted(by: sorts) } }
            if queries.random.oneIn(2) { lists = lists.map { $0.limit(3, offset: 1) } }
            let linked = lists[1]
            for list in lists {
                let expected = try store.database.now { try list.resolve(in: $0) }
                try #require(try await store.reader.resolve(list).map(\.whole) == expected.map(\.whole), "\(place)")
                #expect(try await store.reader.count(list) == expected.count, "\(place)")
            }
            if let last = try store.database.now({ try linked.resolve(in: $0).first }) {
                let after = linked.after(last)
                let expected = try store.database.now { try after.resolve(in: $0).map(\.id) }
                #expect(try await store.reader.resolve(after).map(\.id) == expected, "\(place)")
            }
            let id = ids[0]
            let one = try store.database.now { try $0.find(Item.self, id)?.whole }
            #expect(try await store.reader.find(Item.self, id)?.whole == one)
            let query = Item.query(id).with(\.$shelf)
            let nested = try store.database.now { try query.resolve(in: $0)?.whole }
            #expect(try await store.reader.resolve(query)?.whole == nested)
        }
        let owners = try store.database.now { try Owner.query().sorted(by: \.id).resolve(in: $0).map(\.whole) }
        #expect(try await store.reader.resolve(Owner.query().sorted(by: \.id)).map(\.whole) == owners)
    }
}

/// Returns a result as text, for comparing. An index may give −0.0 as 0.0, and any one of several NaNs. `Date` traps
/// when it describes NaN.
private func told(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let date as Date: told(date.timeIntervalSinceReferenceDate)
    case let number as Double: number == 0 ? "0.0" : number.isNaN ? "nan" : "\(number)"
    case let value?: "\(value)"
    }
}

extension EntityQuery {
    /// For failures.
    fileprivate var text: String {
        let type = Item.entityShape.description
        let sorts = sort.map { $0.text(type) }.joined(separator: ", ")
        return "\(filter.text(type)) by \(sorts) limit \(limit.map(String.init) ?? "none") offset \(offset)"
    }
}
