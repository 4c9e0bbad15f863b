// SPDX-License-Identifier: Apache-2.0
// The code of Docs/entities.md on the rules of a save: merge strategies, hooks, resolvers, ids, relations in JSON.

import Foundation
import Hornbeam
import Testing

@EntityModel
private struct Draft {
    let id: Int
    var version: Int
    var title: String?
    var tags: [String] = []

    static var defaultMergeStrategy: MergeStrategy<Self> {
        .lastWriteWins(.patch(\.title), .append(\.tags), comparedBy: \.version)
    }
}

@EntityModel
private struct Member {
    let id: Int
    var mail: String

    mutating func willSave(to context: inout Context) throws { mail = mail.lowercased() }
    func didSave(to context: inout Context) throws { try Visit(id: id).save(to: &context) }
    func willDelete(from context: inout Context) throws {}
    func didDelete(from context: inout Context) throws { try Visit.delete(id: id, from: &context) }
    func asDeleted(in context: Context) throws -> Deleted<Self>? { nil }
}

@EntityModel
private struct Visit {
    let id: Int
}

private struct CustomerNumber: RawRepresentable, Hashable, Codable {
    let rawValue: String
}

extension CustomerNumber: IndexKey {}

@EntityModel
private struct Contract {
    let id: CustomerNumber
    var title: String
}

@EntityModel
private struct Memo {
    let id: Int
    var title: String
    var lead: String?
}

@EntityModel
private struct Voucher {
    @Index<Self>(\.until) private var byUntil

    let id: Int
    var until: Date?
}

@EntityModel
private struct Photo {
    let id: Int

    @Relationship(deleteRule: .whenOrphaned, inverse: \.photos) var keywords: [Keyword]?
    @Relationship(deleteRule: .notify) var album: Album?
}

@EntityModel
private struct Keyword {
    let id: String

    @Relationship(inverse: \.keywords) var photos: [Photo]?
}

@EntityModel
private struct Album {
    let id: Int
    var cover: Int?

    mutating func didLoseLink<Source: EntityModelProtocol>(
        from source: Source, relation: String, in context: inout Context
    ) throws -> Bool {
        guard cover == (source as? Photo)?.id else { return false }
        cover = nil
        return true
    }
}

@EntityModel
private struct Seat {
    @Unique<Self>(\.place, collisions: .moveAside) private var byPlace

    let id: Int
    var place: Int?
}

extension CollisionResolver<Seat> {
    fileprivate static var moveAside: Self {
        Self { existing, new, index, context in
            guard var other = try context.find(existing) as Seat? else { return }
            other.place = nil
            try other.save(to: &context)
        }
    }
}

@EntityModel
private struct Shelf: Codable {
    let id: Int
    @Relationship() var books: [Volume]?
    @Relationship() var owner: Volume?
}

@EntityModel
private struct Volume: Codable {
    let id: Int
    var title: String?
}

@EntityModel
private struct Paperback {
    let id: TypedID<Paperback, Int>
    var title: String
}

@EntityModel
private struct Series {
    let id: Int
    @Relationship(inverse: \.series) var parts: [Part]?
}

@EntityModel
private struct Part {
    @Index<Self>(\.$series.id, \.published.desc) private var bySeries

    let id: Int
    var published: Date

    @Relationship(.required, inverse: \.parts) var series: Series?
}

@EntityModel
private struct Essay {
    @FullTextIndex<Self>(\.searched) private var search

    let id: Int
    var text: String
    var isPublished: Bool
    var searched: String?

    mutating func willSave(to context: inout Context) throws { searched = isPublished ? text : nil }
}

@Suite("The rules of a save, as their page shows them")
struct EntityRulesTests {
    @Test("A save states which version it has read")
    func states() throws {
        let database = try Database.inMemory(models: Memo.self)
        try database.write { context in try Memo(id: 1, title: "a", lead: "b").save(to: &context) }
        let (read, token) = try database.read { context in
            (try context.find(1) as Memo?, try Memo.stateToken(id: 1, in: context))
        }
        var changed = try #require(read)
        changed.title = "c"
        changed.lead = nil
        try database.write { (context) throws in
            try changed.save(to: &context, expecting: token)
            let error = #expect(throws: HornbeamError.self) { try changed.save(to: &context, expecting: token) }
            #expect(error?.code == .conflict)
            try changed.save(to: &context, expecting: token, onConflict: .fragment)
        }
    }

    @Test("Vouchers are good until a time")
    func expiration() throws {
        var context = Context()
        try Voucher(id: 1, until: .distantPast).save(to: &context)
        try Voucher(id: 2).save(to: &context)
        let good = try Voucher.filter(.unexpired(\.until)).resolve(in: context)
        let count = try Voucher.purgeExpired(\.until, limit: 1_000, from: &context)
        #expect(good.map(\.id) == [2] && count == 1)
        #expect(try Voucher.query().ids(in: context) == [2])
    }

    @Test("Keywords go with their last photo, and an album learns of its lost cover")
    func deleteRules() throws {
        var context = Context()
        for id in 1...2 {
            try Photo(id: id, keywords: .relation([Keyword(id: "sea")]), album: .relation(Album(id: 1, cover: 1)))
                .save(to: &context)
        }
        try Photo.delete(id: 1, from: &context)
        #expect(try Keyword.query().ids(in: context) == ["sea"])
        #expect(try Album.query(1).resolve(in: context)?.cover == nil)
        try Photo.delete(id: 2, from: &context)
        #expect(try Keyword.query().count(in: context) == 0)
    }

