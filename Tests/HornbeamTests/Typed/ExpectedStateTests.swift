// SPDX-License-Identifier: Apache-2.0
// Saves that expect a state, and entities that expire.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Ticket: Equatable {
    @Index<Self>(\.until) private var byUntil
    @FullTextIndex<Self>(\.note) private var search

    let id: Int
    var note: String
    var until: Date?
    @Relationship(deleteRule: .cascade) var seats: [Seat]?

    static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.note == right.note && left.until == right.until
    }
}

@EntityModel
private struct Seat {
    let id: String
    var free = Date(timeIntervalSince1970: 1_000)
}

/// An entity whose deleted form has another id, or that leaves none.
@EntityModel
private struct Visit {
    let id: Int
    var until: Date
    @Relationship(deleteRule: .cascade) var next: Visit?

    func asDeleted(in context: Context) throws -> Deleted<Self>? {
        id >= 100 ? nil : Deleted(Visit(id: id + 1000, until: until))
    }
}

/// An entity whose hook chooses its id.
@EntityModel
private struct Renumbered {
    var id: Int
    var note: String

    mutating func willSave(to context: inout Context) throws { id = 2 }
}

@Suite("Expected states")
struct ExpectedStateTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(models: Ticket.self, Seat.self)
        try database.write { context in try Ticket(id: 1, note: "first").save(to: &context) }
        return database
    }

    @Test("the state is expected of the id that `willSave` leaves")
    func renumbered() throws {
        let database = try Database.inMemory(models: Renumbered.self)
        try database.write { (context) throws in
            try Renumbered(id: 1, note: "a").save(to: &context, expecting: nil)
            let error = #expect(throws: HornbeamError.self) {
                try Renumbered(id: 1, note: "b").save(to: &context, expecting: nil)
            }
            #expect(error?.code == .conflict && error?.message.contains("Renumbered 2") == true)
            #expect(try Renumbered.query(2).resolve(in: context)?.note == "a")
        }
    }

    private func token(_ database: Database, _ id: Int = 1) throws -> StateToken? {
        try database.read { context in try Ticket.stateToken(id: id, in: context) }
    }

    private func expectConflict(
        _ words: String, _ database: Database, _ body: (inout Context) throws -> Void
    ) throws {
        let before = try database.read { context in try context.all() as [Ticket] }
        try database.write { (context) throws in
            let error = #expect(throws: HornbeamError.self) { try body(&context) }
            #expect(error?.code == .conflict && error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
        #expect(try database.read { context in try context.all() as [Ticket] } == before)
    }

    @Test("a stale state is a conflict that names both, and the current one is saved")
    func stale() throws {
        let database = try database()
        let first = try #require(try token(database))
        #expect(try token(database) == first)
        try database.write { context in
            try Ticket(id: 1, note: "second").save(to: &context, expecting: first)
        }
        let second = try #require(try token(database))
        #expect(second != first)
        try expectConflict("expected in the state \(first), and is stored in the state \(second)", database) {
            context in
            try Ticket(id: 1, note: "third").save(to: &context, expecting: first)
        }
        try expectConflict("can't be deleted", database) { context in
            try Ticket(id: 1, note: "").delete(from: &context, expecting: first)
        }
        // Saving the same content again makes another state, and so does deleting and saving again.
        try database.write { context in try Ticket(id: 1, note: "first").save(to: &context) }
        #expect(try token(database) != first)
        try database.write { (context) throws in
            let current = try #require(try Ticket.stateToken(id: 1, in: context))
            try Ticket(id: 1, note: "").delete(from: &context, expecting: current)
        }
        try expectConflict("isn't stored any more", database) { context in
            try Ticket(id: 1, note: "third").save(to: &context, expecting: second)
        }
    }

    @Test("a conflict names the time of the last save, whenever that was")
    func anyTime() throws {
        let database = try database()
        for (seconds, words) in [(1e300, "1e+300"), (-1e18, "-1e+18"), (1_000, "2001-01-01T00:16:40Z")] {
            try database.write { context in
                try Ticket(id: 1, note: "").updateMetadata(
                    .updatedAt, value: Date(timeIntervalSinceReferenceDate: seconds), in: &context)
            }
            try expectConflict("last saved at \"\(words)\"", database) { context in
                try Ticket(id: 1, note: "third").save(to: &context, expecting: nil)
            }
        }
        try database.write { (context) throws in
            for seconds in [Double.nan, .infinity, -.infinity] {
                let error = #expect(throws: HornbeamError.self) {
                    try Ticket(id: 1, note: "").updateMetadata(
                        .updatedAt, value: Date(timeIntervalSinceReferenceDate: seconds), in: &context)
                }
                #expect(error?.code == .invalid && error?.message.contains("no date") == true)
            }
            let stored = try Ticket.query(1).resolve(in: context)?.updatedAt(in: context)
            #expect(stored == Date(timeIntervalSinceReferenceDate: 1_000))
        }
    }

    @Test("an entity that must not be stored is inserted once")
    func inserting() throws {
        let database = try database()
        #expect(try token(database, 2) == nil)
        try database.write { context in try Ticket(id: 2, note: "new").save(to: &context, expecting: nil) }
        try expectConflict("expected not to be stored, and is stored", database) { context in
            try Ticket(id: 2, note: "newer").save(to: &context, expecting: nil)
        }
        try expectConflict("expected not to be stored", database) { context in
            try Ticket(id: 2, note: "newer").save(to: &context, expecting: nil, onConflict: .replace)
        }
    }

    @Test("a conflict may be resolved by a merge strategy, but not where the entity is gone")
    func resolving() throws {
        let database = try database()
        let first = try token(database)
        try database.write { context in try Ticket(id: 1, note: "theirs").save(to: &context) }
        try database.write { (context) throws in
            let joining = MergeStrategy<Ticket> { old, new in
                var merged = new
                merged.note = "\(old.note) and \(new.note)"
                return merged
            }
            try Ticket(id: 1, note: "mine").save(to: &context, expecting: first, onConflict: joining)
            #expect(try Ticket.query(1).resolve(in: context)?.note == "theirs and mine")
            // Without a conflict there is nothing to merge.
            let current = try Ticket.stateToken(id: 1, in: context)
            try Ticket(id: 1, note: "alone").save(to: &context, expecting: current, onConflict: joining)
            #expect(try Ticket.query(1).resolve(in: context)?.note == "alone")
            try Ticket.delete(id: 1, from: &context)
            let error = #expect(throws: HornbeamError.self) {
                try Ticket(id: 1, note: "mine").save(to: &context, expecting: current, onConflict: joining)
            }
            #expect(error?.code == .conflict)
        }
    }

    @Test("a token is valid in a later process, and is encoded")
    func lasting() throws {
        let disk = try SimulatedDisk()
        let first = try MigratedFile.open(disk, [Ticket.self, Seat.self], [])
        try first.write { context in try Ticket(id: 1, note: "first").save(to: &context) }
        let text = try JSONEncoder().encode(try token(first))
        try first.close()
        let again = try MigratedFile.open(disk, [Ticket.self, Seat.self], [])
        let decoded = try JSONDecoder().decode(StateToken.self, from: text)
        try again.write { context in try Ticket(id: 1, note: "second").save(to: &context, expecting: decoded) }
        #expect(try token(again) != decoded)
    }
}

