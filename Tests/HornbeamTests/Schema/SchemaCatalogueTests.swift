// SPDX-License-Identifier: Apache-2.0
// Opening with other models than those of the store: the parts that are updated, kept, and refused.

import Foundation
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private func item(
    _ columns: [ColumnDescription], _ indexes: [IndexDescription] = [], _ relations: [RelationDescription] = []
)
    -> EntityDescription
{
    EntityDescription(name: "Item", columns: [column("id", .string)] + columns, indexes: indexes, relations: relations)
}

private func index(_ name: String, _ columns: [String], _ kind: IndexDescription.Kind = .value) -> IndexDescription {
    IndexDescription(name: name, kind: kind, components: columns.map { .init(column: $0) })
}

private func filled() throws -> CoreStore {
    let store = try CoreStore([item([column("a", .int64), column("b", .string)], [index("byA", ["a"])])])
    for number in 0..<50 {
        try store.save("Item", [.string("i\(number)"), .int(Int64(number % 7)), .string("text \(number)")])
    }
    return store
}

@Suite("Schema catalogue")
struct SchemaCatalogueTests {
    @Test("entities in another format are refused, with a remedy", arguments: ["1", "3", "?"])
    func otherFormat(format: String) throws {
        let store = try filled()
        let transaction = store.core.transaction
        try transaction.put(require(transaction.tree("schema")), Array("format".utf8), Array(format.utf8))
        let error = #expect(throws: HornbeamError.self) { try SchemaCatalogue.load(transaction) }
        #expect(error?.code == .notAStore)
        let advice = format == "1" ? "export them with the Hornbeam that made it" : "use a newer Hornbeam"
        #expect(error?.message.contains("have format \(format)") == true)
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
    }

    @Test("opening again with the same models, in any order of indexes, changes nothing")
    func same() throws {
        let store = try filled()
        try store.reopen()
        let read = try store.store.beginRead()
        defer { read.abort() }
        let same = [item([column("a", .int64), column("b", .string)], [index("byA", ["a"])])]
        #expect(try SchemaCatalogue.open(same, in: read) != nil)
        let more = [item([column("a", .int64), column("b", .string), column("c", .optional(.bool))])]
        #expect(try SchemaCatalogue.open(more, in: read) == nil)
    }

    @Test("The order of full-text indexes is kept: the first of several over the same properties defines words")
    func textOrder() throws {
        let store = try filled()
        let columns = [column("a", .int64), column("b", .string)]
        let both = [index("one", ["b"], .text), index("two", ["b"], .text)]
        try store.reopen([item(columns, both)])
        try store.reopen([item(columns, both.reversed())])
        // The opening's changes are committed.
        try store.reopen()
        let read = try store.store.beginRead()
        defer { read.abort() }
        #expect(try SchemaCatalogue.open([item(columns, both.reversed())], in: read) != nil)
        #expect(try SchemaCatalogue.open([item(columns, both)], in: read) == nil)
    }

    @Test("added properties read as null in old rows, in any declared order; new indexes hold all rows")
    func added() throws {
        let store = try filled()
        try store.reopen([
            item(
                [column("c", .optional(.int64)), column("b", .string), column("a", .int64)],
                [index("byC", ["c", "a"]), index("byB", ["b"], .unique), index("search", ["b"], .text)])
        ])
        #expect(try store.entries("x:Item:byA") == 0)
        #expect(try store.entries("x:Item:byC") == 50)
        try store.save("Item", [.string("new"), .int(9), .string("text new"), .int(1)])
        let query = EntityQuery(type: "Item", filter: .compare(column: 1, .equal, .int(9)))
        #expect(try store.ids(query) == [.string("new")])
        #expect(try store.core.explain(query).access.description.contains("byC"))
        let row = try require(store["Item"].rowID(of: .string("i8")))
        #expect(try store["Item"].row(row)?.values() == [.string("i8"), .null, .string("text 8"), .int(1)])
        let text = EntityQuery(type: "Item", filter: .matches(columns: [2], text: "new"), sort: [.bestScore])
        #expect(try store.ids(text) == [.string("new")])
        #expect(try store.problems() == [])
    }

    @Test("a removed property is ignored and kept; a changed index is rebuilt")
    func removed() throws {
        let store = try filled()
        try store.reopen([item([column("b", .string)], [index("byA", ["b"])])])
        #expect(try store["Item"].type.description.columns.map(\.name) == ["id", "b", "a"])
        #expect(try store.problems() == [])
        try store.reopen([item([column("a", .int64), column("b", .string)])])
        let row = try require(store["Item"].rowID(of: .string("i8")))
        #expect(try store["Item"].row(row)?.value(1) == .int(1))
    }

    @Test("the command opens a store by its stored schema")
    func stored() throws {
        let store = try filled()
        try store.reopen()
        let schema = try SchemaCatalogue.load(store.core.transaction)
        #expect(schema.typeNames == ["Item"])
        #expect(try schema.type("Item").description == store["Item"].type.description)
    }

