// SPDX-License-Identifier: Apache-2.0
// An index's language is stored in the file, and without one there is none; words follow Unicode, in every script.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Story {
    @FullTextIndex<Self>(\.text, analyzer: .unicode(stemming: .english)) private var english
    @FullTextIndex<Self>(\.text, \.title, analyzer: .unicode) private var anyLanguage
    @FullTextIndex<Self>(\.title) private var plain

    let id: Int
    var title = ""
    var text = ""
}

@Suite("Languages of full text")
struct LanguageTests {
    private func database(_ texts: [String]) throws -> Database {
        let database = try Database.inMemory(models: Story.self)
        try database.write { (context) throws in
            for (id, text) in texts.enumerated() { try Story(id: id, title: text, text: text).save(to: &context) }
        }
        return database
    }

    private func found(_ database: Database, _ predicate: Hornbeam.Predicate<Story>) throws -> [Int] {
        try database.read { try Story.filter(predicate).sorted(by: \.id).ids(in: $0) }
    }

    @Test("the language is part of the index, and an index without one has the default analyzer")
    func languages() throws {
        let database = try database(["running horses", "he runs", "a runner"])
        let type = try #require(database.schemaDescription.first { $0.name == "Story" })
        #expect(
            Dictionary(uniqueKeysWithValues: type.indexes.map { ($0.name, $0.analyzer) })
                == ["english": "unicode+english", "anyLanguage": "unicode", "plain": "unicode+accents"])
        #expect(try found(database, .string(\.text, matches: "run")) == [0, 1])
        #expect(try found(database, .string(\.text, \.title, matches: "run")) == [])
        #expect(try found(database, .string(\.title, matches: "run")) == [])
        #expect(try found(database, .string(\.title, matches: "runs")) == [1])
    }

    @Test("words of every script, with apostrophes, marks and signs")
    func words() throws {
        let database = try database([
            "don't panic", "naïve", "İstanbul", "the 👨‍👩‍👧 family", "設備清单", "https://example.org/a?b=c", "C++",
        ])
        for (text, ids) in [
            ("don't", [0]), ("DON’T", [0]), ("naive", [1]), ("nai\u{308}ve", [1]), ("ISTANBUL", [2]), ("family", [3]),
            ("設備", [4]), ("備清", [4]), ("清单", [4]), ("example.org", [5]), ("c++", [5, 6]), ("panic", [0]),
        ] {
            #expect(try found(database, .string(\.text, \.title, matches: text)) == ids, "\(text)")
        }
        #expect(try database.check())
    }
}
