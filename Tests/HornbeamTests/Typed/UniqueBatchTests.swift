// SPDX-License-Identifier: Apache-2.0
// Unique keys of entities that are saved together: the state at the end counts.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Seat: Equatable {
    @Unique<Self>(\.number, collisions: .throw) private var byNumber
    @Unique<Self>(\.holder, collisions: .replace) private var byHolder
    @Unique<Self>(\.a, \.b, \.c, \.d, \.e, \.f, collisions: .throw) private var bySix
    let id: String
    var number: Int
    var holder: String?
    var a = 0, b = 0, c = 0, d = 0, e = 0
    var f: Int?
    @Relationship(inverse: \.inFront) var behind: [Seat]?
    @Relationship(inverse: \.behind) var inFront: Seat?
}

/// An entity that trims its name before it is saved, and replaces a sign at the end by its id.
@EntityModel
private struct Trimmed {
    @Unique<Self>(\.name, collisions: .throw) private var byName
    let id: Int
    var name: String

    mutating func willSave(to context: inout Context) throws {
        name = String(name.drop { $0 == " " })
        if name.hasSuffix("#") { name = "\(name.dropLast())\(id)" }
        if name == "refused" { throw Refused() }
    }
    struct Refused: Error {}
}

@EntityModel
private struct Shelf {
    let id: Int
    @Relationship() var items: [Trimmed]?
}

/// An entity that exchanges the numbers of two seats while it is saved.
@EntityModel
private struct Swapper {
    @Unique<Self>(\.key, collisions: .throw) private var byKey
    let id: Int
    var key: Int

    func didSave(to context: inout Context) throws {
        var seats = try Seat.query(["a", "b"]).resolve(in: context)
        (seats[0].number, seats[1].number) = (seats[1].number, seats[0].number)
        try seats.save(to: &context)
    }
}

@Suite("Unique keys of a batch")
struct UniqueBatchTests {
    private func seats() throws -> Context {
        var context = Context()
        for (number, id) in ["a", "b", "c"].enumerated() {
            try Seat(id: id, number: number, holder: "h\(number)").save(to: &context)
        }
        return context
    }

    private func numbers(_ context: Context) throws -> [String: Int] {
        Dictionary(uniqueKeysWithValues: try Seat.query().resolve(in: context).map { ($0.id, $0.number) })
    }

