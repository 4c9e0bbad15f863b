// SPDX-License-Identifier: Apache-2.0
// Types that implement a verb themselves: generic code calls their function, which does the store's part.

import HornbeamHandKept
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// A type that counts its saves, refuses to be deleted while it is kept, and shows only listed entities.
@EntityModel
private struct Record {
    let id: Int
    var saves = 0
    var isKept = false
    @Relationship(deleteRule: .cascade, inverse: \.parent) var parts: [Record]?
    @Relationship(inverse: \.parts) var parent: Record?

    struct Kept: Error {}

    func save(to context: inout Context, options: MergeStrategy<Self>) throws {
        var copy = self
        copy.saves += 1
        try context.saveAll([copy], options: options)
    }

    func delete(from context: inout Context) throws {
        if isKept { throw Kept() }
        try Self.delete(id: id, from: &context)
    }

    static func queryAll(with nested: Nested...) -> QueryList<Self> { filter(\.saves > 0) }
}

@Suite("Verbs that a type writes itself")
struct OwnVerbsTests {
    private func saved<Entity: EntityModelProtocol>(_ entity: Entity, _ context: inout Context) throws -> Entity? {
        try entity.save(to: &context)
        return try Entity.query(entity.id).resolve(in: context)
    }

    private func delete(_ entity: some EntityModelProtocol, _ context: inout Context) throws {
        try entity.delete(from: &context)
    }

    private func all<Entity: EntityModelProtocol>(_: Entity.Type, _ context: Context) throws -> [Entity] {
        try Entity.queryAll(with: .ids).resolve(in: context)
    }

    @Test("are called by generic code, by tables and by restoring an entity")
    func generic() throws {
        var context = Context()
        #expect(try saved(Record(id: 1), &context)?.saves == 1)
        try context.table(Record.self).upsert(Record(id: 2, isKept: true))
        #expect(try Record.query(2).resolve(in: context)?.saves == 1)
        let kept = Record(id: 2, isKept: true)
        #expect(throws: Record.Kept.self) { try delete(kept, &context) }
        try delete(Record(id: 1), &context)
        #expect(try context.ids(Record.self) == [2])
        try #require(try Deleted<Record>.query(1).resolve(in: context)).restore(in: &context)
        #expect(try Record.query(1).resolve(in: context)?.saves == 2)
        #expect(try context.isWhole())
    }

    @Test("aren't called for entities saved or deleted with others, nor by the store's own part")
    func whole() throws {
        var context = Context()
        try [Record(id: 1)].save(to: &context)
        try context.insert(Record(id: 9))
        #expect(try all(Record.self, context).isEmpty)
        try Record(id: 2, parts: .relation([Record(id: 3, isKept: true)])).save(to: &context)
        #expect(try all(Record.self, context).map(\.id) == [2])
        #expect(try Record.query(3).resolve(in: context)?.saves == 0)
        // Neither a cascade nor a bulk deletion calls it.
        try Record.delete(id: 2, from: &context)
        try Record(id: 4, isKept: true).save(to: &context)
        #expect(try Record.filter(\.id >= 4).delete(from: &context) == 2)
        #expect(try context.ids(Record.self) == [1])
        #expect(try context.isWhole())
    }
}
