// SPDX-License-Identifier: Apache-2.0
// Every step of a nested list works on the entities that the relation leads to, and saving the result removes no link.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Writer {
    let id: Int

    @Relationship(inverse: \.writer) var books: [Book]?
    @Relationship() var liked: [Book]?
}

@EntityModel
private struct Book {
    @Index<Self>(\.year) private var byYear
    @FullTextIndex<Self>(\.title) private var words

    let id: Int
    var year: Int
    var title: String

    @Relationship(inverse: \.books) var writer: Writer?
}

@Suite("Partly loaded relations")
struct PartlyLoadedTests {
    private typealias Nest = @Sendable (QueryList<Book>) -> QueryList<Book>
    private typealias Row = (name: String, isPart: Bool, nest: Nest, model: ([Book]) -> [Book])

    private func store(_ random: inout SeededGenerator) throws -> (Context, [Book]) {
        var context = Context()
        var all: [Book] = []
        for id in 1...30 {
            let title = ["red", "red green", "green red red", "blue"][random.below(4)]
            all.append(Book(id: id, year: 2000 + random.below(4), title: title))
            try all[id - 1].save(to: &context)
        }
        var rest = all.map(\.id).shuffled(using: &random)
        for id in 1...4 {
            let books = Array(rest.prefix(random.below(9)))
            rest.removeFirst(books.count)
            let liked = Array(all.map(\.id).shuffled(using: &random).prefix(random.below(12)))
            try Writer(id: id, books: .ids(books), liked: .ids(liked)).save(to: &context)
        }
        return (context, all)
    }

    /// - Parameter author: the number of each book's writer.
    private func rows(_ all: [Book], author: [Int: Int]) -> [Row] {
        let mark = all[9]
        func byYear(_ books: [Book]) -> [Book] { books.sorted { ($0.year, $0.id) < ($1.year, $1.id) } }
        func firsts(_ books: [Book]) -> [Book] {
            var seen: Set<Int> = []
            return books.filter { seen.insert($0.year).inserted }.sorted { $0.year < $1.year }
        }
        func named(_ books: [Book]) -> [Book] { books.filter { $0.title.contains("green") } }
        return [
            ("all", false, { $0 }, { $0 }),
            ("sorted", false, { $0.sorted(by: \.year) }, byYear),
            ("distinct", false, { $0.distinct() }, { $0 }),
            ("filter", true, { $0.filter(\.year > 2001) }, { $0.filter { $0.year > 2001 } }),
            ("needing an index", true, { $0.filter(\.year > 2001).requiringIndex() }, { $0.filter { $0.year > 2001 } }),
            ("limit", true, { $0.limit(2) }, { Array($0.prefix(2)) }),
            ("first", true, { $0.first().list }, { Array($0.prefix(1)) }),
            (
                "page", true, { $0.sorted(by: \.id).limit(2, offset: 1) },
                {
                    Array($0.sorted { $0.id < $1.id }.dropFirst().prefix(2))
                }
            ),
            ("none", true, { $0.limit(-1) }, { _ in [] }),
            ("after", true, { $0.sorted(by: \.id).after(mark) }, { $0.sorted { $0.id < $1.id }.filter { $0.id > 10 } }),
            ("last", true, { $0.sorted(by: \.id).last().list }, { Array($0.sorted { $0.id < $1.id }.suffix(1)) }),
            ("first of each", true, { $0.first(ofEach: \.year) }, firsts),
            (
                "first of each, sorted", true, { $0.sorted(by: \.id.desc).first(ofEach: \.year) },
                {
                    firsts($0.sorted { $0.id > $1.id })
                }
            ),
            ("first of each of a part", true, { $0.limit(3).first(ofEach: \.year) }, { firsts(Array($0.prefix(3))) }),
            ("part of first of each", true, { $0.first(ofEach: \.year).limit(1) }, { Array(firsts($0).prefix(1)) }),
            (
                "first of each, filtered", true, { $0.first(ofEach: \.year).filter(\.id > 8) },
                {
                    firsts($0).filter { $0.id > 8 }
                }
            ),
            (
                "and", true, { $0.limit(4).and($0.sorted(by: \.id).limit(5)) },
                { books in
                    let others = Set(books.sorted { $0.id < $1.id }.prefix(5).map(\.id))
                    return books.prefix(4).filter { others.contains($0.id) }
                }
            ),
            (
                "or", true, { $0.limit(2).or($0.first(ofEach: \.year)) },
                { books in
                    let left = Array(books.prefix(2))
                    return left + firsts(books).filter { book in !left.contains { $0.id == book.id } }
                }
            ),
            (
                "or a condition", true, { $0.limit(1).or(\.year == 2001) },
                { books in
                    let left = Array(books.prefix(1))
                    return left + books.filter { book in book.year == 2001 && !left.contains { $0.id == book.id } }
                }
            ),
            (
                "ids", true, { _ in Book.query([20, 3, 11, 7]) },
                { books in
                    [20, 3, 11, 7].compactMap { id in books.first { $0.id == id } }
                }
            ),
            ("search", true, { $0.filter(.string(\.title, matches: "green")) }, named),
            (
                "by score", true,
                { $0.filter(.string(\.title, matches: "green")).sorted(by: .score, .by(\.id)).limit(9) },
                {
                    named($0).sorted { ($0.title.count, $0.id) < ($1.title.count, $1.id) }
                }
            ),
            (
                "of the same writer", true, { $0.limit(2).related(\.$writer).related(\.$books).flatMap().distinct() },
                {
                    books in
                    let writers = Set(books.prefix(2).compactMap { author[$0.id] })
                    return books.filter { author[$0.id].map(writers.contains) ?? false }.sorted { $0.id < $1.id }
                }
            ),
        ]
    }

