// SPDX-License-Identifier: Apache-2.0
// Links: both sides of a relation always agree, to-one ends are never used twice, and the order is that of linking.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private func relation(
    _ name: String, _ target: String, many: Bool, inverse: String? = nil
) -> RelationDescription {
    RelationDescription(name: name, target: target, toMany: many, inverse: inverse)
}

private let models: [EntityDescription] = [
    EntityDescription(
        name: "Chat", columns: [ColumnDescription(name: "id", type: .string)],
        relations: [
            relation("messages", "Message", many: true), relation("users", "User", many: true, inverse: "chats"),
        ]),
    EntityDescription(
        name: "Message", columns: [ColumnDescription(name: "id", type: .string)],
        relations: [
            relation("chat", "Chat", many: false, inverse: "messages"), relation("author", "User", many: false),
            relation("attachment", "Attachment", many: false, inverse: "message"),
        ]),
    EntityDescription(
        name: "Attachment", columns: [ColumnDescription(name: "id", type: .string)],
        relations: [relation("message", "Message", many: false)]),
    EntityDescription(
        name: "User", columns: [ColumnDescription(name: "id", type: .int64)],
        relations: [
            relation("chats", "Chat", many: true), relation("friends", "User", many: true, inverse: "friends"),
            relation("favourites", "Message", many: true),
        ]),
]

private struct Links {
    let store: CoreStore

    init() throws { store = try CoreStore(models) }

    var edges: EdgeTrees { store.core.edges }

    func side(_ type: String, _ name: String) throws -> EdgeSide { try store[type].type.relation(name) }

    func row(_ type: String, _ id: String) throws -> RowID {
        let id = type == "User" ? Value.int(try require(Int64(id))) : Value.string(id)
        return try store[type].ensureRowID(of: id)
    }

    func set(_ type: String, _ id: String, _ name: String, _ targets: [String]) throws {
        let side = try side(type, name)
        try edges.set(side, row(type, id), targets.map { try row(side.target, $0) })
    }

    func get(_ type: String, _ id: String, _ name: String) throws -> [String] {
        let side = try side(type, name)
        let store = try store[side.target]
        let targets = try edges.targets(side, of: row(type, id))
        #expect(try edges.count(side, of: row(type, id)) == targets.count)
        return try targets.map { target in
            switch try store.id(of: target) {
            case .string(let text)?: text
            case .int(let number)?: String(number)
            default: "?"
            }
        }
    }

    func expectClean() throws { #expect(try store.problems() == []) }
}

@Suite("Edges")
struct EdgeTreesTests {
    @Test("linking a message to another chat from the chat's side takes it from the first one")
    func containerSideSteals() throws {
        let links = try Links()
        try links.set("Chat", "c1", "messages", ["m"])
        try links.set("Chat", "c2", "messages", ["m"])
        #expect(try links.get("Message", "m", "chat") == ["c2"])
        #expect(try links.get("Chat", "c2", "messages") == ["m"])
        #expect(try links.get("Chat", "c1", "messages") == [])
        try links.set("Message", "m", "chat", ["c1"])
        #expect(try links.get("Chat", "c1", "messages") == ["m"])
        #expect(try links.get("Chat", "c2", "messages") == [])
        try links.expectClean()
    }

    @Test("a one-to-one link stolen from either end leaves nothing behind on the other")
    func oneToOneSteals() throws {
        let links = try Links()
        try links.set("Message", "m1", "attachment", ["a"])
        try links.set("Message", "m2", "attachment", ["a"])
        #expect(try links.get("Attachment", "a", "message") == ["m2"])
        #expect(try links.get("Message", "m1", "attachment") == [])
        try links.set("Message", "m3", "attachment", ["b"])
        try links.set("Attachment", "b", "message", ["m2"])
        #expect(try links.get("Message", "m2", "attachment") == ["b"])
        #expect(try links.get("Attachment", "a", "message") == [])
        #expect(try links.get("Message", "m3", "attachment") == [])
        try links.expectClean()
    }

    @Test("an entity is linked to itself once, also where both sides are the same")
    func itself() throws {
        let links = try Links()
        try links.set("User", "1", "friends", ["2", "1", "3"])
        #expect(try links.get("User", "1", "friends") == ["2", "1", "3"])
        #expect(try links.get("User", "2", "friends") == ["1"])
        try links.edges.append(
            links.side("User", "friends"), links.row("User", "1"), links.row("User", "1"))
        #expect(try links.get("User", "1", "friends") == ["2", "1", "3"])
        try links.set("User", "1", "friends", ["3"])
        #expect(try links.get("User", "1", "friends") == ["3"])
        try links.expectClean()
    }

