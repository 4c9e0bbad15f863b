// SPDX-License-Identifier: Apache-2.0
// Setting, replacing and removing relations, from either side; the links that incomplete values leave alone.

import Hornbeam
import Testing
@testable import HornbeamEngine

@Suite("Relations")
struct RelationshipTests {
    private func links(_ chat: String, _ context: Context) throws -> [String]? {
        try Chat.query(chat).id(\.$messages).resolve(in: context)?.$messages.ids
    }

    @Test("to-one: by entity, by id, replaced, set to null, unchanged by none")
    func toOne() throws {
        var context = Context()
        let user = User(id: "1", name: "Bob")
        var message = Message(id: "1", text: "Howdy!")
        message.$author = .relation(user)
        try message.save(to: &context)
        #expect(try context.find("1") as User? != nil)
        func author() throws -> String? {
            try Message.query("1").id(\.$author).resolve(in: context)?.$author.id
        }
        #expect(try author() == "1")
        message.$author = .id("2")
        try message.save(to: &context)
        #expect(try author() == "2")
        #expect(try Message.query("1").with(\.$author).resolve(in: context)?.author == nil)
        message.$author = .none
        message.$attachment = .relation(Attachment(id: "a"))
        try message.save(to: &context)
        #expect(try author() == "2")
        try Message(id: "1", text: "again").save(to: &context)
        #expect(try Message.query("1").with(\.$attachment).resolve(in: context)?.attachment?.id == "a")
        message.$attachment = .null
        try message.save(to: &context)
        #expect(try Message.query("1").with(\.$attachment).resolve(in: context)?.attachment == nil)
        #expect(try context.ids(Attachment.self) == ["a"])
    }

    @Test("to-many: replaced, appended at the end, cleared by an empty list; linked entities keep their positions")
    func toMany() throws {
        var context = Context()
        var chat = Chat(id: "1")
        chat.$messages = .ids(["1", "2"])
        try chat.save(to: &context)
        #expect(try links("1", context) == ["1", "2"])
        #expect(try Chat.query("1").with(\.$messages).resolve(in: context)?.messages?.isEmpty == true)
        chat.$messages = .appending(relation: [Message(id: "3", text: ""), Message(id: "1", text: "")])
        try chat.save(to: &context)
        #expect(try links("1", context) == ["1", "2", "3"])
        #expect(try Chat.query("1").with(\.$messages).resolve(in: context)?.messages?.map(\.id) == ["1", "3"])
        chat.$messages = .appending(ids: ["4", "4"])
        try chat.save(to: &context)
        #expect(try links("1", context) == ["1", "2", "3", "4"])
        chat.$messages = .ids(["4", "1"])
        try chat.save(to: &context)
        #expect(try links("1", context) == ["4", "1"])
        chat.normalize()
        try chat.save(to: &context)
        #expect(try links("1", context) == ["4", "1"])
        chat.$messages = .relation([])
        try chat.save(to: &context)
        #expect(try links("1", context) == [])
    }

    @Test("a deleted child loses its position; linked again it comes last")
    func deletedChild() throws {
        var context = Context()
        try Chat(id: "1", messages: .relation(["a", "b", "c"].map { Message(id: $0, text: "") })).save(to: &context)
        try Message.delete(id: "a", from: &context)
        #expect(try links("1", context) == ["b", "c"])
        try Message(id: "a", text: "", chat: .id("1")).save(to: &context)
        #expect(try links("1", context) == ["b", "c", "a"])
    }

    @Test("moving a message to another chat removes it from the first, from whichever side")
    func stolenFromContainer() throws {
        var context = Context()
        try Chat(id: "1", messages: .relation([Message(id: "m", text: "")])).save(to: &context)
        try Chat(id: "2", messages: .ids(["m"])).save(to: &context)
        #expect(try links("1", context) == [])
        #expect(try links("2", context) == ["m"])
        #expect(try Message.query("m").id(\.$chat).resolve(in: context)?.$chat.id == "2")
        try Message(id: "m", text: "", chat: .id("1")).save(to: &context)
        #expect(try links("1", context) == ["m"])
        #expect(try links("2", context) == [])
    }

