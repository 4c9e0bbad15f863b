// SPDX-License-Identifier: Apache-2.0
// Saving an entity whose nested entities delete or rename the entity being saved: by unique keys whose holders are
// deleted, with all cascades, or by hooks. The saved entity is stored, with its links.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Room {
    @Unique<Self>(\.title, collisions: .replace) private var byTitle
    let id: String
    var title: String
    @Relationship(deleteRule: .cascade, inverse: \.room) var posts: [Post]?
}

@EntityModel
private struct Post {
    let id: String
    var text: String?
    var size = 0
    // Declared before the room, so that its entities are saved before the room's.
    @Relationship(deleteRule: .cascade, inverse: \.post) var files: [File]?
    @Relationship() var tags: [Tag]?
    @Relationship(inverse: \.posts) var room: Room?

    static var defaultMergeStrategy: MergeStrategy<Self> { MergeStrategy(.patch(\.text)) }
}

@EntityModel
private struct File {
    let id: Int
    var hash: String
    @Relationship(inverse: \.files) var post: Post?
}

@EntityModel
private struct Tag {
    var id: String
    mutating func willSave(to context: inout Context) throws { id = id.lowercased() }
}

/// Two entities that delete each other if they have these keys.
@EntityModel
private struct Husband {
    @Unique<Self>(\.name, collisions: .replace) private var byName
    let id: Int
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \.husband) var wife: Wife?
}

@EntityModel
private struct Wife {
    @Unique<Self>(\.name, collisions: .replace) private var byName
    let id: Int
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \.wife) var husband: Husband?
}

/// The change that nested guests make to their owner.
@EntityModel
private struct Owner {
    let id: String
    var note = ""
    @Relationship(inverse: \.visits) var guests: [Guest]?
}

@EntityModel
private struct Guest {
    let id: Int
    var deletes: String?
    var savesAgain = false
    @Relationship(inverse: \.guests) var visits: [Owner]?

    func didSave(to context: inout Context) throws {
        guard let deletes else { return }
        try Owner.delete(id: deletes, from: &context)
        if savesAgain { try Owner(id: deletes, note: "by the guest").save(to: &context) }
    }
}

/// A whole with two parts of one key; deleting either part deletes the whole.
@EntityModel
private struct Whole {
    let id: Int
    @Relationship() var left: Part?
    @Relationship() var right: Part?
}

@EntityModel
private struct Part {
    @Unique<Self>(\.key, collisions: .replace) private var byKey
    let id: Int
    var key: Int
    @Relationship(deleteRule: .cascade) var whole: Whole?
}

@Suite("Saves that delete the entity being saved")
struct NestedSavesTests {
    private func stored(_ context: inout Context) throws {
        let old = Room(id: "old", title: "General")
        try Post(id: "m", text: "first", room: .relation(old)).save(to: &context)
        try Post(id: "n", text: "second", room: .id("old")).save(to: &context)
    }

    @Test("an entity stays stored if it is deleted together with the former holder of a nested entity's key")
    func upsertBelow() throws {
        var context = Context()
        try stored(&context)
        // The room gets another id: the old one is deleted, and its posts with it.
        let new = Room(id: "new", title: "General")
        try Post(id: "m", text: "again", room: .relation(new)).save(to: &context)
        #expect(try Post.query("m").resolve(in: context)?.text == "again")
        #expect(try Room.query("new").related(\.$posts).resolve(in: context).map(\.id) == ["m"])
        #expect(try Room.query("new").related(\.$posts).count(in: context) == 1)
        #expect(try Post.query("m").related(\.$room).resolve(in: context)?.id == "new")
        // Only stored entities leave a deleted one, not unsaved ones.
        #expect(try context.ids(Deleted<Room>.self) == ["old"] && context.ids(Deleted<Post>.self) == ["n"])
        #expect(try context.isWhole())
    }

    @Test("all entities of a list stay stored")
    func list() throws {
        var context = Context()
        try stored(&context)
        let new = Room(id: "new", title: "General")
        try context.saveAll(["m", "n"].map { Post(id: $0, text: "again", room: .relation(new)) })
        #expect(try Room.query("new").related(\.$posts).resolve(in: context).map(\.id) == ["m", "n"])
        #expect(try context.ids(Deleted<Post>.self) == [])
        #expect(try context.isWhole())
    }

