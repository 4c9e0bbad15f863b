// SPDX-License-Identifier: Apache-2.0
// Lists in the order of scores: the lists that have it, the errors of the others, and pages that continue after a
// hit.

import Hornbeam
import HornbeamTestSupport
import Testing

@testable import HornbeamEngine

@EntityModel
private struct Note {
    @FullTextIndex<Self>(\.text) private var search

    let id: Int
    var text: String
    var title = ""
    var language = "en"
}

@EntityModel
private struct Named {
    @FullTextIndex<Self>(\.text) private var search

    let id: String
    var text: String
    var title = ""
}

@Suite("Orders by score")
struct RankedOrdersTests {
    private func context() throws -> Context {
        var context = Context()
        for id in 1...60 {
            // Three different scores, with many ties.
            let text = String(repeating: "copy ", count: 1 + id % 3) + String(repeating: "page ", count: 3 - id % 3)
            let title = "t\(id * 7 % 5)"
            try Note(id: id, text: text, title: title, language: id % 2 == 0 ? "en" : "fr").save(to: &context)
            try Named(id: "n\(id * 11 % 61)", text: text, title: title).save(to: &context)
        }
        return context
    }

    private let match = Hornbeam.Predicate<Note>.string(\.text, matches: "copy")

    @Test("A list sorted by the score and then by properties has scores, snippets and explanations")
    func scoreFirst() throws {
        let context = try context()
        for list in [
            Note.filter(match).sorted(by: .score, .by(\.title.desc)),
            Note.filter(\.language == "en").filter(match).sorted(by: .score, .by(\.title.desc)),
            Note.filter(match && \.language == "en").sorted(by: .score),
        ] {
            let hits = try list.ranked(in: context)
            #expect(try hits.map(\.id) == list.ids(in: context) && !hits.isEmpty)
            #expect(zip(hits, hits.dropFirst()).allSatisfy { $0.score >= $1.score })
            for hit in hits {
                #expect(try list.explainScore(of: hit.id, in: context)?.value == hit.score)
                #expect(try hit.snippet(\.text, words: 1)?.marked("[", "]", ellipsis: "") == "[copy]")
            }
        }
        let titles = try Note.filter(match).sorted(by: .score, .by(\.title.desc)).ranked(in: context)
        for (one, next) in zip(titles, titles.dropFirst()) where one.score == next.score {
            #expect(try one.entity?.title ?? "" >= next.entity?.title ?? "")
        }
    }

    @Test("A match after a condition, or joined to one, only filters: errors and plans say so")
    func unranked() throws {
        let context = try context()
        for list in [Note.filter(match && \.language == "en"), Note.filter(\.language == "en").filter(match)] {
            #expect(try list.limit(5).ids(in: context) == [2, 4, 6, 8, 10])
            #expect(try list.explain(in: context).remarks == [Self.remark])
            #expect("\(try list.limit(5).explain(in: context))".hasSuffix("\n  " + Self.remark))
            #expect(try list.explain(.analyze, in: context).plan.remarks == [Self.remark])
            for error in try errors(list, context) {
                #expect(error.code == .invalid && error.message.contains("put that first"), "\(error.message)")
            }
            #expect(try list.sorted(by: \.id).explain(in: context).remarks == [])
        }
        #expect(try Note.filter(match).filter(\.language == "en").explain(in: context).remarks == [])
        #expect(try Note.filter(\.language == "en").explain(in: context).remarks == [])
        for error in try errors(Note.filter(match).sorted(by: .by(\.title), .score), context) {
            #expect(error.message.contains("sorted by something else"), "\(error.message)")
        }
        for error in try errors(Note.filter(\.id > 1).sorted(by: \.id), context) {
            #expect(error.message.contains("only a query that begins with a match"), "\(error.message)")
        }
    }

    private static let remark = "not in the order of relevance: put the match first, or sort by the score"

    private func errors(_ list: QueryList<Note>, _ context: Context) throws -> [HornbeamError] {
        [
            try #require(throws: HornbeamError.self) { try list.ranked(in: context) },
            try #require(throws: HornbeamError.self) { try list.explainScore(of: 2, in: context) },
        ]
    }

