// SPDX-License-Identifier: Apache-2.0
// Searches that need no windows give the results of the model and of the windows to the last bit: conjunctions,
// phrases, words near each other, few postings, prefixes and patterns; in plain arrays, stored and pending, with
// filters and on later pages.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Searches without windows")
struct DirectSearchTests {
    typealias Generator = RetrievalTests.Generator

    /// Returns the answer of a direct search, or nil if the query has none.
    static func direct(
        _ view: IndexView, _ query: TextQuery, limit: Int, filter: TextFilter = .all, after: TextHit? = nil,
        tieBreak: TextTieBreak? = nil
    ) throws -> [TextHit]? {
        var best = TopK(limit: limit, tieBreak: tieBreak, after: after)
        guard try DirectSearch(view, .words).rank(query.resolved(.words), &best, filter) else { return nil }
        return try best.sorted()
    }

    /// Returns a query that has a direct search, unless its words are too frequent.
    static func query(_ generator: inout Generator) -> TextQuery {
        func one() -> TextQuery { .words(generator.word()) }
        func phrase() -> TextQuery {
            .phrase(generator.text(1...4), slop: [0, 0, 0, 1, 3][generator.random.below(5)])
        }
        func near() -> TextQuery {
            let count = [2, 2, 2, 3, 5][generator.random.below(5)]
            let distance = [generator.random.below(8), 40, .max][[0, 0, 0, 1, 2][generator.random.below(5)]]
            return .near((0..<count).map { _ in one() }, within: distance)
        }
        switch generator.random.below(8) {
        case 0: return .all((0..<Int.random(in: 1...4, using: &generator.random)).map { _ in one() })
        case 1: return phrase()
        case 2: return .all([one(), phrase(), .all([one(), phrase()])])
        case 3: return .prefix(String(generator.word().prefix(2)))
        case 4: return .wildcard(generator.pattern())
        case 5: return near()
        case 6: return .all([one(), near(), phrase()])
        default: return .all([phrase(), .words("wort wort")])
        }
    }

    @Test("They agree with the model, with and without a limit", arguments: SeededGenerator.seeds(3))
    func model(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        var answered = 0
        for _ in 0..<6 {
            let documents = generator.documents(Int.random(in: 1...40, using: &generator.random), fields: 3)
            let view = MemoryView(documents, fieldCount: 3)
            let model = NaiveQuery(documents.compactMap { $0 })
            for round in 0..<20 {
                let query = round % 4 == 0 ? generator.query() : Self.query(&generator)
                let note: Comment = "\(query), HORNBEAM_SEED=\(seed)"
                let expected = model.search(query)
                let all = try Self.direct(view, query, limit: .max)
                if all != nil { answered += 1 }
                #expect(all == nil || all == expected, note)
                let limit = Int.random(in: 1...5, using: &generator.random)
                let best = try Self.direct(view, query, limit: limit)
                #expect(best == nil || best == Array(expected.prefix(limit)), note)
                guard let after = expected.randomElement(using: &generator.random),
                    let place = expected.firstIndex(of: after),
                    let page = try Self.direct(view, query, limit: limit, after: after)
                else { continue }
                #expect(page == Array(expected[(place + 1)...].prefix(limit)), note)
            }
        }
        #expect(answered > 60)
    }

