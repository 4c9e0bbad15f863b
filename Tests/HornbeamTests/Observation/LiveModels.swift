// SPDX-License-Identifier: Apache-2.0
// The entities for the tests of live queries: notes in folders, with tags; and their text, by which results are
// compared.

import Hornbeam
import HornbeamTestSupport
@testable import HornbeamEngine

@EntityModel
struct LiveNote {
    @Index<Self>(\.rank) private var byRank
    @FullTextIndex<Self>(\.text) private var search

    let id: Int
    var rank: Int
    var name: String?
    var text: String

    @Relationship(inverse: \.notes) var folder: LiveFolder?
    @Relationship var tags: [LiveTag]? = nil

    var half: Int { rank / 2 }
}

@EntityModel
struct LiveFolder {
    let id: Int
    var title: String

    @Relationship(deleteRule: .cascade, inverse: \.folder) var notes: [LiveNote]?
}

/// A type whose ids are no numbers, so that its rows are numbered in the order of their first saves.
@EntityModel
struct LiveTag {
    let id: String
    var weight: Double
}

/// An entity as text, with its loaded relations.
protocol LiveText: EntityModelProtocol {
    var line: String { get }
}

extension LiveNote: LiveText {
    var line: String {
        "\(id) \(rank) \(name ?? "-") \(text)"
            + ($folder.entities.map { " in \($0.map(\.line))" } ?? $folder.id.map { " in \($0)" } ?? "")
            + ($tags.entities.map { " tags \($0.map(\.line))" } ?? $tags.ids.map { " tags \($0)" } ?? "")
    }
}

extension LiveFolder: LiveText {
    var line: String {
        "\(id) \(title)"
            + ($notes.entities.map { " notes \($0.map(\.line))" } ?? $notes.ids.map { " notes \($0)" } ?? "")
    }
}

extension LiveTag: LiveText {
    var line: String { "\(id) \(weight)" }
}

func liveDatabase() throws -> Database {
    try Database.inMemory(models: LiveNote.self, LiveFolder.self, LiveTag.self)
}

/// Random writes: some change much, some change nothing, some fail wholly or in part.
struct LiveWrites {
    struct Refused: Error {}

    var random: SeededGenerator

    private static let words = ["red", "green", "blue", "swift", "tree"]

    private mutating func note(_ id: Int) -> LiveNote {
        LiveNote(
            id: id, rank: random.below(12), name: random.oneIn(4) ? nil : "n\(random.below(6))",
            text: (0..<random.below(4)).map { _ in Self.words[random.below(Self.words.count)] }.joined(separator: " "))
    }

    private mutating func change(_ context: inout Context) throws {
        let id = random.below(random.oneIn(3) ? 8 : 30)
        switch random.below(12) {
        case 0...3: try note(id).save(to: &context)
        case 4:
            guard var stored: LiveNote = try context.find(id) else { return }
            // Mostly the content changes, often without the position.
            stored.text = Self.words[random.below(2)]
            try stored.save(to: &context)
        case 5: try LiveNote.delete(id: id, from: &context)
        case 6:
            var moved = note(id)
            moved.$folder = random.oneIn(4) ? .null : .id(random.below(4))
            try moved.save(to: &context)
        case 7:
            guard var stored: LiveNote = try context.find(id) else { return }
            stored.$tags = .ids((0..<random.below(3)).map { _ in "t\(random.below(6))" })
            try stored.save(to: &context)
        case 8: try LiveTag(id: "t\(random.below(6))", weight: Double(random.below(3))).save(to: &context)
        case 9:
            if random.oneIn(2) { return try LiveTag.delete(id: "t\(random.below(6))", from: &context) }
            try LiveFolder(id: random.below(4), title: "f\(random.below(3))").save(to: &context)
        case 10:
            // This part fails, after some changes; the same are made again after it.
            try? context.transaction { context in
                for _ in 0..<3 { try change(&context) }
                throw Refused()
            }
        default:
            if random.oneIn(3) { return try LiveFolder.delete(id: random.below(4), from: &context) }
            guard let stored: LiveNote = try context.find(id) else { return }
            try stored.save(to: &context)
        }
    }

    mutating func write(to database: Database) throws {
        let fails = random.oneIn(8)
        do {
            try database.write { context in
                for _ in 0..<(1 + random.below(4)) { try change(&context) }
                if fails { throw Refused() }
            }
        } catch is Refused {}
    }
}
