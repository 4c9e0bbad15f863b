// SPDX-License-Identifier: Apache-2.0
// Searches as values: built, printed, parsed; with the same answers with an index and without one.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Note {
    @FullTextIndex<Self>(\.title, \.text) private var search

    let id: Int
    var title: String
    var text: String
    var summary: String?
    var length: Int { text.count }
}

/// An entity with the same properties and no index.
@EntityModel
private struct Plain {
    let id: Int
    var title: String
    var text: String
}

/// Texts of a script without spaces.
@EntityModel
private struct Place {
    @FullTextIndex<Self>(\.text, analyzer: .unicode) private var search

    let id: Int
    var text: String
}

/// An index with the words of a text, but not their positions.
@EntityModel
private struct Slip {
    @FullTextIndex<Self>(\.text, positions: false) private var search

    let id: Int
    var text: String
}

@Suite("Searches")
struct SearchQueryTests {
    private typealias Search = SearchQuery<Note>

    private func context() throws -> Context {
        var context = Context()
        let texts = [
            ("Copy on write", "A page is copied before it is written to. Snapshots stay."),
            ("Snapshots", "Readers see a snapshot; write transactions copy pages."),
            ("Write ahead", "The journal is written ahead of pages, then copied on demand."),
            ("Databases", "A database keeps pages. Databases keep copies."),
            ("", "nothing"),
        ]
        for (id, (title, text)) in texts.enumerated() {
            try Note(id: id, title: title, text: text, summary: id == 0 ? "copy" : nil).save(to: &context)
            try Plain(id: id, title: title, text: text).save(to: &context)
        }
        return context
    }

    @Test("Stop words are left out if others remain, with an index and without one")
    func stopWords() throws {
        let context = try context()
        func both(_ text: String) throws -> [Int] {
            let found = try Note.filter(
                .string(\.title, \.text, matches: Search(lenient: text, matching: .all).leavingOut(.english))
            ).ids(in: context).sorted()
            let plain = SearchQuery<Plain>(lenient: text, matching: .all).leavingOut(.english)
            #expect(try Plain.filter(.string(\.title, \.text, matches: plain)).ids(in: context).sorted() == found)
            return found
        }
        #expect(try both("the database keeps a copy") == [] && both("the databases of copies") == [3])
        #expect(try both("it is before") == [0], "all of them are in the list, so all are asked for")
        #expect(try both("\"copy on write\" and the snapshots") == [0], "phrases have all their words")
        let query = Search.all("the", "page").leavingOut(.english)
        #expect(query == Search.all("page") && query.leavingOut(StopWords(["page"])) == query)
        let note = try #require(try Note.query(0).resolve(in: context))
        let marked = try Search("a page is").leavingOut(.english).highlights(\.text, of: note)
        #expect(marked.map { note.text[$0] } == ["page"])
    }

    @Test("Each form finds the right entities")
    func forms() throws {
        let context = try context()
        func ids(_ query: Search) throws -> [Int] {
            try Note.filter(.string(\.title, \.text, matches: query)).ids(in: context).sorted()
        }
        #expect(try ids("snapshot journal") == [1, 2])
        #expect(try ids(.all("pages", "copies")) == [3])
        #expect(try ids("pages" && .prefix("cop")) == [1, 2, 3])
        #expect(try ids("journal" || "nothing" || "unknown") == [2, 4])
        #expect(try ids(.phrase("copy on write")) == [0])
        #expect(try ids(.phrase("copy pages")) == [1] && ids(.phrase("readers snapshot", slop: 2)) == [1])
        #expect(try ids(.phrase("snapshots readers")) == [], "no phrase goes from one property to the next")
        #expect(try ids(.near("journal", "pages", within: 5)) == [2] && ids(.near("journal", "pages", within: 4)) == [])
        #expect(try ids(.wildcard("cop?es")) == [3] && ids(.wildcard("*base")) == [3])
        #expect(try ids(.fuzzy("jurnal")) == [2] && ids(.fuzzy("jurnal", distance: 0)) == [])
        #expect(try ids(Search.words("write").in(\.title)) == [0, 2])
        #expect(try ids(Search.words("write").in(\.title, \.text)) == [0, 1, 2])
        #expect(try ids(.everything.without("pages")) == [0, 4])
        #expect(try ids(.any()) == [] && ids(.all()) == [] && ids("") == [] && ids(.phrase("?")) == [])
    }

