// SPDX-License-Identifier: Apache-2.0
// Retrieval compared with the model: every form of a query, every limit, filter and page, to the last bit of every
// score.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Retrieval")
struct RetrievalTests {
    /// Random documents and queries over few words, so that most queries match something.
    struct Generator {
        var random: SeededGenerator
        let words: [String]

        init(seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            var words = ["a", "b", "ab", "abc", "abd", "acb", "naïve", "中文", "wort", "word", "words", "world", "wrod"]
            for _ in 0..<8 {
                let size = Int.random(in: 1...6, using: &random)
                words.append(String((0..<size).map { _ in Array("abcé")[random.below(4)] }))
            }
            (self.random, self.words) = (random, words)
        }

        mutating func word() -> String {
            let place = Double.random(in: 0..<1, using: &random) * Double.random(in: 0..<1, using: &random)
            return words[Int(place * Double(words.count))]
        }

        mutating func text(_ counts: ClosedRange<Int>) -> String {
            (0..<Int.random(in: counts, using: &random)).map { _ in word() }.joined(separator: " ")
        }

        mutating func documents(_ count: Int, fields: Int) -> [TestDocument?] {
            let ascends = Bool.random(using: &random)
            var rows: Set<UInt64> = []
            while rows.count < count { rows.insert(UInt64.random(in: 0..<UInt64(count * 5), using: &random)) }
            let order = ascends ? rows.sorted() : rows.shuffled(using: &random)
            return order.map { row in
                if random.oneIn(9) { return nil }
                return TestDocument(
                    row: row,
                    fields: (0..<fields).map { _ in
                        (0..<random.below(3)).map { _ in NaiveIndex.tokens(of: text(0...random.below(12))) }
                    })
            }
        }

        mutating func query(depth: Int = 0) -> TextQuery {
            switch random.below(depth < 3 ? 14 : 8) {
            case 0, 1: return .words(text(0...4))
            case 2: return .phrase(text(1...3), slop: random.below(3))
            case 3:
                let count = Int.random(in: 1...3, using: &random)
                return .near((0..<(random.oneIn(10) ? 0 : count)).map { _ in span() }, within: random.below(6))
            case 4: return .prefix(prefix())
            case 5: return .wildcard(pattern())
            case 6: return fuzzy()
            case 7: return random.oneIn(4) ? .everything : .words(word())
            case 8: return .any((0..<random.below(4)).map { _ in query(depth: depth + 1) })
            case 9, 10: return .all((0..<Int.random(in: 1...3, using: &random)).map { _ in query(depth: depth + 1) })
            case 11: return .without(query(depth: depth + 1), query(depth: depth + 1))
            case 12: return .field(random.oneIn(2) ? [0] : [1, 2], query(depth: depth + 1))
            default: return .boost([0, 0.3, 1, 2.5][random.below(4)], query(depth: depth + 1))
            }
        }

        mutating func span() -> TextQuery {
            switch random.below(6) {
            case 0: .phrase(text(1...2), slop: random.below(2))
            case 1: .prefix(prefix())
            case 2: fuzzy()
            case 3: .any([.words(word()), .boost(2, .phrase(text(2...2), slop: 0))])
            default: .words(text(1...2))
            }
        }

        mutating func fuzzy() -> TextQuery {
            .fuzzy(text(1...2), distance: [nil, 0, 1, 2][random.below(4)], prefixLength: random.below(3))
        }

        mutating func prefix() -> String {
            if random.oneIn(8) { return random.oneIn(2) ? "" : "!" }
            let text = text(1...2)
            return String(text.prefix(max(1, text.count - random.below(3))))
        }

