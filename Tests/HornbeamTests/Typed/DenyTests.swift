// SPDX-License-Identifier: Apache-2.0
// The delete rule deny: what it refuses, what it lets pass, and that a refused deletion changes nothing.

import Testing

@testable import Hornbeam

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
    @Unique<Self>(\.text) private var byText
    let id: Int
    var text: String
    @Relationship(deleteRule: .deny) var box: Box?
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

    @Test("refuses a whole cascade before anything of it happens")
    func cascade() throws {
        var context = Context()
        try store(&context)
        let before = try state(context)
        #expect(throws: HornbeamError.self) { try Shelf.delete(id: "s", from: &context) }
        #expect(try state(context) == before)
        #expect(try context.isWhole())
    }

    @Test("lets pass what the same deletion takes")
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

    @Test("counts stored entities alone: a link to an id that isn't stored denies nothing")
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

    @Test("leaves a write that catches it as it was, and the write goes on")
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
}
