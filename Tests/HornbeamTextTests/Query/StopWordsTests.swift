// SPDX-License-Identifier: Apache-2.0
// Words that are left out of a query: from which of its parts, and when they stay.

import Testing

@testable import HornbeamText

@Suite("Stop words")
struct StopWordsTests {
    private let list = StopWordList(["the", "of", "and", "don't", "für"])

    private func rest(_ query: TextQuery) -> TextQuery { query.leavingOut(list) }

    @Test(
        "Are cut out of words, whatever their case and what is between them",
        arguments: [
            ("the history of engines", "  history   engines"), ("The-Fox", " -Fox"), ("engines", "engines"),
            ("don't panic", "  panic"), ("DON’T panic", "  panic"), ("theory of then", "theory   then"),
            ("C++ and 3.14", "C++   3.14"), ("für Elise", "  Elise"), ("fur Elise", "fur Elise"), ("& !", "& !"),
            ("設備清單 of", "設備清單  "), ("", ""),
        ])
    func words(_ text: String, _ expected: String) {
        #expect(rest(.words(text)) == .words(expected))
    }

    @Test("Stay where nothing else remains", arguments: ["the", "of the", "The And OF", "don't"])
    func alone(_ text: String) {
        #expect(rest(.words(text)) == .words(text))
        #expect(rest(.any([.words(text), .words("of")])) == .any([.words(text), .words("of")]))
        #expect(rest(.boost(2, .field([0], .words(text)))) == .boost(2, .field([0], .words(text))))
    }

    @Test("Are left out of lists in which something else remains, at any depth")
    func lists() {
        #expect(rest(.all([.words("the"), .words("fox")])) == .all([.words("fox")]))
        #expect(
            rest(.any([.all([.words("of"), .words("the")]), .boost(2, .words("the fox"))]))
                == .any([.boost(2, .words("  fox"))]))
        #expect(rest(.all([.words("the"), .phrase("the of", slop: 0)])) == .all([.phrase("the of", slop: 0)]))
        #expect(rest(.all([])) == .all([]), "what asks for nothing goes on asking for nothing")
    }

    @Test("Stay in all that means them as they stand")
    func others() {
        let queries: [TextQuery] = [
            .phrase("the of fox", slop: 1), .near([.words("the"), .words("fox")], within: 3), .prefix("the"),
            .wildcard("the*"), .fuzzy("the", distance: 1, prefixLength: 1), .everything,
            .without(.words("fox"), .words("the of")),
        ]
        for query in queries { #expect(rest(query) == query) }
        #expect(rest(.without(.words("the fox"), .words("the"))) == .without(.words("  fox"), .words("the")))
    }

    @Test("Of several words each is one")
    func several() {
        let list = StopWordList(["as well as", "ÜBER"])
        #expect(TextQuery.words("well über fox").leavingOut(list) == .words("    fox"))
    }
}
