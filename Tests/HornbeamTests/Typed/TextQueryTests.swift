// SPDX-License-Identifier: Apache-2.0
// Conditions on text, and ranked search through the typed layer.

import Hornbeam
import Synchronization
import Testing

@EntityModel
private struct Article {
    @FullTextIndex<Self>(\.title, \.content) private var contentIndex

    let id: String
    var title: String
    var content: String
    var note: String?
    var isDraft = false
    var shout: String { title.uppercased() }
}

/// An entity with an index over a text and an optional one.
@EntityModel
private struct Page {
    @FullTextIndex<Self>(\.title, \.summary) private var search

    let id: Int
    var title: String
    var summary: String?
}

/// An entity that counts the reads of its place.
@EntityModel
private struct Counted {
    static let looks = Mutex(0)
    @FullTextIndex<Self>(\.text) private var search

    let id: Int
    var text: String
    var place: Int {
        Self.looks.withLock { $0 += 1 }
        return id * 37 % 211
    }
}

@Suite("Queries on text")
struct TextQueryTests {
    private func context() throws -> Context {
        var context = Context()
        let articles = [
            Article(
                id: "1", title: "Swift database", content: "A database in Swift for Swift programs", note: "Re: hello"),
            Article(id: "2", title: "Birds", content: "The swift is a bird", isDraft: true),
            Article(id: "3", title: "Storage", content: "Go to the database, \"quoted\"\nnext line"),
            Article(id: "4", title: "", content: "nothing here. Kind regards", note: "HELLO again"),
        ]
        for article in articles { try article.save(to: &context) }
        return context
    }

    private func ids(_ predicate: Predicate<Article>, _ context: Context) throws -> [String] {
        try Article.filter(predicate).ids(in: context).sorted()
    }

    @Test("contains, prefix and suffix, of one property or any of several, with and without case")
    func parts() throws {
        let context = try context()
        #expect(try ids(.string(\.content, contains: "SWIFT"), context) == ["1", "2"])
        #expect(try ids(.string(\.content, contains: "SWIFT", caseSensitive: true), context) == [])
        #expect(try ids(.string(\.title, \.content, contains: "storage"), context) == ["3"])
        #expect(try ids(.string(\.content, contains: "go"), context) == ["3"])
        #expect(try ids(.string(\.content, contains: "o to"), context) == ["3"])
        #expect(try ids(.string(\.content, hasPrefix: "the"), context) == ["2"])
        #expect(try ids(.string(\.content, hasSuffix: "regards"), context) == ["4"])
        #expect(try ids(.string(\.content, notHavingPrefix: "the"), context) == ["1", "3", "4"])
        #expect(try ids(.string(\.title, \.content, notHavingSuffix: "s"), context) == ["3"])
        #expect(try ids(.string(\.note, contains: "hello"), context) == ["1", "4"])
        #expect(try ids(.string(\.note, hasPrefix: "Re:"), context) == ["1"])
        #expect(try ids(.string(\.shout, contains: "base"), context) == ["1"])
        #expect(try ids(.string(\.shout, hasPrefix: "BI", caseSensitive: true), context) == ["2"])
    }

