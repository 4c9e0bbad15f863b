// SPDX-License-Identifier: Apache-2.0
// What is asked of every engine, with the right answers, as a file: made once for a corpus, from the corpus itself.

import Foundation

enum QuestionKind: String, Codable {
    /// Documents with any of the words, best first.
    case any
    /// With all of them.
    case all
    /// With the words next to each other, in order.
    case phrase
    /// With a word that begins so.
    case prefix
    /// With the words at most `nearDistance` words apart, in any order.
    case near
    /// With a word that a person meant who wrote this one. No two engines mean the same by it.
    case fuzzy
    /// With a word of this pattern.
    case wildcard
    /// How many have any of the words.
    case count
    /// As `any`, with the texts of the best.
    case texts

    /// 1 is right behind it.
    static let nearDistance = 10

    /// Whether there is a right answer to hold an engine's against.
    var isChecked: Bool { self != .fuzzy && self != .wildcard }
}

struct Question: Codable {
    var words: [String]
    /// Of which the documents must be.
    var group: Int?
    /// How many documents match.
    var count = 0
    /// Of the best ten, where it is the sum of the words' scores; else empty.
    var scores: [Double] = []
    /// The best ten.
    var best: [Int] = []
}

struct QuestionSet: Codable {
    var name: String
    var kind: QuestionKind
    var questions: [Question]
}

struct QuestionFile: Codable {
    static let layout = 1
    var layout = Self.layout
    /// Those that are indexed; the corpus has some more, to be inserted later.
    var documents: Int
    var words: Int
    var distinctWords: Int
    /// Pairs of a word and a document that has it.
    var postings: Int
    var textBytes: Int
    var sets: [QuestionSet]

    static func read(_ path: String) throws -> Self {
        try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    func write(_ path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try encoder.encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