    @Test("A word is the same to its writer, the index and the text")
    func writtenWords() throws {
        var context = Context()
        for (id, text) in ["東京都", "京都の東京", "北京", "東京と京都"].enumerated() {
            try Place(id: id, text: text).save(to: &context)
        }
        for (id, text) in ["wi-fi", "fi", "wi x fi"].enumerated() { try Slip(id: id, text: text).save(to: &context) }
        for (query, expected) in [("東京都", [0]), ("東京", [0, 1, 3]), ("+東京 -京都", [] as [Int])] {
            let match = Predicate<Place>.string(\.text, matches: try SearchQuery(parsing: query))
            #expect(try Place.filter(match).ids(in: context).sorted() == expected, "\(query)")
            let looked = try (0..<4).filter { id in try Place.filter(\.id == id).filter(match).count(in: context) > 0 }
            #expect(looked == expected, "\(query)")
        }
        let match = Predicate<Slip>.string(\.text, matches: .all("wi-fi"))
        #expect(try Slip.filter(match).ranked(in: context).map(\.id).sorted() == [0, 2])
        let looked = try (0..<3).filter { id in try Slip.filter(\.id == id).filter(match).count(in: context) > 0 }
        #expect(looked == [0, 2])
    }

    @Test("A printed query is parsed as an equal one")
    func parsing() throws {
        let context = try context()
        let query = try Search(parsing: "title:write +pages -ahead \"copy on\"~1^2")
        #expect(try Search(parsing: "\(query)") == query)
        #expect("\(Search.phrase("a b", slop: 2).in(\.title).boosted(2))" == "title:\"a b\"~2^2")
        let found = Note.filter(.string(\.title, \.text, matches: try Search(parsing: "pages AND NOT journal")))
        #expect(try found.ids(in: context).sorted() == [1, 3])
        let all = try Search(parsing: "pages copies", matching: .all)
        #expect(try Note.filter(.string(\.title, \.text, matches: all)).ids(in: context) == [3])
        let typed = Search(lenient: "data", isTyping: true)
        #expect(typed == .prefix("data"))
        #expect(Search(lenient: "a ) b") == "a b")
    }

