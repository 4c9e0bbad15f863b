// SPDX-License-Identifier: Apache-2.0
// The entity model's description, block by block: its code must compile and work as described.

import Foundation
import Hornbeam
import Testing
@testable import HornbeamEngine

@Suite("Entities as the description of the model shows them")
struct ChatTests {
    @Test("a chat is saved with its users and messages, and read from the other end")
    func saveGraph() throws {
        let context = try exampleContext()
        let found =
            try User
            .query("1", in: context)
            .with(\.$chats) { chat in
                chat.with(\.$messages) { message in
                    message.with(\.$replies) { reply in
                        reply.with(\.$author)
                            .id(\.$replyTo)
                    }
                    .id(\.$author)
                    .id(\.$chat)
                }
                .with(\.$users)
                .id(\.$admins)
            }
            .resolve()
        let user = try #require(found)
        #expect(user.name == "Bob")
        let chat = try #require(user.chats?.first)
        #expect(chat.users?.map(\.name) == ["Bob", "Alice"])
        #expect(chat.$admins.ids == ["1"])
        #expect(chat.admins == nil)
        let messages = try #require(chat.messages)
        #expect(messages.map(\.text) == ["Any thoughts on SwiftletModel?", "Yes."])
        #expect(messages.map { $0.$author.id } == ["1", "2"])
        #expect(messages.map { $0.$chat.id } == ["1", "1"])
        let reply = try #require(messages[0].replies?.first)
        #expect(reply.author?.name == "Alice")
        #expect(reply.$replyTo.id == "1")
        #expect(messages[1].replies?.isEmpty == true)
        #expect(user.$adminOf.isNone)
    }

    @Test("the same query is a value that needs no context until it is resolved")
    func contextFree() throws {
        let context = try exampleContext()
        let query = User.query("1").with(\.$chats) { $0.with(\.$messages) }
        #expect(try query.resolve(in: context)?.chats?.first?.messages?.count == 2)
        #expect(try query.resolve(in: Context()) == nil)
        #expect(throws: HornbeamError.self) { try query.resolve() }
    }

    @Test("bulk nested queries load all relations, one element a level")
    func bulkNested() throws {
        let context = try exampleContext()
        let one = try #require(try User.query("1", in: context).with(.entities).resolve())
        #expect(one.chats?.map(\.id) == ["1"])
        #expect(one.adminOf?.map(\.id) == ["1"])
        #expect(one.chats?.first?.$users.isNone == true)
        let three = try #require(try User.query("1", in: context).with(.entities, .fragments, .ids).resolve())
        let chat = try #require(three.chats?.first)
        #expect(chat.$messages.isFragment)
        #expect(chat.messages?.first?.$author.id == "1")
        #expect(chat.messages?.first?.author == nil)
        let mixed = try User.query("1", in: context).with(\.$chats) { $0.with(.entities) }.resolve()
        #expect(mixed?.chats?.first?.users?.count == 2)
        #expect(try User.queryAll(with: .ids, in: context).resolve().map { $0.$chats.ids } == [["1"], ["1"]])
    }

