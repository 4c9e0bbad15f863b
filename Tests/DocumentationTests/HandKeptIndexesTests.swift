// SPDX-License-Identifier: Apache-2.0
// The code of Docs/indexes.md on hand-kept indexes.

import Hornbeam
import HornbeamHandKept
import HornbeamTestSupport
import Testing

@EntityModel
struct Writer {
    let id: String
    var name = ""
}

@EntityModel
struct Novel {
    let id: String
    var title = ""
    var genre = ""
    var isbn: String?
    var writerID: String?
    var isStarred = false
}

protocol HasShelf: IndexesType { var allNovels: OrderedIDIndex<Novel> { get } }

struct ShelfIndexes: IndexesType, HasShelf {
    let allNovels = OrderedIDIndex<Novel>("allNovels")
    let byWriter = GroupByEntityIndex<Writer, Novel>("byWriter")
    let byGenre = GroupByKeyIndex<String, Novel>("byGenre")
    let byISBN = HashIDIndex<String, Novel>("byISBN")
    let starred = SetIndex<Novel>("starred")
}

extension Context {
    var indexes: HandKeptIndexes<ShelfIndexes> { indexes(of: ShelfIndexes.self) }
}

private func shelf<Declared: HasShelf>(_: Declared.Type, in context: Context) throws -> [Novel] {
    try context.indexes(of: Declared.self).allNovels.entities()
}

@Suite("Hand-kept indexes, as their page shows them")
struct HandKeptIndexesTests {
    private struct ShelfIsFull: Error {}

    private func filled() throws -> Database {
        let database = try Database.inMemory(models: Writer.self, Novel.self, handKept: ShelfIndexes())
        try database.write { (context) throws in
            try Writer(id: "austen").save(to: &context)
            for id in ["emma", "persuasion", "watsons"] { try Novel(id: id).save(to: &context) }
            try context.indexes.allNovels.append("emma")
        }
        return database
    }