    @Test("every step gives its part of the linked entities, and saving that keeps the links", .seeded)
    func table() throws {
        var random = SeededGenerator()
        for _ in 0..<3 {
            let (filled, all) = try store(&random)
            var context = filled
            let links = try Writer.query().id(\.$books).id(\.$liked).resolve(in: context)
            var author: [Int: Int] = [:]
            for writer in links { for id in writer.$books.ids ?? [] { author[id] = writer.id } }
            let byID = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
            for (name, isPart, nest, model) in rows(all, author: author) {
                // The path from a book to its writer and on to the writer's books gives no order.
                let isOrdered = name != "of the same writer"
                func ids(_ books: [Book]?) -> [Int]? {
                    books.map { isOrdered ? $0.map(\.id) : $0.map(\.id).sorted() }
                }
                let found = try Writer.query().with(\.$books, nested: nest).with(\.$liked, nested: nest)
                    .resolve(in: context)
                let merging = try Writer.query().fragment(\.$books, nested: nest).resolve(in: context)
                for (writer, link) in zip(found, links) {
                    let (books, liked) = (link.$books.ids ?? [], link.$liked.ids ?? [])
                    #expect(ids(writer.books) == ids(model(books.compactMap { byID[$0] })), "\(name), \(writer.id)")
                    if isOrdered {
                        #expect(ids(writer.liked) == ids(model(liked.compactMap { byID[$0] })), "\(name), \(writer.id)")
                    }
                    #expect(writer.$books.isSlice == isPart && writer.$liked.isSlice == isPart, "\(name)")
                    let alone = try Writer.query(writer.id).with(\.$books, nested: nest).resolve(in: context)
                    #expect(ids(alone?.books) == ids(writer.books), "\(name), \(writer.id)")
                }
                try found.save(to: &context)
                try merging.save(to: &context)
                let after = try Writer.query().id(\.$books).id(\.$liked).resolve(in: context)
                for (before, now) in zip(links, after) {
                    func same(_ left: [Int]?, _ right: [Int]?) -> Bool {
                        isPart ? left == right : left?.sorted() == right?.sorted()
                    }
                    #expect(same(before.$books.ids, now.$books.ids), "\(name), \(before.id)")
                    #expect(same(before.$liked.ids, now.$liked.ids), "\(name), \(before.id)")
                }
                // A whole relation that was sorted is saved in that order, so its links are restored.
                if !isPart { for link in links { try link.save(to: &context) } }
            }
        }
    }

    @Test("a level of all relations, filtered or of the whole type, adds links too")
    func levels() throws {
        var random = SeededGenerator(seed: 7)
        let (filled, all) = try store(&random)
        var context = filled
        let links = try Writer.query(1).id(\.$books).id(\.$liked).resolve(in: context)
        let part = try #require(
            try Writer.query(1).with(.entities(filter: .updated(within: .distantFuture...(.distantFuture))))
                .resolve(in: context))
        #expect(part.$books.isSlice && part.books?.isEmpty == true)
        try part.save(to: &context)
        let now = try Writer.query(1).id(\.$books).id(\.$liked).resolve(in: context)
        #expect(now?.$books.ids == links?.$books.ids && now?.$liked.ids == links?.$liked.ids)
        // The nested list is the whole type: saving links all of it, and removes no link.
        let whole = try #require(
            try Writer.query(1).with(\.$liked) { $0.schemaQuery() }.resolve(in: context))
        #expect(whole.$liked.isSlice && whole.liked?.count == all.count)
        try whole.save(to: &context)
        let liked = try Writer.query(1).id(\.$liked).resolve(in: context)?.$liked.ids ?? []
        #expect(Array(liked.prefix(links?.$liked.ids?.count ?? 0)) == links?.$liked.ids && liked.count == all.count)
    }

    @Test("links to unstored entities stay if a relation was loaded and is saved")
    func unstored() throws {
        var context = Context()
        for id in 1...6 where id != 3 { try Book(id: id, year: id, title: "").save(to: &context) }
        try Writer(id: 1, books: .ids([1, 2]), liked: .ids([1, 2])).save(to: &context)
        try Writer(id: 2, books: .ids([3, 4, 5]), liked: .ids([1, 3])).save(to: &context)
        try Writer(id: 3, liked: .ids([3])).save(to: &context)
        let found = try Writer.query().with(\.$books).with(\.$liked) { $0.sorted(by: \.year) }.resolve(in: context)
        #expect(found.map(\.$books.isSlice) == [false, true, false])
        #expect(found.map(\.$liked.isSlice) == [false, true, true])
        try found.save(to: &context)
        let after = try Writer.query().id(\.$books).id(\.$liked).resolve(in: context)
        #expect(after.map(\.$books.ids) == [[1, 2], [3, 4, 5], []])
        #expect(after.map(\.$liked.ids) == [[1, 2], [1, 3], [3]])
    }
}
