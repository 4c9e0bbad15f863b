// SPDX-License-Identifier: Apache-2.0
// Full-text indexes declared with analyzers: their results agree with a filter without their help, and another
// analyzer or another version of one makes the index be rebuilt.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Page {
    let id: Int
    var title: String
    var body: String
    var place: Int = 0

    @FullTextIndex<Self>(\.title, analyzer: .unicode) private var titles
    @FullTextIndex<Self>(\.title, \.body, analyzer: .unicode(stemming: .english)) private var all
    @FullTextIndex<Self>(\.body, analyzer: .trigrams) private var parts
}

/// Splits a text at commas, in lower case.
private struct CommaWords: TextTokenizer {
    var version = 2
    let name = "test.comma-words"

    func forEachToken(in text: String, _ emit: (String) -> Void) {
        for word in text.split(separator: ",") { emit(word.lowercased()) }
    }
}

@EntityModel
private struct Tag {
    let id: Int
    var words: String
    @FullTextIndex<Self>(\.words, analyzer: .custom(CommaWords())) private var search

    /// The type as another program declared it, with one entity.
    static func file(analyzer: String?, name: String = "Tag") throws -> MigratedFile {
        let index = IndexDescription(
            name: "search", kind: .text, components: [.init(column: "words")], analyzer: analyzer)
        let type = EntityDescription(
            name: name, columns: [column("id", .int64), column("words", .string)], indexes: [index])
        return try MigratedFile([type]) { try $0.save(name, [.int(1), .string("New York,Paris")]) }
    }
}

/// Splits a text at separators.
private struct Cutter: TextTokenizer {
    var name = "test.cutter"
    let version: Int
    let separator: Character

    func forEachToken(in text: String, _ emit: (String) -> Void) {
        for word in text.split(separator: separator) { emit(String(word)) }
    }
}

@EntityModel
private struct OldTag {
    let id: Int
    var words: String
    @FullTextIndex<Self>(\.words, analyzer: .custom(Cutter(version: 1, separator: ","))) private var search
}

@EntityModel
private struct NewTag {
    let id: Int
    var words: String
    @FullTextIndex<Self>(\.words, analyzer: .custom(Cutter(version: 2, separator: ";"))) private var search
}

@EntityModel
private struct LongTag {
    let id: Int
    var words: String
    @FullTextIndex<Self>(
        \.words, analyzer: .custom(Cutter(name: String(repeating: "ä", count: 100) + "x", version: 1, separator: " ")))
    private var search
}

/// A type while it had a name between its first and its last one.
@EntityModel
private struct Between {
    let id: Int
    var words: String
}

@Suite("Full-text indexes with analyzers", .serialized)
struct AnalyzerTests {
    private let pages = [
        Page(id: 1, title: "Über Grünkohl", body: "They were running along the river."),
        Page(id: 2, title: "東京都の天気", body: "A runner runs; nobody ran."),
        Page(id: 3, title: "Can't stop", body: "Untouched by rivers"),
    ]

    private func filled() throws -> Database {
        let database = try Database.inMemory(models: Page.self)
        try database.write { context in for page in pages { try page.save(to: &context) } }
        return database
    }