    @Test("links come after the last one even if more sides are linked in turn than are remembered")
    func manySides() throws {
        let names = (0..<20).map { "r\($0)" }
        let store = try CoreStore([
            EntityDescription(
                name: "Hub", columns: [ColumnDescription(name: "id", type: .int64)],
                relations: names.map { relation($0, "Hub", many: true) })
        ])
        let hub = try store["Hub"].type
        let sides = try names.map { try hub.relation($0) }
        let targets = (1...3).map { RowID(rawValue: $0) }
        for target in targets {
            for side in sides { try store.core.edges.append(side, RowID(rawValue: 0), target) }
        }
        for side in sides {
            #expect(try store.core.edges.targets(side, of: RowID(rawValue: 0)) == targets)
        }
    }

    @Test("links come after the last one, also after some were removed and a rollback to a savepoint")
    func ends() throws {
        struct Undo: Error {}
        let links = try Links()
        let side = try links.side("Chat", "messages")
        try links.set("Chat", "c", "messages", ["x", "y"])
        try links.set("Chat", "d", "messages", ["q"])
        let chat = try links.row("Chat", "c")
        #expect(throws: Undo.self) {
            try links.store.core.nested {
                for name in ["u", "v"] { try links.edges.append(side, chat, links.row("Message", name)) }
                throw Undo()
            }
        }
        try links.edges.remove(side, chat, links.row("Message", "x"))
        try links.edges.append(side, chat, links.row("Message", "z"))
        try links.edges.remove(side, chat, links.row("Message", "z"))
        try links.edges.append(side, chat, links.row("Message", "x"))
        #expect(try links.get("Chat", "c", "messages") == ["y", "x"])
        #expect(try links.get("Chat", "d", "messages") == ["q"])
        try links.expectClean()
    }

    @Test("looking up several sources at once gives the targets of each, in any order, with repeats and unlinked ones")
    func ofEach() throws {
        let links = try Links()
        for chat in 0..<6 where chat != 3 {
            try links.set("Chat", "c\(chat)", "messages", (0..<chat).map { "m\(chat)-\($0)" })
        }
        for (type, name, orders) in [
            ("Chat", "messages", [[0, 1, 2, 3, 4, 5], [5, 2, 2, 0, 4], [4, 5], [3], []]),
            ("Message", "chat", [[0, 1], [1, 0, 0]]),
        ] {
            let side = try links.side(type, name)
            for order in orders {
                let rows = try order.map { try links.row(type, type == "Chat" ? "c\($0)" : "m5-\($0)") }
                let each = try rows.map { try links.edges.targets(side, of: $0) }
                #expect(try links.edges.links(side, ofEach: rows).lists == each)
            }
        }
    }

    @Test("to-many order is the order of linking; duplicates collapse; set gives exactly the requested order")
    func order() throws {
        let links = try Links()
        try links.set("Chat", "c", "messages", ["x", "y", "x", "z"])
        #expect(try links.get("Chat", "c", "messages") == ["x", "y", "z"])
        let side = try links.side("Chat", "messages")
        let chat = try links.row("Chat", "c")
        try links.edges.append(side, chat, links.row("Message", "x"))
        #expect(try links.get("Chat", "c", "messages") == ["x", "y", "z"])
        try links.edges.remove(side, chat, links.row("Message", "x"))
        try links.edges.append(side, chat, links.row("Message", "x"))
        #expect(try links.get("Chat", "c", "messages") == ["y", "z", "x"])
        try links.set("Chat", "c", "messages", ["x", "w", "y"])
        #expect(try links.get("Chat", "c", "messages") == ["x", "w", "y"])
        #expect(try links.get("Message", "z", "chat") == [])
        #expect(try links.edges.targets(side, of: chat, offset: 1, limit: 1) == [try links.row("Message", "w")])
        #expect(try links.edges.targets(side, of: chat, offset: 3).isEmpty)
        try links.expectClean()
    }

