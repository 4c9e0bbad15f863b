// SPDX-License-Identifier: Apache-2.0
// The examples of VergeORM's document of indexes, in this library's spelling, and the meaning of its features on a
// disk. (The compiler ensures that ids of different types can't be mixed, V1, and that generic code compiles only
// with the index it needs, V18: see RefusalTests.)

import HornbeamHandKept
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@Suite("VergeORM's document")
struct VergeDocumentTests {
    @Test("Entities, by table: all, by id, by ids")
    func entities() throws {
        let database = try LibraryTables.filled("a", "b", "c")
        try database.read { (context) throws in
            let books = context.table(LibraryBook.self)
            #expect(try books.all().map(\.id) == ["a", "b", "c"])
            #expect(try books.find(by: "b")?.title == "b")
            #expect(try books.find(in: ["c", "a"]).map(\.id) == ["c", "a"])
        }
    }

    @Test("Read index: count, forEach, by location; the entities of it")
    func readIndex() throws {
        let database = try LibraryTables.filled("a", "b", "c")
        try database.read { (context) throws in
            let allBooks = try context.indexes.allBooks
            #expect(try allBooks.count == 3)
            var ids: [String] = []
            try allBooks.forEach { id in ids.append(id) }
            #expect(ids == ["a", "b", "c"])
            let id: LibraryBook.ID = try allBooks[0]
            #expect(id == "a")
            let books: [LibraryBook] = try context.table(LibraryBook.self).find(in: context.indexes.allBooks)
            #expect(books.map(\.id) == ["a", "b", "c"])
        }
    }

    @Test("Write index: performBatchUpdates")
    func writeIndex() throws {
        let database = try LibraryTables.inMemory()
        let updates = try database.performBatchUpdates { (context) -> LibraryBook in
            let book = LibraryBook(id: "a", authorID: LibraryAuthor.anonymous.id)
            try book.save(to: &context)
            try context.indexes.allBooks.append(book.id)
            return book
        }
        #expect(updates.value.id == "a")
        #expect(updates.changes[LibraryBook.self].inserted == ["a"])
        #expect(try database.read { try $0.indexes.allBooks.ids } == ["a"])
    }

    @Test("a type that the database was opened without, and an index over one, are refused")
    func unknownTypes() throws {
        let database = try Database.inMemory(models: LibraryCard.self)
        let code = try database.read { context in codeThrown { _ = try context.table(LibraryBook.self).all() } }
        #expect(code == .unregisteredEntity)
        #expect(codeThrown { try database.register(LibraryIndexes()) } == .unregisteredEntity)
    }

    @Test("find(in:) keeps the order of the ids, skips unknown ones, repeats repeated ones")
    func findIn() throws {
        try LibraryTables.filled("a", "b", "c").read { (context) throws in
            let books = context.table(LibraryBook.self)
            #expect(try books.find(in: ["c", "x", "a", "c"]).map(\.id) == ["c", "a", "c"])
            #expect(try books.count == 3 && !books.isEmpty && books.allIDs == ["a", "b", "c"])
        }
    }

    struct Refusal: Error {}

