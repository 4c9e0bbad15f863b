// SPDX-License-Identifier: Apache-2.0
// Refusals, hostile texts, other layouts, and connections that end.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import PostgresTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamPostgres

/// The shelf as other versions of a program declare it.
private enum Other {
    @EntityModel
    struct Shelf {
        let id: Int
        var title: String
        var colour: String?
    }
}

private enum Wrong {
    @EntityModel
    struct Shelf {
        let id: Int
        var title: Int
    }
}

private enum Lacking {
    @EntityModel
    struct Shelf {
        let id: Int
        var height: Int
    }
}

private enum Linked {
    @EntityModel
    struct Shelf {
        let id: Int
        @Relationship() var room: Room?
    }

    @EntityModel
    struct Room { let id: Int }
}

@Suite("Reading a mirror")
struct ReadingTests {
    private func error(_ body: () async throws -> Void) async -> HornbeamError? {
        do { try await body() } catch { return error as? HornbeamError }
        return nil
    }

    @Test("queries that a mirror can't answer are refused by name")
    func refusals() async throws {
        let store = try await MirroredStore(items: 5, seed: 1)
        let reader = store.reader
        let refused: [(QueryList<Item>, String)] = [
            (Item.filter(\.half == 3), "computed"),
            (Item.filter(\.number == \.half), "=="),
            (Item.filter(\.id > 0).filter(.string(\.name, matches: "a b")), "matches"),
            (Item.filter(.any(\.tags) { .passes { $0 == "a" } || $0 == "b" }), "tags"),
            (Item.query().sorted(by: \.half), "computed"),
            (Item.filter(\.id > 0).limit(3).filter(\.id > 1), "continues from the rows"),
            (Shelf.query().related(\.$items).flatMap(), "continues from the rows"),
            (Item.filter(.has(\.$shelf, \.title.count == 3)), "on Shelf"),
            (Item.query().sorted(by: .score), "the sort “score"),
        ]
        for (list, words) in refused {
            let error = await error { _ = try await reader.resolve(list) }
            #expect(error?.code == .unsupported, "\(words): \(String(describing: error))")
            #expect(error?.message.contains(words) ?? false, "\(words): \(String(describing: error))")
            let counted = await self.error { _ = try await reader.aggregate(.sum(\.number), of: list) }
            #expect(counted?.code == .unsupported || list.order.count > 0)
        }
    }

    @Test("texts stay texts, whatever they contain")
    func hostileTexts() async throws {
        let database = try Database.inMemory(models: Owner.self)
        let texts = [
            "'", "''", "\\", "\\'", "$1", "%", "_", "\"", "'; DROP SCHEMA news CASCADE; --", "E'\\x27'", "{\"a\",NULL}",
            "NULL",
            "\u{1}", "\r\n", "\t", "\\.", "\u{FFFD}", "a\\_b", "\\%",
        ]
        try database.change { context in
            for text in texts { try Owner(id: text, born: Date(timeIntervalSinceReferenceDate: 0)).save(to: &context) }
        }
        let url = try PostgresServer.shared().makeDatabase()
        let schema = "a \"schema'"
        try await PostgresMirror(of: database, named: "m", to: url, schema: schema, types: .only(Owner.self)).update()
        let reader = try PostgresReader(url, schema: schema, models: Owner.self)
        for text in texts + ["\0", "a\0"] {
            let known = texts.contains(text)
            #expect(try await reader.find(Owner.self, text)?.id == (known ? text : nil))
            for list in [
                Owner.filter(\.id == text), Owner.filter(.value(\.id, in: [text])),
                Owner.filter(.string(\.id, hasPrefix: text, caseSensitive: true)),
                Owner.filter(.string(\.id, contains: text)), Owner.filter(\.id >= text), Owner.filter(\.id < text),
            ] {
                let expected = try database.now { Set(try list.ids(in: $0)) }
                #expect(Set(try await reader.ids(list)) == expected, "\(text)")
            }
        }
        #expect(try await reader.count(Owner.query()) == texts.count)
    }

