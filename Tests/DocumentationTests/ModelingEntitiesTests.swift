// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Modelling entities”.

import Foundation
import Hornbeam
import Testing

@EntityModel
private struct Recipe {
    @Unique<Self>(\.slug) private var bySlug

    let id: Int
    var slug: String
    var title: String
    var minutes: Int?
    var level: Level = .easy
    var ingredients: [Ingredient] = []

    enum Level: String, Codable {
        case easy, hard
    }

    struct Ingredient: Codable {
        var name: String
        var grams: Double
    }
}

@EntityModel
private struct Cook {
    let id: TypedID<Cook, Int>
    var name: String
}

private struct DishCode: RawRepresentable, Hashable, Codable {
    let rawValue: String
}

extension DishCode: IndexKey {}

@EntityModel
private struct Dish {
    let id: DishCode
}

@EntityModel
private struct Bookmark {
    @Unique<Self>(\.url, collisions: .update) private var byURL

    let id: Int
    var url: String
    var title: String?
}

private enum TagError: Error {
    case empty
}

@EntityModel
private struct Tag {
    let id: Int
    var name: String

    mutating func willSave(to context: inout Context) throws {
        name = name.lowercased()
        if name.isEmpty { throw TagError.empty }
    }
}

@EntityModel
private struct Draft {
    static let storedMetadata: [Metadata] = [.createdAt, .version]
    @Index<Self>(.updatedAt) private var byUpdate

    let id: Int
    var text: String
}

@EntityModel
private struct Ticket {
    static let keepsDeleted = true

    let id: Int
}

@EntityModel
private struct Mailbox {
    @Unique<Self>(\.email, collation: .caseInsensitive) private var byEmail

    let id: Int
    var email: String
}

@Suite("The guide “Modelling entities”")
struct ModelingEntitiesTests {
    @Test("Ids count up, and a taken key is refused")
    func ids() throws {
        let database = try Database.inMemory(models: Recipe.self)
        let id = try database.write { context in
            let recipe = try Recipe(id: Recipe.nextID(in: &context), slug: "pea-soup", title: "Pea soup")
            try recipe.save(to: &context)
            return recipe.id
        }
        let error = #expect(throws: HornbeamError.self) {
            try database.write { try Recipe(id: id + 1, slug: "pea-soup", title: "Other").save(to: &$0) }
        }
        #expect(error?.code == .uniqueViolation)
        #expect(try database.read { try $0.ids(Recipe.self) } == [id])
        #expect(try database.read { try $0.find(Recipe.self, id) }?.level == .easy)
    }

    @Test("An id can have a type of its own")
    func typedIDs() throws {
        var context = Context()
        let number = 7
        try Cook(id: 7, name: "Ada").save(to: &context)
        #expect(try Cook.query(7).resolve(in: context)?.name == "Ada")
        #expect(try Cook.query(Cook.ID(number)).resolve(in: context)?.name == "Ada")
        try Dish(id: DishCode(rawValue: "soup-1")).save(to: &context)
        #expect(try context.ids(Dish.self) == [DishCode(rawValue: "soup-1")])
    }

    @Test("A save can update the holder of the key")
    func update() throws {
        var context = Context()
        try Bookmark(id: 1, url: "https://swift.org").save(to: &context)
        try Bookmark(id: 2, url: "https://swift.org", title: "Swift").save(to: &context)
        let stored: [Bookmark] = try context.all()
        #expect(stored.map(\.id) == [1] && stored.first?.title == "Swift")
    }

    @Test("Entities that are saved together exchange keys, and a key ignores case")
    func keys() throws {
        var context = Context()
        let first = Mailbox(id: 1, email: "ann@x")
        let second = Mailbox(id: 2, email: "bob@x")
        try [first, second].save(to: &context)
        try [Mailbox(id: 1, email: "bob@x"), Mailbox(id: 2, email: "ann@x")].save(to: &context)
        #expect(try context.find(Mailbox.self, 1)?.email == "bob@x")
        #expect(throws: HornbeamError.self) { try Mailbox(id: 3, email: "ANN@X").save(to: &context) }
    }

    @Test("Conditions look into nested values")
    func nested() throws {
        var context = Context()
        let butter = Recipe.Ingredient(name: "butter", grams: 50)
        try Recipe(id: 1, slug: "cake", title: "Cake", ingredients: [butter]).save(to: &context)
        try Recipe(id: 2, slug: "tea", title: "Tea").save(to: &context)
        let withButter = Recipe.filter(.any(\.ingredients) { $0.name == "butter" })
        #expect(try withButter.ids(in: context) == [1])
    }

    @Test("A hook changes the value, or ends the save")
    func hooks() throws {
        var context = Context()
        try Tag(id: 1, name: "Soup").save(to: &context)
        #expect(try context.find(Tag.self, 1)?.name == "soup")
        #expect(throws: TagError.empty) { try Tag(id: 2, name: "").save(to: &context) }
        #expect(try context.ids(Tag.self) == [1])
    }

    @Test("The store counts versions, and a save without a change is none")
    func metadata() throws {
        let database = try Database.inMemory(models: Draft.self)
        for text in ["a", "b", "b"] {
            try database.write { try Draft(id: 1, text: text).save(to: &$0) }
        }
        try database.read { context in
            let drafts = try Draft.query().sorted(by: .updatedAt.desc).resolve(in: context)
            #expect(try drafts.first?.version(in: context) == 2)
            #expect(try drafts.first?.updatedAt(in: context) != nil)
        }
    }

    @Test("A deleted entity is kept and restored")
    func deleted() throws {
        let database = try Database.inMemory(models: Ticket.self)
        try database.write { context in
            try Ticket(id: 1).save(to: &context)
            try Ticket.delete(id: 1, from: &context)
            let deleted = try Deleted<Ticket>.query().resolve(in: context)
            try deleted.first?.restore(in: &context)
            #expect(try context.ids(Ticket.self) == [1])
        }
    }
}
