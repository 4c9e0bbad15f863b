// SPDX-License-Identifier: Apache-2.0
// The Indexer protocol's document, rule by rule and block by block, and its rows in the project's table of features.
// Each test is named after its row.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@Suite("The document of the Indexer")
struct MapReduceDocumentTests {
    private func database(_ posts: [TaggedPost] = [], _ indexes: any RegisteredIndex...) throws -> Database {
        let database = try Database.inMemory(models: TaggedPost.self, TaggedNote.self)
        try database.write { context in for post in posts { try post.save(to: &context) } }
        for index in indexes { try database.register(index) }
        return database
    }

    /// An index whose keys are given by the posts' numbers.
    private func keyed(_ keys: [MapKey]) -> MapIndex<TaggedPost, NoValue, CountReducer<NoValue>> {
        MapIndex("keyed", version: "1") { (post: TaggedPost, emit: inout MapEmitter<NoValue>) in
            emit(key: keys[post.id])
        }
    }

    @Test("a map function emits any number of rows, and an update removes exactly the stale ones")
    func i1() throws {
        let index = MapIndex("byTag", version: "1") { (post: TaggedPost, emit: inout MapEmitter<Int>) in
            for tag in post.tags { emit(key: .string(tag), value: post.size) }
        }
        let database = try database(
            [
                TaggedPost(id: 1), TaggedPost(id: 2, tags: ["a"]), TaggedPost(id: 3, tags: ["a", "b", "c"]),
                TaggedPost(id: 4, tags: ["b", "b"]),
            ],
            index)
        #expect(try index.query().keys(in: database) == ["a", "a", "b", "b", "b", "c"])
        try database.write { context in try TaggedPost(id: 3, tags: ["b", "d"]).save(to: &context) }
        #expect(try index.query().keys(in: database) == ["a", "b", "b", "b", "d"])
        try database.write { context in _ = try TaggedPost(id: 4, tags: ["b"]).save(to: &context) }
        #expect(try index.query().keys(in: database) == ["a", "b", "b", "d"])
        try database.write { context in _ = try TaggedPost.query(3).delete(from: &context) }
        #expect(try index.query().keys(in: database) == ["a", "b"])
        #expect(try database.isWhole())
    }

    @Test("a value is optional, and read without its entity")
    func i2() throws {
        struct Line: EmittedValue, Equatable {
            var title: String
            var tags: [String]
        }
        let lines = MapIndex("lines", version: "1") { (post: TaggedPost, emit: inout MapEmitter<Line>) in
            emit(key: .int(post.id), value: post.size > 0 ? Line(title: post.title, tags: post.tags) : nil)
        }
        let notes = MapIndex("notes", version: "1") { (note: TaggedNote, emit: inout MapEmitter<NoValue>) in
            emit(key: .string(note.text))
        }
        let database = try database([TaggedPost(id: 1, title: "One", tags: ["x"], size: 3), TaggedPost(id: 2)], lines)
        try database.write { context in try TaggedNote(id: "n", text: "t").save(to: &context) }
        try database.register(notes)
        try database.read { (context) throws in
            let rows = try lines.query().resolve(in: context)
            #expect(rows.map(\.value) == [Line(title: "One", tags: ["x"]), nil])
            #expect(rows.map(\.source) == [1, 2])
        }
        // Neither the posts' rows nor rows of invalid ids are read.
        let read = try database.store.beginRead()
        defer { read.abort() }
        let session = TypedTransaction(StoreTransaction(read, schema: database.schema), models: database.models)
        let context = Context(session)
        #expect(try lines.query().resolve(in: context).count == 2)
        #expect(try notes.query().resolve(in: context).map(\.source) == ["n"])
        let opened = Set(try ["e:TaggedPost", "e:TaggedNote", "i:TaggedNote"].compactMap { try database.treeID($0) })
        #expect(opened.count == 3)
        #expect(read.openTrees.isDisjoint(with: opened))
    }

