// SPDX-License-Identifier: Apache-2.0
// The time for which a database keeps deleted entities: none, unless the types or the options say so.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Post {
    let id: Int
    var text = ""
}

@EntityModel
private struct Invoice {
    static let keepsDeleted = true
    let id: String
}

/// A type that keeps marked entities, with any options.
@EntityModel
private struct Draft {
    let id: Int
    var isMarked = false
    func asDeleted(in context: Context) throws -> Deleted<Self>? { isMarked ? .asStored(self) : nil }
}

@Suite("Deleted entities of a database")
struct DeletedRetentionTests {
    private func database(_ keepsDeleted: Database.DeletedRetention) throws -> Database {
        let database = try Database.inMemory(
            models: Post.self, Invoice.self, Draft.self, keepsDeleted: keepsDeleted)
        try database.write { context in
            for id in 1...3 {
                try Post(id: id).save(to: &context)
                try Invoice(id: "\(id)").save(to: &context)
                try Draft(id: id, isMarked: id == 2).save(to: &context)
            }
        }
        return database
    }

    private func deleteAll(in database: Database) throws {
        try database.write { context in
            try Post.query().delete(from: &context)
            try Invoice.query().delete(from: &context)
            try Draft.query().delete(from: &context)
        }
    }

    private func kept(in database: Database) throws -> [Int] {
        try database.read { context in
            [
                try Deleted<Post>.query().count(in: context), try Deleted<Invoice>.query().count(in: context),
                try Deleted<Draft>.query().count(in: context),
            ]
        }
    }

    @Test("are gone by default, except for types that keep them or decide themselves")
    func never() throws {
        let database = try database(.never)
        try deleteAll(in: database)
        #expect(try kept(in: database) == [0, 3, 1])
    }

    @Test("are kept if the options say so, except for types that decide themselves")
    func forever() throws {
        let database = try database(.forever)
        try deleteAll(in: database)
        #expect(try kept(in: database) == [3, 3, 1])
        try database.write { try Post(id: 9).save(to: &$0) }
        #expect(try kept(in: database) == [3, 3, 1])
        try database.write { context in
            try #require(try Deleted<Post>.query(2).resolve(in: context)).restore(in: &context)
            #expect(try context.ids(Post.self) == [2, 9])
        }
    }

    @Test("are all kept in a context without a database")
    func context() throws {
        var context = Context()
        try Post(id: 1).save(to: &context)
        try Post.delete(id: 1, from: &context)
        #expect(try Deleted<Post>.query().count(in: context) == 1)
    }

