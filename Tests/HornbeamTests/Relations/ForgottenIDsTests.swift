// SPDX-License-Identifier: Apache-2.0
// Ids that are linked and not stored: the store knows them as long as a link leads to them, however the last link is
// removed. Compared with a model in memory.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Club {
    let id: String
    @Relationship(inverse: \.clubs) var members: [Fellow]?
    @Relationship(inverse: \.home) var residents: [Fellow]?
    @Relationship() var chair: Fellow?
}

@EntityModel
private struct Fellow {
    /// Negative ids have assigned row ids.
    let id: Int
    @Relationship(inverse: \.members) var clubs: [Club]?
    @Relationship(inverse: \.residents) var home: Club?
}

/// The links, and the stored ids.
private struct Expected {
    var clubs: Set<String> = []
    var people: Set<Int> = []
    var members: [String: Set<Int>] = [:]
    var homes: [Int: String] = [:]
    var chairs: [String: Int] = [:]

    var unsavedClubs: Set<String> {
        let linked = Set(members.filter { !$0.value.isEmpty }.keys).union(homes.values).union(chairs.keys)
        return linked.subtracting(clubs)
    }

    var unsavedPeople: Set<Int> {
        Set(members.values.flatMap { $0 }).union(homes.keys).union(chairs.values).subtracting(people)
    }

    mutating func forget(club: String) {
        (members[club], chairs[club]) = (nil, nil)
        homes = homes.filter { $0.value != club }
        clubs.remove(club)
    }

    mutating func forget(person: Int) {
        for club in members.keys { members[club]?.remove(person) }
        homes[person] = nil
        chairs = chairs.filter { $0.value != person }
        people.remove(person)
    }
}

@Suite("Ids that are linked and not stored")
struct ForgottenIDsTests {
    private let clubs = ["a", "b", "c", "d", "e"]
    private let people = Array(-4...4)

    private func few<Element>(_ all: [Element], _ random: inout SeededGenerator) -> [Element] {
        Array(all.shuffled(using: &random).prefix(random.below(4)))
    }

