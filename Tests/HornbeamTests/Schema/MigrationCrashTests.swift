// SPDX-License-Identifier: Apache-2.0
// A migration that dies at any file operation, or meets a full or failing disk, leaves the file either as it was or
// wholly migrated.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Ledger {
    @Index<Self>(\.amount) private var byAmount
    @FullTextIndex<Self>(\.text) private var search
    let id: String
    var amount: Int
    var text: String
}

private let old = EntityDescription(
    name: "Book",
    columns: [column("id", .string), column("amount", .string), column("note", .string), column("gone", .string)],
    indexes: [IndexDescription(name: "byAmount", kind: .value, components: [.init(column: "amount")])])

private let deleted = EntityDescription(
    name: "Deleted<Book>",
    columns: [
        column("id", .string), column("entity", .json), column("links", .json), column("$updatedAt", .optional(.date)),
    ])

private let steps: [Migration] = [
    .rename("Book", to: Ledger.self), .rename(Ledger.self, "note", to: \.text), .forget(Ledger.self, "gone"),
    .convert(Ledger.self, \.amount, from: String.self) { Int($0) ?? 0 },
    .run("again") { context in try Ledger(id: "own", amount: -1, text: "step").save(to: &context) },
]

@Suite("Migrations cut short")
struct MigrationCrashTests {
    private static let count = 400

    private func file() throws -> MigratedFile {
        try MigratedFile([old, deleted]) { store in
            for number in 0..<Self.count {
                let text = "word\(number % 7) \(String(repeating: "x", count: number % 300))"
                try store.save("Book", [.string("b\(number)"), .string("\(number)"), .string(text), .string("away")])
            }
            for number in 0..<40 {
                let entity = #"{"id":"d\#(number)","amount":"\#(number)","note":"","gone":"away"}"#
                try store.save(
                    "Deleted<Book>", [.string("d\(number)"), .json(entity), .json("{}"), .date(Double(number))])
            }
        }
    }

    /// Returns whether all entities in an image are migrated; false if all of them are as they were.
    private func isMigrated(_ image: [UInt8]?, _ place: Comment) throws -> Bool {
        let store = try TreeStore.open(file: try SimulatedDisk(image: image))
        #expect(try store.check { Issue.record("\($0), \(place)") }, place)
        let read = try store.beginRead()
        defer { read.abort() }
        let schema = try SchemaCatalogue.load(read)
        let core = StoreTransaction(read, schema: schema)
        #expect(try EntityCheck(core).run { Issue.record("\($0), \(place)") }, place)
        let isMigrated = schema.types["Ledger"] != nil
        let type = isMigrated ? "Ledger" : "Book"
        #expect(schema.typeNames.sorted() == [type, "Deleted<\(type)>"].sorted(), place)
        let entities = try core.store(type)
        #expect(try entities.count() == Self.count + (isMigrated ? 1 : 0), place)
        let row = try #require(try entities.rowID(of: .string("b7")).flatMap { try entities.row($0) }, place)
        #expect(try row.value(entities.type.column("amount")) == (isMigrated ? .int(7) : .string("7")), place)
        let gone = try core.store("Deleted<\(type)>")
        #expect(try gone.count() == 40, place)
        let tombstone = try #require(try gone.rowID(of: .string("d7")).flatMap { try gone.row($0) }, place)
        let entity =
            isMigrated ? #"{"id":"d7","amount":7,"text":""}"# : #"{"id":"d7","amount":"7","note":"","gone":"away"}"#
        #expect(try tombstone.values() == [.string("d7"), .json(entity), .json("{}"), .date(7)], place)
        if !isMigrated { #expect(schema.types["Book"]?.description == old, place) }
        return isMigrated
    }

    /// Opens the file with a plan of faults. Returns whether opening succeeded.
    private func migrate(_ disk: SimulatedDisk) -> Bool {
        guard let database = try? MigratedFile.open(disk, [Ledger.self], steps) else { return false }
        try? database.close()
        return true
    }

    @Test("a crash at any call leaves all of the old or all of the new, and acknowledged data stays", .seeded)
    func crashes() throws {
        try file().crashEverywhere(migrate, isMigrated)
    }

    @Test("a disk that fails or is full leaves a file that opens with the old models", arguments: [EIO, ENOSPC])
    func faults(code: Int32) throws {
        try file().failEverywhere(code, migrate, isMigrated)
    }
}
