// SPDX-License-Identifier: Apache-2.0
// Queries of registered indexes that can't be answered fail with the reason and the remedy; a cached record of the
// catalogue is never used for another state.

import Foundation
import HornbeamPages
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

private typealias LengthIndex = MapIndex<TaggedNote, NoValue, CountReducer<NoValue>>

private func byText(_ version: String = "1", collation: TextCollation = .unicode) -> LengthIndex {
    MapIndex("byText", version: version, collation: collation) {
        (note: TaggedNote, emit: inout MapEmitter<NoValue>) in emit(key: .string(note.text + version))
    }
}

private let sizeColumn = IndexColumn<Int>("size")

private func bySize(_ version: String = "1") -> SecondaryIndex<TaggedNote> {
    SecondaryIndex("bySize", version: version, columns: [sizeColumn]) { (note: TaggedNote, row: inout IndexRowWriter) in
        row[sizeColumn] = note.text.count + (version == "1" ? 0 : 100)
    }
}

private func lists(_ version: String = "1") -> View<TaggedNote, Int> {
    View("lists", version: version, groupedBy: { $0.text.count + (version == "1" ? 0 : 100) })
}

@Suite("Queries of registered indexes")
struct IndexReadinessTests {
    private func message(_ database: Database, _ index: LengthIndex = byText()) throws -> String {
        let error = #expect(throws: HornbeamError.self) { try index.query().keys(in: database) }
        #expect(error?.code == .indexNotReady)
        return error?.message ?? ""
    }

    private func filled(_ disk: SimulatedDisk) throws -> Database {
        let database = try MigratedFile.open(disk, [TaggedNote.self], [])
        try database.write { context in try TaggedNote(id: "a", text: "first").save(to: &context) }
        return database
    }

    @Test("report that the state lacks the index, or has another version or other settings")
    func absent() throws {
        let database = try filled(try SimulatedDisk())
        #expect(try message(database).contains("map index “byText” of TaggedNote can't answer: this state"))
        try database.register(byText("2"))
        let version = try message(database)
        #expect(version.contains("has its version “2”, and not “1”") && version.contains("register(…)"))
        let settings = try message(database, byText("2", collation: .binary))
        #expect(settings.contains("has it with collation “") && settings.contains("and not “binary”"))
        try database.register(byText())
        #expect(try byText().query().keys(in: database) == ["first1"])
        try database.unregister("byText")
        #expect(try message(database).contains("this state of the database doesn't have it"))
    }

    @Test("report that the index was left behind, and by how much")
    func missed() throws {
        let disk = try SimulatedDisk()
        var database = try filled(disk)
        try database.register(byText())
        try database.close()
        database = try MigratedFile.open(disk, [TaggedNote.self], [])
        // Nothing was missed yet.
        #expect(try byText().query().keys(in: database) == ["first1"])
        try database.write { context in
            for id in ["a", "b", "c"] { try TaggedNote(id: id, text: id).save(to: &context) }
        }
        #expect(try message(database).contains("missed the changes of 3 entities"))
        try database.register(byText())
        #expect(try byText().query().keys(in: database) == ["a1", "b1", "c1"])
    }

    @Test("report that the index is being built, and that a migration has changed its entities")
    func beingBuilt() throws {
        let disk = try SimulatedDisk()
        var database = try filled(disk)
        let write = try database.store.beginWrite()
        let description = try #require(database.schemaDescription.first)
        var index = StoredIndex(
            name: StoredIndex.buildName(of: "byText"), identity: byText().registration.identity,
            record: StoredIndex.Record(
                entity: "TaggedNote", kind: "map", version: "1", settings: [:],
                columns: RegisteredCatalogue.fingerprint(description)))
        index.record.build = StoredIndex.Build(began: 1)
        try RegisteredCatalogue.store(index, in: write)
        try write.commit()
        #expect(try message(database).contains("it is being built in the background"))
        #expect(try message(database, byText("2")).contains("this state of the database doesn't have it"))
        try database.register(byText())
        let second = try database.store.beginWrite()
        try RegisteredCatalogue.outdate("TaggedNote", in: second)
        try second.commit()
        try database.close()
        database = try MigratedFile.open(disk, [TaggedNote.self], [])
        #expect(try message(database).contains("a migration has changed the entities"))
    }

