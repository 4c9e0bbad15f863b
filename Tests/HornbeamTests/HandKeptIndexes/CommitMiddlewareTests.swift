// SPDX-License-Identifier: Apache-2.0
// Middleware: the changes it sees and makes, its order, how often it runs, and the outcome of the write if it throws.

import HornbeamHandKept
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam

/// Words in the order in which they were recorded.
private final class Notes: Sendable {
    private let words = Mutex<[String]>([])
    var all: [String] { words.withLock { $0 } }
    func note(_ word: String) { words.withLock { $0.append(word) } }
}

@Suite("middleware")
struct CommitMiddlewareTests {
    struct Refusal: Error {}

    @Test("runs in the order of registering, once in a write, and sees changes of earlier ones, not its own")
    func order() throws {
        let database = try LibraryTables.inMemory()
        let notes = Notes()
        let first = database.onWillCommit { context, changes in
            notes.note("first: \(changes[LibraryBook.self].inserted)")
            try LibraryBook(id: "by first").save(to: &context)
        }
        database.onWillCommit { context, changes in
            notes.note("second: \(changes[LibraryBook.self].inserted)")
            try LibraryCard(id: 7).save(to: &context)
        }
        let changes = try database.performBatchUpdates { context in
            try LibraryBook(id: "a").save(to: &context)
        }.changes
        #expect(notes.all == [#"first: ["a"]"#, #"second: ["a", "by first"]"#])
        #expect(changes[LibraryBook.self].inserted == ["a", "by first"])
        #expect(changes[LibraryCard.self].inserted == [7])
        #expect(database.remove(first))
        #expect(!database.remove(first))
        try database.write { context in try LibraryBook(id: "b").save(to: &context) }
        #expect(notes.all.dropFirst(2) == [#"second: ["b"]"#])
    }

