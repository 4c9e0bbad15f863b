// SPDX-License-Identifier: Apache-2.0
// Several full-text indexes over the same properties: the choice of one, for every kind of query, and the results
// with and without its help.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Story {
    // The first index can't rank phrases, and its words differ from the others'.
    @FullTextIndex<Self>(\.text, analyzer: .trigrams, positions: false) private var pieces
    @FullTextIndex<Self>(\.text, analyzer: .unicode(stemming: .english)) private var stems
    @FullTextIndex<Self>(\.text, analyzer: .unicode) private var typing
    @FullTextIndex<Self>(\.title, positions: false) private var slim
    @FullTextIndex<Self>(\.title) private var whole

    let id: Int
    var title = ""
    var text = ""
}

@Suite("Several full-text indexes over the same properties")
struct ChosenIndexTests {
    private typealias Search = SearchQuery<Story>
    private typealias Test = Hornbeam.Predicate<Story>

    private func filled() throws -> Context {
        var context = Context()
        let texts = ["Happiness, copied on write", "happy runners run", "copy on  write happens", "nothing"]
        for (id, text) in texts.enumerated() {
            try Story(id: id, title: "wi-fi \(text)", text: text).save(to: &context)
        }
        return context
    }

    /// Returns the ids by a ranked search, a filter, a count, an exclusion, another path and a scan: all must agree.
    private func ids(_ test: Test, _ context: Context, isRanked: Bool = true) throws -> [Int] {
        let found = try Story.filter(test).ids(in: context).sorted()
        #expect(try Story.filter(test).count(in: context) == found.count)
        #expect(try Story.filter(test).sorted(by: \.id).ids(in: context) == found)
        #expect(try Story.filter(!test).ids(in: context).sorted() == (0..<4).filter { !found.contains($0) })
        #expect(try Story.filter(\.id >= 0).filter(test || \.id == 99).ids(in: context).sorted() == found)
        if isRanked {
            let hits = try Story.filter(test).ranked(in: context)
            #expect(hits.map(\.id).sorted() == found)
            for hit in hits {
                #expect(try !hit.highlights(\.text).isEmpty || !hit.highlights(\.title).isEmpty)
                #expect(try Story.filter(test).explainScore(of: hit.id, in: context)?.value == hit.score)
            }
        }
        return found
    }

    @Test("The named index defines words, for everything that a search does")
    func named() throws {
        let context = try filled()
        #expect(try ids(.string(\.text, matches: "happy", using: "stems"), context) == [0, 1])
        #expect(try ids(.string(\.text, matches: "happy", using: "typing"), context) == [1])
        #expect(try ids(.string(\.text, matches: .prefix("happin"), using: "typing"), context) == [0])
        #expect(try ids(.string(\.text, matches: .prefix("happin"), using: "stems"), context) == [])
        #expect(try ids(.string(\.text, matches: .phrase("copy on write"), using: "stems"), context) == [0, 2])
        #expect(try ids(.string(\.text, matches: .phrase("copy on write"), using: "typing"), context) == [2])
        // Without a name, the first declared index is used.
        #expect(try ids(.string(\.text, matches: "ppi"), context) == [0])
        #expect(try ids(.string(\.text, matches: "ppi", using: "pieces"), context) == [0])
        let story = try #require(try context.find(0) as Story?)
        func marked(_ query: Search, _ index: String?) throws -> [String] {
            try query.highlights(\.text, of: story, using: index).map { String(story.text[$0]) }
        }
        #expect(try marked("happy", "stems") == ["Happiness"] && marked("happy", "typing") == [])
        #expect(try marked("ppi", nil) == ["ppi"])
        let snippet = try Search("happy").snippet(\.text, of: story, words: 2, using: "stems")
        #expect(snippet?.marked("[", "]") == "[Happiness], copied…")
        let plan = try Story.filter(.string(\.text, matches: "happy", using: "stems")).explain(in: context)
        #expect(plan.description.contains("stems"))
    }

