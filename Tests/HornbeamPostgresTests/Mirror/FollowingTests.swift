// SPDX-License-Identifier: Apache-2.0
// Mirrors that run beside writers, and servers that are away, silent, or refuse.

import Foundation
import Hornbeam
import HornbeamTestSupport
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

/// A mirror that runs beside a test.
private final class RunningMirror: Sendable {
    let mirror: PostgresMirror
    private let task: Task<Void, any Error>

    init(_ mirror: PostgresMirror) {
        self.mirror = mirror
        task = Task { try await mirror.run() }
    }

    /// Ends the mirror, and returns the error that it ended with.
    func end() async -> (any Error)? {
        task.cancel()
        return await failure()
    }

    /// Waits for the mirror's end, and returns its error.
    func failure() async -> (any Error)? {
        do {
            try await task.value
            return nil
        } catch {
            return error
        }
    }

    /// Waits for a state, at most ten seconds. Returns whether it came.
    func waits(for isWanted: @escaping @Sendable (PostgresMirror.State) -> Bool) async -> Bool {
        let states = mirror.states
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await state in states where isWanted(state) { return true }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(10))
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}

private func isWaiting(_ code: HornbeamError.Code) -> @Sendable (PostgresMirror.State) -> Bool {
    { state in
        guard case .waiting(let error) = state else { return false }
        return error.code == code
    }
}

@Suite("A running mirror")
struct FollowingTests {
    private func database() throws -> Database {
        try Database.inMemory(models: Writer.self, Book.self, Letter.self)
    }

    private func save(_ id: Int, _ database: Database) async throws {
        try await database.write { try Writer(id: id, name: "W\(id)").save(to: &$0) }
    }

    @Test("brings each commit, and `reach` waits for it")
    func reaching() async throws {
        let server = try PostgresServer.shared()
        let url = try server.makeDatabase()
        let database = try database()
        let running = RunningMirror(try PostgresMirror(of: database, named: "run", to: url))
        for id in 1...20 {
            try await save(id, database)
            try await running.mirror.reach(database.version)
            let sql = #"SELECT count(*) FROM hornbeam."Writer""#
            #expect(try PostgresServer.psql(sql, url: url) == "\(id)")
        }
        #expect(await running.end() == nil)
        // Nobody sends it now, until the waiting caller has had enough.
        try await save(21, database)
        let waiting = Task { try await running.mirror.reach(database.version) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    private static let canMount = ((try? SmallDisk(megabytes: 1)) ?? nil) != nil

    @Test("waits for a server whose disk is full, and continues when there is room", .enabled(if: canMount))
    func fullDisk() async throws {
        let disk = try #require(try SmallDisk(megabytes: 24))
        let server = try PostgresServer()
        let url = try server.makeDatabase(on: disk)
        let database = try database()
        let running = RunningMirror(try PostgresMirror(of: database, named: "run", to: url))
        try await save(1, database)
        try await running.mirror.reach(database.version)
        try disk.fill()
        try await database.write { context in
            for id in 2...2000 { try Writer(id: id, name: String(repeating: "W", count: 200)).save(to: &context) }
        }
        #expect(await running.waits(for: isWaiting(.fullServer)))
        #expect(try PostgresServer.psql(#"SELECT count(*) FROM hornbeam."Writer""#, url: url) == "1")
        disk.makeRoom()
        try await running.mirror.reach(database.version)
        #expect(try await restored(from: url) == exported(database))
        #expect(await running.end() == nil)
        disk.keep()
    }

    @Test("continues by itself when a killed server is back, and the store's writes never wait for it")
    func killedServer() async throws {
        let server = try PostgresServer()
        let url = try server.makeDatabase()
        let database = try database()
        let running = RunningMirror(try PostgresMirror(of: database, named: "run", to: url))
        try await save(1, database)
        try await running.mirror.reach(database.version)
        for round in 1...3 {
            server.kill()
            try await save(10 * round, database)
            #expect(await running.waits(for: isWaiting(.unreachable)))
            try await save(10 * round + 1, database)
            try server.start()
            try await running.mirror.reach(database.version)
            #expect(try await restored(from: url) == exported(database))
        }
        #expect(await running.end() == nil)
    }

    @Test("releases the store's state when the server is silent")
    func silentServer() async throws {
        let server = try PostgresServer()
        let url = try server.makeDatabase()
        let database = try database()
        var options = PostgresMirror.Options()
        options.timeout = .seconds(1)
        let running = RunningMirror(try PostgresMirror(of: database, named: "run", to: url, options: options))
        try await save(1, database)
        try await running.mirror.reach(database.version)
        server.pause()
        try await save(2, database)
        #expect(await running.waits(for: isWaiting(.timedOut)))
        server.resume()
        try await running.mirror.reach(database.version)
        #expect(await running.end() == nil)
    }

    @Test("runs once, and its waiters get its error")
    func ending() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        let database = try database()
        let running = RunningMirror(try PostgresMirror(of: database, named: "run", to: url))
        try await save(1, database)
        try await running.mirror.reach(database.version)
        await #expect { try await running.mirror.run() } throws: { ($0 as? HornbeamError)?.code == .busy }
        try PostgresServer.psql("UPDATE hornbeam._mirror SET token = gen_random_uuid()", url: url)
        try await save(2, database)
        let waiting = Task { try await running.mirror.reach(database.version) }
        #expect((await running.failure() as? HornbeamError)?.code == .diverged)
        await #expect { try await waiting.value } throws: { ($0 as? HornbeamError)?.code == .diverged }
        #expect(
            await running.waits { state in
                if case .diverged = state { true } else { false }
            })
    }
}

