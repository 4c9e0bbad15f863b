// SPDX-License-Identifier: Apache-2.0
// The terms of a query's texts under an analyzer: words of several tokens, letters of scripts without spaces, and texts
// without terms; with an index and without one.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("The terms of a query's texts")
struct ResolvedQueryTests {
    private static let unicode = Analyzer(.unicode(keepsAccents: false, stemming: nil))
    private static let trigrams = Analyzer(.trigrams(keepsAccents: false))
    static let optional = TextQuery.any([.everything, .words("foo")])

    @Test(
        "A written word of several tokens is their phrase if it is required or excluded",
        arguments: [
            (.words("wi-fi"), .words("wi-fi")), (.all([.words("wi-fi")]), .phrase("wi-fi", slop: 0)),
            (.all([.words("a wi-fi  b")]), .any([.words("a"), .phrase("wi-fi", slop: 0), .words("b")])),
            (
                .without(.words("3.14"), .field([0], .words("3.14"))),
                .without(.words("3.14"), .field([0], .phrase("3.14", slop: 0)))
            ),
            (
                .all([.any([.words("can't"), .prefix("x")]), .words("b")]),
                .all([.any([.phrase("can't", slop: 0), .prefix("x")]), .words("b")])
            ),
            (
                .all([.words("b"), .any([.everything, .words("wi-fi")])]),
                .all([.words("b"), .any([.everything, .words("wi-fi")])])
            ),
            (
                .near([.words("wi-fi"), .words("x")], within: 3),
                .near([.phrase("wi-fi", slop: 0), .words("x")], within: 3)
            ),
            (
                .all([.fuzzy("wi-fi", distance: 1, prefixLength: 1)]),
                .all([.fuzzy("wi", distance: 1, prefixLength: 1), .fuzzy("fi", distance: 1, prefixLength: 1)])
            ),
            (.all([.words("東京")]), .words("東京")),
            (.all([.all([.words("a b")]), .words("c")]), .all([.words("a b"), .words("c")])),
        ] as [(TextQuery, TextQuery)])
    func writtenWords(_ query: TextQuery, _ expected: TextQuery) {
        let resolved = query.resolved(.words)
        #expect(resolved == expected)
        #expect(resolved.resolved(.words) == resolved)
    }

    @Test("Words with several tokens must have all of their tokens without positions")
    func withoutPositions() {
        func resolved(_ query: TextQuery, _ analyzer: Analyzer = .words) -> TextQuery {
            query.resolved(analyzer, hasPositions: false)
        }
        #expect(resolved(.all([.words("wi-fi x")])) == .any([.all([.words("wi"), .words("fi")]), .words("x")]))
        #expect(resolved(.words("東京都"), Self.unicode) == .all([.words("東京"), .words("京都")]))
        #expect(!TextQuery.all([.words("wi-fi"), .words("x")]).needsPositions(.words))
        #expect(TextQuery.all([.words("wi-fi"), .phrase("x y", slop: 0)]).needsPositions(.words))
    }

    @Test("Three letters or more of a script without spaces are the phrase of their pairs, everywhere")
    func pairs() {
        func resolved(_ query: TextQuery) -> TextQuery { query.resolved(Self.unicode) }
        #expect(resolved(.words("東京")) == .words("東京") && resolved(.words("東")) == .words("東"))
        #expect(resolved(.words("a 東京都 b")) == .any([.words("a "), .phrase("東京都", slop: 0), .words(" b")]))
        #expect(resolved(.words("x東京都")) == .any([.words("x"), .phrase("東京都", slop: 0)]))
        #expect(resolved(.all([.words("x東京")])) == .phrase("x東京", slop: 0))
        #expect(resolved(.fuzzy("東京都", distance: 1, prefixLength: 0)) == .phrase("東京都", slop: 0))
        #expect(TextQuery.words("東京都").resolved(.words) == .words("東京都"))
    }

    @Test("Among trigrams each word is its own phrase, and no space is part of one")
    func trigrams() {
        func resolved(_ query: TextQuery) -> TextQuery { query.resolved(Self.trigrams) }
        #expect(resolved(.words("data base")) == .words("data base"))
        #expect(resolved(.all([.words("data base")])) == .any([.phrase("data", slop: 0), .phrase("base", slop: 0)]))
        #expect(resolved(.all([.words("abc ab def")])) == .any([.words("abc"), .words("def")]))
        #expect(resolved(.all([.words("of"), .words("abc")])) == .words("abc"))
    }