    @Test("A phrase that the first index can't rank isn't ranked by another one's words")
    func phrases() throws {
        let context = try filled()
        let phrase = Test.string(\.text, matches: .phrase("write happens"))
        #expect(try ids(phrase, context, isRanked: false) == [2])
        #expect(throws: HornbeamError.self) { try Story.filter(phrase).ranked(in: context) }
        // An index with the same words ranks it.
        #expect(try ids(.string(\.title, matches: .phrase("happy runners")), context) == [1])
        let both = try Search(parsing: "\"happy runners\" AND wi-fi")
        #expect(try ids(.string(\.title, matches: both), context) == [1])
        #expect(throws: HornbeamError.self) {
            try Story.filter(.string(\.title, matches: .phrase("happy runners"), using: "slim")).ranked(in: context)
        }
    }

    @Test("Suggestions come from the named index, and its words and numbers can be looked up")
    func words() throws {
        let context = try filled()
        let typing = SearchIndex<Story>(\.text, using: "typing")
        #expect(try typing.completions(of: "happi", in: context).map(\.word) == ["happiness"])
        let stems = SearchIndex<Story>(\.text, using: "stems")
        #expect(try stems.completions(of: "happi", in: context).map(\.count) == [2])
        let search = Search(lenient: "runers hapiness", isTyping: true)
        let meant = try typing.corrected(search, in: context)?.description
        #expect(meant == "runners OR happiness*")
        #expect(try typing.corrected(Search(lenient: "runners happi", isTyping: true), in: context) == nil)
        let numbers = try typing.statistics(in: context)
        #expect(numbers.entities == 4 && numbers.occurrences == 12 && numbers.words == 10)
        #expect(numbers.averageLength == 3)
        var found: [SearchIndex<Story>.Word] = []
        try typing.forEachWord(from: "n", in: context) {
            found.append($0)
            return found.count < 3
        }
        #expect(found.map(\.text) == ["nothing", "on", "run"] && found.map(\.entities) == [1, 2, 1])
        #expect(found.map(\.occurrences) == [1, 2, 1])
        #expect(throws: CancellationError.self) {
            try typing.forEachWord(in: context) { _ in throw CancellationError() }
        }
    }

    @Test("Statements name it, and their scores and snippets come from it")
    func statements() throws {
        let context = try filled()
        for (index, expected) in [
            ("stems", ["[Happiness], copied…", "[happy] runners…"]), ("typing", ["[happy] runners…"]),
        ] {
            let text = "SELECT id, RANK() AS score, SNIPPET(2, '[', ']') AS s FROM Story WHERE MATCH(\(index), 'happy')"
            let rows = try Statement(text + " ORDER BY RANK() DESC").resolve(in: context)
            #expect(try Set(rows.map { try $0.value("s", as: String.self) }) == Set(expected))
            let hits = try Story.filter(.string(\.text, matches: "happy", using: index)).ranked(in: context)
            #expect(try rows.map { try $0.value("id", as: Int.self) } == hits.map(\.id))
            #expect(try rows.map { try $0.value("score", as: Double.self) } == hits.map(\.score))
        }
    }

    @Test("A missing index, or one over other properties, is refused with the names of the others")
    func refused() throws {
        let context = try filled()
        for test in [
            Test.string(\.text, matches: "a", using: "nothing"), .string(\.title, matches: "a", using: "stems"),
            .string(\.title, \.text, matches: .phrase("a b"), using: "stems"),
        ] {
            let error = #expect(throws: HornbeamError.self) { try Story.filter(test).count(in: context) }
            #expect(error?.code == .invalid && error?.message.contains("typing") == true)
        }
        #expect(throws: HornbeamError.self) {
            try Search("a").highlights(\.title, of: Story(id: 1), using: "stems")
        }
        #expect(throws: HornbeamError.self) { try SearchIndex<Story>(\.text, using: "whole").statistics(in: context) }
    }
}
