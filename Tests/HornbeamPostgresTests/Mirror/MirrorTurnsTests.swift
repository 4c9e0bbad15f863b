// SPDX-License-Identifier: Apache-2.0
// Several users of one mirror: comparisons beside a running mirror, copies of a store, types that are added and
// removed.

import Foundation
import Hornbeam
import HornbeamTestSupport
import HornbeamTree
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

@Suite("A mirror with several users")
struct MirrorTurnsTests {
    private let url: String
    private let folder: TemporaryFolder

    init() throws {
        url = try PostgresServer.shared().makeDatabase()
        folder = try TemporaryFolder()
    }

    private func open(_ name: String = "store") throws -> Database {
        try Database(at: folder.path(name), models: Writer.self, Book.self, Letter.self)
    }

    private func save(_ id: Int, _ database: Database) async throws {
        try await database.write { try Writer(id: id, name: "W\(id)").save(to: &$0) }
    }

    @Test("continues while it is compared, reconciled and updated")
    func comparedWhileRunning() async throws {
        let database = try open()
        let mirror = try PostgresMirror(of: database, named: "m", to: url)
        let running = Task { try await mirror.run() }
        for id in 1...12 {
            try await save(id, database)
            switch id % 4 {
            case 0: try await mirror.verify()
            case 1: try await mirror.reconcile()
            case 2: try await mirror.update()
            default: break
            }
            try await mirror.reach(database.version)
        }
        running.cancel()
        try await running.value
        #expect(try await restored(from: url) == exported(database))
        try database.close()
    }

    @Test("is reached by an update alone")
    func reachedByUpdate() async throws {
        let database = try open()
        let mirror = try PostgresMirror(of: database, named: "m", to: url)
        try await save(1, database)
        try await mirror.update()
        try await mirror.reach(database.version)
        try database.close()
    }

    @Test("is lost by a store whose copy has reconciled")
    func lostToCopy() async throws {
        let database = try open()
        try await save(1, database)
        func mirror(_ database: Database) throws -> PostgresMirror {
            try PostgresMirror(of: database, named: "m", to: url)
        }
        try await mirror(database).update()
        try await database.backup(to: folder.path("copy"))
        try await save(2, database)
        try await mirror(database).update()
        let copy = try open("copy")
        try await mirror(copy).reconcile()
        try await save(3, database)
        await #expect {
            try await mirror(database).update()
        } throws: { ($0 as? HornbeamError)?.code == .diverged }
        #expect(try await restored(from: url) == exported(copy))
        try database.close()
        try copy.close()
    }

    @Test("gets the changes of a type from the time when it was left out")
    func typeLeftOut() async throws {
        let database = try open()
        func mirror(_ types: PostgresMirror.Types) throws -> PostgresMirror {
            try PostgresMirror(of: database, named: "m", to: url, types: types)
        }
        try await save(1, database)
        try await database.write { try Book(id: "a", title: "A").save(to: &$0) }
        try await mirror(.all).update()
        // The table can't be dropped, so the mirror stays as it was, but the store has recorded the request.
        try PostgresServer.psql(#"CREATE VIEW hornbeam.titles AS SELECT title FROM hornbeam."Book""#, url: url)
        await #expect(throws: HornbeamError.self) { try await mirror(.only(Writer.self)).update() }
        try await database.write { context in
            try Book(id: "b", title: "B").save(to: &context)
            try Book.delete(id: "a", from: &context)
        }
        try await mirror(.all).update()
        #expect(try await restored(from: url) == exported(database))
        try database.close()
    }

    @Test("is repaired if its row, or the table of mirrors, can't be read")
    func unreadableRecord() async throws {
        let database = try open()
        let mirror = try PostgresMirror(of: database, named: "m", to: url)
        try await save(1, database)
        for damage in [
            "UPDATE hornbeam._mirror SET layout = '{\"types\": []}'", "UPDATE hornbeam._mirror SET description = '7'",
            "DELETE FROM hornbeam._mirror", "UPDATE hornbeam._mirror SET format = 9",
            "ALTER TABLE hornbeam._mirror DROP COLUMN digest",
        ] {
            try await mirror.reconcile()
            try PostgresServer.psql(damage, url: url)
            try await mirror.reconcile()
            #expect(try await restored(from: url) == exported(database), "\(damage)")
        }
        try database.close()
    }

    @Test("waits with a migration's tables while a snapshot reads them")
    func migrationBesideReader() async throws {
        let database = try open()
        try await save(1, database)
        try await PostgresMirror(of: database, named: "m", to: url).update()
        let reader = try PostgresConnection(url, timeout: .seconds(5), interruption: .init())
        try reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        #expect(try MirrorRecord.read(reader, in: "hornbeam") != nil)
        var options = PostgresMirror.Options()
        options.timeout = .seconds(1)
        let narrow = try PostgresMirror(
            of: database, named: "m", to: url, types: .only(Writer.self), options: options)
        await #expect {
            try await narrow.update()
        } throws: { ($0 as? HornbeamError)?.passes == true }
        try reader.execute("COMMIT")
        try await narrow.update()
        try database.close()
    }
}
