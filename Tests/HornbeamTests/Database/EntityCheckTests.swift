// SPDX-License-Identifier: Apache-2.0
// The findings of a check: each kind of damage is put into a sound store, and the check must describe it, even beside
// other faults.

import HornbeamPages
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let user = EntityDescription(
    name: "Account",
    columns: [ColumnDescription(name: "id", type: .string), ColumnDescription(name: "name", type: .string)],
    indexes: [
        IndexDescription(name: "byName", kind: .unique, components: [.init(column: "name")]),
        IndexDescription(name: "search", kind: .text, components: [.init(column: "name")]),
    ])

private let task = EntityDescription(
    name: "Task",
    columns: [ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "code", type: .string)],
    indexes: [IndexDescription(name: "byCode", kind: .unique, components: [.init(column: "code")])],
    relations: [
        RelationDescription(name: "owner", target: "Account", toMany: false, required: false, inverse: nil)
    ])

@EntityModel
private struct Note {
    let id: Int
    var text: String
}

@Suite("Check of entities")
struct EntityCheckTests {
    private static func store() throws -> CoreStore {
        let store = try CoreStore([user, task])
        for name in ["ann", "bob"] { try store.save("Account", [.string(name), .string("name of \(name)")]) }
        for number in 1...3 { try store.save("Task", [.int(Int64(number)), .string("code \(number)")]) }
        #expect(try store.problems() == [])
        return store
    }

    private static func row(_ store: CoreStore, _ id: String) throws -> RowID {
        try require(store["Account"].rowID(of: .string(id)))
    }

    @Test("a second id that leads to an entity")
    func strayID() throws {
        for stray in ["a", "carl"] {
            let store = try Self.store()
            let users = try store["Account"]
            let ann = try Self.row(store, "ann")
            try store.core.transaction.put(users.type.ids, users.idKey(.string(stray)), ann.stored)
            #expect(try store.problems() == ["Account \"ann\": another id leads to its \(ann) too"])
        }
    }

    @Test("an id that leads to another entity")
    func swappedID() throws {
        let store = try Self.store()
        let users = try store["Account"]
        try store.core.transaction.put(users.type.ids, users.idKey(.string("ann")), Self.row(store, "bob").stored)
        let problems = try store.problems()
        #expect(problems.contains { $0.hasPrefix("Account \"ann\": its id doesn't lead to its row") }, "\(problems)")
        #expect(problems.contains { $0.hasPrefix("Account \"bob\": another id leads to its row") }, "\(problems)")
    }

    @Test("an unsaved entity that no id leads to, and one that nothing links")
    func orphan() throws {
        let store = try Self.store()
        let users = try store["Account"]
        let later = try users.ensureRowID(of: .string("later"))
        let start = "Account: row \(later.rawValue) is listed as unsaved, and"
        #expect(try store.problems() == ["\(start) nothing links it"])
        _ = try store.core.transaction.delete(users.type.ids, users.idKey(.string("later")))
        let words = ["\(start) nothing links it", "\(start) no id leads to it"]
        #expect(try store.problems() == words)
        try store.core.transaction.put(users.type.unsaved, later.key, [9])
        #expect(try store.problems() == words)
    }

    @Test("an unreadable row is reported, and so are problems after it")
    func damagedRow() throws {
        let store = try Self.store()
        let ann = try Self.row(store, "ann")
        let transaction = store.core.transaction
        try transaction.put(store["Account"].type.rows, ann.key, [0])
        let side = try store["Task"].type.relation("owner")
        try transaction.put(side.list, LinkEnd(RowID(rawValue: 2), 0), LinkEnd(RowID(rawValue: 77), 2))
        let problems = try store.problems()
        func has(_ start: String) -> Bool { problems.contains { $0.hasPrefix(start) } }
        #expect(has("Account row \(ann.rawValue): corrupt data"), "\(problems)")
        #expect(has("index “byName” of Account, entry for row \(ann.rawValue): corrupt data"), "\(problems)")
        #expect(has("full text “search” of Account was not compared with its entities: corrupt data"), "\(problems)")
        #expect(has("relation Task.owner: a link leads to row 77, which is unknown"), "\(problems)")
    }

    @Test("two rows with the same key of more bytes than an index keeps")
    func cutKeys() throws {
        let store = try Self.store()
        let tasks = try store["Task"]
        let long = String(repeating: "x", count: 1_000)
        try store.save("Task", [.int(4), .string(long)])
        try store.save("Task", [.int(5), .string(long + "y")])
        #expect(try store.problems() == [])
        // Row 2 gets the key of row 4, in the index too.
        let transaction = store.core.transaction
        let index = try require(tasks.type.indexes.first)
        let rowID = RowID(rawValue: 2)
        let forged = try store.row("Task", [.int(2), .string(long)])
        let old = try index.entry(index.key(of: require(tasks.row(rowID))), rowID)
        let new = try forged.withUnsafeBytes { bytes in
            try index.entry(index.key(of: RowReader(bytes, of: tasks.type)), rowID)
        }
        try transaction.put(tasks.type.rows, rowID.key, forged)
        #expect(try transaction.delete(index.tree, old.key))
        try transaction.put(index.tree, new.key, new.value)
        #expect(try store.problems() == ["index “byCode” of Task: row 4 has the same key as another row"])
    }

    @Test("data of a deleted entity that can't be restored")
    func tombstones() throws {
        var context = Context()
        try Note(id: 1, text: "kept").save(to: &context)
        try Note.delete(id: 1, from: &context)
        try context.session.run { session in
            var problems: [String] = []
            #expect(try EntityCheck(session.core).run { problems.append($0) })
            let deleted = try session.store(Deleted<Note>.self)
            var row = deleted.makeRow()
            row.set(.int(1), 0)
            row.set(.json("{"), 1)
            row.set(.json("[]"), 2)
            try deleted.transaction.put(deleted.type.rows, RowID(rawValue: 1).key, row.finish())
            #expect(try !EntityCheck(session.core).run { problems.append($0) })
            #expect(problems == ["entity", "links"].map { "Deleted<Note> 1 can't be restored: \($0) is no object" })
        }
    }
}
