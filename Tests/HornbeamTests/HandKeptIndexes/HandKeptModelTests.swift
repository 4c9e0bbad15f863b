// SPDX-License-Identifier: Apache-2.0
// Hand-kept indexes compared with arrays, dictionaries and sets: random edits of every kind, deletions in every way,
// rollbacks and reopenings, also by a program without the indexes.

import HornbeamHandKept
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

/// The expected content of the indexes.
private struct Shelves: Equatable {
    var books: [String] = []
    var authors: Set<String> = []
    var list: [String] = []
    var byAuthor: [String: [String]] = [:]
    var byGenre: [String: [String]] = [:]
    var byISBN: [String: String] = [:]
    var starred: Set<String> = []

    mutating func drop(book: String) {
        books.removeAll { $0 == book }
        list.removeAll { $0 == book }
        byAuthor = byAuthor.mapValues { $0.filter { $0 != book } }.filter { !$0.value.isEmpty }
        byGenre = byGenre.mapValues { $0.filter { $0 != book } }.filter { !$0.value.isEmpty }
        byISBN = byISBN.filter { $0.value != book }
        starred.remove(book)
    }

    mutating func drop(author: String) {
        authors.remove(author)
        byAuthor[author] = nil
    }

    /// - Parameter place: the place of the group's list.
    static func prune(_ groups: inout [String: [String]]) { groups = groups.filter { !$0.value.isEmpty } }
}

@Suite("Hand-kept indexes against arrays, dictionaries and sets")
struct HandKeptModelTests {
    private func place(_ count: Int, _ random: inout SeededGenerator) -> Int {
        // Mostly one place, so that it has no room left.
        random.oneIn(2) ? count / 2 : random.below(count + 1)
    }

