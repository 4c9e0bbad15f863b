// SPDX-License-Identifier: Apache-2.0
// Two versions of a program that open one file in turn: each finds the other's data, some of it is rebuilt, and some
// is refused. (LaterModelTests is about properties that the earlier version lacks.)

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private func type(_ columns: [ColumnDescription], _ indexes: [IndexDescription] = []) -> EntityDescription {
    EntityDescription(name: "Item", columns: [column("id", .int64)] + columns, indexes: indexes)
}

private func index(_ name: String, _ column: String, _ kind: IndexDescription.Kind) -> IndexDescription {
    IndexDescription(name: name, kind: kind, components: [.init(column: column)])
}

@Suite("Two versions of a program")
struct TwoVersionsTests {
    private let earlier = type([column("a", .optional(.string))])
    private let later = type(
        [column("a", .optional(.string)), column("b", .optional(.int64))],
        [index("byB", "b", .value), index("oneA", "a", .unique)])

    @Test("an index that the earlier version drops has every row again when the later one opens")
    func indexesComeBack() throws {
        let store = try CoreStore([later])
        for number in 0..<20 { try store.save("Item", [.int(Int64(number)), .string("a\(number)"), .int(5)]) }
        for round in 0..<3 {
            try store.reopen([earlier])
            #expect(try store.entries("x:Item:byB") == 0)
            try store.save("Item", [.int(3), .string("changed \(round)")])
            try store.save("Item", [.int(Int64(100 + round)), .string("made \(round)")])
            #expect(try store.problems() == [])
            try store.reopen([later])
            #expect(try store.problems() == [])
            let query = EntityQuery(type: "Item", filter: .compare(column: 2, .equal, .int(5)))
            #expect(try store.ids(query).count == 20, "the earlier version kept what it doesn't know")
            #expect(try store.entries("x:Item:byB") == UInt64(store["Item"].count()))
        }
    }

    @Test("duplicates that the earlier version made refuse the later one, with both ids and the value, until they go")
    func duplicates() throws {
        let store = try CoreStore([later])
        try store.save("Item", [.int(1), .string("same"), .null])
        try store.reopen([earlier])
        try store.save("Item", [.int(2), .string("same")])
        #expect {
            try store.reopen([later])
        } throws: { error in
            guard let error = error as? HornbeamError, error.code == .uniqueViolation else { return false }
            return error.message.contains("1 and 2 have the same a \"same\"")
        }
        #expect(try store.problems() == [])
        try store["Item"].delete(RowID(rawValue: 2))
        try store.reopen([later])
        #expect(try store.problems() == [])
    }

    @Test("a property optional in only one version is refused only if there is a nil")
    func optionality() throws {
        let strict = type([column("a", .string)])
        let store = try CoreStore([strict])
        try store.save("Item", [.int(1), .string("x")])
        for types in [[earlier], [strict], [earlier]] { try store.reopen(types) }
        try store.save("Item", [.int(2), .null])
        #expect(throws: HornbeamError.self) { try store.reopen([strict]) }
        #expect(try store.problems() == [])
    }

    @Test("a renamed property is a new one to the earlier version; the later one is refused until one is removed")
    func renamed() throws {
        let store = try CoreStore([earlier])
        try store.save("Item", [.int(1), .string("x")])
        let rename = MigrationStep.rename(type: "Item", from: "a", to: "name", isRelation: false)
        let now = type([column("name", .optional(.string))])
        try store.reopen([now], [rename])
        try store.reopen([earlier], [])
        #expect(try store["Item"].row(RowID(rawValue: 1))?.value(1) == .null)
        #expect {
            try store.reopen([now], [rename])
        } throws: { error in
            (error as? HornbeamError)?.message.contains(".forget(Item.self, \"a\")") == true
        }
        try store.reopen([now], [.forget(type: "Item", name: "a")])
        try store.reopen([now], [rename])
        #expect(try store["Item"].row(RowID(rawValue: 1))?.value(1) == .string("x"))
    }

    @Test("a unique index that becomes an ordinary one, and back, is built anew each time")
    func kinds() throws {
        let store = try CoreStore([type([column("a", .optional(.string))], [index("byA", "a", .unique)])])
        for number in 0..<10 { try store.save("Item", [.int(Int64(number)), .string("a\(number)")]) }
        try store.reopen([type([column("a", .optional(.string))], [index("byA", "a", .value)])])
        #expect(try store.problems() == [])
        try store.save("Item", [.int(20), .string("a1")])
        #expect(try store.entries("x:Item:byA") == 11)
        #expect(throws: HornbeamError.self) {
            try store.reopen([type([column("a", .optional(.string))], [index("byA", "a", .unique)])])
        }
        try store["Item"].delete(RowID(rawValue: 20))
        try store.reopen([type([column("a", .optional(.string))], [index("byA", "a", .unique)])])
        #expect(try store.problems() == [])
    }
}