    @Test("Accents, stems, scripts without spaces and parts of words are found")
    func found() throws {
        let database = try filled()
        func ids(_ query: QueryList<Page>) throws -> [Int] {
            try database.read { try query.resolve(in: $0).map(\.id) }.sorted()
        }
        #expect(try ids(Page.filter(.string(\.title, matches: "uber"))) == [1])
        #expect(try ids(Page.filter(.string(\.title, matches: "GRU\u{308}NKOHL"))) == [1])
        #expect(try ids(Page.filter(.string(\.title, matches: "天気"))) == [2])
        #expect(try ids(Page.filter(.string(\.title, matches: "can’t"))) == [3])
        #expect(try ids(Page.filter(.string(\.title, matches: "can"))) == [])
        #expect(try ids(Page.filter(.string(\.title, \.body, matches: "run"))) == [1, 2])
        #expect(try ids(Page.filter(.string(\.title, \.body, matches: "river"))) == [1, 3])
        #expect(try ids(Page.filter(.string(\.body, matches: "nnin"))) == [1])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("A condition that no index answers means the same")
    func withoutIndex() throws {
        let database = try filled()
        // A letter of a script without spaces is the beginning of pairs.
        let questions = [
            ("run", [1, 2]), ("rivers", [1, 3]), ("ran", [2]), ("runn", []), ("", []), ("京", [2]),
            ("river 京", [1, 2, 3]),
        ]
        for (text, expected) in questions {
            let plain = Page.filter(.string(\.title, \.body, matches: text))
            // In a disjunction with a condition that has no index, every row is read.
            let mixed = Page.filter(.string(\.title, \.body, matches: text) || \.place > 5)
            let others = Page.filter(!.string(\.title, \.body, matches: text))
            try database.read { context in
                func ids(_ query: QueryList<Page>) throws -> [Int] { try query.resolve(in: context).map(\.id).sorted() }
                let found = try [ids(plain), ids(mixed), ids(others)]
                #expect(found == [expected, expected, [1, 2, 3].filter { !expected.contains($0) }], "\(text)")
            }
        }
    }

    private func search(_ text: String, _ file: MigratedFile) throws -> [Int] {
        try file.open([Tag.self], []) { database throws in
            try database.read { try Tag.filter(.string(\.words, matches: text)).resolve(in: $0).map(\.id) }
        }
    }

    @Test("Another analyzer in the declaration makes the index be rebuilt when the file is opened")
    func otherAnalyzer() throws {
        for analyzer in [nil, "trigrams", "unicode+english"] {
            let file = try Tag.file(analyzer: analyzer)
            #expect(try search("new york", file) == [1])
            #expect(try search("york", file) == [])
            #expect(try file.types().first { $0.name == "Tag" }?.indexes.first?.analyzer == "custom:test.comma-words")
        }
    }

    @Test("So does another version of the same one")
    func otherVersion() throws {
        _ = TextAnalyzer.custom(CommaWords(version: 1))
        let file = try Tag.file(analyzer: "custom:test.comma-words")
        _ = TextAnalyzer.custom(CommaWords())
        #expect(try search("paris", file) == [1])
        let number = try file.open([Tag.self], []) { $0.statistics.transaction }
        #expect(try file.open([Tag.self], []) { $0.statistics.transaction } == number)
    }

    @Test("Also if the type gets another name in the same opening")
    func renamed() throws {
        _ = TextAnalyzer.custom(CommaWords(version: 1))
        let file = try Tag.file(analyzer: "custom:test.comma-words", name: "Mark")
        _ = TextAnalyzer.custom(CommaWords())
        try file.open([Tag.self], [.rename("Mark", to: Tag.self)]) { database throws in
            let found = try database.read {
                try Tag.filter(.string(\.words, matches: "paris")).resolve(in: $0).map(\.id)
            }
            #expect(found == [1])
        }
    }

    @Test("Also if it is renamed twice")
    func renamedTwice() throws {
        _ = TextAnalyzer.custom(CommaWords(version: 1))
        let file = try Tag.file(analyzer: "custom:test.comma-words", name: "Mark")
        _ = TextAnalyzer.custom(CommaWords())
        let renames: [Migration] = [.rename("Mark", to: Between.self), .rename("Between", to: Tag.self)]
        try file.open([Tag.self], renames) { database throws in
            let found = try database.read {
                try Tag.filter(.string(\.words, matches: "paris")).resolve(in: $0).map(\.id)
            }
            #expect(found == [1])
        }
    }

    @Test("An index keeps its declared version of a tokenizer, whichever was named since")
    func versions() throws {
        let (first, second) = (try Database.inMemory(models: OldTag.self), try Database.inMemory(models: NewTag.self))
        for (database, separator) in [(first, ","), (second, ";")] {
            _ = TextAnalyzer.custom(Cutter(version: 9, separator: "-"))
            try database.write { context in
                try? OldTag(id: 1, words: "a,b;c").save(to: &context)
                try? NewTag(id: 1, words: "a,b;c").save(to: &context)
            }
            let found = try database.read { context in
                let old = try? OldTag.filter(.string(\.words, matches: "b;c")).count(in: context)
                let new = try? NewTag.filter(.string(\.words, matches: "a,b")).count(in: context)
                return (old, new)
            }
            #expect(separator == "," ? found.0 == 1 : found.1 == 1)
            #expect(try database.check())
        }
    }

    @Test("A tokenizer's name that is too long for a file is refused when the database is opened, and named")
    func longNames() throws {
        let error = #expect(throws: HornbeamError.self) { try Database.inMemory(models: LongTag.self) }
        #expect(error?.code == .invalid)
        #expect(error?.message.contains("“search” of LongTag") == true && error?.message.contains("201 bytes") == true)
    }

    @Test("A program without the rules reads the entities, and the index reports why it can't be searched")
    func unknown() throws {
        let index = IndexDescription(
            name: "search", kind: .text, components: [.init(column: "words")], analyzer: "custom:elsewhere")
        let type = EntityDescription(
            name: "Tag", columns: [column("id", .int64), column("words", .string)], indexes: [index])
        let error = #expect(throws: (any Error).self) {
            try MigratedFile([type]) { try $0.save("Tag", [.int(1), .string("New York,Paris")]) }
        }
        #expect(error.map { "\($0)".contains("custom:elsewhere") } == true)
    }

    @Test("The tokens of an analyzer can be shown")
    func tokens() {
        #expect(TextAnalyzer.words.tokens(of: "Can't") == ["can", "t"])
        #expect(TextAnalyzer.unicode.tokens(of: "Can't") == ["can't"])
        #expect(TextAnalyzer.unicode(stemming: .german).tokens(of: "Häuser") == ["haus"])
        #expect(TextAnalyzer.unicode(keepsAccents: true).tokens(of: "Häuser") == ["häuser"])
        #expect(TextAnalyzer.trigrams.tokens(of: "Ärzte") == ["arz", "rzt", "zte"])
        #expect(TextAnalyzer.unicode == .unicode() && TextAnalyzer.unicode != .unicode(stemming: .porter))
        #expect("\(TextAnalyzer.unicode(stemming: .french))" == "unicode+french")
    }
}
