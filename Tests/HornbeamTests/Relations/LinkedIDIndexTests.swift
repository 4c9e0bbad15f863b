// SPDX-License-Identifier: Apache-2.0
// Indexes over the id that a to-one relation leads to: they follow the links, whichever side changes them.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Podcast {
    let id: Int
    var title: String

    @Relationship(inverse: \.podcast) var episodes: [Episode]?

    mutating func willSave(to context: inout Context) throws {
        if title == "refused" { throw HornbeamError(.invalid, title) }
    }
}

@EntityModel
private struct Episode {
    @Index<Self>(\.$podcast.id, \.published.desc) private var byPodcast
    @Unique<Self>(\.$podcast.id, \.number, collisions: .throw) private var byNumber
    @HashIndex<Self>(\.$host.id) private var byHost

    let id: Int
    var number: Int
    var published: Int

    @Relationship(inverse: \.episodes) var podcast: Podcast?
    @Relationship() var host: Host?
}

@EntityModel
private struct Host {
    let id: String
}

/// The types above as an earlier version of the program declared them, without the indexes.
private enum Former {
    @EntityModel
    struct Podcast {
        let id: Int
        var title: String

        @Relationship(inverse: \.podcast) var episodes: [Episode]?
    }

    @EntityModel
    struct Episode {
        let id: Int
        var number: Int
        var published: Int

        @Relationship(inverse: \.episodes) var podcast: Podcast?
        @Relationship() var host: Host?
    }

    @EntityModel
    struct Host {
        let id: String
    }
}

private func database() throws -> Database {
    try Database.inMemory(models: Podcast.self, Episode.self, Host.self)
}

private func newestFirst(_ podcast: Int) -> QueryList<Episode> {
    Episode.filter(\.$podcast.id == podcast).sorted(by: \.published.desc).requiringIndex()
}

/// Returns the ids of a podcast's episodes, newest first, by an index.
private func newest(_ podcast: Int, _ context: Context) throws -> [Int] {
    try newestFirst(podcast).resolve(in: context).map(\.id)
}

