// SPDX-License-Identifier: Apache-2.0
// The names allowed before a colon in a search: those of its properties. A person's query never fails; a program's
// query fails with a list of the allowed names, in every use of the query.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Book {
    @FullTextIndex<Self>(\.title, \.text) private var search

    let id: String
    var title: String
    var text: String
    var language: String
    var length: Int { text.count }
}

@Suite("Names of properties in searches")
struct SearchFieldsTests {
    private typealias Search = SearchQuery<Book>

    private func context() throws -> Context {
        var context = Context()
        for (id, title, text, language) in [
            ("5", "The English language", "en route to words", "en"), ("6", "Copies", "a copy of pages", "en"),
            ("7", "Text", "pages of a title", "fr"), ("id", "An id of 5 letters", "", ""),
        ] {
            try Book(id: id, title: title, text: text, language: language).save(to: &context)
        }
        return context
    }

    private func ids(_ query: Search, _ context: Context) throws -> [String] {
        try Book.filter(.string(\.title, \.text, matches: query)).ids(in: context).sorted()
    }

    @Test("In a person's search, a name that is no searched property counts as words")
    func lenient() throws {
        let context = try context()
        for (text, plain) in [
            ("language:en", "language en"), ("id:5", "id 5"), ("+language:en pages", "+language en pages"),
            ("copy language:en", "copy language en"),
            ("language:(en copy) title:text", "language (en copy) title:text"),
            ("language:e", "language e"), ("nothing:title:copies", "nothing title:copies"),
        ] {
            for isTyping in [false, true] {
                let (written, meant) = (
                    Search(lenient: text, isTyping: isTyping), Search(lenient: plain, isTyping: isTyping)
                )
                let found = Book.filter(.string(\.title, \.text, matches: written))
                let wanted = Book.filter(.string(\.title, \.text, matches: meant))
                #expect(try found.ids(in: context) == wanted.ids(in: context), "\(text)")
                #expect(try found.ranked(in: context).map(\.score) == wanted.ranked(in: context).map(\.score))
            }
        }
        #expect(try ids(Search(lenient: "language:en"), context) == ["5"])
        #expect(try ids(Search(lenient: "id:5"), context) == ["id"])
        #expect(try ids(Search(lenient: "title:pages"), context) == [], "a property that is searched is one")
        let titles = Book.filter(.string(\.title, matches: Search(lenient: "text:copies")))
        #expect(try titles.ids(in: context).sorted() == ["6", "7"], "words: this search is over titles alone")
        let languages = Book.filter(.string(\.language, matches: Search(lenient: "language:en")))
        #expect(try languages.ids(in: context).sorted() == ["5", "6"], "and this one is over languages")
    }

    @Test("Names are checked at any depth of a search")
    func composed() throws {
        let context = try context()
        let (written, words) = (Search(lenient: "language:en"), Search(lenient: "language en"))
        let forms: [(Search) -> Search] = [
            { $0 && "route" }, { "copy" || $0 }, { "copy" || "pages" || $0 }, { .all("words", "route", $0) },
            { $0.without("copy") }, { Search.everything.without($0) }, { $0.in(\.title) }, { $0.boosted(2) },
            { $0.leavingOut(StopWords(["language"])) }, { .any($0, .phrase("of pages")) },
        ]
        for (number, form) in forms.enumerated() {
            #expect(try ids(form(written), context) == ids(form(words), context), "\(number)")
            #expect(form(written) == form(written) && form(written) != form(words))
        }
        #expect("\(written)" == "language en" && "\(Search(lenient: "title:en"))" == "title:en")
        let book = try #require(try context.find("5") as Book?)
        #expect(try written.highlights(\.title, of: book).map { String(book.title[$0]) } == ["language"])
        #expect(try written.snippet(\.title, \.text, of: book, words: 3)?.marked("[", "]") == "The English [language]")
        let index = SearchIndex<Book>(\.title, \.text)
        #expect(try index.corrected(Search(lenient: "language:roote"), in: context).map { "\($0)" } == "language route")
    }

    @Test("A program's text may name properties of full-text indexes, or its own list of properties")
    func strict() throws {
        for text in ["copy language:en", "copy id:5", "copy length:5", "copy nofield:x"] {
            let error = try #require(throws: SearchSyntaxError.self) { try Search(parsing: text) }
            #expect(error.offset == 5 && error.problem.hasPrefix("there is no field “"))
            #expect(error.advice.hasPrefix("write title, text, "), "\(error)")
        }
        let context = try context()
        let query = try Search(parsing: "language:fr", over: \.language, \.title)
        #expect(try Book.filter(.string(\.language, \.title, matches: query)).ids(in: context) == ["7"])
        let error = try #require(throws: SearchSyntaxError.self) {
            try Search(parsing: "text:fr", matching: .all, over: \.language)
        }
        #expect(error.advice.hasPrefix("write language, "))
    }

    @Test("Unsearchable properties give the reason in every kind of search, with entities and without")
    func errors() throws {
        for context in [Context(), try context()] {
            let titles = Book.filter(.string(\.title, matches: try Search(parsing: "text:copy")))
            try expect("asks for words in text, but searches title", titles, context)
            let languages = Book.filter(.string(\.title, \.text, matches: Search.words("en").in(\.language)))
            try expect("asks for words in language, but searches title, text", languages, context)
            let second = Book.filter(\.language == "en")
                .filter(.string(\.title, \.text, matches: Search.words("en").in(\.language)))
            try expect("asks for words in language, but searches title, text", second, context)
            let computed = Hornbeam.Predicate<Book>.string(\.title.stored, matches: "a")
            try expect("matches needs stored String properties", Book.filter(computed), context)
            let either = Book.filter(\.title == "b" || computed)
            try expect("matches needs stored String properties", either, context, isRanked: false)
        }
    }

    private func expect(
        _ words: String, _ query: QueryList<Book>, _ context: Context, isRanked: Bool = true
    ) throws {
        func check(_ body: () throws -> Void) {
            let error = #expect(throws: HornbeamError.self) { try body() }
            #expect(error?.code == .invalid && error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
        check { _ = try query.ids(in: context) }
        check { _ = try query.count(in: context) }
        check { _ = try query.first(in: context) }
        guard isRanked else { return }
        check { _ = try query.explain(in: context) }
        check { _ = try query.ranked(in: context) }
        check { _ = try query.explainScore(of: "5", in: context) }
    }
}

extension String {
    fileprivate var stored: String { self }
}