    @Test("give each read the answers of its own state, however often the version changes")
    func states() throws {
        let database = try filled(try SimulatedDisk())
        let (map, size, view) = (byText(), bySize(), lists())
        let others = (byText("2"), bySize("2"), lists("2"))
        try database.register(map)
        try database.register(size)
        try database.register(view)
        /// Returns the answers of the indexes of the first version.
        func answers(_ context: Context) throws -> String {
            let rows = try map.query().resolve(in: context).map(\.key.description).joined()
            let sizes = try size.query().rows(in: context).compactMap { $0[sizeColumn] }
            return "\(rows) \(sizes) \(try view.sections(in: context).map(\.group))"
        }
        func code(_ context: Context) -> HornbeamError.Code? { codeThrown { _ = try answers(context) } }

        let first = #""first1" [5] [5]"#
        try database.read { context in
            for _ in 0..<3 { #expect(try answers(context) == first) }
            try database.register(others.0)
            try database.register(others.1)
            try database.register(others.2)
            // The first read still sees its own state.
            for _ in 0..<3 { #expect(try answers(context) == first) }
            try database.read { (newer) throws in
                for _ in 0..<2 { #expect(code(newer) == .indexNotReady) }
                #expect(try others.1.query().rows(in: newer).compactMap { $0[sizeColumn] } == [105])
                #expect(try others.2.groups(in: newer) == [105])
            }
            #expect(try answers(context) == first)
        }
        struct Undone: Error {}
        try? database.write { context in
            try TaggedNote(id: "b", text: "undone").save(to: &context)
            let count = try others.1.query().count(in: context)
            #expect(count == 2)
            throw Undone()
        }
        #expect(try database.read { try others.1.query().count(in: $0) } == 1)
        try database.register(map)
        try database.register(size)
        try database.register(view)
        #expect(try database.read { try answers($0) } == first)
        try database.write { context in
            try TaggedNote(id: "b", text: "b").save(to: &context)
            let now = try answers(context)
            #expect(now == #""b1""first1" [5, 1] [1, 5]"#)
        }
        try database.unregister("bySize")
        #expect(try database.read { code($0) } == .indexNotReady)
        try database.register(size)
        #expect(try database.read { try answers($0) } == #""b1""first1" [5, 1] [1, 5]"#)
    }

    @Test("give a long-lived read the answers of the state that it has moved to")
    func longLived() throws {
        let database = try filled(try SimulatedDisk())
        let view = lists()
        try database.register(view)
        let reader = try database.longLivedRead()
        #expect(try reader.read { try view.groups(in: $0) } == [5])
        try database.unregister("lists")
        #expect(try reader.read { try view.groups(in: $0) } == [5])
        _ = try reader.moveForward { _ in }
        #expect(codeThrown { _ = try reader.read { try view.groups(in: $0) } } == .indexNotReady)
        try database.register(view)
        try database.write { context in try TaggedNote(id: "b", text: "b").save(to: &context) }
        _ = try reader.moveForward { _ in }
        #expect(try reader.read { try view.groups(in: $0) } == [1, 5])
    }

    @Test("don't prevent saving an entity whose former state the index's function refuses")
    func refusals() throws {
        struct Refusal: Error {}
        let refuses = Switch()
        let column = IndexColumn<String>("text")
        let indexes: [any RegisteredIndex] = [
            MapIndex("map", version: "1", reducer: .last()) { (note: TaggedNote, emit: inout MapEmitter<String>) in
                if refuses.isOn, note.text == "odd" { throw Refusal() }
                emit(key: .string(note.id), value: note.text)
            },
            View<TaggedNote, String>(
                "view", version: "1",
                groupedBy: { note in
                    if refuses.isOn, note.text == "odd" { throw Refusal() }
                    return note.text
                }),
            SecondaryIndex("columns", version: "1", columns: [column]) {
                (note: TaggedNote, row: inout IndexRowWriter) in
                if refuses.isOn, note.text == "odd" { throw Refusal() }
                row[column] = note.text
            },
        ]
        let database = try Database.inMemory(models: TaggedNote.self, indexes: indexes)
        try database.write { context in
            for id in ["a", "b", "c"] { try TaggedNote(id: id, text: "odd").save(to: &context) }
        }
        refuses.isOn = true
        try database.write { context in
            try TaggedNote(id: "a", text: "even").save(to: &context)
            try TaggedNote.delete(id: "b", from: &context)
        }
        // A new entity is refused, with the program's error.
        #expect(throws: Refusal.self) {
            try database.write { context in try TaggedNote(id: "d", text: "odd").save(to: &context) }
        }
        refuses.isOn = false
        #expect(try database.isWhole())
        #expect(try database.read { try TaggedNote.query().count(in: $0) } == 2)
    }
}

/// A switch that changes the results of map functions.
private final class Switch: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    var isOn: Bool {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
    }
}