    @Test("an attachment given to another message leaves the first without one")
    func stolenOneToOne() throws {
        var context = Context()
        try Message(id: "1", text: "", attachment: .relation(Attachment(id: "a"))).save(to: &context)
        try Message(id: "2", text: "", attachment: .id("a")).save(to: &context)
        let attachments = try Message.query().id(\.$attachment).resolve(in: context).map { $0.$attachment.id }
        #expect(attachments == [nil, "a"])
        #expect(try Attachment.query("a").id(\.$message).resolve(in: context)?.$message.id == "2")
    }

    @Test("detaching keeps the entities, deleting removes them")
    func detachAndDelete() throws {
        var context = try exampleContext()
        let bob = try #require(try User.query("1").resolve(in: context))
        try bob.detach(\.$chats, inverse: \.$users, in: &context)
        #expect(try Chat.query("1").id(\.$users).resolve(in: context)?.$users.ids == ["2"])
        #expect(try context.ids(Chat.self) == ["1"])
        let chat = Chat(id: "1")
        try chat.detach("2", relation: \.$messages, inverse: \.$chat, in: &context)
        #expect(try links("1", context) == ["1"])
        try chat.delete(\.$messages, inverse: \.$chat, from: &context)
        #expect(try context.ids(Message.self) == ["2"])
        let viewed = Message(id: "2", text: "", viewedBy: [User(id: "7", name: "Eve")])
        try viewed.save(to: &context)
        try viewed.detach(\.$viewedBy, in: &context)
        #expect(try Message.query("2").id(\.$viewedBy).resolve(in: context)?.$viewedBy.ids == [])
        #expect(try context.find("7") as User? != nil)
    }

    @Test("a one-way relation loses an entity that is deleted")
    func oneWayDeletion() throws {
        var context = Context()
        try Message(id: "1", text: "", viewedBy: [User(id: "1", name: "a"), User(id: "2", name: "b")])
            .save(to: &context)
        try User.delete(id: "1", from: &context)
        #expect(try Message.query("1").id(\.$viewedBy).resolve(in: context)?.$viewedBy.ids == ["2"])
    }

    @Test("a relation that was loaded in part is saved back without losing the rest")
    func slices() throws {
        var context = Context()
        try Chat(id: "1", messages: .relation(["a", "b", "c"].map { Message(id: $0, text: $0) })).save(to: &context)
        let part = try #require(
            try Chat.query("1").with(slice: \.$messages) { $0.filter(\.text == "b") }.resolve(in: context))
        #expect(part.messages?.map(\.id) == ["b"])
        try part.save(to: &context)
        #expect(try links("1", context) == ["a", "b", "c"])
        try Chat.query("1").id(slice: \.$messages).resolve(in: context)?.save(to: &context)
        #expect(try links("1", context) == ["a", "b", "c"])
    }

    @Test("relations describe their content, and are equal by ids alone")
    func relationValues() {
        let user = User(id: "1", name: "Bob")
        let byId = Message(id: "1", text: "", author: .id("1"))
        let byEntity = Message(id: "1", text: "", author: .relation(user))
        #expect(byId.$author == byEntity.$author)
        #expect(byId.$author.isId && !byEntity.$author.isId)
        #expect(byId.$author.hashValue == byEntity.$author.hashValue)
        #expect(byEntity.author?.name == "Bob")
        #expect(Chat(id: "1").$users == Chat(id: "1", users: .ids([])).$users)
        #expect(Chat(id: "1").$users.isNone)
        #expect(Chat(id: "1", users: .appending(fragment: [user])).$users.isFragment)
        #expect(Chat(id: "1", users: .appending(fragment: [user])).$users.isSlice)
        #expect(Message(id: "1", text: "").$replyTo.id == nil)
        #expect(Message(id: "1", text: "", viewedBy: [user]).viewedBy?.map(\.id) == ["1"])
    }

    @Test("cascades that lead in a circle come to an end")
    func cascadeCircle() throws {
        var context = Context()
        try Node(id: 1, next: .relation(Node(id: 2, next: .relation(Node(id: 3, next: .id(1)))))).save(to: &context)
        #expect(try context.ids(Node.self) == [1, 2, 3])
        try Node.delete(id: 2, from: &context)
        #expect(try context.ids(Node.self) == [])
    }
}

@EntityModel
private struct Node {
    let id: Int
    @Relationship(deleteRule: .cascade) var next: Node? = nil

    init(id: Int, next: Relationship<Node, Node, Relations.OneWay, Relations.ToOne<Node>, Relations.Optional> = .none) {
        self.id = id
        _next = next
    }
}