    @Test("A phrase of very many words is found, one by one or in windows", arguments: [200, 300, 20_000])
    func longPhrase(words: Int) throws {
        let text = (0..<words).map { "w\($0)" }.joined(separator: " ")
        let store = try TreeStore.index(of: text, "w1 w0 w3", String(text.dropFirst(3)))
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let view = try StoredView(#require(try TextSnapshot(testIndex, in: transaction)))
        let phrase = TextQuery.phrase(text, slop: 0)
        #expect(try store.searcher().matches(phrase) == [1])
        let hits = try store.searcher().search(phrase, limit: 3)
        #expect(hits.map(\.row) == [1])
        let direct = try Self.direct(view, phrase, limit: 3)
        #expect(words > Conjunction.sourceLimit ? direct == nil : direct == hits)
    }

    @Test("Skipped blocks hold no result", arguments: SeededGenerator.seeds(2))
    func skipping(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let documents = generator.documents(9000, fields: 1)
        let view = MemoryView(documents, fieldCount: 1)
        let rows = documents.compactMap { $0?.row }
        var answered = 0
        for round in 0..<30 {
            let query = Self.query(&generator)
            let note: Comment = "\(query), HORNBEAM_SEED=\(seed)"
            let all = try RetrievalTests.search(view, query)
            let allowed = Set(rows.filter { _ in generator.random.oneIn([1, 2, 40][round % 3]) })
            let some = all.filter { allowed.contains($0.row) }
            for limit in [1, 10, 100] {
                guard let best = try Self.direct(view, query, limit: limit) else { continue }
                answered += 1
                #expect(best == Array(all.prefix(limit)), note)
                let half = Set(rows.filter { allowed.contains($0) || $0 % 2 == 0 }).sorted()
                let filters = [
                    TextFilter.documents(allowed.sorted()), .matching { allowed.contains($0) },
                    .documents(half, passing: { allowed.contains($0) }),
                ]
                for filter in filters {
                    let found = try Self.direct(view, query, limit: limit, filter: filter)
                    #expect(found == nil || found == Array(some.prefix(limit)), note)
                }
                let backwards = try Self.direct(view, query, limit: limit) { $0 > $1 }
                let expected = all.sorted { $0.score != $1.score ? $0.score > $1.score : $0.row > $1.row }
                #expect(backwards == Array(expected.prefix(limit)), note)
            }
            var found: [UInt64] = []
            let direct = DirectSearch(view, .words)
            let resolved = query.resolved(.words)
            if try direct.forEach(resolved, .all, { (row) throws(StorageError) in found.append(row) }) {
                #expect(found.sorted() == all.map(\.row).sorted(), note)
                #expect(try direct.count(resolved, .all) == UInt64(all.count), note)
                let filter = TextFilter.documents(allowed.sorted())
                found = []
                _ = try direct.forEach(resolved, filter) { (row) throws(StorageError) in found.append(row) }
                #expect(found.sorted() == some.map(\.row).sorted(), note)
                let count = try direct.count(resolved, filter)
                #expect(count == nil || count == UInt64(some.count), note)
            }
        }
        #expect(answered > 60)
    }

    @Test("They give the same with pending documents", arguments: SeededGenerator.seeds(2))
    func pending(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let store = try TreeStore.inMemory()
        var documents = generator.documents(700, fields: 2).compactMap { $0 }
        func text(_ document: TestDocument) -> DocumentText {
            DocumentText(fields: document.fields.map { $0.map { $0.joined(separator: " ") } })
        }
        // Some are folded and the last ones stay records; some are changed, some removed.
        let limits = PendingLimits(pending: 3000, slice: 1000)
        for start in stride(from: 0, to: documents.count, by: 50) {
            try store.write(limits: limits) { writer in
                for document in documents[start..<min(start + 50, documents.count)] {
                    try writer.insert(document.row, text(document))
                }
            }
        }
        let others = generator.documents(60, fields: 2).compactMap { $0 }
        try store.write(limits: limits) { writer in
            for (place, other) in others.enumerated() where place * 9 < documents.count {
                let changed = TestDocument(row: documents[place * 9].row, fields: other.fields)
                try writer.update(changed.row, from: text(documents[place * 9]), to: text(changed))
                documents[place * 9] = changed
            }
            try writer.remove(documents[5].row, text(documents[5]))
        }
        documents.remove(at: 5)
        let searcher = try store.searcher()
        let view = MemoryView(documents, fieldCount: 2)
        for round in 0..<60 {
            let query = round % 5 == 0 ? TextQuery.words(generator.text(1...4)) : Self.query(&generator)
            let note: Comment = "\(query), HORNBEAM_SEED=\(seed)"
            // The answer of the windows over plain arrays, which other suites compare with the model.
            let expected = try RetrievalTests.search(view, query)
            #expect(try searcher.search(query, limit: 5) == Array(expected.prefix(5)), note)
            #expect(try searcher.search(query, limit: .max) == expected, note)
            #expect(try searcher.matches(query) == expected.map(\.row).sorted(), note)
            #expect(try searcher.count(query) == UInt64(expected.count), note)
        }
    }
}

@Suite("Without positions")
struct PositionlessTests {
    @Test("A phrase of one word is a word, however common it is", arguments: [20, 400] as [UInt64])
    func oneWord(count: UInt64) throws {
        let index = TextIndex(prefix: "t:Article:search:", storesPositions: false)
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(index, in: transaction)
        for row in 0..<count { try writer.insert(row, text: "word other\(row)") }
        try writer.flush()
        try transaction.commit()
        let searcher = try TextSearcher(index, in: store.beginRead())
        let phrase = TextQuery.phrase("word", slop: 0)
        #expect(try searcher.search(phrase, limit: 5) == searcher.search(.words("word"), limit: 5))
        #expect(try searcher.search(phrase, limit: 5, filter: .documents([3])).map(\.row) == [3])
        #expect(try searcher.count(phrase) == count)
        #expect(try searcher.explain(phrase, row: 3) != nil)
        #expect(throws: StorageError.self) { try searcher.search(.phrase("word other1", slop: 0), limit: 5) }
    }
}

@Suite("Single letters")
struct LoneLetterTests {
    private static let analyzer = Analyzer(.unicode(keepsAccents: false, stemming: nil))
    private static let index = TextIndex(prefix: "t:Article:search:", analyzer: analyzer)
    private static let texts = ["東京都 foo", "京都 foo", "foo 京", "foo 京 bar", "foo 京都 bar", "東 京", "北京", "bar"]