    private func step(_ random: inout SeededGenerator, _ context: inout Context, _ expected: inout Expected) throws {
        guard let club = clubs.randomElement(using: &random), let person = people.randomElement(using: &random) else {
            return
        }
        let (others, homes) = (few(people, &random), few(clubs, &random))
        switch random.below(12) {
        case 0:
            try Club(id: club, members: .ids(others), chair: .id(person)).save(to: &context)
            expected.clubs.insert(club)
            expected.members[club] = Set(others)
            expected.chairs[club] = person
        case 1:
            // The club needn't be stored.
            try Club(id: club, residents: .ids(others)).save(\.$residents, inverse: \.$home, to: &context)
            expected.homes = expected.homes.filter { $0.value != club }
            for other in others { expected.homes[other] = club }
        case 2:
            try Fellow(id: person, clubs: .ids(homes), home: .id(club)).save(to: &context)
            expected.people.insert(person)
            for other in clubs { expected.members[other]?.remove(person) }
            for other in homes { expected.members[other, default: []].insert(person) }
            expected.homes[person] = club
        case 3:
            try Club(id: club).detach(others, relation: \.$members, inverse: \.$clubs, in: &context)
            expected.members[club]?.subtract(others)
        case 4:
            try Club(id: club).detach(\.$chair, in: &context)
            expected.chairs[club] = nil
        case 5:
            try Fellow(id: person).detach(\.$home, inverse: \.$residents, in: &context)
            expected.homes[person] = nil
        case 6:
            // The links of an entity that isn't stored are removed too.
            try Club(id: club).delete(from: &context)
            expected.forget(club: club)
        case 7:
            try Fellow(id: person).delete(from: &context)
            expected.forget(person: person)
        case 8:
            try context.remove(Fellow.self, id: person)
            expected.people.remove(person)
        case 9:
            try context.remove(Club.self, id: club)
            expected.clubs.remove(club)
        case 10:
            try Club(id: club, members: .appending(ids: others)).save(to: &context)
            expected.clubs.insert(club)
            expected.members[club, default: []].formUnion(others)
        default:
            struct Undo: Error {}
            var undone = expected
            #expect(throws: Undo.self) {
                try context.transaction { context in
                    for _ in 0..<3 { try step(&random, &context, &undone) }
                    throw Undo()
                }
            }
        }
    }

    private func unsaved<Entity: EntityModelProtocol>(_: Entity.Type, _ context: Context) throws -> Set<Entity.ID> {
        try context.session.core.flush()
        let store = try context.session.store(Entity.self)
        var rows: [RowID] = []
        var cursor = try store.transaction.cursor(store.type.unsaved)
        while try cursor.next() {
            if let row = RowID(key: cursor.key) { rows.append(row) }
        }
        return Set(try context.session.ids(of: rows, store) as [Entity.ID])
    }

    @Test("are forgotten with their last link, in memory and in a file that is opened again", .seeded)
    func random() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = Database.Options()
        options.durability = .process
        var random = SeededGenerator()
        var expected = Expected()
        for _ in 0..<5 {
            let database = try Database(
                at: folder.path("clubs.hornbeam"), models: Club.self, Fellow.self, options: options)
            for _ in 0..<40 {
                try database.write { context in
                    for _ in 0..<random.below(5) { try step(&random, &context, &expected) }
                    if random.oneIn(2) {
                        #expect(try unsaved(Club.self, context) == expected.unsavedClubs)
                        #expect(try unsaved(Fellow.self, context) == expected.unsavedPeople)
                    }
                }
                #expect(try database.check { Issue.record("\($0)") })
                try database.read { context in
                    let counted = try context.session.store(Fellow.self).mayMiss()
                    #expect(counted == !expected.unsavedPeople.isEmpty)
                    for club in expected.clubs {
                        let stored = expected.members[club, default: []].intersection(expected.people).count
                        #expect(try Club.query(club).related(\.$members).count(in: context) == stored)
                    }
                }
            }
            try database.close()
        }
    }

    @Test("are forgotten when a migration takes the relation that led to them")
    func droppedRelation() throws {
        func models(_ relations: [RelationDescription]) -> [EntityDescription] {
            let id = ColumnDescription(name: "id", type: .string)
            return [
                EntityDescription(name: "From", columns: [id], relations: relations),
                EntityDescription(name: "To", columns: [id]),
            ]
        }
        let kept = RelationDescription(name: "kept", target: "To", toMany: true)
        let dropped = RelationDescription(name: "dropped", target: "To", toMany: true)
        let store = try CoreStore(models([kept, dropped]))
        let source = try store.save("From", [.string("a")])
        let rows = try ["x", "y", "z"].map { try store["To"].ensureRowID(of: .string($0)) }
        try store.core.edges.set(store["From"].type.relation("kept"), source, [rows[0], rows[1]])
        try store.core.edges.set(store["From"].type.relation("dropped"), source, [rows[1], rows[2]])
        #expect(try store.problems() == [])
        try store.reopen(models([kept]), [.forget(type: "From", name: "dropped")])
        #expect(try store.entries("n:To") == 2)
        #expect(try store["To"].rowID(of: .string("z")) == nil)
        #expect(try store.problems() == [])
    }

    @Test("are forgotten if linking them was refused midway")
    func refused() throws {
        var context = Context()
        let long = String(repeating: "x", count: 1_000)
        #expect(throws: HornbeamError.self) {
            try Fellow(id: 1, clubs: .ids(["short", long])).save(to: &context)
        }
        #expect(try unsaved(Club.self, context) == [])
        #expect(try context.isWhole())
    }

    @Test("that are too long for any entity find nothing in any query, and can't be saved")
    func tooLong() throws {
        var context = Context()
        let long = String(repeating: "x", count: 1_000)
        try Club(id: "a", members: .ids([1])).save(to: &context)
        #expect(try Club.query(long).resolve(in: context) == nil)
        #expect(try Club.query([long, "a"]).resolve(in: context).map(\.id) == ["a"])
        #expect(try Club.query(long).related(\.$members).resolve(in: context).isEmpty)
        #expect(try Club.filter(\.id == long).resolve(in: context).isEmpty)
        #expect(try context.find(long) as Club? == nil)
        #expect(try Club.stateToken(id: long, in: context) == nil)
        #expect(try Club.updatedAt(id: long, in: context) == nil)
        try Club.delete(id: long, from: &context)
        try Club(id: long).delete(from: &context)
        try context.remove(Club.self, id: long)
        try Fellow(id: 1).detach(long, relation: \.$clubs, inverse: \.$members, in: &context)
        let error = #expect(throws: HornbeamError.self) { try Club(id: long).save(to: &context) }
        #expect(error?.code == .tooLarge)
    }
}