    @Test("that throws undoes all of the write, and the next one works")
    func refusal() throws {
        let database = try LibraryTables.inMemory()
        database.keep(LibraryIndexes().allBooks)
        let refusing = database.onWillCommit { _, changes in
            if changes[LibraryBook.self].wasInserted("bad") { throw Refusal() }
        }
        #expect(throws: Refusal.self) {
            try database.write { context in
                for id in ["good", "bad"] { try LibraryBook(id: id).save(to: &context) }
            }
        }
        #expect(try database.read { try $0.table(LibraryBook.self).isEmpty && $0.indexes.allBooks.isEmpty })
        try database.write { context in try LibraryBook(id: "good").save(to: &context) }
        database.remove(refusing)
        try database.write { context in try LibraryBook(id: "bad").save(to: &context) }
        #expect(try database.read { try $0.indexes.allBooks.ids } == ["good", "bad"])
        #expect(try database.isSound())
    }

    private func occasionsInTurn() throws -> (Database, Notes) {
        let database = try LibraryTables.filled("a")
        let notes = Notes()
        try database.write { context in
            database.onWillCommit { _, changes in notes.note(changes.isEmpty ? "indexes" : "entities") }
            try LibraryBook(id: "b").save(to: &context)
        }
        #expect(notes.all == [])
        try database.write { context in try context.indexes.allBooks.append("b") }
        return (database, notes)
    }

    @Test("runs for changes of indexes alone and in asynchronous writes; registered in a write, from the next one on")
    func occasions() async throws {
        let (database, notes) = try occasionsInTurn()
        try await database.write { context in try LibraryBook(id: "c").save(to: &context) }
        #expect(notes.all == ["indexes", "entities"])
    }

    @Test("shows its changes to observers")
    func observers() throws {
        let database = try LibraryTables.filled("a")
        database.onWillCommit { context, changes in
            for id in changes[LibraryCard.self].inserted {
                try LibraryBook(id: "of \(id)").save(to: &context)
            }
        }
        let observation = Observation(StoreChangesResult(), of: database)
        observation.start()
        defer { observation.finish() }
        _ = try observation.poll()
        try database.write { context in try LibraryCard(id: 3).save(to: &context) }
        let changes = try #require(try observation.poll())
        #expect(changes[LibraryBook.self].inserted == ["of 3"])
        #expect(changes[LibraryCard.self].inserted == [3])
    }

    @Test("sees each row, even if there are more than observers can follow")
    func many() throws {
        let database = try LibraryTables.inMemory()
        database.keep(LibraryIndexes().cards) { $0.id % 2 == 0 }
        let count = 10_500
        let observation = Observation(StoreChangesResult(), of: database)
        observation.start()
        defer { observation.finish() }
        _ = try observation.poll()
        try database.write { context in
            for id in 0..<count { try context.insert(LibraryCard(id: id)) }
        }
        #expect(try database.read { try $0.indexes.cards.ids } == Array(stride(from: 0, to: count, by: 2)))
        #expect(try observation.poll()?.isComplete(for: LibraryCard.self) == false)
    }

    @Test("keeps lists in the order of the saves, without undone ones")
    func undoneSaves() throws {
        let database = try LibraryTables.inMemory()
        database.keep(LibraryIndexes().allBooks)
        database.keep(LibraryIndexes().cards, where: { $0.note != "gone" })
        try database.write { context in
            for id in ["a", "b"] { try LibraryBook(id: id).save(to: &context) }
            for id in 1...3 { try LibraryCard(id: id).save(to: &context) }
            try? context.transaction { context in
                try LibraryBook(id: "a", title: "changed").save(to: &context)
                try LibraryBook.delete(id: "a", from: &context)
                try LibraryCard.delete(id: 1, from: &context)
                throw Refusal()
            }
            try context.transaction { context in try LibraryCard(id: 2, note: "again").save(to: &context) }
        }
        #expect(try database.read { try $0.indexes.allBooks.ids } == ["a", "b"])
        #expect(try database.read { try $0.indexes.cards.ids } == [1, 3, 2])
        #expect(try database.isSound())
    }

    @Test("keeps each kind of index by rule")
    func rules() throws {
        let database = try LibraryTables.filled()
        let indexes = LibraryIndexes()
        database.keep(indexes.allBooks)
        database.keep(indexes.byAuthor) { $0.authorID.isEmpty ? nil : $0.authorID }
        database.keep(indexes.byISBN) { $0.isbn.isEmpty ? nil : $0.isbn }
        database.keep(indexes.starred, where: \.isStarred)
        database.keep(indexes.byGenre, by: \.genre)
        try database.write { context in
            // The author may be saved after the book.
            try LibraryBook(id: "a", genre: "x", isbn: "1", authorID: "A", isStarred: true).save(to: &context)
            try LibraryBook(id: "b", genre: "x", isbn: "2", authorID: "A").save(to: &context)
            for id in ["A", "B"] { try LibraryAuthor(id: id).save(to: &context) }
        }
        try database.read { (context) throws in
            let indexes = context.indexes
            #expect(try indexes.allBooks.ids == ["a", "b"] && indexes.byGenre["x"].ids == ["a", "b"])
            #expect(try indexes.byAuthor["A"].ids == ["a", "b"] && indexes.starred.ids == ["a"])
            #expect(try indexes.byISBN["1"] == "a" && indexes.byISBN.entity("2")?.id == "b")
        }
        try database.write { context in
            let books = context.table(LibraryBook.self)
            try books.update("a") { book in
                (book.genre, book.isbn, book.authorID, book.isStarred) = ("y", "", "B", false)
            }
            try books.update("b") { $0.isbn = "3" }
        }
        try database.read { (context) throws in
            let indexes = context.indexes
            #expect(try indexes.byGenre.groups() == ["x", "y"] && indexes.byAuthor["B"].ids == ["a"])
            #expect(try indexes.byISBN.keys(of: "a") == [] && indexes.byISBN.keys(of: "b") == ["3"])
            #expect(try indexes.starred.isEmpty && indexes.allBooks.ids == ["a", "b"])
        }
        func setAuthor(_ id: String) throws {
            try database.write { context in _ = try context.table(LibraryBook.self).update("a") { $0.authorID = id } }
        }
        try setAuthor("")
        #expect(try database.read { try $0.indexes.byAuthor.groups(of: "a") } == [])
        try setAuthor("B")
        #expect(try database.read { try $0.indexes.byAuthor.groups(of: "a") } == ["B"])
        // The author isn't stored: the book leaves its group and is in no other.
        try setAuthor("X")
        #expect(try database.read { try $0.indexes.byAuthor.groups(of: "a") } == [])
        #expect(try database.isSound())
    }
}
