// SPDX-License-Identifier: Apache-2.0
// Full-text indexes without a named analyzer: the texts they find, and files that were made when `words` was the
// default.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Note {
    let id: Int
    var text: String
    @FullTextIndex<Self>(\.text) private var search
}

@EntityModel
private struct PlainNote {
    let id: Int
    var text: String
}

/// A note with a named analyzer.
@EntityModel
private struct NamedNote {
    let id: Int
    var text: String
    @FullTextIndex<Self>(\.text, analyzer: .unicode(keepsAccents: true)) private var search
}

@EntityModel
private struct WordsNote {
    let id: Int
    var text: String
    @FullTextIndex<Self>(\.text, analyzer: .words) private var search
}

@Suite("Full-text indexes without a named analyzer")
struct DefaultAnalyzerTests {
    /// Returns a file with one note, “Can't”, whose index was made with this analyzer.
    private func file(_ name: String, analyzer: String?) throws -> MigratedFile {
        let index = IndexDescription(
            name: "search", kind: .text, components: [.init(column: "text")], analyzer: analyzer)
        let type = EntityDescription(
            name: name, columns: [column("id", .int64), column("text", .string)], indexes: [index])
        return try MigratedFile([type]) { try $0.save(name, [.int(1), .string("Can't")]) }
    }

    private func analyzer(_ file: MigratedFile, _ name: String) throws -> String? {
        try #require(file.types().first { $0.name == name }?.indexes.first { $0.name == "search" }).analyzer
    }

    @Test("Texts that are equal in Unicode find each other, and words of all scripts stay whole")
    func found() throws {
        let texts = ["cafe\u{301}", "caf\u{E9}", "İstanbul", "हिन्दी", "straße", "don't", "\u{1112}\u{1161}\u{11AB}글"]
        let database = try Database.inMemory(models: Note.self, PlainNote.self)
        try database.write { (context) throws in
            for (id, text) in texts.enumerated() {
                try Note(id: id, text: text).save(to: &context)
                try PlainNote(id: id, text: text).save(to: &context)
            }
        }
        let questions: [(String, [Int])] = [
            ("caf\u{E9}", [0, 1]), ("CAFE\u{301}", [0, 1]), ("cafe", []), ("istanbul", []), ("İSTANBUL", [2]),
            ("stanbul", []), ("हिन्दी", [3]), ("ह", []), ("STRASSE", [4]), ("don’t", [5]), ("don", []), ("한글", [6]),
        ]
        for (text, expected) in questions {
            let found = try database.read { (context) throws in
                [
                    try Note.filter(.string(\.text, matches: text)).ids(in: context).sorted(),
                    try PlainNote.filter(.string(\.text, matches: text)).ids(in: context).sorted(),
                ]
            }
            #expect(found == [expected, expected], "\(text), by the index and without one")
        }
        let marked = try SearchQuery<Note>.words("CAFÉ").highlights(\.text, of: Note(id: 0, text: "a cafe\u{301}"))
        #expect(marked.count == 1)
    }

    @Test("A new file has the default by its name")
    func newFile() throws {
        #expect(Note.entityShape.description.indexes.map(\.analyzer) == ["unicode+accents"])
        #expect(WordsNote.entityShape.description.indexes.map(\.analyzer) == [nil])
    }

    @Test("An index that a file has with `words` keeps it, and uses it in searches")
    func keptWords() throws {
        let file = try file("Note", analyzer: nil)
        for _ in 0..<2 {
            try file.open([Note.self], []) { database throws in
                func ids(_ text: String) throws -> [Int] {
                    try database.read { try Note.filter(.string(\.text, matches: text)).ids(in: $0) }
                }
                #expect(try ids("can") == [1] && ids("can't") == [1] && ids("cannot") == [])
                try database.write { (context) throws in try Note(id: 2, text: "t").save(to: &context) }
                #expect(try ids("t").sorted() == [1, 2])
                try database.write { (context) throws in try Note.delete(id: 2, from: &context) }
                #expect(try database.check { Issue.record("\($0)") })
            }
            #expect(try analyzer(file, "Note") == nil)
        }
        let number = try file.open([Note.self], []) { $0.statistics.transaction }
        #expect(try file.open([Note.self], []) { $0.statistics.transaction } == number)
    }

    @Test("An index is rebuilt when an analyzer is named, or another one's name is removed")
    func movedOver() throws {
        let named = try file("NamedNote", analyzer: nil)
        try named.open([NamedNote.self], []) { database throws in
            let found = try database.read { (context) throws in
                try ["can", "can't"].map {
                    try NamedNote.filter(.string(\.text, matches: $0)).ids(in: context)
                }
            }
            #expect(found == [[], [1]])
        }
        #expect(try analyzer(named, "NamedNote") == "unicode+accents")
        let stemmed = try file("Note", analyzer: "unicode+english")
        try stemmed.open([Note.self], []) { database throws in #expect(try database.check { Issue.record("\($0)") }) }
        #expect(try analyzer(stemmed, "Note") == "unicode+accents")
        let words = try file("WordsNote", analyzer: nil)
        try words.open([WordsNote.self], []) { database throws in #expect(try database.check()) }
        #expect(try analyzer(words, "WordsNote") == nil)
    }
}
