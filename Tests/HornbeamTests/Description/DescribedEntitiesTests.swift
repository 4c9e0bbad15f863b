// SPDX-License-Identifier: Apache-2.0
// The description of the entity model, code block by code block: getting started, saving, deleting, nested queries,
// relations, coding. The models are the description's own, in ChatModels.swift.

import Foundation
import Hornbeam
import Testing

extension User {
    /// The description's `init(id:name:)`, with the parts that its fragments omit.
    fileprivate static let bob = User(id: "1", name: "Bob")
    fileprivate static let alice = User(id: "2", name: "Alice")
    fileprivate static let john = User(id: "3", name: "John")

    fileprivate func leaveChats(in context: inout Context) throws {
        try detach(\.$chats, inverse: \.$users, in: &context)
    }
}

extension Message {
    fileprivate func dropAttachment(from context: inout Context) throws {
        try delete(\.$attachment, inverse: \.$message, from: &context)
    }
}

@Suite("The description's blocks on entities and relations")
struct DescribedEntitiesTests {
    @Test("How to Save Entities")
    func saving() throws {
        var context = Context()

        let chat = Chat(
            id: "1",
            users: .relation([
                User(id: "1", name: "Bob"),
                User(id: "2", name: "Alice"),
            ]),
            messages: .relation([
                Message(
                    id: "1",
                    text: "Any thoughts on SwiftletModel?",
                    author: .id("1")
                ),

                Message(
                    id: "1",
                    text: "Yes.",
                    author: .id("2")
                ),
            ]),
            admins: .ids(["1"])
        )

        try chat.save(to: &context)

        // Both messages have the id 1 in the description: the second replaces the first.
        #expect(try Message.query("1").resolve(in: context)?.text == "Yes.")
        #expect(try Message.query("1").related(\.$author).resolve(in: context)?.name == "Alice")
        #expect(try User.query("1").related(\.$adminOf).ids(in: context) == ["1"])

        try chat.save(to: &context, options: .fragment)
        #expect(try Chat.query("1").related(\.$users).ids(in: context) == ["1", "2"])
    }

    @Test("How to Delete Entities")
    func deleting() throws {
        var context = try exampleContext()

        let chat = Chat(id: "1")
        try chat.delete(from: &context)

        #expect(try Chat.query("1").resolve(in: context) == nil)
        #expect(try User.query("1").related(\.$chats).resolve(in: context).isEmpty)
    }

    @Test("Query with nested models")
    func nested() throws {
        let context = try exampleContext()

        let user =
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

        #expect(user?.chats?.first?.messages?.first?.replies?.first?.author?.name == "Alice")
    }

    @Test("Bulk nested models query, combined with others")
    func bulk() throws {
        let context = try exampleContext()

        let user =
            try User
            .query("1", in: context)
            .with(.entities)
            .resolve()
        #expect(user?.chats?.map(\.id) == ["1"])

        let deeper =
            try User
            .query("1", in: context)
            .with(.entities, .fragments, .ids)
            .resolve()
        #expect(deeper?.chats?.first?.messages?.first?.$author.id == "1")

        let combined =
            try User
            .query("1", in: context)
            .with(\.$chats) { chat in
                chat.with(.entities)
            }
            .resolve()
        #expect(combined?.chats?.first?.users?.map(\.name) == ["Bob", "Alice"])
    }

    @Test("Related models query")
    func related() throws {
        let context = try exampleContext()

        let userChats: [Chat] =
            try User
            .query("1", in: context)
            .related(\.$chats)
            .resolve()

        #expect(userChats.map(\.id) == ["1"])
    }

    @Test("Codable Conformance: the JSON that the description shows")
    func codable() throws {
        var context = try exampleContext()
        // The description's context has a reply, and message 2 has no reply to it.
        try Message(id: "2", text: "Yes.", author: .id("2"), replyTo: .id("1")).save(to: &context)
        let user = try #require(
            try User.query("1", in: context)
                .with(\.$chats) { chat in
                    chat.with(\.$messages) { message in
                        message.with(\.$replies) { $0.with(\.$author).id(\.$replyTo) }.id(\.$author).id(\.$chat)
                    }
                    .with(\.$users)
                    .id(\.$admins)
                }
                .resolve())

        let encoder = JSONEncoder.prettyPrinting
        encoder.relationEncodingStrategy = .plain
        let userJSON = user.prettyDescription(with: encoder) ?? ""

