// SPDX-License-Identifier: Apache-2.0
// Short spellings of queries, which people try first: each is equivalent to the longer form.

import Foundation
import Hornbeam
import Testing

@EntityModel
private struct Tune {
    @Index<Self>(\.plays.asc, \.name.desc) private var byPlays
    @Index<Self>(.updatedAt.asc) private var byUpdate

    let id: Int
    var name = ""
    var plays = 0
    var rating: Int?
    var isLoud = false

    @Relationship(inverse: \.tracks) var album: Disc?
    @Relationship() var writer: Singer?
    @Relationship() var players: [Singer]?

    var length: Int { name.count }
}

@EntityModel
private struct Disc {
    let id: Int
    var name = ""
    @Relationship(inverse: \.album) var tracks: [Tune]?
}

@EntityModel
private struct Singer {
    let id: String
}

@Suite("Queries as people first write them")
struct QuerySpellingTests {
    private var context = Context()

    init() throws {
        try Disc(id: 1, name: "one").save(to: &context)
        for id in ["p", "q"] { try Singer(id: id).save(to: &context) }
        for id in 1...6 {
            var track = Tune(
                id: id, name: String(repeating: "a", count: 7 - id), plays: id % 3, rating: id % 2 == 0 ? id : nil,
                isLoud: id > 3)
            if id < 4 { track.$album = .id(1) }
            track.$writer = .id("p")
            track.$players = .ids(["p", "q"])
            try track.save(to: &context)
        }
    }

    // MARK: Orders

    @Test(".asc changes nothing, for any type, and uses the same index")
    func ascending() throws {
        let all = Tune.query()
        func same(_ left: QueryList<Tune>, _ right: QueryList<Tune>) throws -> Bool {
            try "\(left.explain(in: context))" == "\(right.explain(in: context))"
                && left.ids(in: context) == right.ids(in: context)
        }
        #expect(try same(all.sorted(by: \.plays.asc), all.sorted(by: \.plays)))
        #expect(try same(all.sorted(by: \.plays.asc, \.name.desc), all.sorted(by: \.plays, \.name.desc)))
        #expect(try same(all.sorted(by: \.name.asc, \.rating.asc), all.sorted(by: \.name, \.rating.asc)))
        #expect(try same(all.sorted(by: .by(\.name.asc)), all.sorted(by: \.name)))
        #expect(try same(all.sorted(by: .updatedAt.asc), all.sorted(by: .updatedAt)))
        #expect(try all.sorted(by: \.length.asc).ids(in: context) == [6, 5, 4, 3, 2, 1])
        #expect(try all.sorted(by: \.$players.count.asc, \.id.desc).ids(in: context) == [6, 5, 4, 3, 2, 1])
        #expect(try Disc.query().sorted(by: \.$tracks.count.asc).ids(in: context) == [1])
        // An index declared with .asc has this order.
        #expect("\(try all.sorted(by: \.plays).limit(1).explain(in: context))".contains("byPlays"))
        #expect(try all.max(\.plays.asc, in: context) == 2)
        #expect(try Tune.filter(\.plays.asc == 2).ids(in: context) == [2, 5])
    }

    @Test("A registered index over a computed property serves its order with .asc too, and the other way round")
    func ascendingComputed() throws {
        let database = try Database.inMemory(models: Disc.self, Tune.self, Singer.self)
        try database.write { context in
            for id in 1...300 {
                try Tune(id: id, name: String(repeating: "a", count: id % 9)).save(to: &context)
            }
        }
        try database.register(ValueIndex<Tune>("byLength", \.length))
        let plain = Tune.query().sorted(by: \.length).limit(3)
        let explicit = Tune.query().sorted(by: \.length.asc).limit(3)
        let (plan, found, expected) = try database.read { context in
            ("\(try explicit.explain(in: context))", try explicit.ids(in: context), try plain.ids(in: context))
        }
        #expect(plan.contains("byLength") && found == expected)
    }

    @Test("last(in:) is the last entity, nil if there is none")
    func last() throws {
        #expect(try Tune.query().sorted(by: \.name).last(in: context)?.id == 1)
        #expect(try Tune.filter(\.plays == 2).last(in: context)?.id == 5)
        #expect(try Tune.filter(\.plays == 9).last(in: context) == nil)
    }

