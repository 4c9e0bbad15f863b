// SPDX-License-Identifier: Apache-2.0
// Long hand-kept lists and many groups, compared with models.

import Foundation
import HornbeamHandKept
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@Suite("Long hand-kept lists")
struct LongListsTests {
    private func open(_ disk: SimulatedDisk) throws -> Database {
        var options = StoreOptions()
        options.access = .read
        let opening = SchemaOpening(models: try ModelSet([LibraryAuthor.self, LibraryBook.self, LibraryCard.self]))
        let database = try Database(opening) { () throws(StorageError) in
            try TreeStore.open(file: disk, options: options)
        }
        try database.register(LibraryIndexes())
        return database
    }

    @Test(
        "in a long list finding a place and inserting an id take a few pages; the order survives closing"
    )
    func placed() throws {
        let (count, cards) = (60_000, 100)
        let first = try SimulatedDisk()
        let database = try open(first)
        var model = (0..<count).map { $0 % cards }
        try database.write { (context) throws in
            for id in 0..<cards { try LibraryCard(id: id).save(to: &context) }
            try context.indexes.cards.append(contentsOf: model)
        }
        try database.close()

        let again = try open(try SimulatedDisk(image: first.killedImage()))
        func looks(_ body: () throws -> Void) throws -> Int {
            let before = again.store.statistics.cache
            try body()
            let after = again.store.statistics.cache
            return Int(after.hits + after.misses - before.hits - before.misses)
        }
        let all = try again.pagesRead { (context) throws in #expect(try context.indexes.cards.ids == model) }
        #expect(all > 100, "\(all)")
        let last = try again.pagesRead { (context) throws in
            #expect(try context.indexes.cards[count - 1] == (count - 1) % cards)
        }
        #expect(last <= 20, "\(last)")
        let inserted = try looks {
            try again.write { (context) throws in try context.indexes.cards.insert(99, at: count / 2) }
        }
        model.insert(99, at: count / 2)
        #expect(inserted > 0 && inserted <= 60, "\(inserted)")
        let ids = try again.pagesRead { (context) throws in
            let list = try context.indexes.cards
            #expect(try list[count / 2 - 2..<count / 2 + 3] == Array(model[count / 2 - 2..<count / 2 + 3]))
        }
        #expect(ids <= 30, "\(ids)")
        #expect(try again.read { try $0.indexes.cards.ids } == model)
        #expect(try again.isSound())
    }

    @Test("each of 10,000 random changes of groups leaves the groups of a model", .seeded)
    func groups() throws {
        var random = SeededGenerator()
        let database = try LibraryTables.inMemory()
        let lists = LibraryIndexes()
        database.keep(lists.byGenre, by: \.genre)
        let genres = ["rock", "", "é", "folk", "jazz", "a\0b", "art"]
        var books: [String: String] = [:]
        for round in 0..<100 {
            try database.write { (context) throws in
                for _ in 0..<100 {
                    let id = "b\(random.below(60))"
                    if random.oneIn(12) {
                        books[id] = nil
                        try LibraryBook.delete(id: id, from: &context)
                    } else {
                        let genre = genres[random.below(genres.count)]
                        books[id] = genre
                        try LibraryBook(id: id, genre: genre).save(to: &context)
                    }
                }
            }
            let model = Dictionary(grouping: books.keys) { books[$0] ?? "" }.mapValues { $0.sorted() }
            try database.read { (context) throws in
                let groups = try context.indexes.byGenre
                #expect(try groups.groupCount() == model.count, "round \(round)")
                #expect(try groups.groups() == model.keys.sorted(), "round \(round)")
                #expect(try groups.count == books.count, "round \(round)")
                for (genre, ids) in model { #expect(try groups[genre].ids.sorted() == ids, "\(genre), round \(round)") }
            }
        }
        #expect(try database.isSound())
    }
}
