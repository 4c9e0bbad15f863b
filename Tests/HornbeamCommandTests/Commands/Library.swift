// SPDX-License-Identifier: Apache-2.0
// A small store of authors and books, made by the command itself.

import Foundation
import HornbeamTestSupport
import Testing

/// Lives in a folder of its own.
struct Library {
    let folder: TemporaryFolder
    var file: String { folder.path + "/library.hornbeam" }

    static let schema = #"""
        {"entities": [
          {"name": "Author",
           "columns": [{"name": "id", "type": "int64"}, {"name": "name", "type": "string"}],
           "indexes": [{"name": "byName", "kind": "unique", "components": ["name"]}],
           "relations": [{"name": "books", "target": "Book", "toMany": true, "inverse": "author"}]},
          {"name": "Book",
           "columns": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"},
                       {"name": "year", "type": "int32?"}, {"name": "price", "type": "decimal?"}],
           "indexes": [{"name": "byYear", "components": ["year", "title"]},
                       {"name": "search", "kind": "text", "components": ["title"]}],
           "relations": [{"name": "author", "target": "Author", "toMany": false, "inverse": "books"}]}
        ]}
        """#

    static let authors = """
        {"id":1,"name":"Ursula K. Le Guin"}
        {"id":2,"name":"Stanisław Lem"}

        """

    static let books = """
        {"id":"disp","title":"The Dispossessed","year":1974,"price":9.99,"author":1}
        {"id":"left","title":"The Left Hand of Darkness","year":1969,"price":8.5,"author":1}
        {"id":"sol","title":"Solaris","year":1961,"price":null,"author":2}
        {"id":"cyb","title":"The Cyberiad","year":1965,"price":12,"author":2}
        {"id":"anon","title":"日本の昔話","year":null,"price":null,"author":null}

        """

    /// An empty store, or one with the books.
    init(filled: Bool = true) throws {
        folder = try TemporaryFolder()
        let schema = try folder.write("schema.json", Self.schema)
        try expect(try CommandRun("schema", "apply", file, schema))
        guard filled else { return }
        try expect(try CommandRun("import", file, "Author", "-", input: Self.authors))
        try expect(try CommandRun("import", file, "Book", try folder.write("books.jsonl", Self.books)))
    }

    private func expect(_ run: CommandRun) throws {
        try #require(run.code == 0 && run.errors.isEmpty, "\(run)")
    }

    /// The output of a query, line by line.
    func lines(_ words: String...) throws -> [String] {
        let run = try CommandRun(words.isEmpty ? [] : [words[0], file] + words.dropFirst())
        try #require(run.code == 0, "\(run)")
        return run.output.split(separator: "\n").map(String.init)
    }
}
