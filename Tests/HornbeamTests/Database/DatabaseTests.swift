// SPDX-License-Identifier: Apache-2.0
// Databases: transactions that apply wholly or not at all, contexts that end with their transaction, files that are
// reopened.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@Suite("Databases")
struct DatabaseTests {
    private struct Stop: Error {}

    private func chats() throws -> Database {
        try Database.inMemory(models: User.self, Chat.self, Message.self, Attachment.self)
    }

    /// Runs `body` with a path in a folder that is removed afterwards.
    private func withPath(_ body: (String) throws -> Void) throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        try body(folder.path("test.hornbeam"))
    }

    @Test("a write is seen by later reads, never by earlier ones")
    func isolation() throws {
        let database = try chats()
        try database.write { context in try Chat.example.save(to: &context) }
        try database.read { before in
            try database.write { context in
                try Chat.delete(id: "1", from: &context)
                try User(id: "9", name: "New").save(to: &context)
            }
            #expect(try before.ids(Chat.self) == ["1"])
            #expect(try User.query("9").resolve(in: before) == nil)
        }
        try database.read { context throws in
            #expect(try context.ids(Chat.self) == [])
            #expect(try User.query("9").resolve(in: context)?.name == "New")
        }
    }

    @Test("a write or checkpoint inside a write is refused, and the outer write continues and commits")
    func nested() throws {
        let database = try chats()
        try database.write { context in
            try User(id: "1", name: "Before").save(to: &context)
            let write = #expect(throws: HornbeamError.self) {
                try database.write { inner in try User(id: "2", name: "Inner").save(to: &inner) }
            }
            #expect(write?.code == .invalid)
            let checkpoint = #expect(throws: HornbeamError.self) { try database.checkpoint() }
            #expect(checkpoint?.code == .invalid)
            try User(id: "3", name: "After").save(to: &context)
        }
        try database.read { context throws in #expect(try context.ids(User.self) == ["1", "3"]) }
        try database.write { context in try User(id: "4", name: "Next").save(to: &context) }
    }

    @Test("a nested transaction that throws leaves nothing, at any depth; the write continues with new ids and texts")
    func nestedTransactions() throws {
        let database = try chats()
        try database.write { context in
            try User(id: "a", name: "Kept").save(to: &context)
            try Message(id: "m1", text: "kept words").save(to: &context)
            #expect(throws: Stop.self) {
                try context.transaction { context in
                    try User(id: "b", name: "Lost").save(to: &context)
                    try Message(id: "m2", text: "lost words").save(to: &context)
                    try context.transaction { context in
                        try Message.delete(id: "m1", from: &context)
                        try User(id: "c", name: "Lost too").save(to: &context)
                    }
                    #expect(try Message.filter(.string(\.text, matches: "words")).count(in: context) == 1)
                    throw Stop()
                }
            }
            #expect(try context.ids(User.self) == ["a"])
            try context.transaction { context in
                try User(id: "d", name: "Kept").save(to: &context)
                try Message(id: "m3", text: "more words").save(to: &context)
            }
        }
        try database.read { context throws in
            #expect(try Set(context.ids(User.self)) == ["a", "d"])
            #expect(try Message.filter(.string(\.text, matches: "words")).count(in: context) == 2)
            #expect(try Message.filter(.string(\.text, matches: "lost")).count(in: context) == 0)
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("a write that throws leaves nothing: no entity, relation, index entry or text")
    func rollback() throws {
        let database = try chats()
        try database.write { context in try Chat.example.save(to: &context) }
        #expect(throws: Stop.self) {
            try database.write { context in
                try Chat(id: "2", messages: .appending(relation: [Message(id: "3", text: "ghost thoughts")]))
                    .save(to: &context)
                try Chat(id: "2", messages: .appending(ids: ["1"])).save(to: &context)
                try Message.delete(id: "2", from: &context)
                #expect(try Message.filter(.string(\.text, matches: "ghost")).count(in: context) == 1)
                throw Stop()
            }
        }
        try database.read { context throws in
            #expect(try context.ids(Chat.self) == ["1"])
            #expect(try Chat.query("1").id(\.$messages).resolve(in: context)?.$messages.ids == ["1", "2"])
            #expect(try Message.filter(.string(\.text, matches: "thoughts")).ids(in: context) == ["1"])
            #expect(try Message.filter(.string(\.text, matches: "ghost")).count(in: context) == 0)
            #expect(try Message.query("1").id(\.$chat).resolve(in: context)?.$chat.id == "1")
        }
    }

    @Test("a type without a model in the database is refused; related types are included")
    func registration() throws {
        let database = try Database.inMemory(models: Chat.self)
        try database.write { context in try Message(id: "1", text: "").save(to: &context) }
        let write = #expect(throws: HornbeamError.self) {
            try database.write { context in try Announced(id: 1, name: "").save(to: &context) }
        }
        #expect(write?.code == .unregisteredEntity)
        let read = #expect(throws: HornbeamError.self) {
            try database.read { context in try Announced.query().resolve(in: context) }
        }
        #expect(read?.code == .unregisteredEntity)
    }

    @Test("a context ends with its transaction; one of a read can't write")
    func contextEnds() throws {
        let database = try chats()
        let kept = try database.read { context in context }
        #expect(throws: HornbeamError.self) { try kept.ids(User.self) }
        let error = #expect(throws: HornbeamError.self) {
            try database.read { context in
                var context = context
                try User(id: "1", name: "").save(to: &context)
            }
        }
        #expect(error?.code == .readOnly)
    }

    @Test("a reused read sees nothing of its predecessor, whose kept context is invalid")
    func readsAgain() throws {
        let database = try chats()
        var kept: [Context] = []
        for round in 0..<8 {
            let ids = (0..<round).map { "\($0)" }
            try database.read { context throws in
                #expect(try context.ids(User.self) == ids)
                // Another read begins within the read, in a session of its own.
                let inner = try database.read { inner in try inner.ids(User.self) }
                #expect(inner == ids)
                if round % 3 == 1 { kept.append(context) }
                guard round % 3 == 2 else { return }
                var context = context
                #expect(throws: HornbeamError.self) { try User(id: "never", name: "").save(to: &context) }
            }
            for context in kept { #expect(throws: HornbeamError.self) { try context.ids(User.self) } }
            try database.read { context throws in
                let never: User? = try context.find("never")
                #expect(never == nil)
                #expect(try User.filter(\.name == "never").count(in: context) == 0)
            }
            try database.write { context in try User(id: "\(round)", name: "u").save(to: &context) }
        }
        #expect(try database.check())
        try database.close()
        #expect(throws: HornbeamError.self) { try database.read { try $0.ids(User.self) } }
    }

    @Test("copies of a context are views of one transaction and never disagree")
    func copies() throws {
        let context = try exampleContext()
        var copy = context
        try User(id: "1", name: "Robert", age: 40).save(to: &copy)
        #expect(try context.find("1").map { (user: User) in user.name } == "Robert")
        #expect(try User.filter(\.age == 40).ids(in: context) == ["1"])
    }

    @Test("asynchronous reads and writes")
    func asynchronous() async throws {
        let database = try chats()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await database.write { context in try User(id: "\(number)", name: "u").save(to: &context) }
                }
                group.addTask { _ = try await database.read { context in try User.query().count(in: context) } }
            }
            try await group.waitForAll()
        }
        let count = try await database.read { context in try User.query().count(in: context) }
        #expect(count == 8)
        await #expect(throws: Stop.self) { try await database.write { _ in throw Stop() } }
    }

    @Test("a file is reopened with all that was committed, through types, indexes and relations")
    func reopen() throws {
        try withPath { path in
            do {
                let database = try Database(at: path, models: Chat.self, Attachment.self)
                try database.write { context in try Chat.example.save(to: &context) }
                _ = try? database.write { context in
                    try User(id: "9", name: "lost").save(to: &context)
                    throw Stop()
                }
                try database.close()
            }
            let database = try Database(at: path, models: Chat.self, Attachment.self)
            try database.read { context in
                let chat = try Chat.query("1").with(\.$messages) { $0.with(\.$author) }.with(\.$users).resolve(
                    in: context)
                #expect(chat?.messages?.map { $0.author?.name } == ["Bob", "Alice"])
                #expect(chat?.users?.map(\.id) == ["1", "2"])
                #expect(try Message.filter(.string(\.text, matches: "thoughts")).ids(in: context) == ["1"])
                #expect(try User.query("9").resolve(in: context) == nil)
            }
            try database.write { context in try User(id: "3", name: "Cid").save(to: &context) }
            #expect(database.statistics.dirtyBytes > 0)
            try database.checkpoint()
            #expect(database.statistics.fileBytes > 0)
            #expect(database.statistics.dirtyBytes == 0 && database.statistics.writerBytes == 0)
            #expect(database.statistics.cache.budgetBytes > 0)
            #expect(database.statistics.cache.readers.pinnedBytes == 0)
            var problems: [String] = []
            #expect(try database.check { problems.append($0) })
            #expect(problems == [])
            try database.close()
        }
    }

    @Test("a write has the durability that it asks for; with `.none` it may be missing after a crash")
    func durability() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "test.hornbeam").path
        let database = try Database(at: path, models: User.self)
        /// Opens the file that a crash right now would leave, and returns its content.
        func survivors(_ name: String) throws -> [String] {
            let copy = folder.appending(path: name).path
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            return try Database(at: copy, models: User.self).read { try $0.ids(User.self).sorted() }
        }
        func save(_ id: String) -> @Sendable (inout Context) throws -> Void {
            { context in try User(id: id, name: "").save(to: &context) }
        }
        func writeNow() throws { try database.write(save("default")) }
        try writeNow()
        #expect(try survivors("1") == ["default"])
        func writeNoneNow() throws { try database.write(durability: .none, save("none")) }
        // A background checkpoint, after a second without commits, makes the write durable in the end. The test tries
        // again if the machine was too busy for it to look before that.
        var isLost = false
        for attempt in 0..<20 where !isLost {
            try writeNoneNow()
            isLost = try survivors("now \(attempt)") == ["default"]
            func undo() throws { try database.write { context in try User.delete(id: "none", from: &context) } }
            try undo()
        }
        #expect(isLost)
        isLost = false
        for attempt in 0..<20 where !isLost {
            try await database.write(durability: .none, save("none later \(attempt)"))
            isLost = try !survivors("later \(attempt)").contains("none later \(attempt)")
        }
        #expect(isLost)
        try await database.write(save("later"))
        #expect(try survivors("all").starts(with: ["default", "later", "none later 0"]))
        try database.close()
    }

    @Test("opening a file that is no store, or a missing one without permission to create it, is a typed error")
    func openErrors() throws {
        try withPath { path in
            var options = Database.Options()
            options.createsIfMissing = false
            #expect(throws: HornbeamError.self) { try Database(at: path, models: User.self, options: options) }
            try Data("no store at all".utf8).write(to: URL(filePath: path))
            #expect(throws: HornbeamError.self) { try Database(at: path, models: User.self) }
        }
    }
}
