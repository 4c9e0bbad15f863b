// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Coming from GRDB”.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Player {
    @Index<Self>(\.score.desc, \.name) private var byScore
    @FullTextIndex<Self>(\.name) private var search

    let id: Int
    var name: String
    var score: Int

    @Relationship(inverse: \.players) var club: Club?
}

@EntityModel
private struct Club {
    let id: Int
    var name: String

    @Relationship(deleteRule: .cascade, inverse: \.club) var players: [Player]?
}

@Suite("The guide “Coming from GRDB”", .timeLimit(.minutes(30)))
struct ComingFromGRDBTests {
    private func filled(_ database: Database) throws -> Database {
        try database.write { context in
            try Club(id: 1, name: "Red").save(to: &context)
            for (id, name) in ["Ada", "Bob", "Cleo"].enumerated() {
                let player = Player(id: id, name: name, score: id * 10, club: .id(1))
                try player.save(to: &context)
            }
        }
        return database
    }

    @Test("Requests find, change and delete")
    func requests() throws {
        let database = try filled(try Database.inMemory(models: Player.self, Club.self))
        let request = Player.filter(\.score > 10)
        try database.read { context in
            #expect(try Player.query(1).resolve(in: context)?.name == "Bob")
            #expect(try request.resolve(in: context).map(\.name) == ["Cleo"])
            #expect(try request.count(in: context) == 1)
            let best = Player.query().sorted(by: \.score.desc).limit(3)
            #expect(try best.ids(in: context) == [2, 1, 0])
            let plan = try request.explain(in: context)
            #expect("\(plan)".hasPrefix("Player: "))
            let teams = Club.query().with(\.$players)
            #expect(try teams.first(in: context)?.players?.count == 3)
            let players: [Player] = try Club.query(1).related(\.$players).resolve(in: context)
            #expect(players.count == 3)
            let found = Player.filter(.string(\.name, matches: "ada"))
            #expect(try found.ids(in: context) == [0])
        }
        let rows = try database.query("SELECT name FROM Player WHERE score > ?", 10)
        #expect(rows.map(\.json) == [#"{"name":"Cleo"}"#])
        try database.write { context in
            let next = try Player.nextID(in: &context)
            #expect(next == 3)
            #expect(try request.update(in: &context) { $0.score += 1 } == 1)
            try Player.delete(id: 1, from: &context)
            let gone = try context.transaction { context in
                try request.delete(from: &context)
            }
            #expect(gone == 1)
        }
    }

    @Test("A request is observed")
    func observed() async throws {
        let database = try filled(try Database.inMemory(models: Player.self, Club.self))
        for try await list in database.observe(Player.filter(\.score > 10)) {
            #expect(list.entities.map(\.name) == ["Cleo"])
            break
        }
    }

    @Test("A file is opened and copied")
    func backup() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let (path, copy) = (folder.path("a.hornbeam"), folder.path("b.hornbeam"))
        let database = try filled(try Database(at: path, models: Player.self, Club.self))
        try database.backup(to: copy)
        #expect(try folder.names().contains("b.hornbeam"))
    }
}
