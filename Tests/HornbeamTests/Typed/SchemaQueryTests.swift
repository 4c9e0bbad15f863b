// SPDX-License-Identifier: Apache-2.0
// Nested levels with a condition, and levels with all entities of a type, linked or not: such queries are for
// programs that send all changes since the last time.

import Foundation
import Testing

@testable import Hornbeam

@EntityModel
private struct Fellow: Codable {
    let id: String
    @Relationship(inverse: \.people) var groups: [Group]?
}

@EntityModel
private struct Group: Codable {
    let id: String
    @Relationship(inverse: \.groups) var people: [Fellow]?
    @Relationship(inverse: \.led) var leader: Leader?
}

@EntityModel
private struct Leader: Codable {
    let id: String
    @Relationship(inverse: \.leader) var led: Group?
}

/// All models of a program. Nothing is ever linked to this entity.
@EntityModel
private struct Everything: Codable {
    var id = "everything"
    @Relationship var people: [Fellow]? = nil
    @Relationship var groups: [Group]? = nil
    @Relationship var leader: Leader? = nil
    @Relationship var deletedPeople: [Deleted<Fellow>]? = nil
}

@Suite("Schema queries and nested conditions")
struct SchemaQueryTests {
    /// Returns a context with people a and b, of whom b is in group g, then a time, then person c, also in g.
    private func store() throws -> (Context, since: ClosedRange<Date>) {
        var context = Context()
        try Everything().save(to: &context)
        for id in ["b", "a"] { try Fellow(id: id).save(to: &context) }
        try Group(id: "g", people: .ids(["b"]), leader: .relation(Leader(id: "l"))).save(to: &context)
        let before = Date()
        while Date() <= before {}
        let since = Date()
        try Fellow(id: "c", groups: .ids(["g"])).save(to: &context)
        return (context, since...Date.distantFuture)
    }

    private func everything(_ context: Context, _ levels: Nested...) throws -> Everything {
        let list =
            levels.count == 1 ? Everything.queryAll(with: levels[0]) : Everything.queryAll(with: levels[0], levels[1])
        let all = try list.resolve(in: context)
        #expect(all.count == 1)
        return try #require(all.first)
    }

    @Test("list all entities of each to-many relation's type by their last saves, and none of a to-one's")
    func all() throws {
        var (context, _) = try store()
        try Fellow(id: "d").save(to: &context)
        try Fellow.delete(id: "d", from: &context)
        let all = try everything(context, .schemaEntities, .ids)
        #expect(all.people?.map(\.id) == ["b", "a", "c"])
        #expect(all.people?.map(\.$groups.ids) == [["g"], [], ["g"]])
        #expect(all.groups?.map(\.id) == ["g"])
        #expect(all.leader == nil)
        #expect(all.$leader.isNone)
        #expect(all.deletedPeople?.map(\.id) == ["d"])
        // There was no link, and reading made none.
        #expect(try Everything.query("everything").id(\.$people).resolve(in: context)?.$people.ids == [])
    }

    @Test("take only entities updated in a period, as entities or as fragments")
    func changes() throws {
        let (context, since) = try store()
        let entities = try everything(context, .schemaEntities(filter: .updated(within: since)))
        #expect(entities.people?.map(\.id) == ["c"])
        #expect(entities.groups?.isEmpty == true)
        #expect(entities.$people.isFragment == false)
        let fragments = try everything(context, .schemaFragments(filter: .updated(within: since)))
        #expect(fragments.people?.map(\.id) == ["c"])
        #expect(fragments.$people.isFragment)
        #expect(try everything(context, .schemaFragments).$groups.isFragment)
    }

    @Test(
        "nested conditions load a part of the links, and saving that back keeps the others",
        arguments: [false, true])
    func filters(fragments: Bool) throws {
        var (context, since) = try store()
        let level: Nested =
            fragments ? .fragments(filter: .updated(within: since)) : .entities(filter: .updated(within: since))
        let group = try #require(try Group.query("g").with(level).resolve(in: context))
        #expect(group.people?.map(\.id) == ["c"])
        #expect(group.$people.isFragment == fragments)
        #expect(group.$people.isSlice)
        #expect(group.leader == nil)
        try group.save(to: &context)
        #expect(try Group.query("g").id(\.$people).resolve(in: context)?.$people.ids == ["b", "c"])
        #expect(try Group.query("g").id(\.$leader).resolve(in: context)?.$leader.id == "l")
    }

    @Test("schemaQuery gives all entities of a to-many relation's type, nested ones too, and none of a to-one's")
    func schemaQuery() throws {
        let (context, since) = try store()
        #expect(try Fellow.schemaQuery().ids(in: context) == ["b", "a", "c"])
        #expect(try Fellow.filter(\.id == "a").schemaQuery().ids(in: context) == ["b", "a", "c"])
        #expect(try Fellow.query("a").schemaQuery().resolve(in: context) == nil)
        let group = try Group.query("g").with(\.$people) { $0.schemaQuery().filter(.updated(within: since)) }
            .with(\.$leader) { $0.schemaQuery() }
            .resolve(in: context)
        #expect(group?.people?.map(\.id) == ["c"])
        #expect(group?.leader == nil)
        let cut = try Group.query("g").with(\.$people) { $0.schemaQuery().limit(2).filter(\.id != "b") }
            .resolve(in: context)
        #expect(cut?.people?.map(\.id) == ["a"])
    }

    @Test("encode as any value with its relations")
    func coding() throws {
        let (context, _) = try store()
        let data = try JSONEncoder().encode(try everything(context, .schemaEntities, .ids))
        let again = try JSONDecoder().decode(Everything.self, from: data)
        #expect(again.people?.map(\.id) == ["b", "a", "c"])
    }
}
