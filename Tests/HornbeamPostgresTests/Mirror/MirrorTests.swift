// SPDX-License-Identifier: Apache-2.0
// The tables of a mirror after a first copy and after changes.

import Foundation
import Hornbeam
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

@Suite("A mirror")
struct MirrorTests {
    private let server: PostgresServer
    private let url: String
    private let database: Database

    init() throws {
        server = try PostgresServer.shared()
        url = try server.makeDatabase()
        database = try Database.inMemory(models: Writer.self, Book.self, Letter.self, Sample.self)
    }

    private func mirror() throws -> PostgresMirror { try PostgresMirror(of: database, named: "test", to: url) }

    private func query(_ sql: String) throws -> String {
        try server.psql(sql, database: String(url.dropFirst("postgresql://hornbeam@/".count).prefix { $0 != "?" }))
    }

    private func expectSame() async throws {
        let there = try await restored(from: url)
        let here = try exported(database)
        #expect(there == here)
    }

    private func addWriters() throws {
        try database.write { context in
            let iliad = Book(id: "iliad", title: "Iliad", isbn: 1, genre: .verse)
            let war = Book(id: "war", title: "War and \"Peace\"\t\\", published: Date(timeIntervalSince1970: 0.123456))
            try Writer(id: 1, name: "Homer", books: .relation([iliad]), friend: .id(2)).save(to: &context)
            try Writer(id: 2, name: "Tolstoy", books: .relation([war, iliad])).save(to: &context)
            let letter = UUID(uuidString: "5E0BB8A7-0000-4000-8000-000000000000") ?? UUID()
            try Letter(id: letter, text: "O'Brien; DROP TABLE", writer: .id(2)).save(to: &context)
        }
    }

    @Test("shows all entities in typed tables, and their links")
    func firstCopy() async throws {
        try addWriters()
        try await mirror().update()
        #expect(try query(#"SELECT id, name, friend FROM hornbeam."Writer" ORDER BY id"#) == "1|Homer|2\n2|Tolstoy|")
        #expect(
            try query(#"SELECT source, position, target FROM hornbeam."Writer_books" ORDER BY 1, 2"#)
                == "1|0|iliad\n2|0|war\n2|1|iliad")
        #expect(
            try query(#"SELECT title, isbn, genre, published FROM hornbeam."Book" ORDER BY id"#)
                == "Iliad|1|verse|\nWar and \"Peace\"\t\\|||1970-01-01 00:00:00.123456+00")
        try await expectSame()
    }

    @Test("follows saves, links, and deletions")
    func following() async throws {
        let mirror = try mirror()
        try await mirror.update()
        try addWriters()
        try await mirror.update()
        try await expectSame()
        try await database.write { context in
            try Writer(id: 3, name: "Sappho", books: .appending(ids: ["iliad"])).save(to: &context)
            try Writer.delete(id: 2, from: &context)
            try Book(id: "war", title: "War", isbn: 7).save(to: &context)
        }
        try await mirror.update()
        try await expectSame()
        #expect(try query(#"SELECT count(*) FROM hornbeam."Letter""#) == "0")
    }

    @Test("needs no server's transaction while nothing changes")
    func idle() async throws {
        try addWriters()
        let mirror = try mirror()
        try await mirror.update()
        let before = try query("SELECT token FROM hornbeam._mirror")
        try await mirror.update()
        #expect(try query("SELECT token FROM hornbeam._mirror") == before)
    }
}
