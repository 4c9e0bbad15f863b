// SPDX-License-Identifier: Apache-2.0
// Mirrors and stores that have diverged, and tables that somebody else has changed.

import Foundation
import Hornbeam
import HornbeamTestSupport
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

@Suite("A mirror that has diverged from its store")
struct DivergenceTests {
    private let url: String
    private let folder: TemporaryFolder

    init() throws {
        url = try PostgresServer.shared().makeDatabase()
        folder = try TemporaryFolder()
    }

    private func open(_ name: String) throws -> Database {
        try Database(at: folder.path(name), models: Writer.self, Book.self, Letter.self)
    }

    private func mirror(_ database: Database, _ name: String = "m", url: String? = nil) throws -> PostgresMirror {
        try PostgresMirror(of: database, named: name, to: url ?? self.url)
    }

    private func save(_ id: Int, _ name: String, _ database: Database) async throws {
        try await database.write { try Writer(id: id, name: name).save(to: &$0) }
    }

    private func expectDiverged(_ mirror: PostgresMirror, _ words: String) async {
        await #expect {
            try await mirror.update()
        } throws: { error in
            (error as? HornbeamError)?.code == .diverged && "\(error)".contains(words)
        }
    }

    private func expectSame(_ database: Database) async throws {
        #expect(try await restored(from: url) == exported(database))
    }

    @Test("because an older copy of the file took the store's place")
    func olderCopy() async throws {
        let database = try open("store")
        try await save(1, "one", database)
        try await mirror(database).update()
        try await database.backup(to: folder.path("copy"))
        for id in 2...3 {
            try await save(id, "later", database)
            try await mirror(database).update()
        }
        let shown = try await restored(from: url)
        let copy = try open("copy")
        try await save(4, "of the copy", copy)
        await expectDiverged(try mirror(copy), "isn't the store's last one")
        // Nothing was written.
        #expect(try await restored(from: url) == shown)
        try await mirror(copy).reconcile()
        try await expectSame(copy)
        // Now the former store has lost its mirror.
        try await save(5, "of the store", database)
        await expectDiverged(try mirror(database), "isn't the store's last one")
        try database.close()
        try copy.close()
    }

    @Test("even if a copy has recorded the batch that the store has sent")
    func copyWithIntent() async throws {
        let database = try open("store")
        try await save(1, "one", database)
        try await mirror(database).update()
        try await database.backup(to: folder.path("copy"))
        try await save(2, "of the store", database)
        try await mirror(database).update()
        let copy = try open("copy")
        try await save(3, "of the copy", copy)
        await expectDiverged(try mirror(copy), "another copy of the store")
        try await mirror(copy).reconcile()
        try await expectSame(copy)
        try database.close()
        try copy.close()
    }

    @Test("because it is another store's, or was dropped, or its row was changed")
    func others() async throws {
        let database = try open("store")
        try await save(1, "one", database)
        try await mirror(database).update()
        let other = try open("other")
        await expectDiverged(try mirror(other), "the mirror of another store")
        await expectDiverged(try mirror(database, "second"), "the mirror of another store")
        try PostgresServer.psql("UPDATE hornbeam._mirror SET layout = '{}'", url: url)
        await expectDiverged(try mirror(database), "changed by hand")
        try PostgresServer.psql("DROP SCHEMA hornbeam CASCADE", url: url)
        await expectDiverged(try mirror(database), "has no mirror any more")
        try await mirror(database).reconcile()
        try await expectSame(database)
        try database.close()
        try other.close()
    }

    @Test("because a standby was promoted that lacked the last batches")
    func promotedStandby() async throws {
        let primary = try PostgresServer()
        let address = try primary.makeDatabase()
        let database = try open("store")
        try await save(1, "one", database)
        try await mirror(database, url: address).update()
        let standby = try primary.standby(named: "slow")
        standby.kill()
        for id in 2...4 {
            try await save(id, "lost", database)
            try await mirror(database, url: address).update()
        }
        primary.kill()
        try standby.start()
        try standby.promote()
        let promoted = address.replacing(
            primary.socketFolder.replacing("/", with: "%2F"), with: standby.socketFolder.replacing("/", with: "%2F"))
        #expect(try await restored(from: promoted)["Writer"]?.count == 1)
        await expectDiverged(try mirror(database, url: promoted), "a standby was promoted")
        try await mirror(database, url: promoted).reconcile()
        #expect(try await restored(from: promoted) == exported(database))
        try database.close()
    }

    @Test("row by row, as verify reports and reconcile repairs")
    func changedByHand() async throws {
        let database = try open("store")
        try await database.write { context in
            for id in 1...5 { try Writer(id: id, name: "W\(id)", friend: .id(1)).save(to: &context) }
            try Book(id: "b", title: "B", writers: .ids([1, 2])).save(to: &context)
        }
        let mirror = try mirror(database)
        try await mirror.update()
        try await mirror.verify()
        try PostgresServer.psql(
            #"""
            UPDATE hornbeam."Writer" SET name = 'X' WHERE id = 2;
            DELETE FROM hornbeam."Writer" WHERE id = 3;
            INSERT INTO hornbeam."Writer" (id, name) VALUES (77, 'new');
            UPDATE hornbeam."Book_writers" SET target = 5 WHERE position = 1;
            """#, url: url)
        let found = Set(try await mirror.differences().map(\.description))
        #expect(
            found == [
                "Writer 3 is missing", "Writer 77 is extra", "Writer 2 is different", "Book_writers b 1 is different",
            ])
        await #expect { try await mirror.verify() } throws: { "\($0)".contains("4 differences") }
        try await mirror.reconcile()
        try await expectSame(database)
        try PostgresServer.psql(
            #"ALTER TABLE hornbeam."Writer" DROP COLUMN name; DROP TABLE hornbeam."Book_writers""#, url: url)
        try await mirror.reconcile()
        try await expectSame(database)
        try database.close()
    }

    @Test("for changes beyond the bound: the types that were missed are compared")
    func gaps() async throws {
        let database = try open("store")
        var options = PostgresMirror.Options()
        options.retention = 5
        let mirror = try PostgresMirror(of: database, named: "m", to: url, options: options)
        try await save(1, "one", database)
        try await mirror.update()
        for id in 1...20 { try await save(id, "many", database) }
        try await database.write { try Writer.delete(id: 3, from: &$0) }
        try await mirror.update()
        try await expectSame(database)
        #expect(try database.changeConsumers().map(\.pending) == [0])
        try database.close()
    }
}
