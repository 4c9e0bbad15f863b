// SPDX-License-Identifier: Apache-2.0
// A recipe box, a ticket system and a time tracker, as users of other stores write them at first.

import Foundation
import Hornbeam
import Testing

@EntityModel
private struct Recipe: Codable, Hashable {
    @Unique<Self>(\.title) private var byTitle

    let id: Int
    var title: String
    var minutes = 30
    var rating: Double?
    var isVegetarian = false
    var tags: [String] = []

    @Relationship(deleteRule: .cascade, inverse: \.recipe) var ingredients: [Ingredient]?
}

@EntityModel
private struct Ingredient: Codable, Hashable, Identifiable {
    var id = UUID()
    var name: String
    var grams: Double

    @Relationship(.required, inverse: \.ingredients) var recipe: Recipe?
}

@EntityModel
private struct Ticket: Codable {
    @Index<Self>(\.status, \.created.desc) private var byStatus

    enum Status: String, Codable, CaseIterable { case open, waiting, closed }

    enum Priority: Int, Codable, Comparable {
        case low, normal, high
        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    let id: Int
    var title: String
    var status: Status = .open
    var priority: Priority = .normal
    var created: Date = .now
    var due: Date?

    @Relationship(inverse: \.tickets) var assignee: Agent?
}

@EntityModel
private struct Agent: Codable {
    let id: String
    var name: String

    @Relationship(inverse: \.assignee) var tickets: [Ticket]?
}

@EntityModel
private struct Project: Codable {
    let id: Int
    var name: String

    @Relationship(deleteRule: .cascade, inverse: \.project) var entries: [Entry]?
}

@EntityModel
private struct Entry: Codable {
    @Index<Self>(\.$project.id, \.start) private var byProject

    let id: Int
    var start: Date
    var end: Date?
    var note: String?

    var duration: TimeInterval { (end ?? start).timeIntervalSince(start) }

    @Relationship(inverse: \.entries) var project: Project?
}

@Suite("First attempts")
struct FirstAttemptsTests {
    @Test("at a recipe box")
    func recipes() throws {
        let database = try Database.inMemory(models: Recipe.self)
        let soup = try database.write { context in
            let soup = try Recipe(
                id: Recipe.nextID(in: &context), title: "Soup", rating: 4, isVegetarian: true, tags: ["hot"],
                ingredients: .relation([Ingredient(name: "Leek", grams: 200), Ingredient(name: "Salt", grams: 2)]))
            try soup.save(to: &context)
            try Recipe(id: Recipe.nextID(in: &context), title: "Roast", minutes: 120).save(to: &context)
            return soup
        }
        try database.read { (context) throws in
            #expect(try Recipe.filter(\.isVegetarian).filter(\.minutes <= 30).ids(in: context) == [soup.id])
            #expect(try Recipe.filter(!\.isVegetarian).first(in: context)?.title == "Roast")
            #expect(try Recipe.filter(["Soup", "Stew"].contains(\.title)).count(in: context) == 1)
            #expect(try Recipe.filter(\.title.isEmpty).count(in: context) == 0)
            #expect(try Recipe.filter(.string(\.title, hasPrefix: "ro")).count(in: context) == 1)
            #expect(try Recipe.filter(.array(\.tags, contains: "hot")).count(in: context) == 1)
            #expect(try Recipe.filter(\.$ingredients.count > 1).count(in: context) == 1)
            #expect(try Recipe.filter(.none(\.$ingredients)).first(in: context)?.title == "Roast")
            #expect(try Recipe.query().average(\.rating, in: context) == 4)
            let loaded = try Recipe.query(soup.id).with(\.$ingredients).resolve(in: context)
            #expect(Set(loaded?.ingredients?.map(\.name) ?? []) == ["Leek", "Salt"])
            #expect(try context.find(Recipe.self, 7) == nil)
        }
        let error = #expect(throws: HornbeamError.self) {
            try database.write { try Recipe(id: 9, title: "Soup").save(to: &$0) }
        }
        #expect(error?.code == .uniqueViolation)
        try database.write { context in
            try Recipe.filter(\.minutes < 60).delete(from: &context)
            #expect(try Ingredient.query().isEmpty(in: context))
        }
    }