    @Test("Unreadable queries are reported with their position")
    func syntaxErrors() throws {
        let error = try #require(throws: SearchSyntaxError.self) { try Search(parsing: "copy (on write") }
        #expect(error.offset == 5 && error.text == "copy (on write")
        #expect(
            "\(error)" == """
                this ( has no end, at character 6: write ) after it, or \\( for the character
                  copy (on write
                       ^
                """)
        #expect(throws: SearchSyntaxError.self) { try Search(parsing: "length:5 nofield:x") }
    }

    @Test("Meaningless queries are refused when they run")
    func nonsense() throws {
        let context = try context()
        var deep = Search.words("a")
        for _ in 0..<500 { deep = deep.boosted(1) }
        let wrong: [Predicate<Note>] = [
            .string(\.title, \.text, matches: Search.words("a").boosted(-1)),
            .string(\.title, \.text, matches: Search.words("a").in(\.summary)),
            .string(\.title, matches: Search.words("a").in(\.text)),
            .string(\.title, \.text, matches: .near(.everything, "a", within: 1)),
            .string(\.title, \.text, matches: .phrase("a", slop: -1)),
            .string(\.title, \.text, matches: .fuzzy("a", distance: 3)),
            .string(\.title, \.text, matches: deep),
            .string(\.title, \.text, matches: "a", weights: [1]),
            .string(\.title, \.text, matches: "a", weights: [0, 0]),
            .string(\.title, \.text, matches: "a", weights: [1, -1]),
        ]
        for predicate in wrong {
            let error = #expect(throws: HornbeamError.self) { try Note.filter(predicate).ids(in: context) }
            #expect(error?.code == .invalid, "\(error?.message ?? "")")
        }
        #expect("\(deep)" == "(…)")
    }

    @Test("Random queries find the same with an index and without one", arguments: SeededGenerator.seeds(2))
    func withoutIndex(seed: UInt64) throws {
        let context = try context()
        var random = SeededGenerator(seed: seed)
        let parts = [
            "copy", "pages", "\"copy on write\"", "\"a page\"~1", "cop*", "p?ges", "jurnal~", "title:write",
            "text:copy",
            "snapshots NEAR/4 readers", "nothing", "*", "unheard", "-pages", "+copied", "(pages OR journal)^2",
            "title:(a b)",
        ]
        for _ in 0..<80 {
            let text = (0..<random.below(4) + 1).map { _ in parts[random.below(parts.count)] }.joined(separator: " ")
            let (one, other) = (try SearchQuery<Note>(parsing: text), try SearchQuery<Plain>(parsing: text))
            let found = try Note.filter(.string(\.title, \.text, matches: one)).ids(in: context).sorted()
            let read = try Plain.filter(.string(\.title, \.text, matches: other)).ids(in: context).sorted()
            #expect(found == read, "\(text)")
            #expect(try Note.filter(.string(\.title, \.text, matches: one)).count(in: context) == found.count)
        }
    }

    @Test("Highlights and snippets of an entity at hand")
    func shown() throws {
        let note = Note(
            id: 1, title: "Copy on write", text: "A page is copied before it is written to. Snapshots stay for readers."
        )
        let query = Search.phrase("copy on") || "page snapshots"
        let title = try query.highlights(\.title, of: note)
        #expect(title.map { String(note.title[$0]) } == ["Copy on"])
        #expect(try query.highlights(\.summary, of: note).isEmpty)
        let snippet = try #require(try query.snippet(\.text, of: note, words: 4))
        #expect(snippet.marked("[", "]") == "A [page] is copied…" && snippet.isStart && !snippet.isEnd)
        let end = try #require(try Search.words("stay").snippet(\.title, \.text, of: note, words: 2))
        #expect(end.property == 1 && end.marked("<b>", "</b>") == "…<b>stay</b> for…")
        let escaped = end.marked("<b>", "</b>", ellipsis: "") { $0.uppercased() }
        #expect(escaped == "<b>STAY</b> FOR")
        #expect(try query.snippet(\.summary, of: note) == nil)
        #expect(try Search.words("x").boosted(.nan).isRefused(of: note))
    }

    @Test("Hits of a ranked search show the found words")
    func hits() throws {
        let context = try context()
        let hits = try Note.filter(.string(\.title, \.text, matches: "copied journal")).ranked(in: context)
        let best = try #require(hits.first)
        #expect(best.id == 2)
        #expect(try best.snippet(\.title, \.text, words: 3)?.marked("[", "]") == "The [journal] is…")
        let text = try #require(try best.entity).text
        #expect(try best.highlights(\.text).map { String(text[$0]) } == ["journal", "copied"])
        #expect(try best.highlights(\.summary).isEmpty && best.snippet(\.summary) == nil)
    }

    @Test("Every form is ranked, boosts and weights change the order, and a score is explained by its parts")
    func ranking() throws {
        let context = try context()
        func ranked(_ query: Search, _ weights: [Double] = []) throws -> [Int] {
            try Note.filter(.string(\.title, \.text, matches: query, weights: weights)).ranked(in: context).map(\.id)
        }
        #expect(try ranked(.phrase("copy on write")) == [0])
        let journal = Search.words("journal")
        let nothing = Search.words("nothing")
        #expect(
            try ranked(journal.boosted(9) || nothing) == [2, 4] && ranked(journal || nothing.boosted(9)) == [4, 2])
        #expect(try ranked("snapshots", [9, 1]) == [1, 0] && ranked("snapshots", [0.1, 9]) == [0, 1])
        let list = Note.filter(.string(\.title, \.text, matches: .prefix("cop") || .fuzzy("jurnal")))
        let hits = try list.ranked(in: context)
        #expect(Set(hits.map(\.id)) == [0, 1, 2, 3])
        for hit in hits {
            let explanation = try #require(try list.explainScore(of: hit.id, in: context))
            #expect(explanation.value == hit.score && !explanation.parts.isEmpty)
            #expect("\(explanation)".hasPrefix("\(hit.score)"))
        }
        // The score can be computed again from the numbers shown.
        let doubled = Note.filter(.string(\.title, \.text, matches: journal.boosted(2)))
        let why = try #require(try doubled.explainScore(of: 2, in: context)).description
        #expect(why.contains("5.0  N: documents") && why.contains("1.0  n: documents that hold it"), "\(why)")
        #expect(why.contains("2.0  boost") && why.contains("ln(1 + (N − n + 0.5) / (n + 0.5))"), "\(why)")
        #expect(try list.explainScore(of: 4, in: context) == nil && list.explainScore(of: 99, in: context) == nil)
        #expect(throws: HornbeamError.self) { try Note.filter(\.id == 1).explainScore(of: 1, in: context) }
        #expect(try list.filter(\.id != hits[0].id).ranked(in: context).map(\.id) == hits.dropFirst().map(\.id))
    }

    @Test("The index suggests completions, corrections and similar entities")
    func suggestions() throws {
        let context = try context()
        let index = SearchIndex<Note>(\.title, \.text)
        #expect(try index.completions(of: "the PAG", in: context).map(\.word) == ["pages", "page"])
        #expect(try index.completions(of: "pag", limit: 1, in: context).map(\.count) == [3])
        #expect(try index.corrections(of: "jurnal", in: context).map(\.word) == ["journal"])
        let corrected = try index.corrected(try Search(parsing: "title:wrte AND jurnal"), in: context)
        #expect(corrected.map { "\($0)" } == "title:write AND journal")
        #expect(try index.corrected("pages", in: context) == nil)
        let note = try #require(try context.find(1) as Note?)
        #expect(try index.query(like: note, words: 2, in: context) == "copy Snapshots")
        let wrong = SearchIndex<Note>(\.text)
        #expect(throws: HornbeamError.self) { try wrong.completions(of: "a", in: context) }
        #expect(throws: HornbeamError.self) { try SearchIndex<Plain>(\.text).corrections(of: "a", in: context) }
        #expect(throws: HornbeamError.self) { try wrong.corrected("a", in: context) }
    }
}

extension SearchQuery where Entity == Note {
    fileprivate func isRefused(of note: Note) throws -> Bool {
        do {
            _ = try highlights(\.title, of: note)
            return false
        } catch let error as HornbeamError {
            return error.code == .invalid
        }
    }
}