        let found = try JSONSerialization.jsonObject(with: Data(userJSON.utf8))
        let shown = try JSONSerialization.jsonObject(with: Data(Self.shownJSON.utf8))
        #expect((found as? NSDictionary) == (shown as? NSDictionary))
    }

    /// The description's JSON, with `age` and `profile`, which the model here has in addition.
    private static let shownJSON = """
        {
          "adminOf" : null, "age" : 0,
          "chats" : [
            {
              "admins" : [ { "id" : "1" } ],
              "id" : "1",
              "messages" : [
                {
                  "attachment" : null, "author" : { "id" : "1" }, "chat" : { "id" : "1" }, "id" : "1",
                  "replies" : [
                    {
                      "attachment" : null,
                      "author" : { "adminOf" : null, "age" : 0, "chats" : null, "id" : "2", "name" : "Alice" },
                      "chat" : null, "id" : "2", "replies" : null, "replyTo" : { "id" : "1" }, "text" : "Yes.",
                      "viewedBy" : null
                    }
                  ],
                  "replyTo" : null, "text" : "Any thoughts on SwiftletModel?", "viewedBy" : null
                },
                {
                  "attachment" : null, "author" : { "id" : "2" }, "chat" : { "id" : "1" }, "id" : "2",
                  "replies" : [ ], "replyTo" : null, "text" : "Yes.", "viewedBy" : null
                }
              ],
              "users" : [
                { "adminOf" : null, "age" : 0, "chats" : null, "id" : "1", "name" : "Bob" },
                { "adminOf" : null, "age" : 0, "chats" : null, "id" : "2", "name" : "Alice" }
              ]
            }
          ],
          "id" : "1", "name" : "Bob"
        }
        """

    @Test("Optional to-one Relationship; Removing Relations by null")
    func nullify() throws {
        var context = try exampleContext()
        try Message(id: "1", text: "", attachment: .relation(Attachment(id: "a"))).save(to: &context)

        let message = Message(
            id: "1",
            text: "Any thoughts on SwiftletModel?",
            author: .id("1"),
            attachment: .null
        )

        try message.save(to: &context)

        #expect(try Message.query("1").related(\.$attachment).resolve(in: context) == nil)
        #expect(try Attachment.query("a").resolve(in: context) != nil)
    }

    @Test("Setting to-one relations")
    func settingToOne() throws {
        var context = Context()
        let user = User.bob
        var message = Message(
            id: "1",
            text: "Howdy!"
        )

        message.$author = .relation(user)
        try message.save(to: &context)
        #expect(try Message.query("1").related(\.$author).resolve(in: context)?.name == "Bob")

        message.$author = .id(user.id)
        try message.save(to: &context)
        try user.save(to: &context)
        #expect(try Message.query("1").related(\.$author).resolve(in: context)?.name == "Bob")

        try Attachment(id: "a", message: .id("1")).save(to: &context)
        message.$attachment = .null
        try message.save(to: &context)
        #expect(try Message.query("1").related(\.$attachment).resolve(in: context) == nil)

        try Attachment(id: "a", message: .id("1")).save(to: &context)
        message.$attachment = .none
        try message.save(to: &context)
        #expect(try Message.query("1").related(\.$attachment).resolve(in: context)?.id == "a")
    }

    @Test("Setting to-many relations; incomplete to-many relations")
    func settingToMany() throws {
        var context = Context()
        var chat = Chat(id: "1")
        let message = Message(id: "1", text: "one")
        func linked() throws -> [String] { try Chat.query("1").related(\.$messages).ids(in: context) }

        chat.$messages = .relation([message])
        try chat.save(to: &context)
        #expect(try linked() == ["1"])

        chat.$messages = .ids([message.id])
        try chat.save(to: &context)
        try message.save(to: &context)
        #expect(try linked() == ["1"])

        let second = Message(id: "2", text: "two")
        chat.$messages = .appending(relation: [second])
        try chat.save(to: &context)
        #expect(try linked() == ["1", "2"])

        let third = Message(id: "3", text: "three")
        chat.$messages = .appending(ids: [third.id])
        try chat.save(to: &context)
        try third.save(to: &context)
        #expect(try linked() == ["1", "2", "3"])

        chat.$messages = .appending(fragment: [Message(id: "4", text: "four")])
        try chat.save(to: &context)
        #expect(try linked() == ["1", "2", "3", "4"])
    }

    @Test("Removing Relations: detach and delete")
    func removing() throws {
        var context = try exampleContext()
        try Message(id: "1", text: "", attachment: .relation(Attachment(id: "a"))).save(to: &context)

        try User.bob.leaveChats(in: &context)
        #expect(try User.query("1").related(\.$chats).resolve(in: context).isEmpty)
        #expect(try Chat.query("1").related(\.$users).ids(in: context) == ["2"])

        try Message(id: "1", text: "").dropAttachment(from: &context)
        #expect(try Attachment.query("a").resolve(in: context) == nil)
    }

    @Test("Handling incomplete Related Entity Models")
    func fragments() throws {
        var context = Context()
        try User(id: "1", name: "Bob", profile: User.Profile(about: "x")).save(to: &context)

        var chat = Chat(id: "1")
        chat.$users = .fragment([.bob, .alice, .john])
        try chat.save(to: &context)

        #expect(try User.query("1").resolve(in: context)?.profile?.about == "x")
        #expect(try Chat.query("1").related(\.$users).ids(in: context) == ["1", "2", "3"])
    }

    @Test("Handling missing data for to-one Relations")
    func missingData() throws {
        var context = try exampleContext()
        try Message(id: "1", text: "", attachment: .relation(Attachment(id: "a"))).save(to: &context)

        let message = Message(
            id: "1",
            text: "Any thoughts on SwiftletModel?",
            author: .id("1"),
        )
        try message.save(to: &context)
        #expect(try Message.query("1").related(\.$attachment).resolve(in: context)?.id == "a")
    }
}
