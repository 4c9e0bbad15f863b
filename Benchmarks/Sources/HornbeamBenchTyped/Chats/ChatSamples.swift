// SPDX-License-Identifier: Apache-2.0
// The chats of a run with their users and messages, and the sums for reading them, made before any clock starts.

import BenchHarness
import Foundation

struct UserSample: Sendable {
    let id: Int
    let name: String
}

struct MessageSample: Sendable {
    let id: Int
    let text: String
    let sent: Date
    let author: Int
}

struct ChatSample: Sendable {
    let id: Int
    let title: String
    let users: [Int]
    let messages: [MessageSample]
}

/// The relations that a nested query loads with the chats.
enum ChatDepth: String, CaseIterable {
    /// Messages with their authors.
    case authors
    /// Also the ids of the authors' chats, and the chats' users.
    case users
    /// All relations of the chats, all relations of these, and the ids of theirs.
    case all
}

/// The share of each entity in a sum, and the sum of ids without entities.
enum ChatSum {
    static func user(_ id: Int, _ name: String) -> Int { id &* 13 &+ name.utf8.count }
    static func chat(_ id: Int, _ title: String) -> Int { id &* 17 &+ title.utf8.count }
    static func message(_ id: Int, _ text: String, _ sent: Date) -> Int {
        id &* 31 &+ text.utf8.count &+ Int(sent.timeIntervalSince1970)
    }
    static func ids(_ ids: some Sequence<Int>) -> Int { ids.reduce(0) { $0 &+ $1 &* 5 &+ 1 } }
}

/// Ten messages and five users for each chat, and ten times as many chats as users.
struct ChatSamples: Sendable {
    let users: [UserSample]
    let chats: [ChatSample]

    init(count: Int, seed: UInt64) {
        var random = SplitMix(state: seed)
        let some = max(5, count / 10)
        users = (0..<some).map { UserSample(id: $0, name: "User number \($0)") }
        chats = (0..<count).map { id in
            var members: [Int] = []
            while members.count < 5 {
                let user = Int.random(in: 0..<some, using: &random)
                if !members.contains(user) { members.append(user) }
            }
            let messages = (0..<10).map { place in
                MessageSample(
                    id: id * 10 + place, text: "Message \(place) of chat \(id), which is of some length",
                    sent: Date(
                        timeIntervalSince1970: Double(Int.random(in: 1_000_000_000..<1_700_000_000, using: &random))),
                    author: members[Int.random(in: 0..<5, using: &random)])
            }
            return ChatSample(id: id, title: "Chat \(id) about things", users: members, messages: messages)
        }
    }

    /// Returns the sum that a nested query for all chats must give.
    func sum(_ depth: ChatDepth) -> Int {
        let own = users.map { ChatSum.user($0.id, $0.name) }
        var chatsOf = [[Int]](repeating: [], count: users.count)
        for chat in chats { for user in chat.users { chatsOf[user].append(chat.id) } }
        let withChatIds = users.indices.map { own[$0] &+ ChatSum.ids(chatsOf[$0]) }
        let withIds = chats.map {
            ChatSum.chat($0.id, $0.title) &+ ChatSum.ids($0.users) &+ ChatSum.ids($0.messages.map(\.id))
        }
        return chats.reduce(0) { sum, chat in
            var sum = sum &+ ChatSum.chat(chat.id, chat.title)
            for message in chat.messages {
                sum &+= ChatSum.message(message.id, message.text, message.sent)
                sum &+= depth == .authors ? own[message.author] : withChatIds[message.author]
                if depth == .all { sum &+= withIds[chat.id] }
            }
            guard depth != .authors else { return sum }
            for user in chat.users {
                sum &+= own[user]
                if depth == .all { sum = chatsOf[user].reduce(sum) { $0 &+ withIds[$1] } }
            }
            return sum
        }
    }
}

/// A store that takes part.
protocol ChatStore: AnyObject {
    /// Saves everything in one transaction.
    func save(_ samples: ChatSamples) throws
    /// Reads all chats. Returns the sum if `sum` is set, when no clock runs, else their number.
    func chats(_ depth: ChatDepth, sum: Bool) throws -> Int
    /// Deletes a chat in a transaction, with its messages and links. With `keeping`, deleted ones are kept elsewhere.
    func delete(chat: Int, keeping: Bool) throws
    /// Returns the number of stored messages and of kept ones.
    func messages() throws -> (stored: Int, kept: Int)
    func close() throws
}