@Suite("Indexes over related ids")
struct LinkedIDIndexTests {
    @Test("an index over a relation's id and a property answers a filter by the id with a sort by the property")
    func planned() throws {
        let database = try database()
        try database.write { context in
            for id in 1...3 { try Podcast(id: id, title: "\(id)").save(to: &context) }
            for id in 1...300 {
                try Episode(
                    id: id, number: id, published: id * 7 % 300, podcast: .id(id % 3 + 1),
                    host: .id(id % 2 == 0 ? "a" : "b")
                ).save(to: &context)
            }
            for host in ["a", "b"] { try Host(id: host).save(to: &context) }
        }
        try database.read { context in
            let all = try Episode.query().sorted(by: \.published.desc).resolve(in: context)
            for podcast in 1...3 {
                #expect(try newest(podcast, context) == all.filter { $0.id % 3 + 1 == podcast }.map(\.id))
                let plan = try newestFirst(podcast).explain(in: context)
                #expect("\(plan)".contains("byPodcast"), "\(plan)")
            }
            let page = Episode.filter(\.$podcast.id == 2).sorted(by: \.published.desc).limit(5)
            let run = try page.explain(.analyze, in: context)
            #expect(run.rowsRead == 5 && run.results == 5, "\(run)")
            #expect(try Episode.filter(\.$podcast.id == 2).count(in: context) == 100)
            #expect(try Episode.filter(\.$podcast.id != 2).count(in: context) == 200)
            #expect(try Episode.filter(\.$podcast.id > 1).count(in: context) == 200)
            #expect(try Episode.filter(.value(\.$podcast.id, in: [1, 3])).requiringIndex().count(in: context) == 200)
            #expect(try Episode.filter(\.$host.id == "a").requiringIndex().count(in: context) == 150)
            let one = Episode.filter(\.$podcast.id == 2 && \.number == 4)
            #expect(try one.requiringIndex().resolve(in: context).map(\.id) == [4])
            #expect("\(try one.explain(in: context))".contains("byNumber"))
            let sorted = try Episode.query().sorted(by: .by(\.$podcast.id), .by(\.published.desc)).resolve(in: context)
            #expect(sorted.map { $0.id % 3 + 1 } == (1...3).flatMap { Array(repeating: $0, count: 100) })
            #expect(try Episode.query().sorted(by: \.$podcast.id.desc).first(in: context)?.id == 3 - 1)
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("it follows links that either side changes, deletions, detaching, and saves with unset relations")
    func follows() throws {
        let database = try database()
        try database.write { context in
            try Podcast(id: 1, title: "one", episodes: .ids([10, 11])).save(to: &context)
            try Podcast(id: 2, title: "two").save(to: &context)
            // The episodes are linked before they are stored.
            for id in 10...13 { try Episode(id: id, number: id, published: id).save(to: &context) }
            #expect(try newest(1, context) == [11, 10])
            try Episode(id: 10, number: 10, published: 99).save(to: &context)
            #expect(try newest(1, context) == [10, 11])
            try Episode(id: 12, number: 12, published: 12, podcast: .id(1)).save(to: &context)
            #expect(try newest(1, context) == [10, 12, 11])
            // The other podcast takes them over.
            try Podcast(id: 2, title: "two", episodes: .ids([12, 13])).save(to: &context)
            #expect(try newest(1, context) == [10, 11])
            #expect(try newest(2, context) == [13, 12])
            try Podcast(id: 2, title: "two", episodes: .appending(ids: [11])).save(to: &context)
            #expect(try newest(2, context) == [13, 12, 11])
            try Episode(id: 13, number: 13, published: 13, podcast: .null).save(to: &context)
            #expect(try newest(2, context) == [12, 11])
            #expect(try Episode.filter(\.$podcast.id == nil).resolve(in: context).map(\.id) == [13])
            let podcast = try #require(try Podcast.query(2).resolve(in: context))
            try podcast.detach(12, relation: \.$episodes, inverse: \.$podcast, in: &context)
            #expect(try newest(2, context) == [11])
            try Podcast.delete(id: 1, from: &context)
            #expect(try newest(1, context) == [])
            try Episode.delete(id: 11, from: &context)
            #expect(try newest(2, context) == [])
            try context.insert(Episode(id: 13, number: 13, published: 14, podcast: .id(2)))
            #expect(try newest(2, context) == [])
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("a link to an unstored entity counts as none, as without the index")
    func unstored() throws {
        let database = try database()
        try database.write { context in
            try Episode(id: 1, number: 1, published: 1, podcast: .id(5)).save(to: &context)
            try Episode(id: 2, number: 2, published: 2, podcast: .id(6)).save(to: &context)
            try Podcast(id: 6, title: "six").save(to: &context)
            #expect(try newest(5, context) == [])
            #expect(try newest(6, context) == [2])
            #expect(try Episode.filter(\.$podcast.id != 6).resolve(in: context).map(\.id) == [1])
            #expect(try Episode.filter(\.$podcast.id == nil).resolve(in: context).map(\.id) == [1])
            try Podcast(id: 5, title: "five").save(to: &context)
            #expect(try newest(5, context) == [1])
            try context.remove(Podcast.self, id: 6)
            #expect(try newest(6, context) == [])
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("one number per podcast, from either side; a refused save leaves nothing behind")
    func unique() throws {
        let database = try database()
        func violation(_ body: () throws -> Void) -> UniqueViolation? {
            do {
                try body()
                return nil
            } catch {
                return (error as? HornbeamError)?.violation
            }
        }
        try database.write { context in
            for id in 1...2 { try Podcast(id: id, title: "\(id)").save(to: &context) }
            try Episode(id: 1, number: 1, published: 1, podcast: .id(1)).save(to: &context)
            try Episode(id: 2, number: 1, published: 2, podcast: .id(2)).save(to: &context)
            try Episode(id: 3, number: 1, published: 3).save(to: &context)
            try Episode(id: 4, number: 1, published: 4).save(to: &context)
            let own = violation { try Episode(id: 3, number: 1, published: 3, podcast: .id(1)).save(to: &context) }
            #expect(own?.indexName == "byNumber")
            #expect(own?.existing == .int(1))
            let other = violation { try Podcast(id: 1, title: "1", episodes: .ids([3, 1])).save(to: &context) }
            #expect(other?.indexName == "byNumber")
            #expect(try newest(1, context) == [1])
            #expect(try Podcast.query(1).related(\.$episodes).resolve(in: context).map(\.id) == [1])
            // An episode that leaves the podcast makes room for another one.
            try Podcast(id: 1, title: "1", episodes: .ids([3])).save(to: &context)
            #expect(try newest(1, context) == [3])
            // The two exchange their podcasts.
            try [
                Episode(id: 3, number: 1, published: 3, podcast: .id(2)),
                Episode(id: 2, number: 1, published: 2, podcast: .id(1)),
            ].save(to: &context)
            #expect(try newest(1, context) == [2])
            #expect(try newest(2, context) == [3])
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("a link is no save: neither the time of the last save nor the state's token changes")
    func noSave() throws {
        let database = try database()
        try database.write { context in
            try Podcast(id: 1, title: "one").save(to: &context)
            try Episode(id: 1, number: 1, published: 1).save(to: &context)
        }
        let before = try database.read { context in
            (try (try context.find(1) as Episode?)?.updatedAt(in: context), try Episode.stateToken(id: 1, in: context))
        }
        try database.write { try Podcast(id: 1, title: "one", episodes: .ids([1])).save(to: &$0) }
        try database.write { try Episode(id: 1, number: 1, published: 1, podcast: .null).save(to: &$0) }
        try database.write { context in
            try Episode(id: 1, number: 1, published: 1, podcast: .id(1)).save(to: &context)
            #expect(try (try context.find(1) as Episode?)?.updatedAt(in: context) == before.0)
            #expect(try Episode.stateToken(id: 1, in: context) == before.1)
            #expect(try newest(1, context) == [1])
        }
    }

    @Test("a save that fails after its row, and an undone transaction, leave the ids equal to the links")
    func undone() throws {
        let database = try database()
        try database.write { context in
            try Podcast(id: 1, title: "one").save(to: &context)
            try Episode(id: 1, number: 1, published: 1, podcast: .id(1)).save(to: &context)
            _ = try? context.transaction { context in
                try Podcast(id: 1, title: "one", episodes: .ids([])).save(to: &context)
                #expect(try newest(1, context) == [])
                throw HornbeamError(.invalid, "enough")
            }
            #expect(try newest(1, context) == [1])
            let long = String(repeating: "x", count: 2_000)
            #expect(throws: HornbeamError.self) {
                try Episode(id: 1, number: 1, published: 1, host: .id(long)).save(to: &context)
            }
            #expect(try Episode.filter(\.$host.id == nil).count(in: context) == 1)
            // Its row is stored before the podcast is saved.
            #expect(throws: HornbeamError.self) {
                let refused = Podcast(id: 2, title: "refused")
                try Episode(id: 1, number: 1, published: 5, podcast: .relation(refused)).save(to: &context)
            }
            #expect(try newest(1, context) == [1])
            #expect(try newest(2, context) == [])
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("if it is added to an existing store, the index is built from the links, and ids are kept")
    func migrated() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        let former = [Former.Podcast.self, Former.Episode.self, Former.Host.self] as [any EntityModelProtocol.Type]
        let now = [Podcast.self, Episode.self, Host.self] as [any EntityModelProtocol.Type]
        func open(
            _ models: [any EntityModelProtocol.Type], _ migrations: [Migration], _ body: (Database) throws -> Void
        ) throws {
            let database = try Database(at: path, models: models, migrations: migrations)
            try body(database)
            #expect(try database.check { Issue.record("\($0)") })
            try database.close()
        }
        let forward: [Migration] = [
            .rename("Former.Podcast", to: Podcast.self), .rename("Former.Episode", to: Episode.self),
            .rename("Former.Host", to: Host.self),
        ]
        let back: [Migration] = [
            .rename("Podcast", to: Former.Podcast.self), .rename("Episode", to: Former.Episode.self),
            .rename("Host", to: Former.Host.self),
        ]
        try open(former, []) { database in
            try database.write { context in
                for id in 1...2 { try Former.Podcast(id: id, title: "\(id)").save(to: &context) }
                for id in 1...100 {
                    try Former.Episode(
                        id: id, number: id, published: id, podcast: id % 5 == 0 ? .none : .id(id % 2 + 1)
                    ).save(to: &context)
                }
            }
        }
        try open(now, forward) { database in
            try database.read { context in
                let found = try newest(2, context)
                #expect(found == (1...99).reversed().filter { $0 % 2 == 1 && $0 % 5 != 0 })
                #expect(try Episode.filter(\.$podcast.id == nil).count(in: context) == 20)
            }
        }
        try open(former, back) { database in
            try database.write { try Former.Podcast(id: 1, title: "1", episodes: .ids([5])).save(to: &$0) }
        }
        try open(now, forward) { database in
            let found = try database.read { try newest(1, $0) }
            #expect(found == [5])
        }
    }

    @Test("after random changes from both sides the index agrees with the links", .seeded)
    func random() throws {
        var random = SeededGenerator()
        let database = try database()
        for _ in 0..<60 {
            try database.write { context in
                for _ in 0..<20 {
                    let podcast = Int.random(in: 1...6, using: &random)
                    let episode = Int.random(in: 1...40, using: &random)
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: try Podcast(id: podcast, title: "\(podcast)").save(to: &context)
                    case 1:
                        let ids = (0..<5).map { _ in Int.random(in: 1...40, using: &random) }
                        try Podcast(id: podcast, title: "", episodes: .ids(ids)).save(to: &context)
                    case 2: try Podcast.delete(id: podcast, from: &context)
                    case 3: try Episode.delete(id: episode, from: &context)
                    case 4: try Episode(id: episode, number: episode, published: 0, podcast: .null).save(to: &context)
                    case 5: try context.remove(Podcast.self, id: podcast)
                    default:
                        try Episode(
                            id: episode, number: episode, published: Int.random(in: 0...9, using: &random),
                            podcast: .id(podcast)
                        ).save(to: &context)
                    }
                }
                for podcast in 1...6 {
                    let linked = try Podcast.query(podcast).related(\.$episodes).resolve(in: context)
                    let isStored = try Podcast.query(podcast).resolve(in: context) != nil
                    #expect(try Set(newest(podcast, context)) == (isStored ? Set(linked.map(\.id)) : []))
                }
            }
            #expect(try database.check { Issue.record("\($0)") })
        }
    }
}