    @Test("collide for two new entities of one write: the second with the first")
    func twoNewOnes() throws {
        let database = try Database.inMemory(models: Seat.self)
        try database.write { (context) throws in
            try Seat(id: "x", number: 7, holder: "z").save(to: &context)
            let error = #expect(throws: HornbeamError.self) {
                try Seat(id: "y", number: 7, holder: "other").save(to: &context)
            }
            #expect(error?.code == .uniqueViolation)
            // With an index that upserts, the new entity replaces the first one.
            try Seat(id: "y", number: 8, holder: "z").save(to: &context)
            #expect(try numbers(context) == ["y": 8])
        }
        #expect(try database.read { try numbers($0) } == ["y": 8])
        #expect(try database.check())
    }

    @Test("may change hands: swapped, or round in a ring")
    func swaps() throws {
        var context = try seats()
        try [Seat(id: "a", number: 1), Seat(id: "b", number: 0)].save(to: &context)
        #expect(try numbers(context) == ["a": 1, "b": 0, "c": 2])
        try context.saveAll([Seat(id: "a", number: 2), Seat(id: "b", number: 1), Seat(id: "c", number: 0)])
        #expect(try numbers(context) == ["a": 2, "b": 1, "c": 0])
        for number in 0..<3 { #expect(try Seat.filter(\.number == number).count(in: context) == 1) }
        #expect(try context.isWhole())
    }

    @Test("in an index that upserts change hands too, and delete no entity")
    func upserts() throws {
        var context = try seats()
        try context.saveAll([Seat(id: "a", number: 0, holder: "h1"), Seat(id: "b", number: 1, holder: "h0")])
        #expect(try Seat.query().resolve(in: context).map(\.holder) == ["h1", "h0", "h2"])
        #expect(try context.ids(Deleted<Seat>.self) == [])
        // Two entities with the same key behave as if saved one after the other.
        try context.saveAll([Seat(id: "x", number: 8, holder: "z"), Seat(id: "y", number: 9, holder: "z")])
        #expect(try Seat.filter(\.holder == "z").ids(in: context) == ["y"])
        try ["x", "y"].forEach { try context.remove(Seat.self, id: $0) }
        try Deleted<Seat>.purge(before: nil, from: &context)
        // Saved separately, the first one takes the other's place.
        try Seat(id: "a", number: 0, holder: "h0").save(to: &context)
        #expect(try context.ids(Seat.self) == ["a", "c"])
    }

    @Test("change hands between entities of one relation too, saved with its entity or by itself")
    func relations() throws {
        var context = try seats()
        try Seat(id: "c", number: 2, behind: .ids(["a", "b"])).save(to: &context)
        for numbers in [[1, 0], [0, 1]] {
            let seats = zip(["a", "b"], numbers).map { Seat(id: $0, number: $1) }
            let parent = Seat(id: "c", number: 2, behind: .relation(seats))
            if numbers == [1, 0] {
                try parent.save(\.$behind, inverse: \.$inFront, to: &context)
            } else {
                try parent.save(to: &context)
            }
            #expect(try self.numbers(context) == ["a": numbers[0], "b": numbers[1], "c": 2])
        }
        // An impossible save is refused, with nothing changed.
        let refused = Seat(
            id: "c", number: 2, behind: .relation([Seat(id: "a", number: 1), Seat(id: "d", number: 2)]))
        #expect(throws: HornbeamError.self) {
            try refused.save(\.$behind, inverse: \.$inFront, to: &context)
        }
        #expect(try numbers(context) == ["a": 0, "b": 1, "c": 2])
        #expect(try Seat.query("c").related(\.$behind).ids(in: context) == ["a", "b"])
        #expect(try context.isWhole())
    }

    @Test("are refused for single entities as outside of a batch")
    func single() throws {
        var context = try seats()
        let error = #expect(throws: HornbeamError.self) { try Seat(id: "a", number: 1).save(to: &context) }
        for part in ["Seat \"a\"", "Seat \"b\"", "number 1", "byNumber"] {
            #expect(error?.message.contains(part) == true, "\(part)")
        }
    }

    @Test("of two equal members refuse the batch, name both, and leave nothing behind")
    func duplicates() throws {
        var context = try seats()
        let before = try numbers(context)
        let batch = [Seat(id: "a", number: 7), Seat(id: "x", number: 8), Seat(id: "y", number: 8)]
        let error = #expect(throws: HornbeamError.self) { try batch.save(to: &context) }
        #expect(error?.code == .uniqueViolation)
        for part in ["\"x\"", "\"y\"", "number 8", "together"] {
            #expect(error?.message.contains(part) == true, "\(part)")
        }
        #expect(try numbers(context) == before)
        #expect(throws: HornbeamError.self) { try [Seat(id: "x", number: 2)].save(to: &context) }
        #expect(try numbers(context) == before)
    }

    @Test("of entities nested in one value are a batch")
    func nested() throws {
        var context = try seats()
        try Seat(id: "a", number: 1, behind: .relation([Seat(id: "b", number: 2), Seat(id: "c", number: 0)]))
            .save(to: &context)
        #expect(try numbers(context) == ["a": 1, "b": 2, "c": 0])
        #expect(try Seat.query("b").id(\.$inFront).resolve(in: context)?.$inFront.id == "a")
        let twins = Seat(id: "d", number: 4, behind: .relation([Seat(id: "e", number: 5), Seat(id: "f", number: 5)]))
        #expect(throws: HornbeamError.self) { try twins.save(to: &context) }
        #expect(try numbers(context).count == 3)
        #expect(try context.isWhole())
    }

    @Test("of six components count as one, and their values are named")
    func six() throws {
        var context = Context()
        try Seat(id: "p", number: 1, e: 5, f: 6).save(to: &context)
        try Seat(id: "q", number: 2, e: 5, f: 7).save(to: &context)
        let error = #expect(throws: HornbeamError.self) { try Seat(id: "q", number: 2, e: 5, f: 6).save(to: &context) }
        #expect(error?.message.contains("a 0, b 0, c 0, d 0, e 5, f 6") == true)
        try [Seat(id: "p", number: 1, e: 5, f: 7), Seat(id: "q", number: 2, e: 5, f: 6)].save(to: &context)
        #expect(try Seat.query().resolve(in: context).map(\.f) == [7, 6])
        // A nil makes an entity exempt.
        try [Seat(id: "p", number: 1), Seat(id: "q", number: 2)].save(to: &context)
        #expect(try context.isWhole())
    }

    @Test("are compared after willSave, and a hook that throws undoes the whole batch")
    func hooks() throws {
        var context = Context()
        try [Trimmed(id: 1, name: "one"), Trimmed(id: 2, name: "two")].save(to: &context)
        try [Trimmed(id: 1, name: "  two"), Trimmed(id: 2, name: " one")].save(to: &context)
        #expect(try Trimmed.query().resolve(in: context).map(\.name) == ["two", "one"])
        #expect(throws: HornbeamError.self) {
            try [Trimmed(id: 3, name: "x"), Trimmed(id: 4, name: "  x")].save(to: &context)
        }
        #expect(throws: Trimmed.Refused.self) {
            try [Trimmed(id: 3, name: "x"), Trimmed(id: 4, name: "refused")].save(to: &context)
        }
        #expect(try context.ids(Trimmed.self) == [1, 2])
    }

    @Test("of nested entities are compared after their own hooks")
    func nestedHooks() throws {
        var context = Context()
        try Trimmed(id: 1, name: "one").save(to: &context)
        // Equal before the hook, but not in the end.
        try Shelf(id: 1, items: .relation([Trimmed(id: 2, name: "two#"), Trimmed(id: 3, name: "two#")]))
            .save(to: &context)
        #expect(try Trimmed.query().resolve(in: context).map(\.name) == ["one", "two2", "two3"])
        // Different before the hook, but equal in the end: nothing is left.
        #expect(throws: HornbeamError.self) {
            try Shelf(id: 2, items: .relation([Trimmed(id: 4, name: "x"), Trimmed(id: 5, name: "  x")]))
                .save(to: &context)
        }
        #expect(throws: HornbeamError.self) {
            try Shelf(id: 2, items: .relation([Trimmed(id: 4, name: "x"), Trimmed(id: 5, name: " one")]))
                .save(to: &context)
        }
        #expect(try context.ids(Trimmed.self) == [1, 2, 3] && context.ids(Shelf.self) == [1])
        #expect(try context.isWhole())
    }

    @Test("of other entities are exchanged by hooks of a batch that exchanges keys itself")
    func batchInHook() throws {
        var context = try seats()
        try [Swapper(id: 1, key: 1), Swapper(id: 2, key: 2)].save(to: &context)
        try [Swapper(id: 1, key: 2), Swapper(id: 2, key: 1)].save(to: &context)
        #expect(try Swapper.query().resolve(in: context).map(\.key) == [2, 1])
        // Exchanged twice by the first save, and twice by the second.
        #expect(try numbers(context) == ["a": 0, "b": 1, "c": 2])
        try Swapper(id: 3, key: 3).save(to: &context)
        #expect(try numbers(context) == ["a": 1, "b": 0, "c": 2])
        #expect(try context.isWhole())
    }

    @Test("that change hands are found at once, however many they are", .timeLimit(.minutes(1)))
    func manyYielded() throws {
        var context = Context()
        try Seat(id: "a", number: 1).save(to: &context)
        let index = try #require(try context.session.store(Seat.self).type.indexes.first)
        var entries = ReleasedKeys()
        let count: UInt64 = 200_000
        for row in 0..<count { entries.insert(index, RowID(rawValue: row), at: Int(row) + 1, toLink: false) }
        #expect(entries.all(since: 7).map(\.rowID.rawValue) == Array(7..<count))
        for row in (0..<count).reversed() where !entries.remove(index, RowID(rawValue: row)) {
            Issue.record("\(row) is missing")
        }
        #expect(entries.isEmpty && !entries.remove(index, RowID(rawValue: 1)))
    }

    @Test("of all entities of a type are exchanged by one update")
    func exchanged() throws {
        var context = Context()
        let count = 1_000
        try context.saveAll((0..<count).map { Trimmed(id: $0, name: "\($0)") })
        try Trimmed.query().update(in: &context) { $0.name = "\(count - 1 - $0.id)" }
        #expect(try Trimmed.query().resolve(in: context).allSatisfy { $0.name == "\(count - 1 - $0.id)" })
        #expect(try context.isWhole())
    }

    @Test("stay right with any permutation, and entities outside of it refuse", .seeded)
    func random() throws {
        var random = SeededGenerator()
        let database = try Database.inMemory(models: Seat.self)
        let ids = (0..<12).map { "s\($0)" }
        try database.write { context in
            for (number, id) in ids.enumerated() { try Seat(id: id, number: number, holder: id).save(to: &context) }
        }
        for _ in 0..<60 {
            let before = try database.read { try numbers($0) }
            let chosen = ids.shuffled(using: &random).prefix(random.below(12) + 1)
            var free = chosen.compactMap { before[$0] }.shuffled(using: &random)
            // Sometimes the number of an unchanged entity, or one number twice.
            let isLegal = !random.oneIn(3)
            if !isLegal, let wrong = (0..<12).filter({ $0 != free[0] }).randomElement(using: &random) {
                free[0] = wrong
            }
            let batch = zip(chosen, free).map { Seat(id: $0, number: $1, holder: $0) }
            do {
                try database.write { try batch.save(to: &$0) }
                #expect(isLegal)
                #expect(try database.read { try numbers($0) } == before.merging(zip(chosen, free)) { $1 })
            } catch let error as HornbeamError where error.code == .uniqueViolation {
                #expect(!isLegal)
                #expect(try database.read { try numbers($0) } == before)
            }
            #expect(try database.check { Issue.record("\($0)") })
        }
    }
}
