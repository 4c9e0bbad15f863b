// SPDX-License-Identifier: Apache-2.0
// Registered indexes and the events that can outdate them: columns dropped and added again, rows that become
// unreadable, and commits that fail while others register.

import Foundation
import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

private typealias TextIndex = MapIndex<TaggedNote, NoValue, CountReducer<NoValue>>

private func byText(_ name: String = "byText") -> TextIndex {
    MapIndex(name, version: "1") { (note: TaggedNote, emit: inout MapEmitter<NoValue>) in
        emit(key: .string(note.text))
    }
}

@EntityModel
private struct Lamp {
    enum Colour: String { case red, green }

    let id: Int
    var colour: Colour
}

@Suite("Registered indexes that are left behind")
struct RegisteredStateTests {
    @Test("removing columns and adding them again doesn't make an index current again", arguments: [false, true])
    func columns(missesRows: Bool) throws {
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [TaggedNote.self], [])
        try database.register(byText())
        try database.write { context in try TaggedNote(id: "a", text: "first").save(to: &context) }
        var description = try #require(database.schemaDescription.first)
        description.columns.removeAll { $0.name == "text" }
        try database.close()
        // A program that lacks the column and the index.
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let schema = try #require(
            try SchemaCatalogue.open([description], in: write, migrations: [.forget(type: "TaggedNote", name: "text")]))
        let core = StoreTransaction(write, schema: schema)
        if missesRows {
            let rows = try JSONRows("TaggedNote", core: core)
            for line in [#"{"id":"a","related":["x"]}"#, #"{"id":"b","related":["y"]}"#] {
                try Array(line.utf8).withUnsafeBytes { _ = try rows.save(line: $0) }
            }
        }
        try core.commit()
        try store.close()
        // The column is there again, and empty.
        database = try MigratedFile.open(disk, [TaggedNote.self], [])
        let error = #expect(throws: HornbeamError.self) { try byText().query().keys(in: database) }
        #expect(error?.code == .indexNotReady)
        #expect(try database.isWhole())
        try database.register(byText())
        #expect(try byText().query().keys(in: database) == (missesRows ? ["", ""] : [""]))
        #expect(try database.isWhole())
    }

    @Test("an unreadable missed row makes the index be rebuilt")
    func missedRows() throws {
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [TaggedNote.self], [])
        try database.register(byText())
        try database.write { context in try TaggedNote(id: "a", text: "first").save(to: &context) }
        try database.close()
        database = try MigratedFile.open(disk, [TaggedNote.self], [])
        try database.write { context in try TaggedNote(id: "a", text: "second").save(to: &context) }
        try database.close()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let missed = try #require(try write.tree("c:TaggedNote:byText"))
        var cursor = try write.cursor(missed)
        #expect(try cursor.first())
        try write.put(missed, Array(cursor.key), [1, 0xFF])
        try write.commit()
        try store.close()
        database = try MigratedFile.open(disk, [TaggedNote.self], [])
        try database.register(byText())
        #expect(try byText().query().keys(in: database) == ["second"])
        #expect(try database.isWhole())
    }

    @Test(
        "the file has the indexes that several threads register at once, if commits fail too", arguments: [EIO, ENOSPC])
    func faults(code: Int32) throws {
        var call = 1
        while true {
            let disk = try SimulatedDisk()
            let database = try MigratedFile.open(disk, [TaggedNote.self], [])
            try database.write { context in try TaggedNote(id: "a", text: "first").save(to: &context) }
            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .error(code))
            let last = disk.calls + call
            DispatchQueue.concurrentPerform(iterations: 4) { place in
                // One of the registrations fails.
                if place < 3 {
                    try? database.register(byText("index\(place)"))
                    if place == 1 { _ = try? database.unregister("index1") }
                } else {
                    try? database.write { context in try TaggedNote(id: "b", text: "later").save(to: &context) }
                }
            }
            let read = try database.store.beginRead()
            let stored = try RegisteredCatalogue.read(read)
            #expect(database.registered.stored.map(\.name).sorted() == stored.map(\.name), "call \(call)")
            for (name, index) in database.registered.maintained {
                #expect(try read.tree("m:TaggedNote:\(name)") == index.tree, "call \(call)")
            }
            read.abort()
            if let isWhole = try? database.check(report: { Issue.record("\($0), call \(call)") }) { #expect(isWhole) }
            if disk.calls < last { break }
            call += 1
        }
    }

    @Test("an unreadable entity can be saved anew, and its rows are removed; so can one that the map refuses")
    func unreadableEntities() throws {
        struct Refused: Error {}
        let refuses = Mutex(false)
        let byColour = MapIndex("byColour", version: "1") { (lamp: Lamp, emit: inout MapEmitter<NoValue>) in
            if lamp.colour == .green, refuses.withLock({ $0 }) { throw Refused() }
            emit(key: .string(lamp.colour.rawValue))
            emit(key: .int(lamp.id))
        }
        let database = try Database.inMemory(models: Lamp.self, indexes: [byColour])
        try database.write { (context) throws in
            for id in 0..<5 { try Lamp(id: id, colour: id < 3 ? .red : .green).save(to: &context) }
        }
        // A row gets an unknown colour from outside; no index is updated.
        let write = try database.store.beginWrite()
        let core = StoreTransaction(
            write, schema: database.schema, capture: nil, registered: RegisteredIndexes(stored: []))
        let rows = try JSONRows("Lamp", core: core)
        try Array(#"{"id":1,"colour":"mauve"}"#.utf8).withUnsafeBytes { _ = try rows.save(line: $0) }
        try core.commit()
        #expect(throws: HornbeamError.self) {
            try database.read { context in try Lamp.query(1).resolve(in: context) }
        }
        refuses.withLock { $0 = true }
        try database.write { (context) throws in
            try Lamp(id: 1, colour: .red).save(to: &context)
            _ = try Lamp.query(4).delete(from: &context)
        }
        refuses.withLock { $0 = false }
        #expect(try byColour.query().keys(in: database) == [0, 1, 2, 3, "green", "red", "red", "red"])
        #expect(try database.isWhole())
    }

    @Test("an unreadable record is one index's failure: all else works, and the index can be dropped")
    func unreadableRecords() throws {
        let whole = [UInt8](byText().registration.identity)
        for value: [UInt8] in [[], [1, 2, 3], [UInt8](repeating: 1, count: 16) + Array("{}".utf8), whole + [7]] {
            for isBuild in [false, true] {
                let disk = try SimulatedDisk()
                var database = try MigratedFile.open(disk, [TaggedNote.self], [])
                try database.register(byText("a:byText"))
                try database.register(byText())
                try database.write { context in try TaggedNote(id: "a", text: "first").save(to: &context) }
                try database.close()
                let store = try TreeStore.open(file: disk)
                let write = try store.beginWrite()
                let key = Array("index:byText".utf8) + (isBuild ? [1] : [])
                try write.put(try #require(try write.tree("schema")), key, value)
                try write.commit()
                try store.close()
                database = try MigratedFile.open(disk, [TaggedNote.self], [])
                try database.register(byText("a:byText"))
                try database.write { context in try TaggedNote(id: "b", text: "second").save(to: &context) }
                #expect(try byText("a:byText").query().keys(in: database) == ["first", "second"])
                #expect(try database.registeredIndexes().first?.state == .unreadable)
                #expect(try database.registeredIndexes().first?.name == "byText")
                if !isBuild {
                    let asked = #expect(throws: HornbeamError.self) { try byText().query().keys(in: database) }
                    #expect(asked?.code == .corrupt || asked?.code == .indexNotReady)
                }
                let error = #expect(throws: HornbeamError.self) { try database.register(byText()) }
                #expect(error?.code == .corrupt && error?.message.contains("unregister") == true)
                var problems: [String] = []
                #expect(try !database.check { problems.append($0) })
                #expect(problems.count == 1 && problems[0].contains("byText"))
                #expect(try database.unregister("byText"))
                #expect(try database.isWhole())
                #expect(try database.treeID("m:TaggedNote:byText") == nil)
                try database.register(byText())
                #expect(try byText().query().keys(in: database) == ["first", "second"])
                #expect(try byText("a:byText").query().keys(in: database) == ["first", "second"])
                #expect(try database.isWhole())
                try database.close()
            }
        }
    }
}
