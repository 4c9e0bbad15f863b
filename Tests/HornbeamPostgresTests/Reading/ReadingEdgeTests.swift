// SPDX-License-Identifier: Apache-2.0
// Queries that the server's columns don't answer exactly: dates within a microsecond, texts beyond ASCII. Also
// positions to continue after, deleted entities, and tables that change.

import Foundation
import HornbeamTestSupport
import PostgresTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamPostgres

@EntityModel
private struct Jotting {
    static let keepsDeleted = true

    let id: String
    var text: String
    var made: Date
    var seen: Date?

    @Relationship() var next: [Jotting]?
}

/// A type whose mirror has no exact dates.
@EntityModel
private struct Spot {
    let id: Int
    var place: Int
}

@Suite("Reading values that a mirror's columns don't hold exactly")
struct ReadingEdgeTests {
    private func mirror(_ database: Database, models: any EntityModelProtocol.Type...) async throws -> PostgresReader {
        let url = try PostgresServer.shared().makeDatabase()
        try await PostgresMirror(of: database, named: "m", to: url, schema: "news").update()
        return try PostgresReader(url, schema: "news", models: models)
    }

    /// Returns hundreds of notes, most of which the server can't distinguish.
    private func notes() throws -> Database {
        var random = SeededGenerator(seed: 5)
        let database = try Database.inMemory(models: Jotting.self)
        try database.change { context in
            for number in 1000..<1400 {
                let time = Double(number % 3) * 1e-6 + Double(random.below(200)) * 1e-9
                try Jotting(
                    id: "\(number)", text: number % 40 == 0 ? "café olé" : "q\u{303} cafe\u{301} \(number)",
                    made: Date(timeIntervalSinceReferenceDate: time),
                    seen: random.oneIn(3) ? nil : Date(timeIntervalSinceReferenceDate: -time),
                    next: .ids(["\(number + 1)", "\(number + 2)"])
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("pages of a list whose order and condition the server can't evaluate alone")
    func pages() async throws {
        let database = try notes()
        let reader = try await mirror(database, models: Jotting.self)
        let lists = [
            Jotting.query().sorted(by: \.made, \.id), Jotting.query().sorted(by: \.made.desc, \.id.desc),
            Jotting.filter(\.made > Date(timeIntervalSinceReferenceDate: 1.1e-6)).sorted(by: \.id),
            Jotting.filter(\.seen <= Date(timeIntervalSinceReferenceDate: -1.05e-6)).sorted(by: .by(\.seen), .by(\.id)),
            Jotting.filter(.string(\.text, contains: "q", caseSensitive: true)).sorted(by: \.id),
            Jotting.filter(.string(\.text, contains: "OLÉ")).sorted(by: .by(\.seen.desc), .by(\.made), .by(\.id)),
            Jotting.filter(.any(\.$next, where: .string(\.text, hasPrefix: "CAFE", diacriticSensitive: false)))
                .sorted(by: \.made, \.id),
        ]
        for (number, list) in lists.enumerated() {
            let whole = try database.now { try list.ids(in: $0) }
            #expect(try await reader.ids(list) == whole, "list \(number)")
            #expect(try await reader.count(list) == whole.count, "list \(number)")
            for (limit, offset) in [(1, 0), (7, 30), (50, 5), (3, 1000)] {
                let part = list.limit(limit, offset: offset)
                let expected = try database.now { try part.ids(in: $0) }
                #expect(try await reader.ids(part) == expected, "list \(number) from \(offset)")
                #expect(try await reader.count(part) == expected.count, "list \(number) from \(offset)")
            }
            var page = try await reader.resolve(list.limit(60))
            var found: [String] = []
            while let last = page.last {
                found += page.map(\.id)
                page = try await reader.resolve(list.after(last).limit(60))
            }
            #expect(found == whole, "list \(number)")
        }
    }

    @Test("an entity to continue after need not be stored, unless the order is by stored metadata")
    func places() async throws {
        let database = try notes()
        let reader = try await mirror(database, models: Jotting.self)
        let gone = Jotting(id: "1100x", text: "", made: Date(timeIntervalSinceReferenceDate: 0), seen: nil)
        #expect(try await reader.first(Jotting.query().sorted(by: \.id).after(gone))?.id == "1101")
        for list in [Jotting.query().sorted(by: .updatedAt), Jotting.query().sorted(by: \.$next.count)] {
            do {
                _ = try await reader.resolve(list.after(gone))
                Issue.record("an order by what isn't stored")
            } catch let error as HornbeamError {
                #expect(error.code == .invalid)
            }
        }
    }

    @Test("deleted entities are read like others")
    func deletedEntities() async throws {
        let database = try notes()
        try database.change { context in
            for id in ["1001", "1002"] { try Jotting.query(id).resolve(in: context)?.delete(from: &context) }
        }
        let reader = try await mirror(database, models: Jotting.self)
        let list = Deleted<Jotting>.query()
        let expected = try database.now { try list.resolve(in: $0).map { "\($0.id) \($0.entity.id)" } }
        #expect(expected.count == 2)
        #expect(try await reader.resolve(list).map { "\($0.id) \($0.entity.id)" } == expected)
        #expect(try await reader.find(Jotting.self, "1001") == nil)
    }

    @Test("a reader follows the tables when they change")
    func changingTables() async throws {
        let database = try Database.inMemory(models: Spot.self)
        try database.change { context in
            for id in 0..<9 { try Spot(id: id, place: id * id).save(to: &context) }
        }
        let url = try PostgresServer.shared().makeDatabase()
        try await PostgresMirror(of: database, named: "m", to: url, schema: "news").update()
        let reader = try PostgresReader(url, schema: "news", models: Spot.self)
        #expect(try await reader.find(Spot.self, 3)?.place == 9)
        try PostgresServer.psql(
            """
            BEGIN; ALTER TABLE news."Spot" RENAME COLUMN place TO site;
            UPDATE news._mirror SET layout = replace(layout::text, '"column":"place"', '"column":"site"')::json; COMMIT
            """, url: url)
        #expect(try await reader.find(Spot.self, 3)?.place == 9)
        #expect(try await reader.count(Spot.filter(\.place > 8)) == 6)
        try PostgresServer.psql(#"ALTER TABLE news."Spot" DROP COLUMN site"#, url: url)
        do {
            _ = try await reader.count(Spot.filter(\.place > 8))
            Issue.record("a column that isn't there")
        } catch let error as HornbeamError {
            #expect(error.code == .server)
        }
    }
}
