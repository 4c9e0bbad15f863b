// SPDX-License-Identifier: Apache-2.0
// Rows with their ids and indexes: the entries that a save writes, leaves alone, and refuses.

import HornbeamPages
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let package = EntityDescription(
    name: "Package",
    columns: [
        ColumnDescription(name: "id", type: .string), ColumnDescription(name: "name", type: .string),
        ColumnDescription(name: "size", type: .int64), ColumnDescription(name: "code", type: .optional(.string)),
        ColumnDescription(name: "text", type: .string),
    ],
    indexes: [
        IndexDescription(name: "bySize", kind: .value, components: [.init(column: "size")]),
        IndexDescription(name: "byCode", kind: .unique, components: [.init(column: "code")]),
        IndexDescription(
            name: "byNameSize", kind: .unique, components: [.init(column: "name"), .init(column: "size")]),
        IndexDescription(name: "search", kind: .text, components: [.init(column: "name"), .init(column: "text")]),
    ])

private func row(_ id: String, _ name: String, _ size: Int64, _ code: String?, _ text: String = "") -> [Value] {
    [.string(id), .string(name), .int(size), code.map { .string($0) } ?? .null, .string(text)]
}

@Suite("Entity store")
struct EntityStoreTests {
    @Test("an integer id is its own row id if possible, others are assigned and can be looked up")
    func rowIDs() throws {
        let store = try CoreStore([
            EntityDescription(name: "N", columns: [ColumnDescription(name: "id", type: .int64)]), package,
        ])
        #expect(try store["N"].ensureRowID(of: .int(7)) == RowID(rawValue: 7))
        #expect(try store.entries("i:N") == 0)
        let negative = try store["N"].ensureRowID(of: .int(-1))
        #expect(negative == RowID.firstAssigned)
        #expect(try store["N"].id(of: negative) == .int(-1))
        let unsaved = try store["Package"].ensureRowID(of: .string("later"))
        #expect(try store["Package"].id(of: unsaved) == .string("later"))
        #expect(try store["Package"].rowID(of: .string("never")) == nil)
        try store.save("Package", row("later", "n", 1, nil))
        #expect(try store.entries("n:Package") == 0)
        try store.reopen()
        #expect(try store["Package"].rowID(of: .string("later")) == unsaved)
        #expect(try store["N"].ensureRowID(of: .int(1 << 40)).rawValue == RowID.firstAssigned.rawValue + 1)
        #expect(throws: HornbeamError.self) { try store["N"].rowID(of: .string("x")) }
        for id in [7, -1, 1 << 40] { try store.save("N", [.int(Int64(id))]) }
        #expect(try store.problems() == [])
    }

