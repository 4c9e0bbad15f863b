// SPDX-License-Identifier: Apache-2.0
// Ids that the store assigns.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Note: Equatable {
    let id: Int
    var text = ""
    @Relationship() var next: Note?
}

@EntityModel
private struct Book {
    let id: TypedID<Book, UInt8>
}

@EntityModel
private struct Small {
    let id: Int8
}

@Suite("An id that the store assigns")
struct AutoincrementTests {
    @Test("is greater than any that was assigned, stored or linked")
    func counting() throws {
        var context = Context()
        #expect(try Note.nextID(in: &context) == 1)
        #expect(try Note.nextID(in: &context) == 2)
        try Note(id: 40).save(to: &context)
        #expect(try Note.nextID(in: &context) == 41)
        try Note(id: 41, next: .id(50)).save(to: &context)
        #expect(try Note.nextID(in: &context) == 51)
        // Negative ids don't count.
        try Note(id: -3).save(to: &context)
        try Note(id: 1 << 50).save(to: &context)
        #expect(try Note.nextID(in: &context) == 52)
        #expect(try Small.nextID(in: &context) == 1)
    }

    @Test("is not reused when its entity is deleted, nor after the database is reopened")
    func neverAgain() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("notes.hornbeam")
        var database = try Database(at: path, models: Note.self)
        try database.write { context in
            for _ in 1...3 { try Note(id: Note.nextID(in: &context)).save(to: &context) }
            try Note.query().delete(from: &context)
        }
        try database.close()
        database = try Database(at: path, models: Note.self)
        let next = try database.write { try Note.nextID(in: &$0) }
        #expect(next == 4)
        #expect(try database.check())
        try database.close()
    }

    @Test("isn't that of a deleted entity that is still kept")
    func keptDeleted() throws {
        var context = Context()
        try Note(id: 3).save(to: &context)
        try Note.delete(id: 3, from: &context)
        #expect(try Note.nextID(in: &context) == 4)
        try Note(id: 4).save(to: &context)
        try #require(try Deleted<Note>.query(3).resolve(in: context)).restore(in: &context)
        #expect(try context.ids(Note.self) == [3, 4])
    }

    @Test("may be a typed one")
    func typed() throws {
        var context = Context()
        let id = try Book.nextID(in: &context)
        try Book(id: id).save(to: &context)
        #expect(id == 1)
        #expect(try Book.nextID(in: &context) == TypedID<Book, UInt8>(2))
        try Book(id: 255).save(to: &context)
        let error = #expect(throws: HornbeamError.self) { try Book.nextID(in: &context) }
        #expect(error?.code == .invalid)
    }

    @Test("is given back by a write that fails")
    func failedWrite() throws {
        struct Refused: Error {}
        let database = try Database.inMemory(models: Note.self)
        #expect(throws: Refused.self) {
            try database.write { context in
                #expect(try Note.nextID(in: &context) == 1)
                throw Refused()
            }
        }
        let id = try database.write { try Note.nextID(in: &$0) }
        #expect(id == 1)
    }

    @Test("is refused if none is left, and in a read")
    func refusals() throws {
        var context = Context()
        try Small(id: 127).save(to: &context)
        var error = #expect(throws: HornbeamError.self) { try Small.nextID(in: &context) }
        #expect(error?.code == .invalid && error?.message.contains("Int8") == true)
        try Note(id: (1 << 40) - 1).save(to: &context)
        error = #expect(throws: HornbeamError.self) { try Note.nextID(in: &context) }
        #expect(error?.code == .invalid)
        let database = try Database.inMemory(models: Note.self)
        try database.read { context in
            var context = context
            let error = #expect(throws: HornbeamError.self) { try Note.nextID(in: &context) }
            #expect(error?.code == .readOnly)
        }
    }

    @Test("is kept when its type is renamed")
    func rename() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("notes.hornbeam")
        var database = try Database(at: path, models: Note.self)
        try database.write { context in
            for _ in 1...3 { _ = try Note.nextID(in: &context) }
        }
        try database.close()
        database = try Database(
            at: path, models: Memo.self, migrations: [.rename("Note", to: Memo.self)])
        let id = try database.write { try Memo.nextID(in: &$0) }
        #expect(id == 4)
        try database.close()
    }
}

@EntityModel
private struct Memo {
    let id: Int
    var text = ""
    @Relationship() var next: Memo?
}
