// SPDX-License-Identifier: Apache-2.0
// The entities that the refusals use. They compile.

import Hornbeam

@EntityModel
struct User {
    let id: String
    var age = 0
    var nick: String?
    var tags: [String] = []
    var profile = Profile()
    var mood = Mood.calm
    var formerMood: Mood?
    var isActive = true
    var groups: Set<String> = []

    @Relationship(inverse: \.author) var messages: [Message]?
}

@EntityModel
struct Message {
    let id: String
    var text = ""

    @Relationship(.required, inverse: \.messages) var author: User?
    @Relationship var replyTo: Message? = nil
    @Relationship var seenBy: [User]? = nil
}

/// An enum without an order.
enum Mood: String, Codable {
    case calm, wild
}

/// A type without an order.
struct Profile: Codable, Equatable, Sendable {
    var about = ""
}