    @Test("with the merged values, and with deleted entities nested in it")
    func nestedBefore() throws {
        var context = Context()
        try stored(&context)
        let (new, files) = (Room(id: "new", title: "General"), [File(id: 1, hash: "a"), File(id: 2, hash: "b")])
        try Post(
            id: "m", size: 7, files: .relation(files), tags: .relation([Tag(id: "Big"), Tag(id: "small")]),
            room: .relation(new)
        ).save(to: &context)
        let post = try #require(try Post.query("m").with(.entities).resolve(in: context))
        #expect(post.text == "first" && post.size == 7)
        #expect(post.files?.map(\.hash) == ["a", "b"] && post.tags?.map(\.id) == ["big", "small"])
        #expect(post.room?.id == "new")
        #expect(try context.ids(File.self) == [1, 2] && context.ids(Deleted<File>.self) == [])
        #expect(try context.isWhole())
    }

    @Test("two entities that are deleted with each other stay")
    func oneToOne() throws {
        var context = Context()
        try Husband(id: 1, name: "Al", wife: .relation(Wife(id: 1, name: "Peg"))).save(to: &context)
        try Husband(id: 1, name: "Al", wife: .relation(Wife(id: 2, name: "Peg"))).save(to: &context)
        #expect(try context.ids(Husband.self) == [1] && context.ids(Wife.self) == [2])
        #expect(try Wife.query(2).related(\.$husband).resolve(in: context)?.name == "Al")
        #expect(try context.isWhole())
    }

    @Test("an entity that a hook deletes stays; one that a hook saves in its place stays, with the links")
    func hooks() throws {
        var context = Context()
        let guests = [Guest(id: 1), Guest(id: 2, deletes: "o"), Guest(id: 3)]
        try Owner(id: "o", note: "mine", guests: .relation(guests)).save(to: &context)
        var owner = try #require(try Owner.query("o").with(.ids).resolve(in: context))
        #expect(owner.note == "mine" && owner.$guests.ids == [1, 2, 3])
        #expect(try context.ids(Deleted<Owner>.self) == [])
        #expect(try context.isWhole())
        try Owner(id: "o", guests: .relation([Guest(id: 4, deletes: "o", savesAgain: true)])).save(to: &context)
        owner = try #require(try Owner.query("o").with(.ids).resolve(in: context))
        #expect(owner.note == "by the guest" && owner.$guests.ids == [4])
        #expect(try context.isWhole())
    }

    @Test("one relation saved by itself leads from the id, if its entity is deleted or missing")
    func oneRelation() throws {
        var context = Context()
        try stored(&context)
        let post = Post(id: "m", room: .relation(Room(id: "new", title: "General")))
        try post.save(\.$room, inverse: \.$posts, to: &context)
        // The post was deleted with the old room, and wasn't saved.
        #expect(try context.ids(Post.self) == [] && context.ids(Deleted<Post>.self).sorted() == ["m", "n"])
        #expect(try Room.query("new").with(.ids).resolve(in: context)?.$posts.ids == ["m"])
        #expect(try Room.query("new").related(\.$posts).count(in: context) == 0)
        #expect(try context.isWhole())
        try Post(id: "later", room: .none).save(\.$room, inverse: \.$posts, to: &context)
        try Room(id: "later", title: "Later", posts: .ids([])).save(\.$posts, inverse: \.$room, to: &context)
        #expect(try context.isWhole())
    }

    @Test("a deletion that repeats without end is refused, and nothing of the save is left")
    func endless() throws {
        var context = Context()
        let whole = Whole(
            id: 1, left: .relation(Part(id: 1, key: 5, whole: .id(1))),
            right: .relation(Part(id: 2, key: 5, whole: .id(1))))
        let error = #expect(throws: HornbeamError.self) { try whole.save(to: &context) }
        #expect(error?.code == .invalid)
        for part in ["Whole 1 can't be saved", "unique key", "hook"] {
            #expect(error?.message.contains(part) == true, "\(part)")
        }
        #expect(try context.ids(Whole.self) == [] && context.ids(Part.self) == [])
        #expect(try context.ids(Deleted<Whole>.self) == [] && context.ids(Deleted<Part>.self) == [])
        #expect(try context.isWhole())
    }

    @Test("an entity whose id its hook changes is linked under the one that is stored")
    func renamed() throws {
        var context = Context()
        try Post(id: "m", tags: .relation([Tag(id: "Big"), Tag(id: "small")])).save(to: &context)
        try Post(id: "m", tags: .appending(relation: [Tag(id: "BIG"), Tag(id: "Red")])).save(to: &context)
        #expect(try Post.query("m").related(\.$tags).resolve(in: context).map(\.id) == ["big", "small", "red"])
        #expect(try Post.query("m").with(.ids).resolve(in: context)?.$tags.ids == ["big", "small", "red"])
        #expect(try context.isWhole())
    }
}