    // MARK: Finding

    @Test("A context infers the entity type from an argument or from the result")
    func finding() throws {
        #expect(try context.find(Tune.self, 3)?.id == 3)
        #expect(try context.find(Tune.self, id: 3)?.id == 3)
        #expect(try context.find(Tune.self, 9)?.id == nil)
        let track: Tune? = try context.find(3)
        #expect(track?.id == 3)
        #expect((try context.find(3) as Tune?)?.id == 3)
        #expect(try context.all(Singer.self).map(\.id) == ["p", "q"])
        #expect(try context.findAll(Singer.self, ["q", "x"]).map { $0?.id } == ["q", nil])
        #expect(try context.findAllExisting(Singer.self, ["q", "x"]).map(\.id) == ["q"])
        let people: [Singer] = try context.all()
        #expect(people.count == 2)
    }

    // MARK: Relations

    @Test("One step may load several relations")
    func several() throws {
        let tracks = Tune.filter(\.id < 4)
        for (short, long) in [
            (tracks.with(\.$album, \.$players), tracks.with(\.$album).with(\.$players)),
            (tracks.with(\.$album, \.$writer, \.$players), tracks.with(\.$album).with(\.$writer).with(\.$players)),
            (tracks.id(\.$album, \.$players), tracks.id(\.$album).id(\.$players)),
            (tracks.id(\.$writer, \.$album, \.$players), tracks.id(\.$album).id(\.$players).id(\.$writer)),
            (tracks.fragment(\.$album, \.$players), tracks.fragment(\.$album).fragment(\.$players)),
        ] {
            let (one, other) = (try short.resolve(in: context), try long.resolve(in: context))
            #expect(one.map { "\($0)" } == other.map { "\($0)" })
            #expect(one.map(\.album?.name) == other.map(\.album?.name))
        }
        let track = try Tune.query(1).with(\.$album, \.$players).resolve(in: context)
        #expect(track?.album?.name == "one" && track?.players?.map(\.id) == ["p", "q"] && track?.writer == nil)
        let fragment = try Tune.query(1).fragment(\.$album, \.$writer, \.$players).resolve(in: context)
        #expect(fragment?.$album.isFragment == true && fragment?.$players.isFragment == true)
        #expect(try Tune.query(1).id(\.$album, \.$players).resolve(in: context)?.$players.ids == ["p", "q"])
    }

    // MARK: Groups

