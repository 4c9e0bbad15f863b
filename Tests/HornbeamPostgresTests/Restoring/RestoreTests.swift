// SPDX-License-Identifier: Apache-2.0
// Stores restored from a mirror's tables, and tables that can't be restored.

import Foundation
import Hornbeam
import HornbeamEncryption
import HornbeamTestSupport
import HornbeamTree
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

@Suite("A restored store")
struct RestoreTests {
    private let url: String
    private let folder: TemporaryFolder

    init() throws {
        url = try PostgresServer.shared().makeDatabase()
        folder = try TemporaryFolder()
    }

    private func mirrored() async throws -> Database {
        let database = try Database.inMemory(
            models: Writer.self, Book.self, Letter.self, keepsDeleted: .forever)
        try await database.write { context in
            for id in 1...50 {
                try Writer(id: id, name: "W\(id)", books: .ids(["b\(id % 7)", "b\(id % 5)"])).save(to: &context)
            }
            for id in 0..<7 { try Book(id: "b\(id)", title: "Book \(id)", isbn: UInt64(id)).save(to: &context) }
            try Writer.delete(id: 3, from: &context)
        }
        try await PostgresMirror(of: database, named: "m", to: url).update()
        return database
    }

    @Test("is encrypted from its first byte on if its options have a key")
    func encrypted() async throws {
        let before = try await mirrored()
        var options = Database.Options()
        options.encryption = .key([UInt8](repeating: 7, count: 32))
        let after = try await Database.restore(
            to: folder.path("secret"), from: url, models: Writer.self, Book.self, Letter.self, options: options)
        #expect(try exported(after) == exported(before))
        try after.close()
        _ = try await Database.restore(to: folder.path("plain"), from: url)
        let words = ["Writer", "byTitle", "Book 4"]
        for (name, isThere) in [("plain", true), ("secret", false)] {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
            #expect(words.map { bytes.range(of: Data($0.utf8)) != nil } == words.map { _ in isThere }, "\(name)")
        }
    }

    private func failure(_ name: String = "store") async -> HornbeamError? {
        do {
            _ = try await Database.restore(to: folder.path(name), from: url) { _, _ in }
            return nil
        } catch {
            return error as? HornbeamError
        }
    }

    @Test("has working indexes, ordered lists, unique keys and deleted entities")
    func whole() async throws {
        let before = try await mirrored()
        let after = try await Database.restore(
            to: folder.path("store"), from: url, models: Writer.self, Book.self, Letter.self)
        #expect(try exported(after) == exported(before))
        try await after.read { context in
            #expect(try Book.filter(.string(\.title, matches: "book")).count(in: context) == 7)
            let plan = try Book.filter(\.title == "Book 4").explain(in: context)
            #expect("\(plan)".contains("byTitle"))
            #expect(try Deleted<Writer>.query().count(in: context) == 1)
        }
        await #expect {
            try await after.write { try Book(id: "other", title: "", isbn: 4).save(to: &$0) }
        } throws: { ($0 as? HornbeamError)?.code == .uniqueViolation }
        #expect(try after.check())
        try after.close()
    }

    @Test("never replaces a file, and leaves none behind if it fails")
    func refusals() async throws {
        let none = await failure()
        #expect(none?.code == .invalid && none?.message.contains("has no mirror") == true)
        _ = try await mirrored()
        try folder.write("taken", "text")
        let taken = await failure("taken")
        #expect(taken?.code == .invalid && taken?.message.contains("exists already") == true)
        #expect(try folder.read("taken") == "text")
        for damage in [
            #"UPDATE hornbeam."Book" SET _exact = '{"title": 7}' WHERE id = 'b1'"#,
            #"UPDATE hornbeam."Book" SET _exact = '[1]' WHERE id = 'b1'"#,
            #"UPDATE hornbeam."Book" SET isbn = -1, _exact = NULL WHERE id = 'b1'"#,
            #"ALTER TABLE hornbeam."Writer_books" DROP COLUMN target"#,
            #"UPDATE hornbeam._mirror SET layout = replace(layout::text, '"number":0', '"number":-1')::json"#,
            #"UPDATE hornbeam._mirror SET layout = '{"types":[{}]}'"#,
            "UPDATE hornbeam._mirror SET layout = '[]'", "DROP TABLE hornbeam._mirror",
        ] {
            try PostgresServer.psql(damage, url: url)
            #expect(await failure() != nil, "\(damage)")
        }
        #expect(try folder.names() == ["taken"])
    }

    @Test("leaves no trace when its task is cancelled")
    func cancellation() async throws {
        _ = try await mirrored()
        let lock = try PostgresConnection(url, timeout: .seconds(30), interruption: .init())
        try lock.execute(#"BEGIN; LOCK TABLE hornbeam."Book" IN ACCESS EXCLUSIVE MODE"#)
        let path = folder.path("store")
        let (url, waiting) = (url, "SELECT count(*) FROM pg_locks WHERE NOT granted")
        let restoring = Task { try await Database.restore(to: path, from: url) { _, _ in } }
        while try lock.execute(waiting).text(0, 0) == "0" { try await Task.sleep(for: .milliseconds(10)) }
        restoring.cancel()
        await #expect(throws: HornbeamError.self) { try await restoring.value }
        #expect(try folder.names().isEmpty)
    }
}
