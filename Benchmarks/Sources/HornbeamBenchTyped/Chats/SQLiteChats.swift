// SPDX-License-Identifier: Apache-2.0
// The chats in SQLite, used directly: tables for entities, one for the links between chats and users, and a query for
// each level, whose rows are put into structs of the same shape.

#if PEER_SQLITE
    import BenchHarness
    import CSQLite
    import Foundation

    private struct UserRow {
        let id: Int
        let name: String
        var chats: [ChatRow]?
        var chatIds: [Int]?

        var sum: Int {
            let own = ChatSum.user(id, name)
            if let chats { return chats.reduce(own) { $0 &+ $1.sum } }
            return own &+ ChatSum.ids(chatIds ?? [])
        }
    }

    private struct MessageRow {
        let id: Int
        let text: String
        let sent: Date
        /// None or one: an array, because a struct can't contain itself.
        var author: [UserRow] = []
        var chat: [ChatRow] = []

        var sum: Int {
            let own = ChatSum.message(id, text, sent) &+ (author.first?.sum ?? 0)
            return own &+ (chat.first?.sum ?? 0)
        }
    }

    private struct ChatRow {
        let id: Int
        let title: String
        var users: [UserRow]?
        var messages: [MessageRow]?
        var userIds: [Int]?
        var messageIds: [Int]?

        var sum: Int {
            let own = ChatSum.chat(id, title) &+ ChatSum.ids(userIds ?? []) &+ ChatSum.ids(messageIds ?? [])
            let some = (users ?? []).reduce(own) { $0 &+ $1.sum }
            return (messages ?? []).reduce(some) { $0 &+ $1.sum }
        }
    }

    final class SQLiteChats: ChatStore {
        private let connection: SQLiteConnection
        private let putUser: SQLiteStatement
        private let putChat: SQLiteStatement
        private let putMessage: SQLiteStatement
        private let putLink: SQLiteStatement
        private let allChats: SQLiteStatement
        private let allMessages: SQLiteStatement
        private let users: SQLiteStatement
        private let links: SQLiteStatement
        private let begin: SQLiteStatement
        private let commit: SQLiteStatement
        private let keep: [SQLiteStatement]
        private let delete: [SQLiteStatement]
        private let counts: SQLiteStatement

        /// `path` is nil for a database in memory.
        init(path: String?) throws {
            let message = "id INTEGER PRIMARY KEY, text TEXT NOT NULL, sent REAL NOT NULL, chat INTEGER, author INTEGER"
            let link = "chat INTEGER, user INTEGER, PRIMARY KEY (chat, user)) WITHOUT ROWID"
            connection = try SQLiteConnection(
                path: path,
                schema: [
                    "CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
                    "CREATE TABLE chat (id INTEGER PRIMARY KEY, title TEXT NOT NULL)",
                    "CREATE TABLE message (\(message))", "CREATE INDEX messageByChat ON message (chat)",
                    "CREATE TABLE link (\(link)", "CREATE INDEX linkByUser ON link (user, chat)",
                    "CREATE TABLE keptChat (id INTEGER PRIMARY KEY, title TEXT NOT NULL)",
                    "CREATE TABLE keptMessage (\(message))", "CREATE TABLE keptLink (\(link)",
                ])
            putUser = try connection.prepare(
                "INSERT INTO user VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name")
            putChat = try connection.prepare(
                "INSERT INTO chat VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET title = excluded.title")
            putMessage = try connection.prepare(
                """
                INSERT INTO message VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
                SET text = excluded.text, sent = excluded.sent, chat = excluded.chat, author = excluded.author
                """)
            putLink = try connection.prepare("INSERT OR IGNORE INTO link VALUES (?, ?)")
            allChats = try connection.prepare("SELECT id, title FROM chat ORDER BY id")
            allMessages = try connection.prepare("SELECT id, text, sent, chat, author FROM message ORDER BY chat, id")
            users = try connection.prepare("SELECT id, name FROM user ORDER BY id")
            links = try connection.prepare("SELECT chat, user FROM link ORDER BY chat, user")
            begin = try connection.prepare("BEGIN")
            commit = try connection.prepare("COMMIT")
            keep = try [
                "INSERT INTO keptMessage SELECT * FROM message WHERE chat = ?",
                "INSERT INTO keptLink SELECT * FROM link WHERE chat = ?",
                "INSERT INTO keptChat SELECT * FROM chat WHERE id = ?",
            ].map(connection.prepare)
            delete = try [
                "DELETE FROM message WHERE chat = ?", "DELETE FROM link WHERE chat = ?",
                "DELETE FROM chat WHERE id = ?",
            ].map(connection.prepare)
            counts = try connection.prepare(
                "SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM keptMessage)")
        }

        func save(_ samples: ChatSamples) throws {
            try connection.transaction {
                for user in samples.users {
                    putUser.bind(1, user.id)
                    try putUser.bind(2, user.name) { try putUser.run() }
                }
                for chat in samples.chats {
                    putChat.bind(1, chat.id)
                    try putChat.bind(2, chat.title) { try putChat.run() }
                    for user in chat.users {
                        putLink.bind(1, chat.id)
                        putLink.bind(2, user)
                        try putLink.run()
                    }
                    for message in chat.messages {
                        putMessage.bind(1, message.id)
                        putMessage.bind(3, message.sent.timeIntervalSince1970)
                        putMessage.bind(4, chat.id)
                        putMessage.bind(5, message.author)
                        try putMessage.bind(2, message.text) { try putMessage.run() }
                    }
                }
            }
        }

        // MARK: Reading

        func chats(_ depth: ChatDepth, sum: Bool) throws -> Int {
            try begin.run()
            var found: [ChatRow] = []
            try allChats.each { found.append(ChatRow(id: allChats.integer(0), title: allChats.text(1))) }
            let users = try allUsers()
            switch depth {
            case .authors:
                try eachMessage(&found) { _, message, author in message.author = users[author].map { [$0] } ?? [] }
            case .users:
                try readUsers(&found, users)
            case .all:
                try readAll(&found, users)
            }
            try commit.run()
            return sum ? found.reduce(0) { $0 &+ $1.sum } : found.count
        }

        private func allUsers() throws -> [Int: UserRow] {
            var found: [Int: UserRow] = [:]
            try users.each {
                let id = users.integer(0)
                found[id] = UserRow(id: id, name: users.text(1))
            }
            return found
        }

        /// Reads the messages of the chats, which are ordered by their ids. The body completes each message; it gets
        /// the chat's index and the author.
        private func eachMessage(
            _ found: inout [ChatRow], _ body: (_ place: Int, _ message: inout MessageRow, _ author: Int) -> Void
        ) throws {
            for place in found.indices { found[place].messages = [] }
            let ids = found.map(\.id)
            var place = 0
            try allMessages.each {
                let chat = allMessages.integer(3)
                while ids[place] < chat { place += 1 }
                var message = MessageRow(
                    id: allMessages.integer(0), text: allMessages.text(1),
                    sent: Date(timeIntervalSince1970: allMessages.double(2)))
                body(place, &message, allMessages.integer(4))
                found[place].messages?.append(message)
            }
        }

        /// Returns the users of each chat, by the chat's index, and the chats of each user.
        private func allLinks(_ found: [ChatRow]) throws -> (users: [[Int]], chats: [Int: [Int]]) {
            var usersOf = [[Int]](repeating: [], count: found.count)
            var chatsOf: [Int: [Int]] = [:]
            var place = 0
            try links.each {
                let (chat, user) = (links.integer(0), links.integer(1))
                while found[place].id < chat { place += 1 }
                usersOf[place].append(user)
                chatsOf[user, default: []].append(chat)
            }
            return (usersOf, chatsOf)
        }

        private func readUsers(_ found: inout [ChatRow], _ users: [Int: UserRow]) throws {
            let links = try allLinks(found)
            let authors = users.mapValues { user in
                var user = user
                user.chatIds = links.chats[user.id] ?? []
                return [user]
            }
            for place in found.indices { found[place].users = links.users[place].compactMap { users[$0] } }
            try eachMessage(&found) { _, message, author in message.author = authors[author] ?? [] }
        }

        private func readAll(_ found: inout [ChatRow], _ users: [Int: UserRow]) throws {
            let links = try allLinks(found)
            var withIds = found
            for place in withIds.indices {
                withIds[place].userIds = links.users[place]
                withIds[place].messageIds = []
            }
            var authors: [Int] = []
            try eachMessage(&found) { chat, message, author in
                withIds[chat].messageIds?.append(message.id)
                authors.append(author)
            }
            let places = Dictionary(uniqueKeysWithValues: found.indices.map { (found[$0].id, $0) })
            let withChatIds = users.mapValues { user in
                var user = user
                user.chatIds = links.chats[user.id] ?? []
                return [user]
            }
            let withChats = users.mapValues { user in
                var user = user
                user.chats = (links.chats[user.id] ?? []).compactMap { places[$0].map { withIds[$0] } }
                return user
            }
            var number = 0
            for place in found.indices {
                found[place].users = links.users[place].compactMap { withChats[$0] }
                let chat = [withIds[place]]
                for message in (found[place].messages ?? []).indices {
                    found[place].messages?[message].chat = chat
                    found[place].messages?[message].author = withChatIds[authors[number]] ?? []
                    number += 1
                }
            }
        }

        // MARK: Deleting

        func delete(chat: Int, keeping: Bool) throws {
            try connection.transaction {
                for statement in (keeping ? keep : []) + delete {
                    statement.bind(1, chat)
                    try statement.run()
                }
            }
        }

        func messages() throws -> (stored: Int, kept: Int) {
            var found = (0, 0)
            try counts.each { found = (counts.integer(0), counts.integer(1)) }
            return found
        }

        func close() throws { connection.close() }
    }
#endif
