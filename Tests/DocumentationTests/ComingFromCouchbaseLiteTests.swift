// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Coming from Couchbase Lite”.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Hotel {
    @FullTextIndex<Self>(\.overview) private var overviewIndex

    let id: String
    var name: String
    var type = "hotel"
    var overview = ""
    var reviews: [Review] = []
    var expires: Date?

    struct Review: Codable {
        var author: String
        var stars: Int
    }
}

@Suite("The guide “Coming from Couchbase Lite”", .timeLimit(.minutes(30)))
struct ComingFromCouchbaseLiteTests {
    @Test("Hotels are saved, found and deleted")
    func hotels() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("travel.hornbeam")
        let database = try Database(at: path, models: Hotel.self)
        var hotel = Hotel(id: "h1", name: "Ritz")
        hotel.overview = "A house with a pool"
        hotel.reviews = [Hotel.Review(author: "Ann", stars: 5)]
        try database.write { context in
            try hotel.save(to: &context)
            let token = try Hotel.stateToken(id: "h1", in: context)
            hotel.name = "The Ritz"
            try hotel.save(to: &context, expecting: token)
            let error = #expect(throws: HornbeamError.self) {
                hotel.name = "Ritz"
                try hotel.save(to: &context, expecting: token)
            }
            #expect(error?.code == .conflict)
        }
        let config = ValueIndexConfiguration(["type", "name"])
        try database.createIndex(Hotel.self, withName: "byType", config: config)
        try database.createIndex(
            Hotel.self, withName: "byAuthor",
            config: ArrayIndexConfiguration(path: "reviews", expressions: ["author"]))
        let statement = try Statement("SELECT name FROM Hotel WHERE type = $type")
        try database.read { (context) throws in
            #expect(try Hotel.query("h1").resolve(in: context)?.name == "The Ritz")
            let rows = try statement.resolve(in: context, named: ["type": "hotel"])
            #expect(rows.map(\.json) == [#"{"name":"The Ritz"}"#])
            let query = Hotel.filter(\.type == "hotel").sorted(by: \.name)
            let plan = try query.explain(in: context)
            #expect("\(plan)".contains("index byType"))
            let reviews = Hotel.query().unnest(\.reviews)
            #expect(try reviews.count(in: context) == 1)
            let hits = try Hotel.filter(.string(\.overview, matches: "pool")).ranked(in: context)
            #expect(hits.map(\.id) == ["h1"])
        }
        try database.write { (context) throws in
            #expect(try Hotel.purgeExpired(\.expires, from: &context) == 0)
            try hotel.delete(from: &context)
            try Hotel.delete(id: "h1", from: &context)
        }
        try database.compact()
        #expect(try database.check())
    }

    @Test("A query and a store are followed")
    func listeners() async throws {
        let database = try Database.inMemory(models: Hotel.self)
        try await database.write { try Hotel(id: "h1", name: "Ritz").save(to: &$0) }
        for try await list in database.observe(Hotel.filter(\.type == "hotel")) {
            #expect(list.entities.map(\.name) == ["Ritz"])
            break
        }
        for try await changes in database.observeAll() {
            #expect(changes.inserted(Hotel.self) == [])
            break
        }
    }
}