    @Test("one entity's links are answered as a relation, with filters, sorts, limits and counts like any query")
    func relatedToOne() throws {
        var context = Context()
        let messages = [("c", "tea"), ("a", "milk"), ("d", "tea"), ("b", "tea")].map { Message(id: $0, text: $1) }
        try Chat(id: "1", messages: .relation(messages)).save(to: &context)
        // An entity that is linked and never saved is no result and doesn't count.
        try Chat(id: "1", messages: .appending(ids: ["ghost"])).save(to: &context)
        try Chat(id: "2", messages: .relation([Message(id: "e", text: "tea")])).save(to: &context)
        func ids(_ query: QueryList<Message>) throws -> [String] {
            let ids = try query.ids(in: context)
            #expect(try query.resolve(in: context).map(\.id) == ids)
            #expect(try query.count(in: context) == ids.count)
            return ids
        }
        let linked = Chat.query("1").related(\.$messages)
        let plan = try linked.explain(in: context)
        #expect(plan.access == .relation(name: "Chat.messages", targets: 5))
        #expect(plan.order == .byAccess)
        #expect(try ids(linked) == ["c", "a", "d", "b"])
        #expect(try ids(linked.limit(2, offset: 1)) == ["a", "d"])
        #expect(try ids(linked.limit(9, offset: 3)) == ["b"])
        let teas = linked.filter(\.text == "tea")
        #expect(try teas.explain(in: context).access == plan.access)
        #expect(try ids(teas) == ["c", "d", "b"])
        #expect(try ids(teas.limit(2)) == ["c", "d"])
        #expect(try ids(teas.sorted(by: \.id).limit(2)) == ["b", "c"])
        #expect(try ids(linked.sorted(by: \.text, \.id.desc)) == ["a", "d", "c", "b"])
        #expect(try ids(linked.limit(3).filter(\.text == "tea")) == ["c", "d"])
        #expect(try ids(Chat.query("none").related(\.$messages)) == [])
    }

    @Test("related entities are queried directly")
    func related() throws {
        let context = try exampleContext()
        let userChats: [Chat] = try User.query("1", in: context).related(\.$chats).resolve()
        #expect(userChats.map(\.id) == ["1"])
        #expect(try Message.query("2", in: context).related(\.$replyTo).resolve()?.id == "1")
        #expect(try Message.query(["1", "2"]).related(\.$author).resolve(in: context).map(\.name) == ["Bob", "Alice"])
        #expect(try Chat.query(in: context).related(\.$messages).resolve().map { $0.map(\.id) } == [["1", "2"]])
        let others = User.query("1").related(\.$chats).related(\.$messages)
        #expect(try others.resolve(in: context).map { $0.map(\.id) } == [["1", "2"]])
    }

    @Test("groups are flattened, by themselves and along a relation")
    func flattened() throws {
        let context = try exampleContext()
        let messages = Chat.query().related(\.$messages)
        #expect(try messages.flatMap().ids(in: context) == ["1", "2"])
        #expect(try messages.flatMap { $0.related(\.$author) }.resolve(in: context).map(\.name) == ["Bob", "Alice"])
        let authors = Chat.query(in: context).related(\.$messages).flatMap { $0.related(\.$author) }
        #expect(try authors.distinct().filter(\.name == "Bob").resolve().map(\.id) == ["1"])
        #expect(try User.query(["1", "2"]).related(\.$chats).flatMap().distinct().ids(in: context) == ["1"])
    }

    @Test("entities that several share come to each of them, in the order of linking, with their nested entities")
    func sharedNested() throws {
        var context = Context()
        for number in 0..<40 {
            try User(id: "u\(number)", name: "User \(number)", age: number).save(to: &context)
        }
        // One that is linked and never saved is left out wherever it is.
        let members = [[3, 1, 2], [39, 3, 77, 0], [], Array((0..<40).reversed()), [1]]
        for (chat, members) in members.enumerated() {
            try Chat(id: "c\(chat)", users: .ids(members.map { "u\($0)" })).save(to: &context)
        }
        let stored = members.map { $0.filter { $0 < 40 }.map { "u\($0)" } }
        let chats = try Chat.query().with(\.$users).resolve(in: context)
        #expect(chats.map { $0.users?.map(\.id) ?? [] } == stored)
        let groups = try Chat.query().related(\.$users).resolve(in: context)
        #expect(groups.map { $0.map(\.age) } == members.map { $0.filter { $0 < 40 } })
        let deeper = try Chat.query().with(\.$users) { $0.with(\.$chats) }.resolve(in: context)
        #expect(deeper.map { $0.users?.map(\.id) ?? [] } == stored)
        let chatsOfFirst = deeper[0].users?.map { $0.chats?.map(\.id) ?? [] }
        #expect(chatsOfFirst == [["c0", "c1", "c3"], ["c0", "c3", "c4"], ["c0", "c3"]])
        let twice = try Chat.query(["c4", "c0", "c4"]).with(\.$users).resolve(in: context)
        #expect(twice.map { $0.users?.map(\.id) ?? [] } == [["u1"], ["u3", "u1", "u2"], ["u1"]])
        // A message is in only one chat, also if the chat is requested twice.
        for (number, chat) in ["c1", "c0", "c1"].enumerated() {
            try Message(id: "m\(number)", text: "", author: .id("u1"), chat: .id(chat)).save(to: &context)
        }
        let own = try Chat.query(["c0", "c1", "c2"]).with(\.$messages).resolve(in: context)
        #expect(own.map { $0.messages?.map(\.id) ?? [] } == [["m1"], ["m0", "m2"], []])
        let again = try Chat.query(["c1", "c0", "c1"]).with(\.$messages).resolve(in: context)
        #expect(again.map { $0.messages?.map(\.id) ?? [] } == [["m0", "m2"], ["m1"], ["m0", "m2"]])
    }

