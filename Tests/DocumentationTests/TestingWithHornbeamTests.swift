// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Testing with Hornbeam”.

import Foundation
import Hornbeam
import Testing

private let noon = Date(timeIntervalSinceReferenceDate: 800_000_000)

@EntityModel
private struct Loan {
    @Index<Self>(\.due) private var byDue
    @Unique<Self>(\.book) private var byBook

    let id: Int
    var book: String
    var due: Date

    func isLate(at now: Date) -> Bool { due < now }
}

extension Loan {
    fileprivate static func sample(_ id: Int, book: String = "Emma", due: Date = noon) -> Loan {
        Loan(id: id, book: book, due: due)
    }
}

/// A loan in the files of an earlier version.
@EntityModel
private struct Lending {
    let id: Int
    var book: String
    var due: Date
}

@Suite("The guide “Testing with Hornbeam”", .timeLimit(.minutes(30)))
struct TestingWithHornbeamTests {
    @Test("A loan is late after its day")
    func late() throws {
        var context = Context()
        try Loan(id: 1, book: "Emma", due: noon).save(to: &context)
        let loan = try #require(try context.find(Loan.self, 1))
        #expect(loan.isLate(at: noon + 1))
    }

    @Suite("The library")
    struct LibraryTests {
        let database: Database

        init() throws {
            database = try Database.inMemory(models: Loan.self)
            try database.write { context in
                for (id, book) in ["Emma", "Persuasion", "Solaris"].enumerated() {
                    try Loan(id: id, book: book, due: noon + Double(id) * 86_400).save(to: &context)
                }
            }
        }

        @Test("A book is lent once")
        func twice() throws {
            let error = #expect(throws: HornbeamError.self) {
                try database.write { try Loan.sample(9, book: "Emma").save(to: &$0) }
            }
            #expect(error?.code == .uniqueViolation)
            #expect(try database.read { try $0.ids(Loan.self) } == [0, 1, 2])
        }

        @Test("Late loans are found by an index, and purged")
        func lateLoans() throws {
            let late = Loan.filter(\.due < noon + 100_000)
            let loans = try database.read { try late.requiringIndex().resolve(in: $0) }
            #expect(loans.map(\.id) == [0, 1])
            let expired = try database.write { context in
                try Loan.purgeExpired(\.due, at: noon + 100_000, from: &context)
            }
            #expect(expired == 2)
        }

        @Test("A live list follows a save")
        func live() async throws {
            var lists = database.observe(Loan.query().sorted(by: \.due)).makeAsyncIterator()
            let before = try await lists.next()
            try await database.write { try Loan.sample(0, due: noon + 500_000).save(to: &$0) }
            let after = try await lists.next()
            #expect(after?.entities.last?.id == 0)
            #expect(before?.changes == nil && after?.changes?.moves.count == 1)
        }
    }

    @Test("A file of an earlier version opens, passes its check, and opens again")
    func storedFile() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "loans.hornbeam").path
        let stored = folder.appending(path: "1.0.hornbeam").path
        let released = try Database(at: stored, models: Lending.self)
        try released.write { try Lending(id: 1, book: "Emma", due: noon).save(to: &$0) }
        try released.close()

        let migrations: [Migration] = [.rename("Lending", to: Loan.self)]
        try FileManager.default.copyItem(atPath: stored, toPath: path)
        for _ in 1...2 {
            let database = try Database(at: path, models: Loan.self, migrations: migrations)
            #expect(try database.check { Issue.record("\($0)") })
            #expect(try database.read { try $0.find(Loan.self, 1) }?.book == "Emma")
            try database.close()
        }
    }

    @Test("A released database is recovered by the next opening")
    func recovery() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "loans.hornbeam").path
        do {
            let database = try Database(at: path, models: Loan.self)
            try database.write { try Loan.sample(1).save(to: &$0) }
        }
        let again = try Database(at: path, models: Loan.self)
        #expect(try again.read { try $0.ids(Loan.self) } == [1])
        let error = #expect(throws: HornbeamError.self) { try Database(at: path, models: Loan.self) }
        #expect(error?.code == .busy)
    }

    @Test("A store in memory can be written to a file")
    func fixture() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "fixture.hornbeam").path
        let database = try Database.inMemory(models: Loan.self)
        try database.write { try Loan.sample(1).save(to: &$0) }
        try database.backup(to: path)
        let copy = try Database(at: path, models: Loan.self)
        #expect(try copy.read { try $0.ids(Loan.self) } == [1])
    }
}