    @Test("The later version wins, and takes over the fields it lacks")
    func merging() throws {
        var context = Context()
        try Draft(id: 1, version: 2, title: "Engines", tags: ["a"]).save(to: &context)
        try Draft(id: 1, version: 3, tags: ["b"]).save(to: &context)
        let merged = try #require(try context.find(1) as Draft?)
        #expect(merged.title == "Engines" && merged.tags == ["a", "b"] && merged.version == 3)
        try Draft(id: 1, version: 4).save(to: &context, options: .replace)
        let replaced = try #require(try context.find(1) as Draft?)
        #expect(replaced.title == nil && replaced.tags.isEmpty)
    }

    @Test("Hooks are called with these signatures")
    func hooks() throws {
        var context = Context()
        try Member(id: 1, mail: "Ann@Example.org").save(to: &context)
        #expect(try (context.find(1) as Member?)?.mail == "ann@example.org")
        #expect(try context.ids(Visit.self) == [1])
        try Member.delete(id: 1, from: &context)
        #expect(try context.ids(Visit.self) == [])
        #expect(try Deleted<Member>.query().count(in: context) == 0)
    }

    @Test("A struct with a raw value is an id by one line")
    func ids() throws {
        var context = Context()
        try Contract(id: CustomerNumber(rawValue: "c-1"), title: "Rent").save(to: &context)
        #expect(try (context.find(CustomerNumber(rawValue: "c-1")) as Contract?)?.title == "Rent")
    }

    @Test("A typed id is written as a literal, or made of its value")
    func typedIDs() throws {
        var context = Context()
        try Paperback(id: 7, title: "Engines").save(to: &context)
        #expect(try Paperback.query(7).resolve(in: context)?.title == "Engines")
        #expect(try (context.find(Paperback.ID(7)) as Paperback?)?.id.rawValue == 7)
    }

    @Test("An index over a related id follows the links")
    func relatedIDs() throws {
        var context = Context()
        for id in 1...3 {
            try Part(id: id, published: Date(timeIntervalSince1970: Double(id)), series: .id(1)).save(to: &context)
        }
        try Series(id: 1, parts: .ids([1, 3])).save(to: &context)
        let newest = Part.filter(\.$series.id == 1).sorted(by: \.published.desc).requiringIndex()
        #expect(try newest.ids(in: context) == [3, 1])
    }

    @Test("A full-text index with a nil property has the words of the others")
    func partialSearch() throws {
        var context = Context()
        try Essay(id: 1, text: "On trees", isPublished: true).save(to: &context)
        try Essay(id: 2, text: "On trees", isPublished: false).save(to: &context)
        #expect(try Essay.filter(.string(\.searched, matches: "trees")).ids(in: context) == [1])
    }

    @Test("A custom resolver moves the other entity aside")
    func resolvers() throws {
        var context = Context()
        try Seat(id: 1, place: 7).save(to: &context)
        try Seat(id: 2, place: 7).save(to: &context)
        #expect(try Seat.query().resolve(in: context).map(\.place) == [nil, 7])
    }

    @Test("Each form of relations in JSON keeps and loses the parts in the table")
    func json() throws {
        func copied(
            _ shelf: Shelf, _ encoding: RelationEncodingStrategy, _ decoding: RelationDecodingStrategy
        ) throws -> Shelf {
            let encoder = JSONEncoder()
            encoder.relationEncodingStrategy = encoding
            let decoder = JSONDecoder()
            decoder.relationDecodingStrategy = decoding
            return try decoder.decode(Shelf.self, from: try encoder.encode(shelf))
        }
        /// Returns the links after a shelf of books 1 and 2, owned by 3, is saved over by a copy of `shelf`.
        func links(
            _ shelf: Shelf, _ encoding: RelationEncodingStrategy, _ decoding: RelationDecodingStrategy
        ) throws -> (books: [Int], owner: Int?) {
            var context = Context()
            let books: [Volume] = [Volume(id: 1, title: "One"), Volume(id: 2), Volume(id: 3), Volume(id: 4)]
            for book in books { try book.save(to: &context) }
            try Shelf(id: 1, books: .ids([1, 2]), owner: .id(3)).save(to: &context)
            try copied(shelf, encoding, decoding).save(to: &context)
            let saved = try Shelf.query(1).id(\.$books).id(\.$owner).resolve(in: context)
            return (saved?.$books.ids ?? [], saved?.$owner.id)
        }
        let changed = Shelf(id: 1, books: .appending(ids: [4]), owner: .null)
        let plain = try links(changed, .plain, [.plain])
        #expect(plain.books == [4] && plain.owner == 3)
        let keyed = try links(changed, .keyedContainer, [.keyedContainer])
        #expect(keyed.books == [4] && keyed.owner == nil)
        let explicit = try links(changed, .explicitKeyedContainer, [.explicitKeyedContainer, .plain])
        #expect(explicit.books == [1, 2, 4] && explicit.owner == nil)
        let silent = try links(Shelf(id: 1), .plain, [.plain])
        #expect(silent.books == [1, 2] && silent.owner == 3)
    }
}
