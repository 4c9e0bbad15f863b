// SPDX-License-Identifier: Apache-2.0
// A query gives the same with an index and without: index and matcher find it in the same texts, for every analyzer.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Queries with an index and without")
struct MatcherAgreementTests {
    typealias Generator = RetrievalTests.Generator

    /// Words with separators, in any case.
    private static func text(_ generator: inout Generator) -> String {
        let odd = ["東京都", "CAN'T", "Zu\u{308}rich", "&", "...", "wörter", "3.14", "İx", "ΟΔΟΣ", "x"]
        return (0..<generator.random.below(9)).map { _ in
            let word = generator.random.oneIn(5) ? odd[generator.random.below(odd.count)] : generator.word()
            return generator.random.oneIn(6) ? word.uppercased() : word
        }.joined(separator: generator.random.oneIn(3) ? ", " : " ")
    }

    /// Some of the words have several tokens, or are pairs of letters.
    private static func query(_ generator: inout Generator) -> TextQuery {
        let odd = ["東京", "東京都", "京", "can't", "wörter,x", "3.14 x", "a-b", "&", "ab/abc b", "x 東京都", "x東京"]
        let query = generator.query().mapWords { text, isBeginning throws(Never) in
            !isBeginning && generator.random.oneIn(3) ? odd[generator.random.below(odd.count)] : text
        }
        switch generator.random.below(5) {
        case 0: return .all([query, .words(odd[generator.random.below(odd.count)])])
        case 1: return .without(query, .words(odd[generator.random.below(odd.count)]))
        default: return query
        }
    }

    private static func agree(_ analyzer: Analyzer, seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let index = TextIndex(prefix: "t:", analyzer: analyzer)
        var found = 0
        for _ in 0..<4 {
            let transaction = try TreeStore.inMemory().beginWrite()
            defer { transaction.abort() }
            let writer = try TextIndexWriter(index, in: transaction)
            var texts: [UInt64: [[String]]] = [:]
            for row in 0..<UInt64(40) {
                let fields = (0..<2).map { _ in (0..<generator.random.below(3)).map { _ in text(&generator) } }
                texts[row] = fields
                try writer.insert(row, DocumentText(fields: fields))
            }
            try writer.flush()
            let searcher = try TextSearcher(index, in: transaction)
            for _ in 0..<60 {
                let query = Self.query(&generator)
                let matcher = QueryMatcher(query, analyzer)
                let expected = texts.filter { entry in
                    var sections: [TextSection] = []
                    for (field, pieces) in entry.value.enumerated() {
                        sections += pieces.map { TextSection(field: field, text: $0) }
                    }
                    return matcher.matches(sections)
                }.keys.sorted()
                #expect(try searcher.matches(query) == expected, "\(query), HORNBEAM_SEED=\(seed)")
                found += expected.count
            }
        }
        #expect(found > 300, "\(found)")
    }

    @Test("Words", arguments: SeededGenerator.seeds(2))
    func words(seed: UInt64) throws { try Self.agree(.words, seed: seed) }

    @Test("Words by Unicode's rules, with stems", arguments: SeededGenerator.seeds(2))
    func unicode(seed: UInt64) throws {
        try Self.agree(Analyzer(.unicode(keepsAccents: false, stemming: .english)), seed: seed)
        try Self.agree(Analyzer(.unicode(keepsAccents: true, stemming: nil)), seed: seed)
    }

    @Test("Trigrams, with no trigram across two texts", arguments: SeededGenerator.seeds(2))
    func trigrams(seed: UInt64) throws {
        let trigrams = Analyzer(.trigrams(keepsAccents: false))
        try Self.agree(trigrams, seed: seed)
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        let index = TextIndex(prefix: "t:", analyzer: trigrams)
        let writer = try TextIndexWriter(index, in: transaction)
        try writer.insert(1, DocumentText(fields: [["xab"], ["def", "gh"]]))
        try writer.flush()
        var terms: [String] = []
        try TextSearcher(index, in: transaction).forEachTerm { (term, _, _) throws(StorageError) in
            terms.append(term)
            return true
        }
        #expect(terms == ["def", "xab"])
    }

    @Test("Custom tokens, with a tokenizer that doesn't know where a text ends", arguments: SeededGenerator.seeds(2))
    func custom(seed: UInt64) throws {
        // The parts between spaces, with any characters, including line feeds.
        let pieces = CustomTokenizer(name: "agreement.pieces", version: 1) { text, emit in
            for piece in text.split(separator: " ") { emit(String(piece)) }
        }
        try Self.agree(Analyzer(.custom(pieces)), seed: seed)
    }
}