    @Test("One key and one aggregate are plain values, not tuples of one")
    func groupsOfOne() throws {
        let groups = Tune.query().grouped(by: \.plays).aggregate(.count)
        #expect(try groups.resolve(in: context).count == 3)
        #expect(try groups.resolve(in: context).map { $0.values } == [2, 2, 2])
        #expect(try groups.resolve(in: context).map { $0.key } == [0, 1, 2])
        let first = try groups.resolve(in: context).first?.values
        #expect(first.map { $0 + 1 } == 3)
        let best = try Tune.query().grouped(by: \.plays).aggregate(.max(\.rating)).resolve(in: context)
        #expect(best.map { $0.values ?? 0 } == [6, 4, 2])
        let greatest = try Tune.query().aggregate(.max(\.rating), in: context) ?? 0
        #expect(greatest == 6)
        #expect(try Tune.query().aggregate(.count, in: context) + 1 == 7)
        let (count, sum) = try Tune.query().aggregate(.count, .sum(\.plays), in: context)
        #expect(count == 6 && sum == 6)
        for (key, (count, sum)) in try Tune.query().grouped(by: \.plays).aggregate(.count, .sum(\.id))
            .resolve(in: context)
        {
            #expect(count == 2 && sum == (key == 0 ? 9 : key == 1 ? 5 : 7))
        }
        #expect(
            try Tune.query().grouped(by: \.isLoud).aggregate(.groupConcat(\.name, separator: "-")).having { $0 != "" }
                .resolve(in: context).map { $0.values } == ["aaaaaa-aaaaa-aaaa", "aaa-aa-a"])
    }

    @Test("One aggregate is followed live as several are")
    func liveOfOne() async throws {
        let database = try Database.inMemory(models: Disc.self, Tune.self, Singer.self)
        var greatest = database.observe(Tune.query(), aggregating: .max(\.plays)).makeAsyncIterator()
        let none = try await greatest.next()
        #expect(none == .some(nil))
        try await database.write { try Tune(id: 1, plays: 3).save(to: &$0) }
        let three: Int?? = try await greatest.next()
        #expect(three.map { ($0 ?? 0) + 1 } == 4)
        try await database.write { context in
            try Tune(id: 2, plays: 2).save(to: &context)
            try Tune.delete(id: 1, from: &context)
        }
        #expect(try await greatest.next() == 2)
    }

    // MARK: Streams and writes

    @Test("forEach gives the results of resolve in order, and its closure may write and throw")
    func forEach() throws {
        struct Enough: Error {}
        var context = Context()
        for id in 0..<2_500 { try context.insert(Tune(id: id, plays: id % 7)) }
        for query in [
            Tune.query(), Tune.filter(\.plays > 3).sorted(by: \.id.desc), Tune.query([7, 3, 9_999, 7]),
            Tune.query().sorted(by: \.plays).limit(1_200, offset: 5).filter(\.id > 100),
        ] {
            var found: [Int] = []
            try query.forEach(in: context) { found.append($0.id) }
            #expect(try found == query.resolve(in: context).map(\.id))
        }
        var seen = 0
        #expect(throws: Enough.self) {
            try Tune.query().forEach(in: context) { _ in
                seen += 1
                if seen == 3 { throw Enough() }
            }
        }
        #expect(seen == 3)
        // `forEach` reads a thousand entities at a time. If the body deletes an entity before its turn, it is
        // skipped.
        seen = 0
        try Tune.query().forEach(in: context) { track in
            seen += 1
            try track.delete(from: &context)
            if track.id == 0 { for id in 1_500..<2_500 { try Tune.delete(id: id, from: &context) } }
        }
        #expect(try seen == 1_500 && Tune.query().count(in: context) == 0)
        try Tune.query(in: context).forEach { _ in seen += 1 }
        #expect(seen == 1_500)
        #expect(throws: HornbeamError.self) { try Tune.query().forEach { _ in } }
    }

    @Test("forEach loads relations as resolve does")
    func forEachWithRelations() throws {
        var names: [String?] = []
        try Tune.query().with(\.$album).forEach(in: context) { names.append($0.album?.name) }
        #expect(names == ["one", "one", "one", nil, nil, nil])
    }

    @Test("The result of a write may be unused, and a batch of updates may be awaited")
    func writes() async throws {
        let database = try Database.inMemory(models: Disc.self, Tune.self, Singer.self)
        try await database.write { context in try [Tune(id: 1), Tune(id: 2)].save(to: &context) }
        try await database.write { context in try Tune.query().update(in: &context) { $0.plays += 1 } }
        try await database.performBatchUpdates { context in try Tune.query().update(in: &context) { $0.plays += 1 } }
        let batch = try await database.performBatchUpdates { context in
            try context.transaction { context in try Tune.filter(\.id == 2).delete(from: &context) }
            return try Tune.query().update(in: &context) { $0.plays += 1 }
        }
        #expect(batch.value == 1)
        #expect(batch.changes[Tune.self].updated == [1] && batch.changes[Tune.self].deleted == [2])
        #expect(try await database.read { try Tune.query().resolve(in: $0).map(\.plays) } == [3])
        await #expect(throws: HornbeamError.self) {
            try await database.performBatchUpdates { context in
                try Tune.delete(id: 1, from: &context)
                throw HornbeamError(.invalid, "no")
            }
        }
        #expect(try await database.read { try Tune.query().count(in: $0) } == 1)
        try dropped(database)
    }

    /// Synchronous, because in asynchronous code the compiler would choose the other `write`.
    private func dropped(_ database: Database) throws {
        try database.write { try Tune.query().delete(from: &$0) }
        try database.write(durability: .none) { try Tune.query().delete(from: &$0) }
    }
}