        mutating func pattern() -> String {
            var letters = Array(word())
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                letters[random.below(letters.count)] = random.oneIn(2) ? "*" : "?"
                if random.oneIn(3) { letters.append("*") }
            }
            return String(letters)
        }
    }

    static func search(
        _ view: IndexView, _ query: TextQuery, limit: Int = .max, filter: TextFilter = .all, weights: [Double]? = nil,
        after: TextHit? = nil, tieBreak: TextTieBreak? = nil
    ) throws -> [TextHit] {
        let context = try ScoreContext(view, weights: weights, scores: true)
        var compiler = QueryCompiler(.words, context)
        let query = query.resolved(.words)
        let retrieval = try Retrieval(compiler.compile(query), context, filter: filter, limit: limit)
        var best = TopK(limit: limit, tieBreak: tieBreak, after: after)
        try retrieval.rank(&best)
        let found = try best.sorted()
        // A query of words has an evaluation of its own.
        if weights == nil, let words = TermQuery(query, .words),
            let ranking = try TermRanking(words, view, filter: filter, limit: limit)
        {
            var best = TopK(limit: limit, tieBreak: tieBreak, after: after)
            try ranking.rank(&best)
            #expect(try best.sorted() == found, "\(query), best \(limit)")
        }
        return found
    }

    static func rows(_ view: IndexView, _ query: TextQuery, filter: TextFilter = .all) throws -> ([UInt64], UInt64) {
        func retrieval() throws -> Retrieval {
            let context = try ScoreContext(view, weights: nil, scores: false)
            var compiler = QueryCompiler(.words, context)
            return try Retrieval(compiler.compile(query.resolved(.words)), context, filter: filter, limit: .max)
        }
        var rows: [UInt64] = []
        try retrieval().forEach { (row) throws(StorageError) in rows.append(row) }
        return (rows.sorted(), try retrieval().count())
    }

    @Test("Every form of a query agrees with the model", arguments: SeededGenerator.seeds(4))
    func forms(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        for _ in 0..<6 {
            let documents = generator.documents(Int.random(in: 1...60, using: &generator.random), fields: 3)
            let view = MemoryView(documents, fieldCount: 3)
            let weights: [Double]? = generator.random.oneIn(3) ? [2, 0.5, generator.random.oneIn(3) ? 0 : 1] : nil
            let model = NaiveQuery(documents.compactMap { $0 }, weights: weights)
            for _ in 0..<25 {
                let query = generator.query()
                let note: Comment = "\(query), weights \(weights ?? []), HORNBEAM_SEED=\(seed)"
                let expected = model.search(query)
                #expect(try Self.search(view, query, weights: weights) == expected, note)
                let (rows, count) = try Self.rows(view, query)
                #expect(rows == expected.map(\.row).sorted(), note)
                #expect(count == UInt64(expected.count), note)
                let limit = Int.random(in: 1...8, using: &generator.random)
                let best = Array(expected.prefix(limit))
                #expect(try Self.search(view, query, limit: limit, weights: weights) == best, note)
                guard let after = expected.randomElement(using: &generator.random),
                    let place = expected.firstIndex(of: after)
                else { continue }
                let page = try Self.search(view, query, limit: limit, weights: weights, after: after)
                #expect(page == Array(expected[(place + 1)...].prefix(limit)), note)
            }
        }
    }

    @Test("Skipping loses no result, with any filter", arguments: SeededGenerator.seeds(2))
    func skipping(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let documents = generator.documents(9000, fields: 1)
        let view = MemoryView(documents, fieldCount: 1)
        let rows = documents.compactMap { $0?.row }
        for round in 0..<20 {
            let query = round % 3 == 0 ? TextQuery.words(generator.text(1...5)) : generator.query()
            let all = try Self.search(view, query)
            let allowed = Set(rows.filter { _ in generator.random.oneIn([1, 2, 40, 3000][round % 4]) })
            let some = all.filter { allowed.contains($0.row) }
            for limit in [1, 10, 100] {
                let note: Comment = "\(query), best \(limit), HORNBEAM_SEED=\(seed)"
                #expect(try Self.search(view, query, limit: limit) == Array(all.prefix(limit)), note)
                let best = Array(some.prefix(limit))
                #expect(try Self.search(view, query, limit: limit, filter: .documents(allowed.sorted())) == best, note)
                let matching = TextFilter.matching { allowed.contains($0) }
                #expect(try Self.search(view, query, limit: limit, filter: matching) == best, note)
                let last = all.dropFirst(limit).first ?? TextHit(row: 0, score: 0)
                let page = all.filter { $0.score < last.score || $0.score == last.score && $0.row > last.row }
                #expect(try Self.search(view, query, limit: limit, after: last) == Array(page.prefix(limit)), note)
            }
            let found = try Self.rows(view, query, filter: .documents(allowed.sorted()))
            #expect(found.0 == some.map(\.row).sorted() && found.1 == UInt64(some.count), "\(query)")
        }
    }
}
