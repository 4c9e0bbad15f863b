// SPDX-License-Identifier: Apache-2.0
// Queries of words have an evaluation of their own. It must give, to the last bit, the results of the general one,
// which other suites compare with the model: for rare and common words, any limit, filter, page and tie break, and
// for an index that is stored, pending, changed and partly deleted.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Ranking of words")
struct TermRankingTests {
    /// Texts with words that occur in every second document, and others that occur in one of thousands.
    struct Generator {
        var random: SeededGenerator
        static let wordCount = 900

        init(seed: UInt64) { random = SeededGenerator(seed: seed) }

        mutating func word() -> String {
            let part = Double.random(in: 0..<1, using: &random)
            return "w\(Int(part * part * part * part * Double(Self.wordCount)))"
        }

        mutating func text() -> String {
            // Sometimes one word many times.
            let again = random.oneIn(5) ? word() : nil
            return (0..<Int.random(in: 0...18, using: &random))
                .map { _ in again != nil && random.oneIn(3) ? again ?? "" : word() }.joined(separator: " ")
        }

        mutating func query() -> TextQuery {
            let words = (0..<Int.random(in: 1...5, using: &random)).map { _ in
                random.oneIn(2) ? word() : "w\(random.below(Self.wordCount * 5 / 4))"
            }
            switch random.below(6) {
            case 0: return .any([.words(words[0]), .boost(2.5, .words(words.joined(separator: " ")))])
            case 1: return .boost(0.25, .words(words.joined(separator: " ")))
            case 2: return .words((words + words).joined(separator: " "))
            default: return .words(words.joined(separator: " "))
            }
        }

        mutating func documents(_ count: Int, ascends: Bool) -> [TestDocument?] {
            var rows = (0..<count).map { UInt64($0) * 3 + 7 }
            if !ascends { rows.shuffle(using: &random) }
            return rows.map { row in
                if random.oneIn(12) { return nil }
                return TestDocument(row: row, fields: [[NaiveIndex.tokens(of: text())]])
            }
        }
    }

    static func general(
        _ view: IndexView, _ query: TextQuery, limit: Int, filter: TextFilter = .all, after: TextHit? = nil,
        tieBreak: TextTieBreak? = nil
    ) throws -> [TextHit] {
        let context = try ScoreContext(view, weights: nil, scores: true)
        var compiler = QueryCompiler(.words, context)
        var best = TopK(limit: limit, tieBreak: tieBreak, after: after)
        try Retrieval(compiler.compile(query), context, filter: filter, limit: best.limit).rank(&best)
        return try best.sorted()
    }

    static func ranked(
        _ view: IndexView, _ query: TextQuery, limit: Int, filter: TextFilter = .all, after: TextHit? = nil,
        tieBreak: TextTieBreak? = nil
    ) throws -> [TextHit] {
        let words = try #require(TermQuery(query, .words))
        let ranking = try #require(try TermRanking(words, view, filter: filter, limit: limit))
        var best = TopK(limit: limit, tieBreak: tieBreak, after: after)
        try ranking.rank(&best)
        return try best.sorted()
    }

