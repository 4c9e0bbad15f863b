// SPDX-License-Identifier: Apache-2.0
// Analyzers by the names stored with indexes, trigrams, and a program's own rules.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Analyzers")
struct AnalyzerTests {
    private func tokens(_ text: String, _ analyzer: Analyzer) -> [String] {
        analyzer.tokens(of: text).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Each is found by its name, and no other one is")
    func specifications() throws {
        var all: [Analyzer] = [.words]
        for keeps in [false, true] {
            all.append(Analyzer(.trigrams(keepsAccents: keeps)))
            all.append(Analyzer(.unicode(keepsAccents: keeps, stemming: nil)))
            all += StemmingLanguage.allCases.map { Analyzer(.unicode(keepsAccents: keeps, stemming: $0)) }
        }
        #expect(Set(all).count == all.count)
        for analyzer in all {
            #expect(Analyzer(specification: analyzer.specification) == analyzer)
            #expect(analyzer.identity.utf8.count < 255)
        }
        #expect(Analyzer(.unicode(keepsAccents: true, stemming: .german)).specification == "unicode+accents+german")
        for wrong in ["", "word", "words+english", "unicode+klingon", "unicode+german+german", "trigrams+english", "+"]
        {
            #expect(Analyzer(specification: wrong) == nil, "\(wrong)")
        }
        #expect(Analyzer(specification: "custom:nobody") == nil)
    }

    @Test("Trigrams are made from the folded text, including spaces")
    func trigrams() {
        let folded = Analyzer(.trigrams(keepsAccents: false))
        #expect(tokens("Añ b", folded) == ["an ", "n b"])
        #expect(tokens("ab", folded) == [])
        #expect(tokens("ＡＢＣ", folded) == ["abc"])
        #expect(tokens("日本語", folded) == ["日本語"])
        #expect(tokens("e\u{301}ab", Analyzer(.trigrams(keepsAccents: true))) == ["\u{E9}ab"])
        #expect(tokens("", folded) == [])
    }

    @Test("A program's own rules make the tokens, and are known by their name")
    func custom() throws {
        let tokenizer = CustomTokenizer(name: "test.lines", version: 3) { text, emit in
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) { emit(String(line)) }
        }
        tokenizer.register()
        let analyzer = try #require(Analyzer(specification: "custom:test.lines"))
        #expect(tokens("one two\n\nthree", analyzer) == ["one two", "three"])
        let store = try TreeStore.inMemory()
        let index = TextIndex(prefix: "t:", analyzer: analyzer)
        let write = try store.beginWrite()
        let writer = try TextIndexWriter(index, in: write)
        try writer.insert(1, text: "one two\nthree")
        try writer.flush()
        #expect(try TextSearcher(index, in: write).matches("one two") == [1])
        #expect(try TextSearcher(index, in: write).matches("one") == [])
        #expect(try !index.isOutdated(in: write))
        CustomTokenizer(name: "test.lines", version: 4) { _, _ in }.register()
        let newer = TextIndex(prefix: "t:", analyzer: try #require(Analyzer(specification: "custom:test.lines")))
        #expect(try newer.isOutdated(in: write))
        #expect(throws: StorageError.self) { try TextSearcher(newer, in: write) }
        write.abort()
    }

    @Test("An unknown analyzer refuses to be used, with an error that says so")
    func unknown() throws {
        let store = try TreeStore.inMemory()
        let index = TextIndex(prefix: "t:", analyzer: Analyzer(.unknown("custom:elsewhere")))
        let write = try store.beginWrite()
        defer { write.abort() }
        let error = #expect(throws: StorageError.self) { try TextIndexWriter(index, in: write) }
        #expect(error.map { "\($0)".contains("custom:elsewhere") } == true)
        #expect(throws: StorageError.self) { try TextSearcher(index, in: write) }
        // An index with another analyzer isn't rebuilt for that.
        let words = try TextIndexWriter(TextIndex(prefix: "t:"), in: write)
        try words.insert(1, text: "one")
        try words.flush()
        #expect(try !index.isOutdated(in: write))
        #expect(try TextIndex(prefix: "t:", analyzer: Analyzer(.trigrams(keepsAccents: false))).isOutdated(in: write))
    }
}