    @Test("at a ticket system")
    func tickets() throws {
        let database = try Database.inMemory(models: Ticket.self, Agent.self)
        let yesterday = Date.now.addingTimeInterval(-86_400)
        try database.write { context in
            let ann = Agent(id: "ann", name: "Ann")
            try ann.save(to: &context)
            try Ticket(id: 1, title: "Crash", priority: .high, assignee: .relation(ann)).save(to: &context)
            try Ticket(id: 2, title: "Typo", status: .closed, assignee: .id(ann.id)).save(to: &context)
            var old = Ticket(id: 3, title: "Slow", created: yesterday.addingTimeInterval(-1), due: yesterday)
            old.$assignee = .null
            try old.save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try Ticket.filter(\.assignee != nil && \.status != .closed).ids(in: context) == [1])
            #expect(try Ticket.filter(\.$assignee == "ann").count(in: context) == 2)
            #expect(try Ticket.filter(.has(\.$assignee, \.name == "Ann")).count(in: context) == 2)
            #expect(try Ticket.filter(\.created > .now.addingTimeInterval(-86_400)).count(in: context) == 2)
            #expect(try Ticket.filter(\.due < .now).ids(in: context) == [3])
            #expect(try Ticket.filter([.open, .waiting].contains(\.status)).ids(in: context) == [1, 3])
            #expect(try Ticket.filter(![.open, .waiting].contains(\.status)).ids(in: context) == [2])
            #expect(try Ticket.filter(\.priority >= .high).ids(in: context) == [1])
            #expect(try Ticket.query().sorted(by: \.priority.desc, \.id).ids(in: context) == [1, 2, 3])
            let counts = try Ticket.query().grouped(by: \.status).aggregate(.count).resolve(in: context)
            #expect(Dictionary(uniqueKeysWithValues: counts.map { ($0.key, $0.values) }) == [.open: 2, .closed: 1])
            let refused = #expect(throws: HornbeamError.self) {
                try Ticket.filter(\.assignee?.name == "Ann").resolve(in: context)
            }
            #expect(refused?.message.contains(".has(\\.$assignee") == true, "\(refused?.message ?? "")")
        }
        try database.write { context in
            try Ticket.filter(\.status == .open).update(in: &context) { $0.status = .waiting }
            #expect(try Ticket.filter(\.status == .waiting).count(in: context) == 2)
        }
    }

    @Test("at a time tracker")
    func time() throws {
        var context = Context()
        let day = Date(timeIntervalSince1970: 86_400 * 20_000)
        let next = day.addingTimeInterval(86_400)
        let project = Project(id: 1, name: "Roof")
        try project.save(to: &context)
        for hour in [1, 2, 30] {
            let start = day.addingTimeInterval(Double(hour) * 3_600)
            try Entry(
                id: hour, start: start, end: hour == 2 ? nil : start.addingTimeInterval(600), project: .id(project.id)
            ).save(to: &context)
        }
        #expect(try Entry.filter((day..<next).contains(\.start)).ids(in: context) == [1, 2])
        #expect(try Entry.filter(\.start >= day && \.start < next && \.end == nil).first(in: context)?.id == 2)
        #expect(try Entry.filter(\.note == nil || \.note == "").count(in: context) == 3)
        #expect(try Entry.filter(\.project == project).sum(\.duration, in: context) == 1_200)
        let latest = Entry.filter(\.$project.id == 1).sorted(by: \.start.desc)
        #expect(try latest.requiringIndex().first(in: context)?.id == 30)
        let sums = try Entry.query().grouped(by: \.$project.id).aggregate(.sum(\.duration)).resolve(in: context)
        #expect(sums.map(\.values) == [1_200])
        #expect(try Project.filter(.any(\.$entries, where: \.end == nil)).ids(in: context) == [1])
        let running = try Project.query().with(\.$entries) { $0.filter(\.end == nil) }.first(in: context)
        #expect(running?.entries?.map(\.id) == [2])
        #expect(try Entry.query().max(\.start, in: context) == day.addingTimeInterval(30 * 3_600))
    }
}
