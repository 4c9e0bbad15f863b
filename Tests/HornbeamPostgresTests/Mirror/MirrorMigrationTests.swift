// SPDX-License-Identifier: Apache-2.0
// Migrations of a store that a mirror follows.

import Foundation
import Hornbeam
import HornbeamTestSupport
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

private enum Before {
    @EntityModel
    struct Person {
        let id: Int
        var name: String
        var size: Int = 0
        var first: String = "first"
        var second: String = "second"
        var extra: String? = "extra"
        @Relationship(inverse: \.members) var team: Team?
        @Relationship() var friends: [Person]?
    }

    @EntityModel
    struct Team {
        let id: String
        @Relationship(inverse: \.team) var members: [Person]?
    }

    @EntityModel
    struct Dropped {
        let id: Int
    }
}

private enum After {
    @EntityModel
    struct Human {
        let id: Int
        var fullName: String
        var size: String
        // Exchanges its name with the other property.
        var second: String
        var first: String
        var added: Date = Date(timeIntervalSinceReferenceDate: 1)
        @Relationship(inverse: \.members) var group: Team?
        @Relationship() var friends: [Human]?
        @Relationship() var boss: Human?
        @Relationship() var rivals: [Human]?
    }

    @EntityModel
    struct Team {
        let id: String
        @Relationship(inverse: \.group) var members: [Human]?
    }

    @EntityModel
    struct New {
        let id: UUID
    }
}

@Suite("A mirror of a store that migrates")
struct MirrorMigrationTests {
    private let url: String
    private let folder: TemporaryFolder

    init() throws {
        url = try PostgresServer.shared().makeDatabase()
        folder = try TemporaryFolder()
    }

    private func follow(_ database: Database) async throws {
        try await PostgresMirror(of: database, named: "m", to: url).update()
        #expect(try await restored(from: url) == exported(database))
    }

    private func begin() async throws {
        let before = try Database(
            at: folder.path("store"), models: Before.Person.self, Before.Team.self, Before.Dropped.self)
        try await before.write { context in
            try Before.Team(id: "a").save(to: &context)
            for id in 1...3 {
                try Before.Person(id: id, name: "P\(id)e\u{301}", size: id, team: .id("a"), friends: .ids([1, 2]))
                    .save(to: &context)
            }
            try Before.Dropped(id: 9).save(to: &context)
        }
        try await follow(before)
        try before.close()
    }

    @Test("has renamed, added, removed and retyped columns, and views on the other columns stay")
    func migration() async throws {
        try await begin()
        try PostgresServer.psql(
            #"CREATE VIEW hornbeam.names AS SELECT id, name FROM hornbeam."Before.Person""#, url: url)
        let after = try Database(
            at: folder.path("store"), models: After.Human.self, After.Team.self, After.New.self,
            migrations: [
                .rename(Before.Person.entityName, to: After.Human.self),
                .rename(Before.Team.entityName, to: After.Team.self),
                .rename(After.Human.self, "name", to: \.fullName),
                .rename(After.Human.self, "team", to: \.$group),
                .convert(After.Human.self, \.size, from: Int.self) { "\($0) cm" },
                .forget(After.Human.self, "extra"),
            ])
        try await after.write { context in
            try After.Human(
                id: 4, fullName: "P4", size: "4 cm", second: "2", first: "1", group: .id("a"), boss: .id(1),
                rivals: .ids([1, 2])
            ).save(to: &context)
            try After.New(id: UUID()).save(to: &context)
        }
        try await follow(after)
        try await PostgresMirror(of: after, named: "m", to: url).verify()
        #expect(try PostgresServer.psql("SELECT count(*) FROM hornbeam.names WHERE name = 'P4'", url: url) == "1")
        let columns = try PostgresServer.psql(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'After.Human' ORDER BY 1",
            url: url)
        #expect(
            columns.split(separator: "\n").filter { !$0.hasPrefix("$") && !$0.hasPrefix("_") } == [
                "added|timestamp with time zone", "boss|bigint", "first|text", "fullName|text", "group|text",
                "id|bigint",
                "second|text", "size|text",
            ])
        try after.close()
    }

    @Test("has exact values under a property's new name")
    func renamedAlone() async throws {
        try await begin()
        let after = try Database(
            at: folder.path("store"), models: Renamed.Person.self, Renamed.Team.self,
            migrations: [
                .rename(Before.Person.entityName, to: Renamed.Person.self),
                .rename(Before.Team.entityName, to: Renamed.Team.self),
                .rename(Renamed.Person.self, "name", to: \.fullName),
            ])
        try await follow(after)
        try after.close()
    }

    @Test("reports the view that prevents a column's removal, and continues without it")
    func dependentView() async throws {
        try await begin()
        try PostgresServer.psql(
            #"CREATE VIEW hornbeam.extras AS SELECT extra FROM hornbeam."Before.Person""#, url: url)
        let without = try Database(
            at: folder.path("store"), models: Without.Person.self, Without.Team.self,
            migrations: [
                .rename(Before.Person.entityName, to: Without.Person.self),
                .rename(Before.Team.entityName, to: Without.Team.self), .forget(Without.Person.self, "extra"),
            ])
        let mirror = try PostgresMirror(of: without, named: "m", to: url)
        await #expect {
            try await mirror.update()
        } throws: { error in
            "\(error)".contains("2BP01") && "\(error)".contains("drop what depends on it")
        }
        try PostgresServer.psql("DROP VIEW hornbeam.extras", url: url)
        try await follow(without)
        try without.close()
    }
}

private enum Without {
    @EntityModel
    struct Person {
        let id: Int
        var name: String
        @Relationship(inverse: \.members) var team: Team?
        @Relationship() var friends: [Person]?
    }

    @EntityModel
    struct Team {
        let id: String
        @Relationship(inverse: \.team) var members: [Person]?
    }
}

private enum Renamed {
    @EntityModel
    struct Person {
        let id: Int
        var fullName: String
        var size: Int = 0
        var first: String = "first"
        var second: String = "second"
        var extra: String? = "extra"
        @Relationship(inverse: \.members) var team: Team?
        @Relationship() var friends: [Person]?
    }

    @EntityModel
    struct Team {
        let id: String
        @Relationship(inverse: \.team) var members: [Person]?
    }
}