    @Test("a dictionary as a key is allowed, and compared entry by entry")
    func i3() throws {
        let keys: [MapKey] = [["b": 1], ["a": 2], ["a": 1, "b": 0], ["a": 1], [:]]
        let index = keyed(keys)
        let database = try database((0..<5).map { TaggedPost(id: $0) }, index)
        #expect(try index.query().keys(in: database) == [[:], ["a": 1], ["a": 1, "b": 0], ["a": 2], ["b": 1]])
    }

    @Test("null, false, true, numbers, strings by Unicode, arrays, dictionaries", .seeded)
    func i4() throws {
        let order: [MapKey] = [
            .null, false, true, 1, 2, 3.0, 4, "a", "A", "aa", "b", "B", "ba", "bb", ["a"], ["b"], ["b", "c"],
            ["b", "c", "a"], ["b", "d"], ["b", "d", "e"], ["a": 1], ["a": 2],
        ]
        var random = SeededGenerator()
        let keys = order.shuffled(using: &random)
        let index = keyed(keys)
        let database = try database(keys.indices.map { TaggedPost(id: $0) }, index)
        #expect(try index.query().keys(in: database) == order)
        #expect(try index.query().descending().keys(in: database) == order.reversed())
        // Case decides last, so these keys are different.
        #expect(try index.query().key("a").keys(in: database) == ["a"])
    }

    @Test("the document's table of ingredients")
    func ingredients() throws {
        let table = [
            ["Olive", "Black"], ["Olive", "Green"], ["Olive", "Pimento stuffed"], ["Vermouth", "Dry"],
            ["Vermouth", "Extra Dry"], ["Vermouth", "French"], ["Vodka", "Grey Goose"], ["Vodka", "Stoli"],
            ["Vodka", "Tito's"],
        ]
        let index = MapIndex("ingredients", version: "1") { (post: TaggedPost, emit: inout MapEmitter<NoValue>) in
            emit(key: .array(post.tags.map { .string($0) }))
        }
        let posts = table.enumerated().map { TaggedPost(id: ($0.offset * 5 + 3) % 9, tags: $0.element) }
        let database = try database(posts, index)
        #expect(try index.query().keys(in: database) == table.map { .array($0.map { .string($0) }) })
        #expect(try index.query().prefix(["Vermouth"]).keys(in: database).count == 3)
    }

    @Test("integers and reals have one order, exactly")
    func i5() throws {
        let order: [MapKey] = [
            .double(-.infinity), .int(.min), .double(-1.5), 0, .double(.leastNonzeroMagnitude), 1.5,
            .int(1 << 53), .int(1 << 53 + 1), .double(0x1p53 + 2), .int(.max), .uint(1 << 63), .uint(.max),
            .double(.infinity), .double(.nan),
        ]
        let index = keyed(Array(order.reversed()))
        let database = try database(order.indices.map { TaggedPost(id: $0) }, index)
        let found = try index.query().keys(in: database)
        #expect(found == order)
        #expect(try index.query().key(.double(-0.0)).keys(in: database) == [0])
        #expect(try index.query().key(.double(0x1p53)).keys(in: database) == [.int(1 << 53)])
    }

