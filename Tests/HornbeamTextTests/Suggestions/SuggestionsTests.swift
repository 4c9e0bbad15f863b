// SPDX-License-Identifier: Apache-2.0
// Completions, corrections and characteristic words, from an index of a few texts.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Suggestions")
struct SuggestionsTests {
    private func searcher() throws -> TextSearcher {
        try TreeStore.index(
            of: "database data swift", "database index", "databank data", "data base", "swift swifts index tree",
            "tree tree tree index rare"
        ).searcher()
    }

    @Test("A word is completed to the term of most documents")
    func completions() throws {
        let searcher = try searcher()
        #expect(try searcher.completions(of: "full DATA", limit: 3).map(\.term) == ["data", "database", "databank"])
        #expect(try searcher.completions(of: "da", limit: 1).map(\.documentFrequency) == [3])
        #expect(try searcher.completions(of: "swifts", limit: 5).map(\.term) == ["swifts"])
        for text in ["", "zz", " ?"] { #expect(try searcher.completions(of: text, limit: 5).isEmpty) }
        #expect(try searcher.completions(of: "da", limit: 0).isEmpty)
        #expect(try TreeStore.inMemory().searcher().completions(of: "a", limit: 5).isEmpty)
    }

    @Test("The most common of many words are found, with any limit", arguments: [1, 7, 64, 900, 5_000, .max])
    func manyCompletions(limit: Int) throws {
        let store = try TreeStore.inMemory()
        // Word n is in n % 5 + 1 documents.
        try store.write { writer in
            for document in 0..<5 {
                let words = (0..<1_500).filter { $0 % 5 >= document }.map { "x\($0)" }
                try writer.insert(UInt64(document), text: words.joined(separator: " "))
            }
        }
        let all = (0..<1_500).map { (count: $0 % 5 + 1, word: "x\($0)") }
            .sorted { $0.count != $1.count ? $0.count > $1.count : $0.word < $1.word }
        let found = try store.searcher().completions(of: "x", limit: limit)
        #expect(found.map(\.term) == all.prefix(limit).map(\.word))
    }

    @Test("Long words are completed too, in any order", arguments: [199, 200, 201, 230])
    func longCompletions(size: Int) throws {
        let head = String(repeating: "x", count: size)
        // Terms longer than 200 bytes are ordered by their hashes in the index.
        let endings = (0..<40).map { number in
            String(repeating: ["a", "b", "y", "z"][number % 4], count: 1 + number / 4)
        }
        let other = (0..<40).map { number in String(head.dropLast()) + "a\(number)" }
        let store = try TreeStore.index(of: (endings.map { head + $0 } + other + ["xa", "xy"]).joined(separator: " "))
        let found = try store.searcher().completions(of: head, limit: 100).map(\.term)
        #expect(found == endings.map { head + $0 }.sorted())
    }

    @Test("A word is corrected to the nearest term, and to the most common of equally near ones")
    func corrections() throws {
        let searcher = try searcher()
        func corrections(_ word: String) throws -> [String] {
            try searcher.corrections(of: Array(word.utf8), limit: 3).map(\.term)
        }
        #expect(try corrections("databsae") == ["database"])
        #expect(try corrections("indxe") == ["index"])
        #expect(try corrections("swiftt") == ["swift", "swifts"])
        #expect(try corrections("xree") == ["tree"], "another first letter if nothing else is near")
        #expect(try corrections("zzzzzz") == [] && corrections("d") == [])
        #expect(try searcher.corrections(of: Array("data".utf8), limit: 0).isEmpty)
    }

    @Test("Unknown words of a query are corrected, but not prefixes; the rest stays as it is")
    func queries() throws {
        let searcher = try searcher()
        let query = TextQuery.any([.words("the Swfit, data!"), .phrase("databsae index", slop: 0), .prefix("indxe")])
        #expect(
            try searcher.corrected(query)
                == .any([.words("the swift, data!"), .phrase("database index", slop: 0), .prefix("index")]))
        #expect(try searcher.corrected(.words("data unheardof")) == nil)
        // Only the last word may be unfinished during typing.
        #expect(try searcher.corrected(.prefix("dat")) == nil)
        #expect(try searcher.corrected(.prefix("swfit dat")) == .prefix("swift dat"))
        #expect(try searcher.corrected(.prefix("swfit")) == .prefix("swift"))
        #expect(try searcher.corrected(.without(.words("data"), .words("swfit"))) == nil)
    }

    @Test("Words that are frequent in a text and rare in others describe it best")
    func characteristicWords() throws {
        let searcher = try searcher()
        let words = try searcher.characteristicWords(of: ["Tree, tree and TREE; index", "rare"], limit: 5)
        #expect(words == ["Tree", "index"], "no other document has “rare”, none “and”")
        #expect(try searcher.characteristicWords(of: ["tree index"], limit: 1) == ["tree"])
        #expect(try searcher.characteristicWords(of: [], limit: 5).isEmpty)
    }

    @Test("A query for similar documents requires the terms of the text and no others")
    func alike() throws {
        func query(_ analyzer: Analyzer, _ texts: String...) throws -> TextQuery {
            try TestAnalyzer.$current.withValue(analyzer) {
                // All terms are in two documents.
                let store = try TreeStore.index(of: texts.joined(separator: "\n"), texts.joined(separator: "\n"))
                let query = try store.searcher().query(like: texts, limit: 9)
                #expect(try store.searcher().matches(query) == [1, 2])
                return query
            }
        }
        #expect(try query(.words, "tree index") == .words("index tree"))
        let unicode = Analyzer(.unicode(keepsAccents: false, stemming: nil))
        let pairs = try query(unicode, "東京都", "swift")
        #expect(pairs == .words("swift 京都 東京"), "not 都, which would be the beginning of any pair")
        let trigrams = try query(Analyzer(.trigrams(keepsAccents: false)), "data")
        #expect(trigrams == .any([.words("ata"), .words("dat")]))
        let stems = Analyzer(.unicode(keepsAccents: false, stemming: .english))
        #expect(try query(stems, "Running rivers") == .words("rivers Running"))
    }
}