    @Test("deleting an entity clears all links from it and to it, one-way ones too")
    func deletion() throws {
        let links = try Links()
        try links.set("Chat", "c", "messages", ["m", "n"])
        try links.set("Message", "m", "author", ["1"])
        try links.set("User", "2", "favourites", ["n", "m"])
        try links.store["Message"].delete(links.row("Message", "m"))
        #expect(try links.get("Chat", "c", "messages") == ["n"])
        #expect(try links.get("User", "2", "favourites") == ["n"])
        try links.store["User"].delete(links.row("User", "2"))
        #expect(try links.store.entries("l:User") == 0)
        #expect(try links.store.entries("l:Message") == 1)
        try links.expectClean()
    }

    @Test("a relation that is its own inverse links both ways")
    func friends() throws {
        let links = try Links()
        try links.set("User", "1", "friends", ["2", "3", "1"])
        #expect(try links.get("User", "2", "friends") == ["1"])
        #expect(try links.get("User", "1", "friends") == ["2", "3", "1"])
        try links.set("User", "2", "friends", [])
        #expect(try links.get("User", "1", "friends") == ["3", "1"])
        try links.expectClean()
    }

    @Test("links of a to-one relation wait too if the type's entities already have links of another one")
    func laterRelation() throws {
        let links = try Links()
        let messages = (0..<20).map { "m\($0)" }
        for message in messages { try links.set("Message", message, "chat", ["c"]) }
        #expect(try links.get("Chat", "c", "messages") == messages)
        #expect(links.edges.waiting == 0)
        // In random order, so that some come before earlier ones.
        for number in 0..<20 {
            try links.set("Message", messages[number * 7 % 20], "attachment", ["a\(number)"])
            #expect(links.edges.waiting == 2 * (number + 1))
        }
        // Two of them are linked already: pending links are stored before these links are removed.
        try links.set("Message", "m3", "attachment", ["a0"])
        try links.set("Attachment", "a1", "message", ["m4"])
        #expect(try links.get("Attachment", "a0", "message") == ["m3"])
        #expect(try links.get("Message", "m0", "attachment") == [])
        #expect(try links.get("Message", "m4", "attachment") == ["a1"])
        #expect(try links.get("Message", "m7", "attachment") == [])
        #expect(try links.get("Message", "m14", "attachment") == ["a2"])
        try links.expectClean()
    }

    @Test("random linking agrees with a model of pairs", .seeded)
    func model() throws {
        let links = try Links()
        var random = SeededGenerator()
        // The chat of each message, the ordered messages of each chat, and ordered pairs of users and chats for both
        // sides.
        var chatOf: [String: String] = [:]
        var messages: [String: [String]] = [:]
        var users: [String: [String]] = [:]
        var chats: [String: [String]] = [:]
        for _ in 0..<600 {
            let chat = "c\(Int.random(in: 0..<6, using: &random))"
            let message = "m\(Int.random(in: 0..<12, using: &random))"
            let user = "\(Int.random(in: 1..<8, using: &random))"
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                if chatOf[message] == chat { continue }
                if let old = chatOf[message] { messages[old]?.removeAll { $0 == message } }
                chatOf[message] = chat
                messages[chat, default: []].append(message)
                if Bool.random(using: &random) {
                    try links.set("Message", message, "chat", [chat])
                } else {
                    try links.edges.append(
                        links.side("Chat", "messages"), links.row("Chat", chat), links.row("Message", message))
                }
            case 2:
                if let old = chatOf.removeValue(forKey: message) { messages[old]?.removeAll { $0 == message } }
                try links.set("Message", message, "chat", [])
            case 3:
                if !(users[chat] ?? []).contains(user) {
                    users[chat, default: []].append(user)
                    chats[user, default: []].append(chat)
                }
                try links.edges.append(links.side("Chat", "users"), links.row("Chat", chat), links.row("User", user))
            default:
                users[chat]?.removeAll { $0 == user }
                chats[user]?.removeAll { $0 == chat }
                try links.edges.remove(links.side("User", "chats"), links.row("User", user), links.row("Chat", chat))
            }
        }
        for number in 0..<12 {
            let message = "m\(number)"
            #expect(try links.get("Message", message, "chat") == (chatOf[message].map { [$0] } ?? []))
        }
        for number in 0..<6 {
            let chat = "c\(number)"
            #expect(try links.get("Chat", chat, "messages") == messages[chat] ?? [])
            #expect(try links.get("Chat", chat, "users") == users[chat] ?? [])
        }
        for user in 1..<8 { #expect(try links.get("User", "\(user)", "chats") == chats["\(user)"] ?? []) }
        try links.expectClean()
    }
}