    @Test("nested lists are filtered, sorted and limited for each entity by itself")
    func nestedLists() throws {
        var context = try exampleContext()
        try Chat(
            id: "2",
            messages: .relation((3...6).map { Message(id: "\($0)", text: "m\($0)", author: .id("1")) })
        ).save(to: &context)
        let chats = try Chat.query().with(\.$messages) { $0.sorted(by: \.text.desc).limit(1) }.resolve(in: context)
        #expect(chats.map { $0.messages?.map(\.text) } == [["Yes."], ["m6"]])
        let filtered = try Chat.query().with(slice: \.$messages) { $0.filter(\.text > "m3") }.resolve(in: context)
        #expect(filtered.map { $0.messages?.map(\.id) } == [[], ["4", "5", "6"]])
        #expect(filtered.allSatisfy { $0.$messages.isSlice })
    }

    @Test("deleting removes the entity, its links, and by cascade its children")
    func delete() throws {
        var context = try exampleContext()
        let message = Message(id: "1", text: "", attachment: .relation(Attachment(id: "a")))
        try message.save(to: &context)
        let chat = try #require(try Chat.query("1").resolve(in: context))
        try chat.delete(from: &context)
        #expect(try context.ids(Chat.self) == [])
        #expect(try context.ids(Message.self) == [])
        #expect(try context.ids(Attachment.self) == ["a"])
        #expect(try context.ids(User.self) == ["1", "2"])
        #expect(try User.query("1").id(\.$chats).resolve(in: context)?.$chats.ids == [])
        #expect(try Attachment.query("a").id(\.$message).resolve(in: context)?.$message.isNone == true)
        try Chat.delete(id: "1", from: &context)
    }

    @Test("entities are coded with their relations, an id as an object of its own")
    func coding() throws {
        let context = try exampleContext()
        let user = try #require(
            try User.query("1").with(\.$chats) { $0.with(\.$messages) { $0.id(\.$author) } }.resolve(in: context))
        let data = try JSONEncoder().encode(user)
        let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(json["adminOf"] is NSNull)
        let chat = try #require((json["chats"] as? [[String: Any]])?.first)
        let message = try #require((chat["messages"] as? [[String: Any]])?.first)
        #expect(message["author"] as? [String: String] == ["id": "1"])
        #expect(message["attachment"] is NSNull)
        #expect(message["search"] == nil)
        let decoded = try JSONDecoder().decode(User.self, from: data)
        #expect(decoded.chats?.first?.messages?.first?.$author.id == "1")
        #expect(decoded.$adminOf.isNone)
        let sparse = try JSONDecoder().decode(Message.self, from: Data(#"{"id": "9", "text": "x"}"#.utf8))
        #expect(sparse.$chat.isNone)
    }
}
