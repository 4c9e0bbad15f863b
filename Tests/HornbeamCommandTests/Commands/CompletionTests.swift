// SPDX-License-Identifier: Apache-2.0
// What Tab offers in a shell.

import Hornbeam
import Testing

@testable import HornbeamCommand

@Suite("Completion in a shell")
struct CompletionTests {
    private let completion = Completion([
        EntityDescription(
            name: "Author", columns: [.init(name: "id", type: .int64), .init(name: "name", type: .string)],
            relations: [.init(name: "books", target: "Book", toMany: true)]),
        EntityDescription(
            name: "Book",
            columns: [
                .init(name: "id", type: .string), .init(name: "title", type: .string),
                .init(name: "order", type: .int64), .init(name: "$updatedAt", type: .optional(.date)),
            ],
            relations: [.init(name: "author", target: "Author", toMany: false)]),
    ])

    private func words(_ text: String) -> [String] { completion.completions(of: text).words }

    @Test("keywords and functions follow the case of what is typed")
    func keywords() {
        #expect(words("SEL") == ["SELECT"] && words("sel") == ["select"])
        #expect(words("SELECT START") == ["STARTS_WITH("] && words("select starts_") == ["starts_with("])
        #expect(completion.completions(of: "SELECT id FR").replaced == 2)
    }

    @Test("after FROM and JOIN stand types")
    func types() {
        #expect(words("SELECT * FROM a") == ["Author"] && words("SELECT * FROM ") == ["Author", "Book"])
        #expect(words("SELECT *\nFROM Bo") == ["Book"])
    }

    @Test("after a point stand the properties of the type, the alias or the relation before it")
    func properties() {
        #expect(words("SELECT Book.ti") == ["title"])
        #expect(words("SELECT x FROM Book AS b WHERE b.") == ["`order`", "author", "id", "title"])
        #expect(words("SELECT x FROM Book b JOIN b.author a WHERE author.") == ["books", "id", "name"])
    }

    @Test("properties of the types in the statement, those that are keywords in backquotes")
    func named() {
        #expect(words("SELECT * FROM Book WHERE ti") == ["title"])
        #expect(words("SELECT * FROM Book WHERE ord") == ["`order`", "order"])
        #expect(words("SELECT * FROM Author WHERE ti").isEmpty, "Author has no title")
    }

    @Test("within a text nothing is completed")
    func texts() {
        #expect(words("SELECT 'sel").isEmpty && words("SELECT 'a' || low") == ["lower("])
        #expect(words("SELECT 1; -- don't\nsel") == ["select"], "a quote in a comment begins nothing")
    }

    @Test("dot commands, and the kinds of their arguments")
    func commands() {
        #expect(
            words(".ta") == [".tables"] && words(".mode mark") == ["markdown"] && words(".timer o") == ["off", "on"])
        #expect(words(".schema ") == ["Author", "Book"] && words(".export --json B") == ["Book"])
        #expect(completion.completions(of: ".read /tm").isFile && completion.completions(of: ".import x").isFile)
        #expect(words(".import books.jsonl B") == ["Book"])
    }
}
