// SPDX-License-Identifier: Apache-2.0
// The delete rule deny: the deletions it refuses and allows; a refused deletion changes nothing.

import HornbeamPages
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Shelf {
    let id: String
    @Relationship(deleteRule: .cascade, inverse: \.shelf) var boxes: [Box]?
}

@EntityModel
private struct Box {
    let id: Int
    @Relationship(inverse: \.boxes) var shelf: Shelf?
    @Relationship(deleteRule: .deny, inverse: \.box) var things: [Thing]?
}

@EntityModel
private struct Thing {
    let id: Int
    @Relationship(inverse: \.things) var box: Box?
}

@EntityModel
private struct House {
    let id: Int
    @Relationship(deleteRule: .cascade) var shelves: [Shelf]?
    @Relationship(deleteRule: .cascade) var things: [Thing]?
}

@EntityModel
private struct Label {
    @Unique<Self>(\.text, collisions: .replace) private var byText
    let id: Int
    var text: String
    @Relationship(deleteRule: .deny) var box: Box?
}

@EntityModel
private struct Wall {
    let id: Int
    @Relationship() var labels: [Label]?
}

@EntityModel
private struct Photo {
    let id: Int
    @Relationship(deleteRule: .whenOrphaned, inverse: \.photos) var words: [Word]?
    @Relationship(deleteRule: .whenOrphaned, inverse: \.before) var next: Photo?
    @Relationship(inverse: \.next) var before: [Photo]?
}

@EntityModel
private struct Word {
    let id: Int
    @Relationship(inverse: \.words) var photos: [Photo]?
}

@Suite("The delete rule deny")
struct DenyTests {
    /// A shelf with boxes 1 and 2, of which box 2 holds things.
    private func store(_ context: inout Context) throws {
        try Shelf(
            id: "s", boxes: .relation([Box(id: 1), Box(id: 2, things: .relation([Thing(id: 7), Thing(id: 8)]))])
        )
        .save(to: &context)
    }

    private func state(_ context: Context) throws -> [String] {
        try [
            "\(context.ids(Shelf.self))", "\(context.ids(Box.self))", "\(context.ids(Thing.self))",
            "\(context.ids(Deleted<Box>.self))", "\(context.ids(Deleted<Shelf>.self))",
            "\(Box.query(2).id(\.$things).resolve(in: context)?.$things.ids ?? [])",
            "\(Shelf.query("s").id(\.$boxes).resolve(in: context)?.$boxes.ids ?? [])",
        ]
    }

    @Test("refuses while the relation leads to stored entities, and names type, id, relation, number and one of them")
    func refusal() throws {
        var context = Context()
        try store(&context)
        let before = try state(context)
        let error = #expect(throws: HornbeamError.self) { try Box.delete(id: 2, from: &context) }
        #expect(error?.code == .deleteDenied)
        for part in ["Box 2", "“things”", "are 2", "Thing 7"] {
            #expect(error?.message.contains(part) == true, "\(part)")
        }
        #expect(try state(context) == before)
        try Thing.delete(id: 7, from: &context)
        let box = try #require(try context.find(2) as Box?)
        try box.detach(\.$things, inverse: \.$box, in: &context)
        try box.delete(from: &context)
        #expect(try context.ids(Box.self) == [1])
    }

    @Test("refuses a whole cascade before any change")
    func cascade() throws {
        var context = Context()
        try store(&context)
        let before = try state(context)
        #expect(throws: HornbeamError.self) { try Shelf.delete(id: "s", from: &context) }
        #expect(try state(context) == before)
        #expect(try context.isWhole())
    }

    @Test("permits entities of the same deletion")
    func takenTogether() throws {
        var context = Context()
        try store(&context)
        try House(id: 1, shelves: .ids(["s"]), things: .ids([7])).save(to: &context)
        #expect(throws: HornbeamError.self) { try House.delete(id: 1, from: &context) }
        try House(id: 1, things: .ids([7, 8])).save(to: &context)
        try House.delete(id: 1, from: &context)
        #expect(try context.ids(Box.self) + context.ids(Thing.self) == [])
        #expect(try context.isWhole())
    }