    /// Returns all hits by pages of `size`. Each page begins after the last hit of the one before, which `change` may
    /// modify.
    private func pages<Entity: EntityModelProtocol>(
        _ list: QueryList<Entity>, of size: Int, _ context: inout Context,
        _ change: (Ranked<Entity>, inout Context) throws -> Void
    ) throws -> [Entity.ID] {
        var found: [Entity.ID] = []
        var rest = list
        while true {
            let page = try rest.limit(size).ranked(in: context)
            found += page.map(\.id)
            guard let last = page.last else { return found }
            try change(last, &context)
            rest = list.after(last)
        }
    }

    @Test("Pages continue after a hit, among equal scores too, even if it has changed", arguments: [1, 4, 7])
    func pagesAfterHits(size: Int) throws {
        let started = try context()
        // In each order a title comes first.
        let orders = [
            (Note.filter(match), "x"), (Note.filter(match).filter(\.language == "fr"), "x"),
            (Note.filter(match).sorted(by: .score, .by(\.title)), "aaa"),
            (Note.filter(match).sorted(by: .score, .by(\.title.desc), .by(\.id.desc)), "zzz"),
        ]
        for (list, title) in orders {
            let all = try list.ids(in: started)
            var same = try context()
            #expect(try pages(list, of: size, &same) { _, _ in } == all)
            var emptied = try context()
            // An equal number of other words keeps the statistics behind the scores.
            let gone = try pages(list, of: size, &emptied) { hit, context in
                if hit.id > 1000 { return }
                let text = try #require(try hit.entity).text
                _ = try Note.query(hit.id).delete(from: &context)
                try Note(id: 1000 + hit.id, text: text, title: "zzz", language: "none").save(to: &context)
            }
            #expect(gone.filter { $0 < 1000 } == all)
            var changed = try context()
            let others = try pages(list, of: size, &changed) { hit, context in
                var note = try #require(try hit.entity)
                note.title = title
                try note.save(to: &context)
            }
            #expect(others == all)
        }
    }

    @Test("Ids that are no row ids keep their positions", arguments: [1, 4])
    func pagesOfNames(size: Int) throws {
        let match = Hornbeam.Predicate<Named>.string(\.text, matches: "copy")
        for list in [Named.filter(match), Named.filter(match).sorted(by: .score, .by(\.title))] {
            var context = try context()
            let all = try list.ids(in: context)
            let found = try pages(list, of: size, &context) { hit, context in
                let entity = try #require(try hit.entity)
                _ = try Named.query(hit.id).delete(from: &context)
                try Named(id: "a" + hit.id, text: entity.text, title: "").save(to: &context)
            }
            // Entities saved meanwhile come earlier in each order.
            #expect(found == all)
        }
        var context = Context()
        for id in [-3, -2, 1, 2] { try Note(id: id, text: "copy").save(to: &context) }
        let list = Note.filter(self.match)
        let first = try #require(try list.limit(1).ranked(in: context).first)
        #expect(first.id == -3)
        for id in [-3, -2] { _ = try Note.query(id).delete(from: &context) }
        for id in [3, 4] { try Note(id: id, text: "copy").save(to: &context) }
        #expect(try list.after(first).ids(in: context) == [1, 2, 3, 4])
    }

    @Test("A hit has no place in another order")
    func otherOrders() throws {
        let context = try context()
        let hit = try #require(try Note.filter(match).limit(1).ranked(in: context).first)
        for list in [
            Note.filter(match).sorted(by: \.title), Note.query(), Note.filter(\.language == "en").filter(match),
            Note.filter(match).sorted(by: .score, .by(\.title)),
        ] {
            let error = #expect(throws: HornbeamError.self) { try list.after(hit).ids(in: context) }
            #expect(error?.code == .invalid && error?.message.contains("can continue after a hit") == true)
        }
        #expect(try Note.filter(match).sorted(by: .score).after(hit).count(in: context) == 59)
        #expect(try Note.filter(match).after(hit).limit(2).resolve(in: context).count == 2)
    }
}
