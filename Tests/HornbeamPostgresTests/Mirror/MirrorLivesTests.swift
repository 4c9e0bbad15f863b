// SPDX-License-Identifier: Apache-2.0
// Lives of a store that a mirror follows: random transactions with links, deletions and rollbacks, and connections
// that are cut at each message. After each of them the mirror shows a state that the store had, at the end the
// newest.

import Foundation
import Hornbeam
import HornbeamTestSupport
import PostgresTestSupport
import Testing

@testable import HornbeamPostgres

/// Random changes of a store.
struct MirrorLife {
    let database: Database
    private var random: SeededGenerator

    init(seed: UInt64, _ database: Database) {
        self.database = database
        random = SeededGenerator(seed: seed)
    }

    private mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func books() -> [String] { (0..<number(4)).map { _ in "b\(number(8))" } }

    /// Makes a transaction of some changes, which is sometimes rolled back.
    mutating func step() throws {
        struct Rollback: Error {}
        let count = 1 + number(5)
        let isRolledBack = number(5) == 0
        do {
            try database.write { context in
                for _ in 0..<count { try change(&context) }
                if isRolledBack { throw Rollback() }
            }
        } catch is Rollback {}
    }

    private mutating func change(_ context: inout Context) throws {
        let (writer, book) = (number(6), "b\(number(8))")
        switch number(10) {
        case 0...2:
            let friend = number(6)
            try Writer(
                id: writer, name: "W\(number(100))", books: number(3) == 0 ? .none : .ids(books()),
                friend: friend == 0 ? .none : .id(friend)
            ).save(to: &context)
        case 3, 4:
            try Book(
                id: book, title: "T\(number(100))", price: Decimal(number(10)), writers: .ids([number(6), writer])
            )
            .save(to: &context)
        case 5:
            let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(number(12))))
            try Letter(id: id, text: "L\(number(100))", writer: .id(writer)).save(to: &context)
        case 6: try Writer.delete(id: writer, from: &context)
        case 7: try Book.delete(id: book, from: &context)
        case 8: try Writer(id: writer, name: "alone", books: .ids([]), friend: .null).save(to: &context)
        default: try Book(id: book, title: "only").save(to: &context)
        }
    }
}

@Suite("A mirror's lives")
struct MirrorLivesTests {
    private func database() throws -> Database {
        try Database.inMemory(models: Writer.self, Book.self, Letter.self, keepsDeleted: .forever)
    }

    @Test("end with the store's entities, links and deleted ones", arguments: 1...4 as ClosedRange<UInt64>)
    func lives(seed: UInt64) async throws {
        let url = try PostgresServer.shared().makeDatabase()
        let database = try database()
        var life = MirrorLife(seed: seed, database)
        let mirror = try PostgresMirror(of: database, named: "life", to: url)
        for round in 0..<25 {
            for _ in 0...(round % 3) { try life.step() }
            try await mirror.update()
            let (there, here) = try (await restored(from: url), exported(database))
            #expect(there == here, "seed \(seed), round \(round)")
            if there != here { return }
        }
        try await mirror.verify()
    }

    @Test("bring each batch once, wherever the connection is cut", arguments: [true, false])
    func cuts(isBehind: Bool) async throws {
        let server = try PostgresServer.shared()
        let url = try server.makeDatabase()
        let proxy = try CuttingProxy(to: server)
        let database = try database()
        var life = MirrorLife(seed: 7, database)
        for _ in 0..<10 { try life.step() }
        let mirror = try PostgresMirror(of: database, named: "cut", to: proxy.url(insteadOf: url))
        var place = 1
        var last = 0
        while last < 3 {
            let before = proxy.cuts
            // Each message contains an empty text.
            if isBehind { proxy.cut(behind: "", after: place) } else { proxy.cut(before: "", after: place) }
            do {
                try await mirror.update()
            } catch let error as HornbeamError {
                #expect(error.code == .unreachable, "message \(place): \(error)")
            }
            let wasCut = proxy.cuts > before
            proxy.disarm()
            // Some continue at once, some after another change.
            if place % 2 == 0 { try life.step() }
            try await mirror.update()
            #expect(try await restored(from: url) == exported(database), "message \(place)")
            for _ in 0..<3 { try life.step() }
            place = wasCut ? place + 1 : 1
            if !wasCut { last += 1 }
        }
        #expect(proxy.cuts > 20)
        proxy.keep()
    }
}
