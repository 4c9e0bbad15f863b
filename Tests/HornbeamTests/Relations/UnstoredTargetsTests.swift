// SPDX-License-Identifier: Apache-2.0
// Lists that lead to unstored entities, compared with arrays: counts, pages, positions and orders include only stored
// ones, with any number of missing ones.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Team {
    let id: Int
    @Relationship(inverse: \.team) var players: [Player]?
    @Relationship(inverse: \.fans) var idols: [Player]?
    @Relationship() var scouted: [Player]?
    @Relationship() var captain: Player?
}

@EntityModel
private struct Player {
    let id: String
    var rank: Int
    @Relationship(inverse: \.players) var team: Team?
    @Relationship(inverse: \.idols) var fans: [Team]?
}

@Suite("links to unstored entities")
struct UnstoredTargetsTests {
    private struct League {
        var lists: [Int: [[String]]] = [:]
        var captains: [Int: String] = [:]
        var stored: Set<String> = []

        /// - Parameter missing: the percentage of players that are linked but not stored.
        init(_ random: inout SeededGenerator, missing: Int, in context: inout Context) throws {
            let ids = (0..<100).map { "p\($0)" }
            stored = Set(ids.shuffled(using: &random).dropFirst(missing))
            var rest = ids.shuffled(using: &random)
            let isFirst = Bool.random(using: &random)
            if isFirst { try save(to: &context) }
            for team in 1...5 {
                let players = Array(rest.prefix(random.below(30)))
                rest.removeFirst(players.count)
                let (idols, scouted) = (
                    ids.shuffled(using: &random).prefix(random.below(40)),
                    ids.shuffled(using: &random).prefix(random.below(40))
                )
                lists[team] = [players, Array(idols), Array(scouted)]
                captains[team] = ids.randomElement(using: &random)
                try Team(
                    id: team, players: .ids(players), idols: .ids(Array(idols)), scouted: .ids(Array(scouted)),
                    captain: captains[team].map { .id($0) } ?? .null
                ).save(to: &context)
            }
            if !isFirst { try save(to: &context) }
        }

        private func save(to context: inout Context) throws {
            for id in stored.sorted() { try Player(id: id, rank: id.count).save(to: &context) }
        }
    }

    /// Calls `body` with a league in a write, and then in a read, which remembers the missing players.
    private func inLeague(
        _ random: inout SeededGenerator, missing: Int,
        _ body: (League, Context, inout SeededGenerator) throws -> Void
    ) throws {
        let database = try Database.inMemory(models: Team.self, Player.self)
        let league = try database.write { context in
            let league = try League(&random, missing: missing, in: &context)
            try body(league, context, &random)
            return league
        }
        try database.read { context in try body(league, context, &random) }
    }

    private func lists(_ team: Int) -> [QueryList<Player>] {
        let team = Team.query(team)
        return [team.related(\.$players), team.related(\.$idols), team.related(\.$scouted)]
    }

    @Test("counts, pages and positions", .seeded, arguments: [0, 1, 3, 20, 80])
    func parts(missing: Int) throws {
        var random = SeededGenerator()
        for _ in 0..<3 {
            try inLeague(&random, missing: missing) { league, context, random in
                try parts(of: league, context, &random)
            }
        }
    }

    private func parts(of league: League, _ context: Context, _ random: inout SeededGenerator) throws {
        for team in 1...5 {
            for (number, list) in lists(team).enumerated() {
                let expected = (league.lists[team]?[number] ?? []).filter(league.stored.contains)
                #expect(try list.count(in: context) == expected.count)
                #expect(try list.last().resolve(in: context)?.id == expected.last)
                for offset in [0, 1, 2, 7, 30] {
                    let part = list.limit(4, offset: offset)
                    let wanted = expected.dropFirst(offset)
                    #expect(try part.resolve(in: context).map(\.id) == Array(wanted.prefix(4)))
                    #expect(try part.ids(in: context) == Array(wanted.prefix(4)))
                    #expect(try part.count(in: context) == wanted.prefix(4).count)
                }
                guard let place = expected.indices.randomElement(using: &random) else { continue }
                let behind = list.after(Player(id: expected[place], rank: 0))
                let wanted = Array(expected[(place + 1)...])
                #expect(try behind.count(in: context) == wanted.count)
                #expect(
                    try behind.limit(3, offset: 2).ids(in: context) == Array(wanted.dropFirst(2).prefix(3)))
                #expect(try behind.last().resolve(in: context)?.id == wanted.last)
            }
            let captain = league.captains[team].flatMap { league.stored.contains($0) ? $0 : nil }
            #expect(try Team.query(team).related(\.$captain).resolve(in: context)?.id == captain)
        }
    }

    @Test("nested pages, and orders by the number of stored targets", .seeded, arguments: [0, 1, 20])
    func nested(missing: Int) throws {
        var random = SeededGenerator()
        try inLeague(&random, missing: missing) { league, context, _ in try nested(in: league, context) }
    }

    private func nested(in league: League, _ context: Context) throws {
        func stored(_ team: Int, _ number: Int) -> [String] {
            (league.lists[team]?[number] ?? []).filter(league.stored.contains)
        }
        let teams = try Team.query().with(\.$players) { $0.limit(5, offset: 2) }.with(\.$idols) { $0.limit(6) }
            .with(\.$captain).resolve(in: context)
        for team in teams {
            #expect(team.players?.map(\.id) == Array(stored(team.id, 0).dropFirst(2).prefix(5)))
            #expect(team.idols?.map(\.id) == Array(stored(team.id, 1).prefix(6)))
        }
        let sorted = try Team.query().sorted(by: \.$idols.count.desc).ids(in: context)
        #expect(sorted == (1...5).sorted { (stored($1, 1).count, $0) < (stored($0, 1).count, $1) })
    }
}