    @Test("the models are compared with the mirror")
    func schemas() async throws {
        let store = try await MirroredStore(items: 5, seed: 2)
        var former = "Shelf"
        func call(_ name: String) throws {
            let sql = ["layout", "description"].flatMap { column in
                ["name", "target"].map { member in
                    #"UPDATE news._mirror SET \#(column) = replace(\#(column)::text, '"\#(member)":"\#(former)"', "#
                        + #"'"\#(member)":"\#(name)"')::json;"#
                }
            }.joined()
            try PostgresServer.psql(sql, url: store.url)
            former = name
        }
        try call("Other.Shelf")
        let other = try PostgresReader(store.url, schema: "news", models: Other.Shelf.self)
        let shelves = try await other.resolve(Other.Shelf.filter(\.colour == nil).sorted(by: \.colour))
        #expect(shelves.count == 20)
        #expect(try await other.count(Other.Shelf.filter(\.colour > "a")) == 0)
        let wrong: [(any EntityModelProtocol.Type, String)] = [
            (Wrong.Shelf.self, "Shelf.title"), (Lacking.Shelf.self, "Shelf.height"), (Linked.Shelf.self, "Shelf.room"),
        ]
        for (model, words) in wrong {
            try call(model.entityName)
            let reader = try PostgresReader(store.url, schema: "news", models: [model])
            let error = await error { _ = try await reader.count(Other.Shelf.query()) }
            #expect(
                error?.code == .schemaMismatch && error?.message.contains(words) == true, "\(String(describing: error))"
            )
        }
        let room = try PostgresReader(store.url, schema: "news", models: Linked.Room.self)
        #expect(await error { _ = try await room.count(Linked.Room.query()) }?.code == .schemaMismatch)
        let nowhere = try PostgresReader(store.url, schema: "old", models: Other.Shelf.self)
        #expect(await error { _ = try await nowhere.count(Other.Shelf.query()) }?.code == .schemaMismatch)
        #expect(await error { _ = try await other.count(Item.query()) }?.code == .unregisteredEntity)
    }

    @Test("a snapshot sees one state, and ends with its closure")
    func snapshots() async throws {
        let store = try await MirroredStore(items: 30, seed: 3)
        let (count, found) = try await store.reader.read { snapshot in
            let count = try snapshot.count(Item.query())
            _ = try? PostgresServer.psql(#"DELETE FROM news."Item""#, url: store.url)
            return (count, try snapshot.resolve(Item.query().with(\.$shelf)).count)
        }
        #expect(count == 30)
        #expect(found == 30)
        #expect(try await store.reader.isEmpty(Item.query()))
        #expect(try await store.reader.exists(Shelf.query()))
    }

    @Test("a lost connection is made anew")
    func lostConnections() async throws {
        let store = try await MirroredStore(items: 5, seed: 4)
        #expect(try await store.reader.count(Item.query()) == 5)
        let others =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            + "AND datname = current_database()"
        try PostgresServer.psql(others, url: store.url)
        #expect(try await store.reader.count(Item.query()) == 5)
        let nobody = try PostgresReader("postgresql:///x?host=/nowhere", schema: "news", models: Item.self)
        #expect(await error { _ = try await nobody.count(Item.query()) }?.code == .unreachable)
    }

    @Test("a cancelled read ends, and the reader stays usable", .timeLimit(.minutes(2)))
    func cancellation() async throws {
        let store = try await MirroredStore(items: 5, seed: 5)
        #expect(try await store.reader.count(Item.query()) == 5)
        let lock = try PostgresConnection(store.url, timeout: .seconds(30), interruption: Interruption())
        try lock.execute(#"BEGIN; LOCK TABLE news."Item" IN ACCESS EXCLUSIVE MODE"#)
        let reading = Task { try await store.reader.count(Item.query()) }
        let waiting =
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = "
            + "(SELECT oid FROM pg_database WHERE datname = current_database())"
        while try lock.execute(waiting).text(0, 0) == "0" { try await Task.sleep(for: .milliseconds(10)) }
        reading.cancel()
        await #expect(throws: HornbeamError.self) { try await reading.value }
        try lock.execute("COMMIT")
        #expect(try await store.reader.count(Item.query()) == 5)
    }

    @Test("many tasks read at once")
    func manyTasks() async throws {
        let store = try await MirroredStore(items: 30, seed: 6)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<100 { group.addTask { try await store.reader.count(Item.filter(\.id >= number * 0)) } }
            for try await count in group { #expect(count == 30) }
        }
    }
}