    @Test("a query that begins with matches gives the best first, with scores")
    func ranking() throws {
        let context = try context()
        let query = Article.filter(.string(\.title, \.content, matches: "swift database"))
        let found = try query.resolve(in: context).map(\.id)
        #expect(found.first == "1")
        #expect(Set(found) == ["1", "2", "3"])
        let ranked = try query.ranked(in: context)
        #expect(ranked.map(\.id) == found)
        #expect(zip(ranked, ranked.dropFirst()).allSatisfy { $0.score >= $1.score })
        #expect(ranked.allSatisfy { $0.score > 0 })
        #expect(try ranked.first?.entity?.title == "Swift database")
        #expect(try query.limit(1).ranked(in: context).map(\.id) == ["1"])
        #expect(try query.count(in: context) == 3)
        #expect(try query.filter(\.isDraft == false).resolve(in: context).map(\.id) == found.filter { $0 != "2" })
        #expect(try query.sorted(by: \.title).resolve(in: context).map(\.id) == ["2", "3", "1"])
        #expect(throws: HornbeamError.self) { try query.sorted(by: \.title).ranked(in: context) }
        #expect(throws: HornbeamError.self) { try Article.query().ranked(in: context) }
        let best = try #require(try query.first(in: context))
        #expect(try query.after(best).resolve(in: context).map(\.id) == Array(found.dropFirst()))
        #expect(try query.limit(1).after(best).ranked(in: context).map(\.id) == [found[1]])
        let other = try #require(try context.find("4") as Article?)
        #expect(throws: HornbeamError.self) { try query.after(other).resolve(in: context) }
        #expect(
            try query.sorted(by: .score, .by(\.title)).after(best).resolve(in: context).map(\.id)
                == Array(found.dropFirst()))
        #expect(throws: HornbeamError.self) {
            try query.sorted(by: .by(\.title), .score).after(best).resolve(in: context)
        }
    }

    @Test("equal scores in another order look up each entity's position once")
    func ties() throws {
        var context = Context()
        for id in 0..<200 { try Counted(id: id, text: "the same").save(to: &context) }
        let query = Counted.filter(.string(\.text, matches: "same")).sorted(by: .score, .by(\.place))
        let wanted = (0..<200).sorted { $0 * 37 % 211 < $1 * 37 % 211 }
        Counted.looks.withLock { $0 = 0 }
        #expect(try query.ids(in: context) == wanted)
        #expect(Counted.looks.withLock { $0 } == 200)
        #expect(try query.limit(7, offset: 3).ids(in: context) == Array(wanted[3..<10]))
    }

    @Test("matches gives the same with and without an index, in any case")
    func withoutIndex() throws {
        let context = try context()
        for text in ["SWIFT", "hello", "database bird", "next", "nothing", "unknown"] {
            let one = try ids(.string(\.title, \.content, matches: text), context)
            let other = try ids(.string(\.title, matches: text) || .string(\.content, matches: text), context)
            #expect(one == other, "\(text)")
        }
        #expect(try ids(.string(\.note, matches: "hello"), context) == ["1", "4"])
        #expect(throws: HornbeamError.self) { try ids(.string(\.shout, matches: "birds"), context) }
    }

    @Test("deleted and changed entities leave the index: they take no place under a limit")
    func cleared() throws {
        var context = try context()
        let query = Article.filter(.string(\.title, \.content, matches: "database"))
        #expect(try query.count(in: context) == 2)
        try Article.delete(id: "1", from: &context)
        #expect(try query.limit(1).resolve(in: context).map(\.id) == ["3"])
        var article = try #require(try context.find("3") as Article?)
        article.content = "emptied"
        try article.save(to: &context)
        #expect(try query.resolve(in: context).isEmpty)
        #expect(try Article.filter(.string(\.title, \.content, matches: "emptied")).ids(in: context) == ["3"])
    }

    @Test("one condition takes String and String? alike; nil has no words and contains nothing")
    func mixed() throws {
        var context = Context()
        try Page(id: 1, title: "Swift", summary: "a quick bird").save(to: &context)
        try Page(id: 2, title: "Quick sort", summary: nil).save(to: &context)
        try Page(id: 3, title: "Bird", summary: "v12, nothing else").save(to: &context)
        func ids(_ predicate: Predicate<Page>) throws -> [Int] { try Page.filter(predicate).ids(in: context).sorted() }

        let query = Page.filter(.string(\.title, \.summary, matches: "quick"))
        #expect(try query.ids(in: context).sorted() == [1, 2])
        #expect(try query.ranked(in: context).map(\.id).sorted() == [1, 2])
        #expect(try query.explain(in: context).access.description.contains("search"))
        #expect(try ids(.string(\.summary, \.title, matches: "bird")) == [1, 3])
        #expect(try ids(.string(\.title, \.summary, contains: "IR")) == [1, 3])
        #expect(try ids(.string(\.summary, \.title, hasPrefix: "quick")) == [2])
        #expect(try ids(.string(\.title, \.summary, hasSuffix: "BIRD")) == [1, 3])
        #expect(try ids(.string(\.title, \.summary, notHavingPrefix: "quick")) == [1, 3])
        #expect(try ids(.string(\.title, \.summary, notHavingSuffix: "bird")) == [2])
        #expect(try ids(.string(\.title, \.summary, matches: /v[0-9]+/)) == [3])
        #expect(try ids(.string(\.title, \.summary, notMatching: /[Bb]ird/)) == [2])
        #expect(try ids(.string(\.title, \.summary, passes: "is short") { $0.count < 6 }) == [1, 3])
    }
}
