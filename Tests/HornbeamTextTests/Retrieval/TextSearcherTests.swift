// SPDX-License-Identifier: Apache-2.0
// Queries of an index: results, ties, filters, vocabulary, snapshots.

import HornbeamPages
import HornbeamTestSupport
import HornbeamText
import HornbeamTree
import Testing

@Suite("Search")
struct TextSearcherTests {
    @Test("Without an index, words or room for results there are no results")
    func nothing() throws {
        var searcher = try TreeStore.inMemory().searcher()
        #expect(try searcher.search("a", limit: 10) == [])
        #expect(try searcher.matches("a") == [])
        #expect(try searcher.count("a b") == 0)
        #expect(try searcher.termCount() == 0)
        #expect(searcher.statistics.documentCount == 0)
        searcher = try TreeStore.index(of: "a b", "b c").searcher()
        for query in ["", " -- ", "unknown", "\u{301}"] {
            #expect(try searcher.search(query, limit: 10) == [])
            #expect(try searcher.count(query) == 0)
        }
        #expect(try searcher.search("a", limit: 0) == [])
        #expect(try searcher.search("a", limit: -1) == [])
        #expect(try searcher.documentFrequency(of: "") == 0)
    }

    @Test("Text without a token is a prefix of no term")
    func emptyPrefix() throws {
        let searcher = try TreeStore.index(of: "rock and roll", "stone", "rock").searcher()
        for text in ["", "!", " "] {
            #expect(try searcher.count(.prefix(text)) == 0, "\(text)")
            // Beside another word it isn't required.
            #expect(try searcher.matches(.near([.words("rock"), .prefix(text)], within: 9)) == [1, 3], "\(text)")
        }
        let typing = QuerySyntax(isTyping: true)
        #expect(try searcher.matches(typing.parse(lenient: "rock &")) == [1, 3])
        #expect(try searcher.matches(typing.parse(lenient: "\"")) == [])
        #expect(try searcher.matches(typing.parse(lenient: "rock \"")) == [1, 3])
    }

    @Test("A word without a token isn't required, even if all words are")
    func voidWords() throws {
        let searcher = try TreeStore.index(of: "rock and roll", "rock", "roll a rock").searcher()
        let all = QuerySyntax(matchesAll: true)
        #expect(try searcher.matches(all.parse("rock & roll")) == [1, 3])
        #expect(try searcher.matches(all.parse("rock AND (& OR !)")) == [1, 2, 3])
        #expect(try searcher.matches(all.parse("& !")) == [])
        #expect(try searcher.matches(.words("&")) == [])
        #expect(try searcher.matches(.all([.words("rock"), .any([])])) == [], "nothing is asked for in so many words")
        let query = TextQuery.all([.words("rock"), .words("roll")])
        #expect(try searcher.search(all.parse("rock & roll"), limit: 9) == searcher.search(query, limit: 9))
        let typing = QuerySyntax(matchesAll: true, isTyping: true)
        #expect(try searcher.matches(typing.parse(lenient: "roll &")) == [1, 3])
    }

    @Test("Words shorter than a trigram are left out")
    func voidTrigrams() throws {
        let index = TextIndex(prefix: "t:", analyzer: Analyzer(.trigrams(keepsAccents: false)))
        let transaction = try TreeStore.inMemory().beginWrite()
        let writer = try TextIndexWriter(index, in: transaction)
        try writer.insert(1, text: "A database")
        try writer.insert(2, text: "A tree")
        try writer.flush()
        let query = try QuerySyntax(matchesAll: true).parse("a database")
        #expect(try TextSearcher(index, in: transaction).matches(query) == [1])
        let text = TextSection(field: 0, text: "A database")
        #expect(QueryMatcher(query, index.analyzer).matches([text]))
        transaction.abort()
    }

    @Test("A phrase with an unknown word at any position adds nothing beside others")
    func unknownPhrases() throws {
        let searcher = try TreeStore.index(of: "a b", "b c", "c").searcher()
        let plain = try searcher.search(.near([.words("a"), .words("b")], within: 2), limit: 9)
        for phrase in ["c zz", "zz c"] {
            let query = TextQuery.near([.any([.words("a"), .phrase(phrase, slop: 0)]), .words("b")], within: 2)
            #expect(try searcher.search(query, limit: 9) == plain, "\(phrase)")
        }
    }

    @Test("Unknown words add nothing")
    func unknownWords() throws {
        let store = try TreeStore.index(of: "a b", "b c", "c")
        let searcher = try store.searcher()
        #expect(try searcher.search("zz a zz b", limit: 10) == searcher.search("a b", limit: 10))
    }