@Suite("Entities that expire")
struct ExpirationTests {
    private static func time(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test("expired entities leave nothing, in any way they are deleted; earlier `Deleted` ones stay")
    func leavingNothing() throws {
        var context = Context()
        func save(_ id: Int, next: Int? = nil) throws {
            var visit = Visit(id: id, until: Self.time(Double(id)))
            if let next { visit.$next = .id(next) }
            try visit.save(to: &context)
        }
        try Deleted(Visit(id: 1003, until: Self.time(0))).save(to: &context)
        for (id, next) in [(1, 2), (2, 50), (3, nil), (50, nil), (60, nil)] { try save(id, next: next) }
        let before = try context.ids(Deleted<Visit>.self)
        // Visit 50 isn't due, but the delete rule takes it.
        #expect(try Visit.purgeExpired(\.until, at: Self.time(10), from: &context) == 3)
        #expect(try context.ids(Visit.self) == [60])
        #expect(try Set(context.ids(Deleted<Visit>.self)) == Set(before + [1050]))
        try Visit.delete(id: 60, from: &context)
        #expect(try context.ids(Deleted<Visit>.self).contains(1060))
        #expect(try context.isWhole())
    }

    @Test("expired entities are left out from that moment on, and purged with their entries")
    func purging() throws {
        let database = try Database.inMemory(
            models: Ticket.self, Seat.self, keepsDeleted: .forever, indexes: [ValueIndex("byNote", \Ticket.note)])
        try database.write { (context) throws in
            for id in 0..<40 {
                try Ticket(
                    id: id, note: "number \(id % 4)", until: id % 4 == 0 ? nil : Self.time(Double(id)),
                    seats: .relation([Seat(id: "\(id)")])
                ).save(to: &context)
            }
        }
        try database.read { (context) throws in
            for now in [0.0, 5, 5.5, 39, 50] {
                let good = try Ticket.filter(.unexpired(\.until, at: Self.time(now))).sorted(by: \.id).ids(in: context)
                let expected = (0..<40).filter { (id: Int) in id % 4 == 0 || Double(id) > now }
                #expect(good == expected, "\(now)")
            }
            #expect(try Seat.filter(.unexpired(\.free, at: Self.time(1_000))).count(in: context) == 0)
        }
        try database.write { (context) throws in
            #expect(try Ticket.purgeExpired(\.until, at: Self.time(5), limit: 3, from: &context) == 3)
            #expect(try Ticket.purgeExpired(\.until, at: Self.time(5), limit: 3, from: &context) == 1)
            #expect(try Ticket.purgeExpired(\.until, at: Self.time(5), from: &context) == 0)
            // Nothing is left of them, except the effects of a rule.
            #expect(try Deleted<Ticket>.query().count(in: context) == 0)
            #expect(try Deleted<Seat>.query().count(in: context) == 4)
            #expect(try Ticket.query().count(in: context) == 36)
            #expect(try Ticket.purgeExpired(\.until, from: &context) == 26)
            #expect(try Ticket.filter(.string(\.note, matches: "number")).count(in: context) == 10)
            #expect(try Ticket.filter(\.note == "number 0").count(in: context) == 10)
            #expect(try Seat.purgeExpired(\.free, from: &context) == 10)
        }
        #expect(try database.isWhole())
        let read = try database.store.beginRead()
        defer { read.abort() }
        for name in try read.treeNames() where name.hasPrefix("x:Ticket") || name.hasPrefix("m:Ticket") {
            #expect(try read.count(try #require(try read.tree(name))) == 10, "\(name)")
        }
    }
}
