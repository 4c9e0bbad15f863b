// SPDX-License-Identifier: Apache-2.0
// How long a database keeps what was deleted: not at all, unless its types or its options say so.

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

/// Keeps what is marked, whatever the options say.
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

    @Test("are gone by default, but for those of types that keep them or decide themselves")
    func never() throws {
        let database = try database(.never)
        try deleteAll(in: database)
        #expect(try kept(in: database) == [0, 3, 1])
    }

    @Test("are kept where the options say so, but for those of types that decide themselves")
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

    @Test("are purged by later writes when their time is over, and none before")
    func duration() throws {
        let database = try database(.days(30))
        try deleteAll(in: database)
        try age(1, by: 31 * 86_400, in: database)
        try age(3, by: 29 * 86_400, in: database)
        // The write that deleted them began a pass; the next one comes an hour later.
        try database.write { try Post(id: 9).save(to: &$0) }
        #expect(try kept(in: database) == [3, 3, 1])
        try database.write { try purge($0, afterDays: 30, Date.now.addingTimeInterval(3601)) }
        #expect(try kept(in: database) == [2, 3, 1])
        let left = try database.read { try Deleted<Post>.query().ids(in: $0) }
        #expect(left == [2, 3])
    }

    @Test("are looked at a thousand in each write, until all have been")
    func passes() throws {
        let database = try database(.forever)
        try database.write { context in
            for id in 1...2500 { try Post(id: id).save(to: &context) }
            try Post.query().delete(from: &context)
        }
        let purge = DeletedPurge(after: .seconds(60), models: database.models)
        var left: [Int] = []
        for second in 0..<5 {
            try database.write { context in
                try Draft(id: 100 + second).save(to: &context)
                try purge.run(in: context.session.core, now: Date.now.addingTimeInterval(120 + Double(second)))
            }
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
        try database.write { try purge.run(in: $0.session.core, now: Date(timeIntervalSinceNow: 3600)) }
        #expect(try kept(in: database) == [3, 3, 1])
    }

    @Test("can't be kept for less than no time")
    func negative() throws {
        let error = #expect(throws: HornbeamError.self) {
            try Database.inMemory(models: Post.self, keepsDeleted: .days(-1))
        }
        #expect(error?.code == .invalid && error?.message.contains("keepsDeleted") == true)
    }

    /// Has a deleted post be that much older.
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

    private func purge(_ context: Context, afterDays days: Int, _ now: Date) throws {
        var context = context
        try Draft(id: 99).save(to: &context)
        try DeletedPurge(after: .seconds(days * 86_400), models: ModelSet([Post.self])).run(
            in: context.session.core, now: now)
    }
}
