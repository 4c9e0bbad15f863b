// SPDX-License-Identifier: Apache-2.0
// Entities and indexes of the tests of hand-kept indexes.

import HornbeamHandKept
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
struct LibraryAuthor: Equatable {
    let id: String
    var name = ""

    @Relationship(deleteRule: .cascade, inverse: \.author) var books: [LibraryBook]?

    static func == (left: Self, right: Self) -> Bool { left.id == right.id && left.name == right.name }

    static let anonymous = LibraryAuthor(id: "anonymous", name: "Anonymous")
}

@EntityModel
struct LibraryBook: Equatable {
    let id: String
    var title = ""
    var genre = ""
    var isbn = ""
    var authorID = LibraryAuthor.anonymous.id
    var isStarred = false

    @Relationship(inverse: \.books) var author: LibraryAuthor?

    static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.title == right.title && left.genre == right.genre && left.isbn == right.isbn
            && left.authorID == right.authorID && left.isStarred == right.isStarred
    }
}

/// An entity whose ids are row ids.
@EntityModel
struct LibraryCard: Equatable {
    let id: Int
    var note = ""
}

struct LibraryIndexes: IndexesType {
    let allBooks = OrderedIDIndex<LibraryBook>("allBooks")
    let byAuthor = GroupByEntityIndex<LibraryAuthor, LibraryBook>("byAuthor")
    let byGenre = GroupByKeyIndex<String, LibraryBook>("byGenre")
    let byISBN = HashIDIndex<String, LibraryBook>("byISBN")
    let starred = SetIndex<LibraryBook>("starred")
    let cards = OrderedIDIndex<LibraryCard>("cards")
}

extension Context {
    var indexes: HandKeptIndexes<LibraryIndexes> { indexes(of: LibraryIndexes.self) }
}

enum LibraryTables {
    static let models: [any EntityModelProtocol.Type] = [LibraryAuthor.self, LibraryBook.self, LibraryCard.self]

    static func inMemory() throws -> Database {
        try Database.inMemory(
            models: LibraryAuthor.self, LibraryBook.self, LibraryCard.self, keepsDeleted: .forever,
            handKept: LibraryIndexes())
    }

    /// - Parameter declares: whether the program that opens the file declares the indexes.
    static func open(_ disk: SimulatedDisk, declares: Bool = true) throws -> Database {
        let opening = SchemaOpening(models: try ModelSet(models))
        let database = try Database(opening) { () throws(StorageError) in try TreeStore.open(file: disk) }
        if declares { try database.register(LibraryIndexes()) }
        return database
    }

    /// Returns a database with books with these ids, in all indexes: in the list in this order, each by an author and
    /// in a genre of its own, with its id as its number, and starred.
    static func filled(_ ids: String...) throws -> Database {
        let database = try inMemory()
        try database.write { context in
            for id in ids {
                try LibraryAuthor(id: "by \(id)").save(to: &context)
                try LibraryBook(id: id, title: id, genre: "of \(id)", isbn: id, authorID: "by \(id)").save(to: &context)
                try context.indexes.allBooks.append(id)
                try context.indexes.byAuthor["by \(id)"].append(id)
                try context.indexes.byGenre["of \(id)"].append(id)
                try context.indexes.byISBN.set(id, for: id)
                try context.indexes.starred.insert(id)
            }
        }
        return database
    }
}

extension Database {
    /// Returns whether the database is sound. Records an issue for each problem.
    func isSound(_ location: SourceLocation = #_sourceLocation) throws -> Bool {
        try check { Issue.record("\($0)", sourceLocation: location) }
    }
}

/// Returns the code of the error that `body` throws.
func codeThrown(by body: () throws -> Void) -> HornbeamError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? HornbeamError)?.code
    }
}