    /// In a bulk deletion, each deletion by a hook adds a few entities to the set of all deleted ones.
    @Test("takes nested deletions into account until they end, without copies of the outer ones")
    func withinOthers() async throws {
        try await inSmallThread {
            func rows(_ range: Range<Int>) -> [EntityRow] {
                range.map { EntityRow(type: "Box", rowID: RowID(rawValue: UInt64($0))) }
            }
            var taken = EntityRows()
            #expect(taken.isEmpty)
            taken.add(rows(0..<1_000))
            let former = taken
            // With copies these would be a hundred million entries, and releasing the nested copies would exhaust the
            // stack.
            for number in 1_000..<101_000 { taken.add(rows(number..<number + 1)) }
            for row in rows(0..<1) + rows(999..<1_001) + rows(100_999..<101_000) { #expect(taken.contains(row)) }
            #expect(rows(101_000..<101_001).allSatisfy { !taken.contains($0) })
            taken = former
            #expect(rows(999..<1_000).allSatisfy(taken.contains))
            #expect(rows(1_000..<1_001).allSatisfy { !taken.contains($0) })
        }
    }

    @Test("reads no more than one link of an orphan with other references")
    func manySources() throws {
        let database = try Database.inMemory(models: Photo.self, Word.self, Box.self, Thing.self, Shelf.self)
        let words = (0..<3).map { Word(id: $0) }
        func pages(_ count: Int) throws -> UInt64 {
            try database.write { (context) throws in
                for id in 0..<count { try Photo(id: id, words: .relation(words)).save(to: &context) }
            }
            return try database.write { (context) throws in
                let before = database.store.statistics.cache
                try Photo.delete(id: 0, from: &context)
                let after = database.store.statistics.cache
                return after.hits + after.misses - before.hits - before.misses
            }
        }
        let (few, many) = (try pages(200), try pages(8_000))
        #expect(many < few + 40, "\(few) and \(many)")
        // With all references deleted.
        try database.write { (context) throws in _ = try Photo.query().delete(from: &context) }
        #expect(try database.read { try Word.query().count(in: $0) } == 0)
    }

    @Test("a chain of orphans is deleted, and an orphan that leads to itself", arguments: [true, false])
    func chain(denies: Bool) throws {
        let database =
            denies
            ? try Database.inMemory(models: Photo.self, Word.self, Box.self, Thing.self, Shelf.self)
            : try Database.inMemory(models: Photo.self, Word.self)
        try database.write { (context) throws in
            for id in (0..<50).reversed() {
                var photo = Photo(id: id)
                // The last one leads to itself.
                photo.$next = .id(min(id + 1, 49))
                try photo.save(to: &context)
            }
            try Photo.delete(id: 0, from: &context)
            #expect(try context.ids(Photo.self).isEmpty)
        }
    }

    @Test("counts only stored entities: a link to an id that isn't stored denies nothing")
    func unsaved() throws {
        var context = Context()
        try Box(id: 1, things: .ids([5])).save(to: &context)
        try Box.delete(id: 1, from: &context)
        #expect(try context.ids(Box.self) == [])
    }

    @Test("refuses the loser of a collision, and with it the save")
    func collision() throws {
        var context = Context()
        try Label(id: 1, text: "x", box: .relation(Box(id: 1))).save(to: &context)
        let error = #expect(throws: HornbeamError.self) { try Label(id: 2, text: "x").save(to: &context) }
        #expect(error?.code == .deleteDenied)
        #expect(try context.ids(Label.self) == [1])
    }

    @Test("leaves a write that catches the error unchanged, and the write continues")
    func database() throws {
        let database = try Database.inMemory(models: Shelf.self, House.self)
        try database.write { context in try store(&context) }
        let error = #expect(throws: HornbeamError.self) { try database.write { try Box.delete(id: 2, from: &$0) } }
        #expect(error?.code == .deleteDenied)
        try database.write { context in
            #expect(throws: HornbeamError.self) { try Box.delete(id: 2, from: &context) }
            try Box.delete(id: 1, from: &context)
        }
        #expect(try database.read { try $0.ids(Box.self) } == [2])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("a nested entity whose key can't be freed leaves nothing of the save of its owner")
    func nestedUpsert() throws {
        var context = Context()
        try Label(id: 1, text: "a", box: .relation(Box(id: 1))).save(to: &context)
        let wall = Wall(id: 7, labels: .relation([Label(id: 3, text: "c"), Label(id: 2, text: "a")]))
        #expect { try wall.save(to: &context) } throws: { ($0 as? HornbeamError)?.code == .deleteDenied }
        #expect(try context.ids(Wall.self).isEmpty)
        #expect(try context.ids(Label.self) == [1])
        try Label(id: 1, text: "b").save(to: &context)
        try wall.save(to: &context)
        #expect(try Wall.query(7).related(\.$labels).ids(in: context) == [3, 2])
    }
}
