// SPDX-License-Identifier: Apache-2.0
// The terms that match a prefix, a pattern or a misspelt word, compared with examining every term.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Expansion of terms")
struct TermExpansionTests {
    /// Returns random words of few letters, so that many are similar.
    static func words(_ random: inout SeededGenerator, _ count: Int) -> [String] {
        (0..<count).map { _ in
            let size = Int.random(in: 1...7, using: &random)
            return String((0..<size).map { _ in Array("abcéж中")[random.below(6)] })
        }
    }

    static func view(_ words: [String]) -> MemoryView {
        MemoryView([TestDocument(row: 1, fields: [[words]])], fieldCount: 1)
    }

    @Test("A fuzzy word finds the words that a full table of edits gives", arguments: SeededGenerator.seeds(3))
    func fuzzy(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let words = Self.words(&random, 400)
        let expansion = TermExpansion(view: Self.view(words))
        for word in Self.words(&random, 30) + words.prefix(10) {
            for distance in 0...3 {
                let prefixLength = random.below(3)
                let scalars = Array(word.unicodeScalars)
                var expected: Set<String> = []
                for term in Set(words) where term.unicodeScalars.starts(with: scalars.prefix(prefixLength)) {
                    let edits = NaiveQuery.distance(scalars, Array(term.unicodeScalars))
                    if edits <= distance { expected.insert("\(term) \(edits)") }
                }
                let found = try expansion.fuzzy(Array(word.utf8), distance: distance, prefixLength: prefixLength)
                let names = found.map { "\(String(decoding: $0.term, as: UTF8.self)) \($0.distance)" }
                #expect(Set(names) == expected && names.count == expected.count, "\(word), HORNBEAM_SEED=\(seed)")
                #expect(found.map(\.distance) == found.map(\.distance).sorted())
            }
        }
    }

    @Test("An exchange of neighbouring letters is one edit, and an adjacent deletion another")
    func exchanges() throws {
        func distance(_ word: String, _ term: String) throws -> Int? {
            try TermExpansion(view: Self.view([term])).fuzzy(Array(word.utf8), distance: 3, prefixLength: 0)
                .first?.distance
        }
        #expect(try distance("wrod", "word") == 1)
        #expect(try distance("ca", "abc") == 3, "a letter that was exchanged isn't moved again")
        #expect(try distance("a", "abcde") == nil)
        #expect(try distance("", "abc") == 3)
    }

    @Test("Long words match only themselves, and any distance may be requested")
    func extremes() throws {
        let long = String(repeating: "a", count: 300)
        let expansion = TermExpansion(view: Self.view([long, long + "b", "ab", "abcdefghij"]))
        func terms(_ word: String, _ distance: Int) throws -> [String] {
            try expansion.fuzzy(Array(word.utf8), distance: distance, prefixLength: 0)
                .map { String(decoding: $0.term, as: UTF8.self) }
        }
        #expect(try terms(long, 2) == [long])
        #expect(try terms(long + "c", 2) == [])
        #expect(try terms("ab", .max) == ["ab", "abcdefghij"])
        #expect(try terms("ab", .min) == ["ab"])
    }

    @Test("A pattern matches the whole term")
    func patterns() {
        func matches(_ pattern: String, _ term: String) -> Bool {
            WildcardPattern(pattern, .words).matches(Array(term.utf8))
        }
        #expect(matches("W?rd*", "words"))
        #expect(matches("w?rd*", "word"))
        #expect(!matches("w?rd", "words"))
        #expect(matches("*中*", "a中b") && matches("*", "x") && matches("?", "中") && matches("**a", "ba"))
        #expect(!matches("?", "ab") && !matches("", "a") && matches("*a*b*c", "xaxbxbxc"))
        #expect(!matches("*a*b*c", "xaxbxbxcx"))
    }

    @Test("Patterns match exactly if trying all possibilities does", arguments: SeededGenerator.seeds(2))
    func patternsLikeModel(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let pattern = String((0..<random.below(6)).map { _ in Array("ab*?")[random.below(4)] })
            let term = String((0..<random.below(7)).map { _ in Array("ab")[random.below(2)] })
            let expected = NaiveQuery.wildcard(Array(pattern), Array(term))
            #expect(WildcardPattern(pattern, .words).matches(Array(term.utf8)) == expected, "\(pattern) \(term)")
        }
    }

    @Test("Patterns are folded as terms are, and not stemmed")
    func folding() {
        let stemming = Analyzer(.unicode(keepsAccents: false, stemming: .english))
        #expect(WildcardPattern("RÜNNING*", stemming).prefix == Array("running".utf8))
        #expect(WildcardPattern("É*", .words).prefix == Array("é".utf8))
    }

    @Test("Characters next to a word in a pattern are part of it")
    func punctuation() {
        let unicode = Analyzer(.unicode(keepsAccents: false, stemming: nil))
        func matches(_ pattern: String, _ term: String, _ analyzer: Analyzer) -> Bool {
            WildcardPattern(pattern, analyzer).matches(Array(term.utf8))
        }
        #expect(matches("*'s", "john's", unicode) && matches("*’S", "john's", unicode))
        #expect(!matches("*'s", "databases", unicode) && !matches("*.bases", "databases", unicode))
        #expect(matches("*.bases", "data.bases", unicode) && matches("É.*", "e.g", unicode))
        #expect(!matches("*'s", "databases", .words) && !matches("(dat*", "data", .words))
    }
}