    @Test("Reading and writing")
    func readingAndWriting() throws {
        let folder = try TemporaryFolder()
        let database = try Database(
            at: folder.path("shelf"), models: Writer.self, Novel.self, handKept: ShelfIndexes())
        try database.write { (context) throws in
            let novel = Novel(id: "emma", title: "Emma", genre: "romance")
            try novel.save(to: &context)
            try context.indexes.allNovels.append(novel.id)
        }
        try database.read { (context) throws in
            let allNovels = try context.indexes.allNovels
            #expect(try allNovels.count == 1)
            try allNovels.forEach { id in #expect(id == "emma") }
            #expect(try allNovels[0] == "emma")
            #expect(try context.find(in: ShelfIndexes().allNovels).map(\.title) == ["Emma"])
            #expect(try shelf(ShelfIndexes.self, in: context).map(\.id) == ["emma"])
        }
        try database.close()
        let again = try Database(at: folder.path("shelf"), models: Writer.self, Novel.self, handKept: ShelfIndexes())
        #expect(try again.read { try $0.indexes.allNovels.ids } == ["emma"])
        try again.close()
    }

    @Test("Lists, groups, hashes and sets")
    func kinds() throws {
        let database = try filled()
        try database.write { (context) throws in
            let list = try context.indexes.allNovels
            try list.insert("persuasion", at: 0)
            try list.move(from: 0, to: 1)
            #expect(try list.ids == ["emma", "persuasion"])
            try list.replaceSubrange(1..<2, with: ["persuasion", "emma"])
            #expect(try list.firstIndex(of: "emma") == 0)
            #expect(try list.indices(of: "emma") == [0, 2])
            try list.remove(at: 0)
            #expect(try list.remove("emma") == 1)
            #expect(try list.ids == ["persuasion"])

            let byWriter = try context.indexes.byWriter
            try byWriter["austen"].append("emma")
            try byWriter.update(in: "austen") { list in try list.insert("persuasion", at: 0) }
            #expect(try byWriter.groups() == ["austen"])
            #expect(try byWriter.groupCount() == 1)
            #expect(try byWriter.orderedID(in: "austen").ids == ["persuasion", "emma"])
            #expect(try byWriter.groups(of: "emma") == ["austen"])
            try byWriter.removeGroup("austen")
            #expect(try byWriter.groups().isEmpty)

            try context.indexes.byGenre.move("emma", to: "classics")
            try context.indexes.byISBN.set("emma", for: "0141439580")
            #expect(try context.indexes.byISBN["0141439580"] == "emma")
            try context.indexes.starred.formUnion(["emma", "persuasion"])
            #expect(try context.indexes.starred.sorted() == ["emma", "persuasion"])
            let classics = Novel.query(in: ShelfIndexes().byGenre, group: "classics").limit(20)
            #expect(try classics.resolve(in: context).map(\.id) == ["emma"])
            let page = try context.indexes.allNovels.query().limit(20, offset: 100_000).resolve()
            #expect(page.isEmpty)
            let starred = try context.indexes.allNovels.query().filter(\.isStarred == true)
            #expect(try starred.resolve(in: context).isEmpty)
            #expect(try starred.explain(in: context).description.contains("of list “allNovels”"))
        }
        #expect(try database.check())
    }

    @Test("A list is observed")
    func observed() async throws {
        let database = try filled()
        var shelves = database.observe(Novel.query(in: ShelfIndexes().allNovels)).makeAsyncIterator()
        #expect(try await shelves.next()?.entities.map(\.id) == ["emma"])
        try await database.write { (context) throws in try context.indexes.allNovels.insert("persuasion", at: 0) }
        #expect(try await shelves.next()?.entities.map(\.id) == ["persuasion", "emma"])
    }

    @Test("Batches and verbs")
    func batches() throws {
        let database = try filled()
        try database.write { (context) throws in _ = try context.table(Novel.self).delete("emma") }
        let updates = try database.performBatchUpdates { (context) throws in
            let novels = context.table(Novel.self)
            try novels.insert(Novel(id: "emma"))
            try novels.update("persuasion") { $0.title = "P." }
            try novels.updateIfExists("sanditon") { $0.title = "S." }
            try novels.upsert(Novel(id: "lady-susan"))
            #expect(try novels.delete("watsons"))
            return try novels.find(in: ["lady-susan", "sanditon", "emma"])
        }
        #expect(updates.value.map(\.id) == ["lady-susan", "emma"])
        #expect(updates.changes[Novel.self].inserted == ["emma", "lady-susan"])
        #expect(updates.changes[Novel.self].wasUpdated("persuasion"))
    }

    @Test("Middleware")
    func middleware() throws {
        let database = try filled()
        let middleware = database.onWillCommit { context, changes in
            for id in changes[Novel.self].inserted {
                if try context.indexes.allNovels.count >= 2 { throw ShelfIsFull() }
                try context.indexes.allNovels.append(id)
            }
        }
        try database.write { (context) throws in try Novel(id: "a").save(to: &context) }
        #expect(throws: ShelfIsFull.self) {
            try database.write { (context) throws in try Novel(id: "b").save(to: &context) }
        }
        #expect(database.remove(middleware))
        let indexes = ShelfIndexes()
        database.keep(indexes.allNovels)
        database.keep(indexes.byGenre, by: \.genre)
        database.keep(indexes.byWriter) { $0.writerID }
        database.keep(indexes.byISBN) { $0.isbn }
        database.keep(indexes.starred, where: \.isStarred)
        try database.write { (context) throws in
            try Novel(id: "c", genre: "g", isbn: "1", writerID: "austen", isStarred: true).save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try context.indexes.allNovels.ids == ["emma", "a", "c"])
            #expect(try context.indexes.byGenre["g"].ids == ["c"])
            #expect(try context.indexes.byWriter["austen"].ids == ["c"])
            #expect(try context.indexes.byISBN["1"] == "c")
            #expect(try context.indexes.starred.contains("c"))
        }
    }
}