@Suite("A server that refuses")
struct RefusingServerTests {
    private func failure(_ address: String, schema: String = "hornbeam") async throws -> HornbeamError? {
        let database = try Database.inMemory(models: Writer.self)
        do {
            try await PostgresMirror(of: database, named: "refused", to: address, schema: schema).update()
            return nil
        } catch {
            return error as? HornbeamError
        }
    }

    @Test("is reported with a code and a remedy")
    func codes() async throws {
        let server = try PostgresServer.shared()
        let url = try server.makeDatabase()
        let missing = try await failure(server.url(database: "nowhere"))
        #expect(missing?.code == .server && missing?.message.contains("make the database first") == true)
        let nobody = try await failure("postgresql://hornbeam@/x?host=/nowhere")
        #expect(nobody?.code == .unreachable)
        let wrong = try await failure("postgresql://hornbeam@/x?nothing=1")
        #expect(wrong?.code == .invalid && wrong?.message.contains("nothing") == true)
        try PostgresServer.psql("CREATE SCHEMA others; CREATE TABLE others.t (a int)", url: url)
        let others = try await failure(url, schema: "others")
        #expect(others?.code == .invalid && others?.message.contains("a schema of its own") == true)
        try PostgresServer.psql(
            "ALTER DATABASE \(try databaseName(url)) SET default_transaction_read_only = on", url: url)
        let readOnly = try await failure(url)
        #expect(readOnly?.code == .readOnlyServer && readOnly?.message.contains("name the primary") == true)
    }

    private func databaseName(_ url: String) throws -> String {
        try PostgresServer.psql("SELECT current_database()", url: url)
    }

    @Test("has users without rights, and users with passwords")
    func rights() async throws {
        let server = try PostgresServer()
        let url = try server.makeDatabase()
        try server.psql("CREATE ROLE reader LOGIN; CREATE ROLE locked LOGIN PASSWORD 'right'")
        let reader = url.replacing("//hornbeam@", with: "//reader@")
        let refused = try await failure(reader)
        #expect(refused?.code == .server && refused?.message.contains("42501") == true)
        let rules = "local all locked scram-sha-256\nlocal all all trust\n"
        try rules.write(toFile: "\(server.data)/pg_hba.conf", atomically: false, encoding: .utf8)
        try server.psql("SELECT pg_reload_conf()")
        let locked = url.replacing("//hornbeam@", with: "//locked@")
        #expect(try await failure(locked)?.code == .authentication)
        #expect(try await failure(url.replacing("//hornbeam@", with: "//locked:wrong@"))?.code == .authentication)
        try server.psql("GRANT ALL ON DATABASE \(try databaseName(url)) TO locked")
        #expect(try await failure(url.replacing("//hornbeam@", with: "//locked:right@")) == nil)
    }
}