    @Test("are purged by the first writes after opening when their time is over, and not before")
    func duration() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("posts.hornbeam")
        var options = Database.Options.keepsAll
        var database = try Database(at: path, models: Post.self, options: options)
        try database.write { context in
            for id in 1...3 { try Post(id: id).save(to: &context) }
            try Post.query().delete(from: &context)
        }
        try age(1, by: 31 * 86_400, in: database)
        try age(3, by: 29 * 86_400, in: database)
        try database.close()
        options.keepsDeleted = .days(30)
        database = try Database(at: path, models: Post.self, options: options)
        try database.write { _ in }
        #expect(try database.read { try Deleted<Post>.query().count(in: $0) } == 3)
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try database.write { context in
                try Post(id: 8).save(to: &context)
                throw Refused()
            }
        }
        try database.write { try Post(id: 9).save(to: &$0) }
        #expect(try database.read { try Deleted<Post>.query().ids(in: $0) } == [2, 3])
        #expect(try database.isWhole())
        try database.close()
    }

    @Test("stay for later if the write that purged them is not committed")
    func refusedCommit() throws {
        struct Refused: Error {}
        let database = try database(.days(30))
        try deleteAll(in: database)
        let purge = DeletedPurge(after: .zero, models: database.models)
        #expect(throws: Refused.self) {
            try database.write { context in
                try Draft(id: 99).save(to: &context)
                _ = try purge.run(in: context.session.core, now: Date(timeIntervalSinceNow: 60))
                throw Refused()
            }
        }
        #expect(try kept(in: database) == [3, 3, 1])
        try run(purge, at: 60, in: database)
        #expect(try kept(in: database) == [0, 0, 0])
    }

    @Test("are checked again when the oldest is due, but an hour later at the earliest")
    func interval() throws {
        let database = try database(.forever)
        try deleteAll(in: database)
        let (minute, month) = (
            DeletedPurge(after: .seconds(60), models: database.models),
            DeletedPurge(after: .seconds(30 * 86_400), models: database.models)
        )
        try run(minute, at: 0, in: database)
        try run(month, at: 0, in: database)
        try run(minute, at: 3590, in: database)
        #expect(try kept(in: database) == [3, 3, 1])
        // No deletion can have become that old, so the pass doesn't look.
        try age(1, by: 40 * 86_400, in: database)
        try run(month, at: 29 * 86_400, in: database)
        #expect(try kept(in: database) == [3, 3, 1])
        try run(month, at: 30 * 86_400 + 10, in: database)
        #expect(try kept(in: database) == [0, 0, 0])
    }

    @Test("are checked a thousand in each write, until all have been")
    func passes() throws {
        let database = try database(.forever)
        try database.write { context in
            for id in 1...2500 { try Post(id: id).save(to: &context) }
            try Post.query().delete(from: &context)
        }
        let purge = DeletedPurge(after: .seconds(60), models: database.models)
        var left: [Int] = []
        for second in 0..<5 {
            try run(purge, at: 120 + Double(second), in: database)
            left.append(try kept(in: database)[0])
        }
        #expect(left == [1500, 500, 0, 0, 0])
        #expect(try database.isWhole())
    }

    @Test("stay untouched by a write that changes nothing")
    func emptyWrite() throws {
        let database = try database(.forever)
        try deleteAll(in: database)
        let purge = DeletedPurge(after: .seconds(60), models: database.models)
        let position = try database.write { try purge.run(in: $0.session.core, now: Date(timeIntervalSinceNow: 3600)) }
        #expect(position == nil)
        #expect(try kept(in: database) == [3, 3, 1])
    }

    @Test("can't be kept for a negative time")
    func negative() throws {
        let error = #expect(throws: HornbeamError.self) {
            try Database.inMemory(models: Post.self, keepsDeleted: .days(-1))
        }
        #expect(error?.code == .invalid && error?.message.contains("keepsDeleted") == true)
    }

    @Test("can be kept for longer than the greatest time", arguments: [Int.max, 1_000_000_000_000_000, 1 << 40])
    func endless(days: Int) throws {
        let database = try database(.days(days))
        try deleteAll(in: database)
        try database.write { try Post(id: 9).save(to: &$0) }
        #expect(try kept(in: database) == [3, 3, 1])
    }

    /// Makes a deleted post older by `seconds`.
    private func age(_ id: Int, by seconds: TimeInterval, in database: Database) throws {
        try database.write { context in
            let session = context.session
            let store = try session.store(Deleted<Post>.self)
            let row = try #require(try store.rowID(ofAny: .int(Int64(id))))
            var writer = store.makeRow()
            let reader = try #require(try store.row(row))
            for column in store.type.description.columns.indices { writer.set(try reader.value(column), column) }
            let column = try #require(store.type.updatedAt)
            writer.setDouble(try #require(try reader.double(column)) - seconds, column)
            try store.save(try writer.finish(), row, time: .given, hasNoCounterpart: true)
        }
    }

    /// Runs a pass in a write, `seconds` from now.
    private func run(_ purge: DeletedPurge, at seconds: TimeInterval, in database: Database) throws {
        let position = try database.write { context in
            try Draft(id: Int.random(in: 100..<1 << 30)).save(to: &context)
            return try purge.run(in: context.session.core, now: Date(timeIntervalSinceNow: seconds))
        }
        if let position { purge.proceed(to: position) }
    }
}
