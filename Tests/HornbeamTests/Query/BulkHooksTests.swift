// SPDX-License-Identifier: Apache-2.0
// Bulk changes of entities whose hooks write to one another have the effects of separate changes.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// The common part of the two types below, one without unique indexes and one with.
private protocol Tallied: EntityModelProtocol, Equatable where ID == Int {
    static func make(_ id: Int, parent: Int?, drops: Int?) -> Self
    var value: Int { get set }
    var noted: Int { get set }
    var below: Int { get set }
    var parent: Int? { get }
    var drops: Int? { get }
}

extension Tallied {
    /// Writes to the parent before the entity is saved.
    fileprivate func noteInParent(_ context: inout Context) throws {
        guard let parent, var found = try context.find(parent) as Self? else { return }
        found.noted += 1
        try found.save(to: &context, options: .replace)
    }

    /// Counts the entity in its parent once it is saved, and deletes another one.
    fileprivate func countInParent(_ context: inout Context) throws {
        if let parent, var found = try context.find(parent) as Self? {
            found.below += value
            try found.save(to: &context, options: .replace)
        }
        if let drops { try Self.delete(id: drops, from: &context) }
    }
}

@EntityModel
private struct Tally: Tallied {
    let id: Int
    var parent: Int?
    var drops: Int?
    var value = 0
    var noted = 0
    var below = 0

    static func make(_ id: Int, parent: Int?, drops: Int?) -> Self { Self(id: id, parent: parent, drops: drops) }
    mutating func willSave(to context: inout Context) throws { try noteInParent(&context) }
    func didSave(to context: inout Context) throws { try countInParent(&context) }
}

@EntityModel
private struct KeyedTally: Tallied {
    @Unique<Self>(\.key, collisions: .throw) private var byKey

    let id: Int
    var key: Int
    var parent: Int?
    var drops: Int?
    var value = 0
    var noted = 0
    var below = 0

    static func make(_ id: Int, parent: Int?, drops: Int?) -> Self {
        Self(id: id, key: id, parent: parent, drops: drops)
    }
    mutating func willSave(to context: inout Context) throws { try noteInParent(&context) }
    func didSave(to context: inout Context) throws { try countInParent(&context) }
}

/// A type in which saving a closed entity with an even number deletes the next one.
@EntityModel
private struct Chore {
    let id: String
    var state = "open"

    func didSave(to context: inout Context) throws {
        guard state == "closed", let number = Int(id), number % 2 == 0 else { return }
        try Chore.delete(id: "\(number + 1)", from: &context)
    }
}

@EntityModel
private struct Case {
    let id: Int
    var isClosed = false

    @Relationship(deleteRule: .cascade, inverse: \.parent) var parts: [Case]?
    @Relationship(inverse: \.parts) var parent: Case?

    func didSave(to context: inout Context) throws { if isClosed { try Case.delete(id: id + 1, from: &context) } }
}

@EntityModel
private struct Handle: Equatable {
    @Unique<Self>(\.name, collisions: .replace) private var byName

    let id: Int
    var name: String

    mutating func willSave(to context: inout Context) throws { name = name.lowercased() }
}

@EntityModel
private struct Crew {
    let id: Int

    @Relationship(inverse: \.crew) var members: [Hand]?
}

/// A type in which deleting an entity saves another in its place.
@EntityModel
private struct Hand {
    let id: Int

    @Relationship(inverse: \.members) var crew: Crew?

    func didDelete(from context: inout Context) throws {
        if id < 100 { try Hand(id: id + 100, crew: .id(1)).save(to: &context) }
    }
}

@Suite("Bulk changes and hooks")
struct BulkHooksTests {
    /// Checks that one update leaves the same entities as finding and saving them one by one.
    private func expectAlike<Entity: Tallied>(
        _ entities: [Entity], _ query: QueryList<Entity>, _ message: String
    ) throws {
        var (bulk, single) = (Context(), Context())
        for entity in entities {
            try bulk.insert(entity)
            try single.insert(entity)
        }
        let count = try query.update(in: &bulk) { $0.value += $0.below + 1 }
        var found = 0
        for id in try query.ids(in: single) {
            guard var entity = try single.find(id) as Entity? else { continue }
            entity.value += entity.below + 1
            try entity.save(to: &single, options: .replace)
            found += 1
        }
        #expect(try bulk.all() as [Entity] == single.all(), "\(message)")
        #expect(count == found, "\(message)")
        #expect(try bulk.isWhole())
    }

    private func tree<Entity: Tallied>(_ random: inout SeededGenerator, _: Entity.Type) -> [Entity] {
        let count = 1 + random.below(24)
        return (0..<count).map { id in
            let parent = id == 0 || random.oneIn(4) ? nil : random.below(id)
            return Entity.make(id, parent: parent, drops: random.oneIn(3) ? random.below(count) : nil)
        }
    }

    @Test("an update leaves the same as finding and saving one by one", .seeded)
    func trees() throws {
        var random = SeededGenerator()
        for round in 0..<40 {
            let (plain, keyed) = (tree(&random, Tally.self), tree(&random, KeyedTally.self))
            try expectAlike(plain, Tally.query(), "\(round)")
            try expectAlike(plain, Tally.query().sorted(by: \.id.desc), "\(round), descending")
            try expectAlike(plain, Tally.filter(\.value == 0), "\(round), what matches no more")
            try expectAlike(keyed, KeyedTally.query(), "\(round), keyed")
            try expectAlike(keyed, KeyedTally.query().sorted(by: \.id.desc), "\(round), keyed, descending")
        }
    }

