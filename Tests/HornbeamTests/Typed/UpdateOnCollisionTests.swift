// SPDX-License-Identifier: Apache-2.0
// `collisions: .update`: a new entity is saved in place of the stored one that has its unique key. Also a unique
// index without this option.

import Hornbeam
import Synchronization
import Testing

@EntityModel
private struct Feed: Equatable {
    @Unique<Self>(\.url, collisions: .update) private var byURL
    @Unique<Self>(\.slot) private var bySlot

    let id: Int
    var url: String
    var title: String?
    var slot: Int?
    @Relationship(deleteRule: .cascade, inverse: \.feed) var items: [Item]?
    @Relationship() var folder: Folder?

    static let saved = Mutex<[String]>([])
    func didSave(to context: inout Context) throws { Self.saved.withLock { $0.append("\(id) \(title ?? "-")") } }
}

@EntityModel
private struct Item: Equatable {
    let id: Int
    @Relationship(.required, inverse: \.items) var feed: Feed?
}

@EntityModel
private struct Folder: Equatable {
    let id: Int
}

/// An entity whose id is another property.
@EntityModel
private struct Tag {
    @Unique<Self>(\.name) private var byName
    let id: Int
    var name: String
    @Relationship(deleteRule: .cascade) var uses: [Folder]?
}

@Suite("A unique key that another entity has", .serialized)
struct UpdateOnCollisionTests {
    private func stored() throws -> Context {
        var context = Context()
        let feed = Feed(
            id: 1, url: "a", title: "A", slot: 5, items: .relation([Item(id: 10), Item(id: 11)]), folder: .id(7))
        try feed.save(to: &context)
        try Folder(id: 7).save(to: &context)
        Feed.saved.withLock { $0 = [] }
        return context
    }

    @Test("makes a save fail by default, and deletes nothing")
    func refusal() throws {
        var context = Context()
        try Tag(id: 1, name: "swift", uses: .relation([Folder(id: 1)])).save(to: &context)
        let error = #expect(throws: HornbeamError.self) { try Tag(id: 2, name: "swift").save(to: &context) }
        #expect(error?.code == .uniqueViolation)
        #expect(try context.ids(Tag.self) == [1] && context.ids(Folder.self) == [1])
    }

    @Test("is updated under its own id, with its links and the new one's")
    func update() throws {
        var context = try stored()
        try Feed(id: 2, url: "a", title: "B", folder: .id(8)).save(to: &context)
        #expect(try context.ids(Feed.self) == [1])
        let feed = try #require(try Feed.query(1).with(.ids).resolve(in: context))
        #expect(feed.title == "B" && feed.slot == nil && feed.url == "a")
        #expect(feed.$items.ids == [10, 11] && feed.$folder.id == 8)
        #expect(try Item.query(10).with(\.$feed).resolve(in: context)?.feed?.id == 1)
        #expect(try Feed.filter(\.url == "a").ids(in: context) == [1])
        #expect(try Deleted<Feed>.query().count(in: context) == 0)
        #expect(Feed.saved.withLock { $0 } == ["1 B"])
    }

    @Test("keeps, by the options of the save, values that the new one lacks")
    func merge() throws {
        var context = try stored()
        try Feed(id: 2, url: "a", title: nil, slot: 6).save(to: &context, options: .fragment)
        let feed = try #require(try Feed.query(1).resolve(in: context))
        #expect(feed.title == "A" && feed.slot == 6)
    }

    @Test("is linked under the stored entity's id, from its owner")
    func nested() throws {
        var context = try stored()
        try Item(id: 12, feed: .relation(Feed(id: 3, url: "a", title: "C"))).save(to: &context)
        #expect(try context.ids(Feed.self) == [1])
        #expect(try Item.query(12).with(.ids).resolve(in: context)?.$feed.id == 1)
        #expect(try Feed.query(1).with(.ids).resolve(in: context)?.$items.ids == [10, 11, 12])
    }

    @Test("gets the last values of a list that saves it several times")
    func list() throws {
        var context = try stored()
        try [Feed(id: 2, url: "a", title: "B"), Feed(id: 3, url: "a", title: "C"), Feed(id: 4, url: "d")]
            .save(to: &context)
        #expect(try context.ids(Feed.self) == [1, 4])
        #expect(try Feed.query(1).resolve(in: context)?.title == "C")
    }

    @Test("is refused if both are stored, or another index refuses; nothing has changed then")
    func refusals() throws {
        var context = try stored()
        try Feed(id: 2, url: "b", slot: 9).save(to: &context)
        let before = try Feed.query().with(.ids).resolve(in: context)
        let both = #expect(throws: HornbeamError.self) { try Feed(id: 2, url: "a").save(to: &context) }
        #expect(both?.code == .uniqueViolation && both?.message.contains("both are stored") == true)
        let slot = #expect(throws: HornbeamError.self) { try Feed(id: 3, url: "a", slot: 9).save(to: &context) }
        #expect(slot?.code == .uniqueViolation)
        #expect(slot?.violation?.indexName == "bySlot")
        #expect(try Feed.query().with(.ids).resolve(in: context) == before)
    }

    @Test("is refused for keys of two entities, or a key taken back meanwhile; nothing is deleted")
    func twoHolders() throws {
        var context = Context()
        try Pair(id: 1, left: "a", right: "x", extra: 1).save(to: &context)
        try Pair(id: 2, left: "b", right: "y", extra: 2).save(to: &context)
        let two = #expect(throws: HornbeamError.self) {
            try Pair(id: 3, left: "a", right: "y", extra: 3).save(to: &context)
        }
        #expect(two?.code == .uniqueViolation && two?.message.contains("can't join two") == true)
        let back = #expect(throws: HornbeamError.self) {
            try Pair(id: 4, left: "new", right: "z", extra: 1).save(to: &context)
        }
        #expect(back?.code == .uniqueViolation && back?.message.contains("while other keys were made free") == true)
        #expect(try Pair.query().resolve(in: context).map(\.left) == ["a", "b"])
    }

    @Test("is .replace by another name: .upsert")
    func replace() throws {
        let database = try Database.inMemory(models: Replaced.self)
        try database.write { context in
            try Replaced(id: 1, name: "a", other: "x").save(to: &context)
            try Replaced(id: 2, name: "a", other: "y").save(to: &context)
            #expect(try context.ids(Replaced.self) == [2])
            try Replaced(id: 3, name: "b", other: "y").save(to: &context)
            #expect(try context.ids(Replaced.self) == [3])
        }
    }
}

@EntityModel
private struct Pair {
    @Unique<Self>(\.left, collisions: .update) private var byLeft
    @Unique<Self>(\.right, collisions: .update) private var byRight
    @Unique<Self>(\.extra, collisions: .replace) private var byExtra
    let id: Int
    var left: String
    var right: String
    var extra: Int

    /// Takes a key that the entity replacing it wants.
    func didDelete(from context: inout Context) throws {
        if extra == 1 { try Pair(id: 9, left: "new", right: "stolen", extra: 9).save(to: &context) }
    }
}

@EntityModel
private struct Replaced {
    @Unique<Self>(\.name, collisions: .replace) private var byName
    @Unique<Self>(\.other, collisions: .upsert) private var byOther
    let id: Int
    var name: String
    var other: String
}