    @Test("a batch that throws leaves entities, indexes and the version as they were")
    func batchThatThrows() throws {
        let database = try LibraryTables.filled("a")
        let version = try database.version
        #expect(throws: Refusal.self) {
            try database.performBatchUpdates { context in
                for id in ["x", "y", "z"] {
                    try LibraryBook(id: id).save(to: &context)
                    try context.indexes.allBooks.insert(id, at: 0)
                    try context.indexes.byGenre["of a"].append(id)
                    try context.indexes.byISBN.set(id, for: "a")
                    try context.indexes.starred.insert(id)
                }
                try LibraryAuthor.delete(id: "by a", from: &context)
                throw Refusal()
            }
        }
        #expect(try database.version == version)
        try database.read { (context) throws in
            let indexes = context.indexes
            #expect(try context.table(LibraryBook.self).allIDs == ["a"])
            #expect(try indexes.allBooks.ids == ["a"] && indexes.byGenre["of a"].ids == ["a"])
            #expect(try indexes.byISBN["a"] == "a" && indexes.starred.ids == ["a"])
            #expect(try indexes.byAuthor["by a"].ids == ["a"])
        }
        #expect(try database.isSound())
    }

    @Test("a batch sees its own changes")
    func readYourWrites() throws {
        try LibraryTables.filled("a", "b").write { (context) throws in
            let books = context.table(LibraryBook.self)
            try books.delete("a")
            #expect(try books.find(by: "a") == nil)
            try books.update("b") { $0.title = "new" }
            #expect(try books.find(in: ["a", "b"]).map(\.title) == ["new"])
            #expect(try LibraryBook.filter(\.title == "new").resolve(in: context).map(\.id) == ["b"])
            #expect(try context.indexes.allBooks.ids == ["b"])
        }
    }

    @Test("insert, update, upsert and delete, each with its requirement")
    func editVerbs() throws {
        let database = try LibraryTables.filled("a")
        try database.write { context in
            let books = context.table(LibraryBook.self)
            #expect(codeThrown { try books.insert(LibraryBook(id: "a")) } == .alreadyStored)
            #expect(codeThrown { try books.update("x") { $0.title = "x" } } == .notStored)
            #expect(try books.updateIfExists("x") { $0.title = "x" } == nil)
            #expect(try books.find(by: "x") == nil)
            try books.insert(LibraryBook(id: "b"))
            try books.upsert(LibraryBook(id: "b", title: "B"))
            try books.upsert(LibraryBook(id: "c"))
            #expect(try books.update("b") { $0.genre = "new" } == LibraryBook(id: "b", title: "B", genre: "new"))
            let unchanged = codeThrown { try books.update("b") { $0 = LibraryBook(id: "z") } }
            #expect(unchanged == .identityChanged)
            #expect(try books.find(by: "z") == nil)
            #expect(try !books.delete("x"))
            #expect(try books.delete("c"))
            // All or none.
            #expect(
                codeThrown { try books.insert(contentsOf: ["d", "a"].map { LibraryBook(id: $0) }) } == .alreadyStored)
            #expect(try books.allIDs == ["a", "b"])
            // An entity that is inserted, deleted and inserted again is one row.
            try books.insert(LibraryBook(id: "e"))
            try books.delete(LibraryBook(id: "e"))
            try books.insert(LibraryBook(id: "e"))
            #expect(try books.allIDs.count { $0 == "e" } == 1)
            #expect(try books.delete(["e", "x"]) == 1)
            #expect(try books.deleteAll() == 2)
            #expect(try books.isEmpty)
        }
        #expect(try database.isSound())
    }

    @Test("a batch returns the ids that it inserted, updated and deleted")
    func updateResult() throws {
        let database = try LibraryTables.filled("a", "b", "c", "d")
        let changes = try database.performBatchUpdates { context in
            let books = context.table(LibraryBook.self)
            try books.insert(LibraryBook(id: "new"))
            try books.insert(LibraryBook(id: "came and went"))
            try books.delete("came and went")
            try books.update("a") { $0.title = "other" }
            try books.update("b") { $0.title = "b" }
            try books.delete("c")
            // An entity that is deleted and saved again counts as one update.
            try books.delete("d")
            try books.insert(LibraryBook(id: "d"))
        }.changes
        let books = changes[LibraryBook.self]
        #expect(books.inserted == ["new"])
        #expect(Set(books.updated) == ["a", "d"])
        #expect(books.deleted == ["c"])
        #expect(books.wasInserted("new") && books.wasUpdated("a") && books.wasDeleted("c"))
        #expect(!books.contains("b") && !books.contains("came and went") && books.contains("d"))
        #expect(changes[LibraryAuthor.self].isEmpty && changes[LibraryCard.self].isEmpty)
        let nothing = try database.performBatchUpdates { _ in }.changes
        #expect(nothing.isEmpty)
    }

    @Test("a group of an entity is removed with it, and is not listed when its last id is removed")
    func groupByEntity() throws {
        let database = try LibraryTables.filled("a", "b")
        try database.write { context in
            let groups = try context.indexes.byAuthor
            try groups.update(in: "by a") { list in try list.append("b") }
            #expect(try groups.orderedID(in: "by a").ids == ["a", "b"])
            #expect(Set(try groups.groups()) == ["by a", "by b"])
            // The author's own books, which are in its relation, aren't members: only the list is deleted.
            try LibraryAuthor.delete(id: "by a", from: &context)
            #expect(try groups.groups() == ["by b"] && groups.groupCount() == 1)
            #expect(try groups["by a"].ids == [] && groups["by a"].count == 0)
            #expect(codeThrown { try groups["by a"].append("a") } == .notStored)
            #expect(try context.indexes.allBooks.ids == ["a", "b"])
            try LibraryBook.delete(id: "b", from: &context)
            #expect(try groups.groups() == [] && groups.isEmpty)
            // An author who gets that id later begins without books.
            try LibraryAuthor(id: "by a").save(to: &context)
            #expect(try groups["by a"].isEmpty)
        }
        #expect(try database.isSound())
    }

    @Test("a group by a key follows a rule as the key changes")
    func groupByKey() throws {
        let database = try LibraryTables.filled("a", "b")
        database.keep(LibraryIndexes().byGenre, by: \.genre)
        try database.write { context in
            try context.table(LibraryBook.self).update("a") { $0.genre = "of b" }
            try context.table(LibraryBook.self).update("b") { $0.title = "as before" }
        }
        try database.read { (context) throws in
            #expect(try context.indexes.byGenre.groups() == ["of b"])
            #expect(try context.indexes.byGenre["of b"].ids == ["b", "a"])
        }
        #expect(try database.isSound())
    }

    @Test("a set follows a condition in the commit that changes it")
    func conditionalSet() throws {
        let database = try LibraryTables.inMemory()
        database.keep(LibraryIndexes().starred) { $0.isStarred }
        func star(_ id: String, _ isStarred: Bool) throws -> [String] {
            try database.write { context in try LibraryBook(id: id, isStarred: isStarred).save(to: &context) }
            return try database.read { try $0.indexes.starred.sorted() }
        }
        #expect(try star("b", true) == ["b"])
        #expect(try star("a", true) == ["a", "b"])
        #expect(try star("b", false) == ["a"])
        try database.write { context in
            let set = try context.indexes.starred
            try set.formUnion(["a", "b"])
            #expect(try set.ids == ["b", "a"] && set.sorted() == ["a", "b"])
            try set.subtract(["a", "x"])
            #expect(try set.union(["a"]) == ["a", "b"] && set.subtracting(["b"]).isEmpty)
            try set.formIntersection(["a"])
            #expect(try set.isEmpty && !set.contains("b"))
        }
    }

    @Test("a deleted entity leaves all indexes: by id, by cascade, raw; and stays out when it is restored")
    func deletion() throws {
        let database = try LibraryTables.filled("a", "b", "c", "d")
        try database.write { context in
            try LibraryAuthor(id: "of both", books: .relation([LibraryBook(id: "b"), LibraryBook(id: "c")]))
                .save(to: &context)
            try context.remove(LibraryBook.self, id: "a")
            try LibraryAuthor.delete(id: "of both", from: &context)
            #expect(try context.table(LibraryBook.self).allIDs == ["d"])
            try Deleted<LibraryBook>.query("b").resolve(in: context)?.restore(in: &context)
            #expect(try context.table(LibraryBook.self).find(by: "b") != nil)
            let indexes = context.indexes
            #expect(try indexes.allBooks.ids == ["d"] && indexes.starred.ids == ["d"])
            #expect(try indexes.byGenre.groups() == ["of d"] && indexes.byAuthor.groups() == ["by d"])
            #expect(try indexes.byISBN.count == 1 && indexes.byISBN["b"] == nil)
        }
        #expect(try database.isSound())
    }

    @Test("the entities of an index, in its order, as an array and as a query that is observed")
    func indexToEntities() throws {
        let indexes = LibraryIndexes()
        let database = try LibraryTables.filled("a", "b", "c")
        let observation = Observation(ListResult(LibraryBook.query(in: indexes.allBooks)), of: database)
        observation.start()
        defer { observation.finish() }
        #expect(try observation.poll()?.entities.map(\.id) == ["a", "b", "c"])
        try database.write { context in
            try context[indexes.allBooks].move(from: 2, to: 0)
            try LibraryBook.delete(id: "a", from: &context)
            try context[indexes.byGenre]["mine"].append(contentsOf: ["b", "c"])
            try context[indexes.byAuthor]["by c"].append("b")
        }
        #expect(try observation.poll()?.entities.map(\.id) == ["c", "b"])
        try database.read { (context) throws in
            #expect(try context.find(in: indexes.allBooks).map(\.id) == ["c", "b"])
            #expect(try context.find(in: indexes.starred).map(\.id) == ["b", "c"])
            #expect(
                try LibraryBook.query(in: indexes.byGenre, group: "mine").resolve(in: context).map(\.id) == ["b", "c"])
            #expect(try LibraryBook.query(in: indexes.byAuthor, group: "by c").limit(1).resolve(in: context).count == 1)
            let sorted = LibraryBook.query(in: indexes.starred).sorted(by: \.title.desc)
            #expect(try sorted.resolve(in: context).map(\.id) == ["c", "b"])
        }
    }

    @Test("a write that changes nothing leaves the version, and writes nothing to the medium")
    func nothingChanged() throws {
        let disk = try SimulatedDisk()
        let database = try LibraryTables.open(disk)
        try database.write { context in try LibraryCard(id: 1).save(to: &context) }
        database.onWillCommit { _, _ in Issue.record("there is nothing to commit") }
        let (version, calls) = (try database.version, disk.calls)
        try database.write { context in
            #expect(try context.version == version)
            #expect(try context.find(1) == LibraryCard(id: 1))
            #expect(try context.indexes.cards.isEmpty)
            try LibraryCard.delete(id: 2, from: &context)
        }
        #expect(try database.version == version)
        #expect(disk.calls == calls)
        #expect(try database.read { try $0.version } == version)
    }

    @Test("an observed entity is reported with its last value when it is deleted")
    func observedEntity() throws {
        let database = try LibraryTables.filled("a")
        let observation = Observation(EntityResult(LibraryBook.query("a")), of: database)
        observation.start()
        defer { observation.finish() }
        let first = try #require(try observation.poll())
        #expect(first.isLive && first.entity?.title == "a")
        try database.write { context in _ = try context.table(LibraryBook.self).update("a") { $0.title = "last" } }
        try database.write { context in try LibraryBook.delete(id: "a", from: &context) }
        let gone = try #require(try observation.poll())
        #expect(!gone.isLive && gone.entity != nil)
        #expect(try observation.poll() == nil)
    }
}