    @Test("A tokenizer that depends on more than single words gets the text as a whole")
    func custom() {
        let whole = Analyzer(
            .custom(CustomTokenizer(name: "whole", version: 1, tokenize: { text, emit in emit(text.lowercased()) })))
        #expect(
            TextQuery.all([.words("New York"), .words("x")]).resolved(whole) == .all([.words("New York"), .words("x")]))
    }

    @Test(
        "Clauses without terms count as absent; if no required ones remain, the optional ones are required",
        arguments: [
            (.all([.words("&"), .words("foo")]), .words("foo")),
            (.all([.words("👍"), ResolvedQueryTests.optional]), .words("foo")),
            (
                .all([.words("&"), .words("b"), ResolvedQueryTests.optional]),
                .all([.words("b"), ResolvedQueryTests.optional])
            ), (ResolvedQueryTests.optional, ResolvedQueryTests.optional),
            (.all([.words("&"), .any([.everything, .words("?")])]), .words("")),
            (.all([.words("&"), .any([.everything, .words("wi-fi")])]), .phrase("wi-fi", slop: 0)),
            (
                .all([.words("foo"), .without(.words("&"), .words("bar"))]),
                .all([.words("foo"), .without(.everything, .words("bar"))])
            ),
            (
                .all([.without(.words("&"), .words("bar")), ResolvedQueryTests.optional]),
                .all([.without(.everything, .words("bar")), .words("foo")])
            ),
            (.without(.all([.words("&")]), .words("bar")), .words("")),
            (.without(.words("a"), .words("&")), .words("a")),
            (.near([.words("&"), .words("a"), .words("b")], within: 1), .near([.words("a"), .words("b")], within: 1)),
            (.all([]), .all([])), (.all([.any([]), .words("a")]), .all([.any([]), .words("a")])),
        ] as [(TextQuery, TextQuery)])
    func nothing(_ query: TextQuery, _ expected: TextQuery) {
        #expect(query.resolved(.words) == expected)
    }

    /// Returns the rows that an index of these texts finds, in every way; they must equal those without it.
    private func rows(_ query: TextQuery, _ texts: [String], _ analyzer: Analyzer) throws -> [UInt64] {
        let index = TextIndex(prefix: "t:", analyzer: analyzer)
        let transaction = try TreeStore.inMemory().beginWrite()
        defer { transaction.abort() }
        let writer = try TextIndexWriter(index, in: transaction)
        for (place, text) in texts.enumerated() { try writer.insert(UInt64(place), text: text) }
        try writer.flush()
        let searcher = try TextSearcher(index, in: transaction)
        let found = try searcher.matches(query)
        #expect(try searcher.search(query, limit: 99).map(\.row).sorted() == found, "\(query)")
        #expect(try searcher.count(query) == UInt64(found.count), "\(query)")
        let matcher = QueryMatcher(query, analyzer)
        let without = texts.indices.filter { matcher.matches([TextSection(field: 0, text: texts[$0])]) }
        #expect(without.map { UInt64($0) } == found, "\(query)")
        return found
    }

    @Test("A required written word isn't found by a part of it")
    func demanded() throws {
        let texts = ["wi-fi foo", "fi only", "wi x fi foo", "foo", "can t"]
        func rows(_ text: String, matchesAll: Bool = false) throws -> [UInt64] {
            try self.rows(QuerySyntax(matchesAll: matchesAll).parse(text), texts, .words)
        }
        #expect(try rows("wi-fi") == [0, 1, 2], "any of its tokens, as of all words")
        #expect(try rows("+wi-fi") == [0] && rows("wi-fi AND foo") == [0])
        #expect(try rows("foo NOT wi-fi") == [2, 3] && rows("foo -(x wi-fi)") == [3])
        #expect(try rows("wi-fi", matchesAll: true) == [0] && rows("can't", matchesAll: true) == [4])
        #expect(try rows("wi-fi AND NOT bar") == [0])
        #expect(try rows("+& foo") == [0, 2, 3] && rows("foo AND (& NOT wi)") == [3])
        #expect(try rows("wi-fi NEAR/1 foo") == [0])
    }

    @Test("A required phrase scores as the phrase, and excluded words score nothing")
    func scores() throws {
        let searcher = try TreeStore.index(of: "wi-fi foo", "fi only", "wi x fi foo").searcher()
        let phrase = TextQuery.phrase("wi fi", slop: 0)
        #expect(
            try searcher.search(.all([.words("wi-fi"), .words("foo")]), limit: 9)
                == searcher.search(.all([phrase, .words("foo")]), limit: 9))
        #expect(
            try searcher.search(.without(.words("foo"), .words("wi-fi")), limit: 9)
                == searcher.search(.without(.words("foo"), phrase), limit: 9))
    }

    @Test("Texts in scripts without spaces are found only if they have all letters of a word")
    func unspaced() throws {
        let texts = ["東京", "北京。", "北京大学", "大学", "学京大北", "東京都"]
        func rows(_ text: String, _ syntax: QuerySyntax = QuerySyntax()) throws -> [UInt64] {
            try self.rows(syntax.parse(text), texts, Self.unicode)
        }
        #expect(try rows("東京") == [0, 5] && rows("+東京") == [0, 5])
        #expect(try rows("* NOT 東京") == [1, 2, 3, 4])
        #expect(try rows("東京~") == [0, 5])
        #expect(try rows("北京大学") == [2] && rows("北京大学 東京") == [0, 2, 5])
        #expect(try rows("京") == [0, 1, 2, 4, 5])
        let typing = QuerySyntax(isTyping: true)
        for text in ["東", "東京", "東京都", "北京大"] {
            #expect(try rows(text, typing) == rows(text + " ", typing), "\(text)")
        }
        let matcher = QueryMatcher(.words("東京"), Self.unicode)
        let text = "北京。東京都"
        let marked = matcher.highlights(in: TextSection(field: 0, text: text)).map { text[$0] }
        #expect(marked == ["東京"])
    }
}