    @Test("another version is rebuilt, once; for an unchanged one no function is called")
    func i6() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("db")
        func open(_ version: String, tag: String) throws -> (calls: Int, keys: [MapKey]) {
            let counter = CallCounter()
            let index = MapIndex("byTag", version: version) { (post: TaggedPost, emit: inout MapEmitter<NoValue>) in
                counter.note()
                emit(key: .string(tag))
            }
            let database = try Database(at: path, models: [TaggedPost.self], indexes: [index])
            defer { try? database.close() }
            let calls = counter.count
            return (calls, try index.query().keys(in: database))
        }
        do {
            let database = try Database(at: path, models: TaggedPost.self)
            try database.write { context in for id in 0..<10 { try TaggedPost(id: id).save(to: &context) } }
            try database.close()
        }
        #expect(try open("1", tag: "x").keys == Array(repeating: "x", count: 10))
        // Changed code with an unchanged version isn't noticed.
        let same = try open("1", tag: "y")
        #expect(same.calls == 0 && same.keys == Array(repeating: "x", count: 10))
        let other = try open("2", tag: "y")
        #expect(other.calls >= 10 && other.keys == Array(repeating: "y", count: 10))
        #expect(try open("2", tag: "y").calls == 0)
    }

    @Test("each row names its entity; equal keys come in the order of these")
    func i7() throws {
        let index = keyed(Array(repeating: "k", count: 5))
        let database = try database([4, 1, 3, 0, 2].map { TaggedPost(id: $0) }, index)
        try database.read { (context) throws in
            #expect(try index.query().resolve(in: context).map(\.source) == [0, 1, 2, 3, 4])
            #expect(try index.query().descending().resolve(in: context).map(\.source) == [4, 3, 2, 1, 0])
        }
    }

    @Test("a row may point to another entity, as the document's related documents do")
    func i8() throws {
        let index = MapIndex("related", version: "1") { (note: TaggedNote, emit: inout MapEmitter<NoValue>) in
            for id in note.related { emit(key: ["note", .string(note.id)], link: EntityLink(TaggedNote.self, id)) }
        }
        let database = try database([], index)
        try database.write { (context) throws in
            try TaggedNote(id: "a", related: ["b", "c", "gone"]).save(to: &context)
            try TaggedNote(id: "b", text: "B").save(to: &context)
            try TaggedNote(id: "c", text: "C").save(to: &context)
        }
        let query = index.query().key(["note", "a"])
        func texts() throws -> [String?] {
            try database.read { context in try query.withEntities().resolve(in: context).map { $0.entity?.text } }
        }
        #expect(try texts() == ["B", "C", nil])
        try database.read { (context) throws in
            let rows = try query.resolve(in: context)
            #expect(rows.map { $0.target(TaggedNote.self) } == ["b", "c", "gone"])
            #expect(rows.allSatisfy { $0.source == "a" && $0.target(TaggedPost.self) == nil })
        }
        // A target's changed content is visible although the index doesn't change. A deleted target leaves its row; a
        // deleted source takes its rows along.
        try database.write { (context) throws in
            try TaggedNote(id: "b", text: "new").save(to: &context)
            _ = try TaggedNote.query("c").delete(from: &context)
        }
        #expect(try texts() == ["new", nil, nil])
        try database.write { context in _ = try TaggedNote.query("a").delete(from: &context) }
        #expect(try texts() == [])
        #expect(try database.isWhole())
    }

    @Test("entities come with their rows, each read once")
    func i9() throws {
        let index = postsByTag()
        let posts = (0..<40).map { TaggedPost(id: $0, title: "t\($0)", tags: ["x", "y"]) }
        let database = try database(posts, index)
        try database.read { (context) throws in
            let rows = try index.query().withEntities().resolve(in: context)
            #expect(rows.map(\.entity) == posts + posts)
            #expect(rows.map(\.row.source) == Array(0..<40) + Array(0..<40))
        }
    }

    @Test("ranges include both ends, nil is open, and the direction swaps nothing")
    func i10() throws {
        let index = keyed((0..<10).map { .int($0) })
        let database = try database((0..<10).map { TaggedPost(id: $0) }, index)
        let query = index.query()
        func keys(_ query: MapQuery<TaggedPost, NoValue, CountReducer<NoValue>>) throws -> [MapKey] {
            let ascending = try query.keys(in: database)
            #expect(try query.descending().keys(in: database) == ascending.reversed())
            #expect(try database.read { context in try query.count(in: context) } == ascending.count)
            return ascending
        }
        #expect(try keys(query.range(from: 3, to: 5)) == [3, 4, 5])
        #expect(try keys(query.range(from: 3, below: 5)) == [3, 4])
        #expect(try keys(query.range(from: 8)) == [8, 9])
        #expect(try keys(query.range(to: 1.5)) == [0, 1])
        #expect(try keys(query.range(below: 1)) == [0])
        #expect(try keys(query.range()).count == 10)
        #expect(try keys(query.range(from: 5, to: 3)) == [])
        #expect(try keys(query.range(from: 5, below: 5)) == [])
        #expect(try keys(query.range(from: "a", to: "z")) == [])
    }

    @Test("a list of keys gives their rows in the index's order, each once; an empty one gives none")
    func i11() throws {
        let index = keyed((0..<10).map { .int($0 / 2) })
        let database = try database((0..<10).map { TaggedPost(id: $0) }, index)
        #expect(try index.query().keys([]).keys(in: database) == [])
        #expect(try index.query().keys([3, 1, 99, 1, 3.0]).keys(in: database) == [1, 1, 3, 3])
        #expect(try index.query().keys([3, 1]).descending().keys(in: database) == [3, 3, 1, 1])
        #expect(try index.query().keys([0, 2, 4]).offset(3).limit(2).keys(in: database) == [2, 4])
        try database.read { (context) throws in
            #expect(try index.query().keys([]).count(in: context) == 0)
            #expect(try index.query().keys([1, 3]).count(in: context) == 4)
            #expect(try index.query().keys([]).reduced().resolve(in: context) == 0)
        }
    }

    @Test("limit and offset, after grouping where there are groups")
    func i12() throws {
        let index = keyed((0..<100).map { .int($0 / 10) })
        let database = try database((0..<100).map { TaggedPost(id: $0) }, index)
        #expect(try index.query().limit(nil).keys(in: database).count == 100)
        #expect(try index.query().offset(95).keys(in: database) == Array(repeating: 9, count: 5))
        #expect(try index.query().offset(95).descending().keys(in: database) == Array(repeating: 0, count: 5))
        #expect(try index.query().limit(0).keys(in: database) == [])
        #expect(try index.query().offset(1000).keys(in: database) == [])
        try database.read { (context) throws in
            let groups = try index.query().limit(2).offset(3).grouped().resolve(in: context)
            #expect(groups == [MapGroup(key: 3, value: 10), MapGroup(key: 4, value: 10)])
            #expect(try index.query().grouped().descending().limit(1).resolve(in: context).map(\.key) == [9])
            #expect(try index.query().grouped().offset(4).count(in: context) == 6)
            #expect(try index.query().offset(90).limit(20).count(in: context) == 10)
        }
        #expect(try index.query().limit(-1).keys(in: database) == [])
        #expect(try index.query().offset(-1).limit(5).keys(in: database) == [])
    }

    @Test("from a row on, and by the prefix of a string or of an array")
    func i13() throws {
        let keys: [MapKey] = [
            "foo", "foobar", "fo", "Foo", "f\u{e9}e", "fe\u{301}te", ["foo"], ["foo", 1], ["foo", ["a": 1]], ["fop"],
            ["fo"],
            ["foo", "x", "y"],
        ]
        let index = keyed(keys)
        let database = try database(keys.indices.map { TaggedPost(id: $0) }, index)
        #expect(try index.query().prefix("foo").keys(in: database) == ["foo", "foobar"])
        #expect(Set(try index.query().prefix("f\u{e9}").keys(in: database)) == ["f\u{e9}e", "f\u{e9}te"])
        #expect(
            try index.query().prefix(["foo"]).keys(in: database) == [
                ["foo"], ["foo", 1], ["foo", "x", "y"], ["foo", ["a": 1]],
            ])
        try database.read { (context) throws in
            #expect(try index.query().prefix("foo").count(in: context) == 2)
            #expect(try index.query().prefix("foo").reduced().resolve(in: context) == 2)
            #expect(try index.query().prefix("foo").grouped().resolve(in: context).map(\.key) == ["foo", "foobar"])
            #expect(try index.query().prefix("foo").offset(1).limit(1).resolve(in: context).map(\.key) == ["foobar"])
            #expect(try index.query().prefix(["foo"]).count(in: context) == 4)
            // Page by page, while rows before the page are added and removed.
            for query in [index.query(), index.query().descending(), index.query().prefix(["foo"])] {
                var pages: [MapKey] = []
                var cursor: MapCursor?
                while true {
                    let page = try query.after(cursor).limit(5).resolve(in: context)
                    pages += page.map(\.key)
                    guard let last = page.last else { break }
                    cursor = last.cursor
                }
                #expect(try pages == query.resolve(in: context).map(\.key))
            }
        }
    }

    @Test("the document's reduce counts its types, once its rereduce adds the counts up")
    func i15() throws {
        @Sendable func sum(_ results: [MapKey]) -> MapKey {
            var counts: [String: MapKey] = [:]
            for case .dictionary(let result) in results {
                for (key, count) in result {
                    guard case .int(let count) = count else { continue }
                    guard case .int(let former)? = counts[key] else {
                        counts[key] = .int(count)
                        continue
                    }
                    counts[key] = .int(former + count)
                }
            }
            return .dictionary(counts)
        }
        let types = ReduceFunction("types") { keys, values, rereduce in
            sum(
                rereduce
                    ? values
                    : keys.compactMap { key in
                        guard case .string(let type) = key else { return nil }
                        return .dictionary([type: 1])
                    })
        }
        let index = MapIndex("types", version: "1", reducer: types) {
            (post: TaggedPost, emit: inout MapEmitter<MapKey>) in
            if !post.title.isEmpty { emit(key: .string(post.title)) }
        }
        let posts = (0..<3000).map { TaggedPost(id: $0, title: ["", "news", "letter", "advert"][$0 % 4]) }
        let database = try database(posts, index)
        try database.read { (context) throws in
            #expect(
                try index.query().reduced().resolve(in: context) == ["news": 750, "letter": 750, "advert": 750])
            #expect(try index.query().key("none").reduced().resolve(in: context) == .null)
            let rows = try index.query().resolve(in: context).map { (key: $0.key, value: $0.value) }
            #expect(try types.findViolation(in: rows) == nil)
        }
        #expect(try database.isWhole())
    }

    @Test("the document's own rereduce is refused, with rows that show the error")
    func t5() throws {
        let seeds = ReduceFunction("seed") { keys, values, rereduce in
            var result: [String: MapKey] = [:]
            func note(_ key: String) {
                let former = if case .int(let count)? = result[key] { count } else { 0 }
                result[key] = .int(former + 1)
            }
            if !rereduce {
                for case .string(let key) in keys { note(key) }
            } else {
                // As in the document: one key for each partial result, with any count.
                for case .dictionary(let counts) in values { for key in counts.keys { note(key) } }
            }
            return .dictionary(result)
        }
        let rows = (0..<100).map { (key: MapKey.string("type\($0 % 3)"), value: MapKey?.none) }
        let violation = try #require(try seeds.findViolation(in: rows))
        #expect(violation.rows.count <= 16, "a small example")
        #expect(violation.expected != violation.found)
        #expect("\(violation)".contains("parts of the rows"))
    }

    @Test("the built-in reducers; least and greatest follow a deletion")
    func i16() throws {
        func index<Reduce: Reducer<Int, Result>, Result>(
            _ name: String, _ reducer: Reduce
        ) -> MapIndex<TaggedPost, Int, Reduce> where Reduce.Value == Int {
            MapIndex(name, version: "1", reducer: reducer) { (post: TaggedPost, emit: inout MapEmitter<Int>) in
                emit(key: .int(post.id), value: post.size)
            }
        }
        let count = index("count", .count())
        let sum = index("sum", .sum())
        let least = index("min", .min())
        let greatest = index("max", .max())
        let average = index("average", .average())
        let stats = index("stats", .stats())
        let first = index("first", .first())
        let last = index("last", .last())
        let top = index("top", .top(3))
        let bottom = index("bottom", .bottom(2))
        let distinct = index("distinct", .distinctEstimate())
        let posts = (0..<2000).map { TaggedPost(id: $0, size: ($0 * 7919) % 2003) }
        let database = try database(
            posts, count, sum, least, greatest, average, stats, first, last, top, bottom, distinct)
        func verify(_ posts: [TaggedPost]) throws {
            let sizes = posts.map(\.size)
            try database.read { (context) throws in
                #expect(try count.query().reduced().resolve(in: context) == sizes.count)
                #expect(try sum.query().reduced().resolve(in: context) == sizes.reduce(0, +))
                #expect(try least.query().reduced().resolve(in: context) == sizes.min())
                #expect(try greatest.query().reduced().resolve(in: context) == sizes.max())
                let mean = sizes.isEmpty ? nil : Double(sizes.reduce(0, +)) / Double(sizes.count)
                #expect(try average.query().reduced().resolve(in: context) == mean)
                let found = try stats.query().reduced().resolve(in: context)
                #expect(found.count == sizes.count && found.min == sizes.min() && found.max == sizes.max())
                #expect(found.sum == Double(sizes.reduce(0, +)))
                #expect(found.sumOfSquares == Double(sizes.reduce(0) { $0 + $1 * $1 }))
                #expect(found.mean == mean && (found.variance == nil) == sizes.isEmpty)
                #expect(try first.query().reduced().resolve(in: context) == sizes.first)
                #expect(try last.query().reduced().resolve(in: context) == sizes.last)
                #expect(try top.query().reduced().resolve(in: context) == Array(sizes.sorted(by: >).prefix(3)))
                #expect(try bottom.query().reduced().resolve(in: context) == Array(sizes.sorted().prefix(2)))
                let estimate = try distinct.query().reduced().resolve(in: context)
                #expect(abs(Double(estimate - sizes.count)) <= 0.25 * Double(sizes.count))
            }
        }
        try verify(posts)
        let (smallest, largest) = (posts.min { $0.size < $1.size }, posts.max { $0.size < $1.size })
        let kept = posts.filter { $0 != smallest && $0 != largest }
        try database.write { (context) throws in
            for post in [smallest, largest].compactMap({ $0 }) { _ = try post.query().delete(from: &context) }
        }
        try verify(kept)
        #expect(try database.isWhole())
        try database.write { context in _ = try TaggedPost.query().delete(from: &context) }
        try verify([])
    }

    @Test("groups by whole keys and by levels; a key that isn't an array is a group by itself")
    func i17() throws {
        let keys: [MapKey] = [
            [2017, 3, 1], [2017, 4, 1], [2017, 4, 1], [2018, 1, 1], [2018, 1, 2], "x", ["x"], ["x", .null], 7, [],
        ]
        let index = keyed(keys)
        let database = try database(keys.indices.map { TaggedPost(id: $0) }, index)
        func groups(_ level: Int?) throws -> [String] {
            try database.read { (context) throws in
                let query = level.map { index.query().grouped(level: $0) } ?? index.query().grouped()
                let groups = try query.resolve(in: context)
                #expect(try query.count(in: context) == groups.count)
                #expect(try query.descending().resolve(in: context) == groups.reversed())
                return groups.map { "\($0.key):\($0.value)" }
            }
        }
        #expect(try groups(0) == ["null:10"])
        #expect(try groups(1) == ["7:1", "\"x\":1", "[]:1", "[2017]:3", "[2018]:2", "[\"x\"]:2"])
        #expect(
            try groups(2) == [
                "7:1", "\"x\":1", "[]:1", "[2017,3]:1", "[2017,4]:2", "[2018,1]:2", "[\"x\"]:1", "[\"x\",null]:1",
            ])
        let whole = [
            "7:1", "\"x\":1", "[]:1", "[2017,3,1]:1", "[2017,4,1]:2", "[2018,1,1]:1", "[2018,1,2]:1", "[\"x\"]:1",
            "[\"x\",null]:1",
        ]
        #expect(try groups(3) == whole)
        #expect(try groups(9) == whole)
        #expect(try groups(nil) == whole)
        try database.read { (context) throws in
            let none = index.query().range(from: "zz", to: "zzz")
            #expect(try none.reduced().resolve(in: context) == 0)
            #expect(try none.grouped().resolve(in: context) == [])
            #expect(try none.grouped(level: 0).resolve(in: context) == [])
            // Keys of one group that aren't next to each other.
            let some = index.query().keys([[2017, 3, 1], [2018, 1, 1], [2018, 1, 2]])
            #expect(try some.grouped(level: 1).resolve(in: context).map(\.value) == [1, 2])
            #expect(try some.grouped(level: 0).resolve(in: context).map(\.value) == [3])
            #expect(try some.grouped(level: 1).descending().resolve(in: context).map(\.value) == [2, 1])
        }
        #expect(throws: HornbeamError.self) {
            try database.read { context in _ = try index.query().grouped(level: -1).resolve(in: context) }
        }
    }

    @Test("a range is clipped before it is reduced, and reads no more than its two paths")
    func i18() throws {
        let index = MapIndex("sizes", version: "1", reducer: .sum()) {
            (post: TaggedPost, emit: inout MapEmitter<Int>) in
            emit(key: .int(post.id), value: post.size)
        }
        let database = try database((0..<20_000).map { TaggedPost(id: $0, size: $0 % 97) }, index)
        try database.read { (context) throws in
            for (from, to) in [(0, 19_999), (5, 19_990), (9_000, 9_001), (12_345, 17_890)] {
                let query = index.query().range(from: .int(from), to: .int(to))
                let (sum, nodes) = try query.reduced().resolve(context.session)
                #expect(sum == (from...to).reduce(0) { $0 + $1 % 97 })
                #expect(nodes <= 12)
            }
        }
    }

    @Test("indexes are maintained in the transaction itself, which sees its own changes")
    func i19() throws {
        let index = postsByTag()
        let database = try database([TaggedPost(id: 1, tags: ["a"], size: 1)], index)
        try database.write { (context) throws in
            try TaggedPost(id: 2, tags: ["a"], size: 10).save(to: &context)
            #expect(try index.query().reduced().resolve(in: context) == 11)
            #expect(try database.read { context in try index.query().reduced().resolve(in: context) } == 1)
            struct Undone: Error {}
            do {
                try context.transaction { context in
                    _ = try TaggedPost.query(1).delete(from: &context)
                    #expect(try index.query().reduced().resolve(in: context) == 10)
                    throw Undone()
                }
            } catch is Undone {}
            #expect(try index.query().reduced().resolve(in: context) == 11)
        }
        #expect(try database.read { context in try index.query().grouped().resolve(in: context) }.map(\.value) == [11])
        #expect(try database.isWhole())
    }

    @Test("a map function that counts its calls is detected by a debug build of the library")
    func i20() throws {
        let counter = Atomic(0)
        let index = MapIndex("impure", version: "1") { (post: TaggedPost, emit: inout MapEmitter<Int>) in
            emit(key: .int(counter.add(1, ordering: .relaxed).newValue))
        }
        #if DEBUG
            let error = #expect(throws: HornbeamError.self) { try database([TaggedPost(id: 1)], index) }
            #expect(error?.code == .impureMap)
        #else
            #expect(try index.query().keys(in: database([TaggedPost(id: 1)], index)) == [1])
        #endif
    }

    @Test("indexes come and go while the database is open")
    func i24() throws {
        let database = try database([TaggedPost(id: 1, tags: ["a"], size: 2)])
        let index = postsByTag()
        let early = #expect(throws: HornbeamError.self) { try index.query().keys(in: database) }
        #expect(early?.code == .indexNotReady)
        try database.register(index)
        #expect(try index.query().keys(in: database) == ["a"])
        #expect(try database.unregister("byTag"))
        #expect(try !database.unregister("byTag"))
        let late = #expect(throws: HornbeamError.self) { try index.query().keys(in: database) }
        #expect(late?.code == .indexNotReady)
        #expect(try database.registeredIndexes() == [])
    }
}

extension Database {
    /// Returns the number of a tree.
    func treeID(_ name: String) throws -> TreeID? {
        let read = try store.beginRead()
        defer { read.abort() }
        return try read.tree(name)
    }
}