    @Test(
        "impossible changes are refused with the property's name, and the store stays unchanged",
        arguments: [
            (item([column("a", .string), column("b", .string)]), "Item.a"),
            (EntityDescription(name: "Item", columns: [column("id", .int64)]), "Item.id"),
            (EntityDescription(name: "Item", columns: [column("key", .string)]), "id"),
            (item([column("a", .int64), column("a", .int64)]), "same name"),
            (item([column("b", .string)], [index("byX", ["x"])]), "byX"),
            (item([column("a", .int64)], [index("t", ["a"], .text)]), "“a”"),
            (item([column("a", .int64)], [index("byA", ["a"], .unique)]), "same a"),
            (item([], [], [RelationDescription(name: "r", target: "Nobody", toMany: true)]), "Nobody"),
            (item([], [], [RelationDescription(name: "r", target: "Item", toMany: true, inverse: "s")]), "Item.s"),
        ] as [(EntityDescription, String)])
    func refused(_ description: EntityDescription, _ name: String) throws {
        let store = try filled()
        #expect {
            try store.reopen([description])
        } throws: { error in
            guard let error = error as? HornbeamError else { return false }
            return error.message.contains(name)
        }
        #expect(try store["Item"].type.description.columns.map(\.name) == ["id", "a", "b"])
        #expect(try store.entries("x:Item:byA") == 50)
        #expect(try store.problems() == [])
    }

    @Test("an optional property can become a required one if no row has nil; the opposite is always allowed")
    func optionality() throws {
        let store = try filled()
        let loose = item([column("a", .optional(.int64)), column("b", .string)], [index("byA", ["a"])])
        let strict = item([column("a", .int64), column("b", .string)], [index("byA", ["a"])])
        try store.reopen([loose])
        #expect(try store.problems() == [])
        try store.reopen([strict])
        #expect(try store.problems() == [])
        try store.reopen([loose])
        try store.save("Item", [.string("nobody"), .null, .string("")])
        #expect {
            try store.reopen([strict])
        } throws: { error in
            (error as? HornbeamError)?.message.contains("Item \"nobody\" has no value for “a”") == true
        }
        #expect(try store.problems() == [])
    }

    @Test("a type nested deeper than the store can represent is refused when it is declared")
    func nesting() throws {
        var type = ColumnType.int64
        for _ in 0..<17 { type = .array(type) }
        #expect {
            _ = try CoreStore([item([column("deep", type)])])
        } throws: { error in
            (error as? HornbeamError)?.message.contains("Item.deep") == true
        }
    }

    /// Two byte strings with the same cut key: they have the same beginning, and their hashes collide.
    private static let collidingTails: [[UInt8]] = [
        [
            252, 113, 118, 5, 231, 199, 215, 118, 3, 50, 66, 122, 213, 31, 106, 112, 209, 39, 61, 15, 8, 186, 30, 147,
            142, 57,
        ],
        [
            246, 176, 22, 9, 62, 198, 241, 59, 9, 196, 64, 140, 68, 55, 110, 47, 78, 225, 117, 26, 45, 177, 12, 154,
            153, 59,
        ],
    ]

    @Test("a unique index finds equal long keys that aren't adjacent, with another key of the same hash between them")
    func collidingKeys() throws {
        let data = Self.collidingTails.map { Data(repeating: UInt8(ascii: "x"), count: 883) + $0 }
        var cut = data.map { [1] + Array($0) + [0] }
        #expect(cut[0] != cut[1])
        for position in cut.indices { IndexKeyBytes.cut(&cut[position]) }
        try #require(cut[0] == cut[1])
        let plain = item([column("b", .data)])
        let unique = item([column("b", .data)], [index("byB", ["b"], .unique)])
        let store = try CoreStore([plain])
        try store.save("Item", [.string("p"), .data(data[0])])
        try store.save("Item", [.string("q"), .data(data[1])])
        try store.reopen([unique])
        #expect(try store.entries("u:Item:byB") == 2)
        #expect(try store.problems() == [])
        #expect(throws: HornbeamError.self) { try store.save("Item", [.string("r"), .data(data[0])]) }
        try store.reopen([plain])
        try store.save("Item", [.string("r"), .data(data[0])])
        #expect {
            try store.reopen([unique])
        } throws: { error in
            (error as? HornbeamError)?.code == .uniqueViolation
        }
    }

    @Test("a unique index is not built over equal keys that are too long for the tree")
    func longDuplicates() throws {
        let store = try CoreStore([item([column("b", .string)])])
        let long = String(repeating: "x", count: 3000)
        for (id, text) in [("p", long + "1"), ("q", long + "2")] {
            try store.save("Item", [.string(id), .string(text)])
        }
        try store.reopen([item([column("b", .string)], [index("byB", ["b"], .unique)])])
        #expect(try store.problems() == [])
        try store.reopen([item([column("b", .string)])])
        try store.save("Item", [.string("r"), .string(long + "1")])
        #expect(throws: HornbeamError.self) {
            try store.reopen([item([column("b", .string)], [index("byB", ["b"], .unique)])])
        }
    }
}
