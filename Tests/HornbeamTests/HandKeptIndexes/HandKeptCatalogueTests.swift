// SPDX-License-Identifier: Apache-2.0
// Hand-kept indexes in the file: they are declared, listed, refused, renamed with their types, dropped, checked, and
// cut short by a crash.

import Foundation
import HornbeamHandKept
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

/// The declaration of a single index.
private struct Just<Index: HandKeptIndex>: IndexesType {
    private let index: Index?

    init() { index = nil }
    init(_ index: Index) { self.index = index }
}

@Suite("Hand-kept indexes in the file")
struct HandKeptCatalogueTests {
    @Test("are listed with the registered ones, and dropped by their name")
    func listing() throws {
        let database = try LibraryTables.filled("a", "b")
        let listed = try database.registeredIndexes()
        #expect(listed.map(\.name) == ["allBooks", "byAuthor", "byGenre", "byISBN", "cards", "starred"])
        #expect(listed.map(\.kind) == ["orderedIDs", "groupsByEntity", "groupsByKey", "hash", "orderedIDs", "set"])
        #expect(listed.map(\.entries) == [2, 2, 2, 2, 0, 2])
        #expect(listed.allSatisfy { $0.state == .current })
        #expect(listed[1].settings == ["group": "LibraryAuthor"])
        #expect(try database.unregister("byGenre"))
        try database.write { context in try LibraryBook.delete(id: "a", from: &context) }
        let code = try database.read { context in codeThrown { _ = try context.indexes.byGenre } }
        #expect(code == .indexNotReady)
        // The dropped index begins empty.
        try database.register(LibraryIndexes())
        #expect(try database.read { try $0.indexes.byGenre.isEmpty && $0.indexes.allBooks.ids == ["b"] })
        let trees = try database.store.beginRead()
        defer { trees.abort() }
        #expect(try trees.treeNames().count { $0.contains("byGenre") } == 2)
    }

    @Test("of another kind, over another type, or with other keys under a name are refused, and stay as they are")
    func mismatches() throws {
        let database = try LibraryTables.filled("a")
        func code(_ index: some HandKeptIndex) throws -> [HornbeamError.Code?] {
            let reading = try database.read { context in codeThrown { _ = try context[index] } }
            return [codeThrown { try database.register(Just(index)) }, reading]
        }
        let refused: [HornbeamError.Code?] = [.indexMismatch, .indexMismatch]
        #expect(try code(SetIndex<LibraryBook>("allBooks")) == refused)
        #expect(try code(OrderedIDIndex<LibraryCard>("allBooks")) == refused)
        #expect(try code(GroupByKeyIndex<Int, LibraryBook>("byGenre")) == refused)
        #expect(try code(GroupByEntityIndex<LibraryCard, LibraryBook>("byAuthor")) == refused)
        #expect(try code(HashIDIndex<UUID, LibraryBook>("byISBN")) == refused)
        let map = MapIndex("allBooks", version: "1") { (book: LibraryBook, emit: inout MapEmitter<NoValue>) in
            emit(key: .string(book.title))
        }
        #expect(codeThrown { try database.register(map) } == .indexMismatch)
        #expect(try database.read { try $0.indexes.allBooks.ids } == ["a"])
        // An optional key has the form of a non-optional one.
        #expect(try code(GroupByKeyIndex<String?, LibraryBook>("byGenre")) == [nil, nil])
        #expect(codeThrown { try database.register(Just(SetIndex<LibraryBook>(""))) } == .invalid)
        #expect(codeThrown { try database.register(Just(SetIndex<LibraryBook>("e\u{301}"))) } == .invalid)
    }

    @Test("two of one name are refused")
    func twice() throws {
        struct Twice: IndexesType {
            let first = SetIndex<LibraryCard>("cards")
            let second = SetIndex<LibraryCard>("cards")
        }
        let database = try Database.inMemory(models: LibraryCard.self)
        #expect(codeThrown { try database.register(Twice()) } == .invalid)
        #expect(try database.registeredIndexes().isEmpty)
    }

