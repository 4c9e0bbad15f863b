// SPDX-License-Identifier: Apache-2.0
// The queries for every engine, with the right answers, as a file: made once for a corpus, from the corpus itself.

import Foundation

enum QuestionKind: String, Codable {
    /// Documents with any of the words, best first.
    case any
    /// Documents with all of the words.
    case all
    /// Documents with the words next to each other, in order.
    case phrase
    /// Documents with a word that has this prefix.
    case prefix
    /// Documents with the words at most `nearDistance` words apart, in any order.
    case near
    /// Documents with a word similar to a misspelt one. Engines differ in what counts as similar.
    case fuzzy
    /// Documents with a word that matches this pattern.
    case wildcard
    /// The number of documents with any of the words.
    case count
    /// Like `any`, with the texts of the best.
    case texts

    /// The distance of adjacent words is 1.
    static let nearDistance = 10

    /// Whether there is a right answer to compare with.
    var isChecked: Bool { self != .fuzzy && self != .wildcard }
}

struct Question: Codable {
    var words: [String]
    /// The group that the documents must belong to.
    var group: Int?
    /// Number of matching documents.
    var count = 0
    /// The scores of the best ten, if a score is the sum of the words' scores; else empty.
    var scores: [Double] = []
    /// The ten best documents.
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
    /// Number of indexed documents; the corpus has some more, which are inserted later.
    var documents: Int
    var words: Int
    var distinctWords: Int
    /// Number of pairs of a word and a document that has it.
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
