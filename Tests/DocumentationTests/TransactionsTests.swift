// SPDX-License-Identifier: Apache-2.0
// The code of the article “Transactions”.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
struct Account {
    let id: Int
    var balance: Int
}

@Suite("Transactions, as the article shows them")
struct TransactionsTests {
    private struct Refusal: Error {}

    private func accounts() throws -> Database {
        let database = try Database.inMemory(models: Account.self)
        try database.write { context in
            for id in 1...2 { try Account(id: id, balance: 100).save(to: &context) }
        }
        return database
    }

    private func transfer(_ context: inout Context) throws {
        guard var from = try context.find(1) as Account?, var to = try context.find(2) as Account? else { return }
        from.balance -= 50
        to.balance += 50
        try from.save(to: &context)
        try to.save(to: &context)
    }

    private func balances(_ database: Database) throws -> [Int] {
        try database.read { try Account.query().resolve(in: $0).map(\.balance) }
    }

    @Test("A write is applied as a whole, or not at all if it throws")
    func writes() throws {
        let database = try accounts()
        #expect(throws: Refusal.self) {
            try database.write { context in
                try transfer(&context)
                throw Refusal()
            }
        }
        #expect(try balances(database) == [100, 100])
        try database.write { try transfer(&$0) }
        #expect(try balances(database) == [50, 150])
    }

    @Test("A read keeps its state while others write")
    func reads() throws {
        let database = try accounts()
        let totals = try database.read { context in
            let before = try Account.query().resolve(in: context).map(\.balance)
            try database.write { try Account(id: 3, balance: 1).save(to: &$0) }
            return (before, try Account.query().resolve(in: context).map(\.balance))
        }
        #expect(totals == ([100, 100], [100, 100]))
        let total = try database.read { context in
            try Account.query().resolve(in: context).reduce(0) { $0 + $1.balance }
        }
        #expect(total == 201)
    }

    @Test("A part of a write that throws is undone, and the rest is kept")
    func parts() throws {
        let database = try Database.inMemory(models: Account.self)
        try database.write { context in
            try Account(id: 1, balance: 0).save(to: &context)
            do {
                try context.transaction { context in
                    try Account(id: 2, balance: 0).save(to: &context)
                    throw Refusal()
                }
            } catch is Refusal {
                // Account 2 is not there; account 1 is.
            }
        }
        #expect(try database.read { try Account.query().ids(in: $0) } == [1])
    }

    @Test("A context is invalid outside of its closure")
    func escaped() throws {
        let database = try accounts()
        let context = try database.read { $0 }
        #expect(throws: HornbeamError.self) { try Account.query().count(in: context) }
    }

    @Test("The async forms do the same")
    func async() async throws {
        let database = try accounts()
        try await database.write { context in
            try Account(id: 3, balance: 0).save(to: &context)
        }
        let count = try await database.read { context in
            try Account.query().count(in: context)
        }
        #expect(count == 3)
    }

    @Test("A copy is a database, and a compaction doesn't lengthen the file")
    func upkeep() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let copyPath = folder.path("copy.hornbeam")
        let database = try Database(at: folder.path("accounts.hornbeam"), models: Account.self)
        try database.write { context in try Account(id: 3, balance: 7).save(to: &context) }
        try database.backup(to: copyPath)
        let done = try database.compact()
        print(done.bytesBefore - done.bytesAfter)
        #expect(done.bytesAfter <= done.bytesBefore)
        let copy = try Database(at: copyPath, models: Account.self)
        #expect(try copy.read { try Account.query().ids(in: $0) } == [3])
    }

    @Test("A write may choose its durability; a checkpoint makes earlier commits durable")
    func durability() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("accounts.hornbeam")
        do {
            let database = try Database(at: path, models: Account.self)
            try database.write(durability: .process) { context in
                try Account(id: 3, balance: 0).save(to: &context)
            }
            try database.write(durability: .none) { context in
                try Account(id: 4, balance: 0).save(to: &context)
            }
            try database.checkpoint()
        }
        let again = try Database(at: path, models: Account.self)
        #expect(try again.read { try Account.query().ids(in: $0) } == [3, 4])
    }
}