    private func edit(
        _ list: OrderedIDs<LibraryBook>, _ model: inout [String], _ books: [String],
        _ random: inout SeededGenerator
    ) throws {
        guard let book = books.randomElement(using: &random) else { return }
        let at = place(model.count, &random)
        switch random.below(10) {
        case 0...2:
            try list.insert(book, at: at)
            model.insert(book, at: at)
        case 3:
            try list.append(book)
            model.append(book)
        case 4:
            let several = (0..<random.below(6)).compactMap { _ in books.randomElement(using: &random) }
            let range = at..<min(model.count, at + random.below(4))
            guard range.lowerBound <= range.upperBound else { return }
            try list.replaceSubrange(range, with: several)
            model.replaceSubrange(range, with: several)
        case 5 where !model.isEmpty:
            let (from, to) = (random.below(model.count), random.below(model.count))
            try list.move(from: from, to: to)
            model.insert(model.remove(at: from), at: to)
        case 6 where !model.isEmpty:
            let from = random.below(model.count)
            #expect(try list.remove(at: from) == model.remove(at: from))
        case 7 where random.oneIn(4):
            #expect(try list.remove(book) == model.count { $0 == book })
            model.removeAll { $0 == book }
        case 8 where random.oneIn(20):
            try list.removeAll()
            model.removeAll()
        default:
            #expect(try list.firstIndex(of: book) == model.firstIndex(of: book))
            #expect(try list.indices(of: book) == model.indices.filter { model[$0] == book })
            if at < model.count { #expect(try list[at] == model[at]) }
        }
    }

    private func step(_ context: inout Context, _ model: inout Shelves, _ random: inout SeededGenerator) throws {
        let indexes = context.indexes
        let book = model.books.randomElement(using: &random)
        let genre = "genre\(random.below(5))"
        switch random.below(12) {
        case 0:
            let id = "b\(random.below(40))"
            try LibraryBook(id: id, title: "\(random.below(100))").save(to: &context)
            if !model.books.contains(id) { model.books.append(id) }
        case 1:
            let id = "a\(random.below(6))"
            try LibraryAuthor(id: id).save(to: &context)
            model.authors.insert(id)
        case 2...4: try edit(try indexes.allBooks, &model.list, model.books, &random)
        case 5:
            guard let author = model.authors.sorted().randomElement(using: &random) else { return }
            try edit(try indexes.byAuthor[author], &model.byAuthor[author, default: []], model.books, &random)
        case 6: try edit(try indexes.byGenre[genre], &model.byGenre[genre, default: []], model.books, &random)
        case 7:
            guard let book else { return }
            try indexes.byGenre.move(book, to: genre)
            for other in model.byGenre.keys where other != genre { model.byGenre[other]?.removeAll { $0 == book } }
            if model.byGenre[genre]?.contains(book) != true { model.byGenre[genre, default: []].append(book) }
        case 8:
            guard let book else { return }
            let key = "\(random.below(30))"
            if random.oneIn(4) {
                #expect(try indexes.byISBN.remove(key) == model.byISBN.removeValue(forKey: key))
            } else {
                try indexes.byISBN.set(book, for: key)
                model.byISBN[key] = book
            }
        case 9:
            guard let book else { return }
            if random.oneIn(3) {
                #expect(try indexes.starred.remove(book) == (model.starred.remove(book) != nil))
            } else {
                #expect(try indexes.starred.insert(book) == model.starred.insert(book).inserted)
            }
        case 10:
            guard let book, random.oneIn(2) else { return }
            if random.oneIn(2) {
                try LibraryBook.delete(id: book, from: &context)
            } else {
                try context.remove(LibraryBook.self, id: book)
            }
            model.drop(book: book)
        default:
            guard random.oneIn(3), let author = model.authors.sorted().randomElement(using: &random) else { return }
            try LibraryAuthor.delete(id: author, from: &context)
            model.drop(author: author)
        }
        Shelves.prune(&model.byAuthor)
        Shelves.prune(&model.byGenre)
    }

    private func compare(_ context: Context, _ model: Shelves) throws {
        let indexes = context.indexes
        #expect(try indexes.allBooks.ids == model.list)
        #expect(try indexes.allBooks.count == model.list.count)
        #expect(try Set(indexes.byAuthor.groups()) == Set(model.byAuthor.keys))
        #expect(try indexes.byGenre.groups() == model.byGenre.keys.sorted())
        #expect(try indexes.byGenre.groupCount() == model.byGenre.count)
        for author in model.authors { #expect(try indexes.byAuthor[author].ids == model.byAuthor[author] ?? []) }
        for (genre, list) in model.byGenre { #expect(try indexes.byGenre[genre].ids == list) }
        var hashed: [String: String] = [:]
        try indexes.byISBN.forEach { hashed[$0] = $1 }
        #expect(hashed == model.byISBN)
        #expect(try indexes.starred.sorted() == model.starred.sorted())
        #expect(try indexes.starred.count == model.starred.count)
        for book in model.books {
            #expect(
                try indexes.byGenre.groups(of: book) == model.byGenre.filter { $0.value.contains(book) }.keys.sorted())
            #expect(try indexes.byISBN.keys(of: book) == model.byISBN.filter { $0.value == book }.keys.sorted())
        }
    }

    struct GoBack: Error {}

    @Test("any edits, by any function", arguments: SeededGenerator.seeds(4))
    func edits(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let disk = try SimulatedDisk()
        var database = try LibraryTables.open(disk)
        var model = Shelves()
        for round in 0..<40 {
            try database.write { context in
                for _ in 0..<random.below(60) { try step(&context, &model, &random) }
                if random.oneIn(3) {
                    let before = model
                    try? context.transaction { context in
                        for _ in 0..<20 { try step(&context, &model, &random) }
                        throw GoBack()
                    }
                    model = before
                }
                try compare(context, model)
            }
            if random.oneIn(4) {
                var lost = model
                try? database.write { context in
                    for _ in 0..<20 { try step(&context, &lost, &random) }
                    throw GoBack()
                }
            }
            try database.read { context in try compare(context, model) }
            guard random.oneIn(5) else { continue }
            try database.close()
            // A program without the indexes deletes some entities.
            database = try LibraryTables.open(disk, declares: false)
            try database.write { context in
                for book in model.books where random.oneIn(8) {
                    try LibraryBook.delete(id: book, from: &context)
                    model.drop(book: book)
                }
            }
            try database.close()
            database = try LibraryTables.open(disk)
            #expect(try database.isSound(), "round \(round)")
        }
        #expect(try database.isSound())
    }
}
