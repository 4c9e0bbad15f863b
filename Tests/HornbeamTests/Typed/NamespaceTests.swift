// SPDX-License-Identifier: Apache-2.0
// Entities inside a type, whose relations name each other by their names in there.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// A type with the name of an entity inside `Library`; the code there means the inner one.
@EntityModel
private struct Author {
    let id: Int
}

private enum Library {
    enum Genre: String { case tale, essay }

    @EntityModel
    struct Author {
        let id: Int
        @Relationship(inverse: \.author) var books: [Book]?
        @Relationship(inverse: \.readers) var reads: [Book]?
    }

    @EntityModel
    struct Book {
        @Index<Self>(\.genre) private var byGenre
        let id: Int
        var genre: Genre
        @Relationship(.required, inverse: \.books) var author: Author?
        @Relationship(deleteRule: .cascade, inverse: \.reads) var readers: [Author]?
        @Relationship(inverse: \.book) var cover: Parts.Cover?
        @Relationship() var next: Book?
    }

    enum Parts {
        @EntityModel
        struct Cover {
            let id: Int
            @Relationship(inverse: \.cover) var book: Book?
        }
    }
}

@Suite("Entities inside a type")
struct NamespaceTests {
    @Test("are related to each other by the names they have in there")
    func relations() throws {
        var context = Context()
        try Library.Author(
            id: 1,
            books: .relation([
                Library.Book(id: 1, genre: .tale, readers: .ids([1]), cover: .relation(Library.Parts.Cover(id: 9))),
                Library.Book(id: 2, genre: .essay, next: .id(1)),
            ])
        ).save(to: &context)
        try Author(id: 1).save(to: &context)
        let book = try #require(try Library.Book.query(1).with(\.$author).resolve(in: context))
        #expect(book.author?.id == 1)
        #expect(try Library.Author.query(1).related(\.$books).ids(in: context) == [1, 2])
        #expect(try Library.Author.query(1).related(\.$reads).ids(in: context) == [1])
        #expect(try Library.Parts.Cover.query(9).related(\.$book).resolve(in: context)?.id == 1)
        #expect(try Library.Book.filter(\.genre == .essay).ids(in: context) == [2])
        try Library.Author.delete(id: 1, from: &context)
        #expect(try context.ids(Author.self) == [1])
        #expect(try Library.Book.query(1).related(\.$author).resolve(in: context) == nil)
        #expect(try context.isWhole())
    }
}
