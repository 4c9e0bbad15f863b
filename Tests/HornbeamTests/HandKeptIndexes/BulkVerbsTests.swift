// SPDX-License-Identifier: Apache-2.0
// Bulk operations on many ids at once: all or nothing, and in the order of saves.

import HornbeamHandKept
import HornbeamTestSupport
import Testing

@testable import Hornbeam

private struct CardIndexes: IndexesType {
    static let made = CallCounter()

    let newest = HashIDIndex<String, LibraryCard>("newest")
    let saved = OrderedIDIndex<LibraryCard>("saved")
    let noted = OrderedIDIndex<LibraryCard>("noted")
    let byNote = GroupByKeyIndex<String, LibraryCard>("byNote")
    let chosen = SetIndex<LibraryCard>("chosen")

    init() { Self.made.note() }
}

@Suite("Hand-kept indexes, many ids at once")
struct BulkVerbsTests {
    private typealias Verb = (String, (Context) throws -> Void)

    @Test("if one of several ids isn't stored, none is put, whichever function is used")
    func allOrNothing() throws {
        let database = try LibraryTables.filled("a", "b", "c")
        let verbs: [Verb] = [
            ("union", { try $0.indexes.starred.formUnion(["a", "b", "x", "c"]) }),
            ("append", { try $0.indexes.allBooks.append(contentsOf: ["a", "x"]) }),
            ("insert", { try $0.indexes.allBooks.insert(contentsOf: ["a", "x"], at: 0) }),
            ("replace", { try $0.indexes.allBooks.replaceSubrange(0..<2, with: ["c", "x"]) }),
            ("group", { try $0.indexes.byGenre["of a"].append(contentsOf: ["b", "x"]) }),
            ("group's range", { try $0.indexes.byAuthor["by a"].replaceSubrange(0..<1, with: ["b", "x"]) }),
            ("no group", { try $0.indexes.byAuthor.move("a", to: "by x") }),
        ]
        try database.write { (context) throws in
            try context.indexes.starred.remove("b")
            for (name, verb) in verbs {
                #expect(codeThrown { try verb(context) } == .notStored, "\(name)")
                #expect(try context.indexes.starred.ids == ["a", "c"], "\(name)")
                #expect(try context.indexes.allBooks.ids == ["a", "b", "c"], "\(name)")
                #expect(try context.indexes.byGenre["of a"].ids == ["a"], "\(name)")
                #expect(try context.indexes.byAuthor["by a"].ids == ["a"], "\(name)")
            }
        }
        #expect(try database.isSound())
    }

    @Test("rules follow the order of saves, with any ids")
    func orderOfSaves() throws {
        let lists = CardIndexes()
        let database = try Database.inMemory(models: LibraryCard.self, handKept: lists)
        database.keep(lists.newest) { $0.note }
        database.keep(lists.saved)
        database.keep(lists.noted) { !$0.note.isEmpty }
        database.keep(lists.byNote) { $0.note }
        try database.write { (context) throws in
            for id in [5, 3, 9, 1, 7] { try LibraryCard(id: id, note: "n").save(to: &context) }
            // If an entity is saved twice, the last save counts.
            try LibraryCard(id: 3, note: "n again").save(to: &context)
            try LibraryCard(id: 3, note: "n").save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try context[lists.newest]["n"] == 3)
            for ids in [
                try context[lists.saved].ids, try context[lists.noted].ids, try context[lists.byNote]["n"].ids,
            ] { #expect(ids == [5, 9, 1, 7, 3]) }
        }
        // For an update and an insertion, only their order counts.
        try database.write { (context) throws in
            try LibraryCard(id: 20, note: "m").save(to: &context)
            try LibraryCard(id: 9, note: "m").save(to: &context)
            try LibraryCard(id: 1, note: "k").save(to: &context)
            try LibraryCard(id: 0, note: "k").save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try context[lists.newest]["m"] == 9 && context[lists.newest]["k"] == 0)
            #expect(try context[lists.byNote]["m"].ids == [20, 9])
            #expect(try context[lists.byNote]["k"].ids == [1, 0])
        }
        #expect(try database.isSound())
    }

    @Test("in a read the entries of a hash are read one by one")
    func hashInRead() throws {
        struct Enough: Error {}
        let database = try LibraryTables.filled("a", "b", "c", "d")
        try database.write { (context) throws in
            let hash = try context.indexes.byISBN
            for number in 0..<3_000 { try hash.set("a", for: "k\(number)") }
        }
        let pages = try database.pagesRead { (context) throws in
            #expect(throws: Enough.self) { try context.indexes.byISBN.forEach { _, _ in throw Enough() } }
        }
        #expect(pages < 20, "\(pages)")
        let all = try database.read { (context) throws in
            var all: [String: String] = [:]
            try context.indexes.byISBN.forEach { all[$0] = $1 }
            return all
        }
        #expect(all.count == 3_004 && all["k2999"] == "a")
    }

    @Test("the entries of a hash may be removed during iteration")
    func changingHash() throws {
        let database = try LibraryTables.filled("a", "b", "c", "d")
        try database.write { (context) throws in
            var seen: [String] = []
            let hash = try context.indexes.byISBN
            try hash.forEach { key, id in
                seen.append("\(key) \(id)")
                try hash.remove(key)
                try hash.set(id, for: key + "!")
                if id == "b" { try LibraryBook.delete(id: "c", from: &context) }
            }
            #expect(seen == ["a a", "b b", "d d"])
            #expect(try hash.count == 3 && hash["d!"] == "d")
        }
        #expect(try database.isSound())
    }

    @Test("declared indexes are made once, however often they are used")
    func declaredOnce() throws {
        let database = try Database.inMemory(models: LibraryCard.self, handKept: CardIndexes())
        try database.write { (context) throws in
            try LibraryCard(id: 1).save(to: &context)
            _ = try context.indexes(of: CardIndexes.self).saved
            let before = CardIndexes.made.count
            for _ in 0..<100 { try context.indexes(of: CardIndexes.self).saved.append(1) }
            #expect(CardIndexes.made.count - before < 50)
        }
    }
}
