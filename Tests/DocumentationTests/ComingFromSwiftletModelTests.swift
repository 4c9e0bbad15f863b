// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Coming from SwiftletModel”.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct User {
    @Index<Self>(\.age) private var byAge
    @Unique<Self>(\.email, collisions: .upsert) private var byEmail

    let id: String
    var name: String?
    var age: Int?
    var email: String

    @Relationship(inverse: \.users) var chats: [Chat]?
}

@EntityModel
private struct Chat {
    let id: String
    var title: String

    @Relationship(inverse: \.chats) var users: [User]?
}

@Suite("The guide “Coming from SwiftletModel”")
struct ComingFromSwiftletModelTests {
    @Test("A chat is saved with its users, and read from the other end")
    func example() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("chats.hornbeam")
        let chat = Chat(
            id: "1", title: "Chess",
            users: .relation([
                User(id: "1", name: "Ann", age: 25, email: "ann@x"), User(id: "2", name: "Bob", email: "bob@x"),
            ]))
        let database = try Database(at: path, models: User.self, Chat.self)
        try database.write { context in
            try chat.save(to: &context)
        }
        let user = try database.read { context in
            try User.query("1").with(\.$chats).resolve(in: context)
        }
        #expect(user?.chats?.map(\.title) == ["Chess"])
    }

    @Test("Queries have both spellings")
    func queries() throws {
        var context = Context()
        let user = User(id: "1", name: "Ann", age: 25, email: "ann@x", chats: .ids(["1"]))
        try user.save(to: &context)
        try Chat(id: "1", title: "Chess").save(to: &context)
        #expect(try User.query("1").resolve(in: context)?.name == "Ann")
        #expect(try User.query("1", in: context).resolve()?.name == "Ann")
        #expect(try User.filter(\.age == 25).resolve(in: context).count == 1)
        let adults = User.filter(\.age > 18 && \.name == "Ann")
        #expect(try adults.ids(in: context) == ["1"])
        let nested = try User.query("1").with(\.$chats) { $0.id(\.$users) }.resolve(in: context)
        #expect(nested?.chats?.first?.$users.ids == ["1"])
        let all = try User.query("1").with(.entities, .fragments, .ids).resolve(in: context)
        #expect(all?.chats?.count == 1)
        let range = Date.now.addingTimeInterval(-3600)...Date.now.addingTimeInterval(60)
        let recent = User.filter(.updated(within: range))
        #expect(try recent.ids(in: context) == ["1"])
    }

    @Test("Fragments, unique keys and deleted entities")
    func saving() throws {
        var context = Context()
        try User(id: "1", name: "Ann", email: "ann@x").save(to: &context)
        let user = User(id: "1", age: 26, email: "ann@x")
        try user.save(to: &context, options: .fragment)
        #expect(try context.find(User.self, "1")?.name == "Ann")
        try User(id: "2", email: "ann@x").save(to: &context)
        #expect(try context.ids(User.self) == ["2"])
        let deleted = try Deleted<User>.query("1").resolve(in: context)
        #expect(deleted?.entity.name == "Ann")
    }
}