    @Test("Equal scores come by document number, or as the caller orders them")
    func ties() throws {
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for docno in [900, 5, 70_000, 12, 13, 5000] as [UInt64] { try writer.insert(docno, text: "same words") }
            try writer.insert(1, text: "same same words")
        }
        let searcher = try store.searcher()
        let ascending = try searcher.search("same", limit: 4)
        #expect(ascending.map(\.row) == [1, 5, 12, 13])
        let descending = try searcher.search("same", limit: 4) { $0 > $1 }
        #expect(descending.map(\.row) == [1, 70_000, 5000, 900])
        let all = try searcher.search("same", limit: 50) { $0 > $1 }
        #expect(all.map(\.row) == [1, 70_000, 5000, 900, 13, 12, 5])
    }

    @Test("A filter gives the best of the documents it accepts", arguments: SeededGenerator.seeds(3))
    func filters(seed: UInt64) throws {
        var generator = TextGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        try store.write { writer in
            for _ in 0..<500 {
                let docno = UInt64.random(in: 0..<40_000, using: &generator.random)
                guard model[docno] == nil else { continue }
                let text = generator.text(upTo: 20)
                model[docno] = text
                try writer.insert(docno, text: text)
            }
        }
        for size in [0, 1, 3, 40, 5000, 40_000] {
            var allowed: Set<UInt64> = []
            for _ in 0..<size { allowed.insert(.random(in: 0..<41_000, using: &generator.random)) }
            let sorted = allowed.sorted()
            let query = generator.text(upTo: 4) + " w39"
            let expected = model.search(query).filter { allowed.contains($0.row) }
            let note: Comment = "\(size) allowed, HORNBEAM_SEED=\(seed)"
            let searcher = try store.searcher()
            for limit in [1, 10, 1000] {
                let best = Array(expected.prefix(limit))
                #expect(try searcher.search(query, limit: limit, filter: .documents(sorted)) == best, note)
                let predicate = TextFilter.matching { allowed.contains($0) }
                #expect(try searcher.search(query, limit: limit, filter: predicate) == best, note)
            }
            let docnos = expected.map(\.row).sorted()
            #expect(try searcher.matches(query, filter: .documents(sorted)) == docnos, note)
            #expect(try searcher.matches(query, filter: .matching { allowed.contains($0) }) == docnos, note)
            #expect(try searcher.count(query, filter: .documents(sorted)) == UInt64(docnos.count), note)
        }
    }

    @Test("A filter's function is called for few documents, and its error ends the search")
    func filterFunction() throws {
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for docno in UInt64(0)..<2000 {
                // Each document scores less than the one before: after the first ten, none can be among the best.
                try writer.insert(docno, text: "word" + String(repeating: " filler", count: Int(docno / 10)))
            }
        }
        let searcher = try store.searcher()
        var asked = 0
        let filter = TextFilter.matching { (_) throws(StorageError) in
            asked += 1
            return true
        }
        #expect(try searcher.search("word", limit: 10, filter: filter).map(\.row) == Array(0..<10))
        #expect(asked == 10)
        #expect(throws: StorageError.invalid("no")) {
            try searcher.search(
                "word", limit: 10, filter: .matching { (_) throws(StorageError) in throw .invalid("no") })
        }
    }

    @Test("The vocabulary comes in byte order and stops on request")
    func vocabulary() throws {
        let store = try TreeStore.index(of: "b a 中 é", "b B", "z 10")
        let searcher = try store.searcher()
        var terms: [String] = []
        try searcher.forEachTerm { (term, _, _) throws(StorageError) in
            terms.append(term)
            return terms.count < 5
        }
        #expect(terms == ["10", "a", "b", "z", "é"])
        #expect(try searcher.termCount() == 6)
        #expect(try searcher.documentFrequency(of: "b") == 2)
        #expect(try searcher.documentFrequency(of: "B") == 0, "a term is what the analyzer makes of a word")
    }

    @Test("A reader keeps its snapshot while the index changes")
    func snapshot() throws {
        let store = try TreeStore.index(of: "one two", "two")
        let transaction = try store.beginRead()
        let searcher = try TextSearcher(testIndex, in: transaction)
        let before = try searcher.search("two", limit: 9)
        try store.write { try $0.remove(2, text: "two") }
        #expect(try searcher.search("two", limit: 9) == before)
        #expect(try store.searcher().search("two", limit: 9).map(\.row) == [1])
    }
}