    @Test("a save or deletion that a full-text index refuses changes nothing")
    func refusedByText() throws {
        let store = try CoreStore([package])
        let rowID = try store.save("Package", row("a", "n", 1, "c", "some text"))
        try store.reopen()
        let transaction = store.core.transaction
        let statistics = try require(transaction.tree("t:Package:search:statistics"))
        let sound = Array(try require(transaction.get(statistics, [0])))
        var other = sound
        other[1] ^= 1  // The analyzer.
        try transaction.put(statistics, [0], other)

        #expect(throws: StorageError.self) { try store.save("Package", row("a", "m", 2, "d", "other text")) }
        #expect(throws: StorageError.self) { try store.save("Package", row("b", "m", 2, "d", "more text")) }
        #expect(throws: StorageError.self) { try store["Package"].delete(rowID) }
        #expect(try store["Package"].row(rowID)?.values() == row("a", "n", 1, "c", "some text"))

        try transaction.put(statistics, [0], sound)
        #expect(try store["Package"].count() == 1)
        for tree in ["x:Package:bySize", "u:Package:byCode", "i:Package"] { #expect(try store.entries(tree) == 1) }
        #expect(try store.problems() == [])
    }

    @Test(
        "a counter of row ids that could overflow is refused as corrupt",
        arguments: [UInt64.max / 2 + 1, UInt64.max - 1])
    func counterTooLarge(next: UInt64) throws {
        let store = try CoreStore([package])
        try SchemaTree.setNextRowID(next, "Package", in: store.core.transaction)
        #expect(throws: StorageError.self) { try store["Package"].ensureRowID(of: .string("a")) }
    }

    @Test("an update that affects no index writes nothing to one")
    func untouchedIndexes() throws {
        let store = try CoreStore([package])
        let rowID = try store.save("Package", row("a", "n", 1, "c", "some text"))
        let type = try store["Package"].type
        let bytes = { (values: [Value]) throws -> [UInt8] in
            var writer = RowWriter(layout: type.layout)
            for (column, value) in values.enumerated() { writer.set(value, column) }
            return try writer.finish()
        }
        func changes(_ values: [Value]) throws -> IndexChanges {
            try bytes(values).withUnsafeBytes { raw in
                try IndexChanges(
                    of: type, from: try store["Package"].row(rowID), to: try RowReader(raw, layout: type.layout))
            }
        }
        #expect(try changes(row("a", "n", 1, "c", "some text")).keys.isEmpty)
        #expect(try changes(row("a", "n", 1, "c", "some text")).texts.isEmpty)
        let sizeOnly = try changes(row("a", "n", 2, "c", "some text"))
        #expect(sizeOnly.keys.map(\.index.description.name) == ["bySize", "byNameSize"])
        #expect(sizeOnly.texts.isEmpty)
        let textOnly = try changes(row("a", "n", 1, "c", "other"))
        #expect(textOnly.keys.isEmpty)
        #expect(textOnly.texts.count == 1)
    }

    @Test("a taken unique key is refused with both ids, and the refused save leaves nothing behind")
    func uniqueness() throws {
        let store = try CoreStore([package])
        try store.save("Package", row("a", "n", 1, "same"))
        let before = try ["e:Package", "u:Package:byCode", "u:Package:byNameSize", "x:Package:bySize"].map(
            store.entries)
        #expect {
            try store.save("Package", row("b", "other", 2, "same"))
        } throws: { error in
            guard let error = error as? HornbeamError else { return false }
            return error.code == .uniqueViolation && error.message.contains("byCode") && error.message.contains("\"a\"")
                && error.message.contains("\"b\"")
        }
        #expect(
            try ["e:Package", "u:Package:byCode", "u:Package:byNameSize", "x:Package:bySize"].map(store.entries)
                == before)
        try store.save("Package", row("b", "n", 2, nil))
        try store.save("Package", row("c", "n", 3, nil))
        let conflict = try store["Package"]
        var writer = conflict.makeRow()
        for (column, value) in row("d", "n", 1, "same").enumerated() { writer.set(value, column) }
        let conflicts = try conflict.uniqueConflicts(try writer.finish(), rowID: RowID(rawValue: 1 << 41))
        #expect(conflicts.map(\.index.name) == ["byCode", "byNameSize"])
        #expect(try store["Package"].rowID(of: .string("d")) == nil)
        // Canonically equivalent strings are one key.
        try store.save("Package", row("e", "n", 9, "caf\u{e9}"))
        #expect(throws: HornbeamError.self) { try store.save("Package", row("f", "n", 10, "cafe\u{301}")) }
        try store.rollBack()
    }

    @Test("keys too long for a tree stay exact: equal ones collide, others don't")
    func longKeys() throws {
        let store = try CoreStore([package])
        let long = String(repeating: "x", count: 5000)
        try store.save("Package", row("a", long, 1, long + "1"))
        try store.save("Package", row("b", long + "y", 1, long + "2"))
        #expect(throws: HornbeamError.self) { try store.save("Package", row("c", "n", 1, long + "1")) }
        let query = EntityQuery(type: "Package", filter: .compare(column: 3, .equal, .string(long + "2")))
        #expect(try store.ids(query) == [.string("b")])
        #expect(try store.problems() == [])
    }

    @Test("deleting removes row, entries, text and id")
    func deletion() throws {
        let store = try CoreStore([package])
        let rowID = try store.save("Package", row("a", "name", 1, "c", "words here"))
        try store.save("Package", row("b", "name", 2, "d", "words there"))
        #expect(try store["Package"].delete(rowID))
        #expect(try !store["Package"].delete(rowID))
        #expect(try store["Package"].rowID(of: .string("a")) == nil)
        let query = EntityQuery(
            type: "Package", filter: .matches(columns: [1, 4], text: "words"), sort: [.bestScore], limit: 2)
        #expect(try store.ids(query) == [.string("b")])
        #expect(try store["Package"].count() == 1)
        #expect(try store.problems() == [])
        // An entity that gets a deleted entity's id is a new one.
        let again = try store.save("Package", row("a", "name", 1, "c"))
        #expect(again != rowID)
    }

    @Test("a rolled back transaction leaves no row, no entry and no id")
    func rollBack() throws {
        let store = try CoreStore([package])
        try store.save("Package", row("a", "name", 1, "c", "words"))
        try store.reopen()
        try store.save("Package", row("b", "name", 2, "d", "words"))
        try store.rollBack()
        #expect(try store["Package"].count() == 1)
        #expect(try store["Package"].rowID(of: .string("b")) == nil)
        #expect(try store.problems() == [])
    }

    @Test("the check finds an entry without row, a row without entry and a one-sided link")
    func check() throws {
        let store = try CoreStore([package])
        let rowID = try store.save("Package", row("a", "name", 1, "c", "words"))
        let transaction = store.core.transaction
        let tree = try require(transaction.tree("x:Package:bySize"))
        try transaction.put(tree, [1, 2, 3] + RowID(rawValue: 99).key, [])
        #expect(try store.problems().contains { $0.contains("bySize") && $0.contains("no row") })
        let rows = try require(transaction.tree("e:Package"))
        _ = try transaction.delete(rows, rowID.key)
        #expect(try store.problems().contains { $0.contains("byCode") })
        #expect(try store.problems().contains { $0.contains("search") })
    }
}
