// SPDX-License-Identifier: Apache-2.0
// Unique keys over the id of a relation's target: only the final links of a save count, not those in between.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Team {
    let id: Int

    @Relationship(inverse: \.team) var players: [Player]?
    @Relationship(inverse: \.team) var guests: [Guest]?
    @Relationship(inverse: \.team) var badges: [Badge]?
}

@EntityModel
private struct Player {
    @Unique<Self>(\.$team.id, \.number) private var byNumber

    let id: Int
    var number: Int
    @Relationship(inverse: \.players) var team: Team?
}

@EntityModel
private struct Guest {
    @Unique<Self>(\.$team.id, \.number, collisions: .replace) private var byNumber

    let id: Int
    var number: Int
    @Relationship(inverse: \.guests) var team: Team?
}

@EntityModel
private struct Badge {
    @Unique<Self>(\.$team.id, \.number, nilsDistinct: false) private var byNumber

    let id: Int
    var number: Int
    @Relationship(inverse: \.badges) var team: Team?
}

/// A strategy that returns the stored entity with the new number. As with every strategy, its relations are those of
/// the new entity.
private let renumbering = MergeStrategy<Player> { old, new in
    var merged = old
    merged.number = new.number
    return merged
}

private let renumberingGuests = MergeStrategy<Guest> { old, new in
    var merged = old
    merged.number = new.number
    return merged
}

private func database() throws -> Database {
    let database = try Database.inMemory(models: Team.self, Player.self, Guest.self, Badge.self)
    try database.write { context in for id in 1...3 { try Team(id: id).save(to: &context) } }
    return database
}

private func violation(_ body: () throws -> Void) -> UniqueViolation? {
    do {
        try body()
        return nil
    } catch {
        return (error as? HornbeamError)?.violation
    }
}

@Suite("Unique keys over related ids")
struct LinkedIDKeysTests {
    @Test("a merge strategy that returns the stored entity has the new link's key tested")
    func merged() throws {
        let database = try database()
        try database.write { context in
            try Player(id: 1, number: 7, team: .id(1)).save(to: &context)
            try Player(id: 2, number: 7, team: .id(2)).save(to: &context)
            try Player(id: 3, number: 8, team: .id(1)).save(to: &context)
            // Another player has number 7 of team 1, but the player leaves team 1.
            try Player(id: 3, number: 7, team: .id(3)).save(to: &context, options: renumbering)
            #expect(try Player.filter(\.$team.id == 3 && \.number == 7).ids(in: context) == [3])
            // The write continues after a refusal.
            let refused = violation {
                try Player(id: 3, number: 7, team: .id(2)).save(to: &context, options: renumbering)
            }
            #expect(refused?.existing == .int(2))
            #expect(try Player.filter(\.$team.id == 3 && \.number == 7).ids(in: context) == [3])
        }
        #expect(try database.isWhole())
    }

    @Test("a merge strategy that returns the stored entity replaces the holder of the new link's key, and no other")
    func mergedAndReplaced() throws {
        let database = try database()
        try database.write { context in
            try Guest(id: 1, number: 7, team: .id(1)).save(to: &context)
            try Guest(id: 2, number: 7, team: .id(2)).save(to: &context)
            try Guest(id: 3, number: 8, team: .id(1)).save(to: &context)
            try Guest(id: 3, number: 7, team: .id(2)).save(to: &context, options: renumberingGuests)
            #expect(try Guest.query().ids(in: context) == [1, 3])
            #expect(try Guest.filter(\.$team.id == 2).ids(in: context) == [3])
        }
        #expect(try database.isWhole())
    }

    @Test("a nested entity that moves to its owner is not tested with the link that it loses")
    func nestedMove() throws {
        let database = try database()
        try database.write { context in
            try Player(id: 1, number: 7, team: .id(2)).save(to: &context)
            try Player(id: 2, number: 8, team: .id(2)).save(to: &context)
            try Team(id: 1, players: .relation([Player(id: 1, number: 8)])).save(to: &context)
            #expect(try Player.filter(\.$team.id == 1 && \.number == 8).ids(in: context) == [1])

            try Guest(id: 1, number: 7, team: .id(2)).save(to: &context)
            try Guest(id: 2, number: 8, team: .id(2)).save(to: &context)
            try Team(id: 1, guests: .fragment([Guest(id: 1, number: 8)])).save(to: &context)
            #expect(try Guest.query().ids(in: context) == [1, 2])
            #expect(try Guest.filter(\.$team.id == 1).ids(in: context) == [1])
            // For an entity that stays with its owner, the rule decides.
            try Guest(id: 3, number: 9, team: .id(1)).save(to: &context)
            let renumbered = [Guest(id: 1, number: 9)]
            try Team(id: 1, guests: .appending(relation: renumbered)).save(to: &context)
            #expect(try Guest.query().ids(in: context) == [1, 2])
            #expect(try Guest.filter(\.$team.id == 1 && \.number == 9).ids(in: context) == [1])
        }
        #expect(try database.isWhole())
    }

