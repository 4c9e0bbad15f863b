// SPDX-License-Identifier: Apache-2.0
// Map indexes: the pages that queries read, prefixes within arrays, positions, statistics, and other versions of the
// collation.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

private typealias BySize = MapIndex<TaggedPost, Int, DeviationReducer<Int>>

/// An index by a number that differs for all posts.
private func postsBySize() -> BySize {
    MapIndex("bySize", version: "1", reducer: .stddev()) { (post: TaggedPost, emit: inout MapEmitter<Int>) in
        emit(key: .int(post.size), value: post.size)
    }
}

private func postsByGroup() -> MapIndex<TaggedPost, Int, IntegerSumReducer<Int>> {
    MapIndex("byGroup", version: "1", reducer: .sum()) { (post: TaggedPost, emit: inout MapEmitter<Int>) in
        emit(key: [.int(post.size % 10), .int(post.size)], value: post.size)
    }
}

/// An index of this name that other code, or another library, has left without rows.
private struct LeftIndex: RegisteredIndex {
    let registration: IndexRegistration

    init(_ index: IndexRegistration, _ settings: [String: String]) {
        registration = IndexRegistration(
            name: index.name, version: index.version, kind: index.kind, settings: settings,
            reduction: nil, flaw: nil
        ) { (_: TaggedPost, _) in [] }
    }
}

@Suite("Rows of map indexes")
struct MapRowsTests {
    private static let count = 20_000

    /// Returns a database with posts whose sizes are the numbers from 0 on, in no order.
    private func filled(_ indexes: any RegisteredIndex...) throws -> Database {
        let database = try Database.counting(TaggedPost.self)
        var random = SeededGenerator(seed: 3)
        let sizes = (0..<Self.count).shuffled(using: &random)
        try database.write { (context) throws in
            try context.saveAll(sizes.enumerated().map { TaggedPost(id: $0.offset, title: "t", size: $0.element) })
        }
        for index in indexes { try database.register(index) }
        return database
    }

    @Test("a page far behind, a median, totals, groups, and the rows' entities, by pages")
    func pages() throws {
        let (bySize, byGroup) = (postsBySize(), postsByGroup())
        let database = try filled(bySize, byGroup)
        let height = 3
        let overhead = try database.pagesRead { (context) throws in
            #expect(try bySize.query().key(-1).resolve(in: context).isEmpty)
        }
        func expect(_ name: String, _ most: Int, _ body: (Context) throws -> Void) throws {
            let pages = try database.pagesRead(body) - overhead
            #expect(pages <= most, "\(name): \(pages)")
        }
        let scan = try database.pagesRead { (context) throws in
            #expect(try bySize.query().resolve(in: context).count == Self.count)
        }
        #expect(scan > overhead + 50, "\(scan)")
        try expect("offset", 3 * height) { (context) throws in
            let rows = try bySize.query().offset(18_000).limit(10).resolve(in: context)
            #expect(rows.compactMap(\.value) == Array(18_000..<18_010))
        }
        try expect("backward", 3 * height) { (context) throws in
            let rows = try bySize.query().descending().offset(18_000).limit(2).resolve(in: context)
            #expect(rows.compactMap(\.value) == [1_999, 1_998])
        }
        try expect("median", 7 * height) { (context) throws in
            let query = bySize.query().range(from: 100, below: 1_101)
            let middle = try query.offset(try query.count(in: context) / 2).first(in: context)
            #expect(middle?.value == 600)
        }
        try expect("range", 4 * height) { (context) throws in
            let found = try #require(try bySize.query().range(from: 1, to: 19_000).reduced().resolve(in: context))
            // For 1 to n the deviation is √((n² − 1) / 12).
            #expect(abs(found - ((19_000.0 * 19_000 - 1) / 12).squareRoot()) < 1e-6)
        }
        try expect("groups", 10 * 4 * height) { (context) throws in
            let groups = try byGroup.query().grouped(level: 1).resolve(in: context)
            #expect(groups.count == 10)
        }
        // The entities are in far fewer leaves than there are entities, and each leaf is read once.
        let rows = try database.pagesRead { (context) throws in
            #expect(try bySize.query().limit(4_000).resolve(in: context).count == 4_000)
        }
        let both = try database.pagesRead { (context) throws in
            let found = try bySize.query().limit(4_000).withEntities().resolve(in: context)
            #expect(found.allSatisfy { $0.entity?.size == $0.row.value })
        }
        #expect(both <= rows + 1_500, "\(both) and \(rows)")
    }

