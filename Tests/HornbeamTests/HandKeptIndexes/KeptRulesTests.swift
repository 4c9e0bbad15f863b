// SPDX-License-Identifier: Apache-2.0
// Rules that keep indexes, and groups whose owners are deleted and saved again: an entity can be saved whether its
// group's owner is stored or not.

import HornbeamHandKept
import Testing

@testable import Hornbeam

@Suite("Rules for groups of entities")
struct KeptRulesTests {
    private func database() throws -> Database {
        let database = try LibraryTables.inMemory()
        database.keep(LibraryIndexes().byAuthor) { $0.authorID.isEmpty ? nil : $0.authorID }
        return database
    }

    private func groups(of id: String, in database: Database) throws -> [String] {
        try database.read { try $0.indexes.byAuthor.groups(of: id) }
    }

    @Test("a member whose group was deleted is saved, in no group")
    func deletedGroup() throws {
        let database = try database()
        try database.write { context in
            try LibraryAuthor(id: "austen").save(to: &context)
            try LibraryBook(id: "emma", authorID: "austen").save(to: &context)
        }
        #expect(try groups(of: "emma", in: database) == ["austen"])
        try database.write { context in
            try LibraryAuthor.delete(id: "austen", from: &context)
        }
        try database.write { context in
            var book = try #require(try context.find("emma") as LibraryBook?)
            book.title = "Emma"
            try book.save(to: &context)
        }
        #expect(try database.read { try $0.find("emma") as LibraryBook? }?.title == "Emma")
        #expect(try groups(of: "emma", in: database) == [])
        #expect(try database.isSound())
    }

    @Test("a member of a group that was never stored is saved, and leaves the group that it was in")
    func unknownGroup() throws {
        let database = try database()
        try database.write { context in
            try LibraryAuthor(id: "austen").save(to: &context)
            try LibraryBook(id: "emma", authorID: "austen").save(to: &context)
            try LibraryBook(id: "lost", authorID: "nobody").save(to: &context)
        }
        #expect(try groups(of: "lost", in: database) == [])
        try database.write { context in try LibraryBook(id: "emma", authorID: "nobody").save(to: &context) }
        #expect(try groups(of: "emma", in: database) == [])
        #expect(try database.read { try $0.indexes.byAuthor.count } == 0)
        #expect(try database.isSound())
    }

    @Test("the group counts if it is stored when the write ends")
    func groupOfTheSameWrite() throws {
        let database = try database()
        try database.write { context in
            try LibraryBook(id: "emma", authorID: "austen").save(to: &context)
            try LibraryAuthor(id: "austen").save(to: &context)
        }
        #expect(try groups(of: "emma", in: database) == ["austen"])
        try database.write { context in
            try LibraryBook(id: "emma", title: "Emma", authorID: "austen").save(to: &context)
            try LibraryAuthor.delete(id: "austen", from: &context)
        }
        #expect(try groups(of: "emma", in: database) == [])
        // The group is stored again. Its members come back to it with their next saves.
        try database.write { context in try LibraryAuthor(id: "austen").save(to: &context) }
        #expect(try groups(of: "emma", in: database) == [])
        try database.write { context in
            try LibraryBook(id: "emma", title: "E.", authorID: "austen").save(to: &context)
        }
        #expect(try groups(of: "emma", in: database) == ["austen"])
        // A program that puts an id itself gets an error, as before.
        let code = codeThrown {
            try database.write { try $0.indexes.byAuthor.move("emma", to: "nobody") }
        }
        #expect(code == .notStored)
        #expect(try database.isSound())
    }
}
