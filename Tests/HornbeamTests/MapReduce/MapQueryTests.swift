// SPDX-License-Identifier: Apache-2.0
// Corner cases of map indexes: targets of other types, order-dependent reducers in descending queries, invalid
// cursors and values, and indexes that are refused.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@EntityModel
private struct Author {
    let id: Int
    var name = ""
}

@Suite("Corners of map indexes")
struct MapQueryTests {
    private func sizes<Reduce: Reducer>(_ reducer: Reduce) -> MapIndex<TaggedPost, Int, Reduce>
    where Reduce.Value == Int {
        MapIndex("sizes", version: "1", reducer: reducer) { (post: TaggedPost, emit: inout MapEmitter<Int>) in
            emit(key: post.day.isEmpty ? .string(post.title) : .array(post.day.map { .int($0) }), value: post.size)
        }
    }

    @Test("a row without a link points to its source, and to no entity of another type with the same id")
    func targets() throws {
        let database = try Database.inMemory(models: TaggedPost.self, Author.self)
        let index = sizes(.sum())
        try database.register(index)
        try database.write { (context) throws in
            try Author(id: 7, name: "a").save(to: &context)
            try TaggedPost(id: 7, title: "t").save(to: &context)
        }
        let (others, own) = try database.read { context in
            (
                try index.query().with(Author.self).resolve(in: context),
                try index.query().withEntities().resolve(in: context)
            )
        }
        #expect(others.count == 1 && others[0].entity == nil)
        #expect(others[0].row.target(Author.self) == nil)
        #expect(own.count == 1 && own[0].entity?.title == "t")
    }

    @Test("a link to an id that no entity can have finds none")
    func longIDs() throws {
        let database = try Database.inMemory(models: TaggedPost.self, TaggedNote.self)
        let index = MapIndex("links", version: "1") { (post: TaggedPost, emit: inout MapEmitter<NoValue>) in
            emit(key: 1, link: EntityLink(TaggedNote.self, String(repeating: "x", count: 5_000)))
        }
        try database.register(index)
        try database.write { context in try TaggedPost(id: 1).save(to: &context) }
        let rows = try database.read { context in try index.query().with(TaggedNote.self).resolve(in: context) }
        #expect(rows.count == 1 && rows[0].entity == nil)
    }

    @Test("the first row of a group is the first in the order of the index, in any order of groups")
    func descending() throws {
        let database = try Database.inMemory(models: TaggedPost.self)
        let first = sizes(.first())
        try database.register(first)
        try database.write { (context) throws in
            for (id, title) in ["tea", "ten", "test", "to"].enumerated() {
                try TaggedPost(id: id + 1, title: title, size: id + 1).save(to: &context)
            }
            for month in 1...6 { try TaggedPost(id: month + 10, size: month, day: [2026, month]).save(to: &context) }
        }
        try database.read { (context) throws in
            let prefixed = try first.query().prefix("te").descending().reduced().resolve(in: context)
            #expect(prefixed == 1)
            let months = first.query().keys([[2026, 2], [2026, 5]]).descending()
            let grouped = try months.grouped(level: 1).resolve(in: context)
            #expect(grouped == [MapGroup(key: [2026], value: 2)])
            let all = try first.query().prefix("te").descending().grouped(level: 0).resolve(in: context)
            #expect(all == [MapGroup(key: .null, value: 1)])
        }
    }

    @Test("a cursor that is not from a row is refused")
    func cursors() throws {
        let database = try Database.inMemory(models: TaggedPost.self, indexes: [sizes(.sum())])
        for key: [UInt8] in [[], [1, 2, 3], [UInt8](repeating: 0, count: 12)] {
            let error = #expect(throws: HornbeamError.self) {
                try database.read { context in
                    try sizes(.sum()).query().descending().after(MapCursor(key: key)).resolve(in: context)
                }
            }
            #expect(error?.code == .invalid)
        }
    }

    private struct Roomy: Reducer {
        typealias Value = Int
        let room: Int
        var name: String { "roomy.\(room)" }
        var identity: Int { 0 }
        func map(key: MapKey, value: Int?) -> Int { 1 }
        func combine(_ partial: inout Int, with next: Int) { partial &+= next }
        func finish(_ partial: Int) -> Int { partial }
    }

    @Test("a reducer's room has bounds, which the error names together with the index")
    func rooms() throws {
        let database = try Database.inMemory(models: TaggedPost.self)
        for room in [251, -1, .max, .min] {
            for opens in [false, true] {
                let error = #expect(throws: HornbeamError.self) {
                    if opens {
                        _ = try Database.inMemory(models: TaggedPost.self, indexes: [sizes(Roomy(room: room))])
                    } else {
                        try database.register(sizes(Roomy(room: room)))
                    }
                }
                #expect(error?.code == .invalid && error?.message.contains("“sizes”") == true)
            }
        }
        for room in [0, 250] {
            try database.register(sizes(Roomy(room: room)))
            try database.unregister("sizes")
        }
        try database.register(sizes(.top(.max)))
    }

    @Test("names have one form")
    func names() throws {
        let database = try Database.inMemory(models: TaggedPost.self)
        func named(_ name: String) -> MapIndex<TaggedPost, NoValue, CountReducer<NoValue>> {
            MapIndex(name, version: "1") { (_: TaggedPost, _: inout MapEmitter<NoValue>) in }
        }
        let error = #expect(throws: HornbeamError.self) { try database.register(named("e\u{301}")) }
        #expect(error?.code == .invalid)
        try database.register(named("\u{e9}"))
        #expect(try database.registeredIndexes().map(\.name) == ["\u{e9}"])
    }

    @Test("unencodable values are neither stored nor emitted as null")
    func unencodable() throws {
        var deep = MapKey.null
        for _ in 0..<200 { deep = [deep] }
        let reducer = ChosenValueReducer<MapKey>(.first) { first, _ in first }
        #expect(reducer.encode(nil) == [])
        #expect(reducer.encode(.some(deep)) == nil)
        #expect(reducer.encode(.some([1]))?.isEmpty == false)
        let value = deep
        let index = MapIndex("deep", version: "1") { (post: TaggedPost, emit: inout MapEmitter<MapKey?>) in
            emit(key: 1, value: post.size == 0 ? .some(nil) : .some(value))
        }
        let database = try Database.inMemory(models: TaggedPost.self, indexes: [index])
        try database.write { (context) throws in
            try TaggedPost(id: 1).save(to: &context)
            let error = #expect(throws: HornbeamError.self) { try TaggedPost(id: 2, size: 1).save(to: &context) }
            #expect(error?.code == .invalid)
        }
    }

    @Test("a map function that throws is a problem that the check reports, and doesn't end it")
    func failing() throws {
        struct Refused: Error {}
        let refuses = CallCounter()
        let index = MapIndex("failing", version: "1") { (post: TaggedPost, emit: inout MapEmitter<NoValue>) in
            if refuses.count > 0 { throw Refused() }
            emit(key: .int(post.id))
        }
        let database = try Database.inMemory(models: TaggedPost.self, indexes: [index])
        try database.write { (context) throws in
            for id in 1...3 { try TaggedPost(id: id).save(to: &context) }
        }
        refuses.note()
        var problems: [String] = []
        #expect(try !database.check { problems.append($0) })
        #expect(problems.count { $0.contains("Refused") } == 3)
    }
}
