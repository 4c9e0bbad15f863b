// SPDX-License-Identifier: Apache-2.0
// Words that are left out of a query: the parts in which they are left out, and when they stay.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Stop words")
struct StopWordsTests {
    private let list = StopWordList(["the", "of", "and", "don't", "für"])

    private func rest(_ query: TextQuery) -> TextQuery { query.leavingOut(list) }

    @Test(
        "Are removed from words, in any case and with any separators",
        arguments: [
            ("the history of engines", "  history   engines"), ("The-Fox", " -Fox"), ("engines", "engines"),
            ("don't panic", "  panic"), ("DON’T panic", "  panic"), ("theory of then", "theory   then"),
            ("C++ and 3.14", "C++   3.14"), ("für Elise", "  Elise"), ("fur Elise", "fur Elise"), ("& !", "& !"),
            ("設備清單 of", "設備清單  "), ("", ""),
        ])
    func words(_ text: String, _ expected: String) {
        #expect(rest(.words(text)) == .words(expected))
    }

    @Test("Stay if nothing else remains", arguments: ["the", "of the", "The And OF", "don't"])
    func alone(_ text: String) {
        #expect(rest(.words(text)) == .words(text))
        #expect(rest(.any([.words(text), .words("of")])) == .any([.words(text), .words("of")]))
        #expect(rest(.boost(2, .field([0], .words(text)))) == .boost(2, .field([0], .words(text))))
    }

    @Test("Are left out of lists with other words, at any depth")
    func lists() {
        #expect(rest(.all([.words("the"), .words("fox")])) == .all([.words("fox")]))
        #expect(
            rest(.any([.all([.words("of"), .words("the")]), .boost(2, .words("the fox"))]))
                == .any([.boost(2, .words("  fox"))]))
        #expect(rest(.all([.words("the"), .phrase("the of", slop: 0)])) == .all([.phrase("the of", slop: 0)]))
        #expect(rest(.all([])) == .all([]), "what asks for nothing goes on asking for nothing")
    }

    @Test("Stay in forms that match words literally")
    func others() {
        let queries: [TextQuery] = [
            .phrase("the of fox", slop: 1), .near([.words("the"), .words("fox")], within: 3), .prefix("the"),
            .wildcard("the*"), .fuzzy("the", distance: 1, prefixLength: 1), .everything,
            .without(.words("fox"), .words("the of")),
        ]
        for query in queries { #expect(rest(query) == query) }
        #expect(rest(.without(.words("the fox"), .words("the"))) == .without(.words("  fox"), .words("the")))
    }

    @Test("Excluded words are excluded even if only stop words are beside them")
    func exclusions() {
        let (fox, spam, ham): (TextQuery, TextQuery, TextQuery) = (.words("fox"), .words("spam"), .words("ham"))
        func without(_ query: TextQuery) -> TextQuery { .without(.everything, query) }
        #expect(rest(.all([fox, .without(.words("the"), spam)])) == .all([fox, without(spam)]))
        #expect(
            rest(.all([fox, .without(.without(.words("the"), spam), ham)]))
                == .all([fox, without(.any([spam, ham]))]))
        #expect(rest(.all([fox, .all([.words("of"), .without(.words("the"), spam)])])) == .all([fox, without(spam)]))
        #expect(
            rest(.all([fox, .boost(2, .field([1], .without(.words("the"), spam)))]))
                == .all([fox, without(.boost(2, .field([1], spam)))]))
        // Matching "of" would be enough.
        #expect(rest(.all([fox, .any([.words("of"), .without(.words("the"), spam)])])) == .all([fox]))
        let either = TextQuery.any([.without(.words("of"), ham), .without(.words("the"), spam)])
        #expect(rest(.all([fox, either])) == .all([fox, without(.all([ham, spam]))]))
        #expect(rest(.any([fox, .without(.words("the"), spam)])) == .any([fox]))
        #expect(rest(.without(.words("the"), spam)) == .without(.words("the"), spam))
    }

    @Test("Required tokens of one written word are left out together or stay together")
    func writtenWords() {
        let art = TextQuery.words("state-of-the-art")
        #expect(rest(art) == .words("state- - -art"))
        #expect(rest(.all([art, .words("fox")])) == .all([art, .words("fox")]))
        #expect(
            rest(.all([.words("the of-the state-of fox"), .words("of-the")])) == .all([.words("    state-of fox")]))
        #expect(
            rest(.all([.any([.everything, art]), .words("fox")]))
                == .all([
                    .any([.everything, .words("state- - -art")]), .words("fox"),
                ]))
    }

    @Test("If all required words are left out, the optional ones become required")
    func demands() {
        let optional = TextQuery.any([.everything, .words("fox")])
        #expect(rest(.all([.words("the"), optional])) == .all([.words("fox")]))
        #expect(
            rest(.all([.words("the"), .any([.everything, .words("the fox"), .prefix("e")])]))
                == .all([.any([.words("  fox"), .prefix("e")])]))
        #expect(rest(.all([.words("?"), .words("the"), optional])) == .all([.words("?"), .words("fox")]))
        #expect(
            rest(.all([.without(.words("the"), .words("x")), optional]))
                == .all([.without(.everything, .words("x")), .words("fox")]))
        #expect(rest(.all([.words("the"), .words("dog"), optional])) == .all([.words("dog"), optional]))
        let neither = TextQuery.all([.words("the"), .any([.everything, .words("of")])])
        #expect(rest(neither) == neither && rest(optional) == optional)
    }

    @Test("Clauses without terms don't count as remaining")
    func void() {
        for query: TextQuery in [
            .all([.words("the of"), .words("?")]), .any([.words("&"), .words("the")]),
            .all([.any([.words("—")]), .phrase("!", slop: 0), .words("and")]),
        ] { #expect(rest(query) == query) }
        #expect(rest(.all([.words("?"), .words("the"), .words("fox")])) == .all([.words("?"), .words("fox")]))
        #expect(rest(.all([.words("?")])) == .all([.words("?")]))
    }

    @Test("Leaving out words that every text has changes nothing", arguments: SeededGenerator.seeds(3))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let words = ["a", "b", "c", "d"]
        // This includes a query without terms, which excludes nothing.
        let exclusions = words + ["?"]
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for row in 0..<UInt64(64) {
                let own = words.indices.filter { row >> UInt64($0) & 1 == 1 }.map { words[$0] }
                try writer.insert(row, text: "the of and " + own.joined(separator: " "))
            }
        }
        let searcher = try store.searcher()
        func query(_ depth: Int) -> TextQuery {
            switch random.below(depth < 4 ? 8 : 4) {
            case 0: .words(["the", "of", "and the"][random.below(3)])
            case 1: .words(["?", "& the", "!"][random.below(3)])
            case 2, 3: .words(words[random.below(4)])
            case 4: .without(query(depth + 1), .words(exclusions[random.below(5)]))
            case 5: .field([0], query(depth + 1))
            case 6:
                .any(["the", "of"].map { .without(.words($0), .words(exclusions[random.below(5)])) })
            default: .all((0..<2 + random.below(2)).map { _ in query(depth + 1) })
            }
        }
        for _ in 0..<300 {
            let query = query(0)
            let rest = rest(query)
            let expected = try searcher.matches(query)
            #expect(try searcher.matches(rest) == expected, "\(query) → \(rest), HORNBEAM_SEED=\(seed)")
        }
    }

    @Test("Stop words given as one text are separate stop words")
    func several() {
        let list = StopWordList(["as well as", "ÜBER"])
        #expect(TextQuery.words("well über fox").leavingOut(list) == .words("    fox"))
    }
}