    @Test("a refused move of a nested entity leaves nothing behind")
    func refusedMove() throws {
        let database = try database()
        try database.write { context in
            try Player(id: 1, number: 7, team: .id(1)).save(to: &context)
            try Player(id: 2, number: 8, team: .id(2)).save(to: &context)
            let refused = violation {
                let moved = [Player(id: 2, number: 7)]
                try Team(id: 1, players: .appending(relation: moved)).save(to: &context)
            }
            #expect(refused?.indexName == "byNumber")
        }
        try database.read { (context) throws in
            #expect(try Player.filter(\.$team.id == 1).ids(in: context) == [1])
            #expect(try Player.filter(\.$team.id == 2 && \.number == 8).ids(in: context) == [2])
        }
        #expect(try database.isWhole())
    }

    @Test("where nils aren't distinct, an entity may lose its link to one that had none")
    func nilChangesHands() throws {
        let database = try database()
        try database.write { context in
            try Badge(id: 1, number: 1, team: .id(1)).save(to: &context)
            try Badge(id: 3, number: 1).save(to: &context)
            try Team(id: 1, badges: .ids([3])).save(to: &context)
            #expect(try Badge.filter(\.$team.id == 1).ids(in: context) == [3])
            #expect(try Badge.filter(\.$team.id == nil).ids(in: context) == [1])
            // Two badges without a team would have one key.
            let refused = violation { try Team(id: 1, badges: .ids([])).save(to: &context) }
            #expect(refused?.indexName == "byNumber")
            #expect(refused?.new == .int(3) && refused?.existing == .int(1))
            #expect(try Badge.filter(\.$team.id == 1).ids(in: context) == [3])
        }
        #expect(try database.isWhole())
    }

    @Test("where nils aren't distinct, the teams of one save may exchange their badges")
    func exchanged() throws {
        let database = try database()
        try database.write { context in
            for id in 1...2 { try Badge(id: id, number: 1, team: .id(id)).save(to: &context) }
            try Badge(id: 3, number: 1).save(to: &context)
            try [Team(id: 1, badges: .ids([2])), Team(id: 2, badges: .ids([1]))].save(to: &context)
            #expect(try Badge.filter(\.$team.id == 1).ids(in: context) == [2])
            #expect(try Badge.filter(\.$team.id == 2).ids(in: context) == [1])
            let refused = violation {
                try [Team(id: 1, badges: .ids([1])), Team(id: 2, badges: .ids([]))].save(to: &context)
            }
            #expect(refused?.indexName == "byNumber")
            #expect(try Badge.filter(\.$team.id == 2).ids(in: context) == [1])
        }
        #expect(try database.isWhole())
    }

    @Test("after random saves from both sides, no two badges have one key, and refusals change nothing", .seeded)
    func random() throws {
        var random = SeededGenerator()
        let database = try database()
        for _ in 0..<150 {
            try database.write { context in
                func badges() -> [Int] { (1...4).shuffled(using: &random).prefix(random.below(3)).map { $0 } }
                let before = try Badge.query().id(\.$team).resolve(in: context).map { "\($0)" }
                let refused = violation {
                    switch random.below(4) {
                    case 0:
                        let team = random.below(4)
                        try Badge(
                            id: random.below(4) + 1, number: random.below(2), team: team == 0 ? .null : .id(team)
                        ).save(to: &context)
                    case 1:
                        try Team(id: random.below(3) + 1, badges: .ids(badges())).save(to: &context)
                    case 2:
                        let nested = badges().map { Badge(id: $0, number: random.below(2)) }
                        try Team(id: random.below(3) + 1, badges: .relation(nested)).save(to: &context)
                    default:
                        try [Team(id: 1, badges: .ids(badges())), Team(id: 2, badges: .ids(badges()))]
                            .save(to: &context)
                    }
                }
                let after = try Badge.query().id(\.$team).resolve(in: context)
                if refused != nil { #expect(after.map { "\($0)" } == before) }
                let keys = after.map { "\($0.$team.id ?? 0) \($0.number)" }
                #expect(Set(keys).count == keys.count)
            }
            #expect(try database.isWhole())
        }
    }
}