    @Test("keys of any type come back as they were, in their order; too long ones are refused")
    func keys() throws {
        func roundTrip<Key: IndexKey & Equatable>(_ keys: [Key]) throws {
            let index = GroupByKeyIndex<Key, LibraryCard>("keys")
            let database = try Database.inMemory(models: LibraryCard.self)
            try database.register(Just(index))
            try database.write { context in
                try LibraryCard(id: 1).save(to: &context)
                for key in keys.reversed() { try context[index][key].append(1) }
            }
            #expect(try database.read { try $0[index].groups() } == keys)
            #expect(try database.isSound())
        }
        try roundTrip([false, true])
        try roundTrip([Int8.min, -1, 0, .max])
        try roundTrip([Int16.min, -1, 0, .max])
        try roundTrip([Int32.min, -1, 0, .max])
        try roundTrip([Int.min, -1, 0, .max])
        try roundTrip([UInt8.min, 1, .max])
        try roundTrip([UInt16.min, 1, .max])
        try roundTrip([UInt32.min, 1, .max])
        try roundTrip([UInt64.min, 1, .max])
        try roundTrip([-Float.infinity, -1, 0, 1.5, .infinity])
        try roundTrip([-Double.infinity, -1, 0, 1.5, .infinity])
        try roundTrip([nil, "", "\0", "a", "a\0b", "é", "日本"] as [String?])
        try roundTrip([Date.distantPast, .distantFuture])
        try roundTrip([Data(), Data([0]), Data([0, 1]), Data([1]), Data([255, 255])])
        try roundTrip([nil, Decimal(string: "-12.5"), 0, Decimal(string: "0.001"), Decimal(string: "1e30")])
        try roundTrip([UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))])
        try roundTrip([URL(string: "https://a.example")])

        let hashed = HashIDIndex<String, LibraryCard>("hashed")
        let database = try Database.inMemory(models: LibraryCard.self)
        try database.register(Just(hashed))
        try database.write { context in
            try LibraryCard(id: 1).save(to: &context)
            let longest = String(repeating: "x", count: KeptTrees.maximumKey - 2)
            try context[hashed].set(1, for: longest)
            #expect(try context[hashed][longest] == 1)
            #expect(codeThrown { try context[hashed].set(1, for: longest + "x") } == .tooLarge)
            #expect(codeThrown { try context[hashed].set(2, for: "a") } == .notStored)
        }
    }

    @Test("a context without a database makes them on request")
    func bareContext() throws {
        var context = Context()
        try LibraryBook(id: "a").save(to: &context)
        try context.indexes.allBooks.append("a")
        try LibraryCard(id: 1).save(to: &context)
        try context.indexes.cards.append(1)
        try LibraryBook.delete(id: "a", from: &context)
        #expect(try context.indexes.allBooks.isEmpty && context.indexes.cards.ids == [1])
    }

    @Test("are renamed with their types, and dropped with them")
    func migrations() throws {
        let disk = try SimulatedDisk()
        var database = try LibraryTables.open(disk)
        try database.write { context in
            try LibraryAuthor(id: "A").save(to: &context)
            try LibraryBook(id: "a").save(to: &context)
            try context.indexes.byAuthor["A"].append("a")
            try context.indexes.allBooks.append("a")
            try LibraryCard(id: 1).save(to: &context)
            try context.indexes.cards.append(1)
        }
        try database.close()
        database = try MigratedFile.open(
            disk, [LaterWriter.self, LaterVolume.self],
            [
                .rename("LibraryAuthor", to: LaterWriter.self), .rename("LibraryBook", to: LaterVolume.self),
                .drop("LibraryCard"),
            ])
        #expect(try database.isSound())
        #expect(!(try database.registeredIndexes().contains { $0.name == "cards" }))
        let byWriter = GroupByEntityIndex<LaterWriter, LaterVolume>("byAuthor")
        try database.read { (context) throws in
            #expect(try context[byWriter]["A"].ids == ["a"])
            #expect(try context[OrderedIDIndex<LaterVolume>("allBooks")].ids == ["a"])
        }
        // Deletions still update them.
        try database.write { context in try LaterWriter.delete(id: "A", from: &context) }
        #expect(try database.read { try $0[byWriter].isEmpty })
        #expect(try database.isSound())
    }

    @Test("to delete an entity touches few pages of a large hash index")
    func deletionIsLocal() throws {
        let disk = try SimulatedDisk()
        let database = try LibraryTables.open(disk)
        try database.write { context in
            for id in 0..<20_000 {
                try context.insert(LibraryBook(id: "\(id)"))
                try context.indexes.byISBN.set("\(id)", for: "isbn \(id)")
            }
        }
        try database.checkpoint()
        let before = database.statistics.dirtyBytes
        try database.write { context in try context.remove(LibraryBook.self, id: "7") }
        let pages = Int(database.statistics.dirtyBytes - before) / database.statistics.pageSize
        // Row, id, entry and place: a path of three or four pages each, and the catalogue's path.
        #expect(pages <= 24, "\(pages) pages")
        #expect(try database.read { try $0.indexes.byISBN["isbn 7"] } == nil)
        #expect(try database.read { try $0.indexes.byISBN.count } == 19_999)
    }

    @Test("the check finds entries without places, places without entries, and ids that aren't stored")
    func damage() throws {
        func problems(_ damage: (Transaction) throws -> Void) throws -> [String] {
            let database = try LibraryTables.filled("a", "b")
            let write = try database.store.beginWrite()
            try damage(write)
            try write.commit()
            var problems: [String] = []
            try database.check { problems.append($0) }
            // All of this damage can be repaired.
            for index in try database.registeredIndexes() { try database.repair(handKept: index.name) }
            #expect(try database.isSound())
            return problems
        }
        func tree(_ name: String, _ write: Transaction) throws -> TreeID { try #require(try write.tree(name)) }
        func first(_ name: String, _ write: Transaction) throws -> [UInt8] {
            var cursor = try write.cursor(try tree(name, write))
            #expect(try cursor.next())
            return Array(cursor.key)
        }
        #expect(try problems { _ in } == [])
        let book = "LibraryBook"
        #expect(
            try problems { _ = try $0.delete(try tree("m:\(book):allBooks", $0), try first("m:\(book):allBooks", $0)) }
                .contains { $0.contains("1 entries, and 2 places") })
        #expect(
            try problems { _ = try $0.delete(try tree("p:\(book):byGenre", $0), try first("p:\(book):byGenre", $0)) }
                .contains { $0.contains("not among its places") })
        #expect(
            try problems { try $0.put(try tree("m:\(book):starred", $0), RowID(rawValue: 99).key, []) }
                .contains { $0.contains("not stored") })
        #expect(
            try problems { try $0.put(try tree("m:\(book):byISBN", $0), [9], RowID.firstAssigned.stored) }
                .contains { $0.contains("not readable") })
        #expect(
            try problems { try $0.put(try tree("m:\(book):byISBN", $0), [9], [1]) }
                .contains { $0.contains("names no row") })
        #expect(
            try problems {
                let key = RowID(rawValue: 5).key + RowID(rawValue: 1).key
                try $0.put(try tree("m:\(book):byAuthor", $0), key, RowID.firstAssigned.stored)
            }.contains { $0.contains("group that is not stored") })
        #expect(
            try problems { _ = try $0.dropTree("p:\(book):allBooks") }.contains { $0.contains("lacks its tree") })
    }

    @Test("a repair removes invalid entries, leaves the rest in its order, and returns the number of removed ones")
    func repair() throws {
        let database = try LibraryTables.filled("a", "b", "c")
        let write = try database.store.beginWrite()
        let entries = try #require(try write.tree("m:LibraryBook:allBooks"))
        try write.put(entries, [1], RowID.firstAssigned.stored)
        try write.put(entries, RowID(rawValue: 7).key, RowID(rawValue: 1).stored)
        _ = try write.dropTree("p:LibraryBook:allBooks")
        try write.commit()
        #expect(try database.repair(handKept: "allBooks") == 2)
        #expect(try database.repair(handKept: "allBooks") == 0)
        try database.write { context in
            #expect(try context.indexes.allBooks.ids == ["a", "b", "c"])
            try LibraryBook.delete(id: "b", from: &context)
            #expect(try context.indexes.allBooks.ids == ["a", "c"])
        }
        #expect(try database.isSound())
        #expect(codeThrown { try database.repair(handKept: "unknown") } == .indexNotReady)
    }

    /// Opens the file with the indexes, and edits indexes and entities in two writes. Returns the number of finished
    /// steps.
    private func live(_ disk: SimulatedDisk) -> Int {
        var done = 0
        do {
            let database = try LibraryTables.open(disk)
            done = 1
            try database.write { context in
                for id in ["a", "b", "c"] {
                    try LibraryBook(id: id).save(to: &context)
                    try context.indexes.allBooks.insert(id, at: 0)
                    try context.indexes.byGenre["g"].append(id)
                    try context.indexes.byISBN.set(id, for: "last")
                }
            }
            done = 2
            try database.write { context in
                try LibraryBook.delete(id: "c", from: &context)
                try context.indexes.allBooks.move(from: 0, to: 1)
                try context.indexes.starred.insert("a")
            }
            done = 3
            try database.close()
        } catch {}
        return done
    }

    @Test("a crash at any call leaves entities and indexes as one of the writes left them", .seeded)
    func crashes() throws {
        let start = try SimulatedDisk()
        // The file lacks the indexes, so that the crash can interrupt their creation too.
        try LibraryTables.open(start, declares: false).close()
        var seen: Set<[String]> = []
        try SimulatedDisk.crashAtEveryCall(of: start.killedImage(), live) { image, done, place in
            let database = try LibraryTables.open(try SimulatedDisk(image: image))
            #expect(try database.check { Issue.record("\($0), \(place)") }, place)
            let (list, group, last, starred) = try database.read { context in
                let indexes = context.indexes
                return try (indexes.allBooks.ids, indexes.byGenre["g"].ids, indexes.byISBN["last"], indexes.starred.ids)
            }
            seen.insert(list)
            let states = [[], ["c", "b", "a"], ["a", "b"]]
            #expect(list == states[max(done - 1, list.isEmpty ? 0 : list.count == 3 ? 1 : 2)], place)
            #expect(group == (list.isEmpty ? [] : list.count == 3 ? ["a", "b", "c"] : ["a", "b"]), place)
            #expect(last == (list.count == 3 ? "c" : nil), place)
            #expect(starred == (list.count == 2 ? ["a"] : []), place)
            try database.close()
        }
        #expect(seen == [[], ["c", "b", "a"], ["a", "b"]])
    }

    @Test("damaged parts give an error where they are read, never a trap", arguments: SeededGenerator.seeds(4))
    func hostile(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<60 {
            let database = try LibraryTables.filled("a", "b", "c")
            let write = try database.store.beginWrite()
            for name in ["allBooks", "byAuthor", "byGenre", "byISBN", "starred"] {
                for prefix in ["m", "p"] {
                    guard let tree = try write.tree("\(prefix):LibraryBook:\(name)") else { continue }
                    if random.oneIn(3) { try write.put(tree, random.bytes(1 + random.below(24)), random.bytes(8)) }
                    if random.oneIn(3) {
                        let key = RowID.firstAssigned.key + random.bytes(random.below(20))
                        try write.put(tree, key, random.oneIn(2) ? RowID.firstAssigned.stored : [])
                    }
                }
            }
            try write.commit()
            try database.check()
            try? database.write { context in
                let indexes = context.indexes
                _ = try? indexes.allBooks.ids
                _ = try? indexes.allBooks[1]
                _ = try? indexes.allBooks.indices(of: "a")
                try? indexes.allBooks.insert(contentsOf: ["a", "b"], at: 1)
                try? indexes.allBooks.removeSubrange(0..<2)
                _ = try? indexes.byAuthor.groups()
                try? indexes.byAuthor["by a"].append("b")
                _ = try? indexes.byGenre.groups()
                _ = try? indexes.byGenre.groups(of: "a")
                try? indexes.byGenre.move("a", to: "x")
                try? indexes.byISBN.forEach { _, _ in }
                _ = try? indexes.byISBN.keys(of: "a")
                _ = try? indexes.starred.ids
                _ = try? indexes.starred.entities()
                try LibraryBook.delete(id: "a", from: &context)
            }
        }
    }
}

@EntityModel
private struct LaterWriter {
    let id: String
    var name = ""
    @Relationship(deleteRule: .cascade, inverse: \.author) var books: [LaterVolume]?
}

@EntityModel
private struct LaterVolume {
    let id: String
    var title = ""
    var genre = ""
    var isbn = ""
    var authorID = ""
    var isStarred = false
    @Relationship(inverse: \.books) var author: LaterWriter?
}