    @Test("The result is that of the general evaluation", arguments: SeededGenerator.seeds(2), [true, false])
    func likeGeneral(seed: UInt64, ascends: Bool) throws {
        var generator = Generator(seed: seed)
        let documents = generator.documents(14_000, ascends: ascends)
        let view = MemoryView(documents, fieldCount: 1)
        let rows = documents.compactMap { $0?.row }.sorted()
        // Used many times, so that in the end it is also used for rare words.
        let kept = RowSelection(rows.filter { $0 % 3 == 0 })
        for round in 0..<12 {
            let query = generator.query()
            let limit = [1, 10, 200][round % 3]
            let note: Comment = "\(query), best \(limit), HORNBEAM_SEED=\(seed)"
            let expected = try Self.general(view, query, limit: limit)
            #expect(try Self.ranked(view, query, limit: limit) == expected, note)
            let allowed = rows.filter { _ in generator.random.oneIn([1, 2, 30, 5000][round % 4]) }
            let everything = try Self.general(view, query, limit: .max)
            let isAllowed = Set(allowed)
            let filters: [(filter: TextFilter, lets: (UInt64) -> Bool)] = [
                (.documents(allowed), { isAllowed.contains($0) }), (.matching { $0 % 5 < 2 }, { $0 % 5 < 2 }),
                (.documents(allowed, passing: { $0 % 5 < 2 }), { isAllowed.contains($0) && $0 % 5 < 2 }),
                (.selection(kept), { $0 % 3 == 0 }),
            ]
            for (filter, lets) in filters {
                let some = Array(everything.filter { lets($0.row) }.prefix(limit))
                #expect(try Self.general(view, query, limit: limit, filter: filter) == some, note)
                #expect(try Self.ranked(view, query, limit: limit, filter: filter) == some, note)
            }
            let descending = try Self.general(view, query, limit: limit) { $0 > $1 }
            #expect(try Self.ranked(view, query, limit: limit) { $0 > $1 } == descending, note)
            let matching = try Self.general(view, query, limit: .max)
            let union = try TermUnion(#require(TermQuery(query, .words)), view)
            let count = union.count
            #expect(count == UInt64(matching.count), note)
            guard let last = expected.last else { continue }
            let page = try Self.general(view, query, limit: limit, after: last)
            #expect(try Self.ranked(view, query, limit: limit, after: last) == page, note)
        }
    }

    @Test("Stored and pending terms are ranked as one", arguments: SeededGenerator.seeds(2))
    func stored(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let store = try TreeStore.inMemory()
        var texts: [UInt64: String] = [:]
        try store.write { writer in
            for row in 0..<9000 as Range<UInt64> {
                texts[row] = generator.text()
                try writer.insert(row, text: texts[row, default: ""])
            }
        }
        for round in 0..<4 {
            // First stored at once, then pending, then all folded and changed again.
            try store.write(limits: round % 2 == 0 ? .none : .standard) { writer in
                for _ in 0..<150 {
                    let row = UInt64(generator.random.below(9300))
                    let old = texts[row]
                    texts[row] = generator.random.oneIn(3) ? nil : generator.text()
                    switch (old, texts[row]) {
                    case (let old?, let new?): try writer.update(row, from: old, to: new)
                    case (let old?, nil): try writer.remove(row, text: old)
                    case (nil, let new?): try writer.insert(row, text: new)
                    case (nil, nil): break
                    }
                }
            }
            let documents = texts.sorted { $0.key < $1.key }.map {
                TestDocument(row: $0.key, fields: [[NaiveIndex.tokens(of: $0.value)]])
            }
            let view = MemoryView(documents, fieldCount: 1)
            let searcher = try store.searcher()
            if round > 1 { #expect(try store.problems(NaiveIndex(texts: texts)) == [], "HORNBEAM_SEED=\(seed)") }
            for _ in 0..<8 {
                let query = generator.query()
                let note: Comment = "\(query), round \(round), HORNBEAM_SEED=\(seed)"
                let all = try Self.general(view, query, limit: .max)
                for limit in [1, 4, 10, 11, 1000] {
                    #expect(try searcher.search(query, limit: limit) == Array(all.prefix(limit)), note)
                }
                let descending = all.sorted { $0.score != $1.score ? $0.score > $1.score : $0.row > $1.row }
                #expect(try searcher.search(query, limit: 5) { $0 > $1 } == Array(descending.prefix(5)), note)
                if all.count > 3 {
                    let page = try searcher.search(query, limit: 9, after: all[2])
                    #expect(page == Array(all.dropFirst(3).prefix(9)), note)
                }
                #expect(try searcher.count(query) == UInt64(all.count), note)
                let some = all.filter { $0.row % 7 == 0 }
                let filter = TextFilter.documents(texts.keys.filter { $0 % 7 == 0 }.sorted())
                #expect(try searcher.search(query, limit: 10, filter: filter) == Array(some.prefix(10)), note)
                let few = all.filter { $0.row % 31 == 3 }
                let asked = try searcher.search(query, limit: 10, filter: .matching { $0 % 31 == 3 })
                #expect(asked == Array(few.prefix(10)), note)
            }
            for _ in 0..<8 {
                // All of some words, or words next to each other.
                let words = (0..<Int.random(in: 2...3, using: &generator.random)).map { _ in generator.word() }
                let isPhrase = generator.random.oneIn(3)
                let query: TextQuery =
                    isPhrase ? .phrase(words.joined(separator: " "), slop: 0) : .all(words.map { .words($0) })
                let note: Comment = "\(query), round \(round), HORNBEAM_SEED=\(seed)"
                let all = try Self.general(view, query, limit: .max)
                for limit in [1, 10, 1000] {
                    #expect(try searcher.search(query, limit: limit) == Array(all.prefix(limit)), note)
                }
                #expect(try searcher.count(query) == UInt64(all.count), note)
            }
        }
    }

    @Test("Other forms, and boosts that are zero or too far apart, are left to the general evaluation")
    func others() throws {
        let view = MemoryView([TestDocument(row: 1, fields: [[["a", "b"]]])], fieldCount: 1)
        let queries: [TextQuery] = [
            .all([.words("a"), .words("b")]), .boost(0, .words("a")), .boost(-1, .words("a")), .prefix("a"),
            .words(String(repeating: "a ", count: 65)), .everything, .any([.words("a"), .phrase("a b", slop: 0)]),
        ]
        for query in queries { #expect(TermQuery(query, .words) == nil, "\(query)") }
        let far = try #require(TermQuery(.any([.words("a"), .boost(1e-11, .words("b"))]), .words))
        #expect(try TermRanking(far, view, filter: .all, limit: 10) == nil)
    }
}
