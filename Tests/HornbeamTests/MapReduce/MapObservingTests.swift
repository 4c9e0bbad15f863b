// SPDX-License-Identifier: Apache-2.0
// Live queries of map indexes: they report a query's results, and are silent while these don't change.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@Suite("Live queries of map indexes")
struct MapObservingTests {
    private func shop() throws -> Database {
        let database = try Database.inMemory(models: TaggedPost.self, indexes: [postsByTag()])
        try database.write { (context) throws in
            for id in 0..<40 { try post(id, "t\(id % 5)").save(to: &context) }
        }
        return database
    }

    private func post(_ id: Int, _ tags: String..., title: String = "", size: Int? = nil) -> TaggedPost {
        TaggedPost(id: id, title: title, tags: tags, size: size ?? id)
    }

    private func observation<Result: LiveResult>(_ result: Result, _ database: Database) -> Observation<Result> {
        let observation = Observation(result, of: database)
        observation.start()
        return observation
    }

    private func save(_ database: Database, _ posts: TaggedPost...) throws {
        try database.write { context in for post in posts { try post.save(to: &context) } }
    }

    @Test("rows come with the changes; a row under another key moves")
    func rows() throws {
        let database = try shop()
        let rows = observation(MapRowsResult(postsByTag().query().range(from: "t1", to: "t2")), database)
        defer { rows.finish() }
        let first = try #require(try rows.poll())
        #expect(first.changes == nil && first.rows.count == 16)
        #expect(first.rows.first?.source == 1 && first.rows.last?.source == 37)
        // One moves from t1 to t2, one changes its size, one leaves, one is added.
        try save(database, post(1, "t2"), post(6, "t1", size: 1_000), post(11, "elsewhere"), post(50, "t2"))
        let next = try #require(try rows.poll())
        #expect(next.rows.map(\.source) == [6, 16, 21, 26, 31, 36, 1, 2, 7, 12, 17, 22, 27, 32, 37, 50])
        let changes = try #require(next.changes)
        #expect(changes.deletions == [2] && changes.insertions == [15])
        #expect(changes.moves == [ListChanges.Move(from: 0, to: 6)] && changes.updates == [0, 6])
    }

    @Test("no event, and no query, when no row in the query's range has changed")
    func silence() throws {
        let database = try shop()
        let rows = observation(MapRowsResult(postsByTag().query().key("t1")), database)
        let groups = observation(MapGroupsResult(postsByTag().query().prefix("t1").grouped()), database)
        let sum = observation(MapReductionResult(postsByTag().query().key("t1").reduced()), database)
        defer {
            rows.finish()
            groups.finish()
            sum.finish()
        }
        _ = try rows.poll()
        _ = try groups.poll()
        #expect(try sum.poll() == (0..<40).filter { $0 % 5 == 1 }.reduce(0, +))
        let before = database.live.figures.counts
        // A changed property outside the range, a changed key, an entity without rows, and the changes undone.
        try save(database, post(1, "t1", title: "other"))
        try save(database, post(2, "t3"), TaggedPost(id: 90))
        try save(database, post(6, "t4"))
        try save(database, post(6, "t1"))
        #expect(try rows.poll() == nil)
        #expect(try groups.poll() == nil)
        #expect(try sum.poll() == nil)
        #expect(database.live.figures.counts.queries == before.queries)
        // Changes within the range that leave the sum unchanged.
        try save(database, post(1, "t1", size: 0), post(6, "t1", size: 7))
        #expect(try sum.poll() == nil)
        #expect(try rows.poll()?.changes?.updates == [0, 1])
    }

    @Test("groups and reductions come when they change")
    func groups() throws {
        let database = try shop()
        let groups = observation(MapGroupsResult(postsByTag().query().grouped()), database)
        let sum = observation(MapReductionResult(postsByTag().query().reduced()), database)
        defer {
            groups.finish()
            sum.finish()
        }
        #expect(try groups.poll()?.groups.map(\.key) == ["t0", "t1", "t2", "t3", "t4"])
        let before = try #require(try sum.poll())
        try database.write { (context) throws in
            for id in stride(from: 0, to: 40, by: 5) { _ = try TaggedPost.query(id).delete(from: &context) }
            try post(3, "t3", "t9", size: 100).save(to: &context)
        }
        let next = try #require(try groups.poll())
        #expect(next.groups.map(\.key) == ["t1", "t2", "t3", "t4", "t9"])
        #expect(next.changes?.deletions == [0] && next.changes?.insertions == [4] && next.changes?.updates == [2])
        #expect(try sum.poll() == before - (0..<40).filter { $0 % 5 == 0 }.reduce(0, +) - 3 + 200)
    }

    @Test("applying the changes gives a query's result, after any writes", .seeded)
    func model() throws {
        var random = SeededGenerator()
        let database = try shop()
        let queries = [
            postsByTag().query(), postsByTag().query().descending().limit(7),
            postsByTag().query().range(from: "t1", below: "t3").offset(2), postsByTag().query().keys(["t0", "t4"]),
        ]
        let live = queries.map { observation(MapRowsResult($0), database) }
        var lists = try live.map { try #require(try $0.poll()).rows.map(\.cursor) }
        for _ in 0..<150 {
            try database.write { (context) throws in
                for _ in 0..<random.below(4) {
                    let id = random.below(60)
                    if random.below(3) == 0 {
                        _ = try TaggedPost.query(id).delete(from: &context)
                    } else {
                        try post(id, "t\(random.below(5))", "t\(random.below(9))", size: random.below(3))
                            .save(to: &context)
                    }
                }
            }
            for (place, query) in queries.enumerated() {
                let expected = try database.read { context in try query.resolve(in: context) }
                if let element = try live[place].poll() {
                    let changes = try #require(element.changes)
                    let new = element.rows.map(\.cursor)
                    let applied = changes.applied(to: lists[place]) { new[$0] }
                    let updated = changes.updates.reduce(into: applied) { $0[$1] = new[$1] }
                    #expect(updated == new)
                    lists[place] = new
                }
                #expect(lists[place] == expected.map(\.cursor))
            }
        }
        for observation in live { observation.finish() }
    }

    @Test("in tasks; an index that is dropped ends its live queries with an error")
    func dropping() async throws {
        let database = try shop()
        var sums = database.observe(postsByTag().query().reduced()).makeAsyncIterator()
        let first = try #require(try await sums.next())
        try await database.write { context in try post(7, "t2", size: 107).save(to: &context) }
        #expect(try await sums.next() == first + 100)
        var rows = database.observe(postsByTag().query().limit(1)).makeAsyncIterator()
        #expect(try await rows.next()?.rows.map(\.source) == [0])
        var groups = database.observe(postsByTag().query().grouped().limit(1)).makeAsyncIterator()
        #expect(try await groups.next()?.groups.map(\.key) == ["t0"])
        try database.unregister("byTag")
        try await database.write { context in try post(8, "t2").save(to: &context) }
        let error = await #expect(throws: HornbeamError.self) { _ = try await sums.next() }
        #expect(error?.code == .indexNotReady)
    }
}