    @Test("counts by children's hooks in a later parent aren't overwritten", arguments: [10, 999, 1_500])
    func counted(count: Int) throws {
        func expect<Entity: Tallied>(_: Entity.Type) throws {
            var context = Context()
            for id in 0..<count {
                try context.insert(Entity.make(id, parent: id == count - 1 ? nil : count - 1, drops: nil))
            }
            try Entity.query().update(in: &context) { $0.value += 1 }
            let parent = try #require(try context.find(count - 1) as Entity?)
            #expect(parent.below == count - 1 && parent.noted == count - 1 && parent.value == 1)
        }
        try expect(Tally.self)
        try expect(KeyedTally.self)
    }

    @Test("entities deleted by a hook, a cascade or the change itself don't come back", arguments: [10, 1_001, 2_500])
    func deleted(count: Int) throws {
        var context = Context()
        for id in 0..<count { try context.insert(Chore(id: "\(id)")) }
        let closed = try Chore.query().update(in: &context) { $0.state = "closed" }
        #expect(closed == (count + 1) / 2)
        #expect(try Chore.query().count(in: context) == closed)

        for id in 0..<20 { try Case(id: id, parent: id % 4 > 1 ? .id(id - id % 4 + 1) : .null).save(to: &context) }
        // In each group of four, closing the first deletes the second, and with it the others.
        #expect(try Case.query().update(in: &context) { $0.isClosed = $0.id % 4 == 0 } == 5)
        #expect(try context.ids(Case.self) == [0, 4, 8, 12, 16])

        for id in 0..<6 { try context.insert(Handle(id: id, name: "h\(id)")) }
        for id in 0..<6 { try context.insert(Tally(id: id)) }
        var copy = context
        let kept = try Handle.query().update(in: &context) { try Handle.delete(id: $0.id + 1, from: &copy) }
        let left = try Tally.query().update(in: &context) { try Tally.delete(id: $0.id + 1, from: &copy) }
        #expect(kept == 3 && left == 3)
        #expect(try context.ids(Handle.self) == [0, 2, 4] && context.ids(Tally.self) == [0, 2, 4])
    }

    @Test("an entity that makes room for a unique key doesn't come back, and keys may change hands")
    func keys() throws {
        var context = Context()
        for (id, name) in ["ann", "bob", "cid", "dee"].enumerated() { try context.insert(Handle(id: id, name: name)) }
        let swapped = ["BOB", "ANN", "Cid", "dee"]
        #expect(try Handle.query().update(in: &context) { $0.name = swapped[$0.id] } == 4)
        #expect(
            try context.all() as [Handle] == ["bob", "ann", "cid", "dee"].enumerated().map { Handle(id: $0, name: $1) })
        // The first takes the name of the last, which still has it: so the last is deleted and not saved again.
        #expect(try Handle.query().update(in: &context) { if $0.id == 0 { $0.name = "DEE" } } == 3)
        #expect(try context.all() as [Handle] == ["dee", "ann", "cid"].enumerated().map { Handle(id: $0, name: $1) })
        #expect(try context.isWhole())
    }

    @Test("`change` is called once for an entity if nothing else writes")
    func once() throws {
        var context = Context()
        for id in 0..<1_200 { try context.insert(Handle(id: id, name: "h\(id)")) }
        for id in 0..<1_200 { try context.insert(Tally(id: id)) }
        var asked = 0
        try Handle.query().update(in: &context) { handle in
            handle.name = "n\(asked)"
            asked += 1
        }
        try Tally.query().update(in: &context) { tally in
            tally.value = asked
            asked += 1
        }
        #expect(asked == 2_400)
        #expect(try context.all().map { (tally: Tally) in tally.value } == Array(1_200..<2_400))
    }

    @Test("an update in a hook of an update changes the entities of the outer one")
    func nested() throws {
        var context = Context()
        for id in 0..<30 { try context.insert(Tally(id: id)) }
        var copy = context
        let count = try Tally.query().update(in: &context) { tally in
            tally.value += 1
            if tally.id == 3 { try Tally.filter(\.id > 20).update(in: &copy) { $0.below = 7 } }
        }
        #expect(count == 30)
        let below = try context.all().map { (tally: Tally) in tally.below }
        #expect(below == (0..<30).map { $0 > 20 ? 7 : 0 })
    }

    @Test("deleting the targets of a relation leaves the links that hooks make meanwhile")
    func relation() throws {
        var context = Context()
        try Crew(id: 1, members: .ids([1, 2, 3])).save(to: &context)
        for id in 1...2 { try Hand(id: id).save(to: &context) }
        // The third isn't stored, so only its link is deleted.
        try Crew(id: 1).delete(\.$members, inverse: \.$crew, from: &context)
        #expect(try Crew.query(1).id(\.$members).resolve(in: context)?.$members.ids == [101, 102])
        try Crew(id: 1).delete(101, relation: \.$members, inverse: \.$crew, from: &context)
        #expect(try Crew.query(1).id(\.$members).resolve(in: context)?.$members.ids == [102])
        #expect(try context.isWhole())
    }
}
