// SPDX-License-Identifier: Apache-2.0
// Required relations: by default they only can't be set to null; a strict database checks them at the end of each
// write.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Room {
    let id: String
    @Relationship(inverse: \.room) var seats: [Seat]?
}

@EntityModel
private struct Seat {
    let id: Int
    @Relationship(.required, inverse: \.seats) var room: Room?
    @Relationship(.required) var maker: Maker?
}

@EntityModel
private struct Maker {
    let id: String
}

@Suite("Required relations")
struct RequiredRelationTests {
    private func strict() throws -> Database {
        let database = try Database.inMemory(models: Room.self, Seat.self, requiresRelations: true)
        try database.write { context in
            // The room is saved after its seats: the state at the end of the write counts.
            try Seat(id: 1, room: .id("r"), maker: .id("m")).save(to: &context)
            try Seat(id: 2, room: .id("r"), maker: .id("m")).save(to: &context)
            try Room(id: "r").save(to: &context)
            try Maker(id: "m").save(to: &context)
        }
        return database
    }

    private func refusal(_ database: Database, _ body: (inout Context) throws -> Void) -> HornbeamError? {
        #expect(throws: HornbeamError.self) { try database.write(body) }
    }

    @Test("may be missing by default")
    func lenient() throws {
        let database = try Database.inMemory(models: Room.self, Seat.self)
        try database.write { try Seat(id: 1).save(to: &$0) }
        #expect(try database.read { try $0.ids(Seat.self) } == [1])
    }

    @Test("of entities saved in a strict write must lead to stored ones, or nothing of the write remains")
    func saving() throws {
        let database = try strict()
        let missing = refusal(database) { try Seat(id: 3, maker: .id("m")).save(to: &$0) }
        #expect(missing?.code == .missingRelation)
        for part in ["Seat 3", "“room”"] { #expect(missing?.message.contains(part) == true, "\(part)") }
        let unsaved = refusal(database) { try Seat(id: 3, room: .id("none"), maker: .id("m")).save(to: &$0) }
        for part in ["Seat 3", "“room”", "leads to Room \"none\", which isn't stored"] {
            #expect(unsaved?.message.contains(part) == true, "\(unsaved?.message ?? "") lacks \(part)")
        }
        #expect(try database.read { try $0.ids(Seat.self) } == [1, 2])
        // A seat that is read without its relations and saved again keeps them.
        try database.write { context in try (context.find(1) as Seat?)?.save(to: &context) }
    }

    @Test("must not be taken from others: by deleting, detaching, stealing or replacing")
    func losing() throws {
        let database = try strict()
        #expect(refusal(database) { try Maker.delete(id: "m", from: &$0) }?.message.contains("Seat 1") == true)
        #expect(refusal(database) { try Room.delete(id: "r", from: &$0) }?.code == .missingRelation)
        #expect(
            refusal(database) { try Room(id: "r", seats: .ids([2])).save(to: &$0) }?.message.contains("Seat 1") == true)
        #expect(refusal(database) { try Room(id: "r", seats: .ids([])).save(to: &$0) }?.code == .missingRelation)
        try database.write { context in
            try Room(id: "s", seats: .ids([1])).save(to: &context)
            try Seat.delete(id: 2, from: &context)
            try Room.delete(id: "r", from: &context)
        }
        #expect(try database.read { try Seat.query().with(\.$room).resolve(in: $0).map(\.room?.id) } == ["s"])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("don't concern changes undone in the same write")
    func undone() throws {
        struct Refusal: Error {}
        let database = try strict()
        try database.write { context in
            #expect(throws: Refusal.self) {
                try context.transaction { context in
                    try Seat(id: 9).save(to: &context)
                    throw Refusal()
                }
            }
            try Room(id: "t").save(to: &context)
        }
        #expect(try database.read { try $0.ids(Room.self) }.sorted() == ["r", "t"])
    }

    @Test("are an option of a file too, also in asynchronous writes, and earlier gaps stay readable")
    func file() async throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("rooms.hornbeam")
        let database = try Database(at: path, models: Room.self, Seat.self)
        try await database.write { context in
            try Seat(id: 1).save(to: &context)
            try Seat(id: 2).save(to: &context)
        }
        try database.close()
        var options = Database.Options()
        options.requiresRelations = true
        let again = try Database(at: path, models: Room.self, Seat.self, options: options)
        #expect(try await again.read { try $0.ids(Seat.self) } == [1, 2])
        try await again.write { context in try Room(id: "r").save(to: &context) }
        await #expect(throws: HornbeamError.self) { try await again.write { try Seat(id: 1).save(to: &$0) } }
        // A change undone within a write doesn't belong to it.
        try await again.write { context in
            struct Refusal: Error {}
            _ = #expect(throws: Refusal.self) {
                try context.transaction { context in
                    try Seat(id: 1).save(to: &context)
                    throw Refusal()
                }
            }
        }
        try again.close()
    }

    @Test("count as touched until the inner transaction that touched them is undone, with only its own")
    func innerTransactions() throws {
        let required = RequiredRelations()
        for row in UInt64(0)..<10_000 { required.touch("Seat", RowID(rawValue: row)) }
        for inner in UInt64(0)..<3 {
            let count = required.count
            required.touch("Seat", RowID(rawValue: 7))
            for row in UInt64(0)..<4 { required.touch("Seat", RowID(rawValue: 20_000 + 10 * inner + row)) }
            required.touch("Room", RowID(rawValue: 7))
            // The last change stays. The inner transaction didn't touch the earlier ones.
            if inner < 2 { #expect(required.forget(downTo: count) == 5) }
        }
        #expect(required.count == 10_005)
    }

    /// Runs `body` in an inner transaction that then fails.
    private func undo(_ context: inout Context, _ body: (inout Context) throws -> Void) throws {
        do {
            try context.transaction { (inner) throws -> Void in
                try body(&inner)
                throw CancellationError()
            }
        } catch is CancellationError {}
    }

    @Test("are checked for a write's changes, not for its undone inner transactions")
    func undoneWithin() throws {
        let database = try strict()
        try database.write { context in
            try Seat(id: 3, room: .id("r"), maker: .id("m")).save(to: &context)
            for number in 4..<8 {
                try undo(&context) { inner in
                    try Seat(id: number).save(to: &inner)
                    try Seat(id: 3, room: .id("r"), maker: .id("m")).save(to: &inner)
                }
            }
        }
        #expect(try database.read { try $0.ids(Seat.self) } == [1, 2, 3])
        let kept = refusal(database) { context in
            try Room(id: "t", seats: .ids([3])).save(to: &context)
            try Seat.delete(id: 3, from: &context)
            try context.transaction { try Seat(id: 9, maker: .id("m")).save(to: &$0) }
            try undo(&context) { try Seat(id: 9, room: .id("r"), maker: .id("m")).save(to: &$0) }
        }
        #expect(kept?.message.contains("Seat 9") == true)
    }
}
