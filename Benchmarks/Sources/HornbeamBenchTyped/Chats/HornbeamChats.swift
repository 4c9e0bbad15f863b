// SPDX-License-Identifier: Apache-2.0
// Chats as a program that embeds Hornbeam declares and queries them.

import Foundation
import Hornbeam
import Synchronization

/// Whether deleted chats and messages are kept, as by default.
private let leavesDeleted = Atomic<Bool>(true)

@EntityModel
struct User {
    let id: Int
    var name: String

    @Relationship(inverse: \.users) var chats: [Chat]?
}

@EntityModel
struct Chat {
    let id: Int
    var title: String

    @Relationship(inverse: \.chats) var users: [User]?
    @Relationship(deleteRule: .cascade, inverse: \.chat) var messages: [Message]?

    func asDeleted(in context: Context) throws -> Deleted<Chat>? {
        leavesDeleted.load(ordering: .relaxed) ? .asStored(self) : nil
    }
}

@EntityModel
struct Message {
    let id: Int
    var text: String
    var sent: Date

    @Relationship(.required) var author: User?
    @Relationship(.required, inverse: \.messages) var chat: Chat?

    func asDeleted(in context: Context) throws -> Deleted<Message>? {
        leavesDeleted.load(ordering: .relaxed) ? .asStored(self) : nil
    }
}

// Sums of entities and of the entities loaded with them; ids count in place of missing entities.

extension User {
    fileprivate var sum: Int {
        let own = ChatSum.user(id, name)
        if let chats { return chats.reduce(own) { $0 &+ $1.sum } }
        return own &+ ChatSum.ids($chats.ids ?? [])
    }
}

extension Chat {
    fileprivate var sum: Int {
        var sum = ChatSum.chat(id, title)
        if let users { sum = users.reduce(sum) { $0 &+ $1.sum } } else { sum &+= ChatSum.ids($users.ids ?? []) }
        if let messages { return messages.reduce(sum) { $0 &+ $1.sum } }
        return sum &+ ChatSum.ids($messages.ids ?? [])
    }
}

extension Message {
    fileprivate var sum: Int {
        ChatSum.message(id, text, sent) &+ (author?.sum ?? 0) &+ (chat?.sum ?? 0)
    }
}

final class HornbeamChats: ChatStore {
    private let database: Database

    /// `path` is nil for a database in memory.
    init(path: String?) throws {
        database =
            if let path {
                try Database(at: path, models: User.self, Chat.self, Message.self)
            } else {
                try Database.inMemory(models: User.self, Chat.self, Message.self)
            }
    }

    func save(_ samples: ChatSamples) throws {
        try database.write { context in
            for user in samples.users { try User(id: user.id, name: user.name).save(to: &context) }
            for chat in samples.chats {
                let messages = chat.messages.map {
                    Message(id: $0.id, text: $0.text, sent: $0.sent, author: .id($0.author))
                }
                try Chat(id: chat.id, title: chat.title, users: .ids(chat.users), messages: .relation(messages))
                    .save(to: &context)
            }
        }
    }

    func chats(_ depth: ChatDepth, sum: Bool) throws -> Int {
        let query =
            switch depth {
            case .authors: Chat.query().with(\.$messages) { $0.with(\.$author) }
            case .users: Chat.query().with(\.$users).with(\.$messages) { $0.with(\.$author) { $0.id(\.$chats) } }
            case .all: Chat.queryAll(with: .entities, .entities, .ids)
            }
        return try database.read { context in
            let chats = try query.resolve(in: context)
            return sum ? chats.reduce(0) { $0 &+ $1.sum } : chats.count
        }
    }

    func delete(chat: Int, keeping: Bool) throws {
        leavesDeleted.store(keeping, ordering: .relaxed)
        try database.write { try Chat.delete(id: chat, from: &$0) }
    }

    func messages() throws -> (stored: Int, kept: Int) {
        try database.read { context in
            (try Message.query().count(in: context), try Deleted<Message>.query().count(in: context))
        }
    }

    func close() throws { try database.close() }
}
