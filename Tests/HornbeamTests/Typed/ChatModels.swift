// SPDX-License-Identifier: Apache-2.0
// The chat of the entity model's description: users, chats, messages, attachments, with relations of every kind.

import Hornbeam
@testable import HornbeamEngine

@EntityModel
struct User {
    let id: String
    private(set) var name: String
    var age = 0
    var profile: Profile?

    @Relationship(inverse: \.users)
    var chats: [Chat]?

    @Relationship(inverse: \.admins)
    var adminOf: [Chat]?

    struct Profile: Codable, Equatable, Sendable {
        var about: String
    }
}

@EntityModel
struct Chat {
    let id: String

    @Relationship(inverse: \.chats)
    var users: [User]?

    @Relationship(deleteRule: .cascade, inverse: \.chat)
    var messages: [Message]?

    @Relationship(inverse: \.adminOf)
    var admins: [User]?
}

@EntityModel
struct Message {
    @FullTextIndex<Self>(\.text) private var search

    let id: String
    let text: String

    @Relationship(.required)
    var author: User?

    @Relationship(.required, inverse: \.messages)
    var chat: Chat?

    @Relationship(inverse: \.message)
    var attachment: Attachment?

    @Relationship(inverse: \.replyTo)
    var replies: [Message]?

    @Relationship(inverse: \.replies)
    var replyTo: Message?

    @Relationship
    var viewedBy: [User]? = nil
}

@EntityModel
struct Attachment {
    let id: String
    var kind: Kind = .file

    @Relationship(.required, inverse: \.attachment)
    var message: Message?

    enum Kind: String, Codable {
        case file, image
    }
}

extension User: Codable {}
extension Chat: Codable {}
extension Message: Codable {}
extension Attachment: Codable {}

extension Chat {
    /// Two users, two messages, one admin.
    static var example: Chat {
        Chat(
            id: "1",
            users: .relation([
                User(id: "1", name: "Bob"),
                User(id: "2", name: "Alice"),
            ]),
            messages: .relation([
                Message(id: "1", text: "Any thoughts on SwiftletModel?", author: .id("1")),
                Message(id: "2", text: "Yes.", author: .id("2"), replyTo: .id("1")),
            ]),
            admins: .ids(["1"])
        )
    }
}

/// Returns a context with the example chat in it.
func exampleContext() throws -> Context {
    var context = Context()
    try Chat.example.save(to: &context)
    return context
}