    /// Returns groups of sorted keys that begin alike, with the number of keys in each.
    private static func groups(_ keys: [MapKey], _ level: Int?) -> [MapGroup<Int>] {
        var groups: [MapGroup<Int>] = []
        for key in keys {
            var group = key
            if let level, case .array(let items) = key { group = .array(Array(items.prefix(level))) }
            if level == 0 { group = .null }
            let isNext = groups.last?.key == group
            let count = isNext ? groups.removeLast().value : 0
            groups.append(MapGroup(key: group, value: count + 1))
        }
        return groups
    }

    @Test("a prefix of the string after the first items of an array")
    func prefixes() throws {
        let keys: [MapKey] = [
            "foo", ["foo"], ["foo", "ba"], ["foo", "bar"], ["foo", "bar", 1], ["foo", "Bar"], ["foo", "bé"],
            ["foo", "be\u{301}t"], ["foo", "ca"], ["foo", "c\u{30A}"], ["foo", "c\u{30A}", 2], ["foo", "c"],
            ["foo", 1], ["foo", ["bar"]], ["foo", ["a": 1]], ["fo", "bar"], ["foo", "x", "bar"],
            [1, "bar"], [["foo"], "bar"],
        ]
        for collation in [TextCollation.unicode, .binary, .caseInsensitive] {
            let index = MapIndex<TaggedPost, NoValue, CountReducer<NoValue>>(
                "keys", version: "1", collation: collation
            ) { post, emit in emit(key: keys[post.id]) }
            let database = try Database.inMemory(models: TaggedPost.self, indexes: [index])
            try database.write { (context) throws in
                for id in keys.indices { try TaggedPost(id: id).save(to: &context) }
            }
            func found(_ items: [MapKey], _ prefix: String) throws -> Set<MapKey> {
                let query = index.query().prefix(items, then: prefix)
                let keys = try query.keys(in: database)
                try database.read { (context) throws in
                    #expect(try query.count(in: context) == keys.count)
                    let backward = try query.descending().resolve(in: context).map(\.key)
                    #expect(backward == keys.reversed())
                    #expect(
                        try query.offset(1).limit(1).resolve(in: context).map(\.key)
                            == Array(keys.dropFirst().prefix(1)))
                    #expect(try query.reduced().resolve(in: context) == keys.count)
                    for level in [nil, 0, 1, 2, 3] {
                        let asked = level.map { query.grouped(level: $0) } ?? query.grouped()
                        let groups = try asked.resolve(in: context)
                        let expected = Self.groups(keys, level)
                        #expect(groups == expected, "\(collation), \(items), \(prefix), \(level ?? -1)")
                        #expect(try asked.count(in: context) == expected.count)
                    }
                }
                return Set(keys)
            }
            #expect(try found(["foo"], "ba") == [["foo", "ba"], ["foo", "bar"], ["foo", "bar", 1]])
            #expect(try found(["foo"], "bé") == [["foo", "bé"], ["foo", "be\u{301}t"]])
            #expect(
                try found(["foo"], "") == [
                    ["foo", "ba"], ["foo", "bar"], ["foo", "bar", 1], ["foo", "Bar"], ["foo", "bé"],
                    ["foo", "be\u{301}t"], ["foo", "c"], ["foo", "ca"], ["foo", "c\u{30A}"], ["foo", "c\u{30A}", 2],
                    ["foo", "x", "bar"],
                ])
            // The accent doesn't compose with its letter: the bytes of the plain letter begin those of the other.
            #expect(try found(["foo"], "c") == [["foo", "c"], ["foo", "ca"]])
            #expect(try found(["foo", "x"], "b") == [["foo", "x", "bar"]])
            #expect(try found([["foo"]], "b") == [[["foo"], "bar"]])
            let beginning = keys.filter { key in
                guard case .array(let items) = key, case .string(let text)? = items.first else { return false }
                return text.hasPrefix("f")
            }
            #expect(try found([], "f") == Set(beginning))
            #expect(try found(["foo", "z"], "").isEmpty)
        }
    }

    @Test("from a row on, itself included, in both directions, also among equal keys")
    func positions() throws {
        let index = postsByTag()
        let database = try Database.inMemory(models: TaggedPost.self, indexes: [index])
        try database.write { (context) throws in
            for id in 0..<9 { try TaggedPost(id: id, tags: [id < 5 ? "a" : "b"]).save(to: &context) }
        }
        try database.read { (context) throws in
            let rows = try index.query().resolve(in: context)
            for (place, row) in rows.enumerated() {
                let from = try index.query().from(row.cursor).resolve(in: context).map(\.source)
                #expect(from == Array(place..<9))
                let back = try index.query().descending().from(row.cursor).resolve(in: context).map(\.source)
                #expect(back == (0...place).reversed())
                #expect(try index.query().after(row.cursor).count(in: context) == 8 - place)
                #expect(try index.query().from(row.cursor).key("a").count(in: context) == max(0, 5 - place))
            }
            #expect(try index.query().from(nil).count(in: context) == 9)
            #expect(try index.query().from(rows[3].cursor).after(nil).count(in: context) == 9)
        }
        // The row that a query continues from may be deleted.
        let gone = try database.read { try index.query().resolve(in: $0)[3].cursor }
        try database.write { _ = try TaggedPost.query(3).delete(from: &$0) }
        try database.read { (context) throws in
            #expect(try index.query().from(gone).resolve(in: context).map(\.source) == [4, 5, 6, 7, 8])
        }
    }

    @Test("a deviation is right even if it is tiny beside the values")
    func deviation() throws {
        let statistics = StatisticsReducer<Double>()
        let rows = [1e9, 1e9 + 1, 1e9 + 2].map { (key: MapKey.null, value: Double?.some($0)) }
        let found = statistics.finish(statistics.map(rows: rows))
        #expect(found.variance.map { abs($0 - 2.0 / 3) < 1e-12 } == true)
        #expect(found.standardDeviation == found.variance?.squareRoot())
        let same = (0..<7).map { _ in (key: MapKey.null, value: Double?.some(0.1)) }
        #expect(statistics.finish(statistics.map(rows: same)).variance.map { $0 < 1e-30 } == true)
        let reducer = DeviationReducer<Int>()
        #expect(reducer.finish(reducer.identity) == nil)
        #expect(reducer.finish(reducer.map(rows: [(0, 5), (0, nil)])) == 0)
        #expect(reducer.finish(reducer.map(rows: [2, 4, 4, 4, 5, 5, 7, 9].map { (0, $0) })) == 2)
        let large = [Int.max, .max - 2].map { (key: MapKey.null, value: Int?.some($0)) }
        #expect(reducer.finish(reducer.map(rows: large)) == 1)
    }

    @Test("an index with another version's collation is rebuilt")
    func otherCollation() throws {
        let counter = CallCounter()
        let index = postsByTag(counter: counter)
        let database = try Database.inMemory(models: TaggedPost.self)
        try database.write { (context) throws in
            for id in 0..<5 { try TaggedPost(id: id, tags: ["é", "E"]).save(to: &context) }
        }
        let own = index.registration.settings
        #expect(own["collationVersion"]?.isEmpty == false)
        var other = own
        other["collationVersion"] = "1.0 of another library"
        try database.register(LeftIndex(index.registration, other))
        #expect(try database.registeredIndexes().first?.settings == other)
        #expect(codeThrown { try database.read { _ = try index.query().count(in: $0) } } == .indexNotReady)
        try database.register(index)
        #expect(counter.count >= 5)
        #expect(try database.read { try index.query().key("é").count(in: $0) } == 5)
        #expect(try database.isWhole())
        // Opened again, nothing is built.
        let calls = counter.count
        try database.register(index)
        #expect(counter.count == calls)
    }

    /// The document's reducer: it counts each word, so its result is as large as its rows.
    private struct WordCounts: Reducer {
        struct Counts: EmittedValue, Equatable {
            var words: [String: Int] = [:]
        }

        typealias Value = Int
        var name: String { "words" }
        var identity: Counts { Counts() }
        func map(key: MapKey, value: Int?) -> Counts { Counts(words: ["\(key)": 1]) }
        func combine(_ partial: inout Counts, with next: Counts) {
            partial.words.merge(next.words, uniquingKeysWith: +)
        }
        func finish(_ partial: Counts) -> Counts { partial }
    }

    @Test("a result that grows with the rows is found; a large one that doesn't grow is accepted")
    func growth() throws {
        let rows = (0..<200).map { (key: MapKey.string("word \($0)"), value: Int?.some(1)) }
        let violation = try #require(try WordCounts().findViolation(in: rows))
        #expect(violation.law.contains("must condense"), "\(violation)")
        let few = (0..<200).map { (key: MapKey.string("word \($0 % 12)"), value: Int?.some(1)) }
        #expect(try WordCounts().findViolation(in: few) == nil)
    }
}
