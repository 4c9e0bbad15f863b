// SPDX-License-Identifier: Apache-2.0
// The raw forms: rows with their index entries, without hooks, relations and deleted entities.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Item {
    @Index<Self>(\.size) private var bySize
    @Unique<Self>(\.name, collisions: .replace) private var byName
    @FullTextIndex<Self>(\.name) private var search
    let id: String
    var name: String
    var size: Int?
    @Relationship(deleteRule: .cascade, inverse: \.parent) var parts: [Item]?
    @Relationship(inverse: \.parts) var parent: Item?

    func willDelete(from context: inout Context) throws { throw Called() }
    mutating func willSave(to context: inout Context) throws { name += "!" }
    struct Called: Error {}
}

@Suite("Raw forms")
struct RawFormsTests {
    @Test("insert stores row and index entries, and leaves relations alone")
    func insert() throws {
        var context = Context()
        try context.insert(Item(id: "1", name: "one", size: 3, parts: .ids(["2"])))
        #expect(try context.find("1" as String).map { (item: Item) in item.name } == "one")
        #expect(try Item.filter(\.size == 3).ids(in: context) == ["1"])
        #expect(try Item.filter(.string(\.name, matches: "one")).ids(in: context) == ["1"])
        #expect(try Item.query("1").id(\.$parts).resolve(in: context)?.$parts.ids == [])
        try context.insert(Item(id: "1", name: "uno"), options: .fragment)
        #expect(try Item.filter(\.size == 3).ids(in: context) == ["1"])
        try context.insert(nil as Item?)
        try context.insert([Item(id: "2", name: "two"), Item(id: "3", name: "three")])
        #expect(try context.ids(Item.self) == ["1", "2", "3"])
        #expect(try context.isWhole())
    }

    @Test("insert refuses a key that another entity has, also in an index that would upsert")
    func collision() throws {
        var context = Context()
        try context.insert(Item(id: "1", name: "one"))
        let error = #expect(throws: HornbeamError.self) { try context.insert(Item(id: "2", name: "one")) }
        #expect(error?.code == .uniqueViolation)
        #expect(error?.message.contains("name \"one\"") == true)
        #expect(try context.ids(Item.self) == ["1"])
    }

    @Test("remove takes row and index entries, runs no hook, keeps links, and leaves no deleted entity")
    func remove() throws {
        var context = Context()
        try Item(id: "1", name: "one", size: 3, parts: .relation([Item(id: "2", name: "two")])).save(to: &context)
        try Item(id: "9", name: "nine").save(to: &context)
        try context.remove(Item.self, id: "1")
        #expect(try context.ids(Item.self) == ["2", "9"])
        #expect(try Item.filter(\.size == 3).count(in: context) == 0)
        #expect(try context.ids(Deleted<Item>.self) == [])
        #expect(try Item.query("2").id(\.$parent).resolve(in: context)?.$parent.id == "1")
        #expect(try Item.query("2").with(\.$parent).resolve(in: context)?.parent == nil)
        #expect(try context.isWhole())
        try context.insert(Item(id: "1", name: "again"))
        #expect(try Item.query("1").id(\.$parts).resolve(in: context)?.$parts.ids == ["2"])
        try context.removeAll(Item.self, ids: ["1", "9", "none"])
        #expect(try context.ids(Item.self) == ["2"])
        #expect(try context.isWhole())
    }
}