    private static func searcher() throws -> TextSearcher {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(index, in: transaction)
        for (place, text) in texts.enumerated() { try writer.insert(UInt64(place + 1), text: text) }
        try writer.flush()
        try transaction.commit()
        return try TextSearcher(index, in: store.beginRead())
    }

    @Test("A letter of a script without spaces is found at every position")
    func words() throws {
        let searcher = try Self.searcher()
        func matches(_ query: TextQuery) throws -> [UInt64] {
            let found = try searcher.matches(query)
            #expect(try searcher.search(query, limit: 100).map(\.row).sorted() == found, "\(query)")
            #expect(try searcher.count(query) == UInt64(found.count), "\(query)")
            for row in found { #expect(try searcher.explain(query, row: row) != nil, "\(query)") }
            return found
        }
        #expect(try matches(.words("京")) == [1, 2, 3, 4, 5, 6, 7])
        #expect(try matches(.all([.words("京"), .words("bar")])) == [4, 5])
        #expect(try matches(.phrase("京", slop: 0)) == [1, 2, 3, 4, 5, 6, 7])
        #expect(try matches(.phrase("foo 京", slop: 0)) == [3, 4, 5])
        #expect(try matches(.phrase("foo 京 bar", slop: 0)) == [4], "before another word it is a run of its own")
        #expect(try matches(.phrase("京 foo", slop: 0)) == [], "the run of 京都 doesn't end with it")
        #expect(try matches(.phrase("都 foo", slop: 0)) == [1, 2])
        #expect(try matches(.prefix("foo 京")) == [3, 4, 5], "a phrase is completed")
        #expect(try matches(.prefix("foo 京都")) == [5])
        #expect(try matches(.near([.words("京"), .words("bar")], within: 2)) == [4, 5])
        #expect(try matches(.phrase("東京", slop: 0)) == [1])
        #expect(try matches(.words("bar 京")) == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test("Only a single letter needs more than its pairs")
    func tokens() {
        func open(_ text: String) -> [Bool] { Self.analyzer.queryTokens(of: text).map(\.isOpen) }
        #expect(open("京") == [true])
        #expect(open("東京") == [false], "the letter at the end is part of the pair")
        #expect(open("東京都 京 a") == [false, false, true, false])
        #expect(open("ab 京") == [false, true])
        #expect(Self.analyzer.phraseParts(of: "京 東").map(\.isOpen) == [false, true])
        #expect(Analyzer.words.queryTokens(of: "京").map(\.isOpen) == [false])
    }
}
