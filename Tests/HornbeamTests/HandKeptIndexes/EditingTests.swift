// SPDX-License-Identifier: Apache-2.0
// Hooks of single edits, and edits of entities during an iteration over them.

import HornbeamHandKept
import HornbeamTestSupport
import Testing

@testable import Hornbeam

/// An entity whose hooks record the entities they see, in the store itself.
@EntityModel
private struct HookedEntry {
    let id: Int
    var text = ""

    struct Refusal: Error {}

    mutating func willSave(to context: inout Context) throws {
        if text == "refused" { throw Refusal() }
        let former: HookedEntry? = try context.find(id)
        try HookedNote(id: "\(id) \(former?.text ?? "new") → \(text)").save(to: &context)
    }

    func willDelete(from context: inout Context) throws {
        if text == "kept" { throw Refusal() }
    }

    func didDelete(from context: inout Context) throws { try HookedNote(id: "\(id) is gone").save(to: &context) }
}

@EntityModel
private struct HookedNote {
    let id: String
}

@Suite("Editing")
struct EditingTests {
    @Test("hooks see the entity before and after, run in the same write, and refuse it by throwing")
    func hooks() throws {
        let database = try Database.inMemory(models: HookedEntry.self, HookedNote.self)
        try database.write { context in
            let entries = context.table(HookedEntry.self)
            try entries.insert(HookedEntry(id: 1, text: "a"))
            try entries.update(1) { $0.text = "b" }
            #expect(throws: HookedEntry.Refusal.self) { try entries.update(1) { $0.text = "refused" } }
            #expect(throws: HookedEntry.Refusal.self) { try entries.upsert(HookedEntry(id: 2, text: "refused")) }
            #expect(try entries.find(by: 1)?.text == "b")
            try entries.update(1) { $0.text = "kept" }
            #expect(throws: HookedEntry.Refusal.self) { try entries.delete(1) }
            #expect(try entries.count == 1)
            try entries.update(1) { $0.text = "c" }
            try entries.deleteAll()
        }
        let notes = try database.read { try $0.table(HookedNote.self).allIDs }
        #expect(notes == ["1 new → a", "1 a → b", "1 b → kept", "1 kept → c", "1 is gone"])
    }

    @Test("each entity is visited once while each is deleted")
    func deletingAll() throws {
        let count = 10_000
        let database = try LibraryTables.inMemory()
        try database.write { context in
            for id in 0..<count { try context.insert(LibraryCard(id: id)) }
            try context.indexes.cards.append(contentsOf: Array(0..<count))
        }
        try database.write { context in
            var seen: [Int] = []
            try context.indexes.cards.forEach { id in
                seen.append(id)
                try context.remove(LibraryCard.self, id: id)
            }
            #expect(seen == Array(0..<count))
            #expect(try context.table(LibraryCard.self).isEmpty && context.indexes.cards.isEmpty)
        }
        #expect(try database.isSound())
    }

    @Test("an entity that is deleted and saved again is in no index, and can be put there again")
    func deletedAndSavedAgain() throws {
        let database = try LibraryTables.filled("a", "b")
        try database.write { context in
            try LibraryBook.delete(id: "a", from: &context)
            try LibraryBook(id: "a", title: "again").save(to: &context)
            #expect(try context.indexes.allBooks.ids == ["b"])
            try context.indexes.allBooks.append("a")
        }
        #expect(try database.read { try $0.find(in: LibraryIndexes().allBooks).map(\.title) } == ["b", "again"])
        #expect(try database.isSound())
    }
}
